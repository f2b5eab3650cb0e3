// What Kafka and Java say of group coordinators' small things, line by line. Bytes and texts are in hexadecimal, none at
// all is "-", and what is missing is "null".
//
//   FORMAT KEY VALUE       a record of __consumer_offsets, by the formatters of the console consumer  -> OK JSON
//   PARTITION GROUP COUNT  the partition of __consumer_offsets that keeps a group                     -> OK NUMBER
//   ORDER KEY...           in which order a HashMap yields these                                      -> OK KEY...
//
// Whatever is refused is answered by ERR and one line of reason.

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter;
import org.apache.kafka.tools.consumer.OffsetsMessageFormatter;

public class CoordinatorOracle {
    private static final HexFormat HEX = HexFormat.of();

    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(answer(line.split(" ")));
            out.print("\n");
            out.flush();
        }
    }

    private static String answer(String[] fields) {
        try {
            return "OK " + switch (fields[0]) {
                case "FORMAT" -> format(bytes(fields[1]), bytes(fields[2]));
                case "PARTITION" -> Utils.abs(text(fields[1]).hashCode()) % Integer.parseInt(fields[2]);
                case "ORDER" -> order(fields);
                default -> throw new IllegalArgumentException(fields[0]);
            };
        } catch (Exception refused) {
            return "ERR " + refused.toString().replace('\n', ' ');
        }
    }

    private static String format(byte[] key, byte[] value) {
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        for (MessageFormatter formatter : new MessageFormatter[] {
            new OffsetsMessageFormatter(), new GroupMetadataMessageFormatter()
        }) {
            formatter.writeTo(new ConsumerRecord<>("__consumer_offsets", 0, 0, key, value), new PrintStream(written));
        }
        return written.toString(StandardCharsets.UTF_8);
    }

    private static String order(String[] fields) {
        Map<String, Boolean> map = new HashMap<>();
        for (int number = 1; number < fields.length; number++) {
            map.put(text(fields[number]), true);
        }
        return map.keySet().stream()
            .map(key -> key.isEmpty() ? "-" : HEX.formatHex(key.getBytes(StandardCharsets.UTF_8)))
            .collect(Collectors.joining(" "));
    }

    private static String text(String field) {
        return new String(bytes(field), StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String field) {
        return field.equals("null") ? null : HEX.parseHex(field.equals("-") ? "" : field);
    }
}
