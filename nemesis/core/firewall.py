"""Packet filters as values: the rules by which a node drops, refuses or counts packets.

On each node we use one table (``inet harness``) or chain prefix (``harness-``), with one chain for each fault, and
never touch anything else.  Rules match the sender's address instead of connection state, so they also cut established
connections.  Every rule that acts has a counter, and a comment that names its peer, which is how counts are read back.

The rules that act are surrounded by rules that only count: TCP packets from a peer at the system's own ports before
the acting rules, and those left after them.  The difference is what the fault did to the system's own packets.  TCP
resets are not counted, because the kernel sends them for a process that is gone and ``reset`` lets them pass.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from nemesis.core.facts import FirewallKind
from nemesis.core.ports import Command

Action: TypeAlias = Literal["drop", "reset", "lose", "slow", "queue"]

TABLE: Final = "harness"
CHAIN_PREFIX: Final = "harness-"
BURST_KBYTES: Final = 16


@dataclass(frozen=True, slots=True)
class FirewallRule:
    """A rule for the packets from one peer, from any of its addresses.

    ``amount`` is the share of packets to lose (0 to 1) for ``lose``, kilobytes per second for ``slow``, and the queue's
    number for ``queue`` (iptables only, because few kernels support nftables' queues).  ``ports`` are the system's own.
    If there is an ``only`` port, ``drop`` drops nothing but TCP packets to and from that port.
    """

    peer: str
    addresses: tuple[str, ...]
    action: Action = "drop"
    amount: float = 0.0
    ports: tuple[int, ...] = ()
    only: int = 0


class Firewall(Protocol):
    """Commands for one kind of packet filter.  A chain is named after its fault."""

    def install(self, chain: str, rules: Sequence[FirewallRule]) -> Command:
        """Return a command that replaces the whole chain in one step."""
        ...

    def counters(self, chain: str) -> Command:
        """Return a command that prints the chain with its counters, or nothing if there is no such chain.

        It exits with 0 either way.
        """
        ...

    def remove(self, chain: str) -> Command:
        """Return a command that deletes the chain.  It exits with 0 even if there is no such chain."""
        ...

    def gone(self, chain: str) -> Command:
        """Return a command that prints ``gone`` if there is no such chain, and removes our table if it is empty.

        It exits with a code other than 0 if the packet filter itself does not answer.
        """
        ...

    def counts(self, listing: str, word: str) -> list[tuple[str, str]]:
        """Return the counts of rules with this word in their comment, as (count, peer)."""
        ...

    def packets(self, listing: str) -> Counter[str]:
        """Return how many packets the acting rules have counted, by peer; ``listing`` is the output of ``counters``."""
        return _sum(self.counts(listing, "from"))

    def system_packets(self, listing: str) -> Counter[str]:
        """Return how many packets at the system's own ports the acting rules stopped, by peer."""
        return _sum(self.counts(listing, "before")) - _sum(self.counts(listing, "after"))


def _version(address: str) -> Literal[4, 6]:
    return 4 if ipaddress.ip_address(address).version == 4 else 6


class Nft(Firewall):
    """Commands for nftables.  A transaction of ``nft -f`` takes effect as a whole or not at all."""

    def install(self, chain: str, rules: Sequence[FirewallRule]) -> Command:
        name = _nft_name(chain)
        head = [
            f"add table inet {TABLE}",
            f"add chain inet {TABLE} {name} {{ type filter hook input priority -10; policy accept; }}",
            f"flush chain inet {TABLE} {name}",
        ]
        body = [
            f"add rule inet {TABLE} {name} {match} {statement}"
            for rule in rules
            for address in rule.addresses
            for match, statement in [
                *self._counting("before", rule, address),
                *self._statements(rule, address),
                *self._counting("after", rule, address),
            ]
        ]
        return Command(("nft", "-f", "-"), stdin="\n".join([*head, *body, ""]))

    def counters(self, chain: str) -> Command:
        script = f'nft list chain inet {TABLE} "$1" 2>/dev/null; exit 0'
        return Command(("sh", "-c", script, "counters", _nft_name(chain)))

    def remove(self, chain: str) -> Command:
        # Adding the chain first makes the deletion succeed even if there was no chain.
        name = _nft_name(chain)
        steps = (f"add table inet {TABLE}", f"add chain inet {TABLE} {name}", f"delete chain inet {TABLE} {name}", "")
        return Command(("nft", "-f", "-"), stdin="\n".join(steps))

    def gone(self, chain: str) -> Command:
        script = f"""nft list tables >/dev/null || exit
left=$(nft list table inet {TABLE} 2>/dev/null)
case "$left" in *"chain $1 {{"*) echo standing; exit 0;; esac
case "$left" in *chain*) ;; table*) nft delete table inet {TABLE};; esac
echo gone"""
        return Command(("sh", "-c", script, "gone", _nft_name(chain)))

    def counts(self, listing: str, word: str) -> list[tuple[str, str]]:
        return re.findall(rf'counter packets (\d+) .*comment "{word} ([^"]+)"', listing)

    def _counting(self, word: str, rule: FirewallRule, address: str) -> list[tuple[str, str]]:
        match = f"{'ip' if _version(address) == 4 else 'ip6'} saddr {address}"
        return [
            (f"{match} tcp {end} {port} tcp flags & rst != rst", f'counter comment "{word} {rule.peer}"')
            for port in rule.ports
            for end in ("dport", "sport")
        ]

    def _statements(self, rule: FirewallRule, address: str) -> list[tuple[str, str]]:
        match = f"{'ip' if _version(address) == 4 else 'ip6'} saddr {address}"
        count, note = "counter", f'comment "from {rule.peer}"'
        if rule.action == "lose":
            return [(f"{match} numgen random mod 1000 < {round(rule.amount * 1000)}", f"{count} drop {note}")]
        if rule.action == "slow":
            rate = f"limit rate over {round(rule.amount)} kbytes/second burst {BURST_KBYTES} kbytes"
            return [(f"{match} {rate}", f"{count} drop {note}")]
        if rule.action == "reset":
            # The peer's own resets must get through, because they make this side notice.
            return [
                (f"{match} tcp flags & rst == rst", "accept"),
                (f"{match} meta l4proto tcp", f"{count} reject with tcp reset {note}"),
                (match, f"{count} drop {note}"),
            ]
        ends = [f"{match} tcp {end} {rule.only}" for end in ("dport", "sport")] if rule.only else [match]
        return [(end, f"{count} drop {note}") for end in ends]


class Iptables(Firewall):
    """Commands for iptables and ip6tables, for nodes without a working nftables and for queueing packets.

    Each fault gets one chain on a node, and a jump to it.

    A queued packet that is released continues in the next table and skips all other chains of its own ``table``.  So
    faults queue packets in ``mangle``, which comes first: in ``filter``, released packets would bypass the rules of
    a partition of the same link.
    """

    def __init__(self, table: Literal["filter", "mangle"] = "filter") -> None:
        self._table = table

    def install(self, chain: str, rules: Sequence[FirewallRule]) -> Command:
        batches = {version: self._batch(chain, rules, version) for version in (4, 6)}
        # Replace an existing chain in place, because packets would get through while it is removed.
        script = f"""put() {{
  printf %s "$2" | "$1-restore" -w --noflush || return
  "$1" -w -t {self._table} -C INPUT -j "$0" 2>/dev/null || "$1" -w -t {self._table} -I INPUT 1 -j "$0"
}}
put iptables "$1" || exit
if [ -n "$2" ]; then put ip6tables "$2" || exit; else
{self._remove("ip6tables")}
fi
exit 0"""
        return Command(("sh", "-c", script, _iptables_name(chain), batches[4], batches[6]))

    def counters(self, chain: str) -> Command:
        script = f'for t in iptables ip6tables; do "$t" -w -t {self._table} -nvxL "$0" 2>/dev/null; done; exit 0'
        return Command(("sh", "-c", script, _iptables_name(chain)))

    def remove(self, chain: str) -> Command:
        return Command(("sh", "-c", f"{self._remove('iptables ip6tables')}\nexit 0", _iptables_name(chain)))

    def _remove(self, tools: str) -> str:
        return f"""for t in {tools}; do
  while "$t" -w -t {self._table} -D INPUT -j "$0" 2>/dev/null; do :; done
  "$t" -w -t {self._table} -F "$0" 2>/dev/null && "$t" -w -t {self._table} -X "$0" 2>/dev/null
done"""

    def gone(self, chain: str) -> Command:
        script = f"""iptables -w -t {self._table} -S INPUT >/dev/null || exit
for t in iptables ip6tables; do "$t" -w -t {self._table} -S "$0" >/dev/null 2>&1 && echo standing && exit 0; done
echo gone"""
        return Command(("sh", "-c", script, _iptables_name(chain)))

    def counts(self, listing: str, word: str) -> list[tuple[str, str]]:
        return re.findall(rf"(?m)^\s*(\d+)\s+\d+\s.*/\* {word} (\S+) \*/", listing)

    def _counting(self, word: str, rule: FirewallRule) -> list[str]:
        return [
            f'-p tcp {end} {port} ! --tcp-flags RST RST -m comment --comment "{word} {rule.peer}"'
            for port in rule.ports
            for end in ("--dport", "--sport")
        ]

    def _batch(self, chain: str, rules: Sequence[FirewallRule], version: int) -> str:
        name = _iptables_name(chain)
        lines = [
            f"-A {name} -s {address} {statement}"
            for rule in rules
            for address in rule.addresses
            if _version(address) == version
            for statement in [*self._counting("before", rule), *self._statements(rule), *self._counting("after", rule)]
        ]
        if not lines and version == 6:
            return ""
        return "\n".join([f"*{self._table}", f":{name} - [0:0]", *lines, "COMMIT", ""])

    def _statements(self, rule: FirewallRule) -> list[str]:
        note = f'-m comment --comment "from {rule.peer}"'
        if rule.action == "lose":
            return [f"-m statistic --mode random --probability {rule.amount:.3f} {note} -j DROP"]
        if rule.action == "slow":
            # Since 1.8.10, iptables refuses a burst smaller than the amount per second.
            burst = max(BURST_KBYTES, round(rule.amount))
            rate = f"--hashlimit-above {round(rule.amount)}kb/s --hashlimit-burst {burst}kb"
            return [f"-m hashlimit {rate} --hashlimit-name {CHAIN_PREFIX}{rule.peer} {note} -j DROP"]
        if rule.action == "queue":
            return [f"-m mark ! --mark 0x77 {note} -j NFQUEUE --queue-num {round(rule.amount)} --queue-bypass"]
        if rule.action == "reset":
            return [
                "-p tcp --tcp-flags RST RST -j RETURN",
                f"-p tcp {note} -j REJECT --reject-with tcp-reset",
                f"{note} -j DROP",
            ]
        ends = [f"-p tcp {end} {rule.only} " for end in ("--dport", "--sport")] if rule.only else [""]
        return [f"{end}{note} -j DROP" for end in ends]


FIREWALLS: Final[Mapping[FirewallKind, Firewall]] = {"nft": Nft(), "iptables": Iptables()}

#: Removes every table and chain of ours from a node, whichever run left it there.
SWEEP: Final = f"""if nft list table inet {TABLE} >/dev/null 2>&1; then
  if nft delete table inet {TABLE}; then echo "removed nft table inet {TABLE}"; else wrong "nft table {TABLE} stays"; fi
fi
for t in "iptables -w" "ip6tables -w" "iptables -w -t mangle" "ip6tables -w -t mangle"; do
  for c in $($t -S 2>/dev/null | sed -n 's/^-N \\({CHAIN_PREFIX}[^ ]*\\).*/\\1/p'); do
    while $t -D INPUT -j "$c" 2>/dev/null; do :; done
    if $t -F "$c" && $t -X "$c"; then echo "removed ${{t%% *}} chain $c"; else wrong "${{t%% *}} chain $c stays"; fi
  done
done"""


def _nft_name(chain: str) -> str:
    """Return a chain name that is not an nft keyword, as ``bridge`` is."""
    return "fault_" + chain.replace("-", "_")


def _iptables_name(chain: str) -> str:
    """Return a chain name within the limit of 28 characters."""
    return f"{CHAIN_PREFIX}{chain}"[:28]


def _sum(counts: Sequence[tuple[str, str]]) -> Counter[str]:
    packets: Counter[str] = Counter()
    for number, peer in counts:
        packets[peer] += int(number)
    return packets
