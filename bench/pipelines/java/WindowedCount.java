import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;

/** Counts events by key and tumbling window, and says each count again as it grows: Kafka Streams. */
public final class WindowedCount {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** WindowedCount BOOTSTRAP WARM_UP INPUT OUTPUT WINDOW_MS WARM_UP_EVENTS NAME=VALUE... */
    public static void main(String[] arguments) throws InterruptedException {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        for (int place = 6; place < arguments.length; place++) {
            String[] setting = arguments[place].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        Duration window = Duration.ofMillis(Long.parseLong(arguments[4]));
        // The same once before, to the end of another topic, in this JVM.
        Properties before = new Properties();
        before.putAll(settings);
        before.put("application.id", settings.get("application.id") + "-before");
        CountDownLatch left = new CountDownLatch(Integer.parseInt(arguments[5]));
        KafkaStreams first = new KafkaStreams(topology(arguments[1], arguments[3] + "-before", window, left), before);
        first.start();
        left.await();
        first.close(Duration.ofSeconds(10));
        KafkaStreams streams =
                new KafkaStreams(topology(arguments[2], arguments[3], window, new CountDownLatch(0)), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        System.out.println("STARTED");
        System.out.flush();
        streams.start();
    }

    private static Topology topology(String input, String output, Duration window, CountDownLatch left) {
        // A record's key is the event's key, so nothing needs to change its partition.
        Serde<JsonNode> events = Serdes.serdeFrom((topic, node) -> node.toString().getBytes(UTF_8), parser());
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(
                        input,
                        Consumed.with(Serdes.String(), events)
                                .withTimestampExtractor((record, before) -> ((JsonNode) record.value()).get("at").longValue()))
                .peek((key, event) -> left.countDown())
                .groupByKey(Grouped.with(Serdes.String(), events))
                .windowedBy(TimeWindows.ofSizeWithNoGrace(window))
                .count()
                .toStream()
                .map((key, count) -> KeyValue.pair(key.key(), json(key.key(), key.window().start(), count)))
                .to(output, Produced.with(Serdes.String(), Serdes.String()));
        return builder.build();
    }

    private static String json(String key, long since, long count) {
        return "{\"key\":\"" + key + "\",\"since\":" + since + ",\"count\":" + count + "}";
    }

    private static Deserializer<JsonNode> parser() {
        return (topic, bytes) -> {
            try {
                return JSON.readTree(bytes);
            } catch (IOException error) {
                throw new SerializationException(error);
            }
        };
    }
}
