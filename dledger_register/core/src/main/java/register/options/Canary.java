package register.options;

import java.util.Locale;

/** What a server does wrong on purpose, so that a test can see whether a wrong system is found out. */
public enum Canary {
    /** Log reads are answered from local memory, on any node. */
    STALE_READS,
    /** Writes and cas are acknowledged as soon as the leader has appended them to its own log. */
    ACK_BEFORE_COMMIT;

    /** The name on the command line. */
    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
