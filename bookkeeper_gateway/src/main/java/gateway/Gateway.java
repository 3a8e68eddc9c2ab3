package gateway;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Carries out requests, and answers each by its deadline.
 *
 * <p>A handle is a number that no other gateway has given, and no earlier process of this one.
 */
final class Gateway {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int MOST_ADDS = 4096;
    private static final long MOST_READ = 8192;

    /** A handle, and whether it has already answered an add by saying that it takes no more. */
    private static final class Open {
        private final Ledger ledger;
        private volatile boolean sealed;

        Open(Ledger ledger) {
            this.ledger = ledger;
        }
    }

    @FunctionalInterface
    private interface Operation {
        CompletableFuture<ObjectNode> start(JsonNode request, long deadlineNanos) throws Failure;
    }

    private final Ledgers ledgers;
    private final ScheduledExecutorService clock;
    private final AtomicLong next;
    private final Map<Long, Open> handles = new ConcurrentHashMap<>();
    private final Map<String, Operation> operations;

    /** Makes a gateway whose handles count up from {@code first}. */
    Gateway(Ledgers ledgers, ScheduledExecutorService clock, long first) {
        this.ledgers = ledgers;
        this.clock = clock;
        this.next = new AtomicLong(first);
        this.operations = Map.of(
                "create", this::create, "add", this::add, "readLAC", this::readLac, "read", this::read,
                "close", this::close, "openRecover", (request, deadline) -> open(request, true),
                "openNoRecover", (request, deadline) -> open(request, false), "metadata", this::metadata,
                "status", this::status);
    }

