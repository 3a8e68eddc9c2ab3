package gateway;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** An open ledger. Futures end with a result or with a {@link Failure}. */
interface Ledger {

    long id();

    /** The id of the new entry. Entries of one handle have ids in the order of these calls. */
    CompletableFuture<Long> add(byte[] entry);

    /** The highest id that the bookies know to be acknowledged, -1 for none. */
    CompletableFuture<Long> readLac();

    /** The entries with these ids, both included. */
    CompletableFuture<List<byte[]>> read(long first, long last);

    /** Of a writer this closes the ledger for all; of a reader it only gives up the handle. */
    CompletableFuture<Void> close();

    /** The last id that this handle knows to be acknowledged, -1 for none. */
    long last();

    /** The bytes of all entries up to {@link #last()}. */
    long length();
}
