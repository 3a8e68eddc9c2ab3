package register.port;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.BindException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 20, unit = TimeUnit.SECONDS)
class ClientPortTest {

    /** Echoes; keeps back what begins with "later"; answers "big" with a lot. */
    private static final class Echo implements LineHandler {

        private final Queue<Runnable> later = new ConcurrentLinkedQueue<>();

        @Override
        public void line(byte[] line, Reply reply) {
            String text = new String(line, StandardCharsets.UTF_8);
            if (text.startsWith("later")) {
                later.add(() -> reply.send(bytes(text)));
            } else if (text.equals("big")) {
                reply.send(bytes("b".repeat(100_000)));
            } else {
                reply.send(bytes(text));
                reply.send(bytes("a second answer is never sent"));
            }
        }

        @Override
        public void tooLong(Reply reply) {
            reply.send(bytes("too long"));
        }

        private static byte[] bytes(String text) {
            return (text + "\n").getBytes(StandardCharsets.UTF_8);
        }
    }

    private final Echo echo = new Echo();
    private ClientPort port;

    @BeforeEach
    void open() throws IOException {
        port = new ClientPort(0, echo);
    }

    @AfterEach
    void close() {
        port.close();
    }

    private final class Client implements AutoCloseable {
        private final Socket socket = new Socket(InetAddress.getLoopbackAddress(), port.port());
        private final BufferedReader in =
                new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));

        Client() throws IOException {
            socket.setTcpNoDelay(true);
        }

        void send(String text) throws IOException {
            socket.getOutputStream().write(text.getBytes(StandardCharsets.UTF_8));
        }

        String receive() throws IOException {
            return in.readLine();
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private void awaitLater(int count) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (echo.later.size() < count) {
            assertTrue(System.nanoTime() < deadline, "requests did not arrive");
            Thread.sleep(1);
        }
    }

    @Test
    void pipelinedAndAnsweredInAnyOrder() throws Exception {
        try (Client client = new Client()) {
            client.send("a\nlater 1\nb\n");
            assertEquals("a", client.receive());
            assertEquals("b", client.receive());
            awaitLater(1);
            echo.later.remove().run();
            assertEquals("later 1", client.receive());
        }
    }

    @Test
    void manyConnections() throws Exception {
        List<Client> clients = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            clients.add(new Client());
        }
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < clients.size(); i++) {
                clients.get(i).send("c" + i + "\n");
            }
            for (int i = 0; i < clients.size(); i++) {
                assertEquals("c" + i, clients.get(i).receive());
            }
        }
        for (Client client : clients) {
            client.close();
        }
    }

    @Test
    void aClientThatDoesNotReadBlocksNoOtherAndGetsItsAnswersWhenItDoes() throws Exception {
        try (Client slow = new Client(); Client other = new Client()) {
            int requests = 40;
            slow.send("big\n".repeat(requests));
            for (int i = 0; i < 100; i++) {
                other.send("x" + i + "\n");
                assertEquals("x" + i, other.receive());
            }
            for (int i = 0; i < requests; i++) {
                assertEquals(100_000, slow.receive().length());
            }
            slow.send("still here\n");
            assertEquals("still here", slow.receive());
        }
    }

    @Test
    void aLineTooLongIsAnsweredAndTheNextOneServed() throws Exception {
        try (Client client = new Client()) {
            client.send("x".repeat(Connection.MAX_LINE + 1) + "\nshort\n");
            assertEquals("too long", client.receive());
            assertEquals("short", client.receive());
            client.send("x".repeat(Connection.MAX_LINE) + "\n");
            assertEquals(Connection.MAX_LINE, client.receive().length());
        }
    }

    @Test
    void aClientThatEndsItsSideStillGetsItsAnswers() throws Exception {
        try (Client client = new Client()) {
            client.send("now\nlater 1\na torn line is not run");
            client.socket.shutdownOutput();
            assertEquals("now", client.receive());
            awaitLater(1);
            echo.later.remove().run();
            assertEquals("later 1", client.receive());
            assertNull(client.receive());
        }
    }

    @Test
    void aClientGoneBeforeItsAnswerHarmsNoOther() throws Exception {
        try (Client gone = new Client()) {
            gone.send("later 1\n");
            awaitLater(1);
            gone.socket.setSoLinger(true, 0);
        }
        echo.later.remove().run();
        try (Client client = new Client()) {
            client.send("fine\n");
            assertEquals("fine", client.receive());
        }
    }

    @Test
    void aPortInUseIsRefused() {
        assertThrows(BindException.class, () -> new ClientPort(port.port(), echo));
    }
}
