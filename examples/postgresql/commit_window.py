"""Show that PostgreSQL's SERIALIZABLE loses a conflict while a commit ends.

    python commit_window.py BIN

BIN is the folder of the server's programs, such as /usr/lib/postgresql/15/bin.  It needs root, gdb, and psycopg.

Three transactions run twice.  The first time, PostgreSQL refuses one of them.  The second time, gdb stops T1 between
two steps of its commit: others already see its row, but it does not count as committed yet.  Then all three commit,
although no serial order explains their reads.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

PORT = 6432
APPEND = "INSERT INTO {0} AS t VALUES (1, '{1}') ON CONFLICT (id) DO UPDATE SET val = t.val || ',' || excluded.val"
READ = "SELECT val FROM {0} WHERE id = 1"


def until(holds: Callable[[], bool], what: str) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.05)
    sys.exit(f"{what}: not within 30 s")


@contextmanager
def server(programs: Path, data: Path) -> Iterator[None]:
    user = [
        "setpriv",
        "--reuid=nobody",
        "--regid=nogroup",
        "--clear-groups",
        "env",
        f"LD_LIBRARY_PATH={programs.parent}/lib",
    ]
    subprocess.run(
        [*user, programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    settings = ["-p", str(PORT), "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={data}"]
    running = subprocess.Popen([*user, programs / "postgres", "-D", data, *settings], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        running.terminate()
        running.wait(30)


def connect() -> psycopg.Connection:
    return psycopg.connect(f"host=127.0.0.1 port={PORT} user=postgres dbname=postgres", autocommit=True)


def answers() -> bool:
    try:
        connect().close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def stopped_before_it_counts(pid: int, folder: Path) -> Iterator[Callable[[], bool]]:
    """Stop a backend where its commit is visible, but not yet marked, until the block ends."""
    armed, reached, go = folder / "armed", folder / "reached", folder / "go"
    steps = (
        "handle SIGUSR1 nostop noprint pass",
        "break ReleasePredicateLocks",
        f"shell touch {armed}",
        "continue",
        f"shell touch {reached}; while [ ! -e {go} ]; do sleep 0.02; done",
        "delete",
        "detach",
    )
    debugger = subprocess.Popen(
        ["gdb", "-nx", "-q", "-batch", "-p", str(pid), *(word for step in steps for word in ("-ex", step))],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(armed.exists, "gdb attached")
    try:
        yield reached.exists
    finally:
        go.touch()
        debugger.wait(30)


def play(folder: Path, *, stop: bool) -> bool:
    """Run the three transactions; return whether all of them committed."""
    with connect() as setup:
        for table in ("x", "y"):
            setup.execute(f"DROP TABLE IF EXISTS {table}")
            setup.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, val text)")
            # An empty index has no page to lock, which would be another case.
            setup.execute(f"INSERT INTO {table} SELECT n, '' FROM generate_series(1000, 1100) n")
    sessions = {name: connect() for name in ("T1", "T2", "T3")}
    committed = []

    def say(name: str, statement: str) -> None:
        try:
            cursor = sessions[name].execute(statement)
            shown = cursor.fetchall() if cursor.description else cursor.statusmessage
            if cursor.statusmessage == "COMMIT":
                committed.append(name)
        except psycopg.Error as error:
            shown = f"{error.sqlstate} {str(error).splitlines()[0]}"
        print(f"  {name}  {statement.split(' ON CONFLICT')[0]:55}{shown}")

    begin = "BEGIN ISOLATION LEVEL SERIALIZABLE"
    say("T3", begin)
    say("T3", APPEND.format("y", "T3"))
    say("T3", READ.format("x"))
    say("T1", begin)
    say("T1", APPEND.format("x", "T1"))
    if stop:
        with stopped_before_it_counts(sessions["T1"].info.backend_pid, folder) as reached:
            commit = threading.Thread(target=say, args=("T1", "COMMIT"))
            commit.start()
            until(reached, "T1 stopped")
            say("T2", begin)
            say("T2", APPEND.format("x", "T2"))  # it sees T1's row
            say("T3", "COMMIT")
        commit.join()
    else:
        say("T1", "COMMIT")
        say("T2", begin)
        say("T2", APPEND.format("x", "T2"))
        say("T3", "COMMIT")
    say("T2", READ.format("y"))  # it does not see T3's row
    say("T2", "COMMIT")
    for session in sessions.values():
        session.close()
    return len(committed) == 3


def main() -> int:
    programs = Path(sys.argv[1]).resolve()
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    folder.chmod(0o755)
    data = folder / "data"
    data.mkdir(mode=0o700)
    shutil.chown(data, "nobody", "nogroup")
    try:
        with server(programs, data):
            until(answers, "PostgreSQL started")
            with connect() as session:
                print(session.execute("SELECT version()").fetchone()[0])
            for stop, title in ((False, "T1 commits:"), (True, "T1 is stopped while it commits:")):
                print(title)
                print("  all three committed" if play(folder, stop=stop) else "  one was refused, as it must be")
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
