package register.options;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The command line. All times are in milliseconds, all sizes in bytes.
 *
 * @param peers  the whole group, {@code n1-10.0.0.11:20911;n2-…}, as DLedger wants it
 * @param canary what the server does wrong on purpose; null for nothing
 */
public record Options(
        String id,
        String group,
        String peers,
        Path dataDir,
        int clientPort,
        boolean snapshot,
        int snapshotThreshold,
        int heartbeatMs,
        int heartbeatLeak,
        int minVoteMs,
        int maxVoteMs,
        int dataFileSize,
        int indexFileSize,
        Store store,
        boolean fastCommit,
        Path logFile,
        Canary canary) {

    /** Where DLedger keeps its log. */
    public enum Store {
        FILE,
        MEMORY
    }

    public static final String USAGE = """
            usage: java -jar dledger-register-VERSION.jar OPTIONS
              --id ID                       this node's name in --peers; letters and digits
              --peers ID-HOST:PORT;...      all members with their Raft addresses
              --data-dir DIR                where DLedger stores log, term and snapshots
              --client-port PORT            port for clients
              --group NAME                  Raft group                            [harness]
              --log-file FILE               log, at most four files of 16 MiB     [DIR/register.log]
              --snapshot | --no-snapshot    take snapshots                        [--no-snapshot]
              --snapshot-threshold N        entries between two snapshots         [1000]
              --heartbeat-ms MS             heartbeat interval                    [2000]
              --heartbeat-leak N            heartbeats missed before an election  [3]
              --min-vote-ms MS              shortest wait between two votes       [300]
              --max-vote-ms MS              longest wait between two votes        [1000]
              --data-file-size BYTES        mapped file of entries                [16777216]
              --index-file-size BYTES       mapped file of the index, 32 * n      [5242880]
              --store FILE|MEMORY           where the log is kept                 [FILE]
              --fast-commit | --no-fast-commit
                                            0.4.0: commit old terms at election   [--fast-commit]
              --unsafe-test-mode            allow --canary
              --canary BUG                  be wrong on purpose, to test the harness: stale-reads,
                                            ack-before-commit, apply-twice, skip-entry, lose-write,
                                            forget-in-snapshot, snapshot-wrong-index, vote-twice,
                                            deposed-reads
              --help                        print this
              --version                     print the version of DLedger
            """;

    private static final Set<String> FLAGS = Set.of(
            "--snapshot", "--no-snapshot", "--fast-commit", "--no-fast-commit", "--unsafe-test-mode");
    private static final Set<String> VALUED = Set.of(
            "--id", "--peers", "--data-dir", "--client-port", "--group", "--log-file", "--snapshot-threshold",
            "--heartbeat-ms", "--heartbeat-leak", "--min-vote-ms", "--max-vote-ms", "--data-file-size",
            "--index-file-size", "--store", "--canary");
    private static final Pattern ID = Pattern.compile("[A-Za-z0-9]+");
    private static final Pattern PEER = Pattern.compile("([A-Za-z0-9]+)-([^\\s:;-][^\\s:;]*):([0-9]{1,5})");
    /** Bytes of one index entry; DLedger's index files hold whole entries only. */
    private static final int INDEX_UNIT = 32;

    public static Options parse(String... args) throws UsageError {
        return new Reader(args).options();
    }

    /** Whether this node's id is the last of all peers' in alphabetical order; for canaries of one node alone. */
    public boolean isLastPeer() {
        return Arrays.stream(peers.split(";")).map(peer -> peer.split("-")[0]).allMatch(peer -> peer.compareTo(id) <= 0);
    }

    /** This node's Raft port. */
    public int raftPort() {
        for (String peer : peers.split(";")) {
            if (peer.startsWith(id + "-")) {
                return Integer.parseInt(peer.substring(peer.lastIndexOf(':') + 1));
            }
        }
        throw new IllegalStateException("no peer " + id + " in " + peers);
    }

    /** The words of a command line by their option. Every error names its option. */
    private static final class Reader {

        private final Map<String, String> values = new HashMap<>();

        Reader(String[] args) throws UsageError {
            for (int i = 0; i < args.length; i++) {
                String name = args[i];
                String value = "";
                if (VALUED.contains(name)) {
                    if (++i == args.length) {
                        throw new UsageError(name + ": value missing");
                    }
                    value = args[i];
                } else if (!FLAGS.contains(name)) {
                    throw new UsageError(name + ": unknown option (--help lists all)");
                }
                if (values.put(name, value) != null) {
                    throw new UsageError(name + ": given twice");
                }
            }
        }

        Options options() throws UsageError {
            String id = required("--id");
            if (!ID.matcher(id).matches()) {
                throw new UsageError("--id: letters and digits only, DLedger splits at '-': " + id);
            }
            int minVote = integer("--min-vote-ms", 300, 1);
            int maxVote = integer("--max-vote-ms", 1000, 1);
            if (minVote >= maxVote) {
                throw new UsageError("--min-vote-ms: must be less than --max-vote-ms: " + minVote + ", " + maxVote);
            }
            Path dataDir = Path.of(required("--data-dir"));
            String logFile = values.get("--log-file");
            return new Options(
                    id,
                    values.getOrDefault("--group", "harness"),
                    peers(id),
                    dataDir,
                    port("--client-port", required("--client-port")),
                    either("--snapshot", "--no-snapshot", false),
                    integer("--snapshot-threshold", 1000, 1),
                    integer("--heartbeat-ms", 2000, 10),
                    integer("--heartbeat-leak", 3, 1),
                    minVote,
                    maxVote,
                    integer("--data-file-size", 16 << 20, 4096),
                    indexFileSize(),
                    store(),
                    either("--fast-commit", "--no-fast-commit", true),
                    logFile == null ? dataDir.resolve("register.log") : Path.of(logFile),
                    canary());
        }

        private String required(String name) throws UsageError {
            String value = values.get(name);
            if (value == null || value.isEmpty()) {
                throw new UsageError(name + ": missing (--help lists all options)");
            }
            return value;
        }

        private int integer(String name, int defaultValue, int min) throws UsageError {
            return values.containsKey(name)
                    ? integer(name, values.get(name), min, Integer.MAX_VALUE)
                    : defaultValue;
        }

        private static int port(String name, String text) throws UsageError {
            return integer(name, text, 1, 65535);
        }

        private static int integer(String name, String text, int min, int max) throws UsageError {
            try {
                int value = Integer.parseInt(text);
                if (value >= min && value <= max) {
                    return value;
                }
            } catch (NumberFormatException notOne) {
                // The same message as for one out of range.
            }
            throw new UsageError(name + ": an integer from " + min + " to " + max + ", not " + text);
        }

        private boolean either(String yes, String no, boolean defaultValue) throws UsageError {
            if (values.containsKey(yes) && values.containsKey(no)) {
                throw new UsageError(yes + ": excludes " + no);
            }
            return values.containsKey(yes) || (defaultValue && !values.containsKey(no));
        }

        private String peers(String id) throws UsageError {
            String peers = required("--peers");
            Set<String> ids = new HashSet<>();
            for (String peer : peers.split(";")) {
                var parts = PEER.matcher(peer);
                if (!parts.matches()) {
                    throw new UsageError("--peers: expected ID-HOST:PORT, separated by ';', not " + peer);
                }
                port("--peers", parts.group(3));
                if (!ids.add(parts.group(1))) {
                    throw new UsageError("--peers: names " + parts.group(1) + " twice");
                }
            }
            if (!ids.contains(id)) {
                throw new UsageError("--peers: does not name this node, " + id);
            }
            return peers;
        }

        private int indexFileSize() throws UsageError {
            int size = integer("--index-file-size", 5 << 20, INDEX_UNIT);
            if (size % INDEX_UNIT != 0) {
                throw new UsageError("--index-file-size: a multiple of " + INDEX_UNIT + ", not " + size);
            }
            return size;
        }

        private Store store() throws UsageError {
            String name = values.getOrDefault("--store", "FILE");
            try {
                return Store.valueOf(name);
            } catch (IllegalArgumentException unknown) {
                throw new UsageError("--store: FILE or MEMORY, not " + name);
            }
        }

        private Canary canary() throws UsageError {
            String label = values.get("--canary");
            if (label == null) {
                return null;
            }
            if (!values.containsKey("--unsafe-test-mode")) {
                throw new UsageError("--canary: makes the server wrong on purpose; give --unsafe-test-mode too");
            }
            for (Canary canary : Canary.values()) {
                if (canary.label().equals(label)) {
                    if (canary.needsSnapshots() && !values.containsKey("--snapshot")) {
                        throw new UsageError("--canary: " + label + " does nothing without --snapshot; give it too");
                    }
                    return canary;
                }
            }
            throw new UsageError("--canary: one of " + Canary.labels() + ", not " + label);
        }
    }
}
