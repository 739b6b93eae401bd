// KafkaJS behind one line of JSON per question and one per answer; bytes travel as base64.
//
//   node driver.mjs MODULES BOOTSTRAP
//   {"call": "offsetRange", "with": {"topic": "t", "partition": 0}}  ->  {"answer": [0, 12]}
//                                                                   or  {"refused": {"code", "retriable", "text"}}
//
// KafkaJS has gzip built in and leaves the other codecs to the application, so they are plugged in here.

import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const [modules, bootstrap] = process.argv.slice(2)
const require = createRequire(`${modules}/`)
const { Kafka, CompressionTypes, CompressionCodecs, ConfigResourceTypes, logLevel } = require('kafkajs')
const lz4 = require('lz4js')
const zstd = require('@bokuweb/zstd-wasm')

await zstd.init()
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  // lz4js declares its blocks dependent on each other, which Kafka does not accept. There is only one here
  // (they hold 4 MB), so say independent: that flag, and the header's checksum that goes with it.
  compress: async encoder => {
    const frame = Buffer.from(lz4.compress(encoder.buffer))
    frame[4] = 0x60
    frame[6] = 0x73
    return frame
  },
  decompress: async buffer => Buffer.from(lz4.decompress(buffer)),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from(zstd.compress(encoder.buffer, 3)),
  decompress: async buffer => Buffer.from(zstd.decompress(buffer)),
})
const codecs = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4', zstd: 'ZSTD' }

const kafka = new Kafka({
  clientId: 'kafkajs',
  brokers: [bootstrap],
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 20, maxRetryTime: 500, retries: 8 },
})

const decode = text => (text === null ? null : Buffer.from(text, 'base64'))
const encode = bytes => (bytes === null || bytes === undefined ? null : bytes.toString('base64'))

async function withAdmin(question) {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await question(admin)
  } finally {
    await admin.disconnect()
  }
}

// [["a", x], ["a", y], ["b", z]] -> {a: [x, y], b: z}, as KafkaJS wants headers
function gatherHeaders(pairs) {
  const headers = {}
  for (const [name, value] of pairs) {
    const bytes = decode(value)
    if (!(name in headers)) headers[name] = bytes
    else headers[name] = [].concat(headers[name], bytes)
  }
  return headers
}

const spreadHeaders = headers =>
  Object.entries(headers ?? {}).flatMap(([name, value]) => [].concat(value).map(one => [name, encode(one)]))

