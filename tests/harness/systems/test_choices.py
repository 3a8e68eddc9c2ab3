"""Where there is nothing to choose, a refusal says so: on command lines, in plans and in files."""

from __future__ import annotations

from dataclasses import replace

import click
import pytest

from harness.cli.options.of_system import system_params
from harness.errors import UsageError
from harness.plan import Plan, validate
from harness.systems import find_system
from harness.systems.api import Option
from harness.systems.choices import check_options

BARE = replace(find_system("zookeeper"), options=(Option(name="colour", default="", choices=("",), help="None yet."),))


def test_a_plan_with_a_planted_bug_of_a_system_that_has_none() -> None:
    with pytest.raises(UsageError) as refused:
        validate(Plan(seed=1, system="zookeeper", planted_bug="x", unsafe_test_mode=True))
    assert str(refused.value) == "--planted-bug must be left out, not 'x': zookeeper has no planted bugs"


def test_an_option_whose_only_choice_is_nothing() -> None:
    check_options(BARE, {"colour": ""}, str)
    with pytest.raises(ValueError, match=r"^colour must be left out, not 'red'$"):
        check_options(BARE, {"colour": "red"}, str)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--colour", "red"], "it has no options: leave it out instead of giving 'red'"),
        (["--planted-bug", "x"], "zookeeper has no planted bugs: leave it out instead of giving 'x'"),
    ],
)
def test_the_command_line_says_it_too(words: list[str], why: str) -> None:
    command = click.Command("run", params=system_params(BARE))
    assert command.make_context("run", []).params["colour"] == ""
    with pytest.raises(click.BadParameter) as refused:
        command.make_context("run", words)
    assert refused.value.message == why
