"""Mutation testing of the compiled kernels in their plain-Python form: which changes go unnoticed by the tests?

    python bench/checker/mutants.py [--every N] [--samples N] [--only TEXT] [--again FILE] [KERNEL …]

Nothing is compiled by numba.  Each mutant changes one place: a comparison, an operator, a constant, ``min`` or ``max``,
or an assignment, which is left out.  The code that uses the kernel then judges a battery of random small histories,
whose verdicts are known from the definition, in a separate process.  A mutant is killed if it answers wrongly, raises,
takes too much memory or does not return.  ``survivors.toml`` explains why some mutants change no verdict; any other
survivor is printed for a person to look at, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import ast
import copy
import mmap
import os
import resource
import signal
import sys
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

os.environ["NUMBA_DISABLE_JIT"] = "1"
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE)]

from battery import (  # noqa: E402
    Battery,
    Trial,
    of_automaton,
    of_chains,
    of_engines,
    of_gathering,
    of_keys,
    of_multi_registers,
    of_search,
    of_tables,
    of_zones,
)

from checker.kernels import automaton as automaton_kernel  # noqa: E402
from checker.kernels import cas_chains as chains_kernel  # noqa: E402
from checker.kernels import encode as gathering_kernel  # noqa: E402
from checker.kernels import many_keys as keys_kernel  # noqa: E402
from checker.kernels import multi_register as multi_register_kernel  # noqa: E402
from checker.kernels import open_calls as tables_kernel  # noqa: E402
from checker.kernels import pending_writes as pending_kernel  # noqa: E402
from checker.kernels import search as search_kernel  # noqa: E402
from checker.kernels import search_state as state_kernel  # noqa: E402
from checker.kernels import slots as slots_kernel  # noqa: E402
from checker.kernels import zones as zones_kernel  # noqa: E402

# Ordered so that each module comes after those it takes parts from.
KERNELS: Final[dict[str, tuple[Any, Battery]]] = {
    "slots_kernel": (slots_kernel, of_engines),
    "gathering_kernel": (gathering_kernel, of_gathering),
    "pending_kernel": (pending_kernel, of_automaton),
    "automaton_kernel": (automaton_kernel, of_automaton),
    "tables_kernel": (tables_kernel, of_tables),
    "multi_register_kernel": (multi_register_kernel, of_multi_registers),
    "state_kernel": (state_kernel, of_search),
    "search_kernel": (search_kernel, of_search),
    "zones_kernel": (zones_kernel, of_zones),
    "chains_kernel": (chains_kernel, of_chains),
    "keys_kernel": (keys_kernel, of_keys),
}
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
# A trial that has used this many seconds of CPU time will not return: normal ones take less than a tenth of a second.
_PATIENCE: Final = 4.0
_MEMORY: Final = 3 << 30


class Mutator(ast.NodeTransformer):
    """Changes the ``chosen``-th place that can be changed, and lists all of them as (function, line, what)."""

    def __init__(self, chosen: int) -> None:
        self.chosen = chosen
        self.places: list[tuple[str, int, str]] = []
        self.function = ""

    def _mine(self, node: Any, what: str) -> bool:
        if self.function:
            self.places.append((self.function, node.lineno, what))
        return bool(self.function) and len(self.places) - 1 == self.chosen

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.function = node.name
        node.body = [self.visit(statement) for statement in node.body]
        self.function = ""
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        other = SWAPPED.get(type(node.ops[0]))
        if other and self._mine(node, f"{ast.unparse(node)}, {type(node.ops[0]).__name__} -> {other.__name__}"):
            node.ops = [other()]  # type: ignore[list-item]
        self.generic_visit(node)
        return node

    def _operator(self, node: ast.BinOp | ast.BoolOp | ast.AugAssign) -> ast.AST:
        other = SWAPPED.get(type(node.op))
        if other and self._mine(node, f"{ast.unparse(node)}, {type(node.op).__name__} -> {other.__name__}"):
            node.op = other()  # type: ignore[assignment]
        self.generic_visit(node)
        return node

    visit_BinOp = visit_BoolOp = visit_AugAssign = _operator  # noqa: N815

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is int and self._mine(node, f"constant {node.value} -> {node.value + 1}"):
            return ast.copy_location(ast.Constant(node.value + 1), node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if isinstance(node.targets[0], ast.Subscript) and self._mine(node, f"left out: {ast.unparse(node)}"):
            return ast.copy_location(ast.Pass(), node)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("min", "max") and self._mine(node, f"{ast.unparse(node)}: min <-> max"):
            node.func = ast.Name("max" if name == "min" else "min", ast.Load())
        self.generic_visit(node)
        return node


@dataclass(frozen=True, slots=True)
class Mutant:
    """One changed place, named by its function and the text of its line rather than by the line's number."""

    function: str
    name: str
    line: int
    source: str


