package register.replica;

/**
 * A node's word about itself. Log positions are indexes, -1 where there is none; begin is the first entry still held.
 *
 * @param role   leader, follower, candidate or unknown
 * @param leader id of the leader it believes in, or null
 */
public record ReplicaStatus(
        String role, long term, String leader, long ledgerBegin, long ledgerEnd, long committed, long applied) {
}
