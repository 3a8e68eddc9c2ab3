package gateway;

import java.util.concurrent.CompletableFuture;

/** Access to the ledgers of a cluster. Futures end with a result or with a {@link Failure}. */
interface Ledgers {

    /** The metadata of a ledger; last and length are null while it is open. */
    record Metadata(String state, Long last, Long length) {
    }

    CompletableFuture<Ledger> create(int ensemble, int write, int ack);

    /** Opens a ledger. Recovery fences it, determines its end and closes it; then its writer can add no more. */
    CompletableFuture<Ledger> open(long id, boolean recovery);

    CompletableFuture<Metadata> metadata(long id);

    /** Returns how many bookies take entries now. */
    int writable() throws Exception;
}
