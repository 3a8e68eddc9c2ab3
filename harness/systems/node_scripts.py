"""Shell scripts that a deployment runs on its nodes: start, kill, wipe, copy and collect."""

from __future__ import annotations

from typing import Final

from nemesis.faults.processes import MARKED

#: Whether the process $p carries the mark $2: its pid may have been reused.
IS_OURS: Final = 'grep -qszxF -e "$2" "/proc/$p/environ"'

START: Final = f"""if p=$(cat "$1/run/$3.pid" 2>/dev/null) && {IS_OURS}; then exit 0; fi
mkdir -p "$1/log" "$1/run" && cd "$1" || exit 1
mark=$2; home=$1; pid_file=$1/run/$3.pid; log=$1/log/$3-console.log; shift 3
setsid -f env "$mark" "HARNESS_HOME=$home" sh -c 'echo $$ > "$0"; log=$1; shift; exec "$@" >> "$log" 2>&1 < /dev/null' \
"$pid_file" "$log" "$@"
"""
#: Ends all that carries the marks, also what a process started in a session of its own.
KILL: Final = (
    MARKED
    + """i=0
while found=$(marked -F "$2/" "HARNESS_HOME=$1"); [ -n "$found" ]; do
  kill -KILL $found 2>/dev/null
  i=$((i+1)); [ $i -le 500 ] || exit 1
  sleep 0.01
done
"""
)
WIPE: Final = """mkdir -p "$1/log" && cd "$1" || exit 1
find . -mindepth 1 -maxdepth 1 ! -name programs ! -name log -exec rm -rf {} +
rm -rf log/* log/.[!.]*"""
#: A namespace shares our disk, and copying takes a tenth of what sending to five nodes takes.
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
