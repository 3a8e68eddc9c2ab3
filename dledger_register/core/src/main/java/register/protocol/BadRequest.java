package register.protocol;

/** A line that is not a request. Nothing was done with it. */
public final class BadRequest extends Exception {

    private static final long serialVersionUID = 1L;

    private final transient Object id;

    BadRequest(Object id, String message) {
        super(message);
        this.id = id;
    }

    /** The id of the request, null if the line did not get so far. */
    public Object id() {
        return id;
    }
}
