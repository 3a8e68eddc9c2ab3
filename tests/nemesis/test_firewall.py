"""The exact text that nodes are sent, and the reading of what they answer."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from nemesis.core import firewall
from nemesis.core.firewall import FirewallRule, Iptables, Nft
from nemesis.faults.delay import DELAY

NFT, IPTABLES = Nft(), Iptables()


def test_nft_installs_a_partition_in_one_transaction():
    rules = [FirewallRule("n2", ("10.0.0.2", "fd00::2")), FirewallRule("n3", ("10.0.0.3",))]
    command = NFT.install("partition-random-node", rules)
    assert command.argv == ("nft", "-f", "-")
    assert command.stdin == (
        "add table inet harness\n"
        "add chain inet harness fault_partition_random_node { type filter hook input priority -10; policy accept; }\n"
        "flush chain inet harness fault_partition_random_node\n"
        'add rule inet harness fault_partition_random_node ip saddr 10.0.0.2 counter drop comment "from n2"\n'
        'add rule inet harness fault_partition_random_node ip6 saddr fd00::2 counter drop comment "from n2"\n'
        'add rule inet harness fault_partition_random_node ip saddr 10.0.0.3 counter drop comment "from n3"\n'
    )


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            FirewallRule("n2", ("10.0.0.2",), "lose", 0.2),
            'ip saddr 10.0.0.2 numgen random mod 1000 < 200 counter drop comment "from n2"',
        ),
        (
            FirewallRule("n2", ("10.0.0.2",), "slow", 64),
            'ip saddr 10.0.0.2 limit rate over 64 kbytes/second burst 16 kbytes counter drop comment "from n2"',
        ),
    ],
)
def test_nft_rules(rule, text):
    assert NFT.install("x", [rule]).stdin.splitlines()[3:] == [f"add rule inet harness fault_x {text}"]


@pytest.mark.parametrize(("amount", "burst"), [(8, 16), (32, 32)])
def test_iptables_is_given_no_burst_below_the_rate(amount, burst):
    """As it refuses that since 1.8.10."""
    command = IPTABLES.install("x", [FirewallRule("n2", ("10.0.0.2",), "slow", amount)])
    assert f"--hashlimit-above {amount}kb/s --hashlimit-burst {burst}kb " in str(command)


def test_a_reset_lets_the_peers_own_resets_through_first():
    lines = NFT.install("x", [FirewallRule("n2", ("10.0.0.2",), "reset")]).stdin.splitlines()[3:]
    assert [line.removeprefix("add rule inet harness fault_x ip saddr 10.0.0.2 ") for line in lines] == [
        "tcp flags & rst == rst accept",
        'meta l4proto tcp counter reject with tcp reset comment "from n2"',
        'counter drop comment "from n2"',
    ]


def test_nothing_ever_flushes_a_ruleset_or_a_table_that_is_not_ours():
    everything = [
        text
        for wall in (NFT, IPTABLES)
        for command in (
            wall.install("x", [FirewallRule("n2", ("10.0.0.2",))]),
            wall.counters("x"),
            wall.remove("x"),
            wall.gone("x"),
        )
        for text in (*command.argv, command.stdin)
    ]
    text = "\n".join([*everything, firewall.SWEEP])
    assert "flush ruleset" not in text
    assert set(re.findall(r"(?:flush|delete) table (\w+ \w+)", text)) == {"inet harness"}
    assert not re.search(r"-[FX]\s*($|INPUT|;)", text)
    assert all(" -w" in line for line in re.findall(r".*\"\$t\" .*", text))


def test_nft_counters_are_read_by_peer():
    listing = """table inet harness {
	chain x {
		type filter hook input priority filter - 10; policy accept;
		ip saddr 10.0.0.2 counter packets 12 bytes 720 drop comment "from n2"
		ip6 saddr fd00::2 counter packets 3 bytes 180 drop comment "from n2"
		ip saddr 10.0.0.3 tcp flags & rst == rst accept
		ip saddr 10.0.0.3 meta l4proto tcp counter packets 5 bytes 5 reject with tcp reset comment "from n3"
	}
}"""
    assert NFT.packets(listing) == {"n2": 15, "n3": 5}
    assert NFT.packets("") == {}


def test_iptables_installs_both_versions_and_takes_nothing_away_meanwhile():
    """Packets came past while a chain was removed to be made anew, at each link that swizzle cuts."""
    command = IPTABLES.install("bridge", [FirewallRule("n2", ("10.0.0.2", "fd00::2"))])
    shell, flag, script, chain, batch4, batch6 = command.argv
    assert (shell, flag, chain) == ("sh", "-c", "harness-bridge")
    assert '-C INPUT -j "$0"' in script  # a second jump would survive the healing
    assert "-D INPUT" not in script.replace(IPTABLES._remove("ip6tables"), "")
    assert batch4 == (
        "*filter\n:harness-bridge - [0:0]\n"
        '-A harness-bridge -s 10.0.0.2 -m comment --comment "from n2" -j DROP\n'
        "COMMIT\n"
    )
    assert batch6 == batch4.replace("10.0.0.2", "fd00::2")
    assert IPTABLES.install("bridge", [FirewallRule("n2", ("10.0.0.2",))]).argv[-1] == ""


def test_a_partition_of_one_port_drops_only_packets_to_and_from_it():
    rule = FirewallRule("n2", ("10.0.0.2",), only=10912)
    lines = NFT.install("x", [rule]).stdin.splitlines()[3:]
    assert [line.removeprefix("add rule inet harness fault_x ip saddr 10.0.0.2 ") for line in lines] == [
        'tcp dport 10912 counter drop comment "from n2"',
        'tcp sport 10912 counter drop comment "from n2"',
    ]
    assert [line.removeprefix("-A harness-x -s 10.0.0.2 ") for line in _iptables_rules(rule)] == [
        '-p tcp --dport 10912 -m comment --comment "from n2" -j DROP',
        '-p tcp --sport 10912 -m comment --comment "from n2" -j DROP',
    ]
    whole = replace(rule, only=0)
    assert (len(NFT.install("x", [whole]).stdin.splitlines()[3:]), len(_iptables_rules(whole))) == (1, 1)


def _iptables_rules(rule):
    return IPTABLES.install("x", [rule]).argv[-2].splitlines()[2:-1]


def test_packets_of_the_system_are_counted_before_and_behind_what_acts():
    rule = FirewallRule("n2", ("10.0.0.2",), "lose", 0.2, (20911,))
    lines = NFT.install("x", [rule]).stdin.splitlines()[3:]
    assert [line.removeprefix("add rule inet harness fault_x ip saddr 10.0.0.2 ") for line in lines] == [
        'tcp dport 20911 tcp flags & rst != rst counter comment "before n2"',
        'tcp sport 20911 tcp flags & rst != rst counter comment "before n2"',
        'numgen random mod 1000 < 200 counter drop comment "from n2"',
        'tcp dport 20911 tcp flags & rst != rst counter comment "after n2"',
        'tcp sport 20911 tcp flags & rst != rst counter comment "after n2"',
    ]
    batch = _iptables_rules(rule)
    two = replace(rule, ports=(20911, 7))
    assert (
        NFT.install("x", [two]).stdin.count("tcp dport 7 ") == NFT.install("x", [two]).stdin.count("sport 20911 ") == 2
    )
    assert IPTABLES.install("x", [two]).argv[-2].count("--sport 7 ") == 2
    assert [line.removeprefix("-A harness-x -s 10.0.0.2 ") for line in batch] == [
        '-p tcp --dport 20911 ! --tcp-flags RST RST -m comment --comment "before n2"',
        '-p tcp --sport 20911 ! --tcp-flags RST RST -m comment --comment "before n2"',
        '-m statistic --mode random --probability 0.200 -m comment --comment "from n2" -j DROP',
        '-p tcp --dport 20911 ! --tcp-flags RST RST -m comment --comment "after n2"',
        '-p tcp --sport 20911 ! --tcp-flags RST RST -m comment --comment "after n2"',
    ]


def test_what_did_not_come_past_the_rules_was_done_to_the_system():
    listing = """
		ip saddr 10.0.0.2 tcp dport 20911 counter packets 10 bytes 720 comment "before n2"
		ip saddr 10.0.0.2 tcp sport 20911 counter packets 5 bytes 720 comment "before n2"
		ip saddr 10.0.0.2 counter packets 9 bytes 720 drop comment "from n2"
		ip saddr 10.0.0.2 tcp dport 20911 counter packets 8 bytes 720 comment "after n2"
		ip saddr 10.0.0.2 tcp sport 20911 counter packets 4 bytes 720 comment "after n2"
		ip saddr 10.0.0.3 tcp dport 20911 counter packets 7 bytes 720 comment "before n3"
		ip saddr 10.0.0.3 tcp dport 20911 counter packets 7 bytes 720 comment "after n3"
