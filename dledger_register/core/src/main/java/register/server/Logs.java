package register.server;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.rolling.FixedWindowRollingPolicy;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy;
import ch.qos.logback.core.util.FileSize;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.slf4j.LoggerFactory;
import register.state.Health;

/** Sends all logging to one file of bounded size. It is set up in code, so that the jar needs no configuration file. */
public final class Logs {

    private static final String PATTERN =
            "%d{\"yyyy-MM-dd'T'HH:mm:ss.SSS'Z'\", UTC} %-5level [%thread] %logger{0} - %msg%n%ex";
    private static final String FILE_SIZE = "16MB";
    private static final int OLD_FILES = 3;

    private Logs() {
    }

    /** Opens the log. Throws IOException if its folder cannot be made or the file cannot be written. */
    public static void open(Path file, Health health) throws IOException {
        open(file, health, FILE_SIZE);
    }

    static void open(Path file, Health health, String fileSize) throws IOException {
        Path absolute = file.toAbsolutePath();
        Files.createDirectories(absolute.getParent());
        if (Files.exists(absolute) && !Files.isWritable(absolute)) {
            throw new IOException("not writable: " + absolute);
        }
        LoggerContext context = (LoggerContext) LoggerFactory.getILoggerFactory();
        context.reset();
        context.addTurboFilter(new LogFilter(health));
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.INFO);
        root.addAppender(appender(context, absolute.toString(), fileSize));
        Alarms alarms = new Alarms(absolute.getParent());
        alarms.setContext(context);
        alarms.start();
        root.addAppender(alarms);
    }

    private static RollingFileAppender<ILoggingEvent> appender(LoggerContext context, String file, String fileSize) {
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setPattern(PATTERN);
        encoder.start();

        RollingFileAppender<ILoggingEvent> appender = new RollingFileAppender<>();
        appender.setContext(context);
        appender.setFile(file);
        appender.setEncoder(encoder);

        FixedWindowRollingPolicy window = new FixedWindowRollingPolicy();
        window.setContext(context);
        window.setParent(appender);
        window.setFileNamePattern(file + ".%i");
        window.setMinIndex(1);
        window.setMaxIndex(OLD_FILES);
        window.start();

        SizeBasedTriggeringPolicy<ILoggingEvent> size = new SizeBasedTriggeringPolicy<>();
        size.setContext(context);
        size.setMaxFileSize(FileSize.valueOf(fileSize));
        size.start();

        appender.setRollingPolicy(window);
        appender.setTriggeringPolicy(size);
        appender.start();
        return appender;
    }

    /** Writes out and closes the log. */
    public static void close() {
        ((LoggerContext) LoggerFactory.getILoggerFactory()).stop();
    }
}
