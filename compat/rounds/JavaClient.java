// Kafka's own Java client, of whatever version is on the classpath, for checks in another language: each line on stdin is a call, each on stdout its answer.
//
// {"number": 1, "object": "a", "call": "poll", ...} is answered {"number": 1, "answer": ...} or
// {"number": 1, "error": "..."}. Calls of one object are made one after the other, those of several at the same time.
// Bytes are base64. When stdin ends the process ends as if it had been killed: nobody is told.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class JavaClient {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration PATIENCE = Duration.ofSeconds(25);

    private interface Client {
        Object call(String name, JsonNode with) throws Exception;
    }

    public static void main(String[] none) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Map<String, ExecutorService> threads = new HashMap<>();
        Map<String, Client> clients = new java.util.concurrent.ConcurrentHashMap<>();
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            JsonNode with = JSON.readTree(line);
            String object = with.get("object").asText();
            threads.computeIfAbsent(object, name -> Executors.newSingleThreadExecutor()).execute(() -> {
                Map<String, Object> answer = new LinkedHashMap<>();
                answer.put("number", with.get("number").asInt());
                try {
                    answer.put("answer", call(clients, object, with.get("call").asText(), with));
                } catch (Exception | Error failed) {
                    answer.put("error", failed.toString());
                }
                synchronized (answers) {
                    try {
                        answers.println(JSON.writeValueAsString(answer));
                    } catch (IOException impossible) {
                        throw new IllegalStateException(impossible);
                    }
                    answers.flush();
                }
            });
        }
        Runtime.getRuntime().halt(0);
    }

    private static Object call(Map<String, Client> clients, String object, String name, JsonNode with) throws Exception {
        switch (name) {
            case "new producer": clients.put(object, new Produces(settings(with))); return null;
            case "new consumer": clients.put(object, new Consumes(with.get("topic").asText(), settings(with))); return null;
            case "new admin": clients.put(object, new Administers(settings(with))); return null;
            default: return clients.get(object).call(name, with);
        }
    }

    private static Map<String, Object> settings(JsonNode with) {
        Map<String, Object> found = new HashMap<>();
        with.get("settings").fields().forEachRemaining(each -> found.put(each.getKey(), each.getValue().asText()));
        return found;
    }

    private static byte[] bytes(JsonNode value) throws IOException {
        return value == null || value.isNull() ? null : value.binaryValue();
    }

    private static final class Produces implements Client {
        private final KafkaProducer<byte[], byte[]> producer;

        Produces(Map<String, Object> settings) {
            producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        }

        @Override
        public Object call(String name, JsonNode with) throws Exception {
            switch (name) {
                case "send": return send(with.get("records"));
                case "init": producer.initTransactions(); return null;
                case "begin": producer.beginTransaction(); return null;
                case "send offset":
                    producer.sendOffsetsToTransaction(
                        Map.of(
                            new TopicPartition(with.get("topic").asText(), with.get("partition").asInt()),
                            new OffsetAndMetadata(with.get("offset").asLong())),
                        new ConsumerGroupMetadata(with.get("group").asText()));
                    return null;
                case "commit": producer.commitTransaction(); return null;
                case "abort": producer.abortTransaction(); return null;
                case "close": producer.close(PATIENCE); return null;
                default: throw new IllegalArgumentException(name);
            }
        }

        private Object send(JsonNode records) throws Exception {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (JsonNode one : records) {
                List<Header> headers = new ArrayList<>();
                for (JsonNode header : one.get("headers")) {
                    headers.add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
                }
                Long timestamp = one.get("timestamp").isNull() ? null : one.get("timestamp").asLong();
                sent.add(producer.send(new ProducerRecord<>(
                    one.get("topic").asText(), one.get("partition").asInt(), timestamp,
                    bytes(one.get("key")), bytes(one.get("value")), headers)));
            }
            producer.flush();
            List<Object> places = new ArrayList<>();
            for (Future<RecordMetadata> each : sent) {
                places.add(List.of(each.get().partition(), each.get().offset()));
            }
            return places;
        }
    }

    private static final class Consumes implements Client {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final String topic;

        Consumes(String topic, Map<String, Object> settings) {
            this.topic = topic;
            consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        }

        private Collection<TopicPartition> all(JsonNode partitions) {
            List<TopicPartition> found = new ArrayList<>();
            partitions.forEach(each -> found.add(new TopicPartition(topic, each.asInt())));
            return found;
        }

        @Override
        public Object call(String name, JsonNode with) throws Exception {
            TopicPartition at = with.has("partition") ? new TopicPartition(topic, with.get("partition").asInt()) : null;
            switch (name) {
                case "subscribe": consumer.subscribe(List.of(topic)); return null;
                case "assign": consumer.assign(all(with.get("partitions"))); return null;
                case "assignment": return consumer.assignment().stream().map(TopicPartition::partition).toList();
                case "poll": return poll(Duration.ofMillis(with.get("timeout_ms").asLong()));
                case "commit": commit(with.get("offsets")); return null;
                case "committed": {
                    OffsetAndMetadata found = consumer.committed(Set.of(at), PATIENCE).get(at);
                    return found == null ? null : List.of(found.offset(), found.metadata());
                }
                case "position": return consumer.position(at, PATIENCE);
                case "seek": consumer.seek(at, with.get("offset").asLong()); return null;
                case "offset at": {
                    OffsetAndTimestamp found =
                        consumer.offsetsForTimes(Map.of(at, with.get("timestamp").asLong()), PATIENCE).get(at);
                    return found == null ? null : found.offset();
                }
                case "bounds": return List.of(
                    consumer.beginningOffsets(List.of(at), PATIENCE).get(at),
                    consumer.endOffsets(List.of(at), PATIENCE).get(at));
                case "pause": consumer.pause(List.of(at)); return null;
                case "resume": consumer.resume(List.of(at)); return null;
                case "close": consumer.close(); return null;
                default: throw new IllegalArgumentException(name);
            }
        }

        private Object poll(Duration patience) {
            List<Object> found = new ArrayList<>();
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(patience)) {
                Map<String, Object> one = new HashMap<>();
                one.put("partition", record.partition());
                one.put("offset", record.offset());
                one.put("timestamp", record.timestamp());
                one.put("key", record.key());
                one.put("value", record.value());
                List<Object> headers = new ArrayList<>();
                record.headers().forEach(each -> headers.add(List.of(each.key(), each.value())));
                one.put("headers", headers);
                found.add(one);
            }
            return found;
        }

        private void commit(JsonNode offsets) {
            if (offsets.isNull()) {
                consumer.commitSync(PATIENCE);
                return;
            }
            Map<TopicPartition, OffsetAndMetadata> wanted = new HashMap<>();
            offsets.forEach(each -> wanted.put(
                new TopicPartition(topic, each.get(0).asInt()),
                new OffsetAndMetadata(each.get(1).asLong(), each.get(2).asText())));
            consumer.commitSync(wanted, PATIENCE);
        }
    }

    private static final class Administers implements Client {
        private final Admin admin;

        Administers(Map<String, Object> settings) {
            admin = Admin.create(settings);
        }

        @Override
        public Object call(String name, JsonNode with) throws Exception {
            String topic = with.path("topic").asText();
            String group = with.path("group").asText();
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            TopicPartition at = new TopicPartition(topic, with.path("partition").asInt());
            switch (name) {
                case "brokers":
                    return admin.describeCluster().nodes().get().stream()
                        .map(each -> each.host() + ":" + each.port()).toList();
                case "create topic": {
                    Map<String, String> config = new HashMap<>();
                    with.get("config").fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
                    NewTopic wanted = new NewTopic(topic, with.get("partitions").asInt(), (short) 1).configs(config);
                    admin.createTopics(List.of(wanted)).all().get();
                    return null;
                }
                case "delete topic": admin.deleteTopics(List.of(topic)).all().get(); return null;
                case "topics": return admin.listTopics().names().get();
                case "partitions":
                    return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
                case "add partitions":
                    admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(with.get("total").asInt()))).all().get();
                    return null;
                case "config": {
                    Map<String, String> found = new HashMap<>();
                    for (ConfigEntry each : admin.describeConfigs(List.of(resource)).all().get().get(resource).entries()) {
                        found.put(each.name(), each.value());
                    }
                    return found;
                }
                case "set config": {
                    ConfigEntry entry = new ConfigEntry(with.get("name").asText(), with.get("value").asText());
                    AlterConfigOp change = new AlterConfigOp(entry, AlterConfigOp.OpType.SET);
                    admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
                    return null;
                }
                case "groups": return admin.listConsumerGroups().all().get().stream().map(ConsumerGroupListing::groupId).toList();
                case "group state": {
                    ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
                    return List.of(found.state().toString(), found.members().size());
                }
                case "group offsets": {
                    List<Object> found = new ArrayList<>();
                    admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach((where, one) ->
                        found.add(List.of(where.partition(), one.offset(), one.metadata())));
                    return found;
                }
                case "set group offset":
                    admin.alterConsumerGroupOffsets(group, Map.of(at, new OffsetAndMetadata(with.get("offset").asLong())))
                        .all().get();
                    return null;
                case "delete group": admin.deleteConsumerGroups(List.of(group)).all().get(); return null;
                case "delete records":
                    return admin.deleteRecords(Map.of(at, RecordsToDelete.beforeOffset(with.get("before").asLong())))
                        .lowWatermarks().get(at).get().lowWatermark();
                case "close": admin.close(); return null;
                default: throw new IllegalArgumentException(name);
            }
        }
    }
}
