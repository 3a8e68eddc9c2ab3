package register.replica;

import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import register.options.PlantedBug;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/**
 * A replica with a bug on purpose, so that a test can check that the harness finds it. Never on by default: it needs
 * {@code --unsafe-test-mode} too.
 */
public final class PlantedBugReplica implements Replica {

    private final Replica replica;
    private final RegisterMachine machine;
    private final PlantedBug plantedBug;
    private volatile boolean hasLed;
    private volatile boolean stopped;

    public PlantedBugReplica(Replica replica, RegisterMachine machine, PlantedBug plantedBug) {
        this.replica = replica;
        this.machine = machine;
        this.plantedBug = plantedBug;
    }

    @Override
    public void start() {
        replica.start();
        if (plantedBug == PlantedBug.VOTE_TWICE) {
            Thread forgetting = new Thread(this::forgetVotes, "forget-votes");
            forgetting.setDaemon(true);
            forgetting.start();
        }
    }

    @Override
    public void submit(Operation operation, Completion completion) {
        boolean read = operation instanceof Operation.Query || operation instanceof Operation.Get;
        if (operation instanceof Operation.Query query && readsFromMemory()) {
            completion.ok(machine.answer(query), true);
        } else if (!read && plantedBug == PlantedBug.ACK_BEFORE_COMMIT) {
            acknowledgeEarly(operation, completion);
        } else {
            replica.submit(operation, completion);
        }
    }

    private boolean readsFromMemory() {
        if (plantedBug == PlantedBug.DEPOSED_READS && !hasLed) {
            hasLed = "leader".equals(replica.status().role());
        }
        return plantedBug == PlantedBug.STALE_READS || hasLed;
    }

    private synchronized void acknowledgeEarly(Operation operation, Completion completion) {
        Long seen = machine.get(operation.key());
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
            completion.ok(guess(operation, seen, replica.status().ledgerEnd()), true);
        }
    }

    /** Returns what applying the operation at {@code index} would return, given the present value of its register. */
    private static Result guess(Operation operation, Long seen, long index) {
        if (operation instanceof Operation.Cas cas) {
            return Objects.equals(seen, cas.old()) ? Result.SWAPPED : Result.kept(seen);
        }
        Long holder = seen == null || seen <= 0 ? null : seen;
        if (operation instanceof Operation.Acquire) {
            return holder == null ? Result.acquired(index + 1) : Result.kept(holder);
        }
        if (operation instanceof Operation.Release release) {
            return Objects.equals(holder, release.token()) ? Result.SWAPPED : Result.kept(holder);
        }
        return operation instanceof Operation.Append ? Result.read(index) : Result.WRITTEN;
    }

    private void forgetVotes() {
        try {
            while (!stopped) {
                replica.forgetVote();
                Thread.sleep(1);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void forgetVote() {
        replica.forgetVote();
    }

    @Override
    public ReplicaStatus status() {
        return replica.status();
    }

    @Override
    public void stop() {
        stopped = true;
        replica.stop();
    }
}
