package register.state;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The replicated registers, one for each key; RIP-59's model.
 *
 * <p>DLedger calls apply, save and load from its one apply thread. Applying depends on nothing but the state and the
 * entry: no clock, no random numbers, and an entry that cannot be read changes nothing, on every node alike.
 */
public class RegisterMachine {

    private static final Logger LOGGER = LoggerFactory.getLogger(RegisterMachine.class);

    private final Health health;
    private final AtomicInteger saved = new AtomicInteger();
    private final AtomicInteger loaded = new AtomicInteger();
    private volatile Registers registers = new Registers();
    private volatile StateMark mark = registers.mark(-1);
    private long lastIndex = -1;

    public RegisterMachine(Health health) {
        this.health = health;
    }

    /**
     * Applies one committed entry. One that DLedger hands over again is applied again and counted: to leave it out would
     * hide what DLedger does to every other state machine.
     */
    public Result apply(long index, Entry entry) {
        inOrder(index);
        Result result = perform(index, entry);
        reached(index);
        return result;
    }

    /** Notes that a committed entry could not be decoded. */
    public void skip(long index, Entry.Malformed why) {
        inOrder(index);
        health.undecodable(index, why);
        reached(index);
    }

    /**
     * Notes that all entries up to {@code index} have been applied, also those that the library keeps to itself. While it
     * goes back over entries already applied, the state is one that belongs to no index: the mark stays until it has come
     * as far as ever, and shows then what applying twice has made of the state.
     */
    public void reached(long index) {
        lastIndex = index;
        if (index >= mark.index()) {
            mark = registers.mark(index);
        }
    }

    /** What the state was at the furthest entry ever applied; from any thread. */
    public StateMark mark() {
        return mark;
    }

    private void inOrder(long index) {
        if (index <= lastIndex) {
            health.reapplied(index, lastIndex);
        }
    }

    /** Changes the registers as the entry says, and nothing else. */
    protected Result perform(long index, Entry entry) {
        Operation operation = entry.operation();
        if (operation instanceof Operation.Write write) {
            registers.put(write.key(), write.value());
            return Result.WRITTEN;
        }
        if (operation instanceof Operation.Cas cas) {
            Long seen = registers.get(cas.key());
            if (!Objects.equals(seen, cas.old())) {
                return Result.kept(seen);
            }
            registers.put(cas.key(), cas.next());
            return Result.SWAPPED;
        }
        return Result.read(registers.get(operation.key()));
    }

    /** This node's value of a register, null if absent. */
    public Long get(String key) {
        return registers.get(key);
    }

    /** What a snapshot has to hold. */
    protected Map<String, Long> all() {
        return registers.view();
    }

    /** Writes all registers to a file. False on failure, which is logged and shown as a fault. */
    public boolean save(Path file) {
        try {
            Map<String, Long> all = all();
            SnapshotFile.write(file, all);
            LOGGER.info("snapshot saved to {}: {} registers, up to entry {}", file, all.size(), lastIndex);
            saved.incrementAndGet();
            return true;
        } catch (IOException | RuntimeException error) {
            health.report("snapshot not saved to " + file + ": " + error, error);
            return false;
        }
    }

    /** Replaces all registers by those of a file. False on failure; the state is then what it was. */
    public boolean load(Path file, long lastIncludedIndex) {
        try {
            registers = new Registers(SnapshotFile.read(file));
            lastIndex = lastIncludedIndex;
            mark = registers.mark(lastIndex);
            LOGGER.info("snapshot loaded from {}: {} registers, up to entry {}", file, mark.registers(), lastIndex);
            loaded.incrementAndGet();
            return true;
        } catch (IOException | RuntimeException error) {
            health.report("snapshot not loaded from " + file + ": " + error, error);
            return false;
        }
    }

    public int snapshotsSaved() {
        return saved.get();
    }

    public int snapshotsLoaded() {
        return loaded.get();
    }
}
