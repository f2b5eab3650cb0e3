// Kafka's own cleaner on the directory of one partition, asked line by line:
//
//   CLEAN DIRECTORY NOW FIRST_DIRTY FIRST_UNCLEANABLE MAP_BYTES CONFIGS   one round -> OK END_OFFSET
//   PLAN DIRECTORY NOW CHECKPOINT HIGH_WATERMARK CONFIGS  CHECKPOINT may be "-"
//       -> OK FIRST_DIRTY FIRST_UNCLEANABLE CLEAN_BYTES CLEANABLE_BYTES OVERDUE FORCED
//
// FIRST_UNCLEANABLE may be "-", for the segment that is appended to. CONFIGS are NAME=VALUE, separated by semicolons.
// The log is opened as after a clean stop and closed in the end. What Kafka refuses is answered by ERR and a reason.

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ScheduledFuture;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class CleanerOracle {
    private static final double LOAD_FACTOR = 0.9;
    private static final int BUFFER_BYTES = 1 << 16;

    private static long now;

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(answer(line.split(" ")));
            out.print("\n");
            out.flush();
        }
    }

    private static String answer(String[] fields) {
        try {
            return "OK " + (fields[0].equals("CLEAN") ? clean(fields) : plan(fields));
        } catch (Throwable refused) {
            refused.printStackTrace();
            return "ERR " + refused.toString().replace('\n', ' ');
        }
    }

    private static String clean(String[] fields) throws Exception {
        now = Long.parseLong(fields[2]);
        UnifiedLog log = open(fields[1], fields[6]);
        try {
            long uncleanable = fields[4].equals("-") ? log.activeSegment().baseOffset() : Long.parseLong(fields[4]);
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(Integer.parseInt(fields[5])), BUFFER_BYTES, BUFFER_BYTES,
                LOAD_FACTOR, new Throttler(Double.MAX_VALUE, Long.MAX_VALUE, "throttler", "entries", time()), time(),
                partition -> { });
            LogToClean round = new LogToClean(log, Long.parseLong(fields[3]), uncleanable, false);
            return String.valueOf(cleaner.doClean(round, now).getKey());
        } finally {
            log.close();
        }
    }

    private static String plan(String[] fields) throws Exception {
        now = Long.parseLong(fields[2]);
        UnifiedLog log = open(fields[1], fields[5]);
        try {
            log.updateHighWatermark(Long.parseLong(fields[4]));
            Optional<Long> checkpoint = fields[3].equals("-") ? Optional.empty() : Optional.of(Long.parseLong(fields[3]));
            Method method = LogCleanerManager.class.getDeclaredMethod("cleanableOffsets", UnifiedLog.class,
                Optional.class, long.class);
            method.setAccessible(true);
            Object offsets = method.invoke(null, log, checkpoint, now);
            long firstDirty = (long) field(offsets, "firstDirtyOffset");
            LogToClean found = new LogToClean(log, firstDirty, (long) field(offsets, "firstUncleanableDirtyOffset"), false);
            Method delay = LogCleanerManager.class.getDeclaredMethod("maxCompactionDelay", UnifiedLog.class, long.class,
                long.class);
            delay.setAccessible(true);
            return found.firstDirtyOffset() + " " + found.firstUncleanableOffset() + " " + found.cleanBytes() + " "
                + found.cleanableBytes() + " " + delay.invoke(null, log, firstDirty, now) + " "
                + field(offsets, "forceUpdateCheckpoint");
        } finally {
            log.close();
        }
    }

    private static Object field(Object record, String name) throws Exception {
        Method method = record.getClass().getDeclaredMethod(name);
        method.setAccessible(true);
        return method.invoke(record);
    }

    private static UnifiedLog open(String directory, String configs) throws Exception {
        Properties properties = new Properties();
        for (String pair : configs.split(";"))
            properties.setProperty(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        return UnifiedLog.create(new File(directory), new LogConfig(properties), 0L, 0L, scheduler(),
            new BrokerTopicStats(false), time(), 60_000, new ProducerStateManagerConfig(86_400_000, false), 600_000,
            new LogDirFailureChannel(10), true, Optional.empty());
    }

    private static Time time() {
        return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "milliseconds", "hiResClockMs" -> now;
                case "nanoseconds" -> now * 1_000_000;
                default -> null;
            });
    }

    /** What is to be done later never is. */
    private static Scheduler scheduler() {
        ScheduledFuture<?> never = (ScheduledFuture<?>) Proxy.newProxyInstance(CleanerOracle.class.getClassLoader(),
            new Class<?>[] {ScheduledFuture.class}, (proxy, method, arguments) -> true);
        return (Scheduler) Proxy.newProxyInstance(Scheduler.class.getClassLoader(), new Class<?>[] {Scheduler.class},
            (proxy, method, arguments) -> method.getName().startsWith("schedule") ? never : null);
    }
}
