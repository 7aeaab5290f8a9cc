"""The second judge: its own convergence, and the planner's forces and friction beside its verdicts.

    python benchmarks/judge.py truth [--edge-mm 2.4 1.7 1.2]
    python benchmarks/judge.py plans plans/*.plan [--grasp 0]
    python benchmarks/judge.py friction plans/ball.plan [--grasp 0] [--factors 1 0.9 0.8 0.7 0.6 0.5]
                               [--out out/benchmarks/judge.json]

truth: a ball of 30 mm (E = 0.5 MPa, nu = 0.45) between plates against fine finite elements, its way under a force along
the plates against Cattaneo and Mindlin, and the friction at which the pinched ball falls against W / 2N, for edges of
the elements at the contact. plans: normal forces as planned and as judged, and the friction factor at which each thinks
that the grasp falls; of the planner it is the smallest factor at which its own contact simulation still settles at the
same joints and finds friction that balances, without reserves. friction: what the planner says at every factor, its
object's rise, and the forces of both without weight, with and without friction. Times are CPU time of this process.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from record import about, write

from pliant.contact import ContactState, settle
from pliant.elastic import fill_graded
from pliant.files import load_plan
from pliant.judge import (
    FlatTouch,
    History,
    Instant,
    JudgedGrasp,
    Partner,
    PlayedOperation,
    condense,
    critical_friction,
    play,
)
from pliant.objects import make_shape, smooth_surface
from pliant.planner import PlannedGrasp, Task, Uncertainty
from pliant.planner.context import PlanningContext
from pliant.planner.pressing import Held
from pliant.planner.reasons import Failure

RADIUS, YOUNG, POISSON = 0.03, 0.5e6, 0.45
PLATES = (Partner("above", FlatTouch()), Partner("below", FlatTouch()))
TRUTH = {0.6e-3: 2.2703, 1.5e-3: 9.3145}
LITTLE_DRAG = np.array([20.0, 20.0, 20.0, 0.01, 0.01, 0.01])


def plates(depth: float) -> tuple[pin.SE3, pin.SE3]:
    """Poses of both plates, each so deep in the ball."""
    upside = pin.SE3(np.diag([1.0, -1.0, -1.0]), np.array([0.0, 0.0, RADIUS - depth]))
    return upside, pin.SE3(np.eye(3), np.array([0.0, 0.0, depth - RADIUS]))


def truth(edge: float) -> dict[str, Any]:
    """Errors at one edge length."""
    start = time.process_time()
    smooth = smooth_surface(make_shape("sphere", radius=RADIUS, edge=0.003))
    poles = RADIUS * np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]])
    tets = fill_graded(smooth, poles, edge, 8e-3, 8e-3)
    body = condense(
        tets,
        smooth,
        [0, 1],
        lambda k, x: np.linalg.norm(x - poles[k], axis=1) < 9e-3,
        young=YOUNG,
        poisson=POISSON,
        mass=0.1,
    )
    prepared = time.process_time() - start
    row: dict[str, Any] = {"edge_mm": 1e3 * edge, "elements": body.elements, "hats": body.hats.count}
    for depth, force in TRUTH.items():
        found = _pressed(History(body, PLATES, 0.0, None), depth)[2]
        row[f"plates_{1e3 * depth:g}_mm_percent"] = 100.0 * (found / force - 1.0)
    row["mindlin_percent"] = 100.0 * _partial_slip(body)
    row["pinch_percent"] = 100.0 * _pinch(body)
    return {**row, "prepared_s": prepared, "cpu_s": time.process_time() - start}


def _pressed(history: History, depth: float) -> tuple[Any, Instant, float]:
    """State, instant and normal force of the ball between plates."""
    knots = [Instant(plates(x), np.zeros(6)) for x in np.linspace(0.0, depth, 7)]
    state = history.start(pin.SE3(np.eye(3), history.body.centre))
    for a, b in pairwise(knots):
        state = history.advance(state, a, b, LITTLE_DRAG)
    return state, knots[-1], float(np.mean([force.normal for force in history.forces(state, knots[-1])]))


def _partial_slip(body: Any) -> float:
    """Largest error of the way under Q = 0.02 .. 0.9 mu N on each contact against Mindlin's, relative."""
    mu = 0.4
    history = History(body, PLATES, mu, None)
    state, now, N = _pressed(history, 1.2e-3)
    G = YOUNG / (2.0 * (1.0 + POISSON))
    a = (3.0 * N * RADIUS * (1.0 - POISSON**2) / (4.0 * YOUNG)) ** (1.0 / 3.0)
    begin, way, used = state.T_world_body.translation[0], [], np.array([0.02, 0.2, 0.4, 0.6, 0.75, 0.9])
    for share in used:
        then = Instant(now.poses, np.array([2.0 * share * mu * N, 0.0, 0.0, 0.0, 0.0, 0.0]))
        state, now = history.advance(state, now, then, LITTLE_DRAG), then
        way.append(state.T_world_body.translation[0] - begin)
    slope = (2.0 - POISSON) / (8.0 * G * a)
    mindlin = 1.5 * slope * mu * N * (1.0 - (1.0 - used) ** (2.0 / 3.0))
    whole = (way[0] - mindlin[0]) / used[0]
    return float(np.abs(np.array(way) / (whole * used + mindlin) - 1.0).max())


