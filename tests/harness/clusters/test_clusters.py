"""Which cluster a name means, and what is said of those that make no sense."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.cluster import cluster
from harness.cli.main import run_command
from harness.clusters import open_cluster
from harness.clusters.inventory import InventoryCluster
from harness.clusters.netns import NetnsCluster
from harness.clusters.vagrant import VagrantCluster
from harness.errors import ClusterBusyError, ClusterError, HarnessError, RemoteError, UsageError


class TestOpenCluster:
    def test_netns(self) -> None:
        made = open_cluster("netns")
        assert isinstance(made, NetnsCluster)
        assert made.name == "default"
        assert open_cluster("netns:mine").name == "mine"

    def test_inventory(self, tmp_path: Path) -> None:
        file = tmp_path / "lab.toml"
        file.write_text('key = "k"\n[[nodes]]\nhost = "10.0.0.1"\n')
        made = open_cluster(f"inventory:{file}")
        assert isinstance(made, InventoryCluster)
        assert made.name == "lab"

    def test_vagrant(self, tmp_path: Path) -> None:
        (tmp_path / "Vagrantfile").touch()
        assert isinstance(open_cluster(f"vagrant:{tmp_path}"), VagrantCluster)

    @pytest.mark.parametrize(
        ("spec", "complaint"),
        [
            ("docker", "--cluster docker: expected netns, netns:NAME"),
            ("inventory", "--cluster inventory: expected"),
            ("inventory:", "the part after the colon is missing; expected"),
            ("netns:", "the part after the colon is missing; expected"),
            ("vagrant:", "the part after the colon is missing; expected"),
            ("inventory:/missing.toml", "cannot be read: No such file"),
            ("netns:a/b", "only lowercase letters, digits and hyphens"),
            ("netns:" + "a" * 32, "only lowercase letters, digits and hyphens"),
            ("vagrant:/missing", "no Vagrantfile"),
        ],
    )
    def test_refusals_name_the_option(self, spec: str, complaint: str) -> None:
        with pytest.raises(UsageError, match=complaint) as caught:
            open_cluster(spec)
        assert str(caught.value).startswith("--cluster ")
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("nodes", [0, -1, 100])
    def test_refuses_that_many_nodes(self, nodes: int) -> None:
        with pytest.raises(UsageError, match="--nodes must be between 1 and 99"):
            open_cluster("netns", nodes=nodes)


class TestCommandLine:
    def test_without_root(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        for verb in ("up", "down", "status"):
            assert run_command(["cluster", verb]) == 254
            said = capsys.readouterr().err
            assert (
                said == "harness: --cluster netns needs root: run the same command with sudo, or use --cluster "
                "inventory:FILE\n"
            )

    def test_help_shows_the_defaults(self) -> None:
        said = CliRunner().invoke(cluster, ["up", "--help"]).output
        assert "[default: netns]" in said
        assert "[default: 5]" in said


class TestErrors:
    def test_usage_is_distinguished(self) -> None:
        assert UsageError("x").exit_code == 254
        assert {HarnessError.exit_code, ClusterError.exit_code, RemoteError.exit_code} == {255}
        assert issubclass(ClusterBusyError, ClusterError)

    def test_a_remote_error_names_its_node(self) -> None:
        error = RemoteError("n3", "another key")
        assert (str(error), error.node) == ("n3: another key", "n3")
