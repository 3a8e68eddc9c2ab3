package register.state;

/**
 * A client's operation. All but those on the log are on registers of 64 bits, each known by its key; keys are strings,
 * because DLedger's fastjson breaks maps with other keys.
 */
public sealed interface Operation {

    String key();

    /** Sets the register unconditionally. */
    record Write(String key, long value) implements Operation {
    }

    /** Sets the register to {@code next} if it holds {@code old}; {@code old} null means the register is absent. */
    record Cas(String key, Long old, long next) implements Operation {
    }

    /** Adds to the register; an absent one counts as 0. */
    record Add(String key, long value) implements Operation {
    }

    /** Moves an amount from the register {@code key} to the register {@code to}; absent ones count as 0. */
    record Transfer(String key, String to, long amount) implements Operation {
    }

    /**
     * Takes the lock unless it is held; the token is the entry's index plus 1, so that a later one is greater. The
     * register holds the token, negative once it was released.
     */
    record Acquire(String key) implements Operation {
    }

    /** Releases the lock if this token holds it. */
    record Release(String key, long token) implements Operation {
    }

    /** Appends to the log by the library's own call, which returns the entry's index. */
    record Append(String key, long value) implements Operation {
    }

    /** Reads the value appended at this index by the library's own call to the leader; null if none is committed. */
    record Get(String key, long index) implements Operation {
    }

    /** An operation that changes nothing and is answered from the state, through the log or from this node's memory. */
    sealed interface Query extends Operation {
        Mode mode();
    }

    /** Reads one register. */
    record Read(String key, Mode mode) implements Query {
    }

    /** Reads all registers whose keys begin with {@code key}, at one instant. */
    record Scan(String key, Mode mode) implements Query {
    }

    /** Reads everything that was appended to the log under this key and has been applied. */
    record Entries(String key, Mode mode) implements Query {
    }

    /** Through the log: linearizable by design. From memory: stale at any time. */
    enum Mode {
        LOG,
        UNSAFE
    }
}
