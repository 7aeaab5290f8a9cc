"""How right and how fast are contact forces? Ours beside peers on the same bodies, in one run.

    python benchmarks/contact.py [--vertices 400 1500 6000] [--quick] [--out out/benchmarks/contact.json]

Errors are of the normal force, in per cent of a fine finite-element answer (truth table and ``reference_fem``,
E = 0.5 MPa, nu = 0.45) or of the closed form. Peers: the plain half-space; the matrix of the thesis as printed, with
the length sqrt(S) in its self term and a plain inverse; a soft-body simulator (MuJoCo flex) on the ball between plates.
The run of a release is kept in ``benchmarks/record/contact.json``.
Times are CPU time of this process, the least of the repeats.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import trimesh
from contact_simulator import FEM, simulated
from record import about, write

from pliant.contact import (
    PadSurface,
    PlaneSurface,
    PreparedObject,
    SphereSurface,
    find_first_touch,
    press,
    settle,
    solve_contacts,
)
from pliant.contact.detection import tangent_frame
from pliant.objects import Mesh

X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
YOUNG, POISSON = 5e5, 0.45
Places = list[tuple[np.ndarray, np.ndarray]]


def ball(count: int) -> Mesh:
    i = np.arange(count) + 0.5
    polar, turn = np.arccos(1 - 2 * i / count), np.pi * (1 + 5**0.5) * i
    p = np.column_stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)])
    p += np.random.default_rng(0).normal(0, 0.25 / np.sqrt(count), p.shape)
    hull = trimesh.convex.convex_hull(0.03 * p / np.linalg.norm(p, axis=1)[:, None])
    return Mesh(hull.vertices, hull.faces)


def disc(count: int, thickness: float = 0.03) -> Mesh:
    mesh = trimesh.creation.cylinder(0.03, thickness, sections=48)
    edge = 0.03
    while len(mesh.vertices) < count and edge > 1e-3:
        edge *= 0.8
        mesh = trimesh.creation.cylinder(0.03, thickness, sections=48).subdivide_to_size(edge)
    return Mesh(mesh.vertices, mesh.faces)


def torus(count: int, minor: float = 0.015) -> Mesh:
    n = round(np.sqrt(count * minor / 0.035))
    mesh = trimesh.creation.torus(0.035, minor, major_sections=round(count / n), minor_sections=n)
    return Mesh(mesh.vertices, mesh.faces)


def of(mesh: trimesh.Trimesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.faces)


def opposed(point: np.ndarray, normal: np.ndarray) -> Places:
    return [(point, normal), (-point, -normal)]


THREE = [np.array([np.cos(t), np.sin(t), 0.0]) for t in 2 * np.pi * np.arange(3) / 3]
SIDE = np.array([0.035, 0.0, 0.0])
# name: mesh, places, pad radius [m] or None for a plate, {depth [mm]: force [N]}
TRUTH: dict[str, tuple[Callable[[int], Mesh], Places, float | None, dict[float, float]]] = {
    "ball, plates": (
        ball, opposed(0.03 * Z, Z), None, {0.15: 0.27473, 0.3: 0.78760, 0.6: 2.2703, 1.5: 9.3145, 3.0: 27.471},
    ),
    "ball, spheres": (ball, opposed(0.03 * Z, Z), 0.01, {0.3: 0.38500, 0.75: 1.5295, 1.5: 4.3099}),
    "ball, three spheres": (ball, [(0.03 * n, n) for n in THREE], 0.01, {0.3: 0.39203, 0.75: 1.5731, 1.5: 4.4840}),
    "disc 30 x 30, spheres": (disc, opposed(0.015 * Z, Z), 0.01, {0.3: 0.47277, 0.75: 1.9450, 1.5: 5.6697}),
    "torus, pinched": (
        torus, [(SIDE + 0.015 * Z, Z), (SIDE - 0.015 * Z, -Z)], 0.01, {0.3: 0.40749, 0.75: 1.6485, 1.5: 4.7319},
    ),
}  # fmt: skip
# from reference_fem.py, refined by 1.15
OTHERS: dict[str, tuple[Callable[[int], Mesh], Places, float | None, dict[float, float]]] = {
    "ring 35/15 across": (torus, opposed(0.05 * X, X), 0.01, {0.3: 0.28035, 0.75: 0.96491, 1.5: 2.42434}),
    "ring 35/8 across": (
        lambda n: torus(n, 0.008), opposed(0.043 * X, X), 0.01, {0.3: 0.08504, 0.75: 0.23956, 1.5: 0.51892},
    ),
    "cube 40": (
        lambda _: of(trimesh.creation.box((0.04,) * 3)), opposed(0.02 * Z, Z), 0.01,
        {0.3: 0.45896, 0.75: 1.84560, 1.5: 5.27170},
    ),
    "block 60 x 40 x 20": (
        lambda _: of(trimesh.creation.box((0.06, 0.04, 0.02))), opposed(0.01 * Z, Z), 0.01,
        {0.3: 0.49863, 0.75: 2.10068, 1.5: 6.25058},
    ),
    "thin disc 30 x 10": (
        lambda n: disc(n, 0.01), opposed(0.005 * Z, Z), 0.01, {0.3: 0.58079, 0.75: 2.65503, 1.5: 8.25874},
    ),
    "tube 25, wall 8, length 80": (
        lambda _: of(trimesh.creation.annulus(0.017, 0.025, 0.08, sections=48)), opposed(0.025 * X, X), 0.01,
        {0.3: 0.19908, 0.75: 0.61724, 1.5: 1.43708},
    ),
    "cube 40, plates (exact)": (
        lambda _: of(trimesh.creation.box((0.04,) * 3)), opposed(0.02 * Z, Z), None, {0.3: 12.0, 1.0: 40.0},
    ),
}  # fmt: skip


def poses(places: Places, depth: float, radius: float | None) -> list[pin.SE3]:
    return [pin.SE3(tangent_frame(-n).T.copy(), p + n * ((radius or 0.0) - depth * 1e-3)) for p, n in places]


def force(prepared: PreparedObject, places: Places, depth: float, radius: float | None) -> float:
    """Mean normal force, every pad driven ``depth`` beyond its own first touch."""
    surface = PlaneSurface() if radius is None else SphereSurface(radius)
    pads = [PadSurface(str(k), surface) for k in range(len(places))]
    state = press(prepared, pads, places, depth * 1e-3).state
    return float(np.mean([region.normal_force for region in state.regions])) if state.regions else 0.0


def printed_matrix(mesh: Mesh, place: tuple[np.ndarray, np.ndarray], depth: float, radius: float | None) -> float:
    """The thesis's matrix at mesh vertices inside the pad: 1 / (pi E' l), self term E*, G and sqrt(S); plain
    inverse."""
    p, n = place
    v, f = mesh.vertices, mesh.faces
    face_areas = 0.5 * np.linalg.norm(np.cross(v[f[:, 1]] - v[f[:, 0]], v[f[:, 2]] - v[f[:, 0]]), axis=1)
    areas = np.zeros(len(v))
    for k in range(3):
        np.add.at(areas, f[:, k], face_areas / 3)
    local = v - p
    height = local @ n
    flat = np.linalg.norm(local - height[:, None] * n, axis=1)
    if radius is None:
        pad = np.full(len(v), -depth * 1e-3)
    else:
        pad = radius - depth * 1e-3 - np.sqrt(np.maximum(radius**2 - flat**2, 0.0))
    inside = (height > pad) & (height > -0.02) & (flat < (radius or 0.02))
    at, pen, s = v[inside], (height - pad)[inside], areas[inside]
    if not len(at):
        return 0.0
    shear = YOUNG / (2 * (1 + POISSON))
    distance = np.linalg.norm(at[:, None] - at[None], axis=2)
    np.fill_diagonal(distance, 1.0)
    compliance = (1 - POISSON) / (2 * np.pi * shear * distance)
    # (G n n^T + E (I - n n^T)) / (E G S) along n, with sqrt(S) as the length it lacks
    np.fill_diagonal(compliance, 1.0 / (YOUNG * np.sqrt(s)))
    return float(np.linalg.solve(compliance, pen).sum())


def error_table(counts: list[int], cases: dict[str, Any]) -> list[dict[str, Any]]:
    rows = []
    for name, (make, places, radius, truths) in cases.items():
        for count in counts:
            mesh = make(count)
            body = PreparedObject.of(mesh, young=YOUNG, poisson=POISSON)
            half = PreparedObject(body.surface, YOUNG, POISSON, None)
            for depth, truth in truths.items():
                peers = {
                    "body": force(body, places, depth, radius),
                    "halfspace": force(half, places, depth, radius),
                    "printed": printed_matrix(mesh, places[0], depth, radius),
                }
                row = {"case": name, "vertices": len(mesh.vertices), "depth_mm": depth, "force_n": truth}
                row |= {f"{peer}_error_percent": 100 * (value / truth - 1) for peer, value in peers.items()}
                rows.append(row)
                print(
                    f"{name:28s} {len(mesh.vertices):6d} {depth:5.2f} {truth:9.5f}  "
                    + "  ".join(f"{row[f'{peer}_error_percent']:+8.2f}" for peer in peers),
                    flush=True,
                )
            if make.__name__ == "<lambda>" and name not in ("ring 35/8 across", "thin disc 30 x 10"):
                break
    return rows


def simulator_rows() -> list[dict[str, Any]]:
    """The ball between plates in the simulator; its plates give a little, so to the depth with Hertz's exponent."""
    rows = []
    for depth, truth in FEM.items():
        start = time.process_time()
        reached, value = simulated(depth * 1e-3)
        seconds = time.process_time() - start
        value *= (depth * 1e-3 / reached) ** 1.5
        row = {"case": "ball, plates", "depth_mm": depth, "force_n": truth}
        rows.append(row | {"flex_error_percent": 100 * (value / truth - 1), "cpu_s": seconds})
        print(f"{'ball, plates: MuJoCo flex':28s} {'':6s} {depth:5.2f} {truth:9.5f}  {100 * (value / truth - 1):+8.2f}")
    return rows


