package register.dledger032;

import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.DLedgerServer;
import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.protocol.AppendEntryRequest;
import io.openmessaging.storage.dledger.protocol.AppendEntryResponse;
import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import io.openmessaging.storage.dledger.protocol.GetEntriesRequest;
import io.openmessaging.storage.dledger.protocol.GetEntriesResponse;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import register.replica.Completion;
import register.replica.Failure;
import register.replica.Replica;
import register.replica.ReplicaStatus;
import register.state.Entry;
import register.state.LogView;
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
        machine.reads(new LogView() {
            @Override
            public long begin() {
                return Math.max(0, server.getDLedgerStore().getLedgerBeginIndex());
            }

            @Override
            public byte[] body(long index) {
                return server.getDLedgerStore().get(index).getBody();
            }
        });
    }

    @Override
    public void start() {
        server.startup();
    }

    @Override
    public void submit(Operation operation, Completion completion) {
        if (operation instanceof Operation.Query query && query.mode() == Operation.Mode.UNSAFE) {
            completion.ok(machine.answer(query), true);
        } else if (!state.isLeader()) {
            // handleAppend would say the same, with a stack trace in the log for every request.
            completion.fail(failure(DLedgerResponseCode.NOT_LEADER, true));
        } else if (operation instanceof Operation.Get get) {
            get(get, completion);
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
                acknowledge(operation, slot.result(), response.getIndex(), machine, completion);
            } else {
                completion.fail(failure(DLedgerResponseCode.valueOf(response.getCode()), insideCall));
            }
        });
    }

    /**
     * A query acknowledged without having been applied is answered from the registers, as a user's would be; an append
     * has its index from the library in any case.
     */
    static void acknowledge(
            Operation operation, Result applied, long index, RegisterMachine machine, Completion completion) {
        Result told = applied;
        if (applied == null && operation instanceof Operation.Query query) {
            told = machine.answer(query);
        } else if (operation instanceof Operation.Append) {
            told = Result.read(index);
        }
        completion.ok(told, applied != null);
    }

    /** The library's own get, which also shows what is not committed; that is left out. */
    private void get(Operation.Get get, Completion completion) {
        // Asked first: what is committed by now stays where it is.
        long committed = server.getDLedgerStore().getCommittedIndex();
        GetEntriesRequest request = new GetEntriesRequest();
        request.setGroup(state.getGroup());
        request.setRemoteId(state.getSelfId());
        request.setBeginIndex(get.index());
        try {
            GetEntriesResponse response = server.handleGet(request).join();
            if (response.getCode() != DLedgerResponseCode.SUCCESS.getCode()) {
                completion.fail(failure(DLedgerResponseCode.valueOf(response.getCode()), true));
            } else {
                byte[] body = response.getEntries().isEmpty() ? null : response.getEntries().get(0).getBody();
                completion.ok(Result.read(get.index() > committed ? null : Entry.appended(body, get.key())), true);
            }
        } catch (IOException | RuntimeException error) {
            completion.fail(Failure.unforeseen(error));
        }
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
