"""What runs on the nodes: one file a system."""

from harness.systems.base import StatusPort, SystemOnNodes
from harness.systems.dledger import DLedgerRegister

__all__ = ["DLedgerRegister", "StatusPort", "SystemOnNodes"]
