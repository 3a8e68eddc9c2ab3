package register.port;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One client. Any thread may queue an answer; only the port's thread reads, writes and closes.
 *
 * <p>A client that does not read costs at most {@link #CLOSE_ABOVE} bytes: from {@link #PAUSE_ABOVE} on nothing more is
 * read from it, and if operations in flight exceed the limit all the same it is closed.
 */
final class Connection {

    static final int MAX_LINE = 64 * 1024;
    static final int PAUSE_ABOVE = 256 * 1024;
    static final int CLOSE_ABOVE = 8 * 1024 * 1024;
    private static final int GATHER = 64;

    private final SocketChannel channel;
    private final ClientPort port;
    private final LineSplitter splitter = new LineSplitter(MAX_LINE);
    private final Queue<ByteBuffer> answers = new ConcurrentLinkedQueue<>();
    private final ArrayDeque<ByteBuffer> writing = new ArrayDeque<>();
    private final AtomicLong queuedBytes = new AtomicLong();
    private final AtomicInteger unanswered = new AtomicInteger();
    private final AtomicBoolean dirty = new AtomicBoolean();
    private SelectionKey key;
    private long inputEndedNanos;
    private boolean inputEnded;

    Connection(SocketChannel channel, ClientPort port) {
        this.channel = channel;
        this.port = port;
    }

    void registered(SelectionKey selectionKey) {
        this.key = selectionKey;
    }

    /** Reads what has arrived and passes complete lines to the handler. */
    void read(ByteBuffer shared, LineHandler handler, long nowNanos) throws IOException {
        shared.clear();
        int count = channel.read(shared);
        if (count < 0) {
            inputEnded = true;
            inputEndedNanos = nowNanos;
            updateInterest();
            return;
        }
        shared.flip();
        splitter.feed(shared, new LineSplitter.Sink() {
            @Override
            public void line(byte[] bytes) {
                handler.line(bytes, reply());
            }

            @Override
            public void tooLong() {
                handler.tooLong(reply());
            }
        });
        updateInterest();
    }

    private LineHandler.Reply reply() {
        unanswered.incrementAndGet();
        AtomicBoolean sent = new AtomicBoolean();
        return answer -> {
            if (sent.compareAndSet(false, true)) {
                queuedBytes.addAndGet(answer.length);
                answers.add(ByteBuffer.wrap(answer));
                unanswered.decrementAndGet();
                if (dirty.compareAndSet(false, true)) {
                    port.wantsWrite(this);
                }
            }
        };
    }

    /** Writes as much as the socket takes. */
    void write() throws IOException {
        dirty.set(false);
        if (queuedBytes.get() > CLOSE_ABOVE) {
            throw new IOException("client does not read its answers: " + queuedBytes.get() + " bytes wait");
        }
        boolean taken = true;
        while (taken && gather()) {
            long count = channel.write(writing.toArray(new ByteBuffer[0]));
            queuedBytes.addAndGet(-count);
            taken = count > 0;
            while (!writing.isEmpty() && !writing.peekFirst().hasRemaining()) {
                writing.removeFirst();
            }
        }
        updateInterest();
    }

    private boolean gather() {
        while (writing.size() < GATHER) {
            ByteBuffer next = answers.poll();
            if (next == null) {
                break;
            }
            writing.addLast(next);
        }
        return !writing.isEmpty();
    }

    private void updateInterest() {
        if (!key.isValid()) {
            return;
        }
        int interest = 0;
        if (!inputEnded && queuedBytes.get() < PAUSE_ABOVE) {
            interest |= SelectionKey.OP_READ;
        }
        if (!writing.isEmpty()) {
            interest |= SelectionKey.OP_WRITE;
        }
        key.interestOps(interest);
    }

    boolean inputEnded() {
        return inputEnded;
    }

    /** Whether a client that has closed its side has received all answers, or has waited for them long enough. */
    boolean finished(long nowNanos, long lingerNanos) {
        boolean allSent = unanswered.get() == 0 && writing.isEmpty() && answers.isEmpty();
        return allSent || nowNanos - inputEndedNanos > lingerNanos;
    }

    void close() {
        if (key != null) {
            key.cancel();
        }
        try {
            channel.close();
        } catch (IOException alreadyGone) {
            // There is nothing left to close.
        }
    }

    @Override
    public String toString() {
        return String.valueOf(channel.socket().getRemoteSocketAddress());
    }
}
