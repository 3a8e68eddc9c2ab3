package register.replica;

import register.state.Result;

/**
 * Takes the outcome of one operation. Called from DLedger's own threads, so it must neither block nor throw. Only the
 * first call counts: DLedger may complete a closure twice, by its sweep of old requests and by its apply thread.
 */
public interface Completion {

    /**
     * DLedger acknowledged the operation.
     *
     * @param result  what applying it returned; if its entry was not seen to be applied, for a query this node's answer
     *                at that moment, for an append its index, and for all else null
     * @param applied whether the entry was seen to be applied on this node before the acknowledgement
     */
    void ok(Result result, boolean applied);

    /** The operation failed, or its outcome is unknown: {@link Failure#stage()} says which. */
    void fail(Failure failure);
}
