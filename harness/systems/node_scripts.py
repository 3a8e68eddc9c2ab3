"""Shell scripts that a deployment runs on its nodes: start, kill, wipe, copy and collect."""

from __future__ import annotations

from typing import Final

from nemesis.core.roles import FIND

#: Starts a role unless it is running, in its own session and control group.  It gets marks in its environment, by which
#: it is found if there is no group, and its pid and start time are written to a file.
START: Final = (
    FIND
    + r"""home=$1 mark=$2 role=$3; shift 3
main_of "$home" "$role" >/dev/null && exit 0
mkdir -p "$home/log" "$home/run" && cd "$home" || exit 1
group=$(group_of "$home" "$role")
[ -n "$group" ] && mkdir -p "$group" 2>/dev/null || group=
setsid -f env "$mark" "HARNESS_HOME=$home" sh -c 'group=$0 pid_file=$1 log=$2; shift 2
[ -z "$group" ] || echo $$ 2>/dev/null >"$group/cgroup.procs" || rmdir "$group"
read -r stat </proc/$$/stat
started=$(set -- ${stat##*) }; echo "${20}")
echo "$$ $started" >"$pid_file"
exec "$@" >>"$log" 2>&1 </dev/null' "$group" "$home/run/$role.pid" "$home/log/$role-console.log" "$@"
"""
)
#: Prints the pid of the process that was started for a role, or nothing if it has ended.
PID: Final = FIND + 'main_of "$1" "$2"; exit 0'
#: Ends all processes of all roles of a home.
KILL: Final = (
    FIND
    + r"""sh -c "$2" "$1" "" KILL || exit
group=$(group_of "$1" "")
[ -z "$group" ] || rmdir "$group"* 2>/dev/null
exit 0
"""
)
WIPE: Final = """mkdir -p "$1/log" && cd "$1" || exit 1
find . -mindepth 1 -maxdepth 1 ! -name programs ! -name log -exec rm -rf {} +
rm -rf log/* log/.[!.]*"""
#: Copies files if the node is a namespace, which shares our disk: for five nodes, that takes a tenth of the time that
#: sending takes.
COPY: Final = """mkdir -p "${2%/*}" || exit 1
[ -d "$2" ] && exit 0
[ -d "$1" ] && rm -rf "$2.part" && cp -r "$1" "$2.part" && mv "$2.part" "$2" || echo missing"""
ARRIVED: Final = '[ -d "$1" ] || mv "$1.part" "$1"'
COLLECT: Final = """cd "$1" || exit 1; shift; kept=$1; shift
ls -lR "$@" > log/files.txt 2>&1
for file in $kept; do [ -f "$file" ] && cp "$file" "log/${file##*/}"; done
tar --sparse -czf log/store.tar.gz "$@" 2>/dev/null; true"""
LAST_WORDS: Final = """cd "$1/log" 2>/dev/null || exit 0
for f in $(ls -t *.log 2>/dev/null | head -n 2); do [ -s "$f" ] && tail -n 12 "$f"; done; true"""
