"""Find and signal all processes of a role on its node.

A role's processes are those in its control group.  A process stays in the group even if it starts its own session,
outlives its parent, or rewrites its title, which empties its environment in /proc (PostgreSQL and Redis do that).  The
group needs no controller, so it is always a version 2 group, which machines with version 1 support as well.  Its name
contains the node's process namespace (nodes may share a machine), home and role, as in
``harness-4026532200:data:harness@server``.  Processes under a resource limit are in another group, whose name also has
the kind of limit: ``…@server@cpu`` (see ``nemesis.faults.resources``).

On a node without writable control groups, processes are found by the environment that they were started with
(``HARNESS_HOME``, ``HARNESS_ROLE``), by the pid and start time of the first one, and by their parents and sessions.
This misses a process that rewrote its title and whose parent has ended.
"""

from __future__ import annotations

from typing import Final, Literal

from nemesis.core.ports import Command

Signal = Literal["KILL", "STOP", "CONT"]

#: ``members HOME ROLE`` prints the pids of a role's processes, or of all roles if ROLE is empty.  Zombies do not count.
#: ``main_of HOME ROLE`` prints the pid of the process that was started for a role, and fails if it has ended.
#: A process name may contain brackets and newlines, so the state is what follows the last bracket in its stat file.
#: ``name_of HOME ROLE`` prints the name of a role's control group, and ``group_of`` its path if there is one.
FIND: Final = r"""name_of() { echo "harness-$(readlink /proc/self/ns/pid | tr -dc 0-9)$(echo "$1" | tr / :)@$2"; }
group_of() {
  groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
  [ -z "$groups" ] || echo "$groups/$(name_of "$1" "$2")"
}
state_of() {
  stat=; { while read -r line; do stat=$line; done <"/proc/$1/stat"; } 2>/dev/null
  [ -n "$stat" ] && set -- ${stat##*) } && echo "$1 ${20}"
}
main_of() {
  read -r pid since 2>/dev/null <"$1/run/$2.pid" || return
  case $(state_of "$pid") in [ZX]*) return 1;; *" $since") echo "$pid";; *) return 1;; esac
}
members() {
  group=$(group_of "$1" "$2")
  case $group in
    "") set -- "$1" "$2";;
    *@) set -- "$1" "$2" "$group"*/cgroup.procs;;
    *) set -- "$1" "$2" "$group/cgroup.procs" "$group@"*/cgroup.procs;;
  esac
  if [ -n "$group" ] && procs=$(cat "$3" 2>/dev/null); then
    shift 2; cat "$@" 2>/dev/null | awk '$1 > 0' | sort -un
  else
    traced "$1" "$2"
  fi
}
traced() {
  mine=$(grep -lszx -e "HARNESS_ROLE=[^/]*/${2:-.*}" $(grep -lszxF -e "HARNESS_HOME=$1" /proc/[0-9]*/environ) \
    </dev/null | tr -dc '0-9\n')
  for file in "$1"/run/${2:-*}.pid; do
    role=${file##*/}; mine="$mine $(main_of "$1" "${role%.pid}")"
  done
  grep -shza "" /proc/[0-9]*/stat | tr '\n\0' ' \n' | awk -v mine="$(echo $mine)" '
    { pid = $1; sub(/.*\) /, ""); state[pid] = $1; parent[pid] = $2; session[pid] = $4 }
    END {
      for (i = split(mine, pids, " "); i > 0; i--) if (pids[i] in state) found[pids[i]]
      do {
        more = 0
        for (pid in state) if (!(pid in found) && (parent[pid] in found || session[pid] in found)) {
          found[pid]; more = 1
        }
      } while (more)
      for (pid in found) if (state[pid] !~ /[ZX]/) print pid
    }' | sort -un
}
"""

#: Prints the pid and state letter of each process of a role.
STATES: Final = (
    FIND
    + r"""for pid in $(members "$0" "$1"); do
  now=$(state_of "$pid") && echo "$pid ${now%% *}"
done; exit 0"""
)

#: Sends a signal to all processes of a role and ends when it has taken effect: all are stopped, or all are gone.  A
#: process that waits for the kernel may take longer.  Processes are stopped before they are killed, so that none of
#: them forks meanwhile or notices that another one has ended.
SIGNAL: Final = (
    FIND
    + r"""uptime() { read -r up rest </proc/uptime; echo "${up%.*}"; }
late() { [ "$(uptime)" -gt "$end" ] && echo "error: after 5 s there is still $*" >&2; }
in_state() {
  for pid in $(members "$home" "$role"); do
    now=$(state_of "$pid") && case $now in $1) echo "$pid";; esac
  done
}
home=$0 role=$1 end=$(($(uptime) + 5))
case $2 in
CONT)
  stopped=$(in_state 'T*')
  [ -z "$stopped" ] || kill -s CONT $stopped;;
STOP)
  while running=$(in_state '[!TZX]*'); [ -n "$running" ]; do
    kill -s STOP $running 2>/dev/null
    ! late "a running process: $running" || exit 1
    sleep 0.005
  done;;
KILL)
  before=
  while found=$(members "$home" "$role"); [ "$found" != "$before" ]; do
    kill -s STOP $found 2>/dev/null
    before=$found
  done
  while [ -n "$found" ]; do
    kill -s KILL $found 2>/dev/null
    ! late "a process: $found" || exit 1
    sleep 0.005
    found=$(members "$home" "$role")
  done;;
esac
exit 0"""
)


def signal(home: str, role: str, name: Signal) -> Command:
    """Return a command that signals every process of a role; an empty role means all roles of the home."""
    return Command(("sh", "-c", SIGNAL, home, role, name), timeout=20.0)


def states(home: str, role: str) -> Command:
    """Return a command that prints the pid and state letter of every process of a role."""
    return Command(("sh", "-c", STATES, home, role))
