package register.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import register.state.Operation;

class RequestParserTest {

    private static Request parse(String line) throws BadRequest {
        return RequestParser.parse(line.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    void operations() throws BadRequest {
        assertEquals(
                new Request(1L, new Operation.Write("k0", 7)),
                parse("{\"id\":1,\"op\":\"write\",\"key\":\"k0\",\"value\":7}"));
        assertEquals(
                new Request(2L, new Operation.Read("k0", Operation.Mode.LOG)),
                parse("{\"id\":2,\"op\":\"read\",\"key\":\"k0\",\"mode\":\"log\"}"));
        assertEquals(
                new Request(2L, new Operation.Read("k0", Operation.Mode.LOG)),
                parse("{\"id\":2,\"op\":\"read\",\"key\":\"k0\"}"));
        assertEquals(
                new Request(2L, new Operation.Read("k0", Operation.Mode.UNSAFE)),
                parse(" {\"mode\":\"unsafe\", \"key\":\"k0\", \"op\":\"read\", \"id\":2 } "));
        assertEquals(
                new Request(3L, new Operation.Cas("k0", 7L, -8)),
                parse("{\"id\":3,\"op\":\"cas\",\"key\":\"k0\",\"old\":7,\"new\":-8}"));
        assertEquals(
                new Request("x", new Operation.Cas("k0", null, 8)),
                parse("{\"id\":\"x\",\"op\":\"cas\",\"key\":\"k0\",\"old\":null,\"new\":8}"));
        assertEquals(
                new Request(5L, new Operation.Add("k0", -8)),
                parse("{\"id\":5,\"op\":\"add\",\"key\":\"k0\",\"value\":-8}"));
        assertEquals(
                new Request(5L, new Operation.Scan("s/", Operation.Mode.LOG)),
                parse("{\"id\":5,\"op\":\"scan\",\"key\":\"s/\"}"));
        assertEquals(
                new Request(5L, new Operation.Transfer("a", "b", 3)),
                parse("{\"id\":5,\"op\":\"transfer\",\"key\":\"a\",\"to\":\"b\",\"value\":3}"));
        assertEquals(
                new Request(5L, new Operation.Acquire("l")), parse("{\"id\":5,\"op\":\"acquire\",\"key\":\"l\"}"));
        assertEquals(
                new Request(5L, new Operation.Release("l", 4)),
                parse("{\"id\":5,\"op\":\"release\",\"key\":\"l\",\"token\":4}"));
        assertEquals(
                new Request(5L, new Operation.Append("log", 4)),
                parse("{\"id\":5,\"op\":\"append\",\"key\":\"log\",\"value\":4}"));
        assertEquals(
                new Request(5L, new Operation.Get("log", 0)),
                parse("{\"id\":5,\"op\":\"get\",\"key\":\"log\",\"index\":0}"));
        assertEquals(
                new Request(5L, new Operation.Entries("log", Operation.Mode.UNSAFE)),
                parse("{\"id\":5,\"op\":\"entries\",\"key\":\"log\",\"mode\":\"unsafe\"}"));
        assertTrue(parse("{\"id\":4,\"op\":\"status\"}").isStatus());
    }

    @Test
    void extremeValues() throws BadRequest {
        assertEquals(
                new Request(Long.MIN_VALUE, new Operation.Write("k", Long.MAX_VALUE)),
                parse("{\"id\":-9223372036854775808,\"op\":\"write\",\"key\":\"k\",\"value\":9223372036854775807}"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            ``                                                       | a request is one JSON object
            quark                                                    | not a JSON object in one line
            [1]                                                      | a request is one JSON object
            {"id":1,"op":"status"                                    | not a JSON object in one line
            {"id":1,"op":"status"} {}                                | more than one JSON value
            {"id":1,"id":1,"op":"status"}                            | not a JSON object in one line: Duplicate field
            {"op":"status"}                                          | id: missing
            {"id":null,"op":"status"}                                | id: missing
            {"id":1.5,"op":"status"}                                 | id: expected a string, an integer or null
            {"id":1}                                                 | op: one of acquire, add, append, cas, entries
            {"id":1,"op":"add"}                                      | key: expected a string that is not empty
            {"id":1,"op":"transfer","key":"k","value":1}             | to: expected a string that is not empty
            {"id":1,"op":"release","key":"k"}                        | token: expected an integer of 64 bits
            {"id":1,"op":"acquire","key":"k","token":1}              | acquire knows no field token
            {"id":1,"op":7}                                          | op: one of acquire, add, append, cas, entries
            {"id":1,"op":"status","key":"k"}                         | status knows no field key
            {"id":1,"op":"write","value":1}                          | key: expected a string that is not empty
            {"id":1,"op":"write","key":"","value":1}                 | key: expected a string that is not empty
            {"id":1,"op":"write","key":1,"value":1}                  | key: expected a string that is not empty
            {"id":1,"op":"write","key":"k"}                          | value: expected an integer of 64 bits
            {"id":1,"op":"write","key":"k","value":null}             | value: expected an integer of 64 bits
            {"id":1,"op":"write","key":"k","value":"1"}              | value: expected an integer of 64 bits
            {"id":1,"op":"write","key":"k","value":1.0}              | value: expected a string, an integer or null
            {"id":1,"op":"write","key":"k","value":9223372036854775808} | not a JSON object in one line
            {"id":1,"op":"write","key":"k","value":true}             | value: expected a string, an integer or null
            {"id":1,"op":"write","key":"k","value":[1]}              | value: expected a string, an integer or null
            {"id":1,"op":"cas","key":"k","new":1}                    | old: missing
            {"id":1,"op":"cas","key":"k","old":1}                    | new: expected an integer of 64 bits
            {"id":1,"op":"cas","key":"k","old":1,"new":null}         | new: expected an integer of 64 bits
            {"id":1,"op":"read","key":"k","mode":"lease"}            | mode: one of log, unsafe, not lease
            {"id":1,"op":"read","key":"k","mode":null}               | mode: one of log, unsafe, not null
            {"id":1,"op":"read","key":"k","value":1}                 | read knows no field value
            """)
    void badLines(String line, String message) {
        BadRequest bad = assertThrows(BadRequest.class, () -> parse(line));
        assertTrue(bad.getMessage().startsWith(message), bad.getMessage());
    }

    @Test
    void aBadRequestKeepsItsId() {
        BadRequest bad = assertThrows(BadRequest.class, () -> parse("{\"id\":\"x\",\"op\":\"nix\"}"));
        assertEquals("x", bad.id());
        bad = assertThrows(BadRequest.class, () -> parse("{\"id\":3,\"op\":\"write\",\"value\":{}}"));
        assertEquals(3L, bad.id());
    }

    @Test
    void keyTooLong() {
        String key = "€".repeat(86);
        assertThrows(BadRequest.class, () -> parse("{\"id\":1,\"op\":\"read\",\"key\":\"" + key + "\"}"));
    }

    @Test
    void notUtf8() {
        byte[] line = "{\"id\":1,\"op\":\"read\",\"key\":\"?\"}".getBytes(StandardCharsets.UTF_8);
        line[line.length - 3] = (byte) 0xff;
        assertThrows(BadRequest.class, () -> RequestParser.parse(line));
    }
}
