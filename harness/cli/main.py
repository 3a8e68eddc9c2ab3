"""The ``harness`` command: its verbs, and the only place that turns errors into exit codes."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Final

import click

from harness.cli.options import PROJECT_FILE
from harness.errors import HarnessError
from harness.exits import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_USAGE
from harness.terminal.streams import restart_in_utf8, safe_streams

#: The sections of the help.  Each verb has the module of harness.cli with a click command of that name, and a summary.
#: A module is loaded only when its verb is used, so that no verb pays for the imports of another.
SECTIONS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Run and judge": {
        "run": ("run", "Run a system under faults and judge what clients saw."),
        "replay": ("replay", "Run a recorded plan again, with the same faults."),
        "check": ("check", "Judge a run again, or judge the history in a file."),
        "shrink": ("shrink", "Write the minimal counterexample of a history to a file."),
    },
    "Inspect results": {
        "show": ("show", "Print the verdict, checks and figures of a run."),
        "report": ("report", "Render the page of a run or of a history file."),
        "serve": ("serve", "Show all runs in a browser."),
        "ls": ("runs", "List runs, newest first."),
        "diff": ("runs", "Print what differs between two runs."),
        "export": ("report", "Write a run for Perfetto, or as CSV or Parquet."),
    },
    "Many runs": {
        "suite": ("suite", "Run every cell of a suite."),
        "nightly": ("nightly", "Run a suite, then update the trends and the site."),
        "ack": ("nightly", "Acknowledge a failed run, so that it may be deleted."),
        "ingest": ("ingest", "Add runs and histories to the warehouse."),
        "ask": ("ask", "Search all runs for events that came before or after others."),
    },
    "Machines and setup": {
        "cluster": ("cluster", "Start, stop and inspect nodes."),
        "heal": ("heal", "Remove every fault from the nodes of a cluster."),
        "doctor": ("doctor", "Show what this machine can do and what it lacks."),
        "list": ("lists", "List systems, faults, workloads, models or suites."),
        "system": ("system", "Create your own system, or check one."),
        "completion": ("completion", "Print the completion script of a shell."),
    },
}
VERBS: Final = {verb: module for verbs in SECTIONS.values() for verb, (module, _) in verbs.items()}


class Verbs(click.Group):
    """A command group that loads a verb's module when the verb is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (click's signature)
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if (module := VERBS.get(cmd_name)) is None:
            return None
        loaded = import_module(f"harness.cli.{module}")
        # A function that would shadow a builtin has an underscore after its name.
        command = getattr(loaded, cmd_name, None) or getattr(loaded, f"{cmd_name}_")
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        # Without blank lines between the sections, so that the help fits a screen of 40 lines.
        formatter.write_paragraph()
        for title, verbs in SECTIONS.items():
            formatter.write_heading(title)
            with formatter.indentation():
                formatter.write_dl(
                    [(verb.ljust(max(map(len, VERBS))), summary) for verb, (_, summary) in verbs.items()]
                )


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(package_name="dledger-harness", prog_name="harness")
@click.option("--no-defaults", is_flag=True, help="Ignore harness.toml, and variables such as HARNESS_RUN_RATE.")
@click.option(
    "--defaults", type=click.Path(path_type=Path, dir_okay=False),
    help="Take defaults from FILE, even if other users can write it.",
    show_default=False,
)  # fmt: skip
@click.pass_context
def harness(ctx: click.Context, *, no_defaults: bool, defaults: Path | None) -> None:
    """Test whether a replicated system loses data, with real nodes and real faults.

    \b
    Exit codes: 0 valid, 1 violation (or no recovery), 2 unknown, 254 usage error,
    255 harness failure, 130 interrupted.
    """
    if not no_defaults:
        ctx.auto_envvar_prefix = "HARNESS"
        if defaults is not None or PROJECT_FILE.exists():
            from harness.cli.options.project import take_project_defaults

            take_project_defaults(ctx, defaults)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit, always with one of the documented codes."""
    interrupt = Interrupt()
    try:
        with interrupt:
            if arguments is None:
                restart_in_utf8()
            safe_streams()
            code = run_command(arguments, interrupt)
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    sys.exit(EXIT_INTERRUPTED if interrupt.heard else code)


class Interrupt:
    """Handler of Ctrl-C: once it is pressed, the exit code is 130, whatever happens to the exception.

    A library may turn a KeyboardInterrupt into its own exception.  An exception that is lost in a destructor or a C
    callback is raised again.  After the block there is nothing left to clean up, so an interrupt ends the process at
    once.
    """

    heard = False

    def __enter__(self) -> Interrupt:
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._hear)
        self._hook = sys.unraisablehook
        sys.unraisablehook = self._raise_anew
        return self

    def __exit__(self, *_: object) -> None:
        sys.unraisablehook = self._hook
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self.heard = True
        raise KeyboardInterrupt

    def _raise_anew(self, lost: sys.UnraisableHookArgs) -> None:
        if isinstance(lost.exc_value, KeyboardInterrupt):
            main = threading.main_thread().ident
            # Raise it later, because inside this hook it would be lost again.
            again = threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT))
            again.daemon = True
            again.start()
        else:
            self._hook(lost)


def run_command(arguments: Sequence[str] | None = None, interrupt: Interrupt | None = None) -> int:
    """Run a command line and return its exit code."""
    try:
        code = harness.main(args=arguments, prog_name="harness", standalone_mode=False)
    except click.UsageError as error:
        _show(error)
        return EXIT_USAGE
    except HarnessError as error:
        _say(error)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        error.show()
        return EXIT_FAILURE
    except SystemExit as ending:  # from click: 0 after a completion, 1 if output could not be written
        return EXIT_FAILURE if ending.code else 0
    except OSError as error:
        _say(error)
        return EXIT_FAILURE
    except Exception as error:  # noqa: BLE001 (a bug of ours must not end with Python's 1, which means a violation)
        return EXIT_INTERRUPTED if interrupt is not None and interrupt.heard else _unexpected(error)
    return code if isinstance(code, int) else 0


def _say(error: Exception) -> None:
    """Print an error on one line.  A name in it may contain line breaks, which would make it look like ours."""
    click.echo(f"harness: {' '.join(str(error).splitlines())}", err=True)


def _unexpected(error: Exception) -> int:
    from history.errors import FormatError
    from history.extras import missing_extra

    if isinstance(error, FormatError):
        _say(error)
        return EXIT_FAILURE
    if isinstance(error, ModuleNotFoundError) and (missing := missing_extra(error)) is not None:
        click.echo(f"harness: {missing}", err=True)
        return EXIT_USAGE
    if _lacks_memory(error):
        click.echo(f"harness: out of memory ({type(error).__name__}: {error}): allow more (see ulimit -v)", err=True)
        return EXIT_FAILURE
    traceback.print_exception(error)
    click.echo("harness: this is a bug of the harness, not a finding about the system", err=True)
    return EXIT_FAILURE


def _lacks_memory(error: BaseException | None) -> bool:
    """Return whether Python, the kernel or the loader ran out of memory, by an error or its cause."""
    if error is None:
        return False
    lacks = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
    lacks = lacks or "failed to map segment" in str(error) or "can't start new thread" in str(error)
    return lacks or _lacks_memory(error.__cause__ or error.__context__)


def _show(error: click.UsageError) -> None:
    """Print a usage error on one line, as for a bad plan.  For a verb without arguments, print its whole help."""
    text = error.format_message()
    if isinstance(error, click.MissingParameter):
        text = " ".join(text.split())  # click puts each choice on its own line
    if "\n" in text:
        error.show()
    else:
        help_of = error.ctx.command_path if error.ctx is not None else "harness"
        click.echo(f"harness: {text.rstrip('.')}{_origin(error)}; see {help_of} --help", err=True)


def _origin(error: click.UsageError) -> str:
    """Describe where a bad value came from; empty if it came from the command line."""
    if not isinstance(error, click.BadParameter) or error.param is None or error.ctx is None:
        return ""
    from harness.cli.options.dry_run import origins_of

    origin = origins_of(error.ctx).get(str(error.param.name), "command line")
    return "" if origin == "command line" else f" (from {origin})"
