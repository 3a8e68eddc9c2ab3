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
     * @param result  what applying it gave; of a read that was not seen to be applied the value that this node held at
     *                that moment, of a write or cas then null
     * @param applied whether the entry itself was seen to be applied on this node before the acknowledgement
     */
    void ok(Result result, boolean applied);

    void fail(Failure failure);
}
