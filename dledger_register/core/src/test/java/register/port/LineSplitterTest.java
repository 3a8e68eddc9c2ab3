package register.port;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LineSplitterTest {

    private static List<String> split(String text, int limit, int chunk) {
        List<String> lines = new ArrayList<>();
        LineSplitter splitter = new LineSplitter(limit);
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int at = 0; at < bytes.length; at += chunk) {
            ByteBuffer part = ByteBuffer.wrap(bytes, at, Math.min(chunk, bytes.length - at));
            splitter.feed(part, new LineSplitter.Sink() {
                @Override
                public void line(byte[] line) {
                    lines.add(new String(line, StandardCharsets.UTF_8));
                }

                @Override
                public void tooLong() {
                    lines.add("!");
                }
            });
        }
        return lines;
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7, 1000})
    void linesWhateverTheChunks(int chunk) {
        assertEquals(List.of("ab", "c", "d€"), split("ab\n\nc\r\n\r\nd€\nrest", 10, chunk));
        assertEquals(List.of("1234567890", "!", "x"), split("1234567890\n12345678901 and more\nx\n", 10, chunk));
        assertEquals(List.of("!", "!", "y"), split("12345678901\n12345678901\ny\n", 10, chunk));
        assertEquals(List.of("x".repeat(1000)), split("x".repeat(1000) + "\n", 1000, chunk));
    }
}