def _pinch(body: Any) -> float:
    """Error of the critical friction of a pinched ball against W / 2N, relative."""
    weight = 1.5
    closing = tuple(plates(x) for x in np.linspace(0.0, 1e-3, 3))
    operation = PlayedOperation(pin.SE3(np.eye(3), body.centre), closing, np.array([weight, 0.0, 0.0]))
    firm = play(History(body, PLATES, 1.0, None), operation)
    limit = weight / (2.0 * float(np.mean([force.normal for force in firm.forces])))

    def ask(factor: float) -> bool | None:
        return play(History(body, PLATES, factor * limit, None), operation).verdict.holds

    return critical_friction(ask, {0.8: False, 1.25: True}).factor - 1.0


class PlannerSays:
    """The planner's own contact simulation at a grasp's joints, at any friction, without reserves."""

    def __init__(self, task: Task, grasp: PlannedGrasp) -> None:
        self.grasp = grasp
        bare = Uncertainty(0.0, 0.0, 0.0, 0.0, 0.0)
        self.task = replace(task, options=replace(task.options, margin=0.0), uncertainty=bare)
        self.context = PlanningContext(self.task)
        self.T_world_palm = task.T_world_object * grasp.hypothesis.T_object_palm

    def at(self, factor: float) -> Held | Failure:
        """One contact simulation with weight."""
        body = self.task.body
        material = replace(body.material, friction=factor * body.material.friction)
        task = replace(self.task, body=replace(body, material=material))
        context = PlanningContext(task, self.context.prepared, self.context.hand)
        return context.presser.simulate(self.grasp.grasp.q, self.T_world_palm, task.T_world_object, np.zeros(1))

    def holds(self, factor: float) -> bool:
        """Whether it settles and friction balances."""
        held = self.at(factor)
        return isinstance(held, Held) and bool(held.friction.holds)

    def weightless(self, factor: float) -> ContactState:
        """Contacts of the touching links without weight."""
        context = self.context
        poses = context.hand.poses(self.grasp.grasp.q, self.T_world_palm)
        near = context.presser.near(poses, self.task.T_world_object)
        surfaces = [context.hand.links[i].surface for i in near]
        mu = factor * self.task.body.material.friction
        T = self.task.T_world_object
        return settle(context.prepared, surfaces, [poses[i] for i in near], T, friction=mu)


def plans(paths: list[Path], number: int) -> list[dict[str, Any]]:
    """Planned beside judged, a row of the table for each plan."""
    rows = []
    print("| plan | normal forces, planned [N] | judged [N] | worst | falls below, planner | judge | apart | CPU |")
    print("|---" * 8 + "|")
    for path in paths:
        plan = load_plan(path)
        task, grasp = plan.task, plan.grasps[number]
        planner = critical_friction(PlannerSays(task, grasp).holds)
        start = time.process_time()
        judged = JudgedGrasp.of(task, grasp)
        links = [i for i, force in enumerate(judged.question.planned) if force > 0.0]
        first = judged.ask(1.0)
        theirs = critical_friction(lambda factor, j=judged: j.ask(factor).verdict.holds, {1.0: first.verdict.holds})
        seconds = time.process_time() - start
        planned = np.array([judged.question.planned[i] for i in links])
        found = np.array([first.forces[i].normal for i in links])
        worst = float(np.abs(planned / found - 1.0).max())
        rows.append({"plan": task.name, "planned_n": planned.tolist(), "judged_n": found.tolist(), "worst": worst,
                     "verdict": first.verdict, "planner": planner.factor, "judge": theirs.factor,
                     "cpu_s": seconds})  # fmt: skip
        apart = planner.factor / theirs.factor - 1.0
        shown = [", ".join(f"{force:.3g}" for force in forces) for forces in (planned, found)]
        print(
            f"| {task.name} {number} | {shown[0]} | {shown[1]} | {worst:.1%} | x {planner.factor:.2f} |"
            f" x {theirs.factor:.2f} | {apart:+.0%} | {seconds:.0f} s |",
            flush=True,
        )
    return rows


