"""Line charts as SVG text: axes, a few series, a legend. No library, no script.

Colours are CSS classes (``s1``, ``s2`` …) that the page defines for light and dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 460, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 32, 46
_LETTER = 6.6  # mean width of a letter of the 12 px font

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """A named line. ``dots`` marks its points; ``dashed`` is for guides, left out of the legend
    when ``name`` is ""."""

    name: str
    points: tuple[Point, ...]
    style: str
    dots: bool = False
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """``ticks`` are (position, label); the ends are the first and the last position."""

    label: str
    ticks: tuple[tuple[float, str], ...]

    @property
    def low(self) -> float:
        return self.ticks[0][0]

    @property
    def high(self) -> float:
        return self.ticks[-1][0]


def percent_axis(label: str, low: float = 0.0) -> Axis:
    """From ``low`` to 1 in five steps."""
    steps = [low + (1.0 - low) * i / 5 for i in range(6)]
    return Axis(label, tuple((step, f"{step:.0%}") for step in steps))


def chart(title: str, x: Axis, y: Axis, series: Sequence[Series], described: str = "") -> str:
    """An ``<svg>`` element. ``title`` and ``described`` are read to who can't see it."""
    plot = _Plot(x, y)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(described)}</desc>" if described else "",
        *plot.grid(),
        *(plot.line(one) for one in series),
        *_legend([one for one in series if one.name]),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


class _Plot:
    """From values to places on the drawing."""

    def __init__(self, x: Axis, y: Axis) -> None:
        self._x = x
        self._y = y

    def _across(self, value: float) -> float:
        share = (value - self._x.low) / ((self._x.high - self._x.low) or 1.0)
        return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)

    def _up(self, value: float) -> float:
        share = (value - self._y.low) / ((self._y.high - self._y.low) or 1.0)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM), 1)

    def grid(self) -> list[str]:
        left, right = self._across(self._x.low), self._across(self._x.high)
        bottom = self._up(self._y.low)
        parts = []
        for value, label in self._y.ticks:
            at = self._up(value)
            parts.append(f'<path class="grid" d="M{left} {at}H{right}"/>')
            parts.append(f'<text x="{left - 6}" y="{at + 4}" text-anchor="end">{label}</text>')
        for value, label in self._x.ticks:
            at = self._across(value)
            parts.append(f'<text x="{at}" y="{bottom + 16}" text-anchor="middle">{label}</text>')
        middle = (left + right) / 2
        parts.append(
            f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">'
            f"{escape(self._x.label)}</text>"
        )
        high = (_TOP + HEIGHT - _BOTTOM) / 2
        parts.append(
            f'<text transform="translate(12 {high}) rotate(-90)" text-anchor="middle">'
            f"{escape(self._y.label)}</text>"
        )
        return parts

    def line(self, series: Series) -> str:
        places = [(self._across(x), self._up(y)) for x, y in series.points]
        if not places:
            return ""
        path = "M" + "L".join(f"{x} {y}" for x, y in places)
        kind = "guide" if series.dashed else "line"
        dots = "".join(
            f'<circle class="{series.style} dot" cx="{x}" cy="{y}" r="4"/>' for x, y in places
        )
        return f'<path class="{series.style} {kind}" d="{path}"/>{dots if series.dots else ""}'


def _legend(series: Sequence[Series]) -> list[str]:
    """One row above the plot, where no line runs."""
    parts = []
    x, y = float(_LEFT), 16
    for one in series:
        kind = "guide" if one.dashed else "line"
        parts.append(f'<path class="{one.style} {kind}" d="M{x:.1f} {y - 4}h18"/>')
        parts.append(f'<text x="{x + 24:.1f}" y="{y}">{escape(one.name)}</text>')
        x += 24 + _LETTER * len(one.name) + 18
    return parts
