package gateway;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GatewayTest {

    private final FakeLedgers ledgers = new FakeLedgers();
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private final Gateway gateway = new Gateway(ledgers, clock, 100);

    @AfterEach
    void stop() {
        clock.shutdownNow();
    }

    private JsonNode ask(String words) throws Exception {
        String line = "{\"id\":3,\"timeout_ms\":300," + words + "}";
        JsonNode answer = gateway.answer(line).get(10, TimeUnit.SECONDS);
        assertEquals(3, answer.get("id").asInt());
        return answer;
    }

    private JsonNode value(String words) throws Exception {
        JsonNode answer = ask(words);
        assertTrue(answer.get("ok").asBoolean(), answer.toString());
        return answer.get("value");
    }

    private int code(String words) throws Exception {
        JsonNode answer = ask(words);
        assertFalse(answer.get("ok").asBoolean(), answer.toString());
        return answer.get("code").asInt();
    }

    private long created() throws Exception {
        return value("\"op\":\"create\",\"ensemble\":3,\"write\":3,\"ack\":2").get("handle").asLong();
    }

    private static String add(long handle, int first, int count) {
        return "\"op\":\"add\",\"handle\":" + handle + ",\"first\":" + first + ",\"count\":" + count;
    }

    @Test
    void aWindowIsAddedAndReadBack() throws Exception {
        long handle = created();
        assertEquals(100, handle);
        JsonNode added = value(add(handle, 10, 3));
        assertEquals("[0,1,2]", added.get("ids").toString());
        assertEquals("{}", added.get("codes").toString());
        JsonNode read = value("\"op\":\"read\",\"handle\":100,\"first\":0,\"last\":2");
        assertEquals("[10,11,12]", read.get("entries").toString());
        long bytes = ledgers.entries.stream().mapToLong(entry -> entry.length).sum();
        assertEquals(bytes, read.get("bytes").asLong());
        JsonNode closed = value("\"op\":\"close\",\"handle\":100");
        assertEquals(2, closed.get("last").asLong());
        assertEquals(bytes, closed.get("length").asLong());
        assertEquals(Failure.NO_HANDLE, code(add(handle, 13, 1)));
    }

    @Test
    void whatIsNotAnsweredByTheDeadlineIsNull() throws Exception {
        long handle = created();
        ledgers.manual = true;
        var answer = gateway.answer("{\"id\":1,\"timeout_ms\":300," + add(handle, 0, 3) + "}");
        ledgers.adds.get(1).complete(1L);
        JsonNode value = answer.get(10, TimeUnit.SECONDS).get("value");
        assertEquals("[null,1,null]", value.get("ids").toString());
        assertEquals("{\"408\":2}", value.get("codes").toString());
    }

    @Test
    void sealedOnlyIfItWasSeenBefore() throws Exception {
        long handle = created();
        ledgers.refusal = new Failure(Failure.LEDGER_FENCED, "fenced");
        JsonNode first = value(add(handle, 0, 2));
        assertFalse(first.get("sealed").asBoolean(), "no answer had said so when it was submitted");
        assertEquals("{\"-101\":2}", first.get("codes").toString());
        ledgers.refusal = new Failure(Failure.LEDGER_CLOSED, "closed");
        JsonNode second = value(add(handle, 2, 1));
        assertTrue(second.get("sealed").asBoolean());
        assertEquals("{\"-11\":1}", second.get("codes").toString());
    }

    @Test
    void anotherErrorSealsNothing() throws Exception {
        long handle = created();
        ledgers.refusal = new Failure(-21, "quorum timeout");
        value(add(handle, 0, 1));
        assertFalse(value(add(handle, 1, 1)).get("sealed").asBoolean());
    }

    @Test
    void anotherHandleIsNotSealed() throws Exception {
        long handle = created();
        ledgers.refusal = new Failure(Failure.LEDGER_CLOSED, "closed");
        value(add(handle, 0, 1));
        assertFalse(value(add(created(), 1, 1)).get("sealed").asBoolean());
    }

    @Test
    void aSilentSystemIsAnsweredForAtTheDeadline() throws Exception {
        ledgers.silent = true;
        assertEquals(Failure.DEADLINE, code("\"op\":\"create\",\"ensemble\":1,\"write\":1,\"ack\":1"));
    }

    @Test
    void withEachWhatIsMissingIsNull() throws Exception {
        long handle = created();
        value(add(handle, 10, 3));
        ledgers.entries.set(1, null);
        String words = "\"op\":\"read\",\"handle\":100,\"first\":0,\"last\":2";
        assertEquals(Failure.NO_ENTRY, code(words));
        assertEquals("[10,null,12]", value(words + ",\"each\":true").get("entries").toString());
    }

    @Test
    void ledgersAreOpenedWithAndWithoutRecovery() throws Exception {
        assertEquals(7, value("\"op\":\"openRecover\",\"ledger\":7").get("ledger").asLong());
        long handle = value("\"op\":\"openNoRecover\",\"ledger\":7").get("handle").asLong();
        ledgers.lac = 5;
        assertEquals(5, value("\"op\":\"readLAC\",\"handle\":" + handle).get("lac").asLong());
        assertEquals(Failure.NO_LEDGER, code("\"op\":\"openRecover\",\"ledger\":8"));
        assertTrue(value("\"op\":\"metadata\",\"ledger\":7").get("last").isNull());
        assertEquals(4, value("\"op\":\"status\"").get("writable_bookies").asInt());
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "\"op\":\"fly\"", "\"op\":\"add\"", "\"op\":\"openRecover\"", "\"op\":\"openRecover\",\"ledger\":\"x\"",
        "\"op\":\"openRecover\",\"ledger\":-1", "\"op\":\"create\",\"ensemble\":3,\"write\":2,\"ack\":3"})
    void whatCannotBeUnderstoodIsRefused(String words) throws Exception {
        int code = code(words);
        assertTrue(code == Failure.BAD_REQUEST || code == Failure.NO_HANDLE, () -> "code " + code);
    }

    @Test
    void noJson() throws Exception {
        JsonNode answer = gateway.answer("{\"id\":").get(1, TimeUnit.SECONDS);
        assertTrue(answer.get("id").isNull());
        assertEquals(Failure.BAD_REQUEST, answer.get("code").asInt());
    }
}
