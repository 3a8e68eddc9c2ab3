package register.server;

import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.core.AppenderBase;
import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts log events that must never occur, in a file beside the log: the log is capped, and loses its oldest lines
 * when a library repeats one for minutes.
 */
final class Alarms extends AppenderBase<ILoggingEvent> {

    /** The patterns of harness/judge/node_alarms.py that a server can write itself. */
    static final List<String> PATTERNS = List.of(
            "truncate for data file error", "Fail to recover state machine", "[BUG]", "Apply task exception",
            "IllegalAccessError", "OutOfMemoryError");

    private static final JsonFactory JSON = new JsonFactory();
    private static final long BETWEEN_WRITES_MS = 1000;
    private static final long LAST_WRITE_MS = 2000;

    private final long pid = ProcessHandle.current().pid();
    private final Path file;
    private final Map<String, Long> counts = new LinkedHashMap<>();
    /** A separate thread, because a fault may make the disk hang and logging must not wait for it. */
    private final Thread writer = new Thread(this::writeWhenCounted, "alarms");
    private boolean changed;

    /** Prepares to write to {@code directory}, and renames the file of an earlier process with the same pid. */
    Alarms(Path directory) throws IOException {
        file = directory.resolve("alarms-" + pid + ".json");
        for (int i = 1; Files.exists(file); i++) {
            Path aside = directory.resolve("alarms-" + pid + "-" + i + ".json");
            if (!Files.exists(aside)) {
                Files.move(file, aside);
            }
        }
    }

    @Override
    public void start() {
        super.start();
        writer.setDaemon(true);
        writer.start();
    }

    @Override
    protected synchronized void append(ILoggingEvent event) {
        for (String pattern : PATTERNS) {
            if (says(event, pattern)) {
                counts.merge(pattern, 1L, Long::sum);
                changed = true;
                notifyAll();
            }
        }
    }

    private static boolean says(ILoggingEvent event, String pattern) {
        if (contains(event.getFormattedMessage(), pattern)) {
            return true;
        }
        for (IThrowableProxy error = event.getThrowableProxy(); error != null; error = error.getCause()) {
            if (contains(error.getClassName(), pattern) || contains(error.getMessage(), pattern)) {
                return true;
            }
        }
        return false;
    }

    private static boolean contains(String text, String pattern) {
        return text != null && text.contains(pattern);
    }

    private void writeWhenCounted() {
        try {
            while (true) {
                byte[] next = next();
                if (next == null) {
                    return;
                }
                write(next);
                pause();
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for the next text to write; returns null once the log is closed and everything is written. */
    private synchronized byte[] next() throws InterruptedException {
        while (!changed && isStarted()) {
            wait();
        }
        if (!changed) {
            return null;
        }
        changed = false;
        return json();
    }

    private synchronized void pause() throws InterruptedException {
        long until = System.nanoTime() + BETWEEN_WRITES_MS * 1_000_000;
        for (long left = BETWEEN_WRITES_MS; isStarted() && left > 0; left = (until - System.nanoTime()) / 1_000_000) {
            wait(left);
        }
    }

    private byte[] json() {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(bytes, JsonEncoding.UTF8)) {
            json.writeStartObject();
            json.writeNumberField("pid", pid);
            json.writeObjectFieldStart("alarms");
            for (Map.Entry<String, Long> count : counts.entrySet()) {
                json.writeNumberField(count.getKey(), count.getValue());
            }
            json.writeEndObject();
            json.writeEndObject();
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
        bytes.write('\n');
        return bytes.toByteArray();
    }

    private void write(byte[] json) {
        Path part = file.resolveSibling(file.getFileName() + ".part");
        try {
            try (FileChannel channel = FileChannel.open(
                    part, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
                ByteBuffer bytes = ByteBuffer.wrap(json);
                while (bytes.hasRemaining()) {
                    channel.write(bytes);
                }
                channel.force(true);
            }
            Files.move(part, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException full) {
            // The disk is full or broken. Logging that could only raise the counts; the next write tries again.
            synchronized (this) {
                changed = isStarted();
            }
        }
    }

    @Override
    public void stop() {
        synchronized (this) {
            super.stop();
            notifyAll();
        }
        try {
            writer.join(LAST_WRITE_MS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
