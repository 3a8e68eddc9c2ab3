package register.replica;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import register.options.Canary;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/**
 * A replica that is wrong on purpose, so that a test can see whether a wrong system is found out. Never on by default:
 * {@code --unsafe-test-mode} has to be given too.
 */
public final class CanaryReplica implements Replica {

    private final Replica replica;
    private final RegisterMachine machine;
    private final Canary canary;

    public CanaryReplica(Replica replica, RegisterMachine machine, Canary canary) {
        this.replica = replica;
        this.machine = machine;
        this.canary = canary;
    }

    @Override
    public void start() throws Exception {
        replica.start();
    }

    @Override
    public void submit(Operation operation, Completion completion) {
        if (operation instanceof Operation.Read read) {
            if (canary == Canary.STALE_READS) {
                completion.ok(Result.read(machine.get(read.key())), true);
            } else {
                replica.submit(operation, completion);
            }
        } else if (canary == Canary.ACK_BEFORE_COMMIT) {
            acknowledgeEarly(operation, completion);
        } else {
            replica.submit(operation, completion);
        }
    }

    private void acknowledgeEarly(Operation operation, Completion completion) {
        Result guess = guess(operation);
        AtomicBoolean failed = new AtomicBoolean();
        replica.submit(operation, new Completion() {
            @Override
            public void ok(Result result, boolean applied) {
                completion.ok(result, applied);
            }

            @Override
            public void fail(Failure failure) {
                failed.set(true);
                completion.fail(failure);
            }
        });
        if (!failed.get()) {
            completion.ok(guess, true);
        }
    }

    private Result guess(Operation operation) {
        if (operation instanceof Operation.Cas cas) {
            return Objects.equals(machine.get(cas.key()), cas.old()) ? Result.SWAPPED : Result.KEPT;
        }
        return Result.WRITTEN;
    }

    @Override
    public ReplicaStatus status() {
        return replica.status();
    }

    @Override
    public void stop() {
        replica.stop();
    }
}
