package register.replica;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The outcome table, code by code. A write is `fail` only in stage before-append, `info` in both others. */
class OutcomeLawTest {

    @ParameterizedTest
    @CsvSource({
        "-1,  UNKNOWN",       // UNKNOWN
        "300, UNKNOWN",       // TIMEOUT
        "301, BEFORE_APPEND", // METADATA_ERROR
        "302, UNKNOWN",       // NETWORK_ERROR
        "303, BEFORE_APPEND", // UNSUPPORTED
        "400, BEFORE_APPEND", // UNKNOWN_GROUP
        "401, BEFORE_APPEND", // UNKNOWN_MEMBER
        "402, BEFORE_APPEND", // UNEXPECTED_MEMBER
        "403, AFTER_APPEND",  // EXPIRED_TERM
        "404, BEFORE_APPEND", // NOT_LEADER
        "405, UNKNOWN",       // NOT_FOLLOWER
        "406, UNKNOWN",       // INCONSISTENT_STATE
        "407, UNKNOWN",       // INCONSISTENT_TERM
        "408, UNKNOWN",       // INCONSISTENT_INDEX
        "409, UNKNOWN",       // INCONSISTENT_LEADER
        "410, UNKNOWN",       // INDEX_OUT_OF_RANGE
        "411, BEFORE_APPEND", // UNEXPECTED_ARGUMENT
        "412, UNKNOWN",       // REPEATED_REQUEST
        "413, UNKNOWN",       // REPEATED_PUSH
        "414, UNKNOWN",       // DISK_ERROR
        "415, BEFORE_APPEND", // DISK_FULL
        "416, UNKNOWN",       // TERM_NOT_READY
        "417, UNKNOWN",       // FALL_BEHIND_TOO_MUCH
        "418, UNKNOWN",       // TAKE_LEADERSHIP_FAILED
        "419, UNKNOWN",       // INDEX_LESS_THAN_LOCAL_BEGIN
        "420, BEFORE_APPEND", // REQUEST_WITH_EMPTY_BODYS
        "421, UNKNOWN",       // PUSH_REQUEST_IS_FULL
        "422, UNKNOWN",       // NEWER_INSTALL_SNAPSHOT_REQUEST_EXIST
        "500, UNKNOWN",       // INTERNAL_ERROR
        "501, AFTER_APPEND",  // TERM_CHANGED
        "502, AFTER_APPEND",  // WAIT_QUORUM_ACK_TIMEOUT
        "503, BEFORE_APPEND", // LEADER_PENDING_FULL
        "504, UNKNOWN",       // ILLEGAL_MEMBER_STATE
        "505, UNKNOWN",       // LEADER_NOT_READY
        "506, BEFORE_APPEND", // LEADER_TRANSFERRING
        "507, UNKNOWN",       // LOAD_SNAPSHOT_ERROR
        "508, UNKNOWN",       // INSTALL_SNAPSHOT_ERROR
        "999, UNKNOWN"        // no such code
    })
    void insideTheCall(int code, Stage stage) {
        assertEquals(stage, OutcomeLaw.stage(code, true));
    }

    /** Once the entry is in the log no code whatever takes it out again. */
    @Test
    void afterTheCallNothingIsARefusal() {
        for (int code = -10; code < 2000; code++) {
            assertEquals(Stage.AFTER_APPEND, OutcomeLaw.stage(code, false));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"boom", ""})
    void aThrowableProvesNothing(String message) {
        Failure failure = Failure.unforeseen(new NullPointerException(message));
        assertNotEquals(Stage.BEFORE_APPEND, failure.stage());
        assertEquals(500, failure.code());
    }

    @Test
    void ourOwnRefusalsNeverReachDledger() {
        for (Failure.Refusal why : Failure.Refusal.values()) {
            Failure failure = Failure.refused(why, "x");
            assertEquals(Stage.BEFORE_APPEND, failure.stage());
            assertEquals(why.name(), failure.name());
        }
    }
}
