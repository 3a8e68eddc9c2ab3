package gateway;

import java.util.concurrent.CompletableFuture;

/** Where ledgers come from. Futures end with a result or with a {@link Failure}. */
interface Ledgers {

    /** What the metadata server says of a ledger; last and length are null while it is open. */
    record Metadata(String state, Long last, Long length) {
    }

    CompletableFuture<Ledger> create(int ensemble, int write, int ack);

    /** With recovery the ledger is fenced, its end is settled and it is closed; its writer can add no more. */
    CompletableFuture<Ledger> open(long id, boolean recovery);

    CompletableFuture<Metadata> metadata(long id);

    /** How many bookies take entries now. */
    int writable() throws Exception;
}
