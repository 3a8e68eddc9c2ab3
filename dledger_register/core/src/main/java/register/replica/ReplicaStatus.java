package register.replica;

import java.util.Locale;

/**
 * A node's report about itself. Log positions are indexes, -1 if there is none; begin is the first entry that the log
 * still has.
 *
 * @param role   leader, follower, candidate or unknown; taken in any case, given in lower case
 * @param leader id of the leader it believes in, null if none; an empty id is none
 */
public record ReplicaStatus(
        String role, long term, String leader, long ledgerBegin, long ledgerEnd, long committed, long applied) {

    public ReplicaStatus {
        role = role.toLowerCase(Locale.ROOT);
        leader = leader == null || leader.isEmpty() ? null : leader;
    }
}
