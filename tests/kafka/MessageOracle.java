// Kafka's generated message classes, asked line by line (see java_oracle.py for the caller):
//
//   NAME VERSION HEX      reads the bytes as message NAME -> OK HEX LEFTOVER JSON; HEX is Kafka's writing of what it
//                         read, LEFTOVER the number of bytes it did not read; no bytes at all are written "-"
//   DEFAULT NAME VERSION  a message with every field at its default -> OK HEX
//   SCHEMAS               every generated message class -> OK JSON
//   ERRORS                every error code -> OK JSON
//   APIS                  every API key with its versions, header versions and listeners -> OK JSON
//
// Whatever Kafka refuses is answered by ERR and one line of reason.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import java.util.jar.JarFile;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

public class MessageOracle {
    private static final List<String> PACKAGES = List.of(
        "org.apache.kafka.common.message",
        "org.apache.kafka.common.metadata",
        "org.apache.kafka.coordinator.group.generated",
        "org.apache.kafka.coordinator.transaction.generated",
        "org.apache.kafka.coordinator.share.generated",
        "org.apache.kafka.raft.generated",
        "org.apache.kafka.server.log.remote.metadata.storage.generated");
    private static final JsonNodeFactory JSON = JsonNodeFactory.instance;

    /** Message name (without "Data") to its class. */
    private static final TreeMap<String, Class<? extends Message>> MESSAGES = new TreeMap<>();

    public static void main(String[] arguments) throws IOException {
        findMessages();
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(answer(line));
            out.print('\n');
            out.flush();
        }
    }

    private static String answer(String line) {
        try {
            String[] words = line.strip().split(" +");
            switch (words[0]) {
                case "SCHEMAS": return "OK " + schemas();
                case "ERRORS": return "OK " + errors();
                case "APIS": return "OK " + apis();
                case "DEFAULT": {
                    Message message = create(words[1]);
                    return "OK " + write(message, version(message, words[2]));
                }
                default: return parse(words[0], words[1], words.length > 2 ? words[2] : "-");
            }
        } catch (InvocationTargetException wrapped) {
            return refusal(wrapped.getCause());
        } catch (Throwable thrown) {
            return refusal(thrown);
        }
    }

    private static String refusal(Throwable thrown) {
        return "ERR " + String.valueOf(thrown).replaceAll("\\s+", " ");
    }

    private static String parse(String name, String versionWord, String hex) throws Exception {
        Message message = create(name);
        short version = version(message, versionWord);
        ByteBuffer bytes = ByteBuffer.wrap(hex.equals("-") ? new byte[0] : HexFormat.of().parseHex(hex));
        message.read(new ByteBufferAccessor(bytes), version);
        // Counted before writing, and JSON after: writing a message may move the position of buffers inside it.
        int leftover = bytes.remaining();
        JsonNode json = toJson(message, version);
        return "OK " + write(message, version) + " " + leftover + " " + json;
    }

    private static Message create(String name) throws Exception {
        Class<? extends Message> type = MESSAGES.get(name);
        if (type == null) {
            throw new IllegalArgumentException("no generated message " + name);
        }
        return type.getDeclaredConstructor().newInstance();
    }

    /** Kafka's classes do not look at the version themselves in every case, so it is checked here. */
    private static short version(Message message, String word) {
        short version = Short.parseShort(word);
        if (version < message.lowestSupportedVersion() || version > message.highestSupportedVersion()) {
            throw new IllegalArgumentException("version " + version + " is outside of "
                + message.lowestSupportedVersion() + "-" + message.highestSupportedVersion());
        }
        return version;
    }

    private static String write(Message message, short version) {
        ByteBuffer buffer = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes.length == 0 ? "-" : HexFormat.of().formatHex(bytes);
    }

    /** Records are given by their size alone (serializeRecords false): they are bytes, not fields. */
    private static JsonNode toJson(Message message, short version) throws Exception {
        Class<?> converter;
        try {
            converter = Class.forName(message.getClass().getName() + "JsonConverter");
        } catch (ClassNotFoundException none) {
            return NullNode.getInstance();
        }
        Method write = converter.getMethod("write", message.getClass(), short.class, boolean.class);
        return (JsonNode) write.invoke(null, message, version, false);
    }

    private static void findMessages() throws IOException {
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!new File(path).getName().startsWith("kafka")) {
                continue;
            }
            try (JarFile jar = new JarFile(path)) {
                Collections.list(jar.entries()).forEach(entry -> remember(entry.getName()));
            }
        }
    }

    private static void remember(String entry) {
        if (!entry.endsWith(".class") || entry.contains("$")) {
            return;
        }
        String name = entry.substring(0, entry.length() - ".class".length()).replace('/', '.');
        int dot = name.lastIndexOf('.');
        if (dot < 0 || !PACKAGES.contains(name.substring(0, dot))) {
            return;
        }
        try {
            Class<?> type = Class.forName(name, false, MessageOracle.class.getClassLoader());
            if (Message.class.isAssignableFrom(type) && !Modifier.isAbstract(type.getModifiers())) {
                String known = type.getSimpleName().replaceFirst("Data$", "");
                if (MESSAGES.put(known, type.asSubclass(Message.class)) != null) {
                    throw new IllegalStateException("two messages are called " + known);
                }
            }
        } catch (ClassNotFoundException broken) {
            throw new IllegalStateException(broken);
        }
    }

    private static ArrayNode schemas() throws Exception {
        ArrayNode all = JSON.arrayNode();
        for (String name : MESSAGES.keySet()) {
            Message message = create(name);
            ObjectNode one = all.addObject();
            one.put("name", name);
            one.put("class", message.getClass().getName());
            one.put("lowest", message.lowestSupportedVersion());
            one.put("highest", message.highestSupportedVersion());
            // Requests and responses have their API's key; coordinator and metadata records their type.
            if (message instanceof ApiMessage) {
                one.put("apiKey", ((ApiMessage) message).apiKey());
            }
        }
        return all;
    }

    private static ArrayNode errors() {
        ArrayNode all = JSON.arrayNode();
        for (Errors error : Errors.values()) {
            ObjectNode one = all.addObject();
            one.put("code", error.code());
            one.put("name", error.name());
            one.put("retriable", error.exception() instanceof RetriableException);
            one.put("exception", error.exceptionName());
            one.put("message", error.message());
        }
        return all;
    }

    private static ArrayNode apis() {
        ArrayNode all = JSON.arrayNode();
        for (ApiKeys api : ApiKeys.values()) {
            ObjectNode one = all.addObject();
            one.put("id", api.id);
            one.put("name", api.name);
            one.put("oldest", api.oldestVersion());
            one.put("latest", api.latestVersion(true));
            one.put("latestStable", api.latestVersion(false));
            ObjectNode requestHeaders = one.putObject("requestHeader");
            ObjectNode responseHeaders = one.putObject("responseHeader");
            for (short version = api.oldestVersion(); version <= api.latestVersion(true); version++) {
                requestHeaders.put(String.valueOf(version), api.requestHeaderVersion(version));
                responseHeaders.put(String.valueOf(version), api.responseHeaderVersion(version));
            }
            ArrayNode listeners = one.putArray("listeners");
            for (ApiMessageType.ListenerType listener : ApiMessageType.ListenerType.values()) {
                if (api.inScope(listener)) {
                    listeners.add(listener.name().toLowerCase());
                }
            }
            one.put("clusterAction", api.clusterAction);
            one.put("forwardable", api.forwardable);
        }
        return all;
    }
}
