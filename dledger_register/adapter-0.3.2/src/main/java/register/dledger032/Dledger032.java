package register.dledger032;

import io.openmessaging.storage.dledger.DLedgerConfig;
import register.dledger.Configuration;
import register.options.Options;
import register.replica.Replica;
import register.replica.ReplicaFactory;
import register.server.Launcher;
import register.state.RegisterMachine;

/** The adapter to DLedger 0.3.2, and the main class of its jar. */
public final class Dledger032 implements ReplicaFactory {

    public static void main(String[] args) {
        Launcher.run(args, new Dledger032());
    }

    @Override
    public String version() {
        return "0.3.2";
    }

    @Override
    public Replica create(Options options, RegisterMachine machine) {
        return new Replica032(config(options), machine);
    }

    private static DLedgerConfig config(Options options) {
        DLedgerConfig config = Configuration.of(options);
        // This version takes snapshots of every state machine; only an unreachable threshold turns that off.
        config.setSnapshotThreshold(options.snapshot() ? options.snapshotThreshold() : Integer.MAX_VALUE);
        return config;
    }
}
