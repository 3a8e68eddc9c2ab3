package register.testkit;

import java.util.ArrayList;
import java.util.List;
import register.replica.Completion;
import register.replica.Failure;
import register.state.Result;

/** Records what a completion receives: result and {@code applied} of an ok, or the failure. */
public final class Outcomes implements Completion {

    private final List<Object> seen = new ArrayList<>();

    @Override
    public void ok(Result result, boolean applied) {
        seen.add(result);
        seen.add(applied);
    }

    @Override
    public void fail(Failure failure) {
        seen.add(failure);
    }

    public List<Object> seen() {
        return seen;
    }
}
