package gateway;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** An open ledger. Futures end with a result or with a {@link Failure}. */
interface Ledger {

    long id();

    /** Adds an entry and returns its id. Entries of one handle have ids in the order of these calls. */
    CompletableFuture<Long> add(byte[] entry);

    /** Returns the highest id that the bookies know to be acknowledged, -1 for none. */
    CompletableFuture<Long> readLac();

    /** Returns the entries with ids from {@code first} to {@code last}, both included. */
    CompletableFuture<List<byte[]>> read(long first, long last);

    /** Closes the handle. A writer's handle closes the ledger for everybody. */
    CompletableFuture<Void> close();

    /** Returns the last id that this handle knows to be acknowledged, -1 for none. */
    long last();

    /** Returns the size in bytes of all entries up to {@link #last()}. */
    long length();
}
