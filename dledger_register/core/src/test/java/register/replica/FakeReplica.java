package register.replica;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import register.state.Operation;

/** Keeps what is submitted until the test completes it; may be blocked like a DLedger whose lock is taken. */
public final class FakeReplica implements Replica {

    /** One operation not yet answered. */
    public record Submitted(Operation operation, Completion completion) {
    }

    public final Queue<Submitted> submitted = new ConcurrentLinkedQueue<>();
    public volatile CountDownLatch gate = new CountDownLatch(0);
    public volatile RuntimeException thrown;
    public volatile Failure refusal;
    public final AtomicInteger votesForgotten = new AtomicInteger();
    public volatile ReplicaStatus status = new ReplicaStatus("candidate", 3, null, 0, -1, -1, -1);

    @Override
    public void start() {
    }

    @Override
    public void submit(Operation operation, Completion completion) {
        if (operation instanceof Operation.Read read && read.mode() == Operation.Mode.UNSAFE) {
            completion.ok(register.state.Result.read(5L), true);
            return;
        }
        try {
            gate.await();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
        if (thrown != null) {
            throw thrown;
        }
        if (refusal != null) {
            completion.fail(refusal);
            return;
        }
        submitted.add(new Submitted(operation, completion));
    }

    @Override
    public ReplicaStatus status() {
        return status;
    }

    @Override
    public void forgetVote() {
        votesForgotten.incrementAndGet();
    }

    @Override
    public void stop() {
    }
}
