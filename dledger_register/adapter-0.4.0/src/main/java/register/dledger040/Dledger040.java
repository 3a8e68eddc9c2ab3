package register.dledger040;

import io.openmessaging.storage.dledger.DLedgerConfig;
import register.dledger.Configuration;
import register.options.Options;
import register.replica.Replica;
import register.replica.ReplicaFactory;
import register.server.Launcher;
import register.state.RegisterMachine;

/** The adapter to DLedger 0.4.0, and the main class of its jar. */
public final class Dledger040 implements ReplicaFactory {

    public static void main(String[] args) {
        Launcher.run(args, new Dledger040());
    }

    @Override
    public String version() {
        return "0.4.0";
    }

    @Override
    public Replica create(Options options, RegisterMachine machine) {
        return new Replica040(config(options), machine);
    }

    private static DLedgerConfig config(Options options) {
        DLedgerConfig config = Configuration.of(options);
        config.setEnableSnapshot(options.snapshot());
        config.setSnapshotThreshold(options.snapshotThreshold());
        config.setEnableFastAdvanceCommitIndex(options.fastCommit());
        return config;
    }
}
