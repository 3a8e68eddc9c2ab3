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

    @Test
    void anErrorOfTheSetUpBecomesAFault() throws IOException {
        Logs.open(dir.resolve("register.log"), health);
        logger.error("failed", new RuntimeException("DLedger's own"));
        assertFalse(String.valueOf(health.fault()).contains("DLedger's own"));
        logger.error("failed", new IllegalAccessError("module java.base does not export"));
        assertEquals("java.lang.IllegalAccessError: module java.base does not export", health.fault());
    }
}
