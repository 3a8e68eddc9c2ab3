package register.state;

import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The replicated registers, one for each key.
 *
 * <p>DLedger calls apply, save and load from its one apply thread. Applying depends on nothing but the state and the
 * entry: no clock and no random numbers. An entry that cannot be decoded changes nothing, on any node.
 */
public class RegisterMachine {

    private static final Logger LOGGER = LoggerFactory.getLogger(RegisterMachine.class);

    private final Health health;
    private final AtomicInteger saved = new AtomicInteger();
    private final AtomicInteger loaded = new AtomicInteger();
    private volatile Registers registers = new Registers();
    private volatile StateMark mark = registers.mark(-1);
    private volatile LogView log;
    private long lastIndex = -1;

    public RegisterMachine(Health health) {
        this.health = health;
    }

    /** Runs the library's hand-over of a batch. Exceptions are counted or reported, and rethrown. */
    public void batch(Runnable handOver) {
        try {
            handOver.run();
        } catch (RuntimeException error) {
            health.applyError(error);
            throw error;
        } catch (Error error) {
            health.report("applying failed: " + error, error);
            throw error;
        }
    }

    /** Applies one committed entry and passes the result on. A body that cannot be decoded is a fault. */
    public void apply(long index, byte[] body, BiConsumer<Entry, Result> applied) {
        Entry entry;
        try {
            entry = Entry.decode(body);
        } catch (Entry.Malformed malformed) {
            inOrder(index);
            health.undecodable(index, malformed);
            reached(index);
            return;
        }
        applied.accept(entry, apply(index, entry));
    }

    /**
     * Applies one committed entry. One that DLedger hands over again is applied again, and counted: skipping it would
     * hide what DLedger does to every other state machine.
     */
    public Result apply(long index, Entry entry) {
        inOrder(index);
        Result result = perform(index, entry);
        reached(index);
        return result;
    }

    /** Reports that the library has stopped applying for good. */
    public void gaveUp(Object code, Throwable error) {
        health.report("DLedger gave up: " + error.getMessage() + " " + code, error);
    }

    /**
     * Notes that all entries up to {@code index} are applied, including those that the library does not hand over.
     * While it re-applies earlier entries the state belongs to no index: the mark stays as it is until the furthest
     * index is reached again, and then shows what applying twice did to the state.
     */
    public void reached(long index) {
        lastIndex = index;
        if (index >= mark.index()) {
            mark = registers.mark(index);
        }
    }

    /** Returns the state at the furthest entry ever applied. Callable from any thread. */
    public StateMark mark() {
        return mark;
    }

    private void inOrder(long index) {
        if (index <= lastIndex) {
            health.reapplied(index, lastIndex);
        }
    }

    /** Changes the registers as the entry says; overridden by planted bugs. */
    protected Result perform(long index, Entry entry) {
        return entry.operation() instanceof Operation.Query query
                ? answer(query)
                : Changes.apply(registers, index, entry.operation());
    }

    /** Answers from this node's state, which is at a single log position only on the apply thread. */
    public Result answer(Operation.Query query) {
        if (query instanceof Operation.Scan scan) {
            return Result.all(registers.startingWith(scan.key()));
        }
        if (query instanceof Operation.Entries entries) {
            return Result.all(appended(entries.key()));
        }
        return Result.read(get(query.key()));
    }

    /** Returns the values appended under this key by index, up to the last applied entry; null if they are gone. */
    private Map<String, Long> appended(String key) {
        LogView view = log;
        long last = mark.index();
        if (view == null || view.begin() > 0) {
            return null;
        }
        Map<String, Long> found = new LinkedHashMap<>();
        try {
            for (long index = 0; index <= last; index++) {
                Long value = Entry.appended(view.body(index), key);
                if (value != null) {
                    found.put(Long.toString(index), value);
                }
            }
        } catch (RuntimeException unreadable) {
            LOGGER.warn("the log could not be read", unreadable);
            return null;
        }
        return found;
    }

    /** Sets the log from which entries are read. */
    public void reads(LogView view) {
        log = view;
    }

    /** Returns this node's value of a register, null if absent. */
    public Long get(String key) {
        return registers.get(key);
    }

    /** Returns the registers that go into a snapshot. */
    protected Map<String, Long> all() {
        return registers.view();
    }

    /** Writes all registers to a file. Returns false on failure, which is reported as a fault. */
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

    /** Replaces all registers by those in a file. Returns false on failure, which leaves the state unchanged. */
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