def friction(path: Path, number: int, factors: list[float]) -> dict[str, Any]:
    """What the planner says at each friction, and both without weight."""
    plan = load_plan(path)
    task, grasp = plan.task, plan.grasps[number]
    says = PlannerSays(task, grasp)
    rows = []
    for factor in factors:
        held = says.at(factor)
        if isinstance(held, Failure):
            rows.append({"factor": factor, "holds": False, "reason": str(held.reason)})
            print(f"x {factor:g}: {held.reason} {held.detail}", flush=True)
            continue
        rise = float((held.state.T_world_object.translation - task.T_world_object.translation)[2])
        rows.append({"factor": factor, "holds": bool(held.friction.holds), "usage": held.friction.usage,
                     "normal_n": held.normal_forces.tolist(), "rise_m": rise})  # fmt: skip
        print(
            f"x {factor:g}: {'holds' if held.friction.holds else 'not'}, usage {held.friction.usage:.3f},"
            f" N {np.round(held.normal_forces, 3)}, rise {1e3 * rise:+.3f} mm",
            flush=True,
        )
    judged = JudgedGrasp.of(task, grasp)
    question = judged.question
    closing = tuple(
        tuple(None if partner.support else T for T, partner in zip(poses, question.partners, strict=True))
        for poses in question.operation.closing
    )
    operation = replace(question.operation, weight=np.zeros(3), closing=closing, pushes=())
    weightless: list[dict[str, Any]] = []
    for factor in (0.0, 1.0):
        history = History(judged.body, question.partners, factor * question.friction, judged.pads)
        ours = [force.normal for force in play(history, operation).squeezed]
        theirs = [region.normal_force for region in says.weightless(factor).regions]
        weightless.append({"factor": factor, "judge_n": ours, "planner_n": theirs})
        print(f"without weight, friction x {factor:g}: judge {np.round(ours, 3)}, planner {np.round(theirs, 3)}")
    return {"plan": task.name, "rows": rows, "weightless": weightless}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["truth", "plans", "friction"])
    parser.add_argument("plans", type=Path, nargs="*")
    parser.add_argument("--grasp", type=int, default=0)
    parser.add_argument("--edge-mm", type=float, nargs="+", default=[2.4, 1.7, 1.2])
    parser.add_argument("--factors", type=float, nargs="+", default=[1.0, 0.9, 0.8, 0.7, 0.6, 0.5])
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/judge.json"))
    options = parser.parse_args()
    answer: dict[str, Any]
    if options.what == "truth":
        print("| edge [mm] | elements | plates 0.6 mm | plates 1.5 mm | partial slip | pinch | CPU, prepared / all |")
        print("|---" * 7 + "|")
        rows = []
        for edge in options.edge_mm:
            row = truth(1e-3 * edge)
            rows.append(row)
            errors = [row[name] for name in row if name.endswith("percent")]
            shown = " | ".join(f"{error:+.1f} %" for error in errors)
            times = f"{row['prepared_s']:.0f} / {row['cpu_s']:.0f} s"
            print(f"| {edge:g} | {row['elements']} | {shown} | {times} |", flush=True)
        answer = {"truth": rows}
    elif options.what == "plans":
        answer = {"plans": plans(options.plans, options.grasp)}
    else:
        answer = {"friction": [friction(path, options.grasp, options.factors) for path in options.plans]}
    write(options.out, {**about(), **answer})


if __name__ == "__main__":
    main()
