"""Files of systems: fetched once, kept by their content, and complete or not there at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.errors import ArtifactError, UsageError
from harness.systems import artifacts
from harness.systems.artifacts import LocalFiles, MavenJars, cached, digest_of, folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "harness"


@dataclass
class Toy:
    name: str = "toy"
    key: str = "toy:1"
    fails: bool = False
    fetched: list[str] = field(default_factory=list)

    def fetch(self, into: Path, say: object) -> None:
        self.fetched.append(self.key)
        (into / "half").write_text("x")
        if self.fails:
            raise ArtifactError("the network is gone")


def test_what_was_fetched_once_is_not_fetched_again() -> None:
    toy = Toy()
    assert cached(toy, print) == cached(toy, print)
    assert toy.fetched == ["toy:1"]
    assert (cached(toy, print) / "half").read_text() == "x"


def test_another_key_is_another_folder() -> None:
    assert folder(Toy()) != folder(Toy(key="toy:2"))
    assert folder(Toy()).startswith("toy-")


def test_a_fetch_that_fails_leaves_nothing_and_is_tried_again(cache: Path) -> None:
    toy = Toy(fails=True)
    with pytest.raises(ArtifactError, match="the network is gone"):
        cached(toy, print)
    assert list(cache.iterdir()) == []
    toy.fails = False
    assert cached(toy, print).is_dir()


def test_a_cache_that_cannot_be_written_is_named_with_the_mend(cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_text("a file where the folder should be")
    with pytest.raises(ArtifactError, match=r"cannot write .*XDG_CACHE_HOME"):
        cached(Toy(), print)


def test_local_files_are_known_by_their_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    files = LocalFiles("local", (tmp_path / "a",), "was not built; build it")
    before = files.key
    assert (cached(files, print) / "a").read_text() == "1"
    (tmp_path / "a").write_text("2")
    assert files.key != before
    assert (cached(files, print) / "a").read_text() == "2"
    (tmp_path / "a").unlink()
    with pytest.raises(UsageError, match="a was not built; build it"):
        cached(files, print)


@pytest.mark.parametrize(("served", "taken"), [(b"tested", True), (b"another", False)])
def test_jars_that_were_not_tested_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: bytes, taken: bool
) -> None:
    tested = tmp_path / "a.jar"
    tested.write_bytes(b"tested")
    jars = MavenJars("a", ("g:a:1",), digest_of([tested]))

    def maven(_pom: Path, _goal: str, into: str, **_: str) -> None:
        (Path(into.partition("=")[2]) / "a.jar").write_bytes(served)

    monkeypatch.setattr(artifacts, "maven", maven)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if taken:
        assert [path.name for path in cached(jars, print).iterdir()] == ["a.jar"]
    else:
        with pytest.raises(ArtifactError, match="check the repository and Maven"):
            cached(jars, print)
        assert list((tmp_path / "cache" / "harness").iterdir()) == []
