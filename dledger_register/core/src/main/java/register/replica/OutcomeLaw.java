package register.replica;

import java.util.Set;

/**
 * Which of DLedger's response codes prove that nothing was appended. Read from the sources of 0.3.2 and 0.4.0; the
 * table is in docs/register-server.md.
 *
 * <p>The law is one-sided: neither a code that is missing here nor one that comes late ever counts as a refusal.
 */
public final class OutcomeLaw {

    /** Thrown or answered by checks that come before the first byte of the entry is written. */
    private static final Set<Integer> REFUSALS = Set.of(
            301, // METADATA_ERROR
            303, // UNSUPPORTED
            400, // UNKNOWN_GROUP
            401, // UNKNOWN_MEMBER
            402, // UNEXPECTED_MEMBER
            404, // NOT_LEADER: checked first, and once more inside the store's lock
            411, // UNEXPECTED_ARGUMENT
            415, // DISK_FULL: a flag, unlike 414, which is thrown in the middle of the append
            420, // REQUEST_WITH_EMPTY_BODYS
            503, // LEADER_PENDING_FULL
            506); // LEADER_TRANSFERRING

    /** Raised for an entry that is already in the leader's log. */
    private static final Set<Integer> PENDING = Set.of(
            403, // EXPIRED_TERM
            501, // TERM_CHANGED, the same in 0.3
            502); // WAIT_QUORUM_ACK_TIMEOUT

    private OutcomeLaw() {
    }

    /**
     * The stage of an error.
     *
     * @param code       DLedger's response code
     * @param insideCall whether it came before the append call returned; once the call has returned the entry is in the
     *                   log, and no code takes it out
     */
    public static Stage stage(int code, boolean insideCall) {
        if (PENDING.contains(code) || !insideCall) {
            return Stage.AFTER_APPEND;
        }
        return REFUSALS.contains(code) ? Stage.BEFORE_APPEND : Stage.UNKNOWN;
    }
}
