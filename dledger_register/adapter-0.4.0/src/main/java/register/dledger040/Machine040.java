package register.dledger040;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.exception.DLedgerException;
import io.openmessaging.storage.dledger.snapshot.SnapshotManager;
import io.openmessaging.storage.dledger.snapshot.SnapshotReader;
import io.openmessaging.storage.dledger.snapshot.SnapshotWriter;
import io.openmessaging.storage.dledger.statemachine.ApplyEntry;
import io.openmessaging.storage.dledger.statemachine.ApplyEntryIterator;
import io.openmessaging.storage.dledger.statemachine.StateMachine;
import java.nio.file.Path;
import register.state.Entry;
import register.state.Health;
import register.state.RegisterMachine;
import register.state.Result;

/** The registers as DLedger 0.4.0 wants to see a state machine. All calls come from its one apply thread. */
final class Machine040 implements StateMachine {

    private final RegisterMachine machine;
    private final Health health;
    private volatile Thread applyThread;

    Machine040(RegisterMachine machine, Health health) {
        this.machine = machine;
        this.health = health;
    }

    /** Whether the caller runs inside the apply thread, where the registers stand exactly at one log position. */
    boolean onApplyThread() {
        return Thread.currentThread() == applyThread;
    }

    Long get(String key) {
        return machine.get(key);
    }

    @Override
    public void onApply(ApplyEntryIterator entries) {
        applyThread = Thread.currentThread();
        try {
            while (entries.hasNext()) {
                apply(entries.next());
            }
            // Past the entries of reads and elections, which the library does not hand over.
            machine.reached(entries.getIndex());
        } catch (RuntimeException error) {
            health.applyError(error);
            throw error;
        } catch (Error error) {
            health.report("applying failed: " + error, error);
            throw error;
        }
    }

    /** The result set here is what DLedger hands to the WriteClosure; an entry never applied has none. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    private void apply(ApplyEntry task) {
        DLedgerEntry entry = task.getEntry();
        try {
            Result result = machine.apply(entry.getIndex(), Entry.decode(entry.getBody()));
            task.setResp(result);
        } catch (Entry.Malformed malformed) {
            machine.skip(entry.getIndex(), malformed);
        }
    }

    @Override
    public boolean onSnapshotSave(SnapshotWriter writer) {
        return machine.save(Path.of(writer.getSnapshotStorePath(), SnapshotManager.SNAPSHOT_DATA_FILE));
    }

    @Override
    public boolean onSnapshotLoad(SnapshotReader reader) {
        Path file = Path.of(reader.getSnapshotStorePath(), SnapshotManager.SNAPSHOT_DATA_FILE);
        return machine.load(file, reader.getSnapshotMeta().getLastIncludedIndex());
    }

    @Override
    public void onShutdown() {
    }

    @Override
    public void onError(DLedgerException error) {
        health.report("DLedger gave up: " + error.getMessage() + " " + error.getCode(), error);
    }

    @Override
    public String getBindDLedgerId() {
        return null;
    }
}
