import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;

/** Counts events by key and tumbling window, and says each count again as it grows: Kafka Streams. */
public final class WindowedCount {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** WindowedCount BOOTSTRAP INPUT OUTPUT WINDOW_MS NAME=VALUE... */
    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        for (int place = 4; place < arguments.length; place++) {
            String[] setting = arguments[place].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        Duration size = Duration.ofMillis(Long.parseLong(arguments[3]));
        // A record's key is the event's key, so nothing needs to change its partition.
        Serde<JsonNode> events = Serdes.serdeFrom((topic, node) -> node.toString().getBytes(UTF_8), parser());
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments[1], Consumed.with(Serdes.String(), events).withTimestampExtractor(
                        (record, before) -> ((JsonNode) record.value()).get("at").longValue()))
                .groupByKey(Grouped.with(Serdes.String(), events))
                .windowedBy(TimeWindows.ofSizeWithNoGrace(size))
                .count()
                .toStream()
                .map((window, count) -> KeyValue.pair(window.key(), json(window.key(), window.window().start(), count)))
                .to(arguments[2], Produced.with(Serdes.String(), Serdes.String()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(Duration.ofSeconds(10))));
        System.out.println("STARTED");
        System.out.flush();
        streams.start();
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
