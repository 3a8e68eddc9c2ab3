package register.state;

/** A client's operation on one register. Keys are strings, because DLedger's fastjson breaks maps with other keys. */
public sealed interface Operation {

    String key();

    /** Sets the register unconditionally. */
    record Write(String key, long value) implements Operation {
    }

    /** Sets the register to {@code next} if it holds {@code old}; {@code old} null means the register is absent. */
    record Cas(String key, Long old, long next) implements Operation {
    }

    /** Reads the register: through the log (linearizable by design), or from this node's memory (stale at any time). */
    record Read(String key, Mode mode) implements Operation {
    }

    enum Mode {
        LOG,
        UNSAFE
    }
}
