// Kafka's record batches, asked line by line. Fields of a line are separated by blanks, bytes are in hexadecimal, no
// bytes are "-" and null is "null". A record is OFFSET,TIMESTAMP,KEY,VALUE[,NAME:VALUE]* and records are joined by ";".
//
//   WRITE MAGIC COMPRESSION TIMESTAMP_TYPE BASE_OFFSET APPEND_TIME PRODUCER_ID EPOCH SEQUENCE TRANSACTIONAL CONTROL
//         LEADER_EPOCH DELETE_HORIZON RECORDS                              -> OK BYTES
//   READ BYTES     every batch, checked, and its records                   -> OK { BATCH RECORDS }*
//   MARKER TYPE PRODUCER_ID EPOCH COORDINATOR_EPOCH TIMESTAMP BASE_OFFSET LEADER_EPOCH       -> OK BYTES
//   CONTROL TYPE TIMESTAMP BASE_OFFSET LEADER_EPOCH                        -> OK BYTES
//   EMPTY BASE_OFFSET LAST_OFFSET TIMESTAMP PRODUCER_ID EPOCH SEQUENCE LEADER_EPOCH          -> OK BYTES
//   RETIME TIMESTAMP_TYPE TIMESTAMP BYTES                                  -> OK BYTES
//   PRODUCE VERSION COMPACTED TIMESTAMP_TYPE NOW BEFORE AFTER OFFSET LEADER_EPOCH BYTES
//         what the leader of a partition makes of them                     -> OK BYTES, or ERR and Kafka's code
//
// Whatever Kafka refuses is answered by ERR and one line of reason.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;
import org.apache.kafka.storage.internals.log.RecordValidationException;

