import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** Counts events by key and tumbling window, once each window is over: Flink SQL, all in this process. */
public final class FlinkWindowedCount {
    /** FlinkWindowedCount BOOTSTRAP WARM_UP INPUT OUTPUT WINDOW_MS PARALLELISM CHECKPOINT_MS */
    public static void main(String[] arguments) throws Exception {
        // The same once before, to the end of another topic, in this JVM.
        count(arguments, arguments[1], arguments[3] + "-before", ", 'scan.bounded.mode' = 'latest-offset'");
        System.out.println("STARTED");
        System.out.flush();
        count(arguments, arguments[2], arguments[3], "");
    }

    private static void count(String[] arguments, String input, String output, String end) throws Exception {
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment(new Configuration());
        environment.setParallelism(Integer.parseInt(arguments[5]));
        environment.enableCheckpointing(Long.parseLong(arguments[6]));
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        tables.getConfig().set("table.local-time-zone", "UTC");
        tables.executeSql(
                "CREATE TABLE events (`key` STRING, `at` BIGINT, `time` AS TO_TIMESTAMP_LTZ(`at`, 3),"
                        + " WATERMARK FOR `time` AS `time`)"
                        + kafka(arguments[0], input)
                        + ", 'properties.group.id' = 'flink', 'scan.startup.mode' = 'earliest-offset'"
                        + end
                        + ")");
        tables.executeSql(
                "CREATE TABLE counts (`key` STRING, since BIGINT, `count` BIGINT)"
                        + kafka(arguments[0], output)
                        + ", 'sink.delivery-guarantee' = 'at-least-once')");
        long seconds = Long.parseLong(arguments[4]) / 1000;
        tables.executeSql(
                        "INSERT INTO counts SELECT `key`, 1000 * UNIX_TIMESTAMP(CAST(window_start AS STRING)), COUNT(*)"
                                + " FROM TABLE(TUMBLE(TABLE events, DESCRIPTOR(`time`), INTERVAL '"
                                + seconds
                                + "' SECONDS)) GROUP BY `key`, window_start, window_end")
                .await();
    }

    private static String kafka(String bootstrap, String topic) {
        return " WITH ('connector' = 'kafka', 'topic' = '"
                + topic
                + "', 'properties.bootstrap.servers' = '"
                + bootstrap
                + "', 'format' = 'json'";
    }
}
