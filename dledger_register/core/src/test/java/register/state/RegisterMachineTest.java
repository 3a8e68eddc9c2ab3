package register.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RegisterMachineTest {

    @TempDir
    Path dir;

    private final Health health = new Health();
    private final RegisterMachine machine = new RegisterMachine(health);
    private long index;

    private Result apply(Operation operation) {
        return machine.apply(index++, new Entry(0, 0, operation));
    }

    private static Operation read(String key) {
        return new Operation.Read(key, Operation.Mode.LOG);
    }

    @Test
    void writeThenRead() {
        assertEquals(Result.read(null), apply(read("k")));
        assertEquals(Result.WRITTEN, apply(new Operation.Write("k", 7)));
        assertEquals(Result.read(7L), apply(read("k")));
        assertEquals(Result.read(null), apply(read("other")));
        assertNull(health.fault());
    }

    @Test
    void casSwapsOnlyWhatItExpects() {
        assertEquals(Result.kept(null), apply(new Operation.Cas("k", 1L, 2)));
        assertEquals(Result.SWAPPED, apply(new Operation.Cas("k", null, 1000)));
        assertEquals(Result.kept(1000L), apply(new Operation.Cas("k", null, 3)));
        assertEquals(Result.SWAPPED, apply(new Operation.Cas("k", 1000L, 4)));
        assertEquals(4, machine.get("k"));
    }

    @Test
    void addsCountFromNothing() {
        assertEquals(Result.WRITTEN, apply(new Operation.Add("c", 3)));
        assertEquals(Result.WRITTEN, apply(new Operation.Add("c", -5)));
        assertEquals(Result.read(-2L), apply(read("c")));
    }

    @Test
    void aScanReadsWhatBeginsSo() {
        apply(new Operation.Add("s-1/7", 1));
        apply(new Operation.Add("s-1/12", 1));
        apply(new Operation.Add("s-10/1", 1));
        apply(new Operation.Write("s", 1));
        Operation scan = new Operation.Scan("s-1/", Operation.Mode.LOG);
        assertEquals(Result.all(Map.of("s-1/7", 1L, "s-1/12", 1L)), apply(scan));
        assertEquals(Result.all(Map.of()), apply(new Operation.Scan("none/", Operation.Mode.LOG)));
        assertEquals(4, machine.mark().registers());
    }

    @Test
    void aTransferMovesAnAmountAndSaysWhatIsLeft() {
        assertEquals(Result.all(Map.of("a", -3L, "b", 3L)), apply(new Operation.Transfer("a", "b", 3)));
        assertEquals(Result.all(Map.of("b", 1L, "c", 2L)), apply(new Operation.Transfer("b", "c", 2)));
        assertEquals(Result.all(Map.of("c", 2L)), apply(new Operation.Transfer("c", "c", 9)));
    }

    @Test
    void aLockIsHeldByOneTokenAndTokensGrow() {
        apply(read("k"));
        assertEquals(Result.acquired(2), apply(new Operation.Acquire("l")));
        assertEquals(Result.kept(2L), apply(new Operation.Acquire("l")));
        assertEquals(Result.kept(2L), apply(new Operation.Release("l", 1)));
        assertEquals(Result.SWAPPED, apply(new Operation.Release("l", 2)));
        assertEquals(Result.kept(null), apply(new Operation.Release("l", 2)));
        assertEquals(Result.acquired(7), apply(new Operation.Acquire("l")));
        assertEquals(Result.acquired(8), apply(new Operation.Acquire("other")));
    }

    @Test
    void whatWasAppendedIsInTheDigestAndIsReadFromTheLog() {
        Map<Long, byte[]> log = new HashMap<>();
        machine.reads(new LogView() {
            @Override
            public long begin() {
                return 0;
            }

            @Override
            public byte[] body(long at) {
                return log.get(at);
            }
        });
        Operation entries = new Operation.Entries("log", Operation.Mode.LOG);
        String empty = machine.mark().digest();
        log.put(0L, new Entry(0, 0, new Operation.Append("log", 5)).encode());
        assertEquals(Result.read(0L), apply(new Operation.Append("log", 5)));
        assertNotEquals(empty, machine.mark().digest());
        log.put(1L, new byte[0]);
        machine.reached(index++);
        log.put(2L, new Entry(0, 0, new Operation.Append("log", 4)).encode());
        assertEquals(Result.all(Map.of("0", 5L)), machine.answer((Operation.Query) entries), "not applied yet");
        assertEquals(Result.read(2L), apply(new Operation.Append("log", 4)));
        assertEquals(Result.all(Map.of("0", 5L, "2", 4L)), apply(entries));
    }

    @Test
    void aLogThatIsNotHeldAnyMoreIsNotGuessed() {
        machine.reads(new LogView() {
            @Override
            public long begin() {
                return 3;
            }

            @Override
            public byte[] body(long at) {
                throw new IllegalStateException();
            }
        });
        assertEquals(Result.all(null), apply(new Operation.Entries("log", Operation.Mode.LOG)));
        assertNull(health.fault());
    }

    private static Operation random(Random random) {
        String key = "k" + random.nextInt(3);
        long value = random.nextInt(4);
        return switch (random.nextInt(3)) {
            case 0 -> new Operation.Write(key, value);
            case 1 -> new Operation.Cas(key, random.nextInt(4) == 0 ? null : (long) random.nextInt(4), value);
            default -> read(key);
        };
    }

    @Test
    void agreesWithAPlainMapAndWithItself() {
        Random random = new Random(1);
        Map<String, Long> model = new HashMap<>();
        RegisterMachine twin = new RegisterMachine(health);
        for (int i = 0; i < 5000; i++) {
            Operation operation = random(random);
            Result result = machine.apply(i, new Entry(i, i, operation));
            assertEquals(expected(model, operation), result);
            assertEquals(result, twin.apply(i, new Entry(-i, 1, operation)), "origin and request take no part");
        }
        assertNull(health.fault());
    }

    private static Result expected(Map<String, Long> model, Operation operation) {
        if (operation instanceof Operation.Write write) {
            model.put(write.key(), write.value());
            return Result.WRITTEN;
        }
        if (operation instanceof Operation.Cas cas) {
            Long seen = model.get(cas.key());
            if (!Objects.equals(seen, cas.old())) {
                return Result.kept(seen);
            }
            model.put(cas.key(), cas.next());
            return Result.SWAPPED;
        }
        return Result.read(model.get(operation.key()));
    }

    @Test
    void anEntryHandedOverAgainIsAppliedAgainAndCounted() {
        machine.apply(5, new Entry(0, 0, new Operation.Write("k", 1)));
        machine.apply(5, new Entry(0, 0, new Operation.Write("k", 2)));
        assertEquals(2, machine.get("k"));
        machine.apply(3, new Entry(0, 0, new Operation.Write("k", 3)));
        machine.apply(4, new Entry(0, 0, new Operation.Write("k", 4)));
        assertEquals(4, machine.get("k"));
        assertEquals(2, health.reapplied());
        assertNull(health.fault());
    }

    @Test
    void aStrangeEntryChangesNothingAndIsReported() throws IOException {
        apply(new Operation.Write("k", 1));
        machine.apply(index++, new byte[0], (entry, result) -> fail("applied"));
        assertEquals(1, machine.get("k"));
        assertEquals("entry 1 is not a register entry: cut short at 0 bytes", health.fault());
        assertEquals(1, health.undecodable());
        assertEquals(1, machine.mark().index(), "what cannot be read is passed over, by every node alike");
    }

    @Test
    void equalStatesHaveEqualDigestsWhateverTheWayThere() {
        assertEquals(new StateMark(-1, 0, 0), machine.mark());
        RegisterMachine other = new RegisterMachine(health);
        Random random = new Random(2);
        Map<String, Long> last = new HashMap<>();
        for (int i = 0; i < 2000; i++) {
            String key = "k" + random.nextInt(50);
            last.put(key, random.nextLong());
            machine.apply(i, new Entry(0, 0, new Operation.Write(key, last.get(key))));
        }
        last.forEach((key, value) -> other.apply(1999, new Entry(0, 0, new Operation.Write(key, value))));
        assertEquals(machine.mark(), other.mark());
        other.apply(2000, new Entry(0, 0, new Operation.Write("k7", last.get("k8"))));
        assertNotEquals(machine.mark().digest(), other.mark().digest());
    }

    @Test
    void twoRegistersThatChangePlacesHaveAnotherDigest() {
        apply(new Operation.Write("a", 1));
        apply(new Operation.Write("b", 2));
        String before = machine.mark().digest();
        apply(new Operation.Write("a", 2));
        apply(new Operation.Write("b", 1));
        assertNotEquals(before, machine.mark().digest());
        apply(new Operation.Write("b", 2));
        apply(new Operation.Write("a", 1));
        assertEquals(before, machine.mark().digest());
        assertEquals(5, machine.mark().index());
    }

    @Test
    void writesAppliedAgainAreNoFalseAlarm() {
        for (int i = 0; i < 10; i++) {
            apply(new Operation.Write("k" + i % 2, i));
        }
        StateMark mark = machine.mark();
        for (int i = 4; i < 9; i++) {
            machine.apply(i, new Entry(0, 0, new Operation.Write("k" + i % 2, i)));
            assertEquals(mark, machine.mark(), "on the way the state belongs to no index");
        }
        machine.apply(9, new Entry(0, 0, new Operation.Write("k1", 9)));
        assertEquals(mark, machine.mark());
        assertEquals(1, health.reapplied());
    }

    @Test
    void aCasAppliedAgainShowsAsAnotherDigestAtTheSameIndex() {
        apply(new Operation.Write("k", 1));
        apply(new Operation.Cas("k", 1L, 2));
        apply(new Operation.Cas("k", 2L, 1));
        apply(new Operation.Cas("k", 7L, 8));
        StateMark mark = machine.mark();
        machine.apply(1, new Entry(0, 0, new Operation.Cas("k", 1L, 2)));
        machine.apply(2, new Entry(0, 0, new Operation.Cas("k", 3L, 1)));
        assertEquals(mark, machine.mark());
        machine.apply(3, new Entry(0, 0, new Operation.Cas("k", 7L, 8)));
        assertEquals(3, machine.mark().index());
        assertNotEquals(mark.digest(), machine.mark().digest());
    }

    @Test
    void entriesThatTheLibraryKeepsToItselfMoveTheIndexAndNotTheDigest() {
        apply(new Operation.Write("k", 1));
        String digest = machine.mark().digest();
        machine.reached(5);
        assertEquals(new StateMark(5, 1, machine.mark().hash()), machine.mark());
        assertEquals(digest, machine.mark().digest());
        machine.apply(6, new Entry(0, 0, new Operation.Write("k", 2)));
        assertEquals(0, health.reapplied());
    }

    @Test
    void theFirstFaultStays() {
        health.report("first", null);
        health.report("second", null);
        assertEquals("first", health.fault());
    }

    @Test
    void snapshotRoundTrip() {
        apply(new Operation.Write("k", 7));
        apply(new Operation.Write("gone", 1));
        Path file = dir.resolve("data");
        assertTrue(machine.save(file));

        RegisterMachine other = new RegisterMachine(health);
        other.apply(0, new Entry(0, 0, new Operation.Write("stale", 1)));
        assertTrue(other.load(file, 1));
        assertEquals(7, other.get("k"));
        assertNull(other.get("stale"), "a snapshot replaces, it does not merge");
        assertEquals(machine.mark(), other.mark());
        other.apply(2, new Entry(0, 0, new Operation.Cas("k", 7L, 8)));
        assertEquals(8, other.get("k"));
        assertEquals(1, machine.snapshotsSaved());
        assertEquals(1, other.snapshotsLoaded());
        assertNull(health.fault());
    }

    @Test
    void aBadSnapshotIsRefusedAndKeepsTheState() throws IOException {
        apply(new Operation.Write("k", 7));
        Path file = dir.resolve("data");
        Files.writeString(file, "{}\n{}\n");
        assertFalse(machine.load(file, 9));
        assertEquals(7, machine.get("k"));
        assertEquals(0, machine.snapshotsLoaded());
        assertNotNull(health.fault());
    }

    @Test
    void aSnapshotThatCannotBeWrittenIsReported() {
        assertFalse(machine.save(dir.resolve("missing").resolve("data")));
        assertEquals(0, machine.snapshotsSaved());
        assertTrue(health.fault().startsWith("snapshot not saved to"));
    }
}
