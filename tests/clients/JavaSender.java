// What sender.py is, with Kafka's own Java client: `java JavaSender.java BOOTSTRAP TOPIC PARTITIONS`.

import java.util.*;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.*;

public class JavaSender {
    private static final int AT_ONCE = 40;
    private static final int PADDING = 500;
    private static final int PAUSE_MS = 30;

    private static volatile boolean stopping;

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        Thread end = new Thread(JavaSender::waitForTheEnd);
        end.setDaemon(true);
        end.start();
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", arguments[0], "enable.idempotence", true, "acks", "all", "linger.ms", 2,
            "batch.size", 2_000, "delivery.timeout.ms", 120_000, "request.timeout.ms", 10_000,
            "retry.backoff.ms", 50, "reconnect.backoff.ms", 20, "reconnect.backoff.max.ms", 200);
        int sent = 0;
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            while (!stopping) {
                Thread.sleep(PAUSE_MS);
                List<Future<RecordMetadata>> places = new ArrayList<>();
                for (int number = sent; number < sent + AT_ONCE; number++) {
                    byte[] value = ("java " + number + " " + "x".repeat(PADDING)).getBytes();
                    places.add(producer.send(new ProducerRecord<>(topic, number % partitions, null, value)));
                }
                List<String> acknowledged = new ArrayList<>();
                for (Future<RecordMetadata> place : places) {
                    RecordMetadata at = place.get();
                    acknowledged.add("[" + at.partition() + ", " + at.offset() + ", " + sent++ + "]");
                }
                System.out.println("{\"acknowledged\": [" + String.join(", ", acknowledged) + "]}");
            }
        }
        System.out.println("{\"sent\": " + sent + "}");
    }

    private static void waitForTheEnd() {
        try {
            while (System.in.read() >= 0) {}
        } catch (java.io.IOException gone) {
            // that is an end, too
        }
        stopping = true;
    }
}
