package register.dledger032;

import java.security.SecureRandom;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import register.state.Entry;
import register.state.Operation;
import register.state.Result;

/**
 * Passes the results of applying to the requests that wait for them. DLedger 0.3 cannot do it: it acknowledges only
 * that the entry was applied. The entry carries this process's origin and a request number, by which the apply thread
 * finds the request.
 */
final class PendingResults {

    private final long origin = new SecureRandom().nextLong();
    private final AtomicLong numbers = new AtomicLong();
    private final Map<Long, Slot> slots = new ConcurrentHashMap<>();

    /** One waiting request: its entry, and later its result. */
    static final class Slot {
        private final Entry entry;
        private volatile Result result;

        private Slot(Entry entry) {
            this.entry = entry;
        }

        Entry entry() {
            return entry;
        }
    }

    Slot open(Operation operation) {
        Slot slot = new Slot(new Entry(origin, numbers.incrementAndGet(), operation));
        slots.put(slot.entry.request(), slot);
        return slot;
    }

    /** Ends a request and returns its result, null if its entry has not been applied on this node. */
    Result close(Slot slot) {
        slots.remove(slot.entry.request());
        return slot.result;
    }

    /** Called by the apply thread for every entry, including those of other nodes and of earlier processes. */
    void applied(Entry entry, Result result) {
        if (entry.origin() == origin) {
            Slot slot = slots.remove(entry.request());
            if (slot != null) {
                slot.result = result;
            }
        }
    }
}
