package gateway;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PayloadTest {

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 9, 10, 1_000_000, 99_000_123, 999_999_999_999_999_999L})
    void roundTrip(long number) {
        assertEquals(number, Payload.decode(Payload.encode(number)));
    }

    @Test
    void sizesDiffer() {
        assertNotEquals(Payload.encode(1).length, Payload.encode(2).length);
    }

    @Test
    void whatIsCutOrChangedIsForeign() {
        byte[] entry = Payload.encode(1_000_017);
        for (int length = 0; length < entry.length; length++) {
            assertEquals(Payload.FOREIGN, Payload.decode(Arrays.copyOf(entry, length)));
        }
        entry[entry.length - 1] = 'x';
        assertEquals(Payload.FOREIGN, Payload.decode(entry));
        assertEquals(Payload.FOREIGN, Payload.decode("12345678901234567890".getBytes()));
    }
}
