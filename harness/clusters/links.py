"""Network links and addresses on the host: a bridge per cluster, a cable per node, an unused subnet.

Names derive from the cluster's name, so that leftovers of a killed run are found without its records.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any

from harness.errors import ClusterError

_PREFIX = "hns"


def stem(cluster: str) -> str:
    """Return the prefix of a cluster's link names: 9 of the 15 characters that a name may have."""
    return _PREFIX + hashlib.sha256(cluster.encode()).hexdigest()[:6]


def bridge(cluster: str) -> str:
    """Return the name of the cluster's bridge."""
    return stem(cluster) + "br"


def cable(cluster: str, number: int) -> str:
    """Return the name of the host's end of a node's cable. Nodes are numbered from 1."""
    return f"{stem(cluster)}v{number}"


def existing(cluster: str) -> list[str]:
    """Return the names of the cluster's links that exist now."""
    start = stem(cluster)
    return sorted(path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith(start))


def candidates(cluster: str) -> Iterator[IPv4Network]:
    """Yield subnets to try.

    Each cluster starts at a different one, so that clusters that come up together rarely compete for one.
    """
    start = int(hashlib.sha256(cluster.encode()).hexdigest()[:8], 16)
    step = 7919  # a prime, so that every subnet is tried
    for base, size, tries in ((0x0A000000, 1 << 16, 512), (0xAC100000, 1 << 12, 1 << 12)):
        for i in range(tries):
            yield IPv4Network((base | (start + i * step) % size << 8, 24))


def choose_subnet(cluster: str, taken: Iterable[IPv4Network]) -> IPv4Network:
    """Return the first candidate that overlaps no network in use.  Raises ClusterError."""
    networks = list(taken)
    for subnet in candidates(cluster):
        if not any(subnet.overlaps(network) for network in networks):
            return subnet
    raise ClusterError("no free subnet in 10.0.0.0/8 or 172.16.0.0/12; remove a route, or use --cluster inventory:FILE")


def taken_networks() -> list[IPv4Network]:
    """Return the networks of the host's addresses and of its routes in all tables, except the default route."""
    addresses = [
        IPv4Interface(f"{info['local']}/{info['prefixlen']}").network
        for link in _ip_json("-4", "addr")
        for info in link.get("addr_info", [])
        if "local" in info
    ]
    routes = [
        IPv4Network(route["dst"], strict=False)
        for route in _ip_json("-4", "route", "show", "table", "all")
        if route.get("dst", "default") != "default"
    ]
    return [network for network in (*addresses, *routes) if network.prefixlen > 0]


def add_bridge(cluster: str, subnet: IPv4Network) -> None:
    """Create the cluster's bridge and give it the subnet's first address.  Raises ClusterError."""
    name = bridge(cluster)
    # Set the hardware address: otherwise the bridge takes that of a cable, and changes it when cables come and go.
    batch(
        f"link add name {name} address {hardware_address(cluster, 0)} type bridge",
        f"addr add {subnet[1]}/{subnet.prefixlen} dev {name}",
        f"link set {name} up",
    )
    # The first ARP request may be sent before the node listens; by default the next one follows after 1 s.
    Path(f"/proc/sys/net/ipv4/neigh/{name}/retrans_time_ms").write_text("50")


def add_cable(cluster: str, number: int, pid: int) -> None:
    """Create a cable from the bridge to ``eth0`` in the network namespace of a process.  Raises ClusterError."""
    name = cable(cluster, number)
    # A restarted node keeps its hardware address; with a new one, others would send it nothing for seconds.
    batch(
        f"link add {name} type veth peer name eth0 address {hardware_address(cluster, number)} netns {pid}",
        f"link set {name} master {bridge(cluster)} up",
    )


def hardware_address(cluster: str, number: int) -> str:
    """Return the locally administered hardware address of the bridge (``number`` 0) or of a node."""
    digest = hashlib.sha256(cluster.encode()).digest()
    return ":".join(f"{byte:02x}" for byte in (0x02, *digest[:4], number))


def remove(names: Iterable[str]) -> None:
    """Remove links.  Ignores missing ones, because a cable may vanish with its other end."""
    for name in names:
        subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)


def batch(*commands: str) -> None:
    """Run several ``ip`` commands in one process.  Raises ClusterError with the first error message."""
    done = subprocess.run(
        ["ip", "-batch", "-"], input="\n".join(commands) + "\n", text=True, check=False, capture_output=True
    )
    if done.returncode != 0:
        complaint = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise ClusterError(f"cannot set up the network of the nodes: {complaint}")


def _ip_json(*words: str) -> list[dict[str, Any]]:
    done = subprocess.run(["ip", "-j", *words], text=True, check=False, capture_output=True)
    try:
        entries = json.loads(done.stdout or "[]")
    except ValueError:
        raise ClusterError(
            f"`ip -j {' '.join(words)}` has output that cannot be parsed: {done.stdout[:80]!r}"
        ) from None
    return [entry for entry in entries if entry]
