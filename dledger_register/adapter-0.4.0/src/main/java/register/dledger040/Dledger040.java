package register.dledger040;

import io.openmessaging.storage.dledger.DLedgerConfig;
import register.options.Options;
import register.replica.Replica;
import register.replica.ReplicaFactory;
import register.state.Health;
import register.state.RegisterMachine;

/** The adapter to DLedger 0.4.0. */
public final class Dledger040 implements ReplicaFactory {

    static {
        // RocketMQ's remoting would make itself a certificate by JDK internals that are closed since Java 9: it costs
        // time and leaves an IllegalAccessError in the log. Peers talk in plain text either way.
        if (System.getProperty("tls.server.mode") == null) {
            System.setProperty("tls.server.mode", "disabled");
        }
    }

    @Override
    public String version() {
        return "0.4.0";
    }

    @Override
    public Replica create(Options options, RegisterMachine machine, Health health) {
        return new Replica040(config(options), new Machine040(machine, health));
    }

    private static DLedgerConfig config(Options options) {
        DLedgerConfig config = new DLedgerConfig();
        config.setGroup(options.group());
        config.setSelfId(options.id());
        config.setPeers(options.peers());
        config.setStoreBaseDir(options.dataDir().toString());
        config.setStoreType(options.store().name());
        config.setMappedFileSizeForEntryData(options.dataFileSize());
        config.setMappedFileSizeForEntryIndex(options.indexFileSize());
        config.setHeartBeatTimeIntervalMs(options.heartbeatMs());
        config.setMaxHeartBeatLeak(options.heartbeatLeak());
        config.setMinVoteIntervalMs(options.minVoteMs());
        config.setMaxVoteIntervalMs(options.maxVoteMs());
        config.setEnableSnapshot(options.snapshot());
        config.setSnapshotThreshold(options.snapshotThreshold());
        config.setEnableFastAdvanceCommitIndex(options.fastCommit());
        return config;
    }
}
