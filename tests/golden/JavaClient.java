// What record.py lets Kafka's own Java clients do, once, against the broker that is being recorded.
//
//   java JavaClient.java BOOTSTRAP CONTROLLERS SASL LOG_DIRECTORY
//
// Every step stands alone: one that is refused says so on stdout and the next one runs, because a refusal is a frame
// worth having too.

import java.net.InetSocketAddress;
import java.net.Socket;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;
import org.apache.kafka.common.resource.*;
import org.apache.kafka.common.serialization.*;

public class JavaClient {
    private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");
    private static final Duration POLL = Duration.ofMillis(100);
    private static final long PATIENCE_MS = 20_000;
    private static final TopicPartition CASTLE = new TopicPartition("castle", 0);

    private static String bootstrap;
    private static String controllers;
    private static String sasl;
    private static String logDirectory;

    private interface Step {
        void run() throws Exception;
    }

    public static void main(String[] arguments) {
        bootstrap = arguments[0];
        controllers = arguments[1];
        sasl = arguments[2];
        logDirectory = arguments[3];
        try (Admin admin = Admin.create(settings("admin"))) {
            topics(admin);
            for (String codec : CODECS) {
                attempt("produce " + codec, () -> produce(codec));
            }
            attempt("produce acks=1", () -> produceWithAcks("1"));
            attempt("produce acks=0", () -> produceWithAcks("0"));
            attempt("transactions", () -> transactions(admin));
            attempt("consumer, classic", () -> consume(admin, "classic"));
            attempt("consumer, KIP-848", () -> consume(admin, "consumer"));
            attempt("consumer, assigned", JavaClient::assigned);
            attempt("share consumer", () -> share(admin));
            attempt("streams group", () -> streams(admin));
            groups(admin);
            cluster(admin);
            security(admin);
            attempt("deleteRecords", () -> admin.deleteRecords(Map.of(CASTLE, RecordsToDelete.beforeOffset(1))).all().get());
            attempt("deleteTopics", () -> admin.deleteTopics(List.of("scratch")).all().get());
            attempt("deleteTopics, none", () -> admin.deleteTopics(List.of("no-such-topic")).all().get());
        }
        Map<String, Object> direct = settings("controller-admin");
        direct.remove("bootstrap.servers");
        direct.put("bootstrap.controllers", controllers);
        try (Admin admin = Admin.create(direct)) {
            attempt("controller describeCluster", () -> admin.describeCluster().nodes().get());
            attempt("controller describeFeatures", () -> admin.describeFeatures().featureMetadata().get());
            attempt("controller quorum", () -> admin.describeMetadataQuorum().quorumInfo().get());
            attempt("controller configs", () -> admin.incrementalAlterConfigs(Map.of(
                new ConfigResource(ConfigResource.Type.BROKER, ""),
                List.of(new AlterConfigOp(new ConfigEntry("log.retention.ms", "1"), AlterConfigOp.OpType.DELETE)))).all().get());
        }
        for (String mechanism : List.of("PLAIN", "SCRAM-SHA-256")) {
            try (Admin admin = Admin.create(saslSettings(mechanism))) {
                attempt("sasl " + mechanism, () -> admin.listTopics().names().get());
            }
        }
    }

    private static void attempt(String name, Step step) {
        try {
            step.run();
            System.out.println("ok       " + name);
        } catch (Exception refused) {
            Throwable cause = refused.getCause() == null ? refused : refused.getCause();
            System.out.println("refused  " + name + ": " + cause.toString().replaceAll("\\s+", " "));
        }
    }

