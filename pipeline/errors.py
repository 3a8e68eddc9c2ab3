"""Errors of the pipeline, none of which says anything about the system under test.

::

    PipelineError
    ├── SessionError            no Spark session: the JVM did not start, or not in time
    │   └── JavaMissingError    there is no Java to start it with
    ├── PackageMissingError     no jar for a kind of URI, such as s3a://
    ├── JobError                a Spark job died (a worker was killed, or sees no files)
    └── QuestionError           a question over all runs that cannot be understood

Bad recorded files, and tables that this release cannot read, raise ``history.FormatError``; disk errors raise
``OSError``.
"""

from __future__ import annotations


class PipelineError(Exception):
    """The root of this package's own errors."""


class SessionError(PipelineError):
    """Spark did not start; the message ends with the last lines that the JVM wrote."""


class JavaMissingError(SessionError):
    """No Java runtime was found; the message says what to install."""


class PackageMissingError(PipelineError):
    """Spark has no file system for a URI, or one of the wrong version; the message names the package to add."""


class JobError(PipelineError):
    """A Spark job failed; the message gives the first cause."""


class QuestionError(PipelineError):
    """A question cannot be understood, or names something that no run has; the message says how to ask."""
