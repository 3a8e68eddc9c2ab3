package gateway;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Enumeration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.LedgerEntry;
import org.apache.bookkeeper.client.LedgerHandle;

/** The ledgers of a cluster, by BookKeeper's own client. */
final class BookKeeperLedgers implements Ledgers {

    private static final BookKeeper.DigestType DIGEST = BookKeeper.DigestType.CRC32C;
    private static final byte[] PASSWORD = {};

    private final BookKeeper client;

    BookKeeperLedgers(BookKeeper client) {
        this.client = client;
    }

    @Override
    public CompletableFuture<Ledger> create(int ensemble, int write, int ack) {
        CompletableFuture<Ledger> done = new CompletableFuture<>();
        client.asyncCreateLedger(
                ensemble, write, ack, DIGEST, PASSWORD,
                (code, handle, context) -> end(done, code, () -> new Handle(handle)), null, Collections.emptyMap());
        return done;
    }

    @Override
    public CompletableFuture<Ledger> open(long id, boolean recovery) {
        CompletableFuture<Ledger> done = new CompletableFuture<>();
        if (recovery) {
            client.asyncOpenLedger(
                    id, DIGEST, PASSWORD, (code, handle, context) -> end(done, code, () -> new Handle(handle)), null);
        } else {
            client.asyncOpenLedgerNoRecovery(
                    id, DIGEST, PASSWORD, (code, handle, context) -> end(done, code, () -> new Handle(handle)), null);
        }
        return done;
    }

    @Override
    public CompletableFuture<Metadata> metadata(long id) {
        return client.getLedgerManager().readLedgerMetadata(id).thenApply(versioned -> {
            var known = versioned.getValue();
            boolean closed = known.isClosed();
            return new Metadata(
                    known.getState().name(), closed ? known.getLastEntryId() : null,
                    closed ? known.getLength() : null);
        }).exceptionallyCompose(thrown -> CompletableFuture.failedFuture(
                failure(BKException.getExceptionCode(thrown, Failure.UNEXPECTED))));
    }

    @Override
    public int writable() throws Exception {
        return client.getMetadataClientDriver().getRegistrationClient().getWritableBookies().get()
                .getValue().size();
    }

    private static Failure failure(int code) {
        return new Failure(code, BKException.getMessage(code));
    }

    @FunctionalInterface
    private interface Result<T> {
        T get() throws Exception;
    }

    private static <T> void end(CompletableFuture<T> done, int code, Result<T> result) {
        if (code != BKException.Code.OK) {
            done.completeExceptionally(failure(code));
            return;
        }
        try {
            done.complete(result.get());
        } catch (Exception unexpected) {
            done.completeExceptionally(unexpected);
        }
    }

    private record Handle(LedgerHandle handle) implements Ledger {

        @Override
        public long id() {
            return handle.getId();
        }

        @Override
        public CompletableFuture<Long> add(byte[] entry) {
            CompletableFuture<Long> done = new CompletableFuture<>();
            handle.asyncAddEntry(entry, (code, same, id, context) -> end(done, code, () -> id), null);
            return done;
        }

        @Override
        public CompletableFuture<Long> readLac() {
            CompletableFuture<Long> done = new CompletableFuture<>();
            handle.asyncReadLastConfirmed((code, last, context) -> end(done, code, () -> last), null);
            return done;
        }

        @Override
        public CompletableFuture<List<byte[]>> read(long first, long last) {
            CompletableFuture<List<byte[]>> done = new CompletableFuture<>();
            handle.asyncReadEntries(
                    first, last, (code, same, found, context) -> end(done, code, () -> bytes(found)), null);
            return done;
        }

        private static List<byte[]> bytes(Enumeration<LedgerEntry> found) {
            List<byte[]> all = new ArrayList<>();
            while (found.hasMoreElements()) {
                all.add(found.nextElement().getEntry());
            }
            return all;
        }

        @Override
        public CompletableFuture<Void> close() {
            CompletableFuture<Void> done = new CompletableFuture<>();
            handle.asyncClose((code, same, context) -> end(done, code, () -> null), null);
            return done;
        }

        @Override
        public long last() {
            return handle.getLastAddConfirmed();
        }

        @Override
        public long length() {
            return handle.getLength();
        }
    }
}
