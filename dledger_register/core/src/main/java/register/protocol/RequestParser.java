package register.protocol;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import register.state.Entry;
import register.state.Operation;

/** Parses a request, a flat JSON object. Strict: a misread request would be an operation that no client invoked. */
public final class RequestParser {

    private static final JsonFactory JSON =
            JsonFactory.builder().enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION).build();
    private static final Map<String, Set<String>> FIELDS = Map.ofEntries(
            Map.entry("write", Set.of("id", "op", "key", "value")),
            Map.entry("read", Set.of("id", "op", "key", "mode")),
            Map.entry("cas", Set.of("id", "op", "key", "old", "new")),
            Map.entry("add", Set.of("id", "op", "key", "value")),
            Map.entry("scan", Set.of("id", "op", "key", "mode")),
            Map.entry("transfer", Set.of("id", "op", "key", "to", "value")),
            Map.entry("acquire", Set.of("id", "op", "key")),
            Map.entry("release", Set.of("id", "op", "key", "token")),
            Map.entry("append", Set.of("id", "op", "key", "value")),
            Map.entry("get", Set.of("id", "op", "key", "index")),
            Map.entry("entries", Set.of("id", "op", "key", "mode")),
            Map.entry("status", Set.of("id", "op")));

    private RequestParser() {
    }

    /** Parses one line without its newline. Throws BadRequest, with the id if it was read. */
    public static Request parse(byte[] line) throws BadRequest {
        Map<String, Object> fields = new HashMap<>();
        try (JsonParser json = JSON.createParser(line)) {
            read(json, fields);
        } catch (IOException error) {
            throw new BadRequest(idOrNull(fields), "not a JSON object in one line: " + firstLine(error));
        }
        return request(fields);
    }

    private static void read(JsonParser json, Map<String, Object> fields) throws IOException, BadRequest {
        if (json.nextToken() != JsonToken.START_OBJECT) {
            throw new BadRequest(null, "a request is one JSON object");
        }
        for (String name = json.nextFieldName(); name != null; name = json.nextFieldName()) {
            fields.put(name, scalar(json, name, fields));
        }
        if (json.currentToken() != JsonToken.END_OBJECT || json.nextToken() != null) {
            throw new BadRequest(idOrNull(fields), "more than one JSON value in the line");
        }
    }

    private static Object scalar(JsonParser json, String name, Map<String, Object> fields)
            throws IOException, BadRequest {
        JsonToken token = json.nextToken();
        if (token == JsonToken.VALUE_STRING) {
            return json.getText();
        }
        if (token == JsonToken.VALUE_NUMBER_INT) {
            return json.getLongValue();
        }
        if (token == JsonToken.VALUE_NULL) {
            return null;
        }
        throw new BadRequest(idOrNull(fields), name + ": expected a string, an integer or null");
    }

    private static Request request(Map<String, Object> fields) throws BadRequest {
        Object id = idOrNull(fields);
        if (id == null) {
            throw new BadRequest(null, "id: missing");
        }
        Object op = fields.get("op");
        Set<String> known = op instanceof String name ? FIELDS.get(name) : null;
        if (known == null) {
            throw new BadRequest(id, "op: one of " + String.join(", ", new TreeSet<>(FIELDS.keySet())) + ", not " + op);
        }
        for (String name : fields.keySet()) {
            if (!known.contains(name)) {
                throw new BadRequest(id, op + " knows no field " + name);
            }
        }
        return new Request(id, operation((String) op, id, fields));
    }

    private static Operation operation(String op, Object id, Map<String, Object> fields) throws BadRequest {
        if (op.equals("status")) {
            return null;
        }
        String key = key(id, fields, "key");
        return switch (op) {
            case "write" -> new Operation.Write(key, integer(id, fields, "value"));
            case "read" -> new Operation.Read(key, mode(id, fields));
            case "cas" -> new Operation.Cas(key, integerOrNull(id, fields, "old"), integer(id, fields, "new"));
            case "add" -> new Operation.Add(key, integer(id, fields, "value"));
            case "scan" -> new Operation.Scan(key, mode(id, fields));
            case "transfer" -> new Operation.Transfer(key, key(id, fields, "to"), integer(id, fields, "value"));
            case "acquire" -> new Operation.Acquire(key);
            case "release" -> new Operation.Release(key, integer(id, fields, "token"));
            case "append" -> new Operation.Append(key, integer(id, fields, "value"));
            case "get" -> new Operation.Get(key, integer(id, fields, "index"));
            case "entries" -> new Operation.Entries(key, mode(id, fields));
            default -> throw new BadRequest(id, "op: " + op);
        };
    }

    private static String key(Object id, Map<String, Object> fields, String name) throws BadRequest {
        if (!(fields.get(name) instanceof String key) || key.isEmpty()) {
            throw new BadRequest(id, name + ": expected a string that is not empty");
        }
        if (key.getBytes(StandardCharsets.UTF_8).length > Entry.MAX_KEY_BYTES) {
            throw new BadRequest(id, name + ": more than " + Entry.MAX_KEY_BYTES + " bytes");
        }
        return key;
    }

    private static long integer(Object id, Map<String, Object> fields, String name) throws BadRequest {
        if (fields.get(name) instanceof Long value) {
            return value;
        }
        throw new BadRequest(id, name + ": expected an integer of 64 bits");
    }

    private static Long integerOrNull(Object id, Map<String, Object> fields, String name) throws BadRequest {
        if (!fields.containsKey(name)) {
            throw new BadRequest(id, name + ": missing (null stands for an absent register)");
        }
        return fields.get(name) == null ? null : integer(id, fields, name);
    }

    private static Operation.Mode mode(Object id, Map<String, Object> fields) throws BadRequest {
        Object mode = fields.getOrDefault("mode", "log");
        if ("log".equals(mode)) {
            return Operation.Mode.LOG;
        }
        if ("unsafe".equals(mode)) {
            return Operation.Mode.UNSAFE;
        }
        throw new BadRequest(id, "mode: one of log, unsafe, not " + mode);
    }

    private static Object idOrNull(Map<String, Object> fields) {
        return fields.get("id");
    }

    private static String firstLine(IOException error) {
        return String.valueOf(error.getMessage()).lines().findFirst().orElse("");
    }
}
