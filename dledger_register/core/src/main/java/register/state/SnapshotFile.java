package register.state;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.CRC32;

/**
 * A snapshot's data file: a line of JSON with format, version, count and CRC-32 of the second line, which is one object
 * of all registers, sorted by key. Equal states give equal bytes, so snapshots of two nodes can be compared by hash.
 */
final class SnapshotFile {

    private static final String FORMAT = "dledger-register-snapshot";
    private static final int VERSION = 1;
    private static final JsonFactory JSON =
            JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();

    private SnapshotFile() {
    }

    static void write(Path file, Map<String, Long> registers) throws IOException {
        byte[] body = body(new TreeMap<>(registers));
        String head = String.format(
                "{\"format\":\"%s\",\"version\":%d,\"count\":%d,\"crc\":%d}\n",
                FORMAT, VERSION, registers.size(), crc(body));
        // Force the file to disk, because DLedger then drops the log that the snapshot replaces.
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            ByteBuffer[] parts = {ByteBuffer.wrap(head.getBytes(StandardCharsets.UTF_8)), ByteBuffer.wrap(body)};
            while (parts[1].hasRemaining()) {
                channel.write(parts);
            }
            channel.force(true);
        }
    }

    private static byte[] body(Map<String, Long> registers) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(bytes, JsonEncoding.UTF8)) {
            json.writeStartObject();
            for (Map.Entry<String, Long> register : registers.entrySet()) {
                json.writeNumberField(register.getKey(), register.getValue());
            }
            json.writeEndObject();
        }
        bytes.write('\n');
        return bytes.toByteArray();
    }

    static Map<String, Long> read(Path file) throws IOException {
        return parse(Files.readAllBytes(file));
    }

    static Map<String, Long> parse(byte[] bytes) throws IOException {
        int newline = 0;
        while (newline < bytes.length && bytes[newline] != '\n') {
            newline++;
        }
        byte[] body = newline < bytes.length
                ? Arrays.copyOfRange(bytes, newline + 1, bytes.length)
                : new byte[0];
        Head head = head(bytes, newline);
        if (head.crc != crc(body)) {
            throw new IOException("the snapshot's checksum does not fit");
        }
        Map<String, Long> registers = registers(body);
        if (registers.size() != head.count) {
            throw new IOException("snapshot holds " + registers.size() + " registers, says " + head.count);
        }
        return registers;
    }

    private record Head(long count, long crc) {
    }

    private static Head head(byte[] bytes, int length) throws IOException {
        String format = null;
        long version = -1;
        long count = -1;
        long crc = -1;
        try (JsonParser json = JSON.createParser(bytes, 0, length)) {
            expect(json.nextToken(), JsonToken.START_OBJECT);
            for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
                json.nextToken();
                switch (name) {
                    case "format" -> format = json.getText();
                    case "version" -> version = json.getLongValue();
                    case "count" -> count = json.getLongValue();
                    case "crc" -> crc = json.getLongValue();
                    default -> throw new IOException("unknown field in the snapshot's head: " + name);
                }
            }
        }
        if (!FORMAT.equals(format) || version != VERSION) {
            throw new IOException("not a " + FORMAT + " of version " + VERSION + ": " + format + " " + version);
        }
        return new Head(count, crc);
    }

    private static Map<String, Long> registers(byte[] body) throws IOException {
        Map<String, Long> registers = new TreeMap<>();
        try (JsonParser json = JSON.createParser(body)) {
            expect(json.nextToken(), JsonToken.START_OBJECT);
            for (String key = json.nextFieldName(); key != null; key = json.nextFieldName()) {
                expect(json.nextToken(), JsonToken.VALUE_NUMBER_INT);
                registers.put(key, json.getLongValue());
            }
            expect(json.currentToken(), JsonToken.END_OBJECT);
        }
        return registers;
    }

    private static void expect(JsonToken seen, JsonToken wanted) throws IOException {
        if (seen != wanted) {
            throw new IOException("snapshot: expected " + wanted + ", found " + seen);
        }
    }

    private static long crc(byte[] bytes) {
        CRC32 crc = new CRC32();
        crc.update(bytes);
        return crc.getValue();
    }
}
