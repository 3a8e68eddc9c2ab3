package register.dledger;

import io.openmessaging.storage.dledger.DLedgerConfig;
import register.options.Options;

/** DLedger's configuration, as far as all versions have it. */
public final class Configuration {

    private Configuration() {
    }

    public static DLedgerConfig of(Options options) {
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
        return config;
    }
}
