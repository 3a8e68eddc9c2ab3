package gateway;

import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.bookkeeper.bookie.SortedLedgerStorage;

/** A bookie's storage that takes 15 to 60 ms for every entry: a fault that is injected, none of BookKeeper's own. */
public final class SlowStorage extends SortedLedgerStorage {

    private static final int LEAST_MS = 15;
    private static final int MOST_MS = 60;

    @Override
    public long addEntry(ByteBuf entry) throws IOException {
        try {
            Thread.sleep(ThreadLocalRandom.current().nextInt(LEAST_MS, MOST_MS + 1));
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
        return super.addEntry(entry);
    }
}
