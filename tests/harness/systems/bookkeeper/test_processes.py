"""BookKeeper's processes: which runs where, what they are given, and what is refused."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ArtifactError, UsageError
from harness.systems.bookkeeper import SYSTEM, processes
from harness.systems.bookkeeper.gateway_jar import JAR, GatewayJar
from harness.systems.bookkeeper.options import QUORUMS, quorum
from tests.support.harness.gateway import ADDRESS, Gateway, setup_of

SETUP = setup_of()


def roles(**changes: Any) -> dict[tuple[str, str], Any]:
    return {(role.node, role.name): role for role in SYSTEM.roles(setup_of(**changes))}


def test_a_metadata_server_bookies_on_the_other_nodes_and_a_gateway_on_each() -> None:
    found = roles()
    assert [node for node, name in found if name == "metadata"] == ["n1"]
    assert [node for node, name in found if name == "bookie"] == ["n2", "n3", "n4", "n5"]
    assert [node for node, name in found if name == "gateway"] == ["n1", "n2", "n3", "n4", "n5"]
    task = found["n1", "format"]
    stages = [found[one].stage for one in (("n1", "metadata"), ("n1", "format"), ("n2", "bookie"), ("n2", "gateway"))]
    assert task.task
    assert stages == sorted(set(stages))


def test_what_a_bookie_is_given() -> None:
    bookie = roles()["n3", "bookie"]
    config = bookie.files["bookie.conf"].splitlines()
    assert "metadataServiceUri=zk+hierarchical://192.0.2.1:2181/ledgers" in config
    assert {"bookieId=n3", "advertisedAddress=192.0.2.3", "journalWriteData=true"} <= set(config)
    assert "ledgerStorageClass=org.apache.bookkeeper.bookie.SortedLedgerStorage" in config
    assert "autoRecoveryDaemonEnabled=false" in config
    assert bookie.command[-3:] == ("org.apache.bookkeeper.server.Main", "-c", "bookie.conf")


def test_what_a_gateway_is_given() -> None:
    gateway = roles(recovery_batch=8)["n4", "gateway"]
    assert "recoveryReadBatchSize=8" in gateway.files["client.conf"].splitlines()
    assert gateway.command[-4:] == ("gateway.Main", "192.0.2.4", "4181", "client.conf")


def test_the_metadata_server_is_none_that_loses_data_by_itself() -> None:
    assert "org.apache.zookeeper:zookeeper:3.9.4" in processes.artifacts(SETUP)[0].coordinates


def test_the_metadata_server_is_alone_and_knows_no_ensemble() -> None:
    metadata = roles()["n1", "metadata"]
    assert list(metadata.files) == ["zoo.cfg"]
    config = metadata.files["zoo.cfg"].splitlines()
    assert not [line for line in config if line.startswith("server.")]
    assert {"clientPort=2181", "clientPortAddress=192.0.2.1", "dataDir=zookeeper", "tickTime=500"} <= set(config)


@pytest.mark.parametrize("version", SYSTEM.versions)
def test_bookies_come_in_the_version_that_is_tested(version: str) -> None:
    assert processes.jars(setup_of(version)).coordinates == (f"org.apache.bookkeeper:bookkeeper-server:{version}",)


def test_slow_bookies_have_a_storage_that_sleeps() -> None:
    found = roles(slow_bookies=1)
    assert "ledgerStorageClass=gateway.SlowStorage" in found["n2", "bookie"].files["bookie.conf"]
    assert "SlowStorage" not in found["n3", "bookie"].files["bookie.conf"]
    assert "-Dslow.ms=60" in found["n2", "bookie"].command
    assert "-Dslow.ms=400" in roles(slow_bookies=1, slow_ms=400)["n2", "bookie"].command


def test_planted_bugs() -> None:
    assert "journalWriteData=false" in roles(planted_bug="unjournaled")["n2", "bookie"].files["bookie.conf"]
    wiped = roles(planted_bug="wiped-bookies")["n2", "bookie"].command
    assert wiped[:2] == ("sh", "-c")
    assert "-deleteCookie" in wiped[2]
    assert "-deleteCookie" not in " ".join(roles()["n2", "bookie"].command)


def test_a_replaced_bookie_has_its_cookie_and_nothing_else_from_its_second_start_on(tmp_path: Path) -> None:
    command = roles(planted_bug="replaced-bookies")["n2", "bookie"].command
    (tmp_path / "java").write_text('#!/bin/sh\nfind bookie -type f 2>/dev/null | sort >found\necho "$@" >asked\n')
    (tmp_path / "java").chmod(0o755)

    def start() -> list[str]:
        subprocess.run(command, cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
        assert (tmp_path / "asked").read_text().split()[-3:] == [
            "org.apache.bookkeeper.server.Main",
            "-c",
            "bookie.conf",
        ]
        return (tmp_path / "found").read_text().split()

    assert start() == []
    for name in (
        "journal/current/1.txn",
        "journal/current/VERSION",
        "ledgers/current/0.log",
        "ledgers/current/VERSION",
    ):
        (tmp_path / "bookie" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bookie" / name).write_text("x")
    assert start() == ["bookie/journal/current/VERSION", "bookie/ledgers/current/VERSION"]


@pytest.mark.parametrize("text", QUORUMS)
def test_quorums_are_possible(text: str) -> None:
    ensemble, write, ack = quorum(setup_of(quorum=text))
    assert ensemble >= write >= ack >= 1


def test_an_ensemble_wants_a_bookie_to_spare() -> None:
    assert roles(quorum="5-3-2", nodes=7)
    with pytest.raises(UsageError, match="--nodes 7"):
        roles(quorum="5-3-2")


@pytest.mark.parametrize(("hit", "role"), [("bookie", ""), ("gateway", "gateway")])
def test_faults_hit_what_was_chosen(hit: str, role: str) -> None:
    surface = SYSTEM.surface(setup_of(hit=hit))
    assert surface.role == role
    assert surface.peer_ports[0] == processes.BOOKIE_PORT
    assert {"file-truncate", "file-bitflip"} <= set(surface.refused)


def test_it_serves_when_every_gateway_sees_all_bookies_and_adds() -> None:
    setup = setup_of()
    here = tuple(type(node)(node.name, ADDRESS) for node in setup.nodes)
    setup = type(setup)(version=setup.version, options=setup.options, nodes=here)

    async def run(gateway: Gateway) -> str | None:
        await gateway.start()
        try:
            return await asyncio.to_thread(processes.leads, setup)
        finally:
            await gateway.stop()

    assert processes.leads(setup) is None
    few, none_added, good = Gateway(), Gateway(), Gateway()
    few.replies["status"] = {"ok": True, "value": {"writable_bookies": 3}}
    none_added.replies["add"] = {"ok": False, "code": -6, "error": "no"}
    good.replies["add"] = {"ok": True, "value": {"ids": [0], "codes": {}, "sealed": False}}
    assert [asyncio.run(run(one)) for one in (few, none_added, good)] == [None, None, "the cluster"]


# -- the gateway's jar ------------------------------------------------------------------------------------------------


def project(root: Path) -> Path:
    (root / "src" / "main" / "java").mkdir(parents=True)
    (root / "pom.xml").write_text("<project/>")
    (root / "src" / "main" / "java" / "Main.java").write_text("class Main {}")
    return root


def test_the_jar_is_known_by_its_sources(tmp_path: Path) -> None:
    first = GatewayJar(project(tmp_path)).key
    assert GatewayJar(tmp_path).key == first
    (tmp_path / "src" / "main" / "java" / "Main.java").write_text("class Main { }")
    assert GatewayJar(tmp_path).key != first


def test_without_its_sources_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="source tree"):
        _ = GatewayJar(tmp_path).key


MVN = """#!/bin/sh
while [ "$1" != -f ]; do shift; done
mkdir -p "${2%/*}/target" && echo jar > "${2%/*}/target/bookkeeper-gateway.jar"
"""


def test_it_is_built_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = project(tmp_path / "sources")
    (tmp_path / "bin").mkdir()
    mvn = tmp_path / "bin" / "mvn"
    mvn.write_text(MVN)
    mvn.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    into = tmp_path / "into"
    into.mkdir()
    said: list[str] = []
    GatewayJar(sources).fetch(into, said.append)
    assert (into / JAR).read_text() == "jar\n"
    assert not (sources / "target").exists()
    assert said
    mvn.write_text("#!/bin/sh\necho '[ERROR] it does not compile'; exit 1\n")
    with pytest.raises(ArtifactError, match="does not compile"):
        GatewayJar(sources).fetch(into, said.append)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="install mvn"):
        GatewayJar(sources).fetch(into, said.append)
