import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.TransactionState;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * What Java's producer says once its place is taken, its transaction has timed out, or its id is forgotten.
 *
 * <p>Arguments: bootstrap, topic. Prints a line "CASE: ANSWER" for each, the answer being the name of an
 * exception or "done". What is committed in the end: successor, after the time-out, as another, after the
 * expiry.
 */
public final class Fencing {
    private static final long DEADLINE_MS = 30_000;

    private final String bootstrap;
    private final String topic;
    private final Admin admin;

    private Fencing(String bootstrap, String topic) {
        this.bootstrap = bootstrap;
        this.topic = topic;
        this.admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap));
    }

    public static void main(String[] arguments) throws Exception {
        Fencing fencing = new Fencing(arguments[0], arguments[1]);
        fencing.zombie("zombie-of-" + arguments[1]);
        fencing.late("late-of-" + arguments[1]);
        fencing.recovering("recovering-of-" + arguments[1]);
        fencing.forgotten("forgotten-of-" + arguments[1]);
        fencing.admin.close();
    }

    private void zombie(String id) {
        KafkaProducer<String, String> zombie = producer(id, 60_000);
        zombie.initTransactions();
        begin(zombie, "of the zombie");
        KafkaProducer<String, String> successor = producer(id, 60_000);
        successor.initTransactions();
        say("a zombie commits", zombie::commitTransaction);
        say("a zombie begins again", zombie::beginTransaction);
        begin(successor, "successor");
        say("its successor commits", successor::commitTransaction);
        zombie.close();
        successor.close();
    }

    private void late(String id) throws Exception {
        KafkaProducer<String, String> late = producer(id, 200);
        late.initTransactions();
        begin(late, "too late");
        await(id, TransactionState.COMPLETE_ABORT);
        say("a producer commits too late", late::commitTransaction);
        late.close();
        KafkaProducer<String, String> next = producer(id, 60_000);
        next.initTransactions();
        begin(next, "after the time-out");
        say("the next one commits", next::commitTransaction);
        next.close();
    }

    private void recovering(String id) throws Exception {
        KafkaProducer<String, String> late = producer(id, 200);
        late.initTransactions();
        begin(late, "too late");
        await(id, TransactionState.COMPLETE_ABORT);
        late.send(new ProducerRecord<>(topic, 0, null, "later still"));
        late.flush();
        say("a producer writes too late", late::commitTransaction);
        say("it aborts", late::abortTransaction);
        say("it goes on", () -> {
            begin(late, "as another");
            late.commitTransaction();
        });
        late.close();
    }

    private void forgotten(String id) throws Exception {
        KafkaProducer<String, String> idle = producer(id, 60_000);
        idle.initTransactions();
        await(id, null);
        say("a forgotten producer writes", () -> {
            begin(idle, "of a forgotten producer");
            idle.commitTransaction();
        });
        idle.close();
        KafkaProducer<String, String> next = producer(id, 60_000);
        next.initTransactions();
        begin(next, "after the expiry");
        say("one with a new identity commits", next::commitTransaction);
        next.close();
    }

    private KafkaProducer<String, String> producer(String id, int timeoutMs) {
        Map<String, Object> settings = Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
                ProducerConfig.TRANSACTIONAL_ID_CONFIG, id,
                ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, timeoutMs);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private void begin(KafkaProducer<String, String> producer, String value) {
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(topic, 0, null, value));
        producer.flush();
    }

    /** Waits until an id is in this state; null: until nobody knows it. */
    private void await(String id, TransactionState state) throws Exception {
        long deadline = System.currentTimeMillis() + DEADLINE_MS;
        while (!isIn(id, state)) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException(id + " does not come to be in " + state);
            }
            Thread.sleep(20);
        }
    }

    private boolean isIn(String id, TransactionState state) throws InterruptedException {
        try {
            return admin.describeTransactions(List.of(id)).description(id).get().state() == state;
        } catch (ExecutionException unknown) {
            return state == null;
        }
    }

    private static void say(String what, Runnable attempt) {
        String answer = "done";
        try {
            attempt.run();
        } catch (KafkaException refused) {
            // what went wrong in the background comes wrapped
            boolean isWrapped = refused.getClass() == KafkaException.class && refused.getCause() != null;
            answer = (isWrapped ? refused.getCause() : refused).getClass().getSimpleName();
        }
        System.out.println(what + ": " + answer);
    }
}
