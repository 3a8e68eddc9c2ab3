package register.state;

/** The library's log as this node holds it. */
public interface LogView {

    /** The index of the first entry that is still held. */
    long begin();

    /** The body of an entry; null or empty for an entry of the library's own. */
    byte[] body(long index);
}
