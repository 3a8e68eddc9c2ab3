package register.options;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** What a server does wrong on purpose, so that a test can see whether a wrong system is found out. */
public enum Canary {
    /** Log reads are answered from local memory, on any node. */
    STALE_READS,
    /** Writes and cas are acknowledged as soon as the leader has appended them to its own log. */
    ACK_BEFORE_COMMIT,
    /** Now and then a write is applied a second time, some entries later, on every node alike. */
    APPLY_TWICE,
    /** The last of the peers leaves out a write now and then. */
    SKIP_ENTRY,
    /** One write in a thousand is acknowledged and not applied, on every node alike. */
    LOSE_WRITE,
    /** A snapshot lacks one register, the one that has not been written for longest. */
    FORGET_IN_SNAPSHOT,
    /** The state in a snapshot is some entries older than the snapshot says. */
    SNAPSHOT_WRONG_INDEX,
    /** A node forgets whom it voted for, and votes again in the same term. */
    VOTE_TWICE,
    /** A node that has ever led answers log reads from its own memory, whoever leads now. */
    DEPOSED_READS;

    /** The name on the command line. */
    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** Whether it shows only in a server that takes snapshots. */
    public boolean needsSnapshots() {
        return this == FORGET_IN_SNAPSHOT || this == SNAPSHOT_WRONG_INDEX;
    }

    static String labels() {
        return Arrays.stream(values()).map(Canary::label).collect(Collectors.joining(", "));
    }
}
