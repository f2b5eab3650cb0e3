// Kafka's small files and topic configurations, asked line by line. Fields of a line are separated by blanks. Bytes and
// texts are in hexadecimal, none at all is "-", and what is missing is "null". Pairs are NAME=VALUE, joined by ",".
//
//   OFFSETS BYTES                        an offset checkpoint          -> OK { TOPIC:PARTITION:OFFSET }*, sorted
//   WRITE_OFFSETS { TOPIC:PARTITION:OFFSET }*                          -> OK BYTES
//   EPOCHS BYTES                         a leader epoch checkpoint     -> OK { EPOCH:OFFSET }*
//   DRIVE HIGHEST { aEPOCH:OFFSET | eOFFSET | sOFFSET | c }*           -> OK, and for each operation what the cache
//         holds, then what it answers for every epoch and offset from -2 to HIGHEST, then its file
//   METADATA BYTES                       partition.metadata            -> OK TOPIC_ID
//   WRITE_METADATA TOPIC_ID                                            -> OK BYTES
//   PROPERTIES BYTES                     any properties file           -> OK PAIRS, sorted
//   META BYTES                           meta.properties               -> OK VERSION CLUSTER NODE DIRECTORY
//   WRITE_META VERSION CLUSTER NODE DIRECTORY                          -> OK BYTES
//   ENSEMBLE CLUSTER NODE { BYTES | null }*    may these log directories be of one node?               -> OK
//   CLEAN BYTES                          .kafka_cleanshutdown          -> OK EPOCH
//   WRITE_CLEAN EPOCH                                                  -> OK BYTES
//   CONFIGS                              every topic configuration     -> OK JSON
//   TOPIC REMOTE PREVIOUS OVERRIDES      checked, beside the defaults  -> OK PAIRS of all values
//   SERVER PAIRS                         what a broker gives topics    -> OK PAIRS of those values
//
// Whatever Kafka refuses is answered by ERR and one line of reason.

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ScheduledFuture;
import java.util.stream.Collectors;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.metadata.properties.MetaProperties;
import org.apache.kafka.metadata.properties.MetaPropertiesEnsemble;
import org.apache.kafka.metadata.properties.MetaPropertiesVersion;
import org.apache.kafka.metadata.properties.PropertiesUtils;
import org.apache.kafka.server.config.ConfigSynonym;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.checkpoint.PartitionMetadataFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.EpochEntry;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

