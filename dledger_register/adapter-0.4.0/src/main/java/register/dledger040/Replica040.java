package register.dledger040;

import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.DLedgerServer;
import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.common.ReadClosure;
import io.openmessaging.storage.dledger.common.ReadMode;
import io.openmessaging.storage.dledger.common.Status;
import io.openmessaging.storage.dledger.common.WriteClosure;
import io.openmessaging.storage.dledger.common.WriteTask;
import io.openmessaging.storage.dledger.exception.DLedgerException;
import io.openmessaging.storage.dledger.protocol.AppendEntryRequest;
import io.openmessaging.storage.dledger.protocol.AppendEntryResponse;
import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import io.openmessaging.storage.dledger.protocol.GetEntriesRequest;
import io.openmessaging.storage.dledger.protocol.GetEntriesResponse;
import java.io.IOException;
import java.security.SecureRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import register.replica.Completion;
import register.replica.Failure;
import register.replica.Replica;
import register.replica.ReplicaStatus;
import register.replica.Stage;
import register.state.Entry;
import register.state.LogView;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/** A member on DLedger 0.4.0: handleWrite for what changes registers, handleRead for queries. */
final class Replica040 implements Replica {

    private static final String BY_LIBRARY = "answered by DLedger";

    private final DLedgerServer server;
    private final Machine040 machine;
    private final long origin = new SecureRandom().nextLong();
    private final AtomicLong requests = new AtomicLong();

