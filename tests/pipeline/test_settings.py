"""Settings of Spark in layers, from the user's files and the command line; and which way a piece of work goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.spark.choice import LARGE_BYTES, MANY, choose
from pipeline.spark.hadoop_fs import to_add
from pipeline.spark.settings import conf_directory, merged, read_defaults, write_directory

DEFAULTS = """\
# what the administrator wrote
spark.executor.memory   4g
spark.hadoop.fs.s3a.endpoint = http://store:9000/
  spark.sql.shuffle.partitions:9
! another kind of comment
spark.nothing
spark.redaction.regex (?i)pass\\\\.word
spark.jars.packages org.a:a:1,\\
    org.b:b:2
"""
FOUND = {
    "spark.executor.memory": "4g",
    "spark.hadoop.fs.s3a.endpoint": "http://store:9000/",
    "spark.sql.shuffle.partitions": "9",
    "spark.redaction.regex": "(?i)pass\\.word",
    "spark.jars.packages": "org.a:a:1,org.b:b:2",
}
NAMES = st.from_regex(r"spark\.[a-zA-Z0-9._-]{1,20}", fullmatch=True)
VALUES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1).filter(lambda text: text[0] not in "=:")


def test_the_users_defaults(tmp_path: Path) -> None:
    assert read_defaults(None) == read_defaults(tmp_path) == {}
    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    assert read_defaults(tmp_path) == FOUND


def test_they_are_where_spark_looks_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert conf_directory() is None
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert conf_directory() == tmp_path / "conf"
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "mine"))
    assert conf_directory() == tmp_path / "mine"


def test_later_layers_win_but_lists_grow_and_own_java_options_stand_alone() -> None:
    java = "spark.driver.extraJavaOptions"
    ours = {java: "-Da=1", "spark.ui.enabled": "false", "spark.archives": "ours.zip"}
    assert merged(ours, {}, brief={java: "-Quick"})[java] == "-Da=1 -Quick"
    found = merged(
        ours, {java: "-Xmine", "spark.archives": "mine.zip"}, {"spark.ui.enabled": "true"}, brief={java: "-Quick"}
    )
    assert found == {java: "-Da=1 -Xmine", "spark.ui.enabled": "true", "spark.archives": "ours.zip,mine.zip"}


@given(st.dictionaries(NAMES, VALUES))
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, settings: dict[str, str]) -> None:
    root = tmp_path_factory.mktemp("conf")
    write_directory(root, settings, None, root / "log")
    assert read_defaults(root) == settings


def test_the_users_other_files_are_there_and_his_environment_is_sourced(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "his own", tmp_path / "ours"
    for directory in (theirs, ours):
        directory.mkdir()
    for name in ("spark-defaults.conf", "spark-env.sh", "hive-site.xml", "log4j2.properties"):
        (theirs / name).write_text(f"their {name}")
    write_directory(ours, {"spark.a": "b"}, theirs, ours / "log")
    assert {path.name for path in ours.iterdir()} == {path.name for path in theirs.iterdir()}
    assert (ours / "spark-defaults.conf").read_text() == "spark.a=b\n"
    assert (ours / "hive-site.xml").read_text() == "their hive-site.xml"
    assert (ours / "log4j2.properties").read_text() == "their log4j2.properties"
    assert (ours / "spark-env.sh").read_text().endswith(f"\n. '{theirs}/spark-env.sh'\n")


@pytest.mark.parametrize(
    ("scheme", "thrown", "words"),
    [
        ("s3a", "ClassNotFoundException", "spark.jars.packages=org.apache.hadoop:hadoop-aws:9.9, or in spark-defaults"),
        ("abfss", "ClassNotFoundException", "org.apache.hadoop:hadoop-azure:9.9"),
        ("gs", "No FileSystem for scheme", "org.apache.hadoop:hadoop-gcp:9.9"),
        ("s3", "No FileSystem for scheme", "Hadoop 9.9 reads no s3:// URIs: write s3a://"),
        ("own", "No FileSystem for scheme", "add it with --spark-conf spark.jars=JAR"),
        ("s3a", "NoSuchMethodError: x", "does not fit Hadoop 9.9 (NoSuchMethodError: x): name --spark-conf"),
    ],
)
def test_the_package_to_add_is_named(scheme: str, thrown: str, words: str) -> None:
    assert words in to_add(scheme, "9.9", thrown)


@pytest.mark.parametrize(
    ("sizes", "asked", "words"),
    [
        ([], None, "in this process: 0 runs are fewer than 200, and no history is of more than 64 MiB"),
        ([LARGE_BYTES], None, "in this process: its history has at most 64 MiB"),
        ([LARGE_BYTES + 1], None, "through Spark: its history has more than 64 MiB"),
        ([1] * (MANY - 1), None, "in this process: 199 runs are fewer"),
        ([1] * MANY, None, "through Spark: 200 runs are 200 or more"),
        ([1, LARGE_BYTES + 1], None, "through Spark: 1 of 2 histories are of more than 64 MiB"),
        ([1] * MANY, False, "in this process: as asked"),
        ([1], True, "through Spark: as asked"),
    ],
)
def test_the_way_is_by_size_unless_it_is_asked_for(sizes: list[int], asked: bool | None, words: str) -> None:
    assert str(choose(sizes, asked)).startswith(words)