public class StateOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static Path directory;

    public static void main(String[] arguments) throws IOException {
        directory = Files.createTempDirectory("state-oracle");
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(answer(line));
            out.print('\n');
            out.flush();
        }
        try (var files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        }
    }

    private static String answer(String line) {
        try {
            String[] words = line.strip().split(" ");
            return ("OK " + obey(words[0], Arrays.copyOfRange(words, 1, words.length))).strip();
        } catch (Throwable refused) {
            return "ERR " + String.valueOf(refused).replaceAll("\\s", " ");
        }
    }

    private static String obey(String command, String[] fields) throws Exception {
        switch (command) {
            case "OFFSETS": return offsets(bytes(fields[0]));
            case "WRITE_OFFSETS": return writeOffsets(fields);
            case "EPOCHS": return entries(cache(file("leader-epoch-checkpoint", bytes(fields[0]))));
            case "DRIVE": return drive(fields);
            case "METADATA": return partitionMetadata(file("partition.metadata", bytes(fields[0]))).read().topicId().toString();
            case "WRITE_METADATA": return writeMetadata(Uuid.fromString(fields[0]));
            case "PROPERTIES": return properties(bytes(fields[0]));
            case "META": return describe(meta(bytes(fields[0])));
            case "WRITE_META": return writeMeta(fields);
            case "ENSEMBLE": return ensemble(fields);
            case "CLEAN": return clean(bytes(fields[0]));
            case "WRITE_CLEAN": return writeClean(Long.parseLong(fields[0]));
            case "CONFIGS": return configs();
            case "TOPIC": return topic(Boolean.parseBoolean(fields[0]), pairs(fields[1]), pairs(fields[2]));
            case "SERVER": return server(pairs(fields[0]));
            default: throw new IllegalArgumentException(command);
        }
    }

    private static String offsets(byte[] content) throws IOException {
        OffsetCheckpointFile file = new OffsetCheckpointFile(file("offsets", content), new LogDirFailureChannel(1));
        return file.read().entrySet().stream()
            .map(one -> text(one.getKey().topic()) + ":" + one.getKey().partition() + ":" + one.getValue())
            .sorted().collect(Collectors.joining(" "));
    }

    private static String writeOffsets(String[] fields) throws IOException {
        Map<TopicPartition, Long> offsets = new HashMap<>();
        for (String field : fields) {
            String[] parts = field.split(":");
            offsets.put(new TopicPartition(untext(parts[0]), Integer.parseInt(parts[1])), Long.parseLong(parts[2]));
        }
        File file = file("offsets", new byte[0]);
        new OffsetCheckpointFile(file, new LogDirFailureChannel(1)).write(offsets);
        return hex(Files.readAllBytes(file.toPath()));
    }

    private static LeaderEpochFileCache cache(File file) throws IOException {
        LeaderEpochCheckpointFile checkpoint = new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1));
        return new LeaderEpochFileCache(new TopicPartition("topic", 0), checkpoint, new AtOnce());
    }

    private static String entries(LeaderEpochFileCache cache) {
        return cache.epochEntries().stream()
            .map(entry -> entry.epoch() + ":" + entry.startOffset()).collect(Collectors.joining(" "));
    }

    private static String drive(String[] fields) throws IOException {
        int highest = Integer.parseInt(fields[0]);
        File file = file("leader-epoch-checkpoint", new byte[0]);
        LeaderEpochFileCache cache = cache(file);
        List<String> states = new ArrayList<>();
        for (int index = 1; index < fields.length; index++) {
            String[] numbers = fields[index].substring(1).split(":");
            switch (fields[index].charAt(0)) {
                case 'a': cache.assign(Integer.parseInt(numbers[0]), Long.parseLong(numbers[1])); break;
                case 'e': cache.truncateFromEndAsyncFlush(Long.parseLong(numbers[0])); break;
                case 's': cache.truncateFromStartAsyncFlush(Long.parseLong(numbers[0])); break;
                default: cache.clearAndFlush();
            }
            StringBuilder state = new StringBuilder(entries(cache).replace(' ', ','));
            for (int epoch = -2; epoch <= highest; epoch++) {
                Map.Entry<Integer, Long> end = cache.endOffsetFor(epoch, 1_000_000);
                state.append(";" + end.getKey() + ":" + end.getValue());
                state.append("," + cache.previousEpoch(epoch).orElse(-1) + "," + cache.nextEpoch(epoch).orElse(-1));
                state.append("," + cache.epochForOffset(epoch).orElse(-1));
            }
            state.append(";" + hex(Files.readAllBytes(file.toPath())));
            states.add(state.toString());
        }
        return String.join(" ", states);
    }

    private static PartitionMetadataFile partitionMetadata(File file) {
        return new PartitionMetadataFile(file, new LogDirFailureChannel(1));
    }

    private static String writeMetadata(Uuid topicId) throws IOException {
        File file = file("partition.metadata", new byte[0]);
        PartitionMetadataFile metadata = partitionMetadata(file);
        metadata.record(topicId);
        metadata.maybeFlush();
        return hex(Files.readAllBytes(file.toPath()));
    }

    private static String properties(byte[] content) throws IOException {
        Properties properties = new Properties();
        properties.load(new ByteArrayInputStream(content));
        Map<String, Object> sorted = new HashMap<>();
        properties.forEach((key, value) -> sorted.put((String) key, value));
        return pairs(sorted);
    }

    private static MetaProperties meta(byte[] content) throws IOException {
        Properties properties = PropertiesUtils.readPropertiesFile(file("meta.properties", content).getPath());
        return new MetaProperties.Builder(properties).build();
    }

    private static String describe(MetaProperties meta) {
        String node = meta.nodeId().isPresent() ? String.valueOf(meta.nodeId().getAsInt()) : "null";
        String cluster = meta.clusterId().map(StateOracle::text).orElse("null");
        return meta.version().number() + " " + cluster + " " + node + " " + meta.directoryId().map(Uuid::toString).orElse("null");
    }

    private static String writeMeta(String[] fields) throws IOException {
        MetaProperties.Builder builder = new MetaProperties.Builder();
        builder.setVersion(MetaPropertiesVersion.fromNumberString(fields[0]));
        if (!fields[1].equals("null")) builder.setClusterId(untext(fields[1]));
        if (!fields[2].equals("null")) builder.setNodeId(Integer.parseInt(fields[2]));
        if (!fields[3].equals("null")) builder.setDirectoryId(Uuid.fromString(fields[3]));
        File file = file("meta.properties", new byte[0]);
        PropertiesUtils.writePropertiesFile(builder.build().toProperties(), file.getPath(), true);
        return hex(Files.readAllBytes(file.toPath()));
    }

    private static String ensemble(String[] fields) throws IOException {
        MetaPropertiesEnsemble.Loader loader = new MetaPropertiesEnsemble.Loader();
        for (int index = 2; index < fields.length; index++) {
            Path one = Files.createDirectories(directory.resolve("log-" + index));
            Files.deleteIfExists(one.resolve("meta.properties"));
            if (!fields[index].equals("null")) Files.write(one.resolve("meta.properties"), bytes(fields[index]));
            loader.addLogDirs(List.of(one.toString()));
        }
        loader.load().verify(
            fields[0].equals("null") ? Optional.empty() : Optional.of(untext(fields[0])),
            fields[1].equals("null") ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(fields[1])),
            EnumSet.noneOf(MetaPropertiesEnsemble.VerificationFlag.class));
        return "";
    }

    private static String clean(byte[] content) throws IOException {
        file(".kafka_cleanshutdown", content);
        OptionalLong epoch = new CleanShutdownFileHandler(directory.toString()).read();
        return epoch.isPresent() ? String.valueOf(epoch.getAsLong()) : "null";
    }

    private static String writeClean(long epoch) throws Exception {
        new CleanShutdownFileHandler(directory.toString()).write(epoch);
        return hex(Files.readAllBytes(directory.resolve(".kafka_cleanshutdown")));
    }

    private static String configs() {
        ArrayNode all = JsonNodeFactory.instance.arrayNode();
        for (ConfigDef.ConfigKey key : LogConfig.configKeys().values()) {
            ObjectNode one = all.addObject();
            one.put("name", key.name);
            one.put("type", key.type.name());
            one.put("default", asText(LogConfig.configDefCopy().defaultValues().get(key.name)));
            one.put("internal", key.internalConfig);
            ArrayNode names = one.putArray("server_names");
            for (ConfigSynonym synonym : ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.getOrDefault(key.name, List.of())) {
                names.add(synonym.name());
            }
        }
        return all.toString();
    }

    private static String topic(boolean remote, Map<String, String> previous, Map<String, String> overrides) {
        Map<String, Object> defaults = broker(Map.of()).extractLogConfigMap();
        LogConfig.validate(previous, overrides, defaults, remote);
        Properties properties = new Properties();
        properties.putAll(overrides);
        return pairs(LogConfig.fromProps(defaults, properties).values());
    }

    private static String server(Map<String, String> given) {
        Map<String, Object> values = broker(given).extractLogConfigMap();
        LogConfig.validateBrokerLogConfigValues(values, false);
        return pairs(LogConfig.fromProps(values, new Properties()).values());
    }

    private static KafkaConfig broker(Map<String, String> given) {
        Properties properties = new Properties();
        properties.putAll(Map.of(
            "process.roles", "broker,controller", "node.id", "1", "controller.quorum.voters", "1@localhost:9093",
            "controller.listener.names", "CONTROLLER", "listeners", "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
            "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "log.dirs", directory.toString()));
        properties.putAll(given);
        return KafkaConfig.fromProps(properties, false);
    }

    private static File file(String name, byte[] content) throws IOException {
        Path path = directory.resolve(name);
        Files.write(path, content);
        return path.toFile();
    }

    private static String asText(Object value) {
        if (value == null) return null;
        if (value instanceof List) return ((List<?>) value).stream().map(String::valueOf).collect(Collectors.joining(","));
        return String.valueOf(value);
    }

    private static Map<String, String> pairs(String joined) {
        Map<String, String> pairs = new HashMap<>();
        if (joined.equals("-")) return pairs;
        for (String pair : joined.split(",")) {
            int at = pair.indexOf('=');
            pairs.put(untext(pair.substring(0, at)), untext(pair.substring(at + 1)));
        }
        return pairs;
    }

    private static String pairs(Map<String, ?> values) {
        return new TreeMap<>(values).entrySet().stream()
            .map(one -> text(one.getKey()) + "=" + (one.getValue() == null ? "null" : text(asText(one.getValue()))))
            .collect(Collectors.joining(","));
    }

    private static byte[] bytes(String hex) {
        return hex.equals("-") ? new byte[0] : HEX.parseHex(hex);
    }

    private static String hex(byte[] bytes) {
        return bytes.length == 0 ? "-" : HEX.formatHex(bytes);
    }

    private static String text(String text) {
        return hex(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String untext(String hex) {
        return new String(bytes(hex), StandardCharsets.UTF_8);
    }

    private static class AtOnce implements Scheduler {
        public void startup() { }

        public void shutdown() { }

        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            task.run();
            return null;
        }

        public void resizeThreadPool(int size) { }
    }
}
