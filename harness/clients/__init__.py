"""What clients of several systems have in common: a connection of newline-delimited JSON."""

from harness.clients.wire import LostError, NotSentError, Wire

__all__ = ["LostError", "NotSentError", "Wire"]
