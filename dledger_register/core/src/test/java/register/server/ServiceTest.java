package register.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import register.replica.Failure;
import register.replica.FakeReplica;
import register.replica.ReplicaStatus;
import register.replica.Stage;
import register.state.Health;
import register.state.RegisterMachine;
import register.state.Result;

@Timeout(value = 20, unit = TimeUnit.SECONDS)
class ServiceTest {

    private final FakeReplica replica = new FakeReplica();
    private final Health health = new Health();
    private final Service service =
            new Service("n1", "0.0", replica, new RegisterMachine(health), health, () -> 1234L);
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

    @AfterEach
    void close() {
        replica.gate.countDown();
        service.close();
    }

    private void send(String line) {
        service.line(
                line.getBytes(StandardCharsets.UTF_8),
                answer -> answers.add(new String(answer, StandardCharsets.UTF_8)));
    }

    private String answer() throws InterruptedException {
        String answer = answers.poll(10, TimeUnit.SECONDS);
        assertNotNull(answer, "no answer");
        return answer;
    }

    private FakeReplica.Submitted submitted() throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        while (replica.submitted.isEmpty()) {
            assertTrue(System.nanoTime() < deadline, "nothing was submitted");
            Thread.sleep(1);
        }
        return replica.submitted.remove();
    }

    @Test
    void answersByIdInTheOrderOfCompletion() throws Exception {
        replica.status = new ReplicaStatus("leader", 3, "n1", 0, 9, 9, 9);
        send("{\"id\":1,\"op\":\"write\",\"key\":\"k\",\"value\":1}");
        FakeReplica.Submitted first = submitted();
        send("{\"id\":2,\"op\":\"read\",\"key\":\"k\"}");
        FakeReplica.Submitted second = submitted();
        second.completion().ok(Result.read(7L), true);
        assertEquals("{\"id\":2,\"ok\":true,\"value\":7,\"applied\":true,\"term\":3,\"leader\":\"n1\"}\n", answer());
        first.completion().ok(Result.WRITTEN, true);
        assertEquals("{\"id\":1,\"ok\":true,\"applied\":true,\"term\":3,\"leader\":\"n1\"}\n", answer());
    }

    @Test
    void onlyTheFirstCompletionCounts() throws Exception {
        send("{\"id\":1,\"op\":\"write\",\"key\":\"k\",\"value\":1}");
        FakeReplica.Submitted write = submitted();
        write.completion().ok(Result.WRITTEN, true);
        write.completion().ok(null, false);
        write.completion().fail(Failure.unforeseen(new RuntimeException()));
        answer();
        assertNull(answers.poll());
        assertEquals(0, health.unappliedOks());
    }

    @Test
    void acknowledgedButNeverApplied() throws Exception {
        send("{\"id\":1,\"op\":\"cas\",\"key\":\"k\",\"old\":null,\"new\":1}");
        submitted().completion().ok(null, false);
        assertTrue(answer().contains("\"ok\":true,\"swapped\":null,\"applied\":false"));
        assertEquals(1, health.unappliedOks());
        send("{\"id\":2,\"op\":\"status\"}");
        assertTrue(answer().contains("\"unappliedOks\":1"));
    }

    @Test
    void statusAndUnsafeReadsDoNotWaitForBlockedAppends() throws Exception {
        replica.gate = new CountDownLatch(1);
        for (int i = 0; i < 100; i++) {
            send("{\"id\":" + i + ",\"op\":\"write\",\"key\":\"k\",\"value\":1}");
        }
        send("{\"id\":\"s\",\"op\":\"status\"}");
        assertEquals(
                "{\"id\":\"s\",\"ok\":true,\"node\":\"n1\",\"role\":\"candidate\",\"term\":3,\"leader\":null,"
                        + "\"ledgerBegin\":0,\"ledgerEnd\":-1,\"committed\":-1,\"applied\":-1,\"stateIndex\":-1,"
                        + "\"digest\":\"0:0000000000000000\",\"snapshotsSaved\":0,"
                        + "\"snapshotsLoaded\":0,\"clockMs\":1234,\"version\":\"0.0\",\"unappliedOks\":0,"
                        + "\"applyErrors\":0,\"reapplied\":0,\"undecodable\":0,\"fault\":null,"
                        + "\"pid\":" + ProcessHandle.current().pid() + "}\n",
                answer());
        send("{\"id\":\"u\",\"op\":\"read\",\"key\":\"k\",\"mode\":\"unsafe\"}");
        assertTrue(answer().startsWith("{\"id\":\"u\",\"ok\":true,\"value\":5"));
        assertNull(answers.poll());
    }

    @Test
    void tooManyWaitingIsARefusal() throws Exception {
        replica.gate = new CountDownLatch(1);
        for (int i = 0; i < 10_100; i++) {
            send("{\"id\":" + i + ",\"op\":\"write\",\"key\":\"k\",\"value\":1}");
        }
        assertTrue(answer().contains("\"code\":1003,\"name\":\"SERVER_BUSY\",\"stage\":\"before-append\""));
    }

    @Test
    void closedIsARefusal() throws Exception {
        service.close();
        send("{\"id\":1,\"op\":\"write\",\"key\":\"k\",\"value\":1}");
        assertTrue(answer().contains("\"name\":\"SHUTTING_DOWN\",\"stage\":\"before-append\""));
    }

    @Test
    void whateverIsThrownProvesNothing() throws Exception {
        replica.thrown = new NullPointerException("inside DLedger");
        send("{\"id\":1,\"op\":\"write\",\"key\":\"k\",\"value\":1}");
        assertEquals(
                "{\"id\":1,\"ok\":false,\"code\":500,\"name\":\"INTERNAL_ERROR\",\"stage\":\"unknown\","
                        + "\"message\":\"java.lang.NullPointerException: inside DLedger\",\"leader\":null}\n",
                answer());
    }

    @Test
    void aRefusalNamesTheLeader() throws Exception {
        replica.status = new ReplicaStatus("follower", 3, "n2", 0, 9, 9, 9);
        replica.refusal = new Failure(404, "NOT_LEADER", Stage.BEFORE_APPEND, "no");
        send("{\"id\":1,\"op\":\"write\",\"key\":\"k\",\"value\":1}");
        assertEquals(
                "{\"id\":1,\"ok\":false,\"code\":404,\"name\":\"NOT_LEADER\",\"stage\":\"before-append\","
                        + "\"message\":\"no\",\"leader\":\"n2\"}\n",
                answer());
    }

    @Test
    void aBadLineNeverReachesTheReplica() throws Exception {
        send("{\"id\":9,\"op\":\"write\",\"key\":\"k\"}");
        assertTrue(answer().startsWith(
                "{\"id\":9,\"ok\":false,\"code\":1001,\"name\":\"BAD_REQUEST\",\"stage\":\"before-append\""));
        assertTrue(replica.submitted.isEmpty());
    }

    @Test
    void aFaultIsShown() throws Exception {
        health.report("something broke", new RuntimeException());
        send("{\"id\":1,\"op\":\"status\"}");
        assertTrue(answer().contains("\"fault\":\"something broke\""));
    }
}
