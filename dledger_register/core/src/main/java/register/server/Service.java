package register.server;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import register.port.LineHandler;
import register.protocol.Answers;
import register.protocol.BadRequest;
import register.protocol.Request;
import register.protocol.RequestParser;
import register.replica.Completion;
import register.replica.Failure.Refusal;
import register.replica.Failure;
import register.replica.Replica;
import register.replica.ReplicaStatus;
import register.state.Health;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/** Turns lines into calls of the replica, and their outcomes into answers. */
final class Service implements LineHandler, AutoCloseable {

    private static final Logger LOGGER = LoggerFactory.getLogger(Service.class);
    /** Every appending thread holds a buffer of 4 MiB inside DLedger. */
    private static final int APPENDERS = 2;
    private static final int WAITING = 10_000;

    private final String node;
    private final String version;
    private final Replica replica;
    private final RegisterMachine machine;
    private final Health health;
    private final LongSupplier clockMs;
    private final ThreadPoolExecutor appenders;

    Service(
            String node, String version, Replica replica, RegisterMachine machine, Health health,
            LongSupplier clockMs) {
        this.node = node;
        this.version = version;
        this.replica = replica;
        this.machine = machine;
        this.health = health;
        this.clockMs = clockMs;
        AtomicInteger number = new AtomicInteger();
        this.appenders = new ThreadPoolExecutor(
                APPENDERS, APPENDERS, 0, TimeUnit.SECONDS, new ArrayBlockingQueue<>(WAITING),
                task -> new Thread(task, "append-" + number.incrementAndGet()));
    }

    @Override
    public void line(byte[] line, Reply reply) {
        try {
            Request request = RequestParser.parse(line);
            if (request.isStatus()) {
                reply.send(status(request.id()));
            } else {
                submit(request, new Answering(request, reply));
            }
        } catch (BadRequest bad) {
            reply.send(Answers.error(bad.id(), Failure.refused(Refusal.BAD_REQUEST, bad.getMessage()), null));
        }
    }

    @Override
    public void tooLong(Reply reply) {
        reply.send(Answers.error(null, Failure.refused(Refusal.LINE_TOO_LONG, "a line has at most 64 KiB"), null));
    }

    private void submit(Request request, Answering answering) {
        if (request.operation() instanceof Operation.Query query && query.mode() == Operation.Mode.UNSAFE) {
            // An unsafe read appends nothing and takes no lock, so it need not queue behind the appends.
            run(request, answering);
            return;
        }
        try {
            appenders.execute(() -> run(request, answering));
        } catch (RejectedExecutionException full) {
            Refusal why = appenders.isShutdown() ? Refusal.SHUTTING_DOWN : Refusal.SERVER_BUSY;
            answering.fail(Failure.refused(why, appenders.getQueue().size() + " operations wait to be appended"));
        }
    }

    private void run(Request request, Answering answering) {
        try {
            replica.submit(request.operation(), answering);
        } catch (Throwable error) {
            LOGGER.error("operation {}", request, error);
            answering.fail(Failure.unforeseen(error));
            if (error instanceof Error) {
                health.report(error.toString(), error);
            }
        }
    }

    private byte[] status(Object id) {
        try {
            Answers.Process process = new Answers.Process(
                    node, version, machine.snapshotsSaved(), machine.snapshotsLoaded(), health.unappliedOks(),
                    health.applyErrors(), health.reapplied(), health.undecodable(), machine.mark(), health.fault(),
                    clockMs.getAsLong(), ProcessHandle.current().pid());
            return Answers.status(id, replica.status(), process);
        } catch (RuntimeException error) {
            LOGGER.error("status", error);
            return Answers.error(id, Failure.unforeseen(error), null);
        }
    }

    /** Answers a request once, whichever thread the outcome comes from. */
    private final class Answering implements Completion {

        private final Request request;
        private final Reply reply;
        private final AtomicBoolean answered = new AtomicBoolean();

        Answering(Request request, Reply reply) {
            this.request = request;
            this.reply = reply;
        }

        @Override
        public void ok(Result result, boolean applied) {
            once(() -> {
                if (!applied) {
                    health.unappliedOk(request);
                }
                ReplicaStatus now = replica.status();
                return Answers.ok(request.id(), request.operation(), result, applied, now.term(), now.leader());
            });
        }

        @Override
        public void fail(Failure failure) {
            once(() -> Answers.error(request.id(), failure, replica.status().leader()));
        }

        /** Throws nothing, because the caller may be DLedger's apply thread. */
        private void once(Supplier<byte[]> answer) {
            if (answered.compareAndSet(false, true)) {
                try {
                    reply.send(answer.get());
                } catch (RuntimeException error) {
                    health.report("no answer could be written for " + request, error);
                }
            }
        }
    }

    @Override
    public void close() {
        appenders.shutdown();
    }
}
