"""When operations are issued: pure streams of times, tested without threads or clocks."""

from harness.generators.pacing import Pace

__all__ = ["Pace"]
