package register.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import register.options.PlantedBug;

/** Every planted bug has its effect, and a bug of all nodes has the same effect on each. */
class PlantedBugMachineTest {

    private static final int WRITES = 5000;

    @TempDir
    Path dir;

    private final Health health = new Health();
    private final RegisterMachine right = new RegisterMachine(health);

    private RegisterMachine wrong(PlantedBug plantedBug, boolean lastPeer) {
        return new PlantedBugMachine(health, plantedBug, lastPeer);
    }

    /** One write to a new register with each entry. */
    private static Entry write(int index) {
        return new Entry(17, index, new Operation.Write("k" + index, index));
    }

    private static List<Integer> missing(RegisterMachine machine) {
        List<Integer> missing = new ArrayList<>();
        for (int i = 0; i < WRITES; i++) {
            assertEquals(Result.WRITTEN, machine.apply(i, write(i)), "acknowledged like any other");
            if (machine.get("k" + i) == null) {
                missing.add(i);
            }
        }
        return missing;
    }

    @Test
    void aWriteInAThousandIsLostByAllAlike() {
        List<Integer> lost = missing(wrong(PlantedBug.LOSE_WRITE, false));
        assertTrue(lost.size() >= 1 && lost.size() <= 15, lost.toString());
        assertEquals(lost, missing(wrong(PlantedBug.LOSE_WRITE, true)));
    }

    @Test
    void theLastPeerAloneSkipsEntries() {
        int skipped = missing(wrong(PlantedBug.SKIP_ENTRY, true)).size();
        assertTrue(skipped > WRITES / 40 && skipped < WRITES / 10, "" + skipped);
        assertEquals(List.of(), missing(wrong(PlantedBug.SKIP_ENTRY, false)));
    }

    @Test
    void aWriteComesBackAfterNewerOnesOnAllNodesAlike() {
        RegisterMachine first = wrong(PlantedBug.APPLY_TWICE, false);
        RegisterMachine second = wrong(PlantedBug.APPLY_TWICE, true);
        int older = 0;
        for (int i = 0; i < WRITES; i++) {
            Entry entry = new Entry(17, i, new Operation.Write("k", i));
            assertEquals(first.apply(i, entry), second.apply(i, entry));
            older += first.get("k") < i ? 1 : 0;
            assertEquals(first.mark(), second.mark());
        }
        assertTrue(older > 20, "" + older);
    }

    @Test
    void anAddAndATransferCountTwice() {
        RegisterMachine adding = wrong(PlantedBug.APPLY_TWICE, false);
        for (int i = 0; i < WRITES; i++) {
            adding.apply(i, new Entry(17, i, new Operation.Add("c", 1)));
        }
        assertTrue(adding.get("c") > WRITES + 20 && adding.get("c") < WRITES + 200, "" + adding.get("c"));
        RegisterMachine moving = wrong(PlantedBug.APPLY_TWICE, false);
        for (int i = 0; i < WRITES; i++) {
            moving.apply(i, new Entry(17, i, new Operation.Transfer("a", "b", 1)));
        }
        assertTrue(moving.get("b") > WRITES + 20, "" + moving.get("b"));
        assertEquals(0, moving.get("a") + moving.get("b"), "the total shows nothing of it");
    }

    @Test
    void aLockIsGivenAwayThoughItIsHeld() {
        RegisterMachine machine = wrong(PlantedBug.LOSE_WRITE, false);
        int given = 0;
        for (int i = 0; i < WRITES; i++) {
            given += machine.apply(i, new Entry(17, i, new Operation.Acquire("l"))).swapped() ? 1 : 0;
        }
        assertTrue(given > 1 && given <= 16, "" + given);
    }

    private RegisterMachine reloaded(RegisterMachine machine, int writes) {
        for (int i = 0; i < writes; i++) {
            machine.apply(i, write(i));
            right.apply(i, write(i));
        }
        machine.apply(writes, new Entry(0, 0, new Operation.Write("k0", -1)));
        right.apply(writes, new Entry(0, 0, new Operation.Write("k0", -1)));
        assertEquals(right.mark(), machine.mark(), "wrong in snapshots only");
        assertTrue(machine.save(dir.resolve("data")));
        RegisterMachine loaded = new RegisterMachine(health);
        assertTrue(loaded.load(dir.resolve("data"), writes));
        assertEquals(right.mark().index(), loaded.mark().index());
        assertNotEquals(right.mark().digest(), loaded.mark().digest());
        return loaded;
    }

    @Test
    void aSnapshotForgetsTheRegisterThatWasNotWrittenForLongest() {
        RegisterMachine loaded = reloaded(wrong(PlantedBug.FORGET_IN_SNAPSHOT, false), 100);
        assertNull(loaded.get("k1"));
        assertEquals(99, loaded.mark().registers());
    }

    @Test
    void theStateInASnapshotIsTooOld() {
        RegisterMachine loaded = reloaded(wrong(PlantedBug.SNAPSHOT_WRONG_INDEX, false), 100);
        assertEquals(0, loaded.get("k0"), "written over since");
        assertNull(loaded.get("k99"));
        assertNull(loaded.get("k81"));
        assertEquals(80, loaded.get("k80"));
    }

    @ParameterizedTest
    @EnumSource(names = {"STALE_READS", "ACK_BEFORE_COMMIT", "VOTE_TWICE", "DEPOSED_READS"})
    void bugsOfTheReplicaLeaveTheStateMachineAlone(PlantedBug plantedBug) {
        RegisterMachine machine = wrong(plantedBug, true);
        assertEquals(List.of(), missing(machine));
        missing(right);
        assertEquals(right.mark(), machine.mark());
        assertTrue(machine.save(dir.resolve("data")));
        assertTrue(right.load(dir.resolve("data"), WRITES - 1));
        assertEquals(right.mark(), machine.mark());
    }
}
