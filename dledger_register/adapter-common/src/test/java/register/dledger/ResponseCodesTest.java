package register.dledger;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import register.replica.OutcomeLaw;
import register.replica.Stage;

/** The outcome law sorts numbers; these are the names that this version gives to them. */
class ResponseCodesTest {

    private static Set<String> namesIn(Stage stage) {
        return Arrays.stream(DLedgerResponseCode.values())
                .filter(code -> OutcomeLaw.stage(code.getCode(), true) == stage)
                .map(Enum::name)
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
