package gateway;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.bookkeeper.bookie.SortedLedgerStorage;

/**
 * A bookie's storage in which every write is slow: entries, the key of a new ledger, a fence. A write takes between a
 * quarter of the property {@code slow.ms} and all of it. This is an injected fault, not one of BookKeeper's own.
 */
public final class SlowStorage extends SortedLedgerStorage {

    private static final int MOST_MS = Integer.getInteger("slow.ms", 60);
    private static final int LEAST_MS = MOST_MS / 4;

    @Override
    public long addEntry(ByteBuf entry) throws IOException {
        pause();
        return super.addEntry(entry);
    }

    @Override
    public void setMasterKey(long ledger, byte[] key) throws IOException {
        pause();
        super.setMasterKey(ledger, key);
    }

    @Override
    public boolean setFenced(long ledger) throws IOException {
        if (!isFenced(ledger)) { // otherwise nothing is written, and every read of a recovery fences again
            pause();
        }
        return super.setFenced(ledger);
    }

    private static void pause() {
        try {
            Thread.sleep(ThreadLocalRandom.current().nextInt(LEAST_MS, MOST_MS + 1));
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
