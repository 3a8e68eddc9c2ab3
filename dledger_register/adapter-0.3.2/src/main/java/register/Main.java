package register;

import register.dledger032.Dledger032;
import register.server.Launcher;

/** Starts a node on DLedger 0.3.2. */
public final class Main {

    private Main() {
    }

    public static void main(String[] args) {
        Launcher.run(args, new Dledger032());
    }
}
