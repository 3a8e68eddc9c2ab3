package register.state;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The replicated registers, one for each key; RIP-59's model.
 *
 * <p>DLedger calls apply, save and load from its one apply thread. The map is concurrent only because unsafe reads look
 * at it from other threads. Applying depends on nothing but the state and the entry: no clock, no random numbers, and
 * an entry that cannot be read changes nothing, on every node alike.
 */
public final class RegisterMachine {

    private static final Logger LOGGER = LoggerFactory.getLogger(RegisterMachine.class);

    private final Health health;
    private final AtomicInteger saved = new AtomicInteger();
    private final AtomicInteger loaded = new AtomicInteger();
    private volatile Map<String, Long> registers = new ConcurrentHashMap<>();
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
        return apply(entry.operation());
    }

    /** Notes that a committed entry could not be decoded. */
    public void skip(long index, Entry.Malformed why) {
        inOrder(index);
        health.report("entry " + index + " is not a register entry: " + why.getMessage(), why);
    }

    private void inOrder(long index) {
        if (index <= lastIndex) {
            health.reapplied(index, lastIndex);
        }
        lastIndex = index;
    }

    private Result apply(Operation operation) {
        if (operation instanceof Operation.Write write) {
            registers.put(write.key(), write.value());
            return Result.WRITTEN;
        }
        if (operation instanceof Operation.Cas cas) {
            if (!Objects.equals(registers.get(cas.key()), cas.old())) {
                return Result.KEPT;
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

    /** Writes all registers to a file. False on failure, which is logged and shown as a fault. */
    public boolean save(Path file) {
        try {
            SnapshotFile.write(file, registers);
            LOGGER.info("snapshot saved to {}: {} registers, up to entry {}", file, registers.size(), lastIndex);
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
            registers = new ConcurrentHashMap<>(SnapshotFile.read(file));
            lastIndex = lastIncludedIndex;
            LOGGER.info("snapshot loaded from {}: {} registers, up to entry {}", file, registers.size(), lastIndex);
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
