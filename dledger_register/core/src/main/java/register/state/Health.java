package register.state;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Problems in this process, for the log and the status answer. Faults concern this process or its set-up; the counts
 * are of what DLedger did, which the harness judges.
 */
public final class Health {

    private static final Logger LOGGER = LoggerFactory.getLogger(Health.class);

    private final AtomicReference<String> fault = new AtomicReference<>();
    private final Counter faults = new Counter();
    private final Counter unappliedOks = new Counter();
    private final Counter applyErrors = new Counter();
    private final Counter reapplied = new Counter();
    private final AtomicLong undecodable = new AtomicLong();

    /** Counts events and decides which to log, because an error at every commit would flood the log. */
    private static final class Counter {

        private static final int FIRST = 10;
        private static final int THEN_EVERY = 1000;

        private final AtomicLong count = new AtomicLong();

        boolean countAndTellWhetherToLog() {
            long now = count.incrementAndGet();
            return now <= FIRST || now % THEN_EVERY == 0;
        }

        long get() {
            return count.get();
        }
    }

    /** Logs a fault. Status reports the first one: later ones are mostly its consequences. */
    public void report(String what, Throwable cause) {
        fault.compareAndSet(null, what);
        if (faults.countAndTellWhetherToLog()) {
            LOGGER.error("[FAULT] {} (number {})", what, faults.get(), cause);
        }
    }

    /** Returns the first fault since the start, or null. */
    public String fault() {
        return fault.get();
    }

    /** Counts an ok answer whose entry was never seen to be applied. */
    public void unappliedOk(Object request) {
        if (unappliedOks.countAndTellWhetherToLog()) {
            LOGGER.warn("acknowledged without having been applied (number {}): {}", unappliedOks.get(), request);
        }
    }

    public long unappliedOks() {
        return unappliedOks.get();
    }

    /** Counts that DLedger failed to hand over a committed entry; it will retry from the start of that batch. */
    public void applyError(Throwable cause) {
        if (applyErrors.countAndTellWhetherToLog()) {
            LOGGER.warn("DLedger failed in the midst of applying (number {})", applyErrors.get(), cause);
        }
    }

    public long applyErrors() {
        return applyErrors.get();
    }

    /** Counts that DLedger handed over an entry that does not come after the last one. */
    public void reapplied(long index, long lastIndex) {
        if (reapplied.countAndTellWhetherToLog()) {
            LOGGER.warn("entry {} applied after entry {} (number {})", index, lastIndex, reapplied.get());
        }
    }

    public long reapplied() {
        return reapplied.get();
    }

    /** Counts a committed entry that could not be decoded; this node goes on without it. */
    public void undecodable(long index, Throwable why) {
        undecodable.incrementAndGet();
        report("entry " + index + " is not a register entry: " + why.getMessage(), why);
    }

    public long undecodable() {
        return undecodable.get();
    }
}
