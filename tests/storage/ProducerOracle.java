// Kafka's producer state of one partition and the transaction index of one segment, asked line by line. Fields are
// separated by blanks, bytes are in hexadecimal, no bytes are "-" and what is missing is "null".
//
//   NEW EXPIRATION_MS             begin with nothing, in an empty directory           -> OK
//   APPEND ORIGIN VERSION BYTES   batches in one append; VERSION is the transactions' -> OK, OK DUPLICATE FIRST LAST TIME
//   STATE                         -> OK FIRST_UNSTABLE FIRST_UNDECIDED END EMPTY SNAPSHOTS PRODUCERS
//   WATERMARK OFFSET              the high watermark advances                         -> OK
//   START OFFSET                  the log's start offset increases                    -> OK
//   EXPIRE NOW                                                                        -> OK
//   SNAPSHOT                      take one                                            -> OK BYTES, or OK null
//   TRUNCATE START END NOW        truncate and reload                                 -> OK
//   FULLY OFFSET                  truncate fully and start there                      -> OK
//   RESTART START END NOW         another object on the same directory, loaded        -> OK
//   STRAYS OFFSETS                remove the snapshots of no segment                  -> OK
//   PUT OFFSET BYTES              a snapshot file of somebody else's                  -> OK
//   READ BYTES                    a snapshot                                          -> OK PRODUCERS
//   INDEX                         the transaction index's file                        -> OK BYTES, or OK null
//   ABORTED TRANSACTIONS          what to append: PRODUCER,FIRST,LAST,STABLE;...      -> OK
//   COLLECT FETCH UPPER           -> OK COMPLETE TRANSACTIONS
//   INDEX_TRUNCATE OFFSET                                                             -> OK
//   INDEX_CHECK                                                                       -> OK
//
// Whatever Kafka refuses is answered by ERR, its code and one line of reason.

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AbortedTxn;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.BatchMetadata;
import org.apache.kafka.storage.internals.log.CompletedTxn;
import org.apache.kafka.storage.internals.log.LogFileUtils;
import org.apache.kafka.storage.internals.log.ProducerAppendInfo;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.TransactionIndex;
import org.apache.kafka.storage.internals.log.TxnIndexSearchResult;
import org.apache.kafka.storage.internals.log.UnifiedLog;

