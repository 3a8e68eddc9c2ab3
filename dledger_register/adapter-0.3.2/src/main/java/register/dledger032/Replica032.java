package register.dledger032;

import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.DLedgerServer;
import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.protocol.AppendEntryRequest;
import io.openmessaging.storage.dledger.protocol.AppendEntryResponse;
import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import register.replica.Completion;
import register.replica.Failure;
import register.replica.Replica;
import register.replica.ReplicaStatus;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/**
 * A member on DLedger 0.3.2. Everything goes through handleAppend, since there is no handleWrite and no handleRead. A
 * log read is an entry of its own; its value is the register's when that entry is applied.
 */
final class Replica032 implements Replica {

    private final DLedgerServer server;
    private final MemberState state;
    private final RegisterMachine machine;
    private final PendingResults results = new PendingResults();

    Replica032(DLedgerConfig config, RegisterMachine machine) {
        this.server = new DLedgerServer(config);
        this.state = server.getMemberState();
        this.machine = machine;
        server.registerStateMachine(new Machine032(machine, results));
    }

    @Override
    public void start() {
        server.startup();
    }

    @Override
    public void submit(Operation operation, Completion completion) {
        if (operation instanceof Operation.Read read && read.mode() == Operation.Mode.UNSAFE) {
            completion.ok(Result.read(machine.get(read.key())), true);
        } else if (!state.isLeader()) {
            // handleAppend would say the same, with a stack trace in the log for every request.
            completion.fail(failure(DLedgerResponseCode.NOT_LEADER, true));
        } else {
            append(operation, completion);
        }
    }

    private void append(Operation operation, Completion completion) {
        PendingResults.Slot slot = results.open(operation);
        AppendEntryRequest request = new AppendEntryRequest();
        request.setGroup(state.getGroup());
        request.setRemoteId(state.getSelfId());
        request.setBody(slot.entry().encode());
        CompletableFuture<AppendEntryResponse> acknowledged;
        try {
            acknowledged = server.handleAppend(request);
        } catch (IOException | RuntimeException error) {
            results.close(slot);
            completion.fail(Failure.unforeseen(error));
            return;
        }
        boolean insideCall = acknowledged.isDone();
        acknowledged.whenComplete((response, error) -> {
            results.close(slot);
            if (error != null) {
                completion.fail(Failure.unforeseen(error));
            } else if (response.getCode() == DLedgerResponseCode.SUCCESS.getCode()) {
                acknowledge(operation, slot.result(), machine, completion);
            } else {
                completion.fail(failure(DLedgerResponseCode.valueOf(response.getCode()), insideCall));
            }
        });
    }

    /** A read acknowledged without having been applied is answered from the registers, as a user's would be. */
    static void acknowledge(Operation operation, Result applied, RegisterMachine machine, Completion completion) {
        boolean fromMemory = applied == null && operation instanceof Operation.Read;
        completion.ok(fromMemory ? Result.read(machine.get(operation.key())) : applied, applied != null);
    }

    private static Failure failure(DLedgerResponseCode code, boolean insideCall) {
        return Failure.answered(code.getCode(), code.name(), insideCall, "answered by DLedger");
    }

    @Override
    public ReplicaStatus status() {
        return new ReplicaStatus(
                state.getRole().name(),
                state.currTerm(),
                state.getLeaderId(),
                Math.max(0, server.getDLedgerStore().getLedgerBeginIndex()),
                server.getDLedgerStore().getLedgerEndIndex(),
                server.getDLedgerStore().getCommittedIndex(),
                server.getFsmCaller().getLastAppliedIndex());
    }

    @Override
    public void forgetVote() {
        if (state.currVoteFor() != null) {
            state.setCurrVoteFor(null);
        }
    }

    @Override
    public void stop() {
        server.shutdown();
    }
}
