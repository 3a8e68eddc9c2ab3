"""Mutation testing of the compiled kernels, in their plain-Python form: which changes does no test notice?

    python bench/checker/mutants.py [--every N] [--samples N] [KERNEL …]

numba is told not to compile.  One place is changed at a time (comparisons, operators, constants, ``min`` and ``max``,
an assignment left out), and a battery of random small histories, whose truth the definition has told, is judged by the
engines that use the kernel, in a process of its own.  A mutant that answers wrongly, raises or does not come back is
killed; what survives is printed with its line, to be looked at by a person.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

os.environ["NUMBA_DISABLE_JIT"] = "1"
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from checker import (  # noqa: E402  # noqa: E402
    ANY,
    CasRegister,
    Model,
    Register,
    automaton,
    automaton_kernel,
    compiled_search,
    search_kernel,
    slots_kernel,
)
from checker.answer import Limits  # noqa: E402
from checker.calls import Call, calls_of  # noqa: E402
from checker.deciding import decide  # noqa: E402
from checker.definition import SMALL, is_linearization, linearizable  # noqa: E402
from tests.checker.oracle import READ_TWICE, Sampler, dense_history, either_pending_write, history_of, is_linearizable  # noqa: E402

KERNELS = {"slots_kernel": slots_kernel, "automaton_kernel": automaton_kernel, "search_kernel": search_kernel}
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


class Tabled(Model):
    """A cas register that the search must ask about."""

    name = "tabled"

    def step(self, state: Any, f: str, value: Any, result: Any) -> Any:
        return CasRegister().step(state, f, value, result)


@dataclass(frozen=True, slots=True)
class Trial:
    """One history for one engine, how much work it may do at once, and whether it is linearizable."""

    engine: str
    model: Model
    calls: list[Call]
    budget: int
    truth: bool

    def passes(self) -> bool:
        _set(_BUDGET=self.budget)
        looks = iter(range(1 << 40))
        limits = Limits(lambda: next(looks), 50_000)
        answer = decide(self.calls, self.model, limits, engine=self.engine)
        if answer.verdict != ("valid" if self.truth else "invalid"):
            return False
        if answer.order is not None:
            return is_linearization(answer.order, self.calls, self.model)
        return answer.last is None or self.model.initial is ANY or self._is_first(answer.last)

    def _is_first(self, last: int) -> bool:
        """Is this the first return that nothing explains?"""
        cut = [call if call.ret <= last else call.forgotten() for call in self.calls if call.invoke <= last]
        before = [call.forgotten() if call.ret == last else call for call in cut]
        with_it, without = ([c for c in some if not (c.pending and c.f == "read")] for some in (cut, before))
        return not linearizable(with_it, self.model) and linearizable(without, self.model)


def _set(**constants: int) -> None:
    """Little room and small pieces, so that growing and going on are tried as well."""
    for module in (automaton, compiled_search):
        module.__dict__.update(constants)


def battery(samples: int) -> list[Trial]:
    random = Random(1)
    trials = [
        Trial("automaton", Register(), calls_of(either_pending_write(first, both=both), Register()), 20_000, not both)
        for first in (1, 2)
        for both in (False, True)
    ]
    for spans in READ_TWICE.values():
        for pending in (1, 2):
            calls = calls_of(history_of([*(("write", 1, n, None) for n in range(pending)), *spans]), Register())
            trials += [Trial(engine, Register(), calls, 20_000, pending == 2) for engine in ("automaton", "search")]
    for _ in range(samples):
        cas = random.random() < 0.4
        sampler = Sampler(random, values=random.choice([None, 1, 2, 3, 4]), cas=cas, truth=random.choice([0.6, 0.9, 1]))
        history = sampler.history(random.randint(1, 12), random.randint(2, 6))
        if not cas and random.random() < 0.8:
            history = dense_history(
                random, random.randint(4, 9), values=random.randint(2, 4), doubt=random.choice([0.1, 0.5])
            )
        budget = random.choice([1, 7, 20_000])
        for engine, model in (
            ("automaton", CasRegister()), ("search", CasRegister()), ("search", Tabled()),
            ("automaton", CasRegister(ANY)), ("search", CasRegister(ANY)),
        ):  # fmt: skip
            calls = calls_of(history, model)
            if (engine == "automaton" and cas) or len(calls) > SMALL:
                continue
            truth = is_linearizable(history) if model.initial is None else linearizable(calls, model)
            trials.append(Trial(engine, model, calls, budget, truth))
    return trials


class Mutator(ast.NodeTransformer):
    """Changes the ``chosen``-th place that can be changed; counts them all."""

    def __init__(self, chosen: int) -> None:
        self.chosen, self.count, self.told = chosen, 0, ""
        self.inside = False

    def _mine(self, node: ast.AST, what: str) -> bool:
        self.count += self.inside
        if not self.inside or self.count - 1 != self.chosen:
            return False
        self.told = f"line {getattr(node, 'lineno', '?')}: {what}"
        return True

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.inside = True
        node.body = [self.visit(statement) for statement in node.body]
        self.inside = False
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
        number = type(node.value) is int
        if number and self._mine(node, f"constant {node.value} -> {node.value + 1}"):
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


def mutants(source: str, every: int) -> Iterator[tuple[str, str]]:
    """(what was changed, the changed source)."""
    tree = ast.parse(source)
    whole = Mutator(-1)
    whole.visit(copy.deepcopy(tree))
    for place in range(0, whole.count, every):
        mutator = Mutator(place)
        changed = ast.fix_missing_locations(mutator.visit(copy.deepcopy(tree)))
        yield mutator.told, ast.unparse(changed)


def load(name: str, source: str) -> None:
    """Put the changed kernel in its place, and the others anew, as they hold parts of it."""
    for other, module in KERNELS.items():
        text = source if other == name else Path(str(module.__file__)).read_text()
        exec(compile(text, str(module.__file__), "exec"), module.__dict__)


def survives(name: str, source: str, trials: list[Trial], seconds: int) -> bool:
    """Does the battery find nothing wrong?  In a process of its own, which an alarm ends."""
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        try:
            load(name, source)
            good = all(trial.passes() for trial in trials)
        except Exception:  # noqa: BLE001 (whatever it is, it was noticed)
            good = False
        os._exit(0 if good else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", default=list(KERNELS), metavar="KERNEL", help=", ".join(KERNELS))
    parser.add_argument("--every", type=int, default=1, help="only every N-th mutant")
    parser.add_argument("--samples", type=int, default=1500, help="histories in the battery")
    parser.add_argument("--seconds", type=int, default=120, help="a mutant that takes longer is killed")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    _set(_NARROW=2, _ROOM=2, _AHEAD=0)
    trials = battery(chosen.samples)
    for name in chosen.kernels:
        original = Path(str(KERNELS[name].__file__)).read_text()
        if not survives(name, original, trials, chosen.seconds):
            sys.exit(f"the battery finds something wrong with {name} as it is, or takes longer than {chosen.seconds} s")
        left = total = 0
        for told, source in mutants(original, chosen.every):
            total += 1
            if survives(name, source, trials, chosen.seconds):
                left += 1
                print(f"{name} survived, {told}", flush=True)
        print(f"{name}: {total} mutants, {total - left} killed, {left} survived", flush=True)


if __name__ == "__main__":
    main()
