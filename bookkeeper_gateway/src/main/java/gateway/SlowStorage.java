package gateway;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.bookkeeper.bookie.SortedLedgerStorage;

/**
 * A bookie's storage that takes 15 to 60 ms for whatever it writes: entries, the key of a ledger that it did not know,
 * a fence. A fault that is injected, none of BookKeeper's own.
 */
public final class SlowStorage extends SortedLedgerStorage {

    private static final int LEAST_MS = 15;
    private static final int MOST_MS = 60;

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
        pause();
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
