package register.state;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * One operation as the body of a log entry; the same bytes for every DLedger version.
 *
 * <p>Layout, big endian: version u8 (1), kind u8, origin i64, request i64, oldPresent u8, old i64, value i64,
 * key length u16, key (UTF-8), and for a transfer the other key in the same way. Origin and request name the process
 * and the request that appended the entry: where DLedger itself returns no result, they say whose result it is. They
 * have no effect on applying.
 */
public record Entry(long origin, long request, Operation operation) {

    public static final int MAX_KEY_BYTES = 256;

    private static final byte VERSION = 1;
    private static final byte WRITE = 1;
    private static final byte CAS = 2;
    private static final byte READ = 3;
    private static final byte ADD = 4;
    private static final byte SCAN = 5;
    private static final byte TRANSFER = 6;
    private static final byte ACQUIRE = 7;
    private static final byte RELEASE = 8;
    private static final byte APPEND = 9;
    private static final byte ENTRIES = 10;
    private static final int HEAD = 1 + 1 + 8 + 8 + 1 + 8 + 8 + 2;

    /** The body of an entry that is damaged, or not ours. */
    public static final class Malformed extends Exception {
        private static final long serialVersionUID = 1L;

        Malformed(String message) {
            super(message);
        }
    }

    /** The content of an entry besides its key. */
    private record Content(byte kind, Long old, long value, String other) {

        Content(byte kind, long value) {
            this(kind, null, value, null);
        }
    }

    private static Content content(Operation operation) {
        if (operation instanceof Operation.Write write) {
            return new Content(WRITE, write.value());
        }
        if (operation instanceof Operation.Cas cas) {
            return new Content(CAS, cas.old(), cas.next(), null);
        }
        if (operation instanceof Operation.Add add) {
            return new Content(ADD, add.value());
        }
        if (operation instanceof Operation.Transfer transfer) {
            return new Content(TRANSFER, null, transfer.amount(), transfer.to());
        }
        if (operation instanceof Operation.Release release) {
            return new Content(RELEASE, release.token());
        }
        if (operation instanceof Operation.Append append) {
            return new Content(APPEND, append.value());
        }
        return new Content(withoutValue(operation), 0);
    }

    private static byte withoutValue(Operation operation) {
        if (operation instanceof Operation.Acquire) {
            return ACQUIRE;
        }
        if (operation instanceof Operation.Scan) {
            return SCAN;
        }
        if (operation instanceof Operation.Entries) {
            return ENTRIES;
        }
        if (operation instanceof Operation.Read) {
            return READ;
        }
        throw new IllegalArgumentException("makes no entry: " + operation);
    }

    public byte[] encode() {
        Content content = content(operation);
        byte[] key = utf8(operation.key());
        byte[] other = content.other == null ? null : utf8(content.other);
        ByteBuffer buffer = ByteBuffer.allocate(HEAD + key.length + (other == null ? 0 : 2 + other.length))
                .put(VERSION)
                .put(content.kind)
                .putLong(origin)
                .putLong(request)
                .put((byte) (content.old == null ? 0 : 1))
                .putLong(content.old == null ? 0 : content.old)
                .putLong(content.value)
                .putShort((short) key.length)
                .put(key);
        if (other != null) {
            buffer.putShort((short) other.length).put(other);
        }
        return buffer.array();
    }

    private static byte[] utf8(String key) {
        byte[] bytes = key.getBytes(StandardCharsets.UTF_8);
        if (bytes.length > MAX_KEY_BYTES) {
            throw new IllegalArgumentException("key of " + bytes.length + " bytes, at most " + MAX_KEY_BYTES);
        }
        return bytes;
    }

    /** Returns the value that an entry with this body appended under this key, null if it appended none. */
    public static Long appended(byte[] body, String key) {
        try {
            Operation operation = body == null || body.length == 0 ? null : decode(body).operation();
            return operation instanceof Operation.Append append && append.key().equals(key) ? append.value() : null;
        } catch (Malformed other) {
            return null;
        }
    }

    public static Entry decode(byte[] body) throws Malformed {
        try {
            ByteBuffer buffer = ByteBuffer.wrap(body);
            byte version = buffer.get();
            if (version != VERSION) {
                throw new Malformed("entry version " + version);
            }
            byte kind = buffer.get();
            long origin = buffer.getLong();
            long request = buffer.getLong();
            boolean oldPresent = buffer.get() != 0;
            long old = buffer.getLong();
            long value = buffer.getLong();
            String key = text(buffer);
            String other = kind == TRANSFER ? text(buffer) : null;
            if (buffer.hasRemaining()) {
                throw new Malformed(buffer.remaining() + " bytes too many");
            }
            return new Entry(origin, request, operation(kind, key, other, oldPresent ? old : null, value));
        } catch (BufferUnderflowException cut) {
            throw new Malformed("cut short at " + body.length + " bytes");
        }
    }

    private static String text(ByteBuffer buffer) {
        byte[] bytes = new byte[Short.toUnsignedInt(buffer.getShort())];
        buffer.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static Operation operation(byte kind, String key, String other, Long old, long value) throws Malformed {
        return switch (kind) {
            case WRITE -> new Operation.Write(key, value);
            case CAS -> new Operation.Cas(key, old, value);
            case READ -> new Operation.Read(key, Operation.Mode.LOG);
            case ADD -> new Operation.Add(key, value);
            case SCAN -> new Operation.Scan(key, Operation.Mode.LOG);
            case TRANSFER -> new Operation.Transfer(key, other, value);
            case ACQUIRE -> new Operation.Acquire(key);
            case RELEASE -> new Operation.Release(key, value);
            case APPEND -> new Operation.Append(key, value);
            case ENTRIES -> new Operation.Entries(key, Operation.Mode.LOG);
            default -> throw new Malformed("entry kind " + kind);
        };
    }
}
