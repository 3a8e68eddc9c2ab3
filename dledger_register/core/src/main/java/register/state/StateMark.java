package register.state;

/**
 * A digest of the registers after one log entry; nodes at the same index must have the same.
 *
 * @param index     the furthest entry ever applied, -1 before the first
 * @param registers how many registers there were
 * @param hash      of all registers and their values
 */
public record StateMark(long index, int registers, long hash) {

    /** Returns the number of registers and the hash as text; equal for equal states. */
    public String digest() {
        return registers + ":" + String.format("%016x", hash);
    }
}
