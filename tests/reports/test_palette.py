"""Fault families are told apart by every reader: distances of their colours as colour-blind eyes see them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from reports.style.palette import FAULT_COLOURS

#: Machado, Oliveira and Fernandes, A Physiologically-based Model for Simulation of Color Vision Deficiency, 2009:
#: linear RGB as it is seen without one kind of receptors.
SEEN = {
    "all": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
}  # fmt: skip
#: Linear RGB to CIE XYZ, and its white.
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
#: Difference in CIE L*a*b* that is seen at a glance; 2.3 is one that is just noticeable.
APART = 12.0


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(seen: np.ndarray) -> np.ndarray:
    parts = XYZ @ seen.clip(0, 1) / WHITE
    x, y, z = np.where(parts > 0.008856, np.cbrt(parts), 7.787 * parts + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_the_measure_is_that_of_known_colours() -> None:
    assert lab(linear("#FFFFFF")) == pytest.approx([100, 0, 0], abs=0.1)
    assert lab(linear("#FF0000")) == pytest.approx([53.2, 80.1, 67.2], abs=0.2)
    red, green = (lab(SEEN["deuteranopia"] @ linear(colour)) for colour in ("#D1E8A0", "#E9DCA0"))
    assert np.linalg.norm(red - green) < 2.3, (
        "two of Jepsen's colours, which nobody without green receptors tells apart"
    )


@pytest.mark.parametrize("vision", SEEN)
def test_no_two_fault_families_look_alike(vision: str) -> None:
    seen = {family: lab(SEEN[vision] @ linear(colour)) for family, colour in FAULT_COLOURS.items()}
    near = [
        (one, other) for one, other in combinations(seen, 2) if float(np.linalg.norm(seen[one] - seen[other])) < APART
    ]
    assert near == []


def test_text_is_read_on_every_colour() -> None:
    """A contrast of 4.5 to 1 with the ink of the bars' names, as WCAG asks for."""
    ink = linear("#10151a") @ XYZ[1]
    dim = {family for family, colour in FAULT_COLOURS.items() if (linear(colour) @ XYZ[1] + 0.05) / (ink + 0.05) < 4.5}
    assert dim == set()