    /** Answers one line. The future always ends with an answer, within the request's {@code timeout_ms}. */
    CompletableFuture<ObjectNode> answer(String line) {
        JsonNode request;
        try {
            request = JSON.readTree(line);
        } catch (java.io.IOException malformed) {
            return CompletableFuture.completedFuture(failed(JSON.nullNode(), bad("no JSON")));
        }
        JsonNode id = request.path("id").isMissingNode() ? JSON.nullNode() : request.get("id");
        CompletableFuture<ObjectNode> done;
        try {
            Operation operation = operations.get(request.path("op").asText());
            if (operation == null) {
                throw bad("no such op");
            }
            long timeout = number(request, "timeout_ms", 1, 3_600_000);
            done = operation.start(request, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeout));
            done = within(done, timeout);
        } catch (Failure failure) {
            done = CompletableFuture.failedFuture(failure);
        } catch (RuntimeException unexpected) {
            done = CompletableFuture.failedFuture(Failure.of(unexpected));
        }
        return done.handle((value, thrown) -> thrown != null ? failed(id, Failure.of(thrown)) : ok(id, value));
    }

    // -- operations -------------------------------------------------------------------------------------------------

    private CompletableFuture<ObjectNode> create(JsonNode request, long deadline) throws Failure {
        int write = (int) number(request, "write", 1, 100);
        return ledgers.create(
                (int) number(request, "ensemble", 1, 100), write, (int) number(request, "ack", 1, write))
                .thenApply(this::opened);
    }

    private CompletableFuture<ObjectNode> open(JsonNode request, boolean recovery) throws Failure {
        return ledgers.open(number(request, "ledger", 0, Long.MAX_VALUE), recovery).thenApply(this::opened);
    }

    private ObjectNode opened(Ledger ledger) {
        long handle = next.getAndIncrement();
        handles.put(handle, new Open(ledger));
        ObjectNode answer = JSON.createObjectNode();
        answer.put("handle", handle).put("ledger", ledger.id());
        return answer.put("last", ledger.last()).put("length", ledger.length());
    }

    /**
     * Adds {@code count} entries at once, and waits for all of them, or until shortly before the deadline.
     *
     * <p>{@code ids} has null for each that is not acknowledged; {@code sealed} says that, before the first was
     * submitted, this handle had answered that it takes no more.
     */
    private CompletableFuture<ObjectNode> add(JsonNode request, long deadline) throws Failure {
        Open open = handle(request);
        long first = number(request, "first", 0, Long.MAX_VALUE / 2);
        int count = (int) number(request, "count", 1, MOST_ADDS);
        boolean sealed = open.sealed;
        List<CompletableFuture<Long>> adds = new ArrayList<>(count);
        for (int place = 0; place < count; place++) {
            CompletableFuture<Long> added = open.ledger.add(Payload.encode(first + place));
            adds.add(added.whenComplete((id, thrown) -> {
                if (thrown != null && Failure.of(thrown).seals()) {
                    open.sealed = true;
                }
            }));
        }
        CompletableFuture<?> all = CompletableFuture.allOf(adds.toArray(CompletableFuture[]::new));
        CompletableFuture<ObjectNode> answered = new CompletableFuture<>();
        Runnable answer = () -> answered.complete(outcomes(adds, sealed));
        all.whenComplete((nothing, thrown) -> answer.run());
        long left = deadline - System.nanoTime();
        clock.schedule(answer, left - left / 10, TimeUnit.NANOSECONDS);
        return answered;
    }

    private static ObjectNode outcomes(List<CompletableFuture<Long>> adds, boolean sealed) {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode ids = answer.putArray("ids");
        Map<String, Integer> codes = new TreeMap<>();
        for (CompletableFuture<Long> add : adds) {
            Object outcome = add.handle((id, thrown) -> thrown == null ? (Object) id : Failure.of(thrown)).getNow(null);
            if (outcome instanceof Long id) {
                ids.add(id);
                continue;
            }
            ids.addNull();
            int code = outcome instanceof Failure failure ? failure.code() : Failure.DEADLINE;
            codes.merge(Integer.toString(code), 1, Integer::sum);
        }
        ObjectNode counts = answer.putObject("codes");
        codes.forEach(counts::put);
        return answer.put("sealed", sealed);
    }

    private CompletableFuture<ObjectNode> readLac(JsonNode request, long deadline) throws Failure {
        return handle(request).ledger.readLac().thenApply(lac -> JSON.createObjectNode().put("lac", lac));
    }

    /** Returns the numbers of the entries and their size; with {@code each}, null for an entry that no replica has. */
    private CompletableFuture<ObjectNode> read(JsonNode request, long deadline) throws Failure {
        Ledger ledger = handle(request).ledger;
        long first = number(request, "first", 0, Long.MAX_VALUE);
        long last = number(request, "last", first, first + MOST_READ - 1);
        boolean each = request.path("each").asBoolean();
        return ledger.read(first, last).thenApply(Gateway::entries).exceptionallyCompose(thrown ->
                each && Failure.of(thrown).absent()
                        ? oneByOne(ledger, first, last, deadline)
                        : CompletableFuture.failedFuture(thrown));
    }

    private static CompletableFuture<ObjectNode> oneByOne(Ledger ledger, long first, long last, long deadline) {
        CompletableFuture<List<byte[]>> found = CompletableFuture.completedFuture(new ArrayList<>());
        for (long place = first; place <= last; place++) {
            long id = place;
            found = found.thenCompose(before -> {
                if (System.nanoTime() > deadline) {
                    return CompletableFuture.failedFuture(new Failure(Failure.DEADLINE, "reading one by one"));
                }
                return ledger.read(id, id).handle((entries, thrown) -> {
                    if (thrown != null && !Failure.of(thrown).absent()) {
                        throw new java.util.concurrent.CompletionException(Failure.of(thrown));
                    }
                    before.add(thrown == null ? entries.get(0) : null);
                    return before;
                });
            });
        }
        return found.thenApply(Gateway::entries);
    }

    private static ObjectNode entries(List<byte[]> found) {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode numbers = answer.putArray("entries");
        long bytes = 0;
        for (byte[] entry : found) {
            if (entry == null) {
                numbers.addNull();
            } else {
                numbers.add(Payload.decode(entry));
                bytes += entry.length;
            }
        }
        return answer.put("bytes", bytes);
    }

    private CompletableFuture<ObjectNode> close(JsonNode request, long deadline) throws Failure {
        Open open = handle(request);
        handles.remove(request.get("handle").asLong());
        return open.ledger.close().thenApply(nothing -> JSON.createObjectNode()
                .put("last", open.ledger.last()).put("length", open.ledger.length()));
    }

    private CompletableFuture<ObjectNode> metadata(JsonNode request, long deadline) throws Failure {
        return ledgers.metadata(number(request, "ledger", 0, Long.MAX_VALUE)).thenApply(known ->
                JSON.createObjectNode().put("state", known.state())
                        .put("last", known.last()).put("length", known.length()));
    }

    private CompletableFuture<ObjectNode> status(JsonNode request, long deadline) {
        ObjectNode answer = JSON.createObjectNode();
        answer.put("pid", ProcessHandle.current().pid()).put("handles", handles.size());
        try {
            return CompletableFuture.completedFuture(answer.put("writable_bookies", ledgers.writable()));
        } catch (Exception unknown) {
            return CompletableFuture.failedFuture(Failure.of(unknown));
        }
    }

    // -- answers ----------------------------------------------------------------------------------------------------

    private CompletableFuture<ObjectNode> within(CompletableFuture<ObjectNode> done, long timeoutMs) {
        Failure late = new Failure(Failure.DEADLINE, "no result within " + timeoutMs + " ms");
        var alarm = clock.schedule(() -> done.completeExceptionally(late), timeoutMs, TimeUnit.MILLISECONDS);
        done.whenComplete((value, thrown) -> alarm.cancel(false));
        return done;
    }

    private Open handle(JsonNode request) throws Failure {
        Open open = handles.get(request.path("handle").asLong(-1));
        if (open == null) {
            throw new Failure(Failure.NO_HANDLE, "no such handle");
        }
        return open;
    }

    private static long number(JsonNode request, String name, long least, long most) throws Failure {
        JsonNode value = request.path(name);
        if (!value.canConvertToLong() || !value.isIntegralNumber() || value.asLong() < least || value.asLong() > most) {
            throw bad(name + " must be a whole number from " + least + " to " + most);
        }
        return value.asLong();
    }

    private static Failure bad(String why) {
        return new Failure(Failure.BAD_REQUEST, why);
    }

    private static ObjectNode ok(JsonNode id, ObjectNode value) {
        ObjectNode answer = JSON.createObjectNode();
        answer.set("id", id);
        answer.put("ok", true);
        answer.set("value", value);
        return answer;
    }

    private static ObjectNode failed(JsonNode id, Failure failure) {
        ObjectNode answer = JSON.createObjectNode();
        answer.set("id", id);
        return answer.put("ok", false).put("code", failure.code()).put("error", failure.getMessage());
    }
}
