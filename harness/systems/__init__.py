"""Systems under test: one file each."""

from harness.systems.base import StatusPort, SystemOnNodes
from harness.systems.dledger import DLedgerRegister

__all__ = ["DLedgerRegister", "StatusPort", "SystemOnNodes"]
