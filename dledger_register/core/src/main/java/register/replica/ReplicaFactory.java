package register.replica;

import register.options.Options;
import register.state.RegisterMachine;

/** The entry point of an adapter module, which makes replicas. */
public interface ReplicaFactory {

    /** Returns the DLedger version, such as {@code 0.4.0}. */
    String version();

    /** Returns a replica, not yet started, that applies committed entries to {@code machine}. */
    Replica create(Options options, RegisterMachine machine);
}
