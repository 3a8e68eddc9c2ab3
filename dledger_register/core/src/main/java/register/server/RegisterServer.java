package register.server;

import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import register.options.Options;
import register.port.ClientPort;
import register.replica.PlantedBugReplica;
import register.replica.Replica;
import register.replica.ReplicaFactory;
import register.state.PlantedBugMachine;
import register.state.Health;
import register.state.RegisterMachine;

/** One node: a replica of the register with a port for clients. */
public final class RegisterServer implements AutoCloseable {

    private static final Logger LOGGER = LoggerFactory.getLogger(RegisterServer.class);

    static {
        // RocketMQ's remoting would make itself a certificate by JDK internals that are closed since Java 9: it costs
        // time and leaves an IllegalAccessError in the log. Peers talk in plain text either way.
        if (System.getProperty("tls.server.mode") == null) {
            System.setProperty("tls.server.mode", "disabled");
        }
    }

    private final Replica replica;
    private final Service service;
    private final Options options;
    private ClientPort port;

    public RegisterServer(Options options, ReplicaFactory factory, Health health) {
        this.options = options;
        RegisterMachine machine = options.plantedBug() == null
                ? new RegisterMachine(health)
                : new PlantedBugMachine(health, options.plantedBug(), options.isLastPeer());
        Replica plain = factory.create(options, machine);
        this.replica = options.plantedBug() == null ? plain : new PlantedBugReplica(plain, machine, options.plantedBug());
        this.service = new Service(
                options.id(), factory.version(), replica, machine, health, System::currentTimeMillis);
    }

    /** Starts the replica, then opens the client port. */
    public void start() throws IOException {
        Files.createDirectories(options.dataDir());
        // Check the ports first, so that a node that cannot serve clients never votes.
        requireFree(options.clientPort(), "client port");
        requireFree(options.raftPort(), "Raft port");
        replica.start();
        try {
            port = new ClientPort(options.clientPort(), service);
        } catch (BindException taken) {
            throw new IOException("client port " + options.clientPort() + " is in use", taken);
        }
        LOGGER.info("client port {} open", port.port());
    }

    private static void requireFree(int port, String what) throws IOException {
        try (ServerSocket probe = new ServerSocket()) {
            probe.setReuseAddress(true);
            probe.bind(new InetSocketAddress(port));
        } catch (BindException taken) {
            throw new IOException(what + " " + port + " is in use", taken);
        }
    }

    @Override
    public void close() {
        if (port != null) {
            port.close();
        }
        service.close();
        replica.stop();
    }
}
