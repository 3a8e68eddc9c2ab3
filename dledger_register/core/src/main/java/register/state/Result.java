package register.state;

/**
 * The result of applying an operation.
 *
 * @param value   the value seen by a read or a cas that did not take place, null if the register was absent
 * @param swapped whether a cas took place; null for reads and writes
 */
public record Result(Long value, Boolean swapped) {

    public static final Result WRITTEN = new Result(null, null);
    public static final Result SWAPPED = new Result(null, true);

    /** A cas that met another value than it expected. */
    public static Result kept(Long seen) {
        return new Result(seen, false);
    }

    public static Result read(Long value) {
        return new Result(value, null);
    }
}
