package gateway;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Ledgers in memory, whose next adds are answered as a test says. */
final class FakeLedgers implements Ledgers {

    final List<byte[]> entries = new ArrayList<>();
    final List<CompletableFuture<Long>> adds = new ArrayList<>();
    /** What every later add ends with; null: it is stored. */
    Failure refusal;
    /** Adds are answered by the test. */
    boolean manual;
    boolean silent;
    long lac = -1;

    @Override
    public CompletableFuture<Ledger> create(int ensemble, int write, int ack) {
        return silent ? new CompletableFuture<>() : CompletableFuture.completedFuture(new Fake());
    }

    @Override
    public CompletableFuture<Ledger> open(long id, boolean recovery) {
        return id == 7
                ? CompletableFuture.completedFuture(new Fake())
                : CompletableFuture.failedFuture(new Failure(Failure.NO_LEDGER, "no ledger"));
    }

    @Override
    public CompletableFuture<Metadata> metadata(long id) {
        return CompletableFuture.completedFuture(new Metadata("OPEN", null, null));
    }

    @Override
    public int writable() {
        return 4;
    }

    private final class Fake implements Ledger {

        @Override
        public long id() {
            return 7;
        }

        @Override
        public CompletableFuture<Long> add(byte[] entry) {
            CompletableFuture<Long> add = new CompletableFuture<>();
            adds.add(add);
            if (refusal != null) {
                add.completeExceptionally(refusal);
            } else if (!manual) {
                entries.add(entry);
                add.complete(entries.size() - 1L);
            }
            return add;
        }

        @Override
        public CompletableFuture<Long> readLac() {
            return CompletableFuture.completedFuture(lac);
        }

        @Override
        public CompletableFuture<List<byte[]>> read(long first, long last) {
            List<byte[]> found = new ArrayList<>();
            for (long id = first; id <= last; id++) {
                byte[] entry = id < entries.size() ? entries.get((int) id) : null;
                if (entry == null) {
                    return CompletableFuture.failedFuture(new Failure(Failure.NO_ENTRY, "no entry"));
                }
                found.add(entry);
            }
            return CompletableFuture.completedFuture(found);
        }

        @Override
        public CompletableFuture<Void> close() {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public long last() {
            return entries.size() - 1L;
        }

        @Override
        public long length() {
            return entries.stream().mapToLong(entry -> entry.length).sum();
        }
    }
}
