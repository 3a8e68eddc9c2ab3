"""Systems under test. Nothing outside this package knows any of them by name.

==============  ========================================================================================================
``api``         what a system is: declarations, roles, clients, workloads, probes, promises
``law``         what an answer proves about an operation, as a table
``promise``     what a system claims, and which checks show it broken
``choices``     the options of a system, as types
``declared``    checks of what a system declares, made when the system is loaded
``registry``    which systems exist: the entry points of the group ``harness.systems``
``artifacts``   files that systems run from, fetched once and kept
``ready``       ways to tell that a process is ready
``conformance`` judges a system's own code by its runs
``jvm``         what all servers on a JVM have in common
``deployment``  any system on its nodes: install, start, kill, collect, by the shell scripts of ``node_scripts``
``workloads``   workloads that any system may have
``remoting``    RocketMQ's wire protocol, which DLedger also uses
``program``     any program, described by one file
``dledger``     the register on DLedger
``rocketmq``    Apache RocketMQ's controller; ``rocketmq_brokers``: its brokers
``bookkeeper``  Apache BookKeeper
``postgresql``  PostgreSQL; ``mariadb``: MariaDB; ``sql``: what databases that speak SQL share
``zookeeper``   Apache ZooKeeper; ``zookeeper_server``: how to start one of its servers, also for other systems
==============  ========================================================================================================
"""

from harness.systems.api import Machine, Setup, System
from harness.systems.registry import DEFAULT, find_system, installed, split_version, system_names, usable_systems

__all__ = [
    "DEFAULT",
    "Machine",
    "Setup",
    "System",
    "find_system",
    "installed",
    "split_version",
    "system_names",
    "usable_systems",
]
