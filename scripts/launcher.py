# The command of a source tree: scripts/bootstrap installs this as .venv/bin/harness, with a first line that starts it
# with interrupts blocked.  On an interrupt while it starts, Python would exit with 1, which means a violation.
# Both modules are built into the interpreter; packages are only imported once an interrupt ends this with 130.
import _signal
import posix

if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
    _signal.signal(_signal.SIGINT, lambda *_: posix._exit(130))  # noqa: SLF001
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])

import site  # noqa: E402

site.main()

from harness.start import main  # noqa: E402

main()
