package register.dledger040;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import register.testkit.LineClient;
import register.testkit.LoopbackCluster;

/** Snapshots are taken while the cluster serves, cut the log, and bring a restarted node's registers back. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class SnapshotRestartTest {

    private static final int WRITES = 120;

    @TempDir
    Path dir;

    /** A cluster of one, because 0.4.0 with snapshots often stops committing after a leader change. */
    @Test
    void aRestartedNodeLoadsItsSnapshot() throws Exception {
        try (LoopbackCluster cluster =
                new LoopbackCluster(new Dledger040(), 1, dir, "--snapshot", "--snapshot-threshold", "50")) {
            cluster.start(1);
            cluster.awaitLeader();
            try (LineClient client = cluster.client(1)) {
                for (int i = 0; i < WRITES; i++) {
                    assertEquals(true, client.write("k" + i % 7, i).get("ok"));
                }
                cluster.await("two snapshots", () -> (long) client.status().get("snapshotsSaved") >= 2);
                assertTrue((long) client.status().get("ledgerBegin") > 0, "the log was not cut");
            }
            try (Stream<Path> files = Files.walk(dir)) {
                assertTrue(files.anyMatch(file -> file.endsWith("data") && Files.isRegularFile(file)));
            }
            cluster.stop(List.of(1));

            cluster.start(1);
            Map<String, Object> status = cluster.status(1);
            assertEquals(1L, status.get("snapshotsLoaded"));
            assertNull(status.get("fault"));
            cluster.awaitLeader();
            try (LineClient client = cluster.client(1)) {
                for (int key = 0; key < 7; key++) {
                    long last = WRITES - 1 - (WRITES - 1 - key) % 7;
                    assertEquals(last, client.read("k" + key, "log").get("value"), "k" + key);
                }
                assertEquals(true, client.cas("k0", (long) (WRITES - 1 - (WRITES - 1) % 7), 5).get("swapped"));
                assertNull(client.status().get("fault"));
            }
        }
    }

    @Test
    void everyNodeTakesSnapshotsAndGoesOnServing() throws Exception {
        try (LoopbackCluster cluster =
                new LoopbackCluster(new Dledger040(), 3, dir, "--snapshot", "--snapshot-threshold", "100")) {
            cluster.startAll();
            int leader = cluster.awaitLeader();
            long term = (long) cluster.status(leader).get("term");
            try {
                serveUntilAllHaveSnapshots(cluster, leader);
            } catch (AssertionError | IOException failure) {
                // A starved machine makes the nodes elect anew, and 0.4.0 with snapshots then often commits nothing.
                assumeTrue((long) cluster.status(leader).get("term") == term, "another election: " + failure);
                throw failure;
            }
        }
    }

    private static void serveUntilAllHaveSnapshots(LoopbackCluster cluster, int leader) throws Exception {
        try (LineClient client = cluster.client(leader)) {
            for (int i = 0; i < 150; i++) {
                assertEquals(true, client.write("k", i).get("ok"));
            }
            for (int node = 1; node <= cluster.size(); node++) {
                int asked = node;
                cluster.await("a snapshot on n" + node, () -> {
                    client.write("more", 1);
                    return (long) cluster.status(asked).get("snapshotsSaved") >= 1;
                });
                assertNull(cluster.status(node).get("fault"));
            }
            assertEquals(149L, client.read("k", "log").get("value"));
        }
    }
}
