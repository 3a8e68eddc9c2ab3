package gateway;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The content of entries: a number, and padding whose length depends on the number, so that sizes vary. */
final class Payload {

    /** The number returned for an entry that no number produces. */
    static final long FOREIGN = -1;

    private static final int LEAST = 24;
    private static final int SIZES = 241;

    private Payload() {
    }

    static byte[] encode(long number) {
        byte[] entry = new byte[LEAST + (int) (number * 7919 % SIZES)];
        Arrays.fill(entry, (byte) '.');
        byte[] digits = Long.toString(number).getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(digits, 0, entry, 0, digits.length);
        return entry;
    }

    static long decode(byte[] entry) {
        int length = 0;
        while (length < entry.length && entry[length] >= '0' && entry[length] <= '9') {
            length++;
        }
        if (length == 0 || length > 18) {
            return FOREIGN;
        }
        long number = Long.parseLong(new String(entry, 0, length, StandardCharsets.US_ASCII));
        return Arrays.equals(entry, encode(number)) ? number : FOREIGN;
    }
}
