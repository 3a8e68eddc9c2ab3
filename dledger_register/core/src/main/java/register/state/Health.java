package register.state;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What went wrong inside this process, for the log and for the status answer; and the count of hollow acknowledgements. */
public final class Health {

    private static final Logger LOGGER = LoggerFactory.getLogger(Health.class);

    private final AtomicReference<String> fault = new AtomicReference<>();
    private final AtomicLong unappliedOks = new AtomicLong();

    /** Logs a fault. The first one stays the answer to status: later ones are mostly its consequences. */
    public void report(String what, Throwable cause) {
        fault.compareAndSet(null, what);
        LOGGER.error("[FAULT] {}", what, cause);
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
