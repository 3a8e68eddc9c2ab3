"""The scripts of the pages are built from the modules in ``web/src``."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASSETS, WEB = ROOT / "reports" / "assets", ROOT / "web"
NAMES = ("report.js", "site.js", "compare.js")


def test_the_scripts_are_built_from_the_modules_as_they_are(tmp_path: Path) -> None:
    if not (WEB / "node_modules" / ".bin" / "esbuild").exists():
        pytest.skip("esbuild is not installed: npm ci in web/")
    subprocess.run(["npm", "run", "--silent", "build", "--", f"--outdir={tmp_path}"], cwd=WEB, check=True)
    stale = [name for name in NAMES if (tmp_path / name).read_text() != (ASSETS / name).read_text()]
    assert stale == [], "npm run build in web/"


@pytest.mark.parametrize("name", NAMES)
def test_a_script_does_not_end_the_element_that_holds_it(name: str) -> None:
    text = (ASSETS / name).read_text().lower()
    assert "</script" not in text
    assert "<!--" not in text
