package register.state;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What went wrong inside this process, for the log and for the status answer; and the count of hollow
 * acknowledgements.
 */
public final class Health {

    private static final Logger LOGGER = LoggerFactory.getLogger(Health.class);

    /**
     * An apply that fails is tried again with every commit; its first reports tell all, the rest would flood the
     * log.
     */
    private static final int REPORTED_IN_FULL = 10;
    private static final int REPORTED_THEN = 1000;

    private final AtomicLong reports = new AtomicLong();
    private final AtomicReference<String> fault = new AtomicReference<>();
    private final AtomicLong unappliedOks = new AtomicLong();

    /** Logs a fault. The first one stays the answer to status: later ones are mostly its consequences. */
    public void report(String what, Throwable cause) {
        fault.compareAndSet(null, what);
        long count = reports.incrementAndGet();
        if (count <= REPORTED_IN_FULL) {
            LOGGER.error("[FAULT] {}", what, cause);
        } else if (count % REPORTED_THEN == 0) {
            LOGGER.error("[FAULT] {} ({} faults so far)", what, count);
        }
    }

    /** The first fault since the start, or null. */
    public String fault() {
        return fault.get();
    }

    /** Counts an answer ok whose entry was never seen to be applied. */
    public void countUnappliedOk() {
        unappliedOks.incrementAndGet();
    }

    public long unappliedOks() {
        return unappliedOks.get();
    }
}
