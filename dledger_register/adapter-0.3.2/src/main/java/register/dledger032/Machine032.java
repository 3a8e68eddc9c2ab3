package register.dledger032;

import io.openmessaging.storage.dledger.entry.DLedgerEntry;
import io.openmessaging.storage.dledger.statemachine.CommittedEntryIterator;
import register.dledger.DledgerMachine;
import register.state.RegisterMachine;

/** The registers as a state machine of DLedger 0.3.2. */
final class Machine032 extends DledgerMachine {

    private final PendingResults results;

    Machine032(RegisterMachine machine, PendingResults results) {
        super(machine);
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
}
