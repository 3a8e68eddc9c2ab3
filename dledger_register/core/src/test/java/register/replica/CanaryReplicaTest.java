package register.replica;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import register.options.Canary;
import register.state.Entry;
import register.state.Health;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

class CanaryReplicaTest {

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
        Replica canary = new CanaryReplica(inner, machine, Canary.STALE_READS);
        machine.apply(0, new Entry(0, 0, new Operation.Write("k", 9)));
        canary.submit(READ, record);
        assertEquals(List.of(Result.read(9L)), outcomes);
        canary.submit(WRITE, record);
        assertEquals(1, outcomes.size());
        assertEquals(WRITE, inner.submitted.remove().operation());
        assertNull(inner.submitted.poll());
    }

    @Test
    void earlyAcknowledgementAnswersAsSoonAsTheLeaderHasAppended() {
        Replica canary = new CanaryReplica(inner, machine, Canary.ACK_BEFORE_COMMIT);
        canary.submit(WRITE, record);
        canary.submit(new Operation.Cas("k", null, 3), record);
        canary.submit(new Operation.Cas("k", 8L, 3), record);
        assertEquals(List.of(Result.WRITTEN, Result.SWAPPED, Result.kept(null)), outcomes);
        assertEquals(3, inner.submitted.size(), "all were really handed over");
        canary.submit(READ, record);
        assertEquals(3, outcomes.size(), "reads wait for the log as ever");
    }

    @Test
    void earlyAcknowledgementGuessesWhatApplyingReturns() {
        Replica canary = new CanaryReplica(inner, machine, Canary.ACK_BEFORE_COMMIT);
        inner.status = new ReplicaStatus("leader", 3, "n1", 0, 9, 9, 9);
        canary.submit(new Operation.Add("c", 1), record);
        canary.submit(new Operation.Append("log", 1), record);
        canary.submit(new Operation.Acquire("l"), record);
        canary.submit(new Operation.Release("l", 4), record);
        machine.apply(3, new Entry(0, 0, new Operation.Acquire("l")));
        canary.submit(new Operation.Acquire("l"), record);
        canary.submit(new Operation.Release("l", 4), record);
        assertEquals(
                List.of(Result.WRITTEN, Result.read(9L), Result.acquired(10), Result.kept(null), Result.kept(4L),
                        Result.SWAPPED),
                outcomes);
        canary.submit(new Operation.Get("log", 1), record);
        canary.submit(new Operation.Scan("s", Operation.Mode.LOG), record);
        assertEquals(6, outcomes.size(), "reads wait as ever");
    }

    @Test
    void deposedReadsAnswerFromMemoryOnceTheNodeHasLed() {
        Replica canary = new CanaryReplica(inner, machine, Canary.DEPOSED_READS);
        machine.apply(0, new Entry(0, 0, new Operation.Write("k", 9)));
        canary.submit(READ, record);
        assertEquals(READ, inner.submitted.remove().operation(), "a node that never led asks the log");
        inner.status = new ReplicaStatus("leader", 3, "n1", 0, 9, 9, 9);
        canary.submit(READ, record);
        inner.status = new ReplicaStatus("follower", 4, "n2", 0, 9, 9, 9);
        canary.submit(READ, record);
        assertEquals(List.of(Result.read(9L), Result.read(9L)), outcomes);
        canary.submit(WRITE, record);
        assertEquals(WRITE, inner.submitted.remove().operation());
    }

    @Test
    void votesAreForgottenAgainAndAgainUntilTheNodeStops() throws Exception {
        Replica honest = new CanaryReplica(inner, machine, Canary.STALE_READS);
        honest.start();
        Replica canary = new CanaryReplica(inner, machine, Canary.VOTE_TWICE);
        assertEquals(0, inner.votesForgotten.get());
        canary.start();
        long deadline = System.nanoTime() + 10_000_000_000L;
        while (inner.votesForgotten.get() < 5) {
            assertTrue(System.nanoTime() < deadline, "forgot " + inner.votesForgotten);
            Thread.sleep(1);
        }
        canary.stop();
    }

    @Test
    void earlyAcknowledgementStillReportsARefusal() {
        Replica canary = new CanaryReplica(inner, machine, Canary.ACK_BEFORE_COMMIT);
        inner.refusal = new Failure(404, "NOT_LEADER", Stage.BEFORE_APPEND, "");
        canary.submit(WRITE, record);
        assertEquals(List.of(inner.refusal), outcomes);
    }
}
