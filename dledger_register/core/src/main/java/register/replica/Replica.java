package register.replica;

import register.state.Operation;

/** One member of a DLedger group; each DLedger version has its own implementation. */
public interface Replica {

    /** Joins the group, and returns once the node serves its peers. */
    void start();

    /**
     * Submits an operation; {@code completion} receives the outcome, at once or later, or never. May block briefly on
     * DLedger's lock, except for unsafe reads. Each thread that calls this costs 4 MiB of heap inside DLedger.
     */
    void submit(Operation operation, Completion completion);

    /** Returns what the node reports about itself. Takes no lock and never blocks. */
    ReplicaStatus status();

    /** Forgets this node's vote in its current term, which a node must never do; for {@link PlantedBugReplica}. */
    void forgetVote();

    void stop();
}
