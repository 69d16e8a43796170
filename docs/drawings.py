"""The drawings of the architecture page.

python docs/drawings.py      writes them into docs/images
"""

from collections.abc import Sequence
from html import escape
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
INK, PAPER, LEAF, SKY, SAND = "#22303c", "#ffffff", "#dcecd9", "#d8e6f3", "#f3e9d2"
_HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
    'aria-label="{label}" font-family="system-ui, sans-serif" font-size="13">\n'
    '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    f'<path d="M0 0 8 4 0 8z" fill="{INK}"/></marker></defs>\n'
    f'<rect width="{{width}}" height="{{height}}" rx="8" fill="{PAPER}"/>\n'
)


class Drawing:
    """Boxes and arrows, from left to right and from top to bottom."""

    def __init__(self, label: str, width: int, height: int) -> None:
        self._parts = [_HEAD.format(label=escape(label), width=width, height=height)]

    def box(self, x: int, y: int, width: int, lines: Sequence[str], fill: str = SKY) -> None:
        height = 14 + 17 * len(lines)
        self._parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{INK}"/>\n'
        )
        for number, line in enumerate(lines):
            self.text(x + width // 2, y + 20 + 17 * number, line, anchor="middle", bold=number == 0)

    def text(self, x: int, y: int, line: str, *, anchor: str = "start", bold: bool = False, dim: bool = False) -> None:
        weight, colour = ' font-weight="600"' if bold else "", "#5b6b78" if dim else INK
        self._parts.append(
            f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}"{weight}>{escape(line)}</text>\n'
        )

    def arrow(self, *points: tuple[int, int], dashed: bool = False) -> None:
        path = " ".join(f"{x},{y}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{INK}" stroke-width="1.3"{dash} marker-end="url(#to)"/>\n'
        )

    def line(self, x1: int, y1: int, x2: int, y2: int, width: float = 1, colour: str = INK) -> None:
        self._parts.append(
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"/>\n'
        )

    def __str__(self) -> str:
        return "".join(self._parts) + "</svg>\n"


def overview() -> Drawing:
    """What is written, and what a question reads of it."""
    draw = Drawing("From documents to a tree, and from a question to an answer", 900, 356)
    draw.text(20, 28, "remember, improve", bold=True)
    draw.box(20, 44, 120, ["documents"], SAND)
    draw.box(180, 44, 130, ["chunks"], SAND)
    draw.box(350, 20, 210, ["graph", "entities and relations"], LEAF)
    draw.box(350, 84, 210, ["summaries", "one of each chunk"], LEAF)
    draw.box(600, 84, 130, ["areas", "level 0, 1, …"], LEAF)
    draw.box(770, 84, 110, ["root"], LEAF)
    draw.arrow((140, 60), (178, 60))
    draw.arrow((310, 56), (348, 44))
    draw.arrow((310, 66), (348, 104))
    draw.arrow((560, 108), (598, 108))
    draw.arrow((730, 102), (768, 102))
    draw.text(20, 212, "recall", bold=True)
    draw.box(20, 228, 120, ["question"], SKY)
    draw.box(350, 204, 210, ["local evidence", "connections and passages"], SKY)
    draw.box(600, 204, 180, ["the map", "root and nearest areas"], SKY)
    draw.box(430, 292, 130, ["prompt"], SKY)
    draw.box(630, 292, 150, ["answer", "with its sources"], SKY)
    draw.arrow((140, 240), (348, 226))
    draw.arrow((140, 250), (320, 274), (650, 274), (680, 254))
    draw.arrow((245, 77), (245, 180), (400, 202), dashed=True)
    draw.arrow((560, 50), (580, 60), (580, 182), (520, 202), dashed=True)
    draw.arrow((665, 133), (680, 202), dashed=True)
    draw.arrow((825, 117), (740, 202), dashed=True)
    draw.arrow((455, 253), (478, 290))
    draw.arrow((640, 254), (540, 290))
    draw.arrow((560, 308), (628, 308))
    return draw


def generations() -> Drawing:
    """Rows with intervals: what readers of each generation see while the next one is built."""
    draw = Drawing("Rows of the index and the generations for which they are valid", 900, 250)
    for number, x in ((3, 330), (4, 560), (5, 790)):
        draw.line(x, 44, x, 218, 1, "#b7c3cd")
        draw.text(x, 32, f"generation {number}", anchor="middle", bold=number == 4, dim=number != 4)
    rows = [
        ("area A, unchanged", 200, 880, LEAF),
        ("area B, old text", 200, 560, SAND),
        ("area B, new text", 560, 880, LEAF),
        ("area C, being written", 790, 880, SKY),
    ]
    for place, (name, begin, end, fill) in enumerate(rows):
        y = 56 + 36 * place
        draw.text(20, y + 17, name)
        draw.line(begin, y + 12, end, y + 12, 16, fill)
        draw.line(begin, y + 4, begin, y + 20, 2)
        if end < 880:
            draw.line(end, y + 4, end, y + 20, 2)
    draw.text(560, 236, "served: one write of the manifest moves this line", anchor="middle", dim=True)
    draw.text(790, 236, "nobody sees it yet", anchor="middle", dim=True)
    draw.line(560, 44, 560, 218, 2)
    return draw


DRAWINGS = {"overview.svg": overview, "generations.svg": generations}


def main() -> None:
    for name, make in DRAWINGS.items():
        (IMAGES / name).write_text(str(make()), encoding="utf-8")


if __name__ == "__main__":
    main()
