package register.replica;

/**
 * An error as the client sees it.
 *
 * @param code DLedger's response code, or one of the server's own (1001 and up), or 500 for anything unforeseen
 */
public record Failure(int code, String name, Stage stage, String message) {

    /** Answered by this server itself: nothing was given to DLedger. */
    public static Failure refused(Refusal why, String message) {
        return new Failure(why.code(), why.name(), Stage.BEFORE_APPEND, message);
    }

    /** A throwable that is no answer of DLedger's; nothing is known of what happened before it. */
    public static Failure unforeseen(Throwable error) {
        return new Failure(500, "INTERNAL_ERROR", Stage.UNKNOWN, error.toString());
    }

    /** Reasons of our own, with codes that DLedger does not use. */
    public enum Refusal {
        BAD_REQUEST(1001),
        LINE_TOO_LONG(1002),
        SERVER_BUSY(1003),
        SHUTTING_DOWN(1004);

        private final int code;

        Refusal(int code) {
            this.code = code;
        }

        public int code() {
            return code;
        }
    }
}
