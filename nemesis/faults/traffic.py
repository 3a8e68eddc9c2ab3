"""Lossy and slow links, made with packet filter rules only."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Final

from nemesis.core.errors import FaultError
from nemesis.core.facts import FirewallKind
from nemesis.core.fault import Context, Targets, Witness
from nemesis.core.firewall import Action
from nemesis.core.ports import Command
from nemesis.faults.partitions import RuleFault, counted, firewall, system_packets

#: Uses the discard service's port; any other would do as well.  A closed port answers each datagram with an ICMP error.
_BURST: Final = r"""count=$1; size=$2; shift 2
line=$(head -c "$size" /dev/zero | tr '\0' x)
for a in "$@"; do
  exec 3>"/dev/udp/$a/9" || continue
  i=0
  while [ $i -lt "$count" ]; do printf %s "$line" >&3; i=$((i + 1)); done 2>/dev/null
done
exit 0"""


def burst(ctx: Context, peers: Iterable[str], count: int, size: int) -> Command:
    """Return a command that sends ``count`` UDP datagrams of ``size`` bytes to each of these peers."""
    addresses = [ctx.facts.addresses[peer][0] for peer in peers]
    return Command(("bash", "--norc", "-c", _BURST, "burst", str(count), str(size), *addresses))


def send_over(ctx: Context, grudge: Mapping[str, Iterable[str]], count: int, size: int) -> None:
    """Send datagrams over every link of a grudge, in the direction in which its rules act."""
    sends: dict[str, list[str]] = {}
    for node, peers in grudge.items():
        for peer in peers:
            sends.setdefault(peer, []).append(node)
    ctx.nodes.run({sender: burst(ctx, receivers, count, size) for sender, receivers in sends.items()})


class Throttle(RuleFault):
    """A fault that drops some of the packets between two random halves."""

    family = "packet"

    #: A packet filter that some kernels do not fully support, the ability that the rules need, and an error text.
    may_lack: tuple[FirewallKind, str, str]

    def __init__(self, name: str, summary: str, action: Action, option: str) -> None:
        super().__init__(name, summary, action)
        self.option = option

    def precheck(self, ctx: Context) -> str | None:
        kind, need, words = self.may_lack
        if ctx.facts.firewall == kind and (why := ctx.facts.refusal(need)):
            return f"{words} here: {why}"
        return super().precheck(ctx)

    def amount(self, ctx: Context) -> float:
        return ctx.settings.option(self.option)

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        whole = super().plan(ctx, rng)
        return Targets(whole.nodes, whole.grudge, {self.option: self.amount(ctx)})


class PacketLoss(Throttle):
    """Drop a random share of the packets.

    The witness waits until the system has lost one of its own packets.  Then it sends datagrams: every link must drop
    some, and all links together at least half of the configured share.  There is no upper bound, because the counts
    include the system's own packets.
    """

    SENT = 100
    may_lack = "nft", "can:nft-loss", "nftables cannot draw numbers"

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        felt = system_packets(ctx, firewall(ctx), self.name, targets.grudge)
        links = [(node, peer) for node, peers in targets.grudge.items() for peer in peers]
        before = counted(ctx, self.name, targets.grudge)
        send_over(ctx, targets.grudge, self.SENT, 16)
        dropped = counted(ctx, self.name, targets.grudge)
        dropped.subtract(before)
        share = sum(dropped[link] for link in links) / (self.SENT * len(links))
        if share < self.amount(ctx) / 2 or any(dropped[link] <= 0 for link in links):
            raise FaultError(
                f"{share:.1%} of {self.SENT} datagrams per link were dropped instead of {self.amount(ctx):.0%}"
            )
        return {**felt, "asked": self.amount(ctx), "sent_a_link": self.SENT, "share_dropped": round(share, 3)}


class Slow(Throttle):
    """Drop packets above a rate (policing), to which TCP slows down."""

    may_lack = "iptables", "can:iptables-rate", "iptables cannot limit rates"

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        felt = system_packets(ctx, firewall(ctx), self.name, targets.grudge)
        count = max(100, 2 * round(self.amount(ctx)))  # more than the rules let through at once
        send_over(ctx, targets.grudge, count, 1000)
        dropped = counted(ctx, self.name, targets.grudge)
        if quiet := [f"{n}<-{p}" for n, peers in targets.grudge.items() for p in peers if not dropped[n, p]]:
            raise FaultError(f"{count} kB at once went through unhindered on {', '.join(quiet)}")
        return {**felt, "asked_kbytes_s": self.amount(ctx), "dropped_beyond": dropped.total()}


TRAFFIC: tuple[RuleFault, ...] = (
    PacketLoss("packet-loss", "a share of the packets between two halves is lost", "lose", "loss"),
    Slow("slow-link", "the links between two halves carry few kilobytes a second", "slow", "slow_kbytes_s"),
)
