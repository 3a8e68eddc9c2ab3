package register.port;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The port for clients: one request or answer per line. One thread serves all connections and blocks on none. */
public final class ClientPort implements AutoCloseable {

    private static final Logger LOGGER = LoggerFactory.getLogger(ClientPort.class);
    private static final int BACKLOG = 512;
    private static final long TICK_MS = 1000;
    private static final long ACCEPT_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final long LINGER_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final LineHandler handler;
    private final Selector selector;
    private final ServerSocketChannel server;
    private final SelectionKey accepting;
    private final Thread thread;
    private final Queue<Connection> writers = new ConcurrentLinkedQueue<>();
    private final Set<Connection> connections = new HashSet<>();
    private final Set<Connection> ending = new HashSet<>();
    private final ByteBuffer shared = ByteBuffer.allocateDirect(64 * 1024);
    private long acceptAgainNanos;
    private volatile boolean closing;

    /** Binds the port on all interfaces; 0 means any free one. Throws IOException if it is taken. */
    public ClientPort(int port, LineHandler handler) throws IOException {
        this.handler = handler;
        this.selector = Selector.open();
        this.server = ServerSocketChannel.open();
        try {
            server.setOption(StandardSocketOptions.SO_REUSEADDR, true);
            server.bind(new InetSocketAddress(port), BACKLOG);
            server.configureBlocking(false);
            this.accepting = server.register(selector, SelectionKey.OP_ACCEPT);
        } catch (IOException error) {
            server.close();
            selector.close();
            throw error;
        }
        this.thread = new Thread(this::run, "client-port");
        thread.start();
    }

    public int port() {
        return server.socket().getLocalPort();
    }

    /** Called from any thread when a connection has something to write. */
    void wantsWrite(Connection connection) {
        writers.add(connection);
        selector.wakeup();
    }

    private void run() {
        while (!closing) {
            try {
                selector.select(TICK_MS);
                long now = System.nanoTime();
                resumeAccepting(now);
                serveKeys(now);
                serveWriters();
                dropFinished(now);
            } catch (IOException | RuntimeException error) {
                LOGGER.error("client port", error);
            }
        }
        connections.forEach(Connection::close);
    }

    private void serveKeys(long now) {
        for (SelectionKey key : selector.selectedKeys()) {
            if (key == accepting) {
                accept(now);
                continue;
            }
            Connection connection = (Connection) key.attachment();
            try {
                if (key.isValid() && key.isReadable()) {
                    connection.read(shared, handler, now);
                    if (connection.inputEnded()) {
                        ending.add(connection);
                    }
                }
                if (key.isValid() && key.isWritable()) {
                    connection.write();
                }
            } catch (IOException | RuntimeException error) {
                drop(connection, error);
            }
        }
        selector.selectedKeys().clear();
    }

    private void serveWriters() {
        for (Connection connection = writers.poll(); connection != null; connection = writers.poll()) {
            if (connections.contains(connection)) {
                try {
                    connection.write();
                } catch (IOException | RuntimeException error) {
                    drop(connection, error);
                }
            }
        }
    }

    private void accept(long now) {
        try {
            SocketChannel channel = server.accept();
            if (channel == null) {
                return;
            }
            channel.configureBlocking(false);
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.setOption(StandardSocketOptions.SO_KEEPALIVE, true);
            Connection connection = new Connection(channel, this);
            connection.registered(channel.register(selector, SelectionKey.OP_READ, connection));
            connections.add(connection);
        } catch (IOException error) {
            // Most likely, there are no file descriptors left: without a pause, the selector would spin.
            LOGGER.error("cannot accept a client: {}", error.toString());
            accepting.interestOps(0);
            acceptAgainNanos = now + ACCEPT_PAUSE_NANOS;
        }
    }

    private void resumeAccepting(long now) {
        if (accepting.isValid() && accepting.interestOps() == 0 && now - acceptAgainNanos >= 0) {
            accepting.interestOps(SelectionKey.OP_ACCEPT);
        }
    }

    private void dropFinished(long now) {
        List<Connection> finished = new ArrayList<>();
        for (Connection connection : ending) {
            if (connection.finished(now, LINGER_NANOS)) {
                finished.add(connection);
            }
        }
        finished.forEach(connection -> drop(connection, null));
    }

    private void drop(Connection connection, Exception why) {
        if (why != null) {
            LOGGER.info("client {} dropped: {}", connection, why.toString());
        }
        connections.remove(connection);
        ending.remove(connection);
        connection.close();
    }

    @Override
    public void close() {
        closing = true;
        selector.wakeup();
        try {
            thread.join(TICK_MS);
            server.close();
            selector.close();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } catch (IOException alreadyGone) {
            LOGGER.debug("closing the client port", alreadyGone);
        }
    }
}