"""
    assert NFT.system_packets(listing) == {"n2": 3}
    assert NFT.packets(listing) == {"n2": 9}
    listing = """Chain harness-x (1 references)
    pkts      bytes target     prot opt in     out     source               destination
       7      420            6    --  *      *       10.0.0.2             0.0.0.0/0   tcp dpt:20911 /* before n2 */
       5      420 DROP       0    --  *      *       10.0.0.2             0.0.0.0/0            /* from n2 */
       2      420            6    --  *      *       10.0.0.2             0.0.0.0/0   tcp dpt:20911 /* after n2 */
"""
    assert IPTABLES.system_packets(listing) == {"n2": 5}
    assert IPTABLES.packets(listing) == {"n2": 5}


def test_chain_names_fit_into_iptables():
    chain = IPTABLES.install("kill-leader-then-the-longest-successor", []).argv[3]
    assert len(chain) == 28


def test_iptables_counters_are_read_by_peer():
    listing = """Chain harness-x (1 references)
    pkts      bytes target     prot opt in     out     source               destination
       7      420 DROP       0    --  *      *       10.0.0.2             0.0.0.0/0            /* from n2 */
       0        0 DROP       0    --  *      *       10.0.0.3             0.0.0.0/0            /* from n3 */
"""
    assert IPTABLES.packets(listing) == {"n2": 7, "n3": 0}


def test_nft_removes_one_chain_and_succeeds_where_there_is_none():
    assert NFT.remove("bridge").stdin == (
        "add table inet harness\nadd chain inet harness fault_bridge\ndelete chain inet harness fault_bridge\n"
    )


def test_iptables_queues_all_but_our_own_copies():
    batch = IPTABLES.install("x", [FirewallRule("n2", ("10.0.0.2",), "queue", 60)]).argv[-2]
    assert (
        '-A harness-x -s 10.0.0.2 -m mark ! --mark 0x77 -m comment --comment "from n2" '
        "-j NFQUEUE --queue-num 60 --queue-bypass\n"
    ) in batch


def test_what_is_queued_has_the_rules_of_other_faults_before_it():
    """A packet that the helper lets go comes past the rest of its table, as does one that ``ACCEPT`` meets.

    So the rules of a partition that a delay of the same link is laid over would have no effect any more.
    """
    wall = DELAY[0].wall
    install = wall.install("packet-delay", [FirewallRule("n2", ("10.0.0.2",), "queue", 60)])
    assert install.argv[-2].startswith("*mangle\n")
    others = (install, wall.counters("x"), wall.remove("x"), wall.gone("x"))
    for text in (command.argv[2] for command in others):
        assert len(re.findall(" -w -(?!-)", text)) == text.count(" -w -t mangle -") > 0
    assert "iptables -w -t mangle" in firewall.SWEEP
    assert IPTABLES.install("x", [FirewallRule("n2", ("10.0.0.2",))]).argv[-2].startswith("*filter\n")
    assert "ACCEPT" not in str(IPTABLES.install("x", [FirewallRule("n2", ("10.0.0.2",), "reset")]))
