package register.dledger040;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.openmessaging.storage.dledger.common.Status;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import register.replica.Completion;
import register.replica.Failure;
import register.state.Entry;
import register.state.Health;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/** A read that DLedger acknowledges off its apply thread, which is the sweep of old requests. */
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

    private List<Object> acknowledged(Operation.Mode mode) {
        registers.apply(0, new Entry(0, 0, new Operation.Write("k", 7)));
        Machine040 machine = new Machine040(registers, health);
        new Replica040.PendingRead(new Operation.Read("k", mode), machine, completion).done(Status.ok());
        return told;
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
