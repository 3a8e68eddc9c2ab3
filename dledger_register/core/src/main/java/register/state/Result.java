package register.state;

/**
 * What applying an operation gave.
 *
 * @param value   the value read, null for an absent register and for writes and cas
 * @param swapped whether a cas took place; null for reads and writes
 */
public record Result(Long value, Boolean swapped) {

    public static final Result WRITTEN = new Result(null, null);
    public static final Result SWAPPED = new Result(null, true);
    public static final Result KEPT = new Result(null, false);

    public static Result read(Long value) {
        return new Result(value, null);
    }
}