public class BatchOracle {
    private static final HexFormat HEX = HexFormat.of();
    private static final int ROOM = 1 << 20;

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
                case "WRITE" -> write(fields);
                case "READ" -> read(bytes(fields[1]));
                case "MARKER" -> marker(fields);
                case "CONTROL" -> control(fields);
                case "EMPTY" -> empty(fields);
                case "RETIME" -> retime(fields);
                case "PRODUCE" -> produce(fields);
                default -> throw new IllegalArgumentException("unknown command " + fields[0]);
            };
        } catch (Exception refused) {
            Throwable cause = refused instanceof RecordValidationException several ? several.invalidException() : refused;
            return "ERR " + Errors.forException(cause).name() + " " + cause.toString().replace('\n', ' ');
        }
    }

    private static String write(String[] fields) {
        byte magic = Byte.parseByte(fields[1]);
        TimestampType timestampType = TimestampType.forName(fields[3]);
        long baseOffset = Long.parseLong(fields[4]);
        boolean isControl = Boolean.parseBoolean(fields[10]);
        ByteBufferOutputStream stream = new ByteBufferOutputStream(ROOM);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(stream, magic, compression(fields[2]), timestampType,
            baseOffset, Long.parseLong(fields[5]), Long.parseLong(fields[6]), Short.parseShort(fields[7]),
            Integer.parseInt(fields[8]), Boolean.parseBoolean(fields[9]), isControl, Integer.parseInt(fields[11]),
            ROOM, Long.parseLong(fields[12]));
        for (String record : fields[13].split(";")) {
            String[] parts = record.split(",");
            Header[] headers = new Header[parts.length - 4];
            for (int index = 0; index < headers.length; index++) {
                String[] header = parts[4 + index].split(":");
                headers[index] = new RecordHeader(new String(array(header[0]), StandardCharsets.UTF_8), array(header[1]));
            }
            long offset = Long.parseLong(parts[0]);
            SimpleRecord simple = new SimpleRecord(Long.parseLong(parts[1]), array(parts[2]), array(parts[3]), headers);
            if (isControl)
                builder.appendControlRecordWithOffset(offset, simple);
            else
                builder.appendWithOffset(offset, simple);
        }
        return hex(builder.build());
    }

    private static String read(ByteBuffer buffer) {
        List<String> parts = new ArrayList<>();
        for (MutableRecordBatch batch : MemoryRecords.readableRecords(buffer).batches()) {
            batch.ensureValid();
            parts.add(String.join(",", String.valueOf(batch.magic()),
                String.valueOf(batch.magic() < 2 ? batch.lastOffset() : batch.baseOffset()),
                String.valueOf(batch.lastOffset()), String.valueOf(batch.nextOffset()),
                String.valueOf(batch.sizeInBytes()), String.valueOf(batch.partitionLeaderEpoch()),
                String.valueOf(batch.checksum()), batch.compressionType().name(), batch.timestampType().name(),
                String.valueOf(batch.maxTimestamp()), String.valueOf(batch.producerId()),
                String.valueOf(batch.producerEpoch()), String.valueOf(batch.baseSequence()),
                String.valueOf(batch.lastSequence()), String.valueOf(batch.isTransactional()),
                String.valueOf(batch.isControlBatch()),
                batch.deleteHorizonMs().isPresent() ? String.valueOf(batch.deleteHorizonMs().getAsLong()) : "null",
                String.valueOf(batch.countOrNull())));
            List<String> records = new ArrayList<>();
            for (Record record : batch) {
                record.ensureValid();
                StringBuilder text = new StringBuilder();
                text.append(record.offset()).append(",").append(record.timestamp());
                text.append(",").append(hex(record.key())).append(",").append(hex(record.value()));
                for (Header header : record.headers())
                    text.append(",").append(hex(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8))))
                        .append(":").append(hex(header.value() == null ? null : ByteBuffer.wrap(header.value())));
                records.add(text.toString());
            }
            parts.add(records.isEmpty() ? "-" : String.join(";", records));
        }
        return String.join(" ", parts);
    }

    private static String marker(String[] fields) {
        EndTransactionMarker marker =
            new EndTransactionMarker(ControlRecordType.valueOf(fields[1]), Integer.parseInt(fields[4]));
        return hex(MemoryRecords.withEndTransactionMarker(Long.parseLong(fields[6]), Long.parseLong(fields[5]),
            Integer.parseInt(fields[7]), Long.parseLong(fields[2]), Short.parseShort(fields[3]), marker));
    }

    private static String control(String[] fields) {
        long timestamp = Long.parseLong(fields[2]);
        long offset = Long.parseLong(fields[3]);
        int epoch = Integer.parseInt(fields[4]);
        ByteBuffer room = ByteBuffer.allocate(1024);
        return hex(switch (ControlRecordType.valueOf(fields[1])) {
            case LEADER_CHANGE -> MemoryRecords.withLeaderChangeMessage(offset, timestamp, epoch, room,
                new LeaderChangeMessage().setLeaderId(7));
            case SNAPSHOT_HEADER -> MemoryRecords.withSnapshotHeaderRecord(offset, timestamp, epoch, room,
                new SnapshotHeaderRecord().setLastContainedLogTimestamp(99));
            case SNAPSHOT_FOOTER -> MemoryRecords.withSnapshotFooterRecord(offset, timestamp, epoch, room,
                new SnapshotFooterRecord());
            case KRAFT_VERSION -> MemoryRecords.withKRaftVersionRecord(offset, timestamp, epoch, room,
                new KRaftVersionRecord().setKRaftVersion((short) 1));
            case KRAFT_VOTERS -> MemoryRecords.withVotersRecord(offset, timestamp, epoch, room, new VotersRecord());
            default -> throw new IllegalArgumentException(fields[1]);
        });
    }

    private static String empty(String[] fields) {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(buffer, RecordBatch.MAGIC_VALUE_V2, Long.parseLong(fields[4]),
            Short.parseShort(fields[5]), Integer.parseInt(fields[6]), Long.parseLong(fields[1]),
            Long.parseLong(fields[2]), Integer.parseInt(fields[7]), TimestampType.CREATE_TIME,
            Long.parseLong(fields[3]), true, false);
        buffer.flip();
        return hex(buffer);
    }

    private static String retime(String[] fields) {
        MemoryRecords records = MemoryRecords.readableRecords(bytes(fields[3]));
        for (MutableRecordBatch batch : records.batches())
            batch.setMaxTimestamp(TimestampType.forName(fields[1]), Long.parseLong(fields[2]));
        return hex(records);
    }

    private static String produce(String[] fields) {
        MemoryRecords records = MemoryRecords.readableRecords(bytes(fields[9]));
        ProduceRequest.validateRecords(Short.parseShort(fields[1]), records);
        MutableRecordBatch batch = records.batches().iterator().next();
        batch.ensureValid();
        long now = Long.parseLong(fields[4]);
        Time time = (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), new Class<?>[] {Time.class},
            (proxy, method, arguments) -> method.getName().endsWith("seconds") ? now : null);
        LogValidator validator = new LogValidator(records, new TopicPartition("t", 0), time, batch.compressionType(),
            Compression.of(batch.compressionType()).build(), Boolean.parseBoolean(fields[2]),
            RecordBatch.MAGIC_VALUE_V2, TimestampType.forName(fields[3]), Long.parseLong(fields[5]),
            Long.parseLong(fields[6]), Integer.parseInt(fields[8]), AppendOrigin.CLIENT);
        LogValidator.MetricsRecorder metrics = (LogValidator.MetricsRecorder) Proxy.newProxyInstance(
            LogValidator.MetricsRecorder.class.getClassLoader(), new Class<?>[] {LogValidator.MetricsRecorder.class},
            (proxy, method, arguments) -> null);
        return hex(validator.validateMessagesAndAssignOffsets(PrimitiveRef.ofLong(Long.parseLong(fields[7])), metrics,
            BufferSupplier.NO_CACHING).validatedRecords());
    }

    private static Compression compression(String name) {
        return Compression.of(CompressionType.valueOf(name)).build();
    }

    private static byte[] array(String text) {
        return text.equals("null") ? null : HEX.parseHex(text.equals("-") ? "" : text);
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(array(text));
    }

    private static String hex(MemoryRecords records) {
        return hex(records.buffer());
    }

    private static String hex(ByteBuffer buffer) {
        if (buffer == null)
            return "null";
        byte[] array = new byte[buffer.remaining()];
        buffer.duplicate().get(array);
        return array.length == 0 ? "-" : HEX.formatHex(array);
    }
}
