"""JSON Schemas for hand-written files, which let editors complete and check them.

::

    python -m harness.schemas        rewrites schemas/*.schema.json and the table of options in docs/results.md

The schemas are made from the types that read the files, and from the help of the options.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.clusters.inventory import INVENTORY
from harness.judge.known_defects import Defects
from harness.options import plan_file
from harness.plan import HELP, Plan, field_of
from harness.suite.file_types import SUITE
from harness.systems import usable_systems
from harness.systems.program.file_type import SystemFile
from nemesis.schedule.script import Script

#: The page with the table of a plan's options.
PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "results.md"
_BEGIN: Final = "<!-- made by python -m harness.schemas -->"
_END: Final = "<!-- end -->"
FOLDER: Final = Path(__file__).resolve().parents[1] / "schemas"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
#: Each file's name and type, and whether it may have a plan's options.  Elsewhere, the same names mean other things.
_FILES: Final[tuple[tuple[str, type, bool], ...]] = (
    ("plan", plan_file(), True),
    ("suite", SUITE, True),
    ("defects", Defects, False),
    ("schedule", Script, False),
    ("inventory", INVENTORY, False),
    ("system", SystemFile, False),
)


def schemas() -> dict[str, str]:
    """Return the text of each schema by its file name."""
    texts = {}
    for name, wanted, has_options in _FILES:
        schema = {"$schema": _DIALECT, **msgspec.json.schema(wanted)}
        if has_options:
            for table in schema["$defs"].values():
                _describe(table["properties"])
        if wanted is SUITE:
            _share_options(schema["$defs"])
        texts[f"{name}.schema.json"] = json.dumps(schema, indent=1) + "\n"
    return texts


def _describe(properties: dict[str, Any]) -> None:
    """Describe each option of a plan by its command-line help, followed by the reason for its bounds."""
    helps = {option.name: option.help for system in usable_systems()[0] for option in system.options} | dict(HELP)
    for name, schema in properties.items():
        if text := helps.get(field_of(name)):
            reason = f" ({schema['description']})" if "description" in schema else ""
            properties[name] = {**schema, "description": text + reason}


def _share_options(tables: dict[str, Any]) -> None:
    """Define each option of a suite once, in ``[defaults]``, and let the other tables refer to it."""
    for name in tables["Defaults"]["properties"]:
        value = {"$ref": f"#/$defs/Defaults/properties/{name}"}
        axis = {"anyOf": [value, {"type": "array", "items": value, "minItems": 1}]}
        tables["Override"]["properties"][name] = value
        tables["Condition"]["properties"][name] = axis
        tables["Matrix"]["properties"][name] = {"$ref": f"#/$defs/Condition/properties/{name}"}


def with_options(page: str) -> str:
    """Return the page with the table of a plan's options inserted between its markers."""
    before, _, rest = page.partition(_BEGIN)
    properties = msgspec.json.schema(Plan)["$defs"]["Plan"]["properties"]
    rows = [
        f"| `{name}` | {_value(schema.get('default'))} | {_bounds(schema)} | {HELP[name].partition('  [')[0]} |"
        for name, schema in properties.items()
    ]
    table = "\n".join(["| option | default | bounds | meaning |", "| --- | --- | --- | --- |", *rows])
    return f"{before}{_BEGIN}\n\n{table}\n\n{_END}{rest.partition(_END)[2]}"


def _value(default: object) -> str:
    return "" if default in (None, "", ()) else f"`{json.dumps(default)}`"


def _bounds(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{choice}`" for choice in schema["enum"])
    above = "above 0" if "exclusiveMinimum" in schema else ""
    least = f"{schema['minimum']:,} or more" if "minimum" in schema else above
    most = f"at most {schema['maximum']:,}" if schema.get("maximum", math.inf) < 10**9 else ""
    return ", ".join(filter(None, (least, most)))


def main() -> None:
    """Write all schemas and the table of options."""
    PAGE.write_text(with_options(PAGE.read_text()))
    FOLDER.mkdir(exist_ok=True)
    for name, text in schemas().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
