"""Who may import whom, and what else the tree promises of itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).resolve().parents[1]
MAY_IMPORT = {
    "history": set(),
    "checker": {"history"},
    "nemesis": {"history"},
    "reports": {"history"},
    "pipeline": {"history", "checker"},
    "harness": {"history", "checker", "nemesis", "pipeline", "reports"},
}
#: Inside a package, from the bottom to the top: a room (a folder, or a module beside the folders) imports only from
#: rooms that stand before it, and from those in the same row never one from another.
LAYERS = {
    "history": [
        "errors file_signatures codes extras loading_clock no_pandas schema system_entry_points under_way",
        "log_times safe_open", "compiled json_object", "toml_file records",
        "tables readers", "columns", "metrics", "recording", "node_logs", "__init__",
    ],
    "checker": [
        "core", "models kernels turns", "foreign search transactions", "engines weak_levels",
        "dispatch warmup", "counterexamples", "explain",
        "columnar", "per_key", "monitor", "check", "__init__",
    ],
    "nemesis": ["core", "faults", "schedule sweep", "deadman", "__init__"],
    "reports": [
        "errors style vendor assets templates words", "load", "analysis", "story",
        "text plots export", "page", "write site", "__init__",
    ],
    "pipeline": ["errors", "tables", "spark", "warehouse", "tables_page __init__"],
    "harness": [
        "errors exits terminal spark_choice names", "ownership jepsen_store", "generators spark_settings", "workloads",
        "clients",
        "remote files",
        "systems", "plan", "options store", "runstate", "clusters", "judge testing", "execution", "doctor file_report",
        "suite", "cli", "schemas start", "__main__ __init__",
    ],
}  # fmt: skip
MOST_WITHOUT_A_MAP = 10
MODULES = sorted(path for package in MAY_IMPORT for path in (ROOT / package).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def statements(path: Path) -> tuple[ast.AST, ...]:
    """A module and its statements, however deep: a tenth of its nodes, and all that is asked for here."""
    found: list[ast.AST] = [tree(path)]
    for node in found:  # which grows
        for block in ("body", "handlers", "orelse", "finalbody", "cases"):
            found += getattr(node, block, ())
    return tuple(found)


@cache
def imports(path: Path) -> set[str]:
    """The modules that a file names in its imports, at its top, in its functions and for type checkers alike."""
    named: set[str] = set()
    for node in statements(path):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative imports hide who imports whom"
            named.add(node.module or "")
    return named


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_the_design_permits(package: str) -> None:
    forbidden = set(MAY_IMPORT) - MAY_IMPORT[package] - {package}
    found = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in (ROOT / package).rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] in forbidden | {"tests", "bench"}
    }
    assert found == set()


def room(path: Path) -> tuple[str, str]:
    package, first, *_ = path.relative_to(ROOT).parts
    return package, first.removesuffix(".py")


@cache
def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


PLACES = {module(path): path for path in MODULES}


@cache
def imported_modules(path: Path) -> set[Path]:
    """Our own modules that a file imports; of a package its ``__init__`` only if a name of that is taken."""
    found = set()
    for node in statements(path):
        if isinstance(node, ast.ImportFrom):
            named = [f"{node.module}.{alias.name}" for alias in node.names]
            found |= {PLACES[name if name in PLACES else str(node.module)] for name in named if node.module in PLACES}
        elif isinstance(node, ast.Import):
            found |= {PLACES[alias.name] for alias in node.names if alias.name in PLACES}
    return found - {path}


@pytest.mark.parametrize("package", LAYERS)
def test_inside_a_package_imports_go_downwards(package: str) -> None:
    level = {name: number for number, row in enumerate(LAYERS[package]) for name in row.split()}
    inside = [path for path in MODULES if room(path)[0] == package]
    assert {room(path)[1] for path in inside} <= set(level)
    upwards = {
        f"{module(path)} imports {module(other)}"
        for path in inside
        for other in imported_modules(path)
        if room(other)[0] == package and room(other) != room(path) and level[room(other)[1]] >= level[room(path)[1]]
    }
    assert upwards == set()


def test_a_public_class_name_stands_in_one_package() -> None:
    packages: dict[str, set[str]] = {}
    for path in MODULES:
        for node in statements(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                packages.setdefault(node.name, set()).add(room(path)[0])
    assert {name: places for name, places in packages.items() if len(places) > 1} == {}


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = networkx.DiGraph((module(path), module(other)) for path in MODULES for other in imported_modules(path))
    assert [sorted(group) for group in networkx.strongly_connected_components(graph) if len(group) > 1] == []


@pytest.mark.parametrize("package", LAYERS)
def test_a_package_says_what_is_in_its_rooms(package: str) -> None:
    reported = ast.get_docstring(tree(ROOT / package / "__init__.py")) or ""
    rooms = {room(path)[1] for path in MODULES if room(path)[0] == package} - {"__init__", "__main__"}
    assert {name for name in rooms if f"``{name}``" not in reported} == set()


def test_a_map_of_a_folder_leaves_nothing_out() -> None:
    """A docstring of a folder that has a table, or of one of many modules, names each module and folder in it."""
    left_out = {}
    for init in (path for path in MODULES if path.name == "__init__.py"):
        mapped = ast.get_docstring(tree(init)) or ""
        inside = {path.stem for path in init.parent.glob("[!_]*.py")}
        inside |= {path.parent.name for path in init.parent.glob("*/__init__.py")}
        if "====" in mapped or (mapped and len(inside) > MOST_WITHOUT_A_MAP):
            left_out[str(init)] = {name for name in inside if f"``{name}``" not in mapped}
    assert {place: names for place, names in left_out.items() if names} == {}


#: Outside harness/systems nothing names a system under test, nor what only one of them has, but for what is listed here
#: and in docs/design.md.
SYSTEM_WORDS = re.compile(
    r"dledger|openmessaging|rocketmq|brokers?\b|sync.?state.?set|zoo_?keeper|kazoo|zxid|znode|bookkeeper|bookies?\b"
    r"|\bjars?\b|2091[12]|currterm|ledger|\[Push-|ChangeRole"
    r"|read_mode|client_follows|\"timers\"|get\(\"snapshot\"\)",
    re.IGNORECASE,
)
_PACKAGE = "the distribution's own name"
_SPARK = "the jars of Spark"
_MODEL = "a model of an object that is called so, which workers of Spark know without any system"
_EARLIER = "recordings whose checks did not declare it"
#: Where one of these words may stand: the words, and why.
ALLOWED_WORDS: dict[str, tuple[set[str], str]] = {
    "harness/cli/main.py": ({"dledger"}, _PACKAGE),
    "history/extras.py": ({"dledger", "zookeeper", "kazoo"}, f"{_PACKAGE}, and an extra of the installation"),
    "harness/plan.py": ({"zookeeper"}, "an example of a label"),
    **dict.fromkeys(
        ("history/records/indexes.py", "web/src/epochs.js"),
        ({"zookeeper", "zxid"}, "an example of indexes that have epochs"),
    ),
    "harness/judge/known_defects.py": ({"[push-"}, "an example of a defect's mark"),
    "checker/models/registry.py": ({"ledger", "sync-state-set", "sync_state_set", "syncstateset"}, _MODEL),
    "checker/models/__init__.py": ({"ledger", "sync_state_set"}, _MODEL),
    "checker/models/sync_state_set.py": (
        {"rocketmq", "broker", "brokers", "sync-state-set", "sync state set", "syncstateset"}, _MODEL,
    ),
    "pipeline/errors.py": ({"jar"}, _SPARK),
    "pipeline/spark/hadoop_fs.py": ({"jar", "jars"}, _SPARK),
    "pipeline/spark/session.py": ({"jar", "jars"}, _SPARK),
    "checker/models/ledger.py": ({"ledger"}, _MODEL),
}  # fmt: skip


def test_nothing_but_the_systems_names_a_system() -> None:
    core = [path for path in MODULES if not path.is_relative_to(ROOT / "harness" / "systems")]
    core += [*(ROOT / "web" / "src").rglob("*.js"), *(ROOT / "reports" / "templates").iterdir()]
    found = {
        str(path.relative_to(ROOT)): {word.lower() for word in SYSTEM_WORDS.findall(path.read_text())} for path in core
    }
    wrong = {place: words - ALLOWED_WORDS.get(place, (set(), ""))[0] for place, words in found.items()}
    assert {place: words for place, words in wrong.items() if words} == {}
    missing = {place: words - found.get(place, set()) for place, (words, _) in ALLOWED_WORDS.items()}
    assert {place: words for place, words in missing.items() if words} == {}, "allowed, and needed no more"


def test_the_design_lists_what_of_the_core_still_names_a_system() -> None:
    section = (ROOT / "docs" / "design.md").read_text().partition("## What the core knows about systems")[2]
    rows = "\n".join(line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|"))
    listed = re.findall(r"`(\w+/[\w/]+\.(?:py|js))`", rows)
    assert sorted(listed) == sorted(ALLOWED_WORDS)


def test_only_the_command_line_knows_click() -> None:
    knowing = {path for path in MODULES if any(name.split(".")[0] == "click" for name in imports(path))}
    assert {path for path in knowing if ROOT / "harness" / "cli" not in path.parents} == set()


def test_nothing_of_ours_imports_spark_before_it_is_asked_for_a_session() -> None:
    names = ", ".join([*MAY_IMPORT, "harness.execution.run", "harness.cli.main"])
    program = f"import sys, {names}; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_looking_for_a_model_loads_no_system() -> None:
    program = "import sys, checker\ntry: checker.model_named('nosuch')\n"
    program += "except checker.ModelError: sys.exit(any(name.split('.')[0] == 'harness' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


def test_no_module_sets_up_logging_when_it_is_imported() -> None:
    calls = {"setLevel", "addHandler", "basicConfig", "dictConfig", "disable"}
    wrong = {
        f"{module(path)}:{node.lineno}"
        for path in MODULES
        for node in tree(path).body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if isinstance(node.value.func, ast.Attribute) and node.value.func.attr in calls
    }
    assert wrong == set()


def test_every_module_says_what_it_is_about() -> None:
    silent = [path for path in MODULES if tree(path).body and not ast.get_docstring(tree(path))]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


#: Found in the text, for to parse all tests takes seconds: the module, and in brackets or without what is taken of it.
IMPORT = re.compile(r"^[ \t]*(?:from|import) ([\w.]+)(?: import (\((?:[^()#]|#.*)*\)|[^(\n].*))?", re.MULTILINE)


@cache
def taken(folder: str) -> list[tuple[Path, str, str]]:
    paths = (ROOT / folder).rglob("*.py")
    return [(path.relative_to(ROOT), *found) for path in paths for found in IMPORT.findall(path.read_text())]


def test_no_test_imports_another() -> None:
    """What several tests need is in ``tests/support``."""
    wrong = {f"{path} imports {name}" for path, name, _ in taken("tests") if re.search(r"\.(test_\w+|conftest)$", name)}
    assert wrong == set()


def test_tests_and_bench_import_public_names_alone() -> None:
    wrong = {
        f"{path}: {names} of {name}"
        for folder in ("tests", "bench")
        for path, name, names in taken(folder)
        if name.split(".")[0] in MAY_IMPORT and re.search(r"(^|[(,\s])_\w", re.sub(r"#.*| as \w+", "", names))
    }
    assert wrong == set()