const calls = {
  async produce({ topic, messages, partition, codec, acks, idempotent }) {
    const producer = kafka.producer({ idempotent, maxInFlightRequests: idempotent ? 1 : null, allowAutoTopicCreation: true })
    await producer.connect()
    try {
      const wanted = messages.map(message => ({
        key: decode(message.key),
        value: decode(message.value),
        headers: gatherHeaders(message.headers),
        ...(partition === null ? {} : { partition }),
        ...(message.timestamp === null ? {} : { timestamp: String(message.timestamp) }),
      }))
      // KafkaJS tells the offset of each partition's first message alone: where its partitioner decides, send singly
      const sends = partition === null ? wanted.map(message => [message]) : [wanted]
      const placed = []
      for (const messages of sends) {
        const answers = await producer.send({ topic, acks, compression: CompressionTypes[codecs[codec]], messages })
        const { partition: where, baseOffset } = answers[0] ?? { partition: -1 }
        messages.forEach((_, index) => placed.push([where, baseOffset === undefined ? -1 : Number(baseOffset) + index]))
      }
      return placed
    } finally {
      await producer.disconnect()
    }
  },

  async consumeInGroup({ topic, group, count }) {
    const consumer = kafka.consumer({ groupId: group, maxWaitTimeInMs: 200 })
    const taken = []
    await consumer.connect()
    try {
      await consumer.subscribe({ topics: [topic], fromBeginning: true })
      await new Promise((resolve, reject) => {
        consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
        const run = consumer.run({
          autoCommit: false,
          eachMessage: async ({ partition, message }) => {
            if (taken.length === count) return
            taken.push({
              partition,
              offset: Number(message.offset),
              timestamp: Number(message.timestamp),
              key: encode(message.key),
              value: encode(message.value),
              headers: spreadHeaders(message.headers),
            })
            if (taken.length === count) resolve()
          },
        })
        run.catch(reject)
      })
      const next = new Map(taken.map(({ partition, offset }) => [partition, offset + 1]))
      await consumer.commitOffsets([...next].map(([partition, offset]) => ({ topic, partition, offset: String(offset) })))
      return taken
    } finally {
      await consumer.disconnect()
    }
  },

  offsetAt: ({ topic, partition, timestamp }) =>
    withAdmin(async admin => {
      const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp)
      return Number(offsets.find(one => one.partition === partition).offset)
    }),

  offsetRange: ({ topic, partition }) =>
    withAdmin(async admin => {
      const offsets = await admin.fetchTopicOffsets(topic)
      const { low, high } = offsets.find(one => one.partition === partition)
      return [Number(low), Number(high)]
    }),

  createTopic: ({ topic, partitions, replicas, settings, validateOnly }) =>
    withAdmin(async admin => {
      const created = await admin.createTopics({
        validateOnly,
        waitForLeaders: !validateOnly,
        topics: [
          {
            topic,
            numPartitions: partitions,
            replicationFactor: replicas,
            configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
          },
        ],
      })
      // the one refusal that KafkaJS turns into a plain `false`
      if (!created) throw Object.assign(new Error('topic exists'), { code: 36, retriable: false })
    }),

  deleteTopic: ({ topic }) => withAdmin(admin => admin.deleteTopics({ topics: [topic] })),

  growTopic: ({ topic, partitions }) =>
    withAdmin(admin => admin.createPartitions({ topicPartitions: [{ topic, count: partitions }] })),

  topics: () =>
    withAdmin(async admin => {
      const { topics } = await admin.fetchTopicMetadata()
      return Object.fromEntries(topics.map(({ name, partitions }) => [name, partitions.length]))
    }),

  topicSettings: ({ topic }) =>
    withAdmin(async admin => {
      const answer = await admin.describeConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }] })
      return Object.fromEntries(answer.resources[0].configEntries.map(entry => [entry.configName, entry.configValue]))
    }),

  setTopicSettings: ({ topic, settings }) =>
    withAdmin(admin =>
      admin.alterConfigs({
        resources: [
          {
            type: ConfigResourceTypes.TOPIC,
            name: topic,
            configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
          },
        ],
      }),
    ),

  cluster: () =>
    withAdmin(async admin => {
      const { clusterId, controller, brokers } = await admin.describeCluster()
      return [clusterId, controller, brokers.map(({ nodeId }) => nodeId)]
    }),

  deleteRecords: ({ topic, partition, before }) =>
    withAdmin(async admin => {
      // KafkaJS looks for the leader before it has asked for metadata; another question about the topic mends that
      await admin.fetchTopicOffsets(topic)
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(before) }] })
    }),
}

// KafkaJS wraps what the broker said into errors about retries and aggregates: dig out the one with a number.
function numbered(error) {
  if (error === undefined || error === null) return null
  if (Number.isInteger(error.code)) return error
  const inner = [error.cause, ...(error.errors ?? []), ...(error.partitions ?? []).map(one => one.error)]
  return inner.map(numbered).find(one => one !== null) ?? null
}

for await (const line of createInterface({ input: process.stdin })) {
  const question = JSON.parse(line)
  let reply
  try {
    reply = { answer: (await calls[question.call](question.with)) ?? null }
  } catch (error) {
    const said = numbered(error)
    reply =
      said === null
        ? { failed: `${error.stack}` }
        : { refused: { code: said.code, retriable: said.retriable ?? false, text: error.message } }
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`)
}
