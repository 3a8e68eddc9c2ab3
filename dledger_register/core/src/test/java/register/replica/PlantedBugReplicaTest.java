package register.replica;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import register.options.PlantedBug;
import register.state.Entry;
import register.state.Health;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

class PlantedBugReplicaTest {

    private final FakeReplica inner = new FakeReplica();
    private final RegisterMachine machine = new RegisterMachine(new Health());
    private final List<Object> outcomes = new ArrayList<>();
    private final Completion record = new Completion() {
        @Override
        public void ok(Result result, boolean applied) {
            outcomes.add(result);
        }

        @Override
        public void fail(Failure failure) {
            outcomes.add(failure);
        }
    };

    private static final Operation WRITE = new Operation.Write("k", 1);
    private static final Operation READ = new Operation.Read("k", Operation.Mode.LOG);

    @Test
    void staleReadsAnswerFromMemoryAndLeaveWritesAlone() {
        Replica plantedBug = new PlantedBugReplica(inner, machine, PlantedBug.STALE_READS);
        machine.apply(0, new Entry(0, 0, new Operation.Write("k", 9)));
        plantedBug.submit(READ, record);
        assertEquals(List.of(Result.read(9L)), outcomes);
        plantedBug.submit(WRITE, record);
        assertEquals(1, outcomes.size());
        assertEquals(WRITE, inner.submitted.remove().operation());
        assertNull(inner.submitted.poll());
    }

    @Test
    void earlyAcknowledgementAnswersAsSoonAsTheLeaderHasAppended() {
        Replica plantedBug = new PlantedBugReplica(inner, machine, PlantedBug.ACK_BEFORE_COMMIT);
        plantedBug.submit(WRITE, record);
        plantedBug.submit(new Operation.Cas("k", null, 3), record);
        plantedBug.submit(new Operation.Cas("k", 8L, 3), record);
        assertEquals(List.of(Result.WRITTEN, Result.SWAPPED, Result.kept(null)), outcomes);
        assertEquals(3, inner.submitted.size(), "all were really handed over");
        plantedBug.submit(READ, record);
        assertEquals(3, outcomes.size(), "reads wait for the log as ever");
    }

    @Test
    void earlyAcknowledgementGuessesWhatApplyingReturns() {
        Replica plantedBug = new PlantedBugReplica(inner, machine, PlantedBug.ACK_BEFORE_COMMIT);
        inner.status = new ReplicaStatus("leader", 3, "n1", 0, 9, 9, 9);
        plantedBug.submit(new Operation.Add("c", 1), record);
        plantedBug.submit(new Operation.Append("log", 1), record);
        plantedBug.submit(new Operation.Acquire("l"), record);
        plantedBug.submit(new Operation.Release("l", 4), record);
        machine.apply(3, new Entry(0, 0, new Operation.Acquire("l")));
        plantedBug.submit(new Operation.Acquire("l"), record);
        plantedBug.submit(new Operation.Release("l", 4), record);
        assertEquals(
                List.of(Result.WRITTEN, Result.read(9L), Result.acquired(10), Result.kept(null), Result.kept(4L),
                        Result.SWAPPED),
                outcomes);
        plantedBug.submit(new Operation.Get("log", 1), record);
        plantedBug.submit(new Operation.Scan("s", Operation.Mode.LOG), record);
        assertEquals(6, outcomes.size(), "reads wait as ever");
    }

    @Test
    void deposedReadsAnswerFromMemoryOnceTheNodeHasLed() {
        Replica plantedBug = new PlantedBugReplica(inner, machine, PlantedBug.DEPOSED_READS);
        machine.apply(0, new Entry(0, 0, new Operation.Write("k", 9)));
        plantedBug.submit(READ, record);
        assertEquals(READ, inner.submitted.remove().operation(), "a node that never led asks the log");
        inner.status = new ReplicaStatus("leader", 3, "n1", 0, 9, 9, 9);
        plantedBug.submit(READ, record);
        inner.status = new ReplicaStatus("follower", 4, "n2", 0, 9, 9, 9);
        plantedBug.submit(READ, record);
        assertEquals(List.of(Result.read(9L), Result.read(9L)), outcomes);
        plantedBug.submit(WRITE, record);
        assertEquals(WRITE, inner.submitted.remove().operation());
    }

    @Test
    void votesAreForgottenAgainAndAgainUntilTheNodeStops() throws Exception {
        Replica honest = new PlantedBugReplica(inner, machine, PlantedBug.STALE_READS);
        honest.start();
        Replica plantedBug = new PlantedBugReplica(inner, machine, PlantedBug.VOTE_TWICE);
        assertEquals(0, inner.votesForgotten.get());
        plantedBug.start();
        long deadline = System.nanoTime() + 10_000_000_000L;
        while (inner.votesForgotten.get() < 5) {
            assertTrue(System.nanoTime() < deadline, "forgot " + inner.votesForgotten);
            Thread.sleep(1);
        }
        plantedBug.stop();
    }

    @Test
    void earlyAcknowledgementStillReportsARefusal() {
        Replica plantedBug = new PlantedBugReplica(inner, machine, PlantedBug.ACK_BEFORE_COMMIT);
        inner.refusal = new Failure(404, "NOT_LEADER", Stage.BEFORE_APPEND, "");
        plantedBug.submit(WRITE, record);
        assertEquals(List.of(inner.refusal), outcomes);
    }
}
