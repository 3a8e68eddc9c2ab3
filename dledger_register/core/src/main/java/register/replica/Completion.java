package register.replica;

import register.state.Result;

/**
 * Takes the outcome of one operation. Called from DLedger's own threads, so it must neither block nor throw; only the
 * first call counts, for DLedger may complete a closure twice when its leak sweep meets its apply thread.
 */
public interface Completion {

    /**
     * DLedger acknowledged the operation.
     *
     * @param result  what applying it gave; null if {@code applied} is false
     * @param applied whether the entry itself was seen to be applied on this node before the acknowledgement
     */
    void ok(Result result, boolean applied);

    void fail(Failure failure);
}
