package register.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import register.replica.Failure;
import register.replica.ReplicaStatus;
import register.replica.Stage;
import register.state.Operation;
import register.state.Result;
import register.state.StateMark;

/** The wire, byte for byte. */
class AnswersTest {

    private static final Operation WRITE = new Operation.Write("k", 1);
    private static final Operation READ = new Operation.Read("k", Operation.Mode.LOG);
    private static final Operation CAS = new Operation.Cas("k", 1L, 2);

    private static void assertLine(String expected, byte[] answer) {
        assertEquals(expected + "\n", new String(answer, StandardCharsets.UTF_8));
    }

    @Test
    void ok() {
        assertLine(
                "{\"id\":1,\"ok\":true,\"applied\":true,\"term\":3,\"leader\":\"n1\"}",
                Answers.ok(1L, WRITE, Result.WRITTEN, true, 3, "n1"));
        assertLine(
                "{\"id\":\"a\",\"ok\":true,\"value\":7,\"applied\":true,\"term\":3,\"leader\":\"n1\"}",
                Answers.ok("a", READ, Result.read(7L), true, 3, "n1"));
        assertLine(
                "{\"id\":1,\"ok\":true,\"value\":null,\"applied\":true,\"term\":3,\"leader\":null}",
                Answers.ok(1L, READ, Result.read(null), true, 3, null));
        assertLine(
                "{\"id\":1,\"ok\":true,\"swapped\":true,\"applied\":true,\"term\":3,\"leader\":\"n1\"}",
                Answers.ok(1L, CAS, Result.SWAPPED, true, 3, "n1"));
    }

    @Test
    void aCasThatDidNotTakePlaceSaysWhatItSaw() {
        assertLine(
                "{\"id\":1,\"ok\":true,\"swapped\":false,\"value\":5,\"applied\":true,\"term\":3,\"leader\":\"n1\"}",
                Answers.ok(1L, CAS, Result.kept(5L), true, 3, "n1"));
        assertLine(
                "{\"id\":1,\"ok\":true,\"swapped\":false,\"value\":null,\"applied\":true,\"term\":3,\"leader\":\"n1\"}",
                Answers.ok(1L, CAS, Result.kept(null), true, 3, "n1"));
    }

    @Test
    void acknowledgedWithoutAResult() {
        assertLine(
                "{\"id\":1,\"ok\":true,\"swapped\":null,\"applied\":false,\"term\":3,\"leader\":\"n1\"}",
                Answers.ok(1L, CAS, null, false, 3, "n1"));
        assertLine(
                "{\"id\":1,\"ok\":true,\"applied\":false,\"term\":3,\"leader\":\"n1\"}",
                Answers.ok(1L, WRITE, null, false, 3, "n1"));
    }

    private static void assertResult(String expected, Operation operation, Result result) {
        assertLine(
                "{\"id\":1,\"ok\":true," + expected + ",\"applied\":true,\"term\":3,\"leader\":\"n1\"}",
                Answers.ok(1L, operation, result, true, 3, "n1"));
    }

    @Test
    void allRegistersAndEntries() {
        Operation scan = new Operation.Scan("s/", Operation.Mode.LOG);
        assertResult("\"values\":{\"s/1\":1,\"s/2\":2}", scan, Result.all(new TreeMap<>(Map.of("s/1", 1L, "s/2", 2L))));
        assertResult("\"values\":{}", scan, Result.all(Map.of()));
        Operation entries = new Operation.Entries("log", Operation.Mode.LOG);
        assertResult("\"values\":null", entries, Result.all(null));
        Operation transfer = new Operation.Transfer("a", "b", 3);
        assertResult("\"values\":{\"a\":-3}", transfer, Result.all(Map.of("a", -3L)));
        assertResult("\"values\":null", transfer, null);
    }

    @Test
    void locksAndTheLog() {
        Operation acquire = new Operation.Acquire("l");
        assertResult("\"acquired\":true,\"token\":5", acquire, Result.acquired(5));
        assertResult("\"acquired\":false,\"token\":5", acquire, Result.kept(5L));
        assertResult("\"acquired\":null", acquire, null);
        Operation release = new Operation.Release("l", 5);
        assertResult("\"released\":true", release, Result.SWAPPED);
        assertResult("\"released\":false,\"token\":null", release, Result.kept(null));
        assertResult("\"index\":8", new Operation.Append("log", 1), Result.read(8L));
        assertResult("\"value\":null", new Operation.Get("log", 1), Result.read(null));
    }

    @Test
    void anUnappliedReadSaysWhatTheNodeHeld() {
        assertLine(
                "{\"id\":1,\"ok\":true,\"value\":7,\"applied\":false,\"term\":3,\"leader\":\"n1\"}",
                Answers.ok(1L, READ, Result.read(7L), false, 3, "n1"));
    }

    @Test
    void error() {
        assertLine(
                "{\"id\":1,\"ok\":false,\"code\":404,\"name\":\"NOT_LEADER\",\"stage\":\"before-append\","
                        + "\"message\":\"a \\\"quote\\\"\\nand a line\",\"leader\":\"n2\"}",
                Answers.error(1L, new Failure(404, "NOT_LEADER", Stage.BEFORE_APPEND, "a \"quote\"\nand a line"), "n2"));
        assertLine(
                "{\"id\":null,\"ok\":false,\"code\":1001,\"name\":\"BAD_REQUEST\",\"stage\":\"before-append\","
                        + "\"message\":\"x\",\"leader\":null}",
                Answers.error(null, Failure.refused(Failure.Refusal.BAD_REQUEST, "x"), null));
    }

    @Test
    void status() {
        assertLine(
                "{\"id\":4,\"ok\":true,\"node\":\"n1\",\"role\":\"leader\",\"term\":3,\"leader\":\"n1\",\"ledgerBegin\":0,"
                        + "\"ledgerEnd\":9,\"committed\":8,\"applied\":7,\"stateIndex\":6,"
                        + "\"digest\":\"2:00000000000000ff\",\"snapshotsSaved\":1,\"snapshotsLoaded\":2,"
                        + "\"clockMs\":1732190000000,\"version\":\"0.4.0\",\"unappliedOks\":5,"
                        + "\"applyErrors\":6,\"reapplied\":8,\"undecodable\":9,\"fault\":null,\"pid\":77}",
                Answers.status(
                        4L,
                        new ReplicaStatus("leader", 3, "n1", 0, 9, 8, 7),
                        new Answers.Process(
                                "n1", "0.4.0", 1, 2, 5, 6, 8, 9, new StateMark(6, 2, 255), null, 1732190000000L, 77)));
    }
}
