"""What an inventory may say."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from harness.clusters.inventory import parse_nodes, read_inventory
from harness.errors import ClusterBusyError, UsageError
from harness.remote.node import Node

FILE = Path("/lab/hosts.toml")


def parse(text: str) -> tuple[Node, ...]:
    return parse_nodes(tomllib.loads(text), FILE)


def test_says_things_once_for_all_or_in_a_node() -> None:
    first, second = parse("""
        key = "keys/id"
        user = "admin"
        [[nodes]]
        host = "10.0.0.11"
        [[nodes]]
        name = "b"
        host = "192.168.1.2"
        address = "10.0.0.12"
        port = 2222
        key = "/k"
        user = "root"
        host_key = "ssh-ed25519 AAAA"
        data_dir = "/srv"
    """)
    assert first == Node("n1", "10.0.0.11", "10.0.0.11", 22, "admin", Path("/lab/keys/id"), None, "/data")
    assert second == Node("b", "10.0.0.12", "192.168.1.2", 2222, "root", Path("/k"), "ssh-ed25519 AAAA", "/srv")


def test_a_data_directory_is_given_in_one_way() -> None:
    """It is looked up in the table of mounts, which knows no slash at the end."""
    (node,) = parse('key = "k"\ndata_dir = "//srv/./data/"\n[[nodes]]\nhost = "10.0.0.1"')
    assert node.data_dir == "/srv/data"


def test_finds_the_address_of_a_name() -> None:
    (node,) = parse('key = "k"\n[[nodes]]\nhost = "localhost"')
    assert (node.ssh_host, node.address) == ("localhost", "127.0.0.1")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"nodes is missing: it must be a list of tables \(at least one\)"),
        ("nodes = 3", r"nodes must be a list of tables \(at least one\), not 3"),
        ("nodes = [1]", r"nodes\[0\] must be a table, not 1"),
        ("[[nodes]]\nhost = '10.0.0.1'", r"nodes\[0\] has no key"),
        ("key = 'k'\n[[nodes]]\nname = 'n1'", r"nodes\[0\].host is missing: it must be a string"),
        ("kee = 'k'\n[[nodes]]\nhost = '10.0.0.1'", "there is no key 'kee'; did you mean key"),
        (
            "[[nodes]]\nhost = '10.0.0.1'\nhostkey = 'x'",
            r"nodes\[0\]: there is no key 'hostkey'; did you mean",
        ),
        ("port = '22'\n[[nodes]]\nhost = '10.0.0.1'", "port must be a whole number from 1 to 65535, not '22'"),
        ("port = true\n[[nodes]]\nhost = '10.0.0.1'", "port must be a whole number from 1 to 65535, not True"),
        ("key = 'k'\nport = 0\n[[nodes]]\nhost = '10.0.0.1'", "port must be a whole number from 1 to 65535, not 0"),
        (
            "key = 'k'\n[[nodes]]\nhost = '10.0.0.1'\nport = 65536",
            r"nodes\[0\].port must be .* from 1 to 65535, not 65536",
        ),
        ("key = 'k'\n[[nodes]]\nname = 'node-1'\nhost = '10.0.0.1'", "name must be lowercase letters and digits"),
        ("key = 'k'\n[[nodes]]\nhost = '10.0.0.1'\n[[nodes]]\nhost = '10.0.0.1'", "repeats the address 10.0.0.1"),
        (
            "key = 'k'\n[[nodes]]\nname = 'n2'\nhost = '10.0.0.1'\n[[nodes]]\nhost = '10.0.0.2'",
            "repeats the name n2",
        ),
        (
            "key = 'k'\ndata_dir = 'srv'\n[[nodes]]\nhost = '10.0.0.1'",
            "data_dir must be an absolute path: 'srv'",
        ),
        ("key = 'k'\n[[nodes]]\nhost = '10.0.0.1'\ndata_dir = ''", "data_dir must be an absolute path"),
        (
            "key = 'k'\n[[nodes]]\nhost = '10.0.0.1'\ndata_dir = '/'",
            "must not be a system directory: '/'",
        ),
        ("key = 'k'\n[[nodes]]\nhost = '10.0.0.1'\ndata_dir = '//usr/./'", "must not be a system directory"),
        ("key = 'k'\n[[nodes]]\nhost = '10.0.0.1'\ndata_dir = '/srv/../etc'", r"must not have \.\. in it"),
        ("key = 'k'\n[[nodes]]\nhost = '10.0.0.1'\ndata_dir = '/srv/a b'", "letters, digits, and"),
        ("key = 'k'\n[[nodes]]\nhost = '10.0.0.1'\ndata_dir = '/srv/$(x)'", "letters, digits, and"),
        ("key = 'k'\n[[nodes]]\nhost = 'no.such.host.invalid'", "address of no.such.host.invalid cannot be found"),
    ],
)
def test_refusals_name_the_file_and_the_place(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        parse(text)
    assert str(caught.value).startswith("--cluster inventory:/lab/hosts.toml: ")


def test_a_file_that_is_no_toml(tmp_path: Path) -> None:
    (tmp_path / "hosts.toml").write_text("[[nodes]\n")
    with pytest.raises(UsageError, match=r"cannot be read: not TOML: .*line 1"):
        read_inventory(tmp_path / "hosts.toml", print)


def test_one_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = tmp_path / "lab.toml"
    file.write_text('key = "k"\n[[nodes]]\nhost = "10.0.0.1"\n')
    one, two = read_inventory(file, print), read_inventory(file, print)
    with one.lock(), pytest.raises(ClusterBusyError, match=r"cluster lab .*lab.toml. is in use by pid"), two.lock():
        pass
    with two.lock():
        pass
