package register.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import register.replica.OutcomeLaw;
import register.replica.Stage;

/** The outcome law sorts numbers; these are the names that every version gives to them. */
public abstract class ResponseCodesContract {

    /** All response codes of the library, by their names. */
    protected abstract Map<String, Integer> codes();

    private Set<String> namesIn(Stage stage) {
        return codes().entrySet().stream()
                .filter(code -> OutcomeLaw.stage(code.getValue(), true) == stage)
                .map(Map.Entry::getKey)
                .collect(Collectors.toSet());
    }

    @Test
    void refusals() {
        assertEquals(
                Set.of(
                        "METADATA_ERROR", "UNSUPPORTED", "UNKNOWN_GROUP", "UNKNOWN_MEMBER", "UNEXPECTED_MEMBER",
                        "NOT_LEADER", "UNEXPECTED_ARGUMENT", "DISK_FULL", "REQUEST_WITH_EMPTY_BODYS",
                        "LEADER_PENDING_FULL", "LEADER_TRANSFERRING"),
                namesIn(Stage.BEFORE_APPEND));
    }

    @Test
    void pending() {
        assertEquals(
                Set.of("EXPIRED_TERM", "TERM_CHANGED", "WAIT_QUORUM_ACK_TIMEOUT"), namesIn(Stage.AFTER_APPEND));
    }
}
