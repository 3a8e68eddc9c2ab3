"""Compare the model ``etcd`` with that of etcd's robustness tests: the same generated histories, the same verdicts.

``python -m bench.checker.etcd_model [--count 2500]`` builds the Go program in ``etcd/`` with the Go on the PATH and the
modules of etcd's tests, which takes two minutes, and exits with 1 if a verdict differs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from checker import check
from tests.support.history.etcd_report import report, spoil

TESTS: Final = "go.etcd.io/etcd/tests/v3@v3.7.3"
_SAME: Final = {"valid": "Ok", "invalid": "Illegal"}
#: An unanswered operation may take effect until this time, which is how etcd's tests prepare a history for judging.
_LAST: Final = 1 << 40


def built(directory: Path) -> Path:
    """Build the program from its source in this directory, and return its path."""
    shutil.copy(Path(__file__).with_name("etcd") / "main.go", directory)
    for command in ("mod init model", f"get {TESTS}", "mod tidy", "build -o model ."):
        subprocess.run(["go", *command.split()], cwd=directory, check=True)
    return directory / "model"


def histories(count: int) -> Iterator[list[dict[str, Any]]]:
    """Yield generated reports, each with a twin in which one figure of an answer is changed."""
    for seed in range(count):
        whole = report(seed)
        for operations in (whole, spoil(seed, whole)):
            # Their answers say nothing about the state.
            if judged := [one for one in operations if one["Input"]["Type"] != "defragment"]:
                yield judged


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2500)
    found = list(histories(parser.parse_args().count))
    with tempfile.TemporaryDirectory() as directory:
        program, path = built(Path(directory)), Path(directory, "operations.json")
        ours = []
        for operations in found:
            path.write_text("".join(json.dumps(one, indent=2) + "\n" for one in operations))
            ours.append(check(path).verdict)
        for operations in found:
            for one in operations:
                one["Return"] = _LAST if one["Output"]["Error"] else one["Return"]
        lines = "".join(json.dumps(operations) + "\n" for operations in found)
        done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    pairs = Counter(zip(ours, done.stdout.split(), strict=True))
    for (mine, theirs), number in sorted(pairs.items()):
        print(f"{number} histories: {mine} here, {theirs} by etcd's model")
    return int(any(_SAME[mine] != theirs for mine, theirs in pairs))


if __name__ == "__main__":
    raise SystemExit(main())
