"""Client programs as shell scripts: each misbehaves in one way, except one that behaves well."""

from __future__ import annotations

from pathlib import Path

from harness.systems.program.child import Program

#: Each request is in $line, its id in $id and its function in $f.
_LOOP = """
while read -r line; do
  id=${{line#*'"id":'}}; id=${{id%%,*}}; f=${{line#*'"f":"'}}; f=${{f%%'"'*}}
  {}
done
"""
ANSWER = 'echo "{\\"id\\":$id,\\"type\\":\\"ok\\",\\"value\\":null}"'
#: At the first start, and never again.
ONCE = "if mkdir once 2>/dev/null; then {}; fi"

WAYS = {
    "right": ANSWER,
    "dies": "exit 3",
    "dies-with-a-word": "echo 'no such table' >&2; exit 3",
    "is-killed": "kill -9 $$",
    "dies-half-way": "printf '{\"id\":'; exit 0",
    "garbage": "echo 'Connected to n1'",
    "no-object": "echo '[1]'",
    "not-a-number": 'echo "{\\"id\\":$id,\\"type\\":\\"ok\\",\\"value\\":NaN}"',
    "too-deep": 'printf \'{"id":%s,"type":"ok","value":%s3%s}\\n\' $id '
    "$(printf '%0100d' 0 | tr 0 [) $(printf '%0100d' 0 | tr 0 ])",
    "no-line": "head -c 3000000 /dev/zero | tr '\\0' x",
    "no-type": 'echo "{\\"id\\":$id}"',
    "odd-type": 'echo "{\\"id\\":$id,\\"type\\":\\"maybe\\"}"',
    "odd-error": 'echo "{\\"id\\":$id,\\"type\\":\\"fail\\",\\"error\\":7}"',
    "foreign": 'echo "{\\"id\\":99,\\"type\\":\\"ok\\"}"',
    "text-id": 'echo "{\\"id\\":\\"$id\\",\\"type\\":\\"ok\\"}"',
    "no-id": 'echo "{\\"type\\":\\"ok\\"}"',
    "twice": f'a=$({ANSWER}); printf "%s\\n%s\\n" "$a" "$a"',
    "twice-later": f"{ANSWER}; sleep 0.1; {ANSWER}",
    "late": f"sleep 30; {ANSWER}",
    "silent": ":",
    "another-value": 'echo "{\\"id\\":$id,\\"type\\":\\"ok\\",\\"value\\":4711}"',
    "no-value": 'echo "{\\"id\\":$id,\\"type\\":\\"ok\\"}"',
    "fails": 'echo "{\\"id\\":$id,\\"type\\":\\"fail\\",\\"error\\":\\"not the primary\\"}"',
    "doubts": 'echo "{\\"id\\":$id,\\"type\\":\\"info\\",\\"error\\":\\"timeout\\"}"',
}


def program(directory: Path, script: str) -> Program:
    """Return a program whose script the shell runs in this directory."""
    return Program(("sh", "-c", script), directory)


def misbehaving(directory: Path, way: str, *, once: bool = False) -> Program:
    """Return a misbehaving program; with ``once``, it misbehaves only at the first request."""
    does = WAYS[way]
    if once:
        does = f"{ONCE.format(does)[:-2]} else {ANSWER}; fi"
    return program(directory, _LOOP.format(does))
