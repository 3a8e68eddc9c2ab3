package register.state;

/** The library's log as this node holds it. */
public interface LogView {

    /** Returns the index of the first entry that the log still has. */
    long begin();

    /** Returns the body of an entry; null or empty for an entry of the library's own. */
    byte[] body(long index);
}
