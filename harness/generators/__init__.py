"""When operations are issued: pure streams of moments, tested without threads or time."""

from harness.generators.pacing import Pace

__all__ = ["Pace"]
