"""Find out what the nodes can do, once before a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from nemesis.core.ports import Command, Completed, Nodes

FirewallKind: TypeAlias = Literal["nft", "iptables"]

TOOLS = "bash dd fallocate ip6tables iptables mount nft python3 setsid stat tc timeout truncate umount xfs_io"

#: The nftables table is made and deleted in one transaction, which tests the kernel and never leaves anything behind.
#: Rules that cannot be undone in one step are tried in a separate network namespace.
_SURVEY = r"""
for tool in $1; do command -v "$tool" >/dev/null 2>&1 && echo "tool $tool"; done
try='add table inet harness_survey
add chain inet harness_survey c { type filter hook input priority -10; policy accept; }
add rule inet harness_survey c ip saddr 192.0.2.1 counter drop comment "x"
delete table inet harness_survey'
printf '%s\n' "$try" | nft -f - >/dev/null 2>&1 && echo "can nft"
try=$(printf '%s\n' "$try" | sed 's/counter/numgen random mod 1000 < 1 counter/')
printf '%s\n' "$try" | nft -f - >/dev/null 2>&1 && echo "can nft-loss"
iptables -w -nL INPUT >/dev/null 2>&1 && echo "can iptables"
ip6tables -w -nL INPUT >/dev/null 2>&1 && echo "can ip6tables"
rate='--hashlimit-above 1kb/s --hashlimit-burst 1kb --hashlimit-name harness-survey'
unshare -n iptables -w -A INPUT -m hashlimit $rate -j DROP >/dev/null 2>&1 && echo "can iptables-rate"
unshare -n iptables -w -t mangle -A INPUT -j NFQUEUE --queue-num 0 --queue-bypass >/dev/null 2>&1 && echo "can nfqueue"
ip -o -6 addr show scope global 2>/dev/null | awk '{ sub("/.*", "", $4); print "ipv6 " $4 }'
groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
try=$groups/harness-$(readlink /proc/self/ns/pid | tr -dc 0-9)-try-$$
if [ -n "$groups" ] && mkdir "$try" 2>/dev/null; then
  (echo 0 >"$try/cgroup.procs") 2>/dev/null && echo "can groups"
  rmdir "$try"
fi
for lib in /usr/lib/*/faketime/libfaketimeMT.so.1; do [ -e "$lib" ] && echo "faketime $lib"; done
exit 0
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """The abilities of each node.

    ``can`` holds names of tools, and ``can:…`` for each feature that was tried and works.  ``addresses`` are all
    addresses of a node that no other node shares; other nodes use the first one.
    """

    addresses: Mapping[str, tuple[str, ...]]
    can: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def firewall(self) -> FirewallKind | None:
        """The packet filter that works on every node, preferably nftables; None if there is none."""
        if self.everywhere("can:nft"):
            return "nft"
        return "iptables" if self.everywhere("can:iptables") else None

    def everywhere(self, *needs: str) -> bool:
        return not self.lacking(*needs)

    def lacking(self, *needs: str) -> dict[str, list[str]]:
        """Map each node that lacks some of ``needs`` to the needs that it lacks."""
        gaps = {
            node: [need for need in needs if need not in self.can.get(node, frozenset())] for node in self.addresses
        }
        return {node: gap for node, gap in gaps.items() if gap}

    def refusal(self, *needs: str) -> str | None:
        """Return text that names the nodes and what they lack; None if they lack nothing."""
        gaps = self.lacking(*needs)
        texts = (f"{node} lacks {', '.join(gap).replace('can:', '')}" for node, gap in gaps.items())
        return "; ".join(texts) or None


def survey_command() -> Command:
    return Command(("sh", "-c", _SURVEY, "survey", TOOLS))


def survey(nodes: Nodes) -> Facts:
    """Find out what each node can do, in parallel.  Raises like ``nodes.run``."""
    answers = nodes.run(dict.fromkeys(nodes.names, survey_command()))
    return facts_from({name: nodes.address(name) for name in nodes.names}, answers.values())


def facts_from(peer_addresses: Mapping[str, str], answers: Iterable[Completed]) -> Facts:
    """Parse the answers of :func:`survey_command`.

    Ignores addresses that two nodes claim (the gateway of a host-only network, NAT), because dropping packets from them
    would cut off other nodes.
    """
    by_node = {
        answer.node: [line.split(" ", 1) for line in answer.stdout.splitlines() if " " in line] for answer in answers
    }
    claimed = Counter(value for lines in by_node.values() for kind, value in lines if kind == "ipv6")
    addresses = {
        node: tuple(dict.fromkeys([peer, *(v for k, v in by_node.get(node, ()) if k == "ipv6" and claimed[v] == 1)]))
        for node, peer in peer_addresses.items()
    }
    prefixes = {"tool": "", "can": "can:", "faketime": "faketime:"}
    can = {node: frozenset(prefixes[k] + v for k, v in lines if k in prefixes) for node, lines in by_node.items()}
    return Facts(addresses, can)