def least(work: Callable[[], Any], repeats: int) -> float:
    work()
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def timings(repeats: int = 20) -> dict[str, float]:
    mesh = ball(1500)
    start = time.process_time()
    PreparedObject.of(mesh, young=YOUNG, poisson=0.44, cache=False)
    fresh = time.process_time() - start
    PreparedObject.of(mesh, young=YOUNG, poisson=POISSON)
    start = time.process_time()
    prepared = PreparedObject.of(mesh, young=YOUNG, poisson=POISSON)
    cached = time.process_time() - start
    pads = [PadSurface(str(k), SphereSurface(0.01), friction=0.5) for k in range(3)]
    three = poses([(0.03 * n, n) for n in THREE], 0.75, 0.01)
    one = least(lambda: solve_contacts(prepared, pads[:1], three[:1], free=False, cells=12), repeats)
    grasp = least(lambda: settle(prepared, pads, three, load=[0, 0, -1, 0, 0, 0]), repeats)
    link = PadSurface.of(of(trimesh.creation.capsule(height=0.03, radius=0.008, count=[16, 16])), name="link")
    lean = pin.exp3(np.array([0.3, 0.2, 0.1]))

    def approach(s: float) -> pin.SE3:
        return pin.SE3(lean, np.array([0.004, 0.002, 0.151 - s]))

    touch = least(lambda: find_first_touch(prepared, link, approach, start=0.0, stop=0.15, speed=1.0), repeats)
    return {
        "prepare_s": fresh,
        "prepare_cached_s": cached,
        "one_region_ms": 1e3 * one,
        "three_finger_settle_ms": 1e3 * grasp,
        "first_touch_ms": 1e3 * touch,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vertices", type=int, nargs="+", default=[400, 1500, 6000])
    parser.add_argument("--quick", action="store_true", help="only the ball, and times")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/contact.json"))
    options = parser.parse_args()
    print(
        f"{'case':28s} {'verts':>6s} {'d mm':>5s} {'truth N':>9s}  {'body %':>8s}  {'halfsp %':>8s}  {'printed %':>8s}"
    )
    cases = dict(list(TRUTH.items())[:2]) if options.quick else TRUTH
    rows = error_table(options.vertices, cases)
    if not options.quick:
        rows += error_table(options.vertices[-1:], OTHERS)
    flex = simulator_rows()
    speed = timings()
    for name, value in speed.items():
        print(f"{name:28s} {value:10.3f}")
    write(options.out, {**about("numba", "mujoco"), "errors": rows, "simulator": flex, "times": speed})


if __name__ == "__main__":
    main()
