package register.dledger032;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import register.replica.Completion;
import register.replica.Failure;
import register.state.Entry;
import register.state.Health;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/** What DLedger acknowledges without having applied it. */
class SweptReadTest {

    private final Health health = new Health();
    private final RegisterMachine registers = new RegisterMachine(health);
    private final List<Object> told = new ArrayList<>();
    private final Completion completion = new Completion() {
        @Override
        public void ok(Result result, boolean applied) {
            told.add(result);
            told.add(applied);
        }

        @Override
        public void fail(Failure failure) {
            told.add(failure);
        }
    };

    private List<Object> acknowledged(Operation operation, Result applied) {
        registers.apply(0, new Entry(0, 0, new Operation.Write("k", 7)));
        Replica032.acknowledge(
                operation, applied, new Machine032(registers, health, new PendingResults()), completion);
        return told;
    }

    @Test
    void aReadThatWasNeverAppliedIsAnsweredFromTheMap() {
        assertEquals(
                List.of(Result.read(7L), false), acknowledged(new Operation.Read("k", Operation.Mode.LOG), null));
    }

    @Test
    void aReadThatWasAppliedKeepsItsOwnValue() {
        assertEquals(
                List.of(Result.read(5L), true),
                acknowledged(new Operation.Read("k", Operation.Mode.LOG), Result.read(5L)));
    }

    @Test
    void aCasThatWasNeverAppliedHasNoResult() {
        assertEquals(Arrays.asList(null, false), acknowledged(new Operation.Cas("k", 7L, 8), null));
    }
}
