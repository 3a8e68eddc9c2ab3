package register.state;

/**
 * What applying an operation gave.
 *
 * @param value   what the register held, null if it was absent, of a read and of a cas that did not take place
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
