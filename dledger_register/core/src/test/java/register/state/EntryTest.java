package register.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class EntryTest {

    static List<Operation> operations() {
        return List.of(
                new Operation.Write("k", 0),
                new Operation.Write("ключ €", Long.MIN_VALUE),
                new Operation.Cas("k", null, Long.MAX_VALUE),
                new Operation.Cas("k", 0L, -1),
                new Operation.Add("k", -3),
                new Operation.Scan("set-0/", Operation.Mode.LOG),
                new Operation.Transfer("bank-0/1", "bank-0/ключ", 5),
                new Operation.Acquire("lock-0"),
                new Operation.Release("lock-0", 17),
                new Operation.Append("log", Long.MAX_VALUE),
                new Operation.Entries("log", Operation.Mode.LOG),
                new Operation.Read("x".repeat(Entry.MAX_KEY_BYTES), Operation.Mode.LOG));
    }

    @ParameterizedTest
    @MethodSource("operations")
    void roundTrip(Operation operation) throws Entry.Malformed {
        Entry entry = new Entry(-7, 42, operation);
        assertEquals(entry, Entry.decode(entry.encode()));
    }

    @ParameterizedTest
    @MethodSource("operations")
    void everyCutIsMalformed(Operation operation) {
        byte[] body = new Entry(1, 2, operation).encode();
        for (int length = 0; length < body.length; length++) {
            byte[] cut = Arrays.copyOf(body, length);
            assertThrows(Entry.Malformed.class, () -> Entry.decode(cut));
        }
        byte[] longer = Arrays.copyOf(body, body.length + 1);
        assertThrows(Entry.Malformed.class, () -> Entry.decode(longer));
    }

    @Test
    void strangeVersionAndKindAreMalformed() {
        byte[] body = new Entry(1, 2, new Operation.Write("k", 3)).encode();
        body[0] = 9;
        assertThrows(Entry.Malformed.class, () -> Entry.decode(body));
        body[0] = 1;
        body[1] = 99;
        assertThrows(Entry.Malformed.class, () -> Entry.decode(body));
    }

    @Test
    void whatMakesNoEntryIsRefused() {
        Entry entry = new Entry(1, 2, new Operation.Get("log", 3));
        assertThrows(IllegalArgumentException.class, entry::encode);
    }

    @Test
    void onlyAnAppendUnderTheKeyWasAppended() {
        assertEquals(7L, Entry.appended(new Entry(1, 2, new Operation.Append("log", 7)).encode(), "log"));
        assertNull(Entry.appended(new Entry(1, 2, new Operation.Append("log", 7)).encode(), "other"));
        assertNull(Entry.appended(new Entry(1, 2, new Operation.Write("log", 7)).encode(), "log"));
        assertNull(Entry.appended(new byte[] {1, 2}, "log"));
        assertNull(Entry.appended(new byte[0], "log"));
        assertNull(Entry.appended(null, "log"));
    }

    @Test
    void longKeyIsRefused() {
        Entry entry = new Entry(1, 2, new Operation.Write("x".repeat(Entry.MAX_KEY_BYTES + 1), 3));
        assertThrows(IllegalArgumentException.class, entry::encode);
    }

    /** The layout is stored in logs: it must not change by accident. */
    @Test
    void layout() {
        byte[] body = new Entry(1, 2, new Operation.Cas("k", 3L, 4)).encode();
        byte[] expected = {
            1, 2,
            0, 0, 0, 0, 0, 0, 0, 1,
            0, 0, 0, 0, 0, 0, 0, 2,
            1,
            0, 0, 0, 0, 0, 0, 0, 3,
            0, 0, 0, 0, 0, 0, 0, 4,
            0, 1, 'k'
        };
        assertEquals(Arrays.toString(expected), Arrays.toString(body));
    }
}
