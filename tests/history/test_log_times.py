"""The dates of log lines.  Redis 7.0.15, etcd 3.4.23, NATS 2.9.10 and PostgreSQL 15.20 wrote theirs here."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from history.log_times import stamp_of

ORIGIN = datetime(2026, 11, 26, 21, 11, 20, tzinfo=UTC).timestamp()

#: A line of each format, and when it was written: seconds after ORIGIN.
LINES = {
    "redis": ("684:C 26 Nov 2026 21:11:25.488 # Configuration loaded", 5.488),
    "redis 2": ("[3258] 26 Nov 21:11:25.488 * Background saving started by pid 3260", 5.488),
    "etcd": (
        '{"level":"info","ts":"2026-11-26T21:11:28.555Z","caller":"embed/etcd.go:117","msg":"configuring"}',
        8.555,
    ),
    "etcd 3.5": ('{"level":"warn","ts":"2026-11-26T21:11:28.555555Z","caller":"x.go:1","msg":"slow"}', 8.555555),
    "zap": ('{"level":"info","ts":1795727488.5555,"logger":"raft","msg":"became leader"}', 8.5555),
    "capnslog": ("2026-11-26 21:11:28.555123 I | etcdserver: name = n1", 8.555123),
    "nats": ("[788] 2026/11/26 21:11:31.527983 [INF] Starting nats-server", 11.527983),
    "go": ("2026/11/26 21:11:31 listening", 11),
    "postgresql": ("2026-11-26 21:12:01.282 UTC [1813] LOG:  listening on IPv4 address", 41.282),
    "mariadb": ("2026-11-26 21:11:30 0 [Note] InnoDB: log sequence number 45452", 10),
    "mariadb in the morning": ("2026-11-26  9:11:30 0 [Note] InnoDB: log sequence number 45452", 10 - 12 * 3600),
    "tracing": ("\x1b[2m2026-11-26T21:11:30.250125Z\x1b[0m \x1b[32m INFO\x1b[0m raft: elected", 10.250125),
    "kafka": ("[2026-11-26 21:11:30,250] INFO [Controller id=1] Becoming the active controller", 10.25),
    "log4j": ("2026-11-26 21:11:30,250 [myid:1] - INFO  [main:QuorumPeer@90] - LOOKING", 10.25),
    "cassandra": ("INFO  [main] 2026-11-26 21:11:30,250 StorageService.java:1 - Node is up", 10.25),
    "a level in brackets": ("[WARN] 2026-11-26T21:11:30.25Z slow", 10.25),
    "elsewhere": ("2026-11-26T23:11:30.250+0200 INFO east", 10.25),
    "west": ("2026-11-26T16:11:30.250-05:00 INFO west", 10.25),
    "glog": ("I1126 21:11:33.250125       1 leaderelection.go:243] attempting to acquire leader lease", 13.250125),
    "glog 0.5": ("W20261126 21:11:33.250125  4711 raft.cc:77] election timed out", 13.250125),
    "cockroach": ("I261126 21:11:33.250125 12 server/node.go:420  [n1] started", 13.250125),
    "syslog": ("Nov 26 21:11:40 n1 etcd[7]: became follower at term 3", 20),
    "syslog with priority": ("<34>Nov 26 21:11:40 n1 su: failed", 20),
    "rfc 5424": ("<165>1 2026-11-26T21:11:40.003Z n1 server 7 ID47 - ready", 20.003),
    "epoch": ("1795727490.25 election timed out", 10.25),
    "epoch ms": ("[1795727490250] election timed out", 10.25),
    "epoch ns": ("1795727490250000125 election", 10.250000125),
    "logfmt": ("level=info ts=2026-11-26T21:11:30.25Z caller=main.go:7 msg=ready", 10.25),
    "logrus": ('time="2026-11-26T21:11:30Z" level=info msg=ready', 10),
    "mongodb": ('{"t":{"$date":"2026-11-26T21:11:30.250+00:00"},"s":"I","c":"REPL","msg":"Election"}', 10.25),
}


@pytest.mark.parametrize(("line", "seconds"), LINES.values(), ids=LINES)
def test_a_line_has_the_date_that_it_begins_with(line: str, seconds: float) -> None:
    stamp = stamp_of(line.encode(), ORIGIN)
    assert stamp is not None
    assert stamp.moment - ORIGIN == pytest.approx(seconds, abs=1e-6)
    assert not any(year in line[stamp.end :] for year in ("2026", "1795")) or stamp.end == 0


@pytest.mark.parametrize(
    "line",
    [
        "",
        "    at some.Class.method(Class.java:2026)",
        "1234567890 entries",
        "INFO restored the backup of 2026-11-26 21:11:30",
        "INFORMATION 2026-11-26 21:11:30",
        "1795727490123456789012 bytes",
        '{"level":"info","term":3}',
        "level=info term=1795727490",
        "the server started 2026-11-26 21:11:30",
        "2026-13-26 21:11:30 no such month",
        "I9926 21:11:33.250125 1 x.go:1] no such month",
        "Nov 31 21:11:40 n1 su: no such day",
        "N1126 entries",
    ],
)
def test_a_line_that_has_no_date_of_its_own(line: str) -> None:
    assert stamp_of(line.encode(), ORIGIN) is None


@pytest.mark.parametrize(
    ("started", "line", "seconds"),
    [
        ("2026-12-31T23:59:50", "I0101 00:00:05.000000 1 x.go:1] happy", 15),
        ("2027-01-01T00:00:10", "Dec 31 23:59:50 n1 old: year", -20),
        ("2028-02-29T10:00:00", "29 Feb 10:00:01.000 * leap", 1),
        ("2027-03-01T00:00:00", "28 Feb 23:59:59.000 * no leap", -1),
    ],
)
def test_a_date_without_a_year_is_the_one_nearest_to_the_run(started: str, line: str, seconds: float) -> None:
    origin = datetime.fromisoformat(started).replace(tzinfo=UTC).timestamp()
    stamp = stamp_of(line.encode(), origin)
    assert stamp is not None
    assert stamp.moment - origin == seconds
