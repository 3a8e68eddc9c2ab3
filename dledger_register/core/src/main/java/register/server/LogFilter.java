package register.server;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.turbo.TurboFilter;
import ch.qos.logback.core.spi.FilterReply;
import org.slf4j.Marker;
import register.state.Health;

/**
 * Drops the line that DLedger writes for every operation, and reports errors of a wrongly set-up JVM as faults, because
 * DLedger only logs them.
 */
final class LogFilter extends TurboFilter {

    private final Health health;

    LogFilter(Health health) {
        this.health = health;
    }

    @Override
    public FilterReply decide(
            Marker marker, Logger logger, Level level, String format, Object[] params, Throwable error) {
        if (format != null && (format.startsWith("Complete closure,") || format.startsWith("Complete future,"))) {
            return FilterReply.DENY;
        }
        if (isSetUpError(error) && health.fault() == null) {
            health.report(error.toString(), error);
        }
        return FilterReply.NEUTRAL;
    }

    private static boolean isSetUpError(Throwable error) {
        return error instanceof IllegalAccessError
                || error instanceof OutOfMemoryError
                || error instanceof NoClassDefFoundError;
    }
}
