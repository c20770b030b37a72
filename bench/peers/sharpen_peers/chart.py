"""One picture: warm forward + backward of a batch against n, a line for each layer, as SVG."""

from __future__ import annotations

import math
from xml.sax.saxutils import escape

from .tables import both

COLORS = {
    "sharpen from C++": "#0b6e4f",
    "sharpen from PyTorch": "#08a045",
    "closed form, stored inverse": "#1f77b4",
    "closed form, cholesky_solve": "#4a90c4",
    "closed form, triangular solves": "#17becf",
    "ProxSuite QPLayer": "#9467bd",
    "qpth": "#8c564b",
    "CVXPYlayers, SCS": "#d62728",
    "CVXPYlayers, Clarabel": "#ff7f0e",
}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP, LABELS = 1060, 430, 70, 52, 48, 245, 190


def spread(wanted: list[float], apart: float, low: float, high: float) -> list[float]:
    """Positions near the wanted ones, in their order, at least `apart` from each other."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [0.0] * len(wanted)
    last = low - apart
    for i in order:
        placed[i] = last = max(wanted[i], last + apart)
    last = high + apart
    for i in reversed(order):
        placed[i] = last = min(placed[i], last - apart)
    return placed


def label(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.999 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def panel(rows: list[dict], B: int, left: float, width: float, low: int, high: int) -> list[str]:
    sizes = sorted({row["n"] for row in rows})
    height = HEIGHT - TOP - BOTTOM

    def x(n: int) -> float:
        if len(sizes) == 1:
            return left + width / 2
        return left + width * math.log(n / sizes[0]) / math.log(sizes[-1] / sizes[0])

    def y(seconds: float) -> float:
        return TOP + height * (high - math.log10(seconds)) / (high - low)

    title = "one instance" if B == 1 else f"a batch of {B}"
    parts = [f'<text x="{left}" y="{TOP - 12}" font-weight="bold">{title} (B = {B})</text>']
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(
            f'<line x1="{left}" x2="{left + width}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>'
            f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end" fill="#555">'
            f"{label(10.0**power)}</text>"
        )
    for n in sizes:
        parts.append(
            f'<text x="{x(n):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle" '
            f'fill="#555">{n}</text>'
        )
    lines = {}
    for row in rows:
        seconds = both(row)
        if row["B"] == B and seconds is not None:
            lines.setdefault(row["peer"], []).append((x(row["n"]), y(seconds)))
    ends = spread([points[-1][1] for points in lines.values()], 15, TOP, HEIGHT - BOTTOM)
    for (peer, points), end in zip(lines.items(), ends):
        color = COLORS.get(peer, "#333")
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2.2"/>'
        )
        for px, py in points:
            parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{color}"/>')
        at = f'x="{left + width + 8:.1f}" y="{end + 4:.1f}"'
        parts.append(f'<text {at} fill="{color}">{escape(peer)}</text>')
    return parts


def chart(rows: list[dict], threads: int) -> str:
    times = [both(row) for row in rows if both(row) is not None]
    batches = sorted({row["B"] for row in rows})
    low = math.floor(math.log10(min(times))) if times else -6
    high = max(low + 1, math.ceil(math.log10(max(times)))) if times else 1
    width = (WIDTH - LEFT - LABELS - GAP * (len(batches) - 1)) / len(batches)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12" role="img" '
        'aria-label="Time of forward and backward against the number of assets">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="20" font-size="15">Forward + backward of the layer, warm, '
        f"{threads} threads, against the number of assets n</text>",
    ]
    for i, B in enumerate(batches):
        parts += panel(rows, B, LEFT + i * (width + GAP), width, low, high)
    parts.append(
        f'<text x="{LEFT}" y="{HEIGHT - 8}" fill="#555">Less is better; both axes are logarithmic. '
        "qpth and ProxSuite: the second solve alone.</text>"
    )
    return "\n".join([*parts, "</svg>"]) + "\n"
