from __future__ import annotations

from typing import get_args

import pytest

from harness.testing import world
from nemesis.core.errors import UnknownFaultError
from nemesis.core.facts import facts_from, survey_command
from nemesis.core.fault import Family
from nemesis.core.ports import Completed
from nemesis.faults.registry import FAULTS, find, prechecks


def test_every_fault_says_what_it_is():
    for name, fault in FAULTS.items():
        assert fault.name == name
        assert fault.family in get_args(Family)
        assert 10 < len(fault.summary) < 160
        assert "\n" not in fault.summary
        assert not fault.summary.endswith(".")


def test_unknown_names_come_with_the_near_ones():
    with pytest.raises(UnknownFaultError) as caught:
        find("hamer-time")
    assert str(caught.value) == "there is no nemesis 'hamer-time'; did you mean hammer-time?"
    with pytest.raises(UnknownFaultError, match=r"no nemesis 'xyzzy'$"):
        find("xyzzy")


def test_prechecks_cover_the_catalogue():
    ctx, *_ = world()
    table = prechecks(ctx)
    assert set(table) == set(FAULTS)
    assert table["partition-random-halves"] is None


def test_facts_are_read_from_the_survey():
    out = "tool nft\ntool bash\ncan nft\nipv6 fd00::1\nipv6 fd00::99\nfaketime /usr/lib/x/libfaketimeMT.so.1\n"
    other = "tool bash\ncan iptables\nipv6 fd00::99\n"
    facts = facts_from(
        {"n1": "10.0.0.1", "n2": "10.0.0.2"}, [Completed("n1", 0, out, "", 0.1), Completed("n2", 0, other, "", 0.1)]
    )
    assert facts.addresses == {"n1": ("10.0.0.1", "fd00::1"), "n2": ("10.0.0.2",)}
    assert facts.can["n1"] == {"nft", "bash", "can:nft", "faketime:/usr/lib/x/libfaketimeMT.so.1"}
    assert facts.firewall is None
    assert facts.refusal("nft") == "n2 lacks nft"
    assert facts.everywhere("bash")


def test_the_survey_leaves_nothing_behind():
    script = survey_command().argv[2]
    assert script.count("add table inet harness_survey") == script.count("delete table inet harness_survey") == 1
