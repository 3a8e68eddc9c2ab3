package gateway;

/** A failed call, with a code of BookKeeper's (negative) or one of the gateway's own (positive). */
final class Failure extends Exception {

    /** The request cannot be understood; nothing was done. */
    static final int BAD_REQUEST = 400;
    /** There is no such handle in this process; nothing was done. */
    static final int NO_HANDLE = 404;
    /** The request's time was up; it may still take effect. */
    static final int DEADLINE = 408;

    static final int NO_LEDGER = -7;
    static final int LEDGER_CLOSED = -11;
    static final int NO_ENTRY = -13;
    static final int LEDGER_FENCED = -101;
    static final int UNEXPECTED = -999;

    private static final long serialVersionUID = 1L;

    private final int code;

    Failure(int code, String message) {
        super(message, null, false, false);
        this.code = code;
    }

    int code() {
        return code;
    }

    /** Whether a handle with this answer takes no more adds. */
    boolean seals() {
        return code == LEDGER_CLOSED || code == LEDGER_FENCED;
    }

    /** Whether all replicas that should have the entry said that they do not. */
    boolean absent() {
        return code == NO_LEDGER || code == NO_ENTRY;
    }

    static Failure of(Throwable thrown) {
        Throwable cause = thrown;
        while (cause.getCause() != null && !(cause instanceof Failure)) {
            cause = cause.getCause();
        }
        return cause instanceof Failure failure ? failure : new Failure(UNEXPECTED, cause.toString());
    }
}
