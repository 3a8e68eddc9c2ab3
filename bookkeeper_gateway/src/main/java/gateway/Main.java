package gateway;

import java.util.concurrent.Executors;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.conf.ClientConfiguration;

/** {@code Main ADDRESS PORT CLIENT.CONF}: serves one client of BookKeeper at a port. */
public final class Main {

    private Main() {
    }

    public static void main(String[] words) throws Exception {
        ClientConfiguration conf = new ClientConfiguration();
        conf.loadConf(java.nio.file.Path.of(words[2]).toUri().toURL());
        BookKeeper client = BookKeeper.forConfig(conf).build();
        var clock = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "deadlines");
            thread.setDaemon(true);
            return thread;
        });
        Gateway gateway = new Gateway(new BookKeeperLedgers(client), clock, System.currentTimeMillis() * 1000);
        try (Port port = new Port(words[0], Integer.parseInt(words[1]), gateway::answer)) {
            System.out.println("serving");
            port.run();
        }
    }
}
