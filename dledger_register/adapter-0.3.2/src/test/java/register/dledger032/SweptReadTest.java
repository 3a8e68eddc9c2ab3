package register.dledger032;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import register.state.Entry;
import register.state.Health;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;
import register.testkit.Outcomes;

/** What DLedger acknowledges without having applied it. */
class SweptReadTest {

    private final RegisterMachine registers = new RegisterMachine(new Health());
    private final Outcomes outcomes = new Outcomes();

    private List<Object> acknowledged(Operation operation, Result applied) {
        registers.apply(0, new Entry(0, 0, new Operation.Write("k", 7)));
        Replica032.acknowledge(operation, applied, 5, registers, outcomes);
        return outcomes.seen();
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
    void anAppendHasItsIndexInAnyCase() {
        assertEquals(List.of(Result.read(5L), false), acknowledged(new Operation.Append("log", 9), null));
    }

    @Test
    void aCasThatWasNeverAppliedHasNoResult() {
        assertEquals(Arrays.asList(null, false), acknowledged(new Operation.Cas("k", 7L, 8), null));
    }
}
