package register.server;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;
import register.options.Options;
import register.replica.ReplicaFactory;
import register.state.Health;

/**
 * The process around a node: command line, log, signals, exit code.
 *
 * <p>Exit codes: 2 for a command line that cannot be run, 1 for a start that failed, 143 after SIGTERM.
 */
public final class Launcher {

    private static final Logger LOGGER = LoggerFactory.getLogger(Launcher.class);
    private static final int FAILED = 1;
    private static final int USAGE = 2;
    /** DLedger's shutdown waits for its threads, but a stuck thread must not keep a node alive after SIGTERM. */
    private static final long STOP_MS = 3000;

    private enum Phase {
        STARTING,
        RUNNING,
        FAILED
    }

    private final AtomicReference<Phase> phase = new AtomicReference<>(Phase.STARTING);
    private final Options options;
    private final ReplicaFactory factory;
    private final Health health = new Health();
    private volatile RegisterServer server;

    private Launcher(Options options, ReplicaFactory factory) {
        this.options = options;
        this.factory = factory;
    }

    /** The main method of every adapter. */
    public static void run(String[] args, ReplicaFactory factory) {
        CommandLine line = Options.commandLine();
        line.getCommandSpec().version("dledger-register on DLedger " + factory.version());
        try {
            if (!CommandLine.printHelpIfRequested(line.parseArgs(args))) {
                new Launcher(Options.of(line), factory).launch();
            }
        } catch (ParameterException error) {
            System.err.println("dledger-register: " + error.getMessage() + " (--help lists all options)");
            System.exit(USAGE);
        }
    }

    private void launch() {
        try {
            Logs.open(options.logFile(), health);
        } catch (IOException error) {
            System.err.println("dledger-register: --log-file: " + firstLine(error));
            System.exit(USAGE);
        }
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, error) -> health.report("uncaught in thread " + thread.getName() + ": " + error, error));
        Runtime.getRuntime().addShutdownHook(new Thread(this::shutDown, "shutdown"));
        try {
            start();
        } catch (Throwable error) {
            phase.set(Phase.FAILED);
            LOGGER.error("start failed", error);
            System.err.println("dledger-register: start failed: " + firstLine(error));
            System.exit(FAILED);
        }
    }

    private void start() throws IOException {
        LOGGER.info("dledger-register on DLedger {}, pid {}, Java {}, {}",
                factory.version(), ProcessHandle.current().pid(), Runtime.version(), options);
        server = new RegisterServer(options, factory, health);
        server.start();
        phase.set(Phase.RUNNING);
        LOGGER.info("started");
        System.out.println("dledger-register: " + options.id() + " started, client port " + options.clientPort());
    }

    private static String firstLine(Throwable error) {
        // A plain IOException is ours and has a full message; others, like AccessDeniedException, only name the file.
        String text = error.getClass() == IOException.class ? error.getMessage() : error.toString();
        return String.valueOf(text).lines().findFirst().orElse("");
    }

    private void shutDown() {
        if (phase.get() == Phase.STARTING) {
            // A signal, or DLedger's own System.exit on unusable files, whose reason it only logs.
            LOGGER.error("the process is ending before the start was done");
            System.err.println("dledger-register: ended during the start, the reason is in " + options.logFile());
        } else if (phase.get() == Phase.RUNNING) {
            LOGGER.info("shutting down");
            stop();
        }
        Logs.close();
    }

    private void stop() {
        Thread stopping = new Thread(server::close, "stopping");
        stopping.setDaemon(true);
        stopping.start();
        try {
            stopping.join(STOP_MS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        LOGGER.info(stopping.isAlive() ? "stopped without waiting for DLedger any longer" : "stopped");
    }
}
