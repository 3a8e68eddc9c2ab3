package register.port;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** Splits a stream of bytes into lines of bounded length. A line that is too long is reported once and skipped. */
final class LineSplitter {

    interface Sink {
        void line(byte[] bytes);

        void tooLong();
    }

    private final int limit;
    private byte[] partial = new byte[256];
    private int length;
    private boolean skipping;

    LineSplitter(int limit) {
        this.limit = limit;
    }

    void feed(ByteBuffer bytes, Sink sink) {
        while (bytes.hasRemaining()) {
            byte next = bytes.get();
            if (next == '\n') {
                endOfLine(sink);
            } else if (!skipping) {
                add(next, sink);
            }
        }
    }

    private void endOfLine(Sink sink) {
        if (!skipping) {
            int end = length > 0 && partial[length - 1] == '\r' ? length - 1 : length;
            byte[] line = Arrays.copyOf(partial, end);
            length = 0;
            if (line.length > 0) {
                sink.line(line);
            }
        }
        skipping = false;
        length = 0;
    }

    private void add(byte next, Sink sink) {
        if (length == limit) {
            skipping = true;
            length = 0;
            sink.tooLong();
            return;
        }
        if (length == partial.length) {
            partial = Arrays.copyOf(partial, Math.min(limit, 2 * partial.length));
        }
        partial[length++] = next;
    }
}
