import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** Counts events by key and tumbling window, once each window is over: Flink SQL, all in this process. */
public final class FlinkWindowedCount {
    /** FlinkWindowedCount BOOTSTRAP INPUT OUTPUT WINDOW_MS PARALLELISM CHECKPOINT_MS */
    public static void main(String[] arguments) throws Exception {
        StreamExecutionEnvironment environment =
                StreamExecutionEnvironment.getExecutionEnvironment(new Configuration());
        environment.setParallelism(Integer.parseInt(arguments[4]));
        environment.enableCheckpointing(Long.parseLong(arguments[5]));
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        tables.getConfig().set("table.local-time-zone", "UTC");
        tables.executeSql(
                "CREATE TABLE events (`key` STRING, `at` BIGINT, `time` AS TO_TIMESTAMP_LTZ(`at`, 3),"
                        + " WATERMARK FOR `time` AS `time`)"
                        + kafka(arguments[0], arguments[1])
                        + ", 'properties.group.id' = 'flink', 'scan.startup.mode' = 'earliest-offset')");
        tables.executeSql(
                "CREATE TABLE counts (`key` STRING, since BIGINT, `count` BIGINT)"
                        + kafka(arguments[0], arguments[2])
                        + ", 'sink.delivery-guarantee' = 'at-least-once')");
        long seconds = Long.parseLong(arguments[3]) / 1000;
        System.out.println("STARTED");
        System.out.flush();
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
