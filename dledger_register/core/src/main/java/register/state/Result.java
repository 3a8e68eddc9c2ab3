package register.state;

import java.util.Map;

/**
 * The result of applying an operation.
 *
 * @param value   the value seen by a read, by a get, or by a cas that did not take place, null if the register was
 *                absent; the token of a lock's holder, null if it is free; the index of an append
 * @param swapped whether a cas, an acquire or a release took place; null for all others
 * @param values  the registers seen by a scan or left behind by a transfer, the values of entries by their indexes;
 *                null for all others, and for entries that this node no longer holds
 */
public record Result(Long value, Boolean swapped, Map<String, Long> values) {

    public static final Result WRITTEN = new Result(null, null, null);
    public static final Result SWAPPED = new Result(null, true, null);

    /** Returns the result of a cas that found another value, or of an acquire or release that found another holder. */
    public static Result kept(Long seen) {
        return new Result(seen, false, null);
    }

    /** Returns the result of an acquire that took the lock. */
    public static Result acquired(long token) {
        return new Result(token, true, null);
    }

    public static Result read(Long value) {
        return new Result(value, null, null);
    }

    public static Result all(Map<String, Long> values) {
        return new Result(null, null, values);
    }
}
