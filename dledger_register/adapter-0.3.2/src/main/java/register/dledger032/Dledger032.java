package register.dledger032;

import io.openmessaging.storage.dledger.DLedgerConfig;
import register.options.Options;
import register.replica.Replica;
import register.replica.ReplicaFactory;
import register.state.Health;
import register.state.RegisterMachine;

/** The adapter to DLedger 0.3.2. */
public final class Dledger032 implements ReplicaFactory {

    static {
        // RocketMQ's remoting would make itself a certificate by JDK internals that are closed since Java 9: it costs
        // time and leaves an IllegalAccessError in the log. Peers talk in plain text either way.
        if (System.getProperty("tls.server.mode") == null) {
            System.setProperty("tls.server.mode", "disabled");
        }
    }

    @Override
    public String version() {
        return "0.3.2";
    }

    @Override
    public Replica create(Options options, RegisterMachine machine, Health health) {
        PendingResults results = new PendingResults();
        return new Replica032(config(options), new Machine032(machine, health, results), results);
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
        // This version takes snapshots with every state machine; only a distance never reached keeps it from it.
        config.setSnapshotThreshold(options.snapshot() ? options.snapshotThreshold() : Integer.MAX_VALUE);
        return config;
    }
}
