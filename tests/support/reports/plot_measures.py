"""Measure plots as matplotlib lays them out: texts that overlap others or lie outside, and panels without data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from reports.plots.frame import FRAME

#: Overlaps of less are those of the empty edges of two texts (pixels at 100 dpi).
TOUCH = 1.5


def texts_of(figure: Figure) -> list[tuple[str, Bbox]]:
    """Return every text that is drawn, and its extent, after making a layout."""
    figure.draw_without_rendering()
    renderer, hidden = figure.canvas.get_renderer(), _hidden(figure)  # type: ignore[attr-defined]
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text not in hidden]
    shown = [text for text in texts if text.get_visible() and text.get_text().strip()]
    return [(text.get_text(), text.get_window_extent(renderer)) for text in shown]


def _hidden(figure: Figure) -> set[Text]:
    """Return texts that are kept but not drawn: tick labels beyond an axis's ends, and all of a hidden axis."""
    found: set[Text] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            labels = {text for text in axis.findobj(Text) if isinstance(text, Text)}
            found |= labels - _drawn(axis) if axes.axison else labels
    return found


def _drawn(axis: Axis) -> set[Text]:
    labels = {axis.label, axis.offsetText}
    for tick in axis._update_ticks():  # type: ignore[attr-defined]
        labels |= {tick.label1, tick.label2}
    return labels


def overlaps(texts: Sequence[tuple[str, Bbox]]) -> list[tuple[str, str]]:
    """Return every pair of texts that overlap."""
    found = []
    for (one, mine), (other, its) in combinations(texts, 2):
        both = Bbox.intersection(mine, its)
        if both is not None and both.width > TOUCH and both.height > TOUCH:
            found.append((one, other))
    return found


def outside(figure: Figure, texts: Sequence[tuple[str, Bbox]]) -> list[str]:
    """Return every text that the edge of the picture cuts off."""
    edge = figure.bbox
    return [
        text
        for text, box in texts
        if min(box.x0, box.y0) < edge.x0 - TOUCH or box.x1 > edge.x1 + TOUCH or box.y1 > edge.y1 + TOUCH
    ]


def empty_panels(figure: Figure) -> list[str]:
    """Return the panels without any point or shape, by the label of their axis."""
    return [axes.get_ylabel() or axes.get_title() for axes in figure.axes if axes.axison and not _has_ink(axes)]


def _has_ink(axes: Axes) -> bool:
    own = [one for one in (*axes.lines, *axes.patches, *axes.collections) if one.get_label() != FRAME]
    return any(_is_drawn(one) for one in own)


def _is_drawn(artist: object) -> bool:
    if isinstance(artist, Line2D):
        x, y = (np.asarray(part, float) for part in artist.get_data())
        return bool((np.isfinite(x) & np.isfinite(y)).any())
    paths = getattr(artist, "get_paths", None)
    return paths is None or bool(paths())
