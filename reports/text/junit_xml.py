"""Parts of a JUnit document that those of runs and suites share."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path

from history.safe_open import replacing
from reports.style.format import xml_text


def add_properties(parent: ET.Element, values: Mapping[str, object]) -> None:
    """Add a ``properties`` element with these names and values."""
    properties = ET.SubElement(parent, "properties")
    for name, value in values.items():
        ET.SubElement(properties, "property", name=name, value=xml_text(value))


def count_cases(suite: ET.Element) -> None:
    """Set the suite's counts from its test cases."""
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))


def write_document(root: ET.Element, path: Path) -> None:
    """Write a document atomically.  Raises UnsafeFileError, OSError."""
    tree = ET.ElementTree(root)
    ET.indent(tree)
    with replacing(path.parent, path) as file:
        tree.write(file, encoding="utf-8", xml_declaration=True)
