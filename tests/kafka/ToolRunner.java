// Runs Kafka's command line tools one after the other in one JVM, as java would from kafka-run-class.sh.
//
// It is asked {"tool": "class", "arguments": [...], "input": "what stdin holds"} and answers
// {"code": 0, "out": "...", "err": "..."}, each on one line.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Exit;

public class ToolRunner {
    /** Instead of the end of the JVM. An Error, so that tools which catch exceptions let it pass. */
    private static final class Ended extends Error {
    }

    private static final List<Runnable> HOOKS = new ArrayList<>();
    private static Integer code;

    public static void main(String[] none) throws Exception {
        ObjectMapper json = new ObjectMapper();
        PrintStream answers = System.out;
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Exit.Procedure end = (status, message) -> {
            if (code == null) {
                code = status;
            }
            throw new Ended();
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            JsonNode question = json.readTree(line);
            List<String> arguments = new ArrayList<>();
            question.get("arguments").forEach(each -> arguments.add(each.asText()));
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            ByteArrayOutputStream err = new ByteArrayOutputStream();
            PrintStream stderr = System.err;
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
            System.setIn(new ByteArrayInputStream(question.get("input").asText().getBytes(StandardCharsets.UTF_8)));
            code = null;
            int status = run(question.get("tool").asText(), arguments.toArray(new String[0]));
            HOOKS.forEach(Runnable::run);
            HOOKS.clear();
            System.out.flush();
            System.setErr(stderr);
            System.setOut(answers);
            answers.println(json.writeValueAsString(Map.of(
                "code", status,
                "out", out.toString(StandardCharsets.UTF_8),
                "err", err.toString(StandardCharsets.UTF_8))));
            answers.flush();
        }
    }

    private static int run(String tool, String[] arguments) throws Exception {
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException failed) {
            if (!(failed.getCause() instanceof Ended)) {
                failed.getCause().printStackTrace();
                return 1;
            }
        }
        return code == null ? 0 : code;
    }
}
