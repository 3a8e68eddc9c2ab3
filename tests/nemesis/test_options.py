from __future__ import annotations

import re
from pathlib import Path

import pytest

import nemesis
from harness.systems.dledger.processes import STORE_FILES
from nemesis.core.errors import OptionError
from nemesis.core.fault import Settings
from nemesis.core.options import OPTIONS, check_options
from nemesis.faults.registry import FAULTS

SOURCES = [path.read_text() for path in Path(next(iter(nemesis.__path__))).rglob("*.py")]


def test_every_figure_that_is_asked_for_is_in_the_table_and_the_other_way_round():
    asked = {name for text in SOURCES for name in re.findall(r'settings\.option\("(\w+)"\)', text)}
    own = {fault.option for fault in FAULTS.values() if hasattr(fault, "option")}
    classes = {f"damage_{name}" for name in STORE_FILES}
    assert asked | own | classes == set(OPTIONS)
    assert {option.fault for option in OPTIONS.values()} <= set(FAULTS)


def test_the_plans_figure_or_the_default():
    assert Settings().option("loss") == 0.2
    assert Settings(options={"loss": 0.4}).option("loss") == 0.4
    with pytest.raises(KeyError):
        Settings().option("los")


def test_defaults_are_within_their_own_bounds():
    check_options({name: option.default for name, option in OPTIONS.items()})
    check_options({})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delay": 9.0}, "did you mean delay_ms"),
        ({"xyzzy": 9.0}, "the choices are bitflips, cpu_share"),
        ({"loss": 0.0}, "loss must be a number from 0.001 to 1, not 0.0: packet-loss: share of the packets"),
        ({"delay_ms": float("nan")}, "not nan"),
        ({"delay_ms": 0}, "must be a number from 1 to 10000, not 0"),
        ({"slow_kbytes_s": 10_000}, "must be a number from 1 to 5000, not 10000"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(OptionError, match=message):
        check_options(options)
