package register;

import register.dledger040.Dledger040;
import register.server.Launcher;

/** Starts a node on DLedger 0.4.0. */
public final class Main {

    private Main() {
    }

    public static void main(String[] args) {
        Launcher.run(args, new Dledger040());
    }
}
