// The round with Kafka's own Java client: `java JavaRound.java BOOTSTRAP NAME`.
//
// Each step says "ok STEP" on stdout, or "failed STEP: why" and the next one runs.

import java.time.Duration;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.*;

public class JavaRound {
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    private static final long LONG_AGO = 1_700_000_000_000L;
    private static final long PATIENCE_MS = 25_000;

    private static String bootstrap;
    private static String topic;
    private static String group;

    private interface Step {
        void run() throws Exception;
    }

    public static void main(String[] arguments) {
        bootstrap = arguments[0];
        topic = arguments[1];
        group = arguments[1];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            step("create", () -> create(admin));
            step("produce", JavaRound::produce);
            step("consume", JavaRound::consume);
            step("positions", JavaRound::positions);
            step("large", () -> large(admin));
            step("group", () -> group(admin));
            step("administration", () -> administration(admin));
        }
    }

    private static void step(String name, Step step) {
        try {
            step.run();
            System.out.println("ok " + name);
        } catch (Exception | AssertionError failed) {
            System.out.println("failed " + name + ": " + failed.toString().replaceAll("\\s+", " "));
        }
    }

    private static void same(Object expected, Object found) {
        if (!Objects.equals(expected, found)) {
            throw new AssertionError("expected " + expected + ", found " + found);
        }
    }

    private static KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "linger.ms", 2));
        settings.putAll(more);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static KafkaConsumer<String, String> consumer(Map<String, Object> more) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "auto.offset.reset", "earliest",
            "enable.auto.commit", false, "fetch.max.wait.ms", 50));
        settings.putAll(more);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static List<ConsumerRecord<String, String>> take(KafkaConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (found.size() < count) {
            if (System.currentTimeMillis() > deadline) {
                throw new AssertionError(found.size() + " of " + count + " records came");
            }
            consumer.poll(Duration.ofMillis(50)).forEach(found::add);
        }
        same(count, found.size());
        return found;
    }

    private static void create(Admin admin) throws Exception {
        NewTopic wanted = new NewTopic(topic, 2, (short) 1).configs(Map.of("retention.ms", "-1"));
        CreateTopicsResult created = admin.createTopics(List.of(wanted));
        created.all().get();
        same(2, created.numPartitions(topic).get());
        same(2, admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
        same(true, admin.listTopics().names().get().contains(topic));
    }

    /** Idempotent, each codec, in two partitions; number 0 has no value and number 1 no key. */
    private static void produce() throws Exception {
        int number = 0;
        for (String codec : CODECS) {
            try (KafkaProducer<String, String> producer = producer(Map.of("compression.type", codec))) {
                List<java.util.concurrent.Future<RecordMetadata>> sent = new ArrayList<>();
                int first = number;
                for (; number < first + 20; number++) {
                    ProducerRecord<String, String> record = new ProducerRecord<>(
                        topic, number % 2, LONG_AGO + number,
                        number == 1 ? null : "key " + number, number == 0 ? null : "value " + number,
                        List.of(new RecordHeader("number", new byte[] {(byte) number})));
                    sent.add(producer.send(record));
                }
                for (int i = 0; i < 20; i++) {
                    same((long) (first + i) / 2, sent.get(i).get().offset());
                }
            }
        }
    }

    private static void consume() {
        try (KafkaConsumer<String, String> consumer = consumer(Map.of())) {
            consumer.assign(List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1)));
            for (ConsumerRecord<String, String> record : take(consumer, 100)) {
                int number = (int) record.offset() * 2 + record.partition();
                same(LONG_AGO + number, record.timestamp());
                same(number == 1 ? null : "key " + number, record.key());
                same(number == 0 ? null : "value " + number, record.value());
                same((byte) number, record.headers().lastHeader("number").value()[0]);
            }
        }
    }

    private static void positions() {
        TopicPartition even = new TopicPartition(topic, 0);
        try (KafkaConsumer<String, String> consumer = consumer(Map.of())) {
            consumer.assign(List.of(even));
            same(Map.of(even, 0L), consumer.beginningOffsets(List.of(even)));
            same(Map.of(even, 50L), consumer.endOffsets(List.of(even)));
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(even, LONG_AGO + 33)).get(even);
            same(17L, found.offset());
            same(LONG_AGO + 34, found.timestamp());
            same(null, consumer.offsetsForTimes(Map.of(even, LONG_AGO + 1_000)).get(even));
            consumer.seek(even, 17);
            same(17L, take(consumer, 33).get(0).offset());
            consumer.pause(List.of(even));
            consumer.seek(even, 40);
            same(0, consumer.poll(Duration.ofMillis(100)).count());
            consumer.resume(List.of(even));
            same(40L, take(consumer, 10).get(0).offset());
            same(OptionalLong.of(0), consumer.currentLag(even));
        }
    }

    private static void large(Admin admin) throws Exception {
        String name = topic + "-large";
        admin.createTopics(List.of(new NewTopic(name, 1, (short) 1))).all().get();
        String value = "x".repeat(900_000);
        try (KafkaProducer<String, String> producer = producer(Map.of())) {
            same(0L, producer.send(new ProducerRecord<>(name, value)).get().offset());
        }
        try (KafkaConsumer<String, String> consumer = consumer(Map.of())) {
            consumer.assign(List.of(new TopicPartition(name, 0)));
            same(value, take(consumer, 1).get(0).value());
        }
    }

    /** Two members share the partitions cooperatively; one leaves, and the other has both. */
    private static void group(Admin admin) throws Exception {
        Map<String, Object> settings = Map.of(
            "group.id", group, "heartbeat.interval.ms", 100,
            "partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
        Set<TopicPartition> all = Set.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
        try (KafkaConsumer<String, String> stays = consumer(settings)) {
            stays.subscribe(List.of(topic));
            until("it has both", () -> poll(stays) & stays.assignment().equals(all));
            KafkaConsumer<String, String> leaves = consumer(settings);
            leaves.subscribe(List.of(topic));
            until("each has one", () ->
                poll(stays) & poll(leaves) & stays.assignment().size() == 1 && leaves.assignment().size() == 1);
            same(2, admin.describeConsumerGroups(List.of(group)).all().get().get(group).members().size());
            leaves.close();
            until("it has both again", () -> poll(stays) & stays.assignment().equals(all));
            TopicPartition even = new TopicPartition(topic, 0);
            stays.commitSync(Map.of(even, new OffsetAndMetadata(44, "forty-four")));
            same(new OffsetAndMetadata(44, "forty-four"), stays.committed(Set.of(even)).get(even));
            same(50L - 44, stays.endOffsets(List.of(even)).get(even) - stays.committed(Set.of(even)).get(even).offset());
        }
    }

    private static boolean poll(KafkaConsumer<String, String> consumer) {
        consumer.poll(Duration.ofMillis(20));
        return true;
    }

    private static void until(String what, java.util.function.BooleanSupplier happened) {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (!happened.getAsBoolean()) {
            if (System.currentTimeMillis() > deadline) {
                throw new AssertionError("in vain: " + what);
            }
        }
    }

    private static void administration(Admin admin) throws Exception {
        TopicPartition even = new TopicPartition(topic, 0);
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(
            new AlterConfigOp(new ConfigEntry("max.message.bytes", "2000000"), AlterConfigOp.OpType.SET)))).all().get();
        same("2000000", admin.describeConfigs(List.of(resource)).all().get().get(resource).get("max.message.bytes").value());
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
        same(3, admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size());
        same(50L, admin.listOffsets(Map.of(even, OffsetSpec.latest())).all().get().get(even).offset());
        same(49L, admin.listOffsets(Map.of(even, OffsetSpec.maxTimestamp())).all().get().get(even).offset());
        same(7L, admin.deleteRecords(Map.of(even, RecordsToDelete.beforeOffset(7))).lowWatermarks().get(even).get().lowWatermark());
        same(7L, admin.listOffsets(Map.of(even, OffsetSpec.earliest())).all().get().get(even).offset());
        same(44L, admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(even).offset());
        admin.alterConsumerGroupOffsets(group, Map.of(even, new OffsetAndMetadata(9))).all().get();
        same(9L, admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(even).offset());
        admin.deleteConsumerGroups(List.of(group)).all().get();
        same(false, admin.listGroups().all().get().stream().anyMatch(each -> each.groupId().equals(group)));
        same(1, admin.describeCluster().nodes().get().size());
        same(1, admin.describeLogDirs(List.of(1)).allDescriptions().get().get(1).size());
        admin.deleteTopics(List.of(topic)).all().get();
        same(false, admin.listTopics().names().get().contains(topic));
    }
}
