package register.dledger040;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.openmessaging.storage.dledger.common.Status;
import java.util.List;
import org.junit.jupiter.api.Test;
import register.state.Entry;
import register.state.Health;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;
import register.testkit.Outcomes;

/** A read that DLedger acknowledges off its apply thread, which is the sweep of old requests. */
class SweptReadTest {

    private final RegisterMachine registers = new RegisterMachine(new Health());
    private final Outcomes outcomes = new Outcomes();

    private List<Object> acknowledged(Operation.Mode mode) {
        registers.apply(0, new Entry(0, 0, new Operation.Write("k", 7)));
        Operation.Read read = new Operation.Read("k", mode);
        new Replica040.PendingRead(read, new Machine040(registers), outcomes).done(Status.ok());
        return outcomes.seen();
    }

    @Test
    void aReadThatWasNeverAppliedIsAnsweredFromTheMap() {
        assertEquals(List.of(Result.read(7L), false), acknowledged(Operation.Mode.LOG));
    }

    @Test
    void anUnsafeReadPromisesNothingElse() {
        assertEquals(List.of(Result.read(7L), true), acknowledged(Operation.Mode.UNSAFE));
    }
}
