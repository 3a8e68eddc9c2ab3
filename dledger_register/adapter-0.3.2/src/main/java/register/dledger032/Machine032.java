package register.dledger032;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.exception.DLedgerException;
import io.openmessaging.storage.dledger.snapshot.SnapshotManager;
import io.openmessaging.storage.dledger.snapshot.SnapshotReader;
import io.openmessaging.storage.dledger.snapshot.SnapshotWriter;
import io.openmessaging.storage.dledger.statemachine.CommittedEntryIterator;
import io.openmessaging.storage.dledger.statemachine.StateMachine;
import java.nio.file.Path;
import register.state.RegisterMachine;

/** The registers as a state machine of DLedger 0.3.2, which calls it from its one apply thread. */
final class Machine032 implements StateMachine {

    private final RegisterMachine machine;
    private final PendingResults results;

    Machine032(RegisterMachine machine, PendingResults results) {
        this.machine = machine;
        this.results = results;
    }

    @Override
    public void onApply(CommittedEntryIterator entries) {
        machine.batch(() -> {
            while (entries.hasNext()) {
                DLedgerEntry next = entries.next();
                if (next != null) {
                    machine.apply(next.getIndex(), next.getBody(), results::applied);
                }
            }
        });
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
        machine.gaveUp(error.getCode(), error);
    }

    @Override
    public String getBindDLedgerId() {
        return null;
    }
}
