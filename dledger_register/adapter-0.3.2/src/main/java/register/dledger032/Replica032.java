package register.dledger032;

import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import register.dledger.DledgerReplica;
import register.replica.Completion;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/**
 * A member on DLedger 0.3.2. Everything goes through handleAppend, since there is no handleWrite and no handleRead. A
 * log read is an entry of its own; its value is the register's when that entry is applied.
 */
final class Replica032 extends DledgerReplica {

    private final RegisterMachine machine;
    private final PendingResults results = new PendingResults();

    Replica032(DLedgerConfig config, RegisterMachine machine) {
        super(config, machine);
        this.machine = machine;
        server.registerStateMachine(new Machine032(machine, results));
    }

    @Override
    protected long begin() {
        return Math.max(0, server.getDLedgerStore().getLedgerBeginIndex());
    }

    @Override
    protected long committed() {
        return server.getDLedgerStore().getCommittedIndex();
    }

    @Override
    protected long applied() {
        return server.getFsmCaller().getLastAppliedIndex();
    }

    @Override
    public void submit(Operation operation, Completion completion) {
        if (operation instanceof Operation.Query query && query.mode() == Operation.Mode.UNSAFE) {
            completion.ok(machine.answer(query), true);
        } else if (!server.isLeader()) {
            // handleAppend would say the same, with a stack trace in the log for every request.
            completion.fail(failure(DLedgerResponseCode.NOT_LEADER, true, BY_LIBRARY));
        } else if (operation instanceof Operation.Get get) {
            get(get, completion);
        } else {
            append(operation, completion);
        }
    }

    private void append(Operation operation, Completion completion) {
        PendingResults.Slot slot = results.open(operation);
        append(
                slot.entry(),
                index -> acknowledge(operation, results.close(slot), index, machine, completion),
                failure -> {
                    results.close(slot);
                    completion.fail(failure);
                });
    }

    /**
     * A query acknowledged without having been applied is answered from the registers, as a user's would be; an append
     * has its index from the library in any case.
     */
    static void acknowledge(
            Operation operation, Result applied, long index, RegisterMachine machine, Completion completion) {
        Result answer = applied;
        if (applied == null && operation instanceof Operation.Query query) {
            answer = machine.answer(query);
        } else if (operation instanceof Operation.Append) {
            answer = Result.read(index);
        }
        completion.ok(answer, applied != null);
    }
}
