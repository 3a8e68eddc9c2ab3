package register.dledger032;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.exception.DLedgerException;
import io.openmessaging.storage.dledger.snapshot.SnapshotManager;
import io.openmessaging.storage.dledger.snapshot.SnapshotReader;
import io.openmessaging.storage.dledger.snapshot.SnapshotWriter;
import io.openmessaging.storage.dledger.statemachine.CommittedEntryIterator;
import io.openmessaging.storage.dledger.statemachine.StateMachine;
import java.nio.file.Path;
import register.state.Entry;
import register.state.Health;
import register.state.RegisterMachine;

/** The registers as DLedger 0.3.2 wants to see a state machine. All calls come from its one apply thread. */
final class Machine032 implements StateMachine {

    private final RegisterMachine machine;
    private final Health health;
    private final PendingResults results;

    Machine032(RegisterMachine machine, Health health, PendingResults results) {
        this.machine = machine;
        this.health = health;
        this.results = results;
    }

    Long get(String key) {
        return machine.get(key);
    }

    @Override
    public void onApply(CommittedEntryIterator entries) {
        try {
            while (entries.hasNext()) {
                DLedgerEntry next = entries.next();
                if (next != null) {
                    apply(next);
                }
            }
        } catch (RuntimeException error) {
            health.applyError(error);
            throw error;
        } catch (Error error) {
            health.report("applying failed: " + error, error);
            throw error;
        }
    }

    private void apply(DLedgerEntry committed) {
        try {
            Entry entry = Entry.decode(committed.getBody());
            results.applied(entry, machine.apply(committed.getIndex(), entry));
        } catch (Entry.Malformed malformed) {
            machine.skip(committed.getIndex(), malformed);
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