def mutants(source: str, every: int, only: str) -> Iterator[Mutant]:
    """Yield every ``every``-th mutant whose function or name contains the text ``only``."""
    tree, lines, named = ast.parse(source), source.splitlines(), Counter[tuple[str, str]]()
    whole = Mutator(-1)
    whole.visit(copy.deepcopy(tree))
    for place, (function, line, what) in enumerate(whole.places):
        name = f"{lines[line - 1].strip()} | {what}"
        named[function, name] += 1
        if named[function, name] > 1:
            name += f" #{named[function, name]}"
        if place % every or only not in f"{function} {name}":
            continue
        changed = ast.fix_missing_locations(Mutator(place).visit(copy.deepcopy(tree)))
        yield Mutant(function, name, line, ast.unparse(changed))


def load(name: str, source: str) -> None:
    """Install the changed kernel, and reload the modules that hold parts of it."""
    for other, (module, _) in KERNELS.items():
        text = source if other == name else Path(str(module.__file__)).read_text()
        exec(compile(text, str(module.__file__), "exec"), module.__dict__)
        # Compiled code reads the fields of any record as attributes, plain Python only those of numpy's own class.
        records = {key: value for key, value in vars(module).items() if isinstance(value, np.dtype) and value.names}
        vars(module).update({key: np.dtype((np.record, value)) for key, value in records.items()})


def killer(name: str, source: str, trials: Sequence[Trial]) -> int | None:
    """Return the number of the trial that notices the mutant, or None if it survives.

    The mutant runs in a separate process, which is ended if one trial uses too much CPU time.
    """
    shared = mmap.mmap(-1, 8)
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        status = 1
        try:
            load(name, source)
            for number, trial in enumerate(trials):
                shared[:8] = number.to_bytes(8, "little")
                signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE)
                if not trial.passes():
                    break
            else:
                status = 0
        finally:
            # Any exception means that the mutant was noticed.
            os._exit(status)
    survived = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return None if survived else int.from_bytes(shared[:8], "little")


def known() -> dict[tuple[str, str, str], str]:
    """Return the reasons why mutants survive, by kernel, function and change."""
    table = tomllib.loads((HERE / "survivors.toml").read_text())
    reasons = table.pop("reasons")
    return {
        (kernel, function, change): reasons[reason]
        for kernel, functions in table.items()
        for function, changes in functions.items()
        for change, reason in changes.items()
    }


def examine(name: str, trials: list[Trial], chosen: argparse.Namespace) -> int:
    """Kill the mutants that can be killed, and return how many survivors have no explanation."""
    original = Path(str(KERNELS[name][0].__file__)).read_text()
    if (wrong := killer(name, original, trials)) is not None:
        sys.exit(f"the battery finds something wrong with {name} as it is: {trials[wrong]}")
    known_survivors, total, explained, new = known(), 0, 0, 0
    again = chosen.again.read_text() if chosen.again else ""
    for mutant in mutants(original, chosen.every, chosen.only):
        if chosen.again and f"{name}.{mutant.function}:{mutant.line} survived: {mutant.name}\n" not in again:
            continue
        total += 1
        place = killer(name, mutant.source, trials)
        if place is not None:
            # What killed one mutant is likely to kill the next.
            trials.insert(0, trials.pop(place))
        elif (name, mutant.function, mutant.name) in known_survivors:
            explained += 1
        else:
            new += 1
            print(f"{name}.{mutant.function}:{mutant.line} survived: {mutant.name}", flush=True)
    print(f"{name}: {total} mutants, {total - explained - new} killed, {explained} known to change nothing, {new} new")
    return new


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", default=list(KERNELS), metavar="KERNEL", help=", ".join(KERNELS))
    parser.add_argument("--every", type=int, default=1, help="only every N-th mutant")
    parser.add_argument("--samples", type=int, default=1500, help="number of histories in the battery")
    parser.add_argument("--only", default="", help="only mutants whose function or line contains this text")
    parser.add_argument("--again", type=Path, help="only the mutants named in this file, the output of an earlier run")
    parser.add_argument("--seed", type=int, default=1, help="seed of the battery")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    new, batteries = 0, dict[Battery, list[Trial]]()
    for name in chosen.kernels:
        battery = KERNELS[name][1]
        if battery not in batteries:
            batteries[battery] = list(battery(Random(chosen.seed), chosen.samples))
        new += examine(name, batteries[battery], chosen)
    sys.exit(1 if new else 0)


if __name__ == "__main__":
    main()
