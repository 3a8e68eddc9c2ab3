package register.protocol;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import register.replica.Failure;
import register.replica.ReplicaStatus;
import register.state.Operation;
import register.state.Result;
import register.state.StateMark;

/** Writes answers, each as a JSON object on one line, including the newline. */
public final class Answers {

    private static final JsonFactory JSON = new JsonFactory();

    private Answers() {
    }

    /** The part of a status answer that does not come from the replica. */
    public record Process(
            String node,
            String version,
            int snapshotsSaved,
            int snapshotsLoaded,
            long unappliedOks,
            long applyErrors,
            long reapplied,
            long undecodable,
            StateMark state,
            String fault,
            long clockMs,
            long pid) {
    }

    @FunctionalInterface
    private interface Body {
        void write(JsonGenerator json) throws IOException;
    }

    private static byte[] line(Object id, boolean ok, Body body) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(192);
        try (JsonGenerator json = JSON.createGenerator(bytes, JsonEncoding.UTF8)) {
            json.writeStartObject();
            writeId(json, id);
            json.writeBooleanField("ok", ok);
            body.write(json);
            json.writeEndObject();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
        bytes.write('\n');
        return bytes.toByteArray();
    }

    private static void writeId(JsonGenerator json, Object id) throws IOException {
        if (id instanceof Long number) {
            json.writeNumberField("id", number);
        } else {
            json.writeStringField("id", (String) id);
        }
    }

    /** Returns the answer to an acknowledged operation, with term and leader as this node sees them now. */
    public static byte[] ok(
            Object id, Operation operation, Result result, boolean applied, long term, String leader) {
        return line(id, true, json -> {
            writeResult(json, operation, result);
            json.writeBooleanField("applied", applied);
            json.writeNumberField("term", term);
            json.writeStringField("leader", leader);
        });
    }

    private static void writeResult(JsonGenerator json, Operation operation, Result result) throws IOException {
        if (operation instanceof Operation.Read || operation instanceof Operation.Get) {
            writeLong(json, "value", result.value());
        } else if (operation instanceof Operation.Query) {
            writeAll(json, result.values());
        } else if (operation instanceof Operation.Append) {
            writeLong(json, "index", result == null ? null : result.value());
        } else if (operation instanceof Operation.Transfer) {
            writeAll(json, result == null ? null : result.values());
        } else if (operation instanceof Operation.Cas) {
            writeWhether(json, "swapped", "value", result, false);
        } else if (operation instanceof Operation.Acquire) {
            writeWhether(json, "acquired", "token", result, true);
        } else if (operation instanceof Operation.Release) {
            writeWhether(json, "released", "token", result, false);
        }
    }

    /** Writes whether the operation took place. Without a result that is unknown, hence null and never a guess. */
    private static void writeWhether(
            JsonGenerator json, String name, String seen, Result result, boolean also) throws IOException {
        if (result == null) {
            json.writeNullField(name);
        } else {
            json.writeBooleanField(name, result.swapped());
            if (also || !result.swapped()) {
                writeLong(json, seen, result.value());
            }
        }
    }

    private static void writeAll(JsonGenerator json, Map<String, Long> values) throws IOException {
        json.writeFieldName("values");
        if (values == null) {
            json.writeNull();
            return;
        }
        json.writeStartObject();
        for (Map.Entry<String, Long> one : values.entrySet()) {
            json.writeNumberField(one.getKey(), one.getValue());
        }
        json.writeEndObject();
    }

    public static byte[] error(Object id, Failure failure, String leader) {
        return line(id, false, json -> {
            json.writeNumberField("code", failure.code());
            json.writeStringField("name", failure.name());
            json.writeStringField("stage", failure.stage().label());
            json.writeStringField("message", failure.message());
            json.writeStringField("leader", leader);
        });
    }

    public static byte[] status(Object id, ReplicaStatus status, Process process) {
        return line(id, true, json -> {
            json.writeStringField("node", process.node());
            json.writeStringField("role", status.role());
            json.writeNumberField("term", status.term());
            json.writeStringField("leader", status.leader());
            json.writeNumberField("ledgerBegin", status.ledgerBegin());
            json.writeNumberField("ledgerEnd", status.ledgerEnd());
            json.writeNumberField("committed", status.committed());
            json.writeNumberField("applied", status.applied());
            json.writeNumberField("stateIndex", process.state().index());
            json.writeStringField("digest", process.state().digest());
            json.writeNumberField("snapshotsSaved", process.snapshotsSaved());
            json.writeNumberField("snapshotsLoaded", process.snapshotsLoaded());
            json.writeNumberField("clockMs", process.clockMs());
            json.writeStringField("version", process.version());
            json.writeNumberField("unappliedOks", process.unappliedOks());
            json.writeNumberField("applyErrors", process.applyErrors());
            json.writeNumberField("reapplied", process.reapplied());
            json.writeNumberField("undecodable", process.undecodable());
            json.writeStringField("fault", process.fault());
            json.writeNumberField("pid", process.pid());
        });
    }

    private static void writeLong(JsonGenerator json, String name, Long value) throws IOException {
        json.writeFieldName(name);
        if (value == null) {
            json.writeNull();
        } else {
            json.writeNumber(value);
        }
    }
}
