package register.state;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * One operation as the body of a log entry; the same bytes for every DLedger version.
 *
 * <p>Layout, big endian: version u8 (1), kind u8, origin i64, request i64, oldPresent u8, old i64, value i64,
 * key length u16, key (UTF-8). Origin and request name the process and the request that appended the entry: where
 * DLedger itself returns no result, they say whose result it is. They take no part in applying.
 */
public record Entry(long origin, long request, Operation operation) {

    public static final int MAX_KEY_BYTES = 256;

    private static final byte VERSION = 1;
    private static final byte WRITE = 1;
    private static final byte CAS = 2;
    private static final byte READ = 3;
    private static final int HEAD = 1 + 1 + 8 + 8 + 1 + 8 + 8 + 2;

    /** The body of an entry that is damaged, or not ours. */
    public static final class Malformed extends Exception {
        private static final long serialVersionUID = 1L;

        Malformed(String message) {
            super(message);
        }
    }

    public byte[] encode() {
        byte[] key = operation.key().getBytes(StandardCharsets.UTF_8);
        if (key.length > MAX_KEY_BYTES) {
            throw new IllegalArgumentException("key of " + key.length + " bytes, at most " + MAX_KEY_BYTES);
        }
        byte kind = READ;
        Long old = null;
        long value = 0;
        if (operation instanceof Operation.Write write) {
            kind = WRITE;
            value = write.value();
        } else if (operation instanceof Operation.Cas cas) {
            kind = CAS;
            old = cas.old();
            value = cas.next();
        }
        return ByteBuffer.allocate(HEAD + key.length)
                .put(VERSION)
                .put(kind)
                .putLong(origin)
                .putLong(request)
                .put((byte) (old == null ? 0 : 1))
                .putLong(old == null ? 0 : old)
                .putLong(value)
                .putShort((short) key.length)
                .put(key)
                .array();
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
            byte[] key = new byte[Short.toUnsignedInt(buffer.getShort())];
            buffer.get(key);
            if (buffer.hasRemaining()) {
                throw new Malformed(buffer.remaining() + " bytes too many");
            }
            String name = new String(key, StandardCharsets.UTF_8);
            return new Entry(origin, request, operation(kind, name, oldPresent ? old : null, value));
        } catch (BufferUnderflowException cut) {
            throw new Malformed("cut short at " + body.length + " bytes");
        }
    }

    private static Operation operation(byte kind, String key, Long old, long value) throws Malformed {
        return switch (kind) {
            case WRITE -> new Operation.Write(key, value);
            case CAS -> new Operation.Cas(key, old, value);
            case READ -> new Operation.Read(key, Operation.Mode.LOG);
            default -> throw new Malformed("entry kind " + kind);
        };
    }
}
