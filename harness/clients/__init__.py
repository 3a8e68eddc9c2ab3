"""Connections with newline-delimited JSON, for the clients of several systems."""

from harness.clients.wire import LostError, NoAnswerError, NotSentError, Wire

__all__ = ["LostError", "NoAnswerError", "NotSentError", "Wire"]
