package register.state;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import register.options.PlantedBug;

/** A state machine with a bug on purpose. Which entries it hits depends on the entry alone, so that replicas agree. */
public final class PlantedBugMachine extends RegisterMachine {

    private static final int SKIP_ONE_IN = 20;
    private static final int LOSE_ONE_IN = 1000;
    private static final int AGAIN_ONE_IN = 50;
    /** The number of entries after which a write is applied again; by then, the register usually has a newer value. */
    private static final long AGAIN_AFTER = 30;
    /** How many changes a snapshot lacks. */
    private static final int TOO_OLD = 20;

    private final PlantedBug plantedBug;
    private final boolean lastPeer;
    private Entry again;
    private long againAt;
    private final Deque<Change> newest = new ArrayDeque<>();
    private final Set<String> longestUnwrittenFirst = new LinkedHashSet<>();

    private record Change(String key, Long before) {
    }

    public PlantedBugMachine(Health health, PlantedBug plantedBug, boolean lastPeer) {
        super(health);
        this.plantedBug = plantedBug;
        this.lastPeer = lastPeer;
    }

    @Override
    protected Result perform(long index, Entry entry) {
        return switch (plantedBug) {
            case APPLY_TWICE -> performSomeAgain(index, entry);
            case SKIP_ENTRY -> lastPeer && hits(entry, SKIP_ONE_IN) ? without(index, entry) : super.perform(index, entry);
            case LOSE_WRITE -> hits(entry, LOSE_ONE_IN) ? without(index, entry) : super.perform(index, entry);
            case FORGET_IN_SNAPSHOT, SNAPSHOT_WRONG_INDEX -> performAndNote(index, entry);
            default -> super.perform(index, entry);
        };
    }

    /** Returns the answer of an operation that took place, without performing it. */
    private static Result without(long index, Entry entry) {
        return entry.operation() instanceof Operation.Acquire ? Result.acquired(index + 1) : Result.WRITTEN;
    }

    /** Whether the bug hits this entry: one in {@code oneIn} entries that write, and the same ones on every node. */
    private static boolean hits(Entry entry, int oneIn) {
        return writes(entry.operation())
                && Long.remainderUnsigned(Registers.mix(entry.origin() + Registers.mix(entry.request())), oneIn) == 0;
    }

    /** Whether an operation writes without comparing: repeating one that compares would usually change nothing. */
    private static boolean writes(Operation operation) {
        return operation instanceof Operation.Write || operation instanceof Operation.Add
                || operation instanceof Operation.Transfer || operation instanceof Operation.Acquire;
    }

    private Result performSomeAgain(long index, Entry entry) {
        Result result = super.perform(index, entry);
        if (again != null && index >= againAt) {
            super.perform(index, again);
            again = null;
        }
        if (again == null && hits(entry, AGAIN_ONE_IN)) {
            again = entry;
            againAt = index + AGAIN_AFTER;
        }
        return result;
    }

    private Result performAndNote(long index, Entry entry) {
        String key = entry.operation().key();
        Long before = get(key);
        Result result = super.perform(index, entry);
        if (!Objects.equals(before, get(key))) {
            longestUnwrittenFirst.remove(key);
            longestUnwrittenFirst.add(key);
            newest.addFirst(new Change(key, before));
            if (newest.size() > TOO_OLD) {
                newest.removeLast();
            }
        }
        return result;
    }

    @Override
    protected Map<String, Long> all() {
        Map<String, Long> all = new TreeMap<>(super.all());
        if (plantedBug == PlantedBug.FORGET_IN_SNAPSHOT) {
            longestUnwrittenFirst.stream().findFirst().ifPresent(all::remove);
        } else if (plantedBug == PlantedBug.SNAPSHOT_WRONG_INDEX) {
            for (Change change : newest) {
                if (change.before() == null) {
                    all.remove(change.key());
                } else {
                    all.put(change.key(), change.before());
                }
            }
        }
        return all;
    }
}
