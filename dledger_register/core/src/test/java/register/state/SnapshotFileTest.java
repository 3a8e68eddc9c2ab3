package register.state;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SnapshotFileTest {

    @TempDir
    Path dir;

    private Path file;

    @BeforeEach
    void name() {
        file = dir.resolve("data");
    }

    private static Map<String, Long> strange() {
        Map<String, Long> registers = new HashMap<>();
        registers.put("k0", 0L);
        registers.put("min", Long.MIN_VALUE);
        registers.put("max", Long.MAX_VALUE);
        registers.put("quote \" back \\ slash / line \n tab \t nul \0", 1L);
        registers.put("ключ 键 \uD83D\uDD11", 2L);
        registers.put("", -1L);
        return registers;
    }

    @Test
    void roundTrip() throws IOException {
        SnapshotFile.write(file, strange());
        assertEquals(strange(), SnapshotFile.read(file));
    }

    @Test
    void empty() throws IOException {
        SnapshotFile.write(file, Map.of());
        assertEquals(Map.of(), SnapshotFile.read(file));
    }

    @Test
    void overwritesALongerFile() throws IOException {
        SnapshotFile.write(file, strange());
        SnapshotFile.write(file, Map.of("k", 1L));
        assertEquals(Map.of("k", 1L), SnapshotFile.read(file));
    }

    @Test
    void randomMapsRoundTripAndEqualMapsGiveEqualBytes() throws IOException {
        Random random = new Random(2);
        for (int round = 0; round < 50; round++) {
            Map<String, Long> registers = new HashMap<>();
            for (int i = random.nextInt(200); i > 0; i--) {
                registers.put("k" + random.nextInt(1000), random.nextLong());
            }
            SnapshotFile.write(file, registers);
            byte[] first = Files.readAllBytes(file);
            assertEquals(registers, SnapshotFile.read(file));
            SnapshotFile.write(file, new HashMap<>(registers));
            assertArrayEquals(first, Files.readAllBytes(file));
        }
    }

    @Test
    void everyCutIsFound() throws IOException {
        SnapshotFile.write(file, strange());
        byte[] whole = Files.readAllBytes(file);
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThrows(IOException.class, () -> SnapshotFile.parse(cut), "cut at " + length);
        }
    }

    @Test
    void everyFlippedBitOfTheRegistersIsFound() throws IOException {
        SnapshotFile.write(file, strange());
        byte[] whole = Files.readAllBytes(file);
        int body = new String(whole, StandardCharsets.ISO_8859_1).indexOf('\n') + 1;
        for (int at = body; at < whole.length; at++) {
            for (int bit = 0; bit < 8; bit++) {
                byte[] flipped = whole.clone();
                flipped[at] ^= (byte) (1 << bit);
                assertThrows(IOException.class, () -> SnapshotFile.parse(flipped), "byte " + at + " bit " + bit);
            }
        }
    }

    @Test
    void anotherVersionIsRefused() throws IOException {
        SnapshotFile.write(file, Map.of("k", 1L));
        Files.writeString(file, Files.readString(file).replace("\"version\":1", "\"version\":2"));
        IOException error = assertThrows(IOException.class, () -> SnapshotFile.read(file));
        assertEquals("not a dledger-register-snapshot of version 1: dledger-register-snapshot 2", error.getMessage());
    }
}
