"""Partitions: which node drops packets from which, with proof that packets were dropped.

The proof has two parts.  First we send nothing and wait until a rule on at least one link has counted packets at the
system's own ports; otherwise, the system did not notice.  Then we try every link, including those that the system does
not use (between two followers): the dropping node tries to connect to the dropped one.  The rule counts its packets or
the answers to them, and the attempt ends in silence.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

from nemesis.core import grudges
from nemesis.core.errors import FaultError, SkippedError
from nemesis.core.fault import Context, Family, Targets, Witness, complaint
from nemesis.core.firewall import FIREWALLS, Action, Firewall, FirewallRule
from nemesis.core.ports import Command, Completed

Link: TypeAlias = tuple[str, str]

TRY_S: Final = 0.5

#: Prints two lines for each address: that the attempt began (a shell that never ran would look like silence), and its
#: exit code, which is 124 or 137 for silence until the timeout.  Without --norc, bash runs ~/.bashrc if it is started
#: over SSH.
_TRY_PEERS: Final = r"""limit=$1; port=$2; shift 2
try='echo "$0 began"; exec 3<>"/dev/tcp/$0/$1"'
for a in "$@"; do
  { timeout -s KILL "$limit" bash --norc -c "$try" "$a" "$port" 2>/dev/null; echo "$a $?"; } &
done
wait"""

SILENCE: Final = ("124", "137")


def try_peers(ctx: Context, peers: Iterable[str]) -> Command:
    """Return a command that tries to connect to each of these peers at the system's first port, or at the one cut.

    A refusal is as good an answer as a connection, because both show that packets get through.
    """
    addresses = [ctx.facts.addresses[peer][0] for peer in peers]
    port = only_port(ctx) or ctx.settings.peer_ports[0]
    return Command(("sh", "-c", _TRY_PEERS, "try", str(TRY_S), str(port), *addresses))


def only_port(ctx: Context) -> int:
    """Return the only port that partitions cut, or 0 if they cut all."""
    return round(ctx.settings.option("partition_port"))


def firewall(ctx: Context) -> Firewall:
    """Return the packet filter of this cluster.  Raises FaultError if there is none (``precheck`` reports that)."""
    if (kind := ctx.facts.firewall) is None:
        raise FaultError("no packet filter that every node has")
    return FIREWALLS[kind]


def firewall_refusal(ctx: Context) -> str | None:
    if ctx.facts.firewall is None:
        gaps = ctx.facts.lacking("can:nft")
        return f"neither nftables nor iptables works on every node (nftables missing on {', '.join(gaps)})"
    version_6 = any(":" in address for addresses in ctx.facts.addresses.values() for address in addresses)
    if ctx.facts.firewall == "iptables" and version_6 and (why := ctx.facts.refusal("can:ip6tables")):
        return f"the nodes have IPv6 addresses, and {why}"
    return ctx.facts.refusal("bash", "timeout")


class RuleFault:
    """A network fault made of packet filter rules between two random halves.  Subclasses choose other targets.

    ``unaimed`` says why its nodes cannot be chosen by words; empty if they can.
    """

    family: Family = "partition"
    stops = False
    beyond_quorum = False
    unaimed = ""

    def __init__(self, name: str, summary: str, action: Action = "drop", at_least: int = 2) -> None:
        self.name = name
        self.summary = summary
        self.action: Action = action
        self.at_least = at_least

    def precheck(self, ctx: Context) -> str | None:
        if len(ctx.members) < self.at_least:
            return f"needs at least {self.at_least} nodes with data, this cluster has {len(ctx.members)}"
        return firewall_refusal(ctx)

    def draw(self, ctx: Context, rng: random.Random) -> grudges.Grudge:
        """Draw the grudge to install: two random halves.  Raises SkippedError if there is none."""
        return grudges.random_halves(ctx.members, rng, ctx.others)

    def aimed(self, ctx: Context, nodes: Sequence[str], rng: random.Random) -> grudges.Grudge:  # noqa: ARG002 (drawn)
        """Return the grudge to install if these nodes were chosen beforehand: they form one of its two sides."""
        return grudges.separate(ctx.nodes.names, nodes, [name for name in ctx.nodes.names if name not in nodes])

    def amount(self, ctx: Context) -> float:  # noqa: ARG002 (subclasses look at the settings)
        return 0.0

    def plan(self, ctx: Context, rng: random.Random) -> Targets:
        wanted = ctx.wanted or Targets(())
        if wanted.grudge:
            grudge = dict(wanted.grudge)
        else:
            grudge = grudges.to_mapping(self.aimed(ctx, wanted.nodes, rng) if wanted.nodes else self.draw(ctx, rng))
        if not grudge:
            raise SkippedError("no link would be cut")
        ordered = {name: grudge[name] for name in ctx.nodes.names if name in grudge}
        return Targets(tuple(ordered), ordered)

    def inject(self, ctx: Context, targets: Targets) -> None:
        ctx.run_checked(install_commands(ctx, self.name, targets.grudge, self.action, self.amount(ctx)))

    def witness(self, ctx: Context, targets: Targets) -> Witness:
        return links_witness(ctx, self.name, targets.grudge, "silence" if self.action == "drop" else "refusal")

    def heal(self, ctx: Context, targets: Targets) -> Witness:
        return remove_rules(ctx, self.name, targets.grudge)


def install_commands(
    ctx: Context, chain: str, grudge: Mapping[str, Iterable[str]], action: Action, amount: float = 0.0
) -> dict[str, Command]:
    """Return a command for each node of the grudge that installs its rules in the chain."""
    return {node: firewall(ctx).install(chain, rules_of(ctx, peers, action, amount)) for node, peers in grudge.items()}


def rules_of(ctx: Context, peers: Iterable[str], action: Action, amount: float = 0.0) -> list[FirewallRule]:
    ports, only = ctx.settings.peer_ports, only_port(ctx) if action == "drop" else 0
    return [FirewallRule(peer, ctx.facts.addresses[peer], action, amount, ports, only) for peer in peers]


def remove_rules(ctx: Context, chain: str, nodes: Iterable[str]) -> Witness:
    """Delete the fault's chain on these nodes and check that it is gone; return how many packets it stopped."""
    wall, nodes = firewall(ctx), list(nodes)
    try:
        listings = ctx.nodes.run({node: wall.counters(chain) for node in nodes})
    finally:  # a node that cannot be reached must not keep the others cut off
        began = ctx.clock.now()
        removed = ctx.nodes.run({node: wall.remove(chain) for node in nodes})
        took_ms = (ctx.clock.now() - began) / 1e6
    see_rules_gone(ctx, wall, chain, removed)
    packets = {node: dict(wall.packets(answer.stdout)) for node, answer in listings.items()}
    dropped = sum(number for counts in packets.values() for number in counts.values())
    return {"packets_dropped": dropped, "dropped_by": packets, "healed_ms": round(took_ms, 1), "rules_gone": nodes}


