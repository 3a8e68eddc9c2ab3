package register.dledger040;

import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.common.ReadClosure;
import io.openmessaging.storage.dledger.common.ReadMode;
import io.openmessaging.storage.dledger.common.Status;
import io.openmessaging.storage.dledger.common.WriteClosure;
import io.openmessaging.storage.dledger.common.WriteTask;
import io.openmessaging.storage.dledger.exception.DLedgerException;
import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;
import register.dledger.DledgerReplica;
import register.replica.Completion;
import register.replica.Failure;
import register.replica.Stage;
import register.state.Entry;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/** A member on DLedger 0.4.0: handleWrite for what changes registers, handleRead for queries. */
final class Replica040 extends DledgerReplica {

    private final Machine040 machine;
    private final long origin = new SecureRandom().nextLong();
    private final AtomicLong requests = new AtomicLong();

    Replica040(DLedgerConfig config, RegisterMachine machine) {
        super(config, machine);
        this.machine = new Machine040(machine);
        server.registerStateMachine(this.machine);
    }

    @Override
    protected long begin() {
        return server.getDLedgerStore().getLedgerBeforeBeginIndex() + 1;
    }

    @Override
    protected long committed() {
        return server.getMemberState().getCommittedIndex();
    }

    @Override
    protected long applied() {
        return server.getMemberState().getAppliedIndex();
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
            append(
                    entry(append), index -> completion.ok(Result.read(index), machine.reached(index)),
                    completion::fail);
        } else if (operation instanceof Operation.Get get) {
            get(get, completion);
        } else {
            write(operation, completion);
        }
    }

    private Entry entry(Operation operation) {
        return new Entry(origin, requests.incrementAndGet(), operation);
    }

    private void write(Operation operation, Completion completion) {
        WriteTask task = new WriteTask();
        task.setBody(entry(operation).encode());
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
}
