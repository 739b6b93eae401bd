import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Counts words with Kafka Streams, exactly once, until it is killed.
 *
 * <p>Arguments: bootstrap, input topic, output topic, and settings of Kafka Streams as NAME=VALUE. Nothing
 * is cached, so that every count of a word is written: 1, 2, 3 and so on. Says each of its states.
 */
public final class WordCount {
    private WordCount() {}

    public static void main(String[] arguments) throws InterruptedException {
        Properties settings = new Properties();
        settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        settings.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        for (String setting : List.of(arguments).subList(3, arguments.length)) {
            String[] parts = setting.split("=", 2);
            settings.put(parts[0], parts[1]);
        }

        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(arguments[1])
                .flatMapValues(line -> List.of(line.split(" ")))
                .groupBy((key, word) -> word, Grouped.as("words"))
                .count(
                        Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts")
                                .withKeySerde(Serdes.String())
                                .withValueSerde(Serdes.Long()))
                .toStream()
                .mapValues(count -> Long.toString(count))
                .to(arguments[2], Produced.with(Serdes.String(), Serdes.String()));

        settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        CountDownLatch ended = new CountDownLatch(1);
        streams.setStateListener(
                (now, before) -> {
                    System.out.println("state " + now);
                    if (now == KafkaStreams.State.ERROR) {
                        ended.countDown();
                    }
                });
        streams.setUncaughtExceptionHandler(
                error -> {
                    error.printStackTrace();
                    return StreamThreadExceptionResponse.REPLACE_THREAD;
                });
        streams.start();
        ended.await();
        streams.close(Duration.ofSeconds(10));
        System.exit(1);
    }
}