def see_rules_gone(ctx: Context, wall: Firewall, chain: str, removed: Mapping[str, Completed]) -> None:
    """Check that the chain is gone on every node.  Raises FaultError that names all nodes where rules may remain."""
    looks = ctx.nodes.run({node: wall.gone(chain) for node in removed})
    wrong = [f"{n}: exit {a.code}: {complaint(a.stderr)}" for n, a in removed.items() if a.code]
    wrong += [f"{n}: the rules are still in place" for n, a in looks.items() if a.code or "gone" not in a.stdout]
    if wrong:
        raise FaultError("; ".join(wrong))


def links_witness(
    ctx: Context, chain: str, grudge: Mapping[str, Iterable[str]], expected: Literal["silence", "refusal"]
) -> Witness:
    """Return proof that every link of a grudge is cut, from counters and from attempts to connect across it.

    The rules must count packets of the system itself before the first attempt.  Raises FaultError if they do not,
    and also (with the links) if by the deadline an attempt ends unexpectedly, neither its counter nor an attempt
    proves a link cut, or nothing was counted at all.
    """
    felt = system_packets(ctx, firewall(ctx), chain, grudge)
    links = frozenset((node, peer) for node, peers in grudge.items() for peer in peers)
    kept: dict[str, tuple[Counter[Link], dict[Link, str]]] = {}

    def look() -> Witness | None:
        kept["last"] = packets, tried = _look_at_links(ctx, chain, grudge)
        whole = all(packets[link] for link in links) and all(tried.get(link) == expected for link in links)
        return {**felt, **_as_witness(packets, tried, expected)} if whole else None

    if (witness := ctx.until(look, ctx.settings.witness_s, every_s=0.05)) is not None:
        return witness
    packets, tried = kept["last"]
    # An attempt that never began proves nothing, but packets that the rule counted do.
    open_links = [link for link in links if tried.get(link, expected if packets[link] else None) != expected]
    if open_links or not packets.total():
        names = ", ".join(f"{a} still hears {b} ({tried.get((a, b), 'not tried')})" for a, b in sorted(open_links))
        raise FaultError(
            f"{packets.total()} packets counted; {names or 'all links are silent, but no rule counted a packet'}"
        )
    return {**felt, **_as_witness(packets, tried, expected)}


