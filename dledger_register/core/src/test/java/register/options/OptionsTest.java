package register.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionsTest {

    private static final List<String> LEAST = List.of(
            "--id", "n1", "--peers", "n1-10.0.0.11:20911;n2-host-b:20912", "--data-dir", "/data/register",
            "--client-port", "20912");

    private static Options parse(String... more) throws UsageError {
        List<String> args = new ArrayList<>(LEAST);
        args.addAll(List.of(more));
        return Options.parse(args.toArray(new String[0]));
    }

    @Test
    void defaults() throws UsageError {
        Options options = parse();
        assertEquals("harness", options.group());
        assertEquals(20911, options.raftPort());
        assertEquals(Path.of("/data/register/register.log"), options.logFile());
        assertFalse(options.snapshot());
        assertEquals(2000, options.heartbeatMs());
        assertEquals(Options.Store.FILE, options.store());
        assertTrue(options.fastCommit());
        assertNull(options.canary());
    }

    @Test
    void everything() throws UsageError {
        Options options = parse(
                "--group", "g", "--snapshot", "--snapshot-threshold", "500", "--heartbeat-ms", "250",
                "--heartbeat-leak", "4", "--min-vote-ms", "100", "--max-vote-ms", "300", "--data-file-size", "1048576",
                "--index-file-size", "3200", "--store", "MEMORY", "--log-file", "/x/y.log", "--no-fast-commit",
                "--unsafe-test-mode", "--canary", "ack-before-commit");
        assertEquals(
                new Options(
                        "n1", "g", "n1-10.0.0.11:20911;n2-host-b:20912", Path.of("/data/register"), 20912, true, 500, 250,
                        4, 100, 300, 1048576, 3200, Options.Store.MEMORY, false, Path.of("/x/y.log"),
                        Canary.ACK_BEFORE_COMMIT),
                options);
        assertEquals(Canary.STALE_READS, parse("--unsafe-test-mode", "--canary", "stale-reads").canary());
    }

    @Test
    void everyCanaryHasItsNameAndIsInTheHelp() throws UsageError {
        for (Canary canary : Canary.values()) {
            assertEquals(canary, parse("--snapshot", "--unsafe-test-mode", "--canary", canary.label()).canary());
            assertTrue(Options.USAGE.contains(canary.label()), canary.label());
        }
    }

    @Test
    void theDefaultsInTheHelpAreTheRealOnes() throws UsageError {
        List<String> found = new ArrayList<>();
        String help = Options.USAGE.replace("DIR/", "/data/register/");
        Matcher option = Pattern.compile("(--[a-z-]+) .*\\[(.+)]").matcher(help);
        while (option.find()) {
            String value = option.group(2);
            assertEquals(parse(), value.startsWith("--") ? parse(value) : parse(option.group(1), value), option.group());
            found.add(option.group(1));
        }
        assertEquals(11, found.size(), found.toString());
    }

    @Test
    void oneOfThePeersIsTheLast() throws UsageError {
        assertFalse(parse().isLastPeer());
        List<String> args = new ArrayList<>(LEAST);
        args.set(1, "n2");
        assertTrue(Options.parse(args.toArray(new String[0])).isLastPeer());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            --nonsense                        | --nonsense: unknown option
            --store                           | --store: value missing
            --store DISK                      | --store: FILE or MEMORY, not DISK
            --snapshot-threshold 0            | --snapshot-threshold: an integer from 1
            --heartbeat-ms x                  | --heartbeat-ms: an integer from 10
            --heartbeat-ms 250 --heartbeat-ms 250 | --heartbeat-ms: given twice
            --snapshot --no-snapshot          | --snapshot: excludes --no-snapshot
            --min-vote-ms 300 --max-vote-ms 300 | --min-vote-ms: must be less than --max-vote-ms
            --index-file-size 100             | --index-file-size: a multiple of 32
            --canary stale-reads              | --canary: makes the server wrong on purpose
            --unsafe-test-mode --canary x     | --canary: one of stale-reads, ack-before-commit, apply-twice, skip-entry
            --unsafe-test-mode --canary forget-in-snapshot | --canary: forget-in-snapshot does nothing without --snapshot
            --unsafe-test-mode --canary snapshot-wrong-index --no-snapshot | --canary: snapshot-wrong-index does nothing
            """)
    void bad(String words, String message) {
        UsageError error = assertThrows(UsageError.class, () -> parse(words.split(" ")));
        assertTrue(error.getMessage().startsWith(message), error.getMessage());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            --id     | n-1                     | --id: letters and digits only
            --id     | n3                      | --peers: does not name this node, n3
            --peers  | n1-10.0.0.11            | --peers: expected ID-HOST:PORT
            --peers  | n1-10.0.0.11:99999      | --peers: an integer from 1 to 65535
            --peers  | n1-a:1;n1-b:2           | --peers: names n1 twice
            --client-port | 0                  | --client-port: an integer from 1 to 65535
            """)
    void badNeeded(String name, String value, String message) {
        List<String> args = new ArrayList<>(LEAST);
        args.set(args.indexOf(name) + 1, value);
        UsageError error = assertThrows(UsageError.class, () -> Options.parse(args.toArray(new String[0])));
        assertTrue(error.getMessage().startsWith(message), error.getMessage());
    }

    @Test
    void missing() {
        for (String name : List.of("--id", "--peers", "--data-dir", "--client-port")) {
            List<String> args = new ArrayList<>(LEAST);
            int at = args.indexOf(name);
            args.subList(at, at + 2).clear();
            UsageError error = assertThrows(UsageError.class, () -> Options.parse(args.toArray(new String[0])));
            assertTrue(error.getMessage().startsWith(name + ": missing"), error.getMessage());
        }
    }
}
