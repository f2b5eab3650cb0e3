// Where Kafka's StripedReplicaPlacer puts replicas, asked line by line.
//
//   SEED PARTITIONS REPLICAS { ID:RACK:FENCED }*      -> OK { ID,ID,... }*
//
// RACK is "-" where there is none, FENCED 0 or 1. Whatever Kafka refuses is answered by ERR.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.metadata.placement.ClusterDescriber;
import org.apache.kafka.metadata.placement.PlacementSpec;
import org.apache.kafka.metadata.placement.StripedReplicaPlacer;
import org.apache.kafka.metadata.placement.UsableBroker;

public class PlacementOracle {
    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(answer(line.split(" ")));
            out.print('\n');
            out.flush();
        }
    }

    private static String answer(String[] words) {
        List<UsableBroker> brokers = new ArrayList<>();
        for (int index = 3; index < words.length; index++) {
            String[] parts = words[index].split(":");
            Optional<String> rack = parts[1].equals("-") ? Optional.empty() : Optional.of(parts[1]);
            brokers.add(new UsableBroker(Integer.parseInt(parts[0]), rack, parts[2].equals("1")));
        }
        ClusterDescriber cluster = new ClusterDescriber() {
            @Override
            public Iterator<UsableBroker> usableBrokers() {
                return brokers.iterator();
            }

            @Override
            public Uuid defaultDir(int brokerId) {
                return Uuid.ZERO_UUID;
            }
        };
        PlacementSpec wanted = new PlacementSpec(0, Integer.parseInt(words[1]), Short.parseShort(words[2]));
        try {
            return new StripedReplicaPlacer(new Random(Long.parseLong(words[0]))).place(wanted, cluster).assignments().stream()
                .map(one -> one.replicas().stream().map(String::valueOf).collect(Collectors.joining(",")))
                .collect(Collectors.joining(" ", "OK ", ""));
        } catch (Exception refused) {
            return "ERR " + refused.getMessage();
        }
    }
}
