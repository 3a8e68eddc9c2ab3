package gateway;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/** A port with one request and one answer per line; answers go out as they are ready. One thread per connection. */
final class Port implements AutoCloseable {

    private final ServerSocket server = new ServerSocket();
    private final Function<String, CompletableFuture<ObjectNode>> answer;

    /** Binds the port; 0 means any free one. */
    Port(String address, int port, Function<String, CompletableFuture<ObjectNode>> answer) throws IOException {
        this.answer = answer;
        server.setReuseAddress(true);
        server.bind(new InetSocketAddress(address, port), 256);
    }

    int port() {
        return server.getLocalPort();
    }

    /** Serves until it is closed. */
    void run() {
        while (!server.isClosed()) {
            try {
                Socket connection = server.accept();
                Thread thread = new Thread(() -> serve(connection), "connection");
                thread.setDaemon(true);
                thread.start();
            } catch (IOException closed) {
                if (!server.isClosed()) {
                    closed.printStackTrace();
                }
            }
        }
    }

    private void serve(Socket connection) {
        try (connection) {
            connection.setTcpNoDelay(true);
            OutputStream out = connection.getOutputStream();
            BufferedReader in =
                    new BufferedReader(new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                answer.apply(line).thenAccept(reply -> send(connection, out, reply));
            }
        } catch (IOException gone) {
            // The client is gone, but its requests go on.
        }
    }

    private static void send(Socket connection, OutputStream out, ObjectNode reply) {
        byte[] line = (reply + "\n").getBytes(StandardCharsets.UTF_8);
        synchronized (connection) {
            try {
                out.write(line);
                out.flush();
            } catch (IOException gone) {
                // As above.
            }
        }
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
