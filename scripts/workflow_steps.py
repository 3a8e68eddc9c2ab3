"""The shell steps of a GitHub Actions job as one bash script, to be run anywhere else.

    .venv/bin/python scripts/workflow_steps.py .github/workflows/nightly.yml suite inputs.suite=smoke matrix.shard=1/1 \
        >steps
    scripts/fresh-root make /tmp/fresh bookworm
    scripts/fresh-root run /tmp/fresh bash -c "$(cat steps)"

The script has the steps word for word, with the environment that GitHub would give them.  Values that are not given are
empty, as in a scheduled run.  ``if: always()`` and ``failure()`` are kept, steps that use an action are only named, and
the script ends with the exit code of the first step that failed.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_LITERAL = re.compile(r"'([^']*)'")
_NAME = re.compile(r"(inputs|matrix|github|strategy)\.[\w-]+")
_WHEN = {"": '[ "$failed" = 0 ]', "always()": "true", "failure()": '[ "$failed" != 0 ]'}

_HEAD = """\
set -u
failed=0
GITHUB_STEP_SUMMARY=$(mktemp)
GITHUB_OUTPUT=$(mktemp)
GITHUB_ENV=$(mktemp)
export GITHUB_STEP_SUMMARY GITHUB_OUTPUT GITHUB_ENV GITHUB_ACTIONS=true CI=true
"""
_STEP = """\
if {when}; then
    echo "##[step] "{name}
    env {variables} bash --noprofile --norc -eo pipefail -c {run} </dev/null
    code=$?
    echo "##[code] $code"
    if [ "$failed" = 0 ]; then failed=$code; fi
fi
"""
_TAIL = """\
echo "##[summary]"
cat "$GITHUB_STEP_SUMMARY"
exit "$failed"
"""


def load(path: Path) -> dict[str, Any]:
    """Return a workflow.  In YAML 1.1, ``on`` is a truth value, so it is found under True."""
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    return found


def evaluate(text: str, values: Mapping[str, str]) -> str:
    """Replace the expressions in a string; ``a || b`` gives the first that is not empty.

    Raises ValueError for an expression that it does not know.
    """

    def one(expression: str) -> str:
        for part in map(str.strip, expression.split("||")):
            literal = _LITERAL.fullmatch(part)
            if literal is None and _NAME.fullmatch(part) is None:
                raise ValueError(f"an expression that is not understood: {expression}")
            found = literal[1] if literal else values.get(part, "")
            if found:
                return found
        return ""

    return _EXPRESSION.sub(lambda match: one(match[1]), text)


def steps(job: Mapping[str, Any], values: Mapping[str, str]) -> Iterator[str]:
    """Yield each step as bash."""
    for step in job["steps"]:
        name = step.get("name") or step.get("uses")
        if "run" not in step:
            yield f"echo {shlex.quote(f'##[passed over] {name}')}\n"
            continue
        variables = {key: evaluate(str(value), values) for key, value in (step.get("env") or {}).items()}
        yield _STEP.format(
            when=_WHEN[step.get("if", "")],
            name=shlex.quote(name),
            variables=" ".join(shlex.quote(f"{key}={value}") for key, value in variables.items()),
            run=shlex.quote(step["run"]),
        )


def script(path: Path, job: str, values: Mapping[str, str]) -> str:
    """Return the whole job as bash.  Raises KeyError if there is no such job, or ValueError as :func:`evaluate`."""
    return _HEAD + "".join(steps(load(path)["jobs"][job], values)) + _TAIL


if __name__ == "__main__":
    file, job_name, *given = sys.argv[1:]
    sys.stdout.write(script(Path(file), job_name, dict(word.split("=", 1) for word in given)))