public class ProducerOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static final Time NO_TIME = (Time) Proxy.newProxyInstance(Time.class.getClassLoader(),
        new Class<?>[] {Time.class}, (proxy, method, arguments) -> method.getReturnType() == long.class ? 0L : null);

    private static Path directory;
    private static int expirationMs;
    private static ProducerStateManager producers;
    private static TransactionIndex index;

    public static void main(String[] arguments) throws IOException {
        directory = Files.createTempDirectory("barnabas-producers");
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.print(answer(line.split(" ")));
            out.print("\n");
            out.flush();
        }
        empty();
        Files.delete(directory);
    }

    private static String answer(String[] fields) {
        try {
            return ("OK " + obey(fields)).strip();
        } catch (Exception refused) {
            return "ERR " + Errors.forException(refused).name() + " " + refused.toString().replace('\n', ' ');
        }
    }

    private static String obey(String[] fields) throws Exception {
        switch (fields[0]) {
            case "NEW" -> {
                empty();
                expirationMs = Integer.parseInt(fields[1]);
                open();
            }
            case "APPEND" -> {
                return append(AppendOrigin.valueOf(fields[1]), Short.parseShort(fields[2]), bytes(fields[3]));
            }
            case "STATE" -> {
                return state();
            }
            case "WATERMARK" -> producers.onHighWatermarkUpdated(Long.parseLong(fields[1]));
            case "START" -> producers.onLogStartOffsetIncremented(Long.parseLong(fields[1]));
            case "EXPIRE" -> producers.removeExpiredProducers(Long.parseLong(fields[1]));
            case "SNAPSHOT" -> {
                Optional<File> taken = producers.takeSnapshot(false);
                return taken.isEmpty() ? "null" : hex(Files.readAllBytes(taken.get().toPath()));
            }
            case "TRUNCATE" -> truncate(fields);
            case "FULLY" -> producers.truncateFullyAndStartAt(Long.parseLong(fields[1]));
            case "RESTART" -> {
                open();
                truncate(fields);
            }
            case "STRAYS" -> producers.removeStraySnapshots(
                Arrays.stream(fields[1].split(",")).map(Long::parseLong).collect(Collectors.toList()));
            case "PUT" -> Files.write(LogFileUtils.producerSnapshotFile(directory.toFile(), Long.parseLong(fields[1])).toPath(),
                bytes(fields[2]));
            case "READ" -> {
                Path file = directory.resolve("read");
                Files.write(file, bytes(fields[1]));
                return describe(ProducerStateManager.readSnapshot(file.toFile()));
            }
            case "INDEX" -> {
                return index.file().exists() ? hex(Files.readAllBytes(index.file().toPath())) : "null";
            }
            case "ABORTED" -> {
                for (String transaction : fields[1].split(";")) {
                    long[] parts = Arrays.stream(transaction.split(",")).mapToLong(Long::parseLong).toArray();
                    index.append(new AbortedTxn(parts[0], parts[1], parts[2], parts[3]));
                }
            }
            case "COLLECT" -> {
                TxnIndexSearchResult found = index.collectAbortedTxns(Long.parseLong(fields[1]), Long.parseLong(fields[2]));
                return found.isComplete() + " " + describeAborted(found.abortedTransactions());
            }
            case "INDEX_TRUNCATE" -> index.truncateTo(Long.parseLong(fields[1]));
            case "INDEX_CHECK" -> index.sanityCheck();
            default -> throw new IllegalArgumentException("unknown command " + fields[0]);
        }
        return "";
    }

    private static void empty() throws IOException {
        if (index != null)
            index.close();
        for (File file : directory.toFile().listFiles())
            Files.delete(file.toPath());
    }

    private static void open() throws IOException {
        if (index != null)
            index.close();
        producers = new ProducerStateManager(new TopicPartition("t", 0), directory.toFile(), 60_000,
            new ProducerStateManagerConfig(expirationMs, false), NO_TIME);
        index = new TransactionIndex(0, directory.resolve("00000000000000000000.txnindex").toFile());
    }

    private static void truncate(String[] fields) throws IOException {
        producers.truncateAndReload(Long.parseLong(fields[1]), Long.parseLong(fields[2]), Long.parseLong(fields[3]));
    }

    // The steps of UnifiedLog.append, which are private there.
    private static String append(AppendOrigin origin, short transactionVersion, byte[] bytes) throws Exception {
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes));
        Map<Long, ProducerAppendInfo> updated = new HashMap<>();
        List<CompletedTxn> completed = new ArrayList<>();
        long end = 0;
        for (MutableRecordBatch batch : records.batches()) {
            if (batch.hasProducerId()) {
                if (origin == AppendOrigin.CLIENT) {
                    Optional<BatchMetadata> duplicate = findDuplicate(batch);
                    if (duplicate.isPresent())
                        return String.format("DUPLICATE %d %d %d", duplicate.get().firstOffset(),
                            duplicate.get().lastOffset(), duplicate.get().timestamp());
                }
                UnifiedLog.updateProducers(producers, batch, updated, Optional.empty(), origin, transactionVersion)
                    .ifPresent(completed::add);
            }
            end = batch.nextOffset();
        }
        updated.values().forEach(producers::update);
        for (CompletedTxn transaction : completed) {
            long lastStableOffset = producers.lastStableOffset(transaction);
            if (transaction.isAborted())
                index.append(new AbortedTxn(transaction, lastStableOffset));
            producers.completeTxn(transaction);
        }
        producers.updateMapEndOffset(end);
        return "";
    }

    @SuppressWarnings("unchecked")
    private static Optional<BatchMetadata> findDuplicate(RecordBatch batch) throws Exception {
        Optional<ProducerStateEntry> entry = producers.lastEntry(batch.producerId());
        if (entry.isEmpty())
            return Optional.empty();
        Method find = ProducerStateEntry.class.getDeclaredMethod("findDuplicateBatch", RecordBatch.class);
        find.setAccessible(true);
        return (Optional<BatchMetadata>) find.invoke(entry.get(), batch);
    }

    private static String state() throws IOException {
        List<String> snapshots = new ArrayList<>();
        for (long offset = 0; offset <= producers.mapEndOffset() + 100; offset++)
            if (producers.snapshotFileForOffset(offset).isPresent())
                snapshots.add(String.valueOf(offset));
        Optional<Long> unstable = producers.firstUnstableOffset().map(found -> found.messageOffset);
        return String.join(" ", unstable.map(String::valueOf).orElse("null"), optional(producers.firstUndecidedOffset()),
            String.valueOf(producers.mapEndOffset()), String.valueOf(producers.isEmpty()),
            snapshots.isEmpty() ? "-" : String.join(",", snapshots), describe(producers.activeProducers().values()));
    }

    private static String describe(Collection<ProducerStateEntry> entries) {
        Map<Long, String> described = new TreeMap<>();
        for (ProducerStateEntry entry : entries) {
            StringBuilder text = new StringBuilder();
            text.append(entry.producerId()).append(",").append(entry.producerEpoch());
            text.append(",").append(entry.coordinatorEpoch()).append(",").append(entry.lastTimestamp());
            text.append(",").append(optional(entry.currentTxnFirstOffset()));
            for (BatchMetadata batch : entry.batchMetadata())
                text.append(",").append(batch.lastSeq()).append(":").append(batch.lastOffset()).append(":")
                    .append(batch.offsetDelta()).append(":").append(batch.timestamp());
            described.put(entry.producerId(), text.toString());
        }
        return described.isEmpty() ? "-" : String.join(";", described.values());
    }

    private static String describeAborted(List<AbortedTxn> transactions) {
        List<String> described = new ArrayList<>();
        for (AbortedTxn one : transactions)
            described.add(one.producerId() + "," + one.firstOffset() + "," + one.lastOffset() + "," + one.lastStableOffset());
        return described.isEmpty() ? "-" : String.join(";", described);
    }

    private static String optional(OptionalLong number) {
        return number.isPresent() ? String.valueOf(number.getAsLong()) : "null";
    }

    private static byte[] bytes(String text) {
        return HEX.parseHex(text.equals("-") ? "" : text);
    }

    private static String hex(byte[] bytes) {
        return bytes.length == 0 ? "-" : HEX.formatHex(bytes);
    }
}
