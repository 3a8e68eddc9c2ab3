package register.dledger040;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.statemachine.ApplyEntry;
import io.openmessaging.storage.dledger.statemachine.ApplyEntryIterator;
import register.dledger.DledgerMachine;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/** The registers as a state machine of DLedger 0.4.0. */
final class Machine040 extends DledgerMachine {

    private volatile Thread applyThread;

    Machine040(RegisterMachine machine) {
        super(machine);
    }

    /** Whether the caller is the apply thread, on which the registers are at exactly one log position. */
    boolean onApplyThread() {
        return Thread.currentThread() == applyThread;
    }

    Result answer(Operation.Query query) {
        return machine.answer(query);
    }

    /** Whether the entry at this index is known to have been applied. */
    boolean reached(long index) {
        return machine.mark().index() >= index;
    }

    @Override
    public void onApply(ApplyEntryIterator entries) {
        applyThread = Thread.currentThread();
        machine.batch(() -> {
            while (entries.hasNext()) {
                apply(entries.next());
            }
            // This skips the entries of reads and elections, which the library does not hand over.
            machine.reached(entries.getIndex());
        });
    }

    /** DLedger passes the result set here to the WriteClosure; an entry that is never applied has none. */
    @SuppressWarnings({"rawtypes", "unchecked"})
    private void apply(ApplyEntry task) {
        DLedgerEntry committed = task.getEntry();
        machine.apply(committed.getIndex(), committed.getBody(), (entry, result) -> task.setResp(result));
    }
}