    private static Map<String, Object> settings(String clientId) {
        return new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap,
            "client.id", "golden-" + clientId,
            "default.api.timeout.ms", 20_000,
            "request.timeout.ms", 10_000));
    }

    private static Map<String, Object> saslSettings(String mechanism) {
        Map<String, Object> settings = settings("sasl-" + mechanism);
        String module = mechanism.equals("PLAIN") ? "plain.PlainLoginModule" : "scram.ScramLoginModule";
        settings.put("bootstrap.servers", sasl);
        settings.put("security.protocol", "SASL_PLAINTEXT");
        settings.put("sasl.mechanism", mechanism);
        settings.put("sasl.jaas.config", "org.apache.kafka.common.security." + module
            + " required username=\"barnabas\" password=\"messenger\";");
        return settings;
    }

    private static KafkaProducer<String, String> producer(String clientId, Map<String, Object> more) {
        Map<String, Object> settings = settings(clientId);
        settings.remove("default.api.timeout.ms");
        settings.put("linger.ms", 5);
        settings.put("delivery.timeout.ms", 20_000);
        settings.putAll(more);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    private static Map<String, Object> consumerSettings(String clientId, String groupId) {
        Map<String, Object> settings = settings(clientId);
        if (groupId != null) {
            settings.put("group.id", groupId);
        }
        settings.put("enable.auto.commit", false);
        settings.put("auto.offset.reset", "earliest");
        settings.put("fetch.max.wait.ms", 100);
        return settings;
    }

    private static void topics(Admin admin) {
        attempt("createTopics", () -> admin.createTopics(List.of(
            new NewTopic("castle", 1, (short) 1).configs(Map.of("retention.ms", "86400000")),
            new NewTopic("scratch", Map.of(0, List.of(1))))).all().get());
        attempt("createTopics again", () -> admin.createTopics(List.of(new NewTopic("castle", 1, (short) 1))).all().get());
        attempt("createPartitions", () -> admin.createPartitions(Map.of("scratch", NewPartitions.increaseTo(2))).all().get());
        attempt("listTopics", () -> admin.listTopics().names().get());
        attempt("describeTopics", () -> admin.describeTopics(List.of("castle", "scratch")).allTopicNames().get());
        attempt("describeTopics, none", () -> admin.describeTopics(List.of("no-such-topic")).allTopicNames().get());
        ConfigResource castle = new ConfigResource(ConfigResource.Type.TOPIC, "castle");
        attempt("incrementalAlterConfigs", () -> admin.incrementalAlterConfigs(Map.of(castle, List.of(
            new AlterConfigOp(new ConfigEntry("segment.bytes", "10485760"), AlterConfigOp.OpType.SET)))).all().get());
        attempt("describeConfigs", () -> admin.describeConfigs(List.of(castle)).all().get());
        attempt("describeConfigs, client metrics", () -> admin.describeConfigs(List.of(
            new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "m"))).all().get());
    }

    private static void produce(String codec) throws Exception {
        try (KafkaProducer<String, String> producer = producer("producer-" + codec, Map.of("compression.type", codec))) {
            for (int i = 0; i < 3; i++) {
                ProducerRecord<String, String> record =
                    new ProducerRecord<>("castle", 0, 1_700_000_000_000L + i, "k" + i, "letter ".repeat(4) + codec);
                record.headers().add("h", new byte[] {1, 2});
                producer.send(record);
            }
            producer.flush();
        }
    }

    private static void produceWithAcks(String acks) throws Exception {
        Map<String, Object> plain = Map.of("acks", acks, "enable.idempotence", false);
        try (KafkaProducer<String, String> producer = producer("producer-acks-" + acks, plain)) {
            producer.send(new ProducerRecord<>("castle", "k", null)).get();
        }
    }

    private static void transactions(Admin admin) throws Exception {
        Map<String, Object> more = Map.of("transactional.id", "messenger", "transaction.timeout.ms", 15_000);
        try (KafkaProducer<String, String> producer = producer("producer-txn", more)) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("castle", "t", "committed")).get();
            attempt("describeProducers", () -> admin.describeProducers(List.of(CASTLE)).all().get());
            attempt("listTransactions", () -> admin.listTransactions().all().get());
            attempt("describeTransactions", () -> admin.describeTransactions(List.of("messenger", "nobody")).all().get());
            producer.sendOffsetsToTransaction(
                Map.of(CASTLE, new OffsetAndMetadata(1, Optional.of(0), "m")), new ConsumerGroupMetadata("txn-group"));
            producer.commitTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("castle", "t", "aborted")).get();
            producer.abortTransaction();
            attempt("fenceProducers", () -> admin.fenceProducers(List.of("messenger")).all().get());
        }
        attempt("abortTransaction", () -> admin.abortTransaction(new AbortTransactionSpec(CASTLE, 0, (short) 0, 0)).all().get());
        attempt("forceTerminateTransaction", () -> admin.forceTerminateTransaction("messenger").result().get());
    }

    private static void consume(Admin admin, String protocol) throws Exception {
        String group = "group-" + protocol;
        Map<String, Object> settings = consumerSettings("consumer-" + protocol, group);
        settings.put("group.protocol", protocol);
        settings.put("isolation.level", "read_committed");
        if (protocol.equals("classic")) {
            settings.put("heartbeat.interval.ms", 200);
        }
        try (KafkaConsumer<String, String> consumer =
                 new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("castle"));
            int seen = 0;
            long end = System.currentTimeMillis() + PATIENCE_MS;
            while (seen < 18 && System.currentTimeMillis() < end) {
                seen += consumer.poll(POLL).count();
            }
            consumer.commitSync();
            consumer.committed(Set.of(CASTLE));
            consumer.beginningOffsets(Set.of(CASTLE));
            consumer.endOffsets(Set.of(CASTLE));
            consumer.offsetsForTimes(Map.of(CASTLE, 1_700_000_000_001L));
            consumer.partitionsFor("castle");
            attempt("describe " + group, () -> admin.describeConsumerGroups(List.of(group)).all().get());
            // A few more polls, so that heartbeats are seen.
            end = System.currentTimeMillis() + 800;
            while (System.currentTimeMillis() < end) {
                consumer.poll(POLL);
            }
            System.out.println("         " + group + " saw " + seen);
        }
    }

    private static void assigned() throws Exception {
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
                 consumerSettings("consumer-assigned", null), new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(List.of(CASTLE));
            // A leader epoch makes the consumer ask OffsetForLeaderEpoch first.
            consumer.seek(CASTLE, new OffsetAndMetadata(2, Optional.of(0), ""));
            long end = System.currentTimeMillis() + PATIENCE_MS;
            while (consumer.poll(POLL).isEmpty() && System.currentTimeMillis() < end) {
                // poll waits
            }
        }
    }

    private static void share(Admin admin) throws Exception {
        String group = "group-share";
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), List.of(
            new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET)))).all().get();
        Map<String, Object> settings = settings("consumer-share");
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("fetch.max.wait.ms", 100);
        try (KafkaShareConsumer<String, String> consumer =
                 new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("castle"));
            int seen = 0;
            long end = System.currentTimeMillis() + PATIENCE_MS;
            while (seen < 18 && System.currentTimeMillis() < end) {
                for (ConsumerRecord<String, String> record : consumer.poll(POLL)) {
                    AcknowledgeType type = seen % 5 == 4 ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT;
                    consumer.acknowledge(record, type);
                    seen++;
                }
                consumer.commitSync();
            }
            attempt("describeShareGroups", () -> admin.describeShareGroups(List.of(group)).all().get());
            System.out.println("         " + group + " saw " + seen);
        }
        attempt("listShareGroupOffsets", () -> admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec())).all().get());
        attempt("alterShareGroupOffsets", () -> admin.alterShareGroupOffsets(group, Map.of(CASTLE, 1L)).all().get());
        attempt("deleteShareGroupOffsets", () -> admin.deleteShareGroupOffsets(group, Set.of("castle")).all().get());
        attempt("deleteShareGroups", () -> admin.deleteShareGroups(List.of(group)).all().get());
    }

    /** Kafka Streams is not among the jars, so its heartbeat is built by hand: join, stay, leave. */
    private static void streams(Admin admin) throws Exception {
        String member = Uuid.randomUuid().toString();
        StreamsGroupHeartbeatRequestData join = new StreamsGroupHeartbeatRequestData()
            .setGroupId("group-streams").setMemberId(member).setMemberEpoch(0).setRebalanceTimeoutMs(30_000)
            .setProcessId("process").setActiveTasks(List.of()).setStandbyTasks(List.of()).setWarmupTasks(List.of())
            .setClientTags(List.of(new StreamsGroupHeartbeatRequestData.KeyValue().setKey("zone").setValue("a")))
            .setUserEndpoint(new StreamsGroupHeartbeatRequestData.Endpoint().setHost("127.0.0.1").setPort(8080))
            .setTopology(new StreamsGroupHeartbeatRequestData.Topology().setEpoch(0).setSubtopologies(List.of(
                new StreamsGroupHeartbeatRequestData.Subtopology().setSubtopologyId("0").setSourceTopics(List.of("castle")))));
        heartbeat(1, join);
        attempt("describeStreamsGroups", () -> admin.describeStreamsGroups(List.of("group-streams")).all().get());
        heartbeat(2, new StreamsGroupHeartbeatRequestData()
            .setGroupId("group-streams").setMemberId(member).setMemberEpoch(-1));
        attempt("listStreamsGroupOffsets", () -> admin.listStreamsGroupOffsets(
            Map.of("group-streams", new ListStreamsGroupOffsetsSpec())).all().get());
        attempt("deleteStreamsGroups", () -> admin.deleteStreamsGroups(List.of("group-streams")).all().get());
    }

    private static void heartbeat(int correlationId, StreamsGroupHeartbeatRequestData data) throws Exception {
        short version = ApiKeys.STREAMS_GROUP_HEARTBEAT.latestVersion();
        RequestHeader header = new RequestHeader(ApiKeys.STREAMS_GROUP_HEARTBEAT, version, "golden-streams", correlationId);
        ByteBuffer request = new StreamsGroupHeartbeatRequest.Builder(data).build(version).serializeWithHeader(header);
        String[] address = bootstrap.split(":");
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(address[0], Integer.parseInt(address[1])), 5_000);
            socket.setSoTimeout(10_000);
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            out.writeInt(request.remaining());
            out.write(request.array(), request.arrayOffset() + request.position(), request.remaining());
            DataInputStream in = new DataInputStream(socket.getInputStream());
            in.readNBytes(in.readInt());
        }
    }

    private static void groups(Admin admin) {
        attempt("listGroups", () -> admin.listGroups().all().get());
        attempt("listConsumerGroups", () -> admin.listGroups(ListGroupsOptions.forConsumerGroups()).all().get());
        attempt("describeClassicGroups", () -> admin.describeClassicGroups(List.of("group-classic")).all().get());
        attempt("describe, none", () -> admin.describeConsumerGroups(List.of("no-such-group")).all().get());
        attempt("listConsumerGroupOffsets", () -> admin.listConsumerGroupOffsets(Map.of(
            "group-classic", new ListConsumerGroupOffsetsSpec(),
            "group-consumer", new ListConsumerGroupOffsetsSpec().topicPartitions(List.of(CASTLE)))).all().get());
        attempt("alterConsumerGroupOffsets", () -> admin.alterConsumerGroupOffsets(
            "group-classic", Map.of(CASTLE, new OffsetAndMetadata(3))).all().get());
        attempt("deleteConsumerGroupOffsets", () -> admin.deleteConsumerGroupOffsets("group-classic", Set.of(CASTLE)).all().get());
        attempt("removeMembers", () -> admin.removeMembersFromConsumerGroup(
            "group-classic", new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove("nobody")))).all().get());
        attempt("deleteConsumerGroups", () -> admin.deleteConsumerGroups(List.of("group-classic", "nobody")).all().get());
    }

    private static void cluster(Admin admin) {
        attempt("describeCluster", () -> admin.describeCluster(
            new DescribeClusterOptions().includeAuthorizedOperations(true)).nodes().get());
        attempt("describeFeatures", () -> admin.describeFeatures().featureMetadata().get());
        attempt("updateFeatures", () -> admin.updateFeatures(
            Map.of("share.version", new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.UPGRADE)),
            new UpdateFeaturesOptions().validateOnly(true)).all().get());
        attempt("describeMetadataQuorum", () -> admin.describeMetadataQuorum().quorumInfo().get());
        attempt("addRaftVoter", () -> admin.addRaftVoter(1, Uuid.randomUuid(),
            Set.of(new RaftVoterEndpoint("CONTROLLER", "127.0.0.1", 9))).all().get());
        attempt("removeRaftVoter", () -> admin.removeRaftVoter(99, Uuid.randomUuid()).all().get());
        attempt("unregisterBroker", () -> admin.unregisterBroker(99).all().get());
        attempt("describeLogDirs", () -> admin.describeLogDirs(List.of(1)).allDescriptions().get());
        TopicPartitionReplica replica = new TopicPartitionReplica("castle", 0, 1);
        attempt("alterReplicaLogDirs", () -> admin.alterReplicaLogDirs(Map.of(replica, logDirectory)).all().get());
        attempt("describeReplicaLogDirs", () -> admin.describeReplicaLogDirs(List.of(replica)).all().get());
        attempt("electLeaders", () -> admin.electLeaders(ElectionType.PREFERRED, Set.of(CASTLE)).all().get());
        attempt("alterPartitionReassignments", () -> admin.alterPartitionReassignments(
            Map.of(CASTLE, Optional.of(new NewPartitionReassignment(List.of(1))))).all().get());
        attempt("listPartitionReassignments", () -> admin.listPartitionReassignments().reassignments().get());
        attempt("listOffsets", () -> admin.listOffsets(Map.of(CASTLE, OffsetSpec.maxTimestamp())).all().get());
        attempt("listConfigResources", () -> admin.listConfigResources().all().get());
        attempt("listClientMetricsResources", () -> admin.listConfigResources(
            Set.of(ConfigResource.Type.CLIENT_METRICS), new ListConfigResourcesOptions()).all().get());
    }

    private static void security(Admin admin) {
        ClientQuotaEntity entity = new ClientQuotaEntity(Map.of(ClientQuotaEntity.CLIENT_ID, "surveyor"));
        attempt("alterClientQuotas", () -> admin.alterClientQuotas(List.of(new ClientQuotaAlteration(
            entity, List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1e6))))).all().get());
        attempt("describeClientQuotas", () -> admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get());
        attempt("alterUserScramCredentials", () -> admin.alterUserScramCredentials(List.of(
            new UserScramCredentialUpsertion("barnabas", new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096),
                "messenger".getBytes(), "saltsaltsalt".getBytes()),
            new UserScramCredentialDeletion("nobody", ScramMechanism.SCRAM_SHA_512))).all().get());
        attempt("describeUserScramCredentials", () -> admin.describeUserScramCredentials().all().get());
        AclBinding binding = new AclBinding(
            new ResourcePattern(ResourceType.TOPIC, "castle", PatternType.PREFIXED),
            new AccessControlEntry("User:barnabas", "*", AclOperation.READ, AclPermissionType.ALLOW));
        attempt("createAcls", () -> admin.createAcls(List.of(binding)).all().get());
        attempt("describeAcls", () -> admin.describeAcls(AclBindingFilter.ANY).values().get());
        attempt("deleteAcls", () -> admin.deleteAcls(List.of(binding.toFilter())).all().get());
        attempt("createDelegationToken", () -> admin.createDelegationToken().delegationToken().get());
        attempt("renewDelegationToken", () -> admin.renewDelegationToken(new byte[] {1, 2}).expiryTimestamp().get());
        attempt("expireDelegationToken", () -> admin.expireDelegationToken(new byte[] {1, 2}).expiryTimestamp().get());
        attempt("describeDelegationToken", () -> admin.describeDelegationToken().delegationTokens().get());
    }
}
