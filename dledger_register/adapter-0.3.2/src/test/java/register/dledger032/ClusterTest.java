package register.dledger032;

import register.replica.ReplicaFactory;
import register.testkit.ClusterContract;

class ClusterTest extends ClusterContract {

    @Override
    protected ReplicaFactory factory() {
        return new Dledger032();
    }
}
