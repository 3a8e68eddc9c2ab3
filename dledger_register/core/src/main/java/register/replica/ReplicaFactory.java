package register.replica;

import register.options.Options;
import register.state.RegisterMachine;

/** What an adapter module provides. */
public interface ReplicaFactory {

    /** The DLedger version, as in {@code 0.4.0}. */
    String version();

    /** A replica, not yet started, that applies committed entries to {@code machine}. */
    Replica create(Options options, RegisterMachine machine);
}
