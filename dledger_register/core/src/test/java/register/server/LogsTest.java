package register.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import register.state.Health;

class LogsTest {

    @TempDir
    Path dir;

    private final Health health = new Health();
    private final Logger logger = LoggerFactory.getLogger("io.openmessaging.storage.dledger.DLedgerEntryPusher");

    @AfterEach
    void close() {
        Logs.close();
    }

    @Test
    void timesLevelsAndNoLineForEveryOperation() throws IOException {
        Path file = dir.resolve("log").resolve("register.log");
        Logs.open(file, health);
        logger.info("Complete closure, term = {}, index = {}", 1, 2);
        logger.info("Complete future, term {}, index {}", 1, 2);
        logger.warn("something else: {}", 3);
        Logs.close();
        String text = Files.readString(file);
        assertTrue(
                text.matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z WARN  \\[.*] DLedgerEntryPusher - "
                        + "something else: 3\\R"),
                text);
    }

    @Test
    void theFilesAreCapped() throws IOException {
        Logs.open(dir.resolve("register.log"), health, "64KB");
        for (int i = 0; i < 20_000; i++) {
            logger.info("a line that fills the file, number {} of very many, {}", i, "x".repeat(100));
        }
        Logs.close();
        try (Stream<Path> files = Files.list(dir)) {
            assertEquals(4, files.count());
        }
    }

    private Path alarms() {
        return dir.resolve("alarms-" + ProcessHandle.current().pid() + ".json");
    }

    private static void await(Path file, String wanted) throws Exception {
        long deadline = System.nanoTime() + 10_000_000_000L;
        while (!Files.exists(file) || !Files.readString(file).contains(wanted)) {
            assertTrue(System.nanoTime() < deadline, wanted + " is not in " + file);
            Thread.sleep(10);
        }
    }

    @Test
    void alarmsAreCountedAlsoWhereTheLogIsCutOff() throws Exception {
        Logs.open(dir.resolve("register.log"), health, "64KB");
        logger.info("all is well");
        assertFalse(Files.exists(alarms()));
        logger.warn("[BUG] [HandleVote] remoteId={} is an unknown member", "n9");
        await(alarms(), "\"[BUG]\":1}");
        for (int i = 0; i < 2_000; i++) {
            logger.error("Apply task exception", new RuntimeException("x".repeat(10)));
        }
        logger.error("failed", new RuntimeException("wrapped", new IllegalAccessError("no export")));
        Logs.close();
        assertEquals(
                "{\"pid\":" + ProcessHandle.current().pid() + ",\"alarms\":"
                        + "{\"[BUG]\":1,\"Apply task exception\":2000,\"IllegalAccessError\":1}}\n",
                Files.readString(alarms()));
        assertFalse(Files.readString(dir.resolve("register.log")).contains("[BUG]"), "long gone from the log");
    }

    @Test
    void whatAnEarlierProcessOfTheSameNumberCountedStays() throws Exception {
        Files.writeString(alarms(), "old");
        Logs.open(dir.resolve("register.log"), health);
        logger.error("Fail to recover state machine");
        Logs.close();
        assertTrue(Files.readString(alarms()).contains("{\"Fail to recover state machine\":1}"));
        assertEquals("old", Files.readString(dir.resolve("alarms-" + ProcessHandle.current().pid() + "-1.json")));
    }

    @Test
    void anErrorOfTheSetUpBecomesAFault() throws IOException {
        Logs.open(dir.resolve("register.log"), health);
        logger.error("failed", new RuntimeException("DLedger's own"));
        assertFalse(String.valueOf(health.fault()).contains("DLedger's own"));
        logger.error("failed", new IllegalAccessError("module java.base does not export"));
        assertEquals("java.lang.IllegalAccessError: module java.base does not export", health.fault());
    }
}
