// Kafka's own reading of server.properties, asked line by line. Fields of a line are separated by blanks. Texts are in
// hexadecimal, none at all is "-", and what is missing is "null". Pairs are NAME=VALUE, joined by ",".
//
//   KEYS                         every key of a broker                               -> OK JSON
//   PARSE PAIRS                  a whole server.properties                           -> OK JSON of values and endpoints
//   WITH STATIC CLUSTER BROKER   a broker with these dynamic configs                 -> OK JSON of values
//   SYNONYMS NAME                the names under which one key may be given          -> OK { NAME }*
//
// Whatever Kafka refuses is answered by ERR and one line of reason.

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.storage.internals.log.LogConfig;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

public class ConfigurationOracle {
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(answer(line));
            out.print('\n');
            out.flush();
        }
    }

    private static String answer(String line) {
        try {
            String[] words = line.strip().split(" ");
            return ("OK " + obey(words[0], Arrays.copyOfRange(words, 1, words.length))).strip();
        } catch (Throwable refused) {
            StringBuilder reason = new StringBuilder(String.valueOf(refused));
            for (Throwable cause = refused.getCause(); cause != null; cause = cause.getCause()) {
                reason.append(" <- ").append(cause);
            }
            return "ERR " + reason.toString().replaceAll("\\s", " ");
        }
    }

    private static String obey(String command, String[] fields) {
        switch (command) {
            case "KEYS": return keys().toString();
            case "PARSE": return parse(properties(fields[0])).toString();
            case "WITH": return with(properties(fields[0]), properties(fields[1]), properties(fields[2]));
            case "SYNONYMS": return String.join(" ",
                org.apache.kafka.server.config.DynamicBrokerConfig.brokerConfigSynonyms(untext(fields[0]), true));
            default: throw new IllegalArgumentException(command);
        }
    }

    private static ArrayNode keys() {
        ArrayNode all = JSON.arrayNode();
        Map<String, String> modes = org.apache.kafka.server.config.DynamicBrokerConfig.dynamicConfigUpdateModes();
        TreeMap<String, ConfigDef.ConfigKey> keys = new TreeMap<>(AbstractKafkaConfig.CONFIG_DEF.configKeys());
        keys.putAll(QuotaConfig.brokerQuotaConfigs().configKeys());
        for (ConfigDef.ConfigKey key : keys.values()) {
            ObjectNode one = all.addObject();
            one.put("name", key.name);
            one.put("type", key.type.name());
            one.put("required", !key.hasDefault());
            one.put("default", key.hasDefault() ? ConfigDef.convertToString(key.defaultValue, key.type) : null);
            one.put("allowed", key.validator == null ? null : key.validator.toString());
            one.put("importance", key.importance.name());
            one.put("internal", key.internalConfig);
            one.put("mode", modes.getOrDefault(key.name, "read-only"));
            one.put("static", AbstractKafkaConfig.CONFIG_DEF.configKeys().containsKey(key.name));
            one.put("sensitive", KafkaConfig.maybeSensitive(KafkaConfig.configType(key.name)));
        }
        return all;
    }

    private static ObjectNode parse(Properties given) {
        KafkaConfig config = KafkaConfig.fromProps(given, false);
        // The start of a broker looks once more at what topics have that say nothing, and at what each listener has.
        LogConfig.validateBrokerLogConfigValues(config.extractLogConfigMap(), false);
        LogConfig.fromProps(config.extractLogConfigMap(), new Properties());
        for (Endpoint listener : CollectionConverters.asJava(config.listeners())) {
            config.valuesWithPrefixOverride(ListenerName.normalised(listener.listener()).configPrefix());
        }
        return described(config);
    }

    private static ObjectNode described(KafkaConfig config) {
        ObjectNode all = JSON.objectNode();
        ObjectNode values = all.putObject("values");
        config.values().forEach((name, value) -> values.put(name, asText(name, value)));
        endpoints(all.putArray("listeners"), config.listeners());
        endpoints(all.putArray("controller_listeners"), config.controllerListeners());
        endpoints(all.putArray("advertised"), config.effectiveAdvertisedBrokerListeners());
        endpoints(all.putArray("advertised_controllers"), config.effectiveAdvertisedControllerListeners());
        all.put("inter_broker", config.interBrokerListenerName().value() + " " + config.interBrokerSecurityProtocol());
        ArrayNode directories = all.putArray("log_dirs");
        config.logDirs().forEach(directories::add);
        all.put("metadata_log_dir", config.metadataLogDir());
        all.put("retention_ms", config.logRetentionTimeMillis());
        all.put("roll_ms", config.logRollTimeMillis());
        all.put("roll_jitter_ms", config.logRollTimeJitterMillis());
        all.put("flush_ms", config.logFlushIntervalMs());
        return all;
    }

    private static void endpoints(ArrayNode array, scala.collection.Seq<Endpoint> endpoints) {
        for (Endpoint one : CollectionConverters.asJava(endpoints)) {
            array.add(one.listener() + " " + one.securityProtocol() + " " + one.host() + " " + one.port());
        }
    }

    private static String asText(String name, Object value) {
        ConfigDef.ConfigKey key = AbstractKafkaConfig.CONFIG_DEF.configKeys().get(name);
        if (value instanceof Password) return ((Password) value).value();
        return ConfigDef.convertToString(value, key == null ? ConfigDef.Type.STRING : key.type);
    }

    private static String with(Properties given, Properties ofCluster, Properties ofBroker) {
        KafkaConfig config = started(given);
        config.dynamicConfig().updateDefaultConfig(ofCluster, false);
        config.dynamicConfig().updateBrokerConfig(config.brokerId(), ofBroker, false);
        return described(config).toString();
    }

    private static KafkaConfig started(Properties given) {
        KafkaConfig config = KafkaConfig.fromProps(given, false);
        config.dynamicConfig().initialize(Option.empty());
        return config;
    }

    private static Properties properties(String field) {
        Properties all = new Properties();
        if (field.equals("-")) return all;
        for (String pair : field.split(",")) {
            String[] parts = pair.split("=");
            all.setProperty(untext(parts[0]), untext(parts[1]));
        }
        return all;
    }

    private static String untext(String field) {
        return field.equals("-") ? "" : new String(HexFormat.of().parseHex(field), StandardCharsets.UTF_8);
    }
}