def system_packets(ctx: Context, wall: Firewall, chain: str, nodes: Iterable[str]) -> Witness:
    """Wait until the rules of a fault have acted on packets of the system itself; return the counts by link.

    We must not send anything over these links meanwhile.  Raises FaultError if there are none at the deadline.
    """
    looks = {node: wall.counters(chain) for node in nodes}

    def look() -> Counter[Link] | None:
        answers = ctx.nodes.run(looks)
        tally = {(n, p): k for n, done in answers.items() for p, k in wall.system_packets(done.stdout).items() if k > 0}
        return Counter(tally) if tally else None

    if (packets := ctx.until(look, ctx.settings.witness_s, every_s=0.05)) is None:
        raise FaultError(
            f"the system did not notice: within {ctx.settings.witness_s:g} s none of its own packets (TCP port "
            f"{' or '.join(map(str, ctx.settings.peer_ports))}) matched the rules"
        )
    return {"packets_of_system": {f"{node}<-{peer}": number for (node, peer), number in sorted(packets.items())}}


def counted(ctx: Context, chain: str, nodes: Iterable[str]) -> Counter[Link]:
    """Return how many packets the fault's rules have counted so far, by link (receiver, sender)."""
    wall = firewall(ctx)
    listings = ctx.nodes.run({node: wall.counters(chain) for node in nodes})
    return Counter({(n, peer): k for n, answer in listings.items() for peer, k in wall.packets(answer.stdout).items()})


def _look_at_links(
    ctx: Context, chain: str, grudge: Mapping[str, Iterable[str]]
) -> tuple[Counter[Link], dict[Link, str]]:
    """Try every link; return the packets counted by link, and how the attempt over each link ended."""
    tries = ctx.nodes.run({node: try_peers(ctx, peers) for node, peers in grudge.items()})
    owner = {ctx.facts.addresses[peer][0]: peer for peers in grudge.values() for peer in peers}
    ends = {
        (node, owner[address]): end
        for node, answer in tries.items()
        for address, end in attempts(answer.stdout).items()
        if address in owner
    }
    return counted(ctx, chain, grudge), ends


def attempts(printed: str) -> dict[str, str]:
    """Parse how each attempt ended, by address: ``silence``, ``connected`` or ``refusal``.

    Leaves out attempts that never began.
    """
    lines = [line.split() for line in printed.splitlines() if len(line.split()) == 2]
    began = {address for address, word in lines if word == "began"}
    return {address: _ending(word) for address, word in lines if word != "began" and address in began}


def _ending(code: str) -> str:
    if code in SILENCE:
        return "silence"
    return "connected" if code == "0" else "refusal"


def _as_witness(packets: Counter[Link], tried: dict[Link, str], expected: str) -> Witness:
    links = {f"{node}<-{peer}": number for (node, peer), number in sorted(packets.items())}
    return {
        "packets_counted": packets.total(),
        "links_counted": links,
        f"attempts_{expected}": sum(end == expected for end in tried.values()),
        "attempts": len(tried),
    }


class Partition(RuleFault):
    """A partition whose shape depends only on the names of the nodes."""

    def __init__(self, name: str, summary: str, shape: grudges.Shape, at_least: int = 2) -> None:
        super().__init__(name, summary, "drop", at_least)
        self.shape: Callable[..., grudges.Grudge] = shape

    def draw(self, ctx: Context, rng: random.Random) -> grudges.Grudge:
        return self.shape(ctx.members, rng, ctx.others)


class Bridge(Partition):
    """Two halves that are connected only through one node, which can be chosen."""

    def aimed(self, ctx: Context, nodes: Sequence[str], rng: random.Random) -> grudges.Grudge:
        if len(nodes) > 1:
            raise SkippedError(f"a bridge is one node, but {', '.join(nodes)} were chosen")
        return grudges.bridge_over(ctx.members, nodes[0], rng, ctx.others)


class Ring(Partition):
    """A partition that involves every node, so nodes cannot be chosen."""

    unaimed = "it involves every node"


PARTITIONS: tuple[RuleFault, ...] = (
    Partition("partition-random-node", "one random node hears no other and no other hears it", grudges.random_node),
    Partition("partition-random-halves", "two random halves; one of them keeps a quorum", grudges.random_halves),
    Bridge("bridge", "two halves connected only through one node of the larger half", grudges.bridge, at_least=3),
    Ring(
        "partition-majorities-ring",
        "every member sees a majority, and no two members see the same one",
        grudges.majorities_ring,
        at_least=3,
    ),
)
