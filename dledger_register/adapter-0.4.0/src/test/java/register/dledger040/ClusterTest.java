package register.dledger040;

import register.replica.ReplicaFactory;
import register.testkit.ClusterContract;

class ClusterTest extends ClusterContract {

    @Override
    protected ReplicaFactory factory() {
        return new Dledger040();
    }
}
