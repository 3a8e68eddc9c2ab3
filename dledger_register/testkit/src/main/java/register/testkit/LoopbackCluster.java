package register.testkit;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import register.options.Options;
import register.replica.ReplicaFactory;
import register.server.RegisterServer;
import register.state.Health;

/** Real nodes in this JVM, talking over loopback on ports that were free a moment ago. */
public final class LoopbackCluster implements AutoCloseable {

    private static final long DEADLINE_S = 40;

    private final ReplicaFactory factory;
    private final Path dir;
    private final List<String> extra;
    private final int[] clientPorts;
    private final String peers;
    private final Map<Integer, RegisterServer> running = new HashMap<>();

    /** A cluster of nodes n1 to n{@code size}, none started; {@code extra} are further options of the command line. */
    public LoopbackCluster(ReplicaFactory factory, int size, Path dir, String... extra) throws IOException {
        this.factory = factory;
        this.dir = dir;
        this.extra = List.of(extra);
        int[] ports = freePorts(2 * size);
        this.clientPorts = new int[size + 1];
        List<String> members = new ArrayList<>();
        for (int node = 1; node <= size; node++) {
            clientPorts[node] = ports[node - 1];
            members.add("n" + node + "-127.0.0.1:" + ports[size + node - 1]);
        }
        this.peers = String.join(";", members);
    }

    private static int[] freePorts(int count) throws IOException {
        List<ServerSocket> sockets = new ArrayList<>();
        try {
            int[] ports = new int[count];
            for (int i = 0; i < count; i++) {
                ServerSocket socket = new ServerSocket(0);
                sockets.add(socket);
                ports[i] = socket.getLocalPort();
            }
            return ports;
        } finally {
            for (ServerSocket socket : sockets) {
                socket.close();
            }
        }
    }

    public int size() {
        return clientPorts.length - 1;
    }

    private Options options(int node) {
        // Ten missed heartbeats, so that a busy machine does not cost the cluster its leader in the middle of a test.
        List<String> args = new ArrayList<>(List.of(
                "--id", "n" + node, "--group", "test", "--peers", peers,
                "--data-dir", dir.resolve("n" + node).toString(), "--client-port", "" + clientPorts[node],
                "--heartbeat-ms", "200", "--heartbeat-leak", "10", "--min-vote-ms", "100", "--max-vote-ms", "300",
                "--data-file-size", "1048576", "--index-file-size", "320000"));
        args.addAll(extra);
        return Options.parse(args.toArray(new String[0]));
    }

    public void start(int node) throws Exception {
        RegisterServer server = new RegisterServer(options(node), factory, new Health());
        server.start();
        running.put(node, server);
    }

    public void startAll() throws Exception {
        for (int node = 1; node <= size(); node++) {
            start(node);
        }
    }

    /** Stops nodes, all at once: DLedger takes up to five seconds for each. */
    public void stop(List<Integer> nodes) {
        List<Thread> stopping = new ArrayList<>();
        for (int node : nodes) {
            Thread thread = new Thread(running.remove(node)::close, "stop-n" + node);
            thread.start();
            stopping.add(thread);
        }
        try {
            for (Thread thread : stopping) {
                thread.join();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    public List<Integer> running() {
        return List.copyOf(running.keySet());
    }

    public LineClient client(int node) throws IOException {
        return new LineClient(clientPorts[node]);
    }

    public Map<String, Object> status(int node) throws IOException {
        try (LineClient client = client(node)) {
            return client.status();
        }
    }

    /** Waits for a leader that commits a write, and returns its number. */
    public int awaitLeader() throws Exception {
        int[] leader = new int[1];
        await("a leader that commits", () -> {
            for (int node : running.keySet()) {
                try (LineClient client = client(node)) {
                    if ("leader".equals(client.status().get("role"))
                            && Boolean.TRUE.equals(client.write("probe", 0).get("ok"))) {
                        leader[0] = node;
                        return true;
                    }
                }
            }
            return false;
        });
        return leader[0];
    }

    /** Waits until a condition holds, for 40 s at most; an I/O error means that it does not hold yet. */
    public void await(String what, Callable<Boolean> condition) throws Exception {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_S);
        while (true) {
            try {
                if (condition.call()) {
                    return;
                }
            } catch (IOException notYet) {
                // Retry below.
            }
            if (System.nanoTime() > deadline || running.isEmpty()) {
                throw new AssertionError("still waiting for " + what + " after " + DEADLINE_S + " s: " + allStatus());
            }
            Thread.sleep(20);
        }
    }

    private String allStatus() {
        List<String> all = new ArrayList<>();
        for (int node : running.keySet()) {
            try {
                all.add(status(node).toString());
            } catch (IOException error) {
                all.add("n" + node + ": " + error);
            }
        }
        return String.join("\n", all);
    }

    @Override
    public void close() {
        stop(running());
    }
}
