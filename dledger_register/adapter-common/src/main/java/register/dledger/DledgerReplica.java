package register.dledger;

import io.openmessaging.storage.dledger.DLedgerConfig;
import io.openmessaging.storage.dledger.DLedgerServer;
import io.openmessaging.storage.dledger.MemberState;
import io.openmessaging.storage.dledger.protocol.AppendEntryRequest;
import io.openmessaging.storage.dledger.protocol.AppendEntryResponse;
import io.openmessaging.storage.dledger.protocol.DLedgerResponseCode;
import io.openmessaging.storage.dledger.protocol.GetEntriesRequest;
import io.openmessaging.storage.dledger.protocol.GetEntriesResponse;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import register.replica.Completion;
import register.replica.Failure;
import register.replica.Replica;
import register.replica.ReplicaStatus;
import register.state.Entry;
import register.state.LogView;
import register.state.Operation;
import register.state.RegisterMachine;
import register.state.Result;

/** A member of a group, as far as all versions of DLedger have the same calls for it. */
public abstract class DledgerReplica implements Replica {

    protected static final String BY_LIBRARY = "answered by DLedger";

    protected final DLedgerServer server;

    protected DledgerReplica(DLedgerConfig config, RegisterMachine machine) {
        this.server = new DLedgerServer(config);
        machine.reads(new LogView() {
            @Override
            public long begin() {
                return DledgerReplica.this.begin();
            }

            @Override
            public byte[] body(long index) {
                return server.getDLedgerStore().get(index).getBody();
            }
        });
    }

    /** Returns the index of the first entry that the log still has, 0 for an empty log. */
    protected abstract long begin();

    /** Returns the index of the last committed entry, -1 for none. */
    protected abstract long committed();

    /** Returns the index of the last applied entry, -1 for none. */
    protected abstract long applied();

    @Override
    public final void start() {
        server.startup();
    }

    /** Appends an entry by the library's own call. */
    protected final void append(Entry entry, LongConsumer acknowledgedAt, Consumer<Failure> failed) {
        AppendEntryRequest request = new AppendEntryRequest();
        request.setGroup(server.getMemberState().getGroup());
        request.setRemoteId(server.getMemberState().getSelfId());
        request.setBody(entry.encode());
        CompletableFuture<AppendEntryResponse> acknowledged;
        try {
            acknowledged = server.handleAppend(request);
        } catch (IOException | RuntimeException error) {
            failed.accept(Failure.unforeseen(error));
            return;
        }
        boolean insideCall = acknowledged.isDone();
        acknowledged.whenComplete((response, error) -> {
            if (error != null) {
                failed.accept(Failure.unforeseen(error));
            } else if (response.getCode() == DLedgerResponseCode.SUCCESS.getCode()) {
                acknowledgedAt.accept(response.getIndex());
            } else {
                failed.accept(failure(DLedgerResponseCode.valueOf(response.getCode()), insideCall, BY_LIBRARY));
            }
        });
    }

    /** Reads an entry by the library's own get, but hides entries that are not committed. */
    protected final void get(Operation.Get get, Completion completion) {
        // Read the committed index first: entries committed by now stay where they are.
        long committed = committed();
        GetEntriesRequest request = new GetEntriesRequest();
        request.setGroup(server.getMemberState().getGroup());
        request.setRemoteId(server.getMemberState().getSelfId());
        request.setBeginIndex(get.index());
        try {
            GetEntriesResponse response = server.handleGet(request).join();
            if (response.getCode() != DLedgerResponseCode.SUCCESS.getCode()) {
                completion.fail(failure(DLedgerResponseCode.valueOf(response.getCode()), true, BY_LIBRARY));
            } else {
                byte[] body = response.getEntries().isEmpty() ? null : response.getEntries().get(0).getBody();
                completion.ok(Result.read(get.index() > committed ? null : Entry.appended(body, get.key())), true);
            }
        } catch (IOException | RuntimeException error) {
            completion.fail(Failure.unforeseen(error));
        }
    }

    protected static Failure failure(DLedgerResponseCode code, boolean insideCall, String message) {
        return Failure.answered(code.getCode(), code.name(), insideCall, message);
    }

    @Override
    public final ReplicaStatus status() {
        MemberState state = server.getMemberState();
        return new ReplicaStatus(
                state.getRole().name(), state.currTerm(), state.getLeaderId(), begin(),
                server.getDLedgerStore().getLedgerEndIndex(), committed(), applied());
    }

    @Override
    public final void forgetVote() {
        MemberState state = server.getMemberState();
        if (state.currVoteFor() != null) {
            state.setCurrVoteFor(null);
        }
    }

    @Override
    public final void stop() {
        server.shutdown();
    }
}
