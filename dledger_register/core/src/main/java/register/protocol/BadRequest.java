package register.protocol;

/** A line that is not a valid request; nothing was executed. */
public final class BadRequest extends Exception {

    private static final long serialVersionUID = 1L;

    private final transient Object id;

    BadRequest(Object id, String message) {
        super(message);
        this.id = id;
    }

    /** The id of the request, null if none was read. */
    public Object id() {
        return id;
    }
}
