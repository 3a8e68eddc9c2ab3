"""How operations reach the system, and which outcomes its answers prove."""

from harness.clients.outcomes import Outcome, completion_of
from harness.clients.register import RegisterClient
from harness.clients.wire import LostError, NotSentError, Wire

__all__ = ["LostError", "NotSentError", "Outcome", "RegisterClient", "Wire", "completion_of"]
