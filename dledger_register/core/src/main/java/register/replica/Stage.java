package register.replica;

/**
 * When an error arose. Only {@link #BEFORE_APPEND} proves that the operation has no effect and never will have; both
 * others mean that the entry may be in a log and may be committed later.
 */
public enum Stage {
    BEFORE_APPEND("before-append"),
    AFTER_APPEND("after-append"),
    UNKNOWN("unknown");

    private final String label;

    Stage(String label) {
        this.label = label;
    }

    public String label() {
        return label;
    }
}
