"""Settings of Spark in layers, from the user's files and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ("s3", "No FileSystem for scheme", "Hadoop 9.9 cannot read s3:// URIs: use s3a://"),
        ("own", "No FileSystem for scheme", "add it with --spark-conf spark.jars=JAR"),
        ("s3a", "NoSuchMethodError: x", "does not fit Hadoop 9.9 (NoSuchMethodError: x): name --spark-conf"),
    ],
)
def test_the_package_to_add_is_named(scheme: str, thrown: str, words: str) -> None:
    assert words in to_add(scheme, "9.9", thrown)
