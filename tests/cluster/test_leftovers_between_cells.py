"""What a suite sees of a node between two cells: every rule that stands, and no trace of one that stood."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.remote.nodes import Remote
from harness.suite.warm import Look, differences, look_command
from nemesis.core.ports import Command
from tests.support.cluster.nemesis_world import real_cluster

pytestmark = pytest.mark.cluster

CUT = """nft -f - <<'END'
table inet harness { chain cut { type filter hook input priority 0; policy accept; ip saddr 192.0.2.9 drop; }; }
END"""


@pytest.fixture(scope="module")
def remote() -> Iterator[Remote]:
    with real_cluster("t-look", 1) as cluster, Remote(cluster.nodes) as remote:
        yield remote


def look(remote: Remote) -> Look:
    return {name: tuple(said(remote, name, look_command("/data")).splitlines()) for name in ("n1",)}


def said(remote: Remote, node: str, command: Command) -> str:
    done = remote.run({node: command})[node]
    assert done.code == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("change", "undo"),
    [
        ("iptables -w -I INPUT -s 192.0.2.9 -j DROP", "iptables -w -D INPUT -s 192.0.2.9 -j DROP"),
        ("ip6tables -w -I INPUT -s 2001:db8::9 -j DROP", "ip6tables -w -D INPUT -s 2001:db8::9 -j DROP"),
        ("iptables -w -t mangle -A FORWARD -j ACCEPT", "iptables -w -t mangle -F FORWARD"),
        ("iptables -w -P FORWARD DROP", "iptables -w -P FORWARD ACCEPT"),
        ("iptables -w -N harness-left", "iptables -w -X harness-left"),
        ("nft add table inet harness", "nft delete table inet harness"),
        (CUT, "nft delete table inet harness"),
        ("ip address add 192.0.2.8/32 dev lo", "ip address del 192.0.2.8/32 dev lo"),
        ("mkdir /data/harness-left", "rmdir /data/harness-left"),
    ],
)
def test_a_change_shows_while_it_stands_and_never_after(remote: Remote, change: str, undo: str) -> None:
    fresh = look(remote)
    said(remote, "n1", Command(("sh", "-c", change)))
    assert differences(fresh, look(remote), "left")
    said(remote, "n1", Command(("sh", "-c", undo)))
    assert differences(fresh, look(remote), "left") == []
