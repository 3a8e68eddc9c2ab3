package register.options;

/** A command line that cannot be run; the message names the option. */
public final class UsageError extends Exception {

    private static final long serialVersionUID = 1L;

    UsageError(String message) {
        super(message);
    }
}
