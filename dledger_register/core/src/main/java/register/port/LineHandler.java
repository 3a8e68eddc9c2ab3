package register.port;

/** Answers lines. Called on the port's one thread, so it must not block. */
public interface LineHandler {

    void line(byte[] line, Reply reply);

    void tooLong(Reply reply);

    /** The way back for exactly one answer to one line; may be used from any thread, and never blocks. */
    interface Reply {
        void send(byte[] answer);
    }
}