    Replica040(DLedgerConfig config, RegisterMachine machine) {
        this.server = new DLedgerServer(config);
        this.machine = new Machine040(machine);
        server.registerStateMachine(this.machine);
        machine.reads(new LogView() {
            @Override
            public long begin() {
                return server.getDLedgerStore().getLedgerBeforeBeginIndex() + 1;
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
        boolean oneOfTheLogs = operation instanceof Operation.Append || operation instanceof Operation.Get;
        if (oneOfTheLogs && !server.isLeader()) {
            // The library would say the same, with a stack trace in the log for every request.
            completion.fail(failure(DLedgerResponseCode.NOT_LEADER, true, "the log is the leader's"));
        } else if (operation instanceof Operation.Query query) {
            read(query, completion);
        } else if (operation instanceof Operation.Append append) {
            append(append, completion);
        } else if (operation instanceof Operation.Get get) {
            get(get, completion);
        } else {
            write(operation, completion);
        }
    }

    private void write(Operation operation, Completion completion) {
        WriteTask task = new WriteTask();
        task.setBody(new Entry(origin, requests.incrementAndGet(), operation).encode());
        Pending pending = new Pending(completion);
        try {
            server.handleWrite(task, pending);
        } catch (DLedgerException refused) {
            completion.fail(failure(refused.getCode(), true, refused.getMessage()));
        } finally {
            pending.caller = null;
        }
    }

    /** The closure of one write or cas. */
    private static final class Pending extends WriteClosure<Result> {

        private final Completion completion;
        /** The thread inside handleWrite, null once that has returned. */
        private volatile Thread caller = Thread.currentThread();
        private volatile Result result;

        Pending(Completion completion) {
            this.completion = completion;
        }

        @Override
        public void setResp(Result applied) {
            result = applied;
        }

        @Override
        public Result getResp() {
            return result;
        }

        @Override
        public void done(Status status) {
            if (status.isOk()) {
                completion.ok(result, result != null);
            } else {
                completion.fail(failure(status.code, Thread.currentThread() == caller, BY_LIBRARY));
            }
        }
    }

    /** The library's own append: its answer is the entry's index. */
    private void append(Operation.Append append, Completion completion) {
        AppendEntryRequest request = new AppendEntryRequest();
        request.setGroup(server.getMemberState().getGroup());
        request.setRemoteId(server.getMemberState().getSelfId());
        request.setBody(new Entry(origin, requests.incrementAndGet(), append).encode());
        CompletableFuture<AppendEntryResponse> acknowledged;
        try {
            acknowledged = server.handleAppend(request);
        } catch (IOException | RuntimeException error) {
            completion.fail(Failure.unforeseen(error));
            return;
        }
        boolean insideCall = acknowledged.isDone();
        acknowledged.whenComplete((response, error) -> {
            if (error != null) {
                completion.fail(Failure.unforeseen(error));
            } else if (response.getCode() == DLedgerResponseCode.SUCCESS.getCode()) {
                completion.ok(Result.read(response.getIndex()), machine.reached(response.getIndex()));
            } else {
                completion.fail(failure(DLedgerResponseCode.valueOf(response.getCode()), insideCall, BY_LIBRARY));
            }
        });
    }

    /** The library's own get, which also shows what is not committed; that is left out. */
    private void get(Operation.Get get, Completion completion) {
        // Asked first: what is committed by now stays where it is.
        long committed = server.getMemberState().getCommittedIndex();
        GetEntriesRequest request = new GetEntriesRequest();
        request.setGroup(server.getMemberState().getGroup());
        request.setRemoteId(server.getMemberState().getSelfId());
        request.setBeginIndex(get.index());
        try {
            GetEntriesResponse response = server.handleGet(request).join();
            if (response.getCode() != DLedgerResponseCode.SUCCESS.getCode()) {
                completion.fail(failure(DLedgerResponseCode.valueOf(response.getCode()), true, BY_LIBRARY));
            } else {
                byte[] body = response.getEntries().isEmpty() ? null : response.getEntries().get(0).getBody();
                completion.ok(Result.read(get.index() > committed ? null : Entry.appended(body, get.key())), true);
            }
        } catch (IOException | RuntimeException error) {
            completion.fail(Failure.unforeseen(error));
        }
    }

    private void read(Operation.Query read, Completion completion) {
        if (read.mode() == Operation.Mode.LOG && !server.isLeader()) {
            // handleRead would say the same, but only as code -1, without its reason.
            completion.fail(failure(DLedgerResponseCode.NOT_LEADER, true, "a log read needs the leader"));
            return;
        }
        ReadMode mode = read.mode() == Operation.Mode.LOG ? ReadMode.RAFT_LOG_READ : ReadMode.UNSAFE_READ;
        server.handleRead(mode, new PendingRead(read, machine, completion));
    }

    /**
     * The closure of one read. Like upstream's own example it answers from the registers whenever it is completed
     * with ok, also by the sweep of old requests, which runs off the apply thread and knows nothing of the entry.
     */
    static final class PendingRead extends ReadClosure {

        private final Operation.Query read;
        private final Machine040 machine;
        private final Completion completion;

        PendingRead(Operation.Query read, Machine040 machine, Completion completion) {
            this.read = read;
            this.machine = machine;
            this.completion = completion;
        }

        @Override
        public void done(Status status) {
            if (status.isOk()) {
                boolean applied = read.mode() == Operation.Mode.UNSAFE || machine.onApplyThread();
                completion.ok(machine.answer(read), applied);
            } else {
                completion.fail(readFailure(status.code));
            }
        }
    }

    /** handleRead reports every exception as UNKNOWN, whether of the checks before the append or of the append. */
    private static Failure readFailure(DLedgerResponseCode code) {
        if (code == DLedgerResponseCode.UNKNOWN) {
            return new Failure(code.getCode(), code.name(), Stage.UNKNOWN, "DLedger hides the reason of a failed read");
        }
        return failure(code, false, BY_LIBRARY);
    }

    private static Failure failure(DLedgerResponseCode code, boolean insideCall, String message) {
        return Failure.answered(code.getCode(), code.name(), insideCall, message);
    }

    @Override
    public ReplicaStatus status() {
        MemberState state = server.getMemberState();
        return new ReplicaStatus(
                state.getRole().name(),
                state.currTerm(),
                state.getLeaderId(),
                server.getDLedgerStore().getLedgerBeforeBeginIndex() + 1,
                server.getDLedgerStore().getLedgerEndIndex(),
                state.getCommittedIndex(),
                state.getAppliedIndex());
    }

    @Override
    public void forgetVote() {
        MemberState state = server.getMemberState();
        if (state.currVoteFor() != null) {
            state.setCurrVoteFor(null);
        }
    }

    @Override
    public void stop() {
        server.shutdown();
    }
}
