package register.port;

/** Answers lines. Called on the port's one thread, so it must not block. */
public interface LineHandler {

    void line(byte[] line, Reply reply);

    void tooLong(Reply reply);

    /** Sends the one answer to one line; from any thread, without blocking. */
    interface Reply {
        void send(byte[] answer);
    }
}
