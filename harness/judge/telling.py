"""Operations of a history in the words of its model."""

from __future__ import annotations

import json
from pathlib import Path

from checker.core.model import Model, ModelError
from checker.models.registry import model_named
from history import FormatError
from history.records.events import parse_header
from reports.load.run import Tell, by_values


def tell_of(history: Path) -> Tell:
    """How the model that a history names tells operations; by their values where that is not known."""
    try:
        with history.open("rb") as lines:
            name = parse_header(json.loads(lines.readline()), history).model
        model = None if name is None else model_named(name)
        return by_values if model is None or type(model).tell is Model.tell else model.tell
    except (ModelError, FormatError, OSError, ValueError, AttributeError):
        return by_values
