package register.dledger;

import io.openmessaging.storage.dledger.exception.DLedgerException;
import io.openmessaging.storage.dledger.snapshot.SnapshotManager;
import io.openmessaging.storage.dledger.snapshot.SnapshotReader;
import io.openmessaging.storage.dledger.snapshot.SnapshotWriter;
import io.openmessaging.storage.dledger.statemachine.StateMachine;
import java.nio.file.Path;
import register.state.RegisterMachine;

/** The registers as a state machine of DLedger, which calls it from its one apply thread; versions differ in applying. */
public abstract class DledgerMachine implements StateMachine {

    protected final RegisterMachine machine;

    protected DledgerMachine(RegisterMachine machine) {
        this.machine = machine;
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
