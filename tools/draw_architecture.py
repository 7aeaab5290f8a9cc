"""Draw the flow of data through the packages: python tools/draw_architecture.py [docs/pictures/architecture.svg]

Boxes are packages, arrows are what is handed over. Placed by hand, to be read from left to right: the question on the
left, the robot on the right.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 1570, 690
BOX_W, BOX_H = 190, 64
COLOURS = {
    "file": ("#f4f1ea", "#8a8271"),
    "model": ("#e6eef7", "#3f6ea3"),
    "theory": ("#e8f3ea", "#3d7d4d"),
    "doing": ("#fbeae3", "#b1562f"),
    "face": ("#f1eaf5", "#7a4f96"),
}
# name: (x, y of the centre, kind, second line)
BOXES = {
    "files": (115, 350, "file", "task, plan, run, grasp"),
    "robot": (360, 190, "model", "arm + hand, pads, arrays"),
    "objects": (360, 470, "model", "mesh, material, mass, liquid"),
    "collision": (600, 100, "theory", "distances, swept paths"),
    "elastic": (600, 470, "theory", "finite elements, compliance"),
    "motion": (845, 140, "theory", "Jacobians, servo, paths, IK"),
    "contact": (845, 430, "theory", "pressures, shape, rest"),
    "grasp": (845, 285, "theory", "G, cones, least forces"),
    "planner": (1095, 285, "doing", "hypotheses to operations"),
    "tactile": (1345, 140, "doing", "counts to contact forces"),
    "control": (1345, 285, "doing", "step(sample) -> command"),
    "calibration": (1095, 470, "doing", "trial squeeze: E, friction"),
    "judge": (1095, 380, "doing", "finite elements: does it hold?"),
    "lab": (1345, 410, "doing", "MuJoCo plays the robot"),
    "ros": (1345, 500, "doing", "ROS 1 and 2"),
    "viewer": (600, 620, "face", "page, report, pictures"),
    "batch": (845, 620, "face", "many plans, Ray"),
    "cli": (360, 620, "face", "one file per command"),
}
# from, to, what
ARROWS = [
    ("files", "robot", "URDF, description"),
    ("files", "objects", "mesh, E, nu, mu"),
    ("robot", "collision", "link shapes"),
    ("robot", "contact", "pad surfaces"),
    ("objects", "elastic", "surface"),
    ("elastic", "contact", "C"),
    ("collision", "motion", "keep-out rows"),
    ("contact", "grasp", "points, K"),
    ("motion", "planner", "reach, free paths"),
    ("grasp", "planner", "f*"),
    ("contact", "planner", "forces, rest"),
    ("planner", "control", "plan"),
    ("planner", "judge", ""),
    ("tactile", "control", "measured forces"),
    ("control", "calibration", ""),
    ("control", "lab", "driver"),
]


def box(name: str) -> str:
    x, y, kind, line = BOXES[name]
    fill, edge = COLOURS[kind]
    return (
        f'<rect x="{x - BOX_W / 2}" y="{y - BOX_H / 2}" width="{BOX_W}" height="{BOX_H}" rx="9" fill="{fill}" '
        f'stroke="{edge}" stroke-width="1.6"/>'
        f'<text x="{x}" y="{y - 5}" class="name">{name}</text>'
        f'<text x="{x}" y="{y + 15}" class="line">{escape(line)}</text>'
    )


def edge_point(name: str, towards: tuple[float, float]) -> tuple[float, float]:
    """Where the line from a box's middle towards a point leaves the box."""
    x, y, _, _ = BOXES[name]
    dx, dy = towards[0] - x, towards[1] - y
    scale = min((BOX_W / 2 + 4) / abs(dx) if dx else float("inf"), (BOX_H / 2 + 4) / abs(dy) if dy else float("inf"))
    return x + dx * scale, y + dy * scale


def arrow(start: str, end: str, what: str, both: bool = False) -> str:
    a = edge_point(start, BOXES[end][:2])
    b = edge_point(end, BOXES[start][:2])
    marks = 'marker-end="url(#tip)"' + (' marker-start="url(#tip)"' if both else "")
    line = f'<line x1="{a[0]:.0f}" y1="{a[1]:.0f}" x2="{b[0]:.0f}" y2="{b[1]:.0f}" class="path" {marks}/>'
    return line + (label(a, b, what) if what else "")


def label(a: tuple[float, float], b: tuple[float, float], what: str) -> str:
    """Words beside the middle of a line, never across it: above a level one, else on the right of it.

    On the right a line of text of half height h, whose left end is at the middle of the line, keeps clear of a line of
    slope s when it is moved by h / |s| and a gap; the gap alone serves an upright line.
    """
    x, y = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
    dx, dy = b[0] - a[0], b[1] - a[1]
    if abs(dy) < 1.0:
        return f'<text x="{x:.0f}" y="{y - 8:.0f}" class="what">{escape(what)}</text>'
    half_height, gap = 7.0, 7.0
    x += gap + half_height * abs(dx / dy)
    return f'<text x="{x:.0f}" y="{y + 4:.0f}" class="what beside">{escape(what)}</text>'


def drawing() -> str:
    parts = [arrow(a, b, what, both=what == "driver") for a, b, what in ARROWS]
    # What was planned goes back into a file, along the top.
    x, y = BOXES["planner"][:2]
    back, top = BOXES["files"][:2]
    parts.append(
        f'<path d="M {x} {y - BOX_H / 2 - 4} C {x} -70, {back} -70, {back} {top - BOX_H / 2 - 4}" class="path" '
        f'marker-end="url(#tip)"/><text x="{(x + back) / 2}" y="42" class="what">plan files</text>'
    )
    right = BOXES["control"][0] + BOX_W / 2
    parts.append(
        f'<rect x="{right + 24}" y="250" width="86" height="285" rx="9" fill="#fff" stroke="#555" '
        'stroke-dasharray="5 4"/>'
        f'<text x="{right + 67}" y="390" class="name">robot</text>'
        f'<text x="{right + 67}" y="410" class="line">real or</text>'
        f'<text x="{right + 67}" y="426" class="line">simulated</text>'
    )
    for name in ("ros", "control", "lab"):
        height = BOXES[name][1]
        parts.append(f'<line x1="{right + 4}" y1="{height}" x2="{right + 20}" y2="{height}" class="path"/>')
    parts.append(
        '<line x1="60" y1="556" x2="1080" y2="556" stroke="#bbb" stroke-dasharray="2 4"/>'
        '<text x="64" y="574" class="what" style="text-anchor:start">faces: they use everything above</text>'
    )
    parts += [box(name) for name in BOXES]
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">
<style>
text {{ font-family: Helvetica, Arial, sans-serif }}
.name {{ font-size: 17px; font-weight: 600; text-anchor: middle; fill: #222 }}
.line {{ font-size: 12px; text-anchor: middle; fill: #444 }}
.what {{ font-size: 12px; text-anchor: middle; fill: #555; paint-order: stroke; stroke: #fff; stroke-width: 4px }}
.beside {{ text-anchor: start }}
.path {{ stroke: #666; stroke-width: 1.6; fill: none }}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
<path d="M0 0 L8 4 L0 8 z" fill="#666"/></marker></defs>
<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>
{chr(10).join(parts)}
</svg>
"""


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures/architecture.svg")
    target.write_text(drawing())
    print(target, target.stat().st_size)
