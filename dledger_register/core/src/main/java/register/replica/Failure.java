package register.replica;

/**
 * An error as the client sees it.
 *
 * @param code DLedger's response code, or one of the server's own (1001 and up), or 500 for anything unforeseen
 */
public record Failure(int code, String name, Stage stage, String message) {

    /**
     * DLedger's own error.
     *
     * @param insideCall whether it arose before the append call returned
     */
    public static Failure answered(int code, String name, boolean insideCall, String message) {
        return new Failure(code, name, OutcomeLaw.stage(code, insideCall), message);
    }

    /** Refused by this server itself; DLedger never saw the request. */
    public static Failure refused(Refusal why, String message) {
        return new Failure(why.code(), why.name(), Stage.BEFORE_APPEND, message);
    }

    /** A throwable that is not an answer from DLedger, so that its outcome is unknown. */
    public static Failure unforeseen(Throwable error) {
        return new Failure(500, "INTERNAL_ERROR", Stage.UNKNOWN, error.toString());
    }

    /** The server's own reasons for refusing, with codes that DLedger does not use. */
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
