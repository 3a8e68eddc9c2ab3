package register.options;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.TypeConversionException;

/**
 * The command line. All times are in milliseconds, all sizes in bytes.
 *
 * @param peers  the whole group, {@code n1-10.0.0.11:20911;n2-…}, as DLedger wants it
 * @param plantedBug what the server does wrong on purpose; null for nothing
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
        PlantedBug plantedBug) {

    /** Where DLedger keeps its log. */
    public enum Store {
        FILE,
        MEMORY
    }

    private static final String ID = "[A-Za-z0-9]+";
    private static final String PEER = "(" + ID + ")-[^\\s:;-][^\\s:;]*:([0-9]{1,5})";
    /** The size of an index entry in bytes; DLedger's index files contain only whole entries. */
    private static final int INDEX_UNIT = 32;

    /** Reads a command line. Throws ParameterException, whose message names the option. */
    public static Options parse(String... args) {
        CommandLine line = commandLine();
        line.parseArgs(args);
        return of(line);
    }

    /** Returns the unparsed options. They are made by builders, because reading annotations would slow every start. */
    public static CommandLine commandLine() {
        CommandSpec spec = CommandSpec.create();
        spec.usageMessage().customSynopsis("java -jar dledger-register-VERSION.jar OPTIONS").sortOptions(false)
                .showDefaultValues(true);
        for (OptionSpec.Builder option : List.of(
                needed("--id", "ID", "this node's name in --peers; letters and digits",
                        text -> matched(ID, text, "letters and digits only, DLedger splits at '-'").group()),
                needed("--peers", "ID-HOST:PORT;...", "all members with their Raft addresses", Options::peers),
                needed("--data-dir", "DIR", "where DLedger stores log, term and snapshots",
                        text -> Path.of(matched(".+", text, "a folder").group())),
                needed("--client-port", "PORT", "port for clients", text -> integer(text, 1, 65535)),
                valued("--group", "NAME", "Raft group").defaultValue("harness"),
                valued("--log-file", "FILE", "log, at most four files of 16 MiB; else DIR/register.log").type(Path.class),
                flag("--snapshot", "take snapshots; the default is not to", false),
                number("--snapshot-threshold", "N", "entries between two snapshots", 1000, 1),
                number("--heartbeat-ms", "MS", "heartbeat interval", 2000, 10),
                number("--heartbeat-leak", "N", "heartbeats missed before an election", 3, 1),
                number("--min-vote-ms", "MS", "shortest wait between two votes", 300, 1),
                number("--max-vote-ms", "MS", "longest wait between two votes", 1000, 1),
                number("--data-file-size", "BYTES", "mapped file of entries", 16 << 20, 4096),
                number("--index-file-size", "BYTES", "mapped file of the index, 32 * n", 5 << 20, INDEX_UNIT),
                valued("--store", "STORE", "where the log is kept: ${COMPLETION-CANDIDATES}")
                        .type(Store.class).defaultValue("FILE"),
                flag("--fast-commit", "0.4.0: commit old terms at election; the default", true),
                option("--unsafe-test-mode", "allow --planted-bug"),
                valued("--planted-bug", "BUG", "be wrong on purpose, to test the harness: ${COMPLETION-CANDIDATES}")
                        .type(PlantedBug.class),
                option("--help", "print this").usageHelp(true),
                option("--version", "print the version of DLedger").versionHelp(true))) {
            spec.addOption(option.build());
        }
        return new CommandLine(spec).setExpandAtFiles(false);
    }

    private static OptionSpec.Builder option(String name, String description) {
        return OptionSpec.builder(name).description(description);
    }

    private static OptionSpec.Builder valued(String name, String label, String description) {
        return option(name, description).paramLabel(label).arity("1");
    }

    private static OptionSpec.Builder needed(
            String name, String label, String description, ITypeConverter<?> converter) {
        return valued(name, label, description).converters(converter).required(true);
    }

    private static OptionSpec.Builder number(String name, String label, String description, int normal, int min) {
        return valued(name, label, description).defaultValue(String.valueOf(normal))
                .converters(text -> integer(text, min, Integer.MAX_VALUE));
    }

    /** Makes an option that can be negated with {@code --no-} before its name. */
    private static OptionSpec.Builder flag(String name, String description, boolean normal) {
        // Without a fallback value, picocli would take --fast-commit to mean the opposite of its default.
        return option(name, description).negatable(true).defaultValue(String.valueOf(normal)).fallbackValue("true");
    }

    private static Matcher matched(String pattern, String text, String expected) {
        Matcher matcher = Pattern.compile(pattern).matcher(text);
        if (!matcher.matches()) {
            throw new TypeConversionException(expected + ", not " + text);
        }
        return matcher;
    }

    private static int integer(String text, int min, int max) {
        try {
            int value = Integer.parseInt(text);
            if (value >= min && value <= max) {
                return value;
            }
        } catch (NumberFormatException notOne) {
            // Use the same message as for a number out of range.
        }
        throw new TypeConversionException("an integer from " + min + " to " + max + ", not " + text);
    }

    private static String peers(String text) {
        Set<String> ids = new HashSet<>();
        for (String peer : text.split(";")) {
            Matcher parts = matched(PEER, peer, "expected ID-HOST:PORT, separated by ';'");
            integer(parts.group(2), 1, 65535);
            if (!ids.add(parts.group(1))) {
                throw new TypeConversionException("names " + parts.group(1) + " twice");
            }
        }
        return text;
    }

    /** Returns the options of a parsed command line. Throws ParameterException if two of them do not go together. */
    public static Options of(CommandLine line) {
        Path dataDir = value(line, "--data-dir");
        Path logFile = value(line, "--log-file");
        Options options = new Options(
                value(line, "--id"),
                value(line, "--group"),
                value(line, "--peers"),
                dataDir,
                value(line, "--client-port"),
                value(line, "--snapshot"),
                value(line, "--snapshot-threshold"),
                value(line, "--heartbeat-ms"),
                value(line, "--heartbeat-leak"),
                value(line, "--min-vote-ms"),
                value(line, "--max-vote-ms"),
                value(line, "--data-file-size"),
                value(line, "--index-file-size"),
                value(line, "--store"),
                value(line, "--fast-commit"),
                logFile == null ? dataDir.resolve("register.log") : logFile,
                value(line, "--planted-bug"));
        String wrong = options.wrong(Boolean.TRUE.equals(value(line, "--unsafe-test-mode")));
        if (wrong != null) {
            throw new ParameterException(line, wrong);
        }
        return options;
    }

    private static <T> T value(CommandLine line, String name) {
        return line.getCommandSpec().findOption(name).getValue();
    }

    /** Returns what is wrong with the combination of options, null for nothing. */
    private String wrong(boolean unsafe) {
        if (raftAddress().isEmpty()) {
            return "--peers: does not name this node, " + id;
        }
        if (minVoteMs >= maxVoteMs) {
            return "--min-vote-ms: must be less than --max-vote-ms: " + minVoteMs + ", " + maxVoteMs;
        }
        if (indexFileSize % INDEX_UNIT != 0) {
            return "--index-file-size: a multiple of " + INDEX_UNIT + ", not " + indexFileSize;
        }
        if (plantedBug != null && !unsafe) {
            return "--planted-bug: makes the server wrong on purpose; give --unsafe-test-mode too";
        }
        if (plantedBug != null && plantedBug.needsSnapshots() && !snapshot) {
            return "--planted-bug: " + plantedBug + " does nothing without --snapshot; give it too";
        }
        return null;
    }

    /** Whether this node's id is the alphabetically last of all peers'; for planted bugs that affect one node. */
    public boolean isLastPeer() {
        return Arrays.stream(peers.split(";")).map(peer -> peer.split("-")[0]).allMatch(peer -> peer.compareTo(id) <= 0);
    }

    /** Returns this node's Raft port. */
    public int raftPort() {
        String address = raftAddress().orElseThrow();
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    private Optional<String> raftAddress() {
        return Arrays.stream(peers.split(";")).filter(peer -> peer.startsWith(id + "-")).findFirst();
    }
}
