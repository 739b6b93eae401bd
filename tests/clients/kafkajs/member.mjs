// A member of a group that reads with KafkaJS until it is told to leave (SIGTERM).
//
//   node member.mjs FOLDER BOOTSTRAP TOPIC GROUP NAME
//
// Prints "PARTITION OFFSET" for each record once it is committed. A line "PARTITION OFFSET" on standard
// input moves it there.
import { createRequire } from "node:module";
import readline from "node:readline";

const [folder, bootstrap, topic, group, name] = process.argv.slice(2);
const { Kafka, logLevel } = createRequire(folder + "/")("kafkajs");

const kafka = new Kafka({ clientId: name, brokers: [bootstrap], logLevel: logLevel.NOTHING });
const consumer = kafka.consumer({
  groupId: group,
  sessionTimeout: 6000,
  heartbeatInterval: 300,
  maxWaitTimeInMs: 100,
});

await consumer.connect();
await consumer.subscribe({ topics: [topic], fromBeginning: true });
await consumer.run({
  autoCommit: false,
  eachBatch: async ({ batch, isStale }) => {
    if (isStale() || batch.isEmpty()) {
      return;
    }
    const next = (BigInt(batch.lastOffset()) + 1n).toString();
    await consumer.commitOffsets([{ topic, partition: batch.partition, offset: next }]);
    for (const { offset } of batch.messages) {
      console.log(`${batch.partition} ${offset}`);
    }
  },
});

readline.createInterface({ input: process.stdin }).on("line", (line) => {
  const [partition, offset] = line.split(" ");
  consumer.seek({ topic, partition: Number(partition), offset });
});

process.on("SIGTERM", async () => {
  await consumer.disconnect();
  process.exit(0);
});
