package register.options;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.ParameterException;

class OptionsTest {

    private static final List<String> LEAST = List.of(
            "--id", "n1", "--peers", "n1-10.0.0.11:20911;n2-host-b:20912", "--data-dir", "/data/register",
            "--client-port", "20912");

    private static Options parse(String... more) {
        List<String> args = new ArrayList<>(LEAST);
        args.addAll(List.of(more));
        return Options.parse(args.toArray(new String[0]));
    }

    @Test
    void defaults() {
        Options options = parse();
        assertEquals("harness", options.group());
        assertEquals(20911, options.raftPort());
        assertEquals(Path.of("/data/register/register.log"), options.logFile());
        assertFalse(options.snapshot());
        assertEquals(2000, options.heartbeatMs());
        assertEquals(Options.Store.FILE, options.store());
        assertTrue(options.fastCommit());
        assertNull(options.plantedBug());
    }

    @Test
    void everything() {
        Options options = parse(
                "--group", "g", "--snapshot", "--snapshot-threshold", "500", "--heartbeat-ms", "250",
                "--heartbeat-leak", "4", "--min-vote-ms", "100", "--max-vote-ms", "300", "--data-file-size", "1048576",
                "--index-file-size", "3200", "--store", "MEMORY", "--log-file", "/x/y.log", "--no-fast-commit",
                "--unsafe-test-mode", "--planted-bug", "ack-before-commit");
        assertEquals(
                new Options(
                        "n1", "g", "n1-10.0.0.11:20911;n2-host-b:20912", Path.of("/data/register"), 20912, true, 500, 250,
                        4, 100, 300, 1048576, 3200, Options.Store.MEMORY, false, Path.of("/x/y.log"),
                        PlantedBug.ACK_BEFORE_COMMIT),
                options);
        assertEquals(PlantedBug.STALE_READS, parse("--unsafe-test-mode", "--planted-bug", "stale-reads").plantedBug());
    }

    @Test
    void everyPlantedBugHasItsNameAndIsInTheHelp() {
        String help = Options.commandLine().getUsageMessage(Ansi.OFF).replaceAll("\\s+", " ");
        for (PlantedBug plantedBug : PlantedBug.values()) {
            assertEquals(plantedBug, parse("--snapshot", "--unsafe-test-mode", "--planted-bug", plantedBug.toString()).plantedBug());
            assertTrue(help.contains(plantedBug.toString()), plantedBug.toString());
        }
    }

    @Test
    void aFlagIsWhatItSaysWhateverItsDefault() {
        assertTrue(parse("--snapshot").snapshot());
        assertFalse(parse("--no-snapshot").snapshot());
        assertTrue(parse("--fast-commit").fastCommit());
        assertFalse(parse("--no-fast-commit").fastCommit());
    }

    @Test
    void oneOfThePeersIsTheLast() {
        assertFalse(parse().isLastPeer());
        List<String> args = new ArrayList<>(LEAST);
        args.set(1, "n2");
        assertTrue(Options.parse(args.toArray(new String[0])).isLastPeer());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            --nonsense                        | Unknown option: '--nonsense'
            word                              | Unmatched argument at index 8: 'word'
            --store                           | Missing required parameter for option '--store' (STORE)
            --store DISK                      | Invalid value for option '--store': expected one of [FILE, MEMORY]
            --snapshot-threshold 0            | Invalid value for option '--snapshot-threshold': an integer from 1
            --heartbeat-ms x                  | Invalid value for option '--heartbeat-ms': an integer from 10
            --heartbeat-ms 250 --heartbeat-ms 250 | option '--heartbeat-ms' (MS) should be specified only once
            --snapshot --no-snapshot          | option '--snapshot' should be specified only once
            --min-vote-ms 300 --max-vote-ms 300 | --min-vote-ms: must be less than --max-vote-ms
            --index-file-size 100             | --index-file-size: a multiple of 32
            --planted-bug stale-reads              | --planted-bug: makes the server wrong on purpose
            --unsafe-test-mode=false --planted-bug stale-reads | --planted-bug: makes the server wrong on purpose
            --unsafe-test-mode --planted-bug x     | Invalid value for option '--planted-bug': expected one of [STALE_READS, stale-reads
            --unsafe-test-mode --planted-bug forget-in-snapshot | --planted-bug: forget-in-snapshot does nothing without --snapshot
            --unsafe-test-mode --planted-bug snapshot-wrong-index --no-snapshot | --planted-bug: snapshot-wrong-index does nothing
            """)
    void bad(String words, String message) {
        ParameterException error = assertThrows(ParameterException.class, () -> parse(words.split(" ")));
        assertTrue(error.getMessage().startsWith(message), error.getMessage());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            --id     | n-1                     | Invalid value for option '--id': letters and digits only
            --id     | n3                      | --peers: does not name this node, n3
            --peers  | n1-10.0.0.11            | Invalid value for option '--peers': expected ID-HOST:PORT
            --peers  | n1-10.0.0.11:99999      | Invalid value for option '--peers': an integer from 1 to 65535
            --peers  | n1-a:1;n1-b:2           | Invalid value for option '--peers': names n1 twice
            --data-dir | ''                    | Invalid value for option '--data-dir': a folder
            --client-port | 0                  | Invalid value for option '--client-port': an integer from 1 to 65535
            """)
    void badNeeded(String name, String value, String message) {
        List<String> args = new ArrayList<>(LEAST);
        args.set(args.indexOf(name) + 1, value);
        ParameterException error = assertThrows(ParameterException.class, () -> Options.parse(args.toArray(new String[0])));
        assertTrue(error.getMessage().startsWith(message), error.getMessage());
    }

    @Test
    void missing() {
        for (String name : List.of("--id", "--peers", "--data-dir", "--client-port")) {
            List<String> args = new ArrayList<>(LEAST);
            int at = args.indexOf(name);
            args.subList(at, at + 2).clear();
            ParameterException error = assertThrows(ParameterException.class, () -> Options.parse(args.toArray(new String[0])));
            assertTrue(error.getMessage().startsWith("Missing required option: '" + name + "="), error.getMessage());
        }
    }
}
