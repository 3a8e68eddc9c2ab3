package register.options;

import java.util.Locale;

/** A bug that the server has on purpose, so that a test can check that the harness finds it. */
public enum PlantedBug {
    /** Log reads are answered from local memory, on any node. */
    STALE_READS,
    /** Changes of the state are acknowledged as soon as the leader has appended them to its own log. */
    ACK_BEFORE_COMMIT,
    /** One write in fifty is applied a second time, thirty entries later, on every node. */
    APPLY_TWICE,
    /** The last of the peers skips one write in twenty. */
    SKIP_ENTRY,
    /** One write in a thousand is acknowledged and not applied, on every node. */
    LOSE_WRITE,
    /** A snapshot lacks the least recently written register. */
    FORGET_IN_SNAPSHOT,
    /** A snapshot lacks the last twenty changes before the index that it states. */
    SNAPSHOT_WRONG_INDEX,
    /** A node forgets whom it voted for, and votes again in the same term. */
    VOTE_TWICE,
    /** A node that has ever led answers log reads from its own memory, whichever node leads now. */
    DEPOSED_READS;

    /** The name on the command line. */
    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Whether the bug only shows if snapshots are taken. */
    public boolean needsSnapshots() {
        return this == FORGET_IN_SNAPSHOT || this == SNAPSHOT_WRONG_INDEX;
    }
}
