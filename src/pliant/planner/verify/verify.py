"""A second opinion on a finished plan: everything it claims is computed again from the task, by other means.

The planner's own intermediate results are not used. Weight and centre of mass come from the displaced vertices, forces
are summed up, contact points are found with forward kinematics and on the surfaces, the trajectory is followed
with exact meshes. Each claim that does not hold is a `Problem` with numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from pliant.collision import mount_problem
from pliant.errors import Problem, repeated
from pliant.planner.results import Plan, PlannedGrasp, PlanStatus
from pliant.planner.task import Task
from pliant.planner.verify.collisions import Solids, collision_problems
from pliant.planner.verify.motion import goal_problems, motion_problems
from pliant.planner.verify.reserve import reserve_problems
from pliant.planner.verify.states import state_problems
from pliant.planner.verify.tolerances import Tolerances


@dataclass(frozen=True)
class Verdict:
    """What the second opinion is.

    Args:
        problems: what does not hold, each with its place in the plan and numbers; empty if everything does.
        clearances: for each grasp, the smallest distance between bodies that must not touch [m].
    """

    problems: tuple[Problem, ...]
    clearances: tuple[float, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything the plan claims holds."""
        return not self.problems


def verify_plan(plan: Plan, *, tolerances: Tolerances | None = None, collisions: bool = True) -> Verdict:
    """Check every grasp of a plan, and that each hypothesis is accounted for.

    Args:
        tolerances: how exactly numbers must agree.
        collisions: follow the trajectories, which takes about a second each.
    """
    allowed = tolerances or Tolerances()
    problems, clearances = list(_account(plan)), []
    if collisions and (problem := mount_problem(plan.task.assembly)) is not None:
        problems.append(problem)
    solids = Solids(plan.task, allowed) if collisions and plan.grasps else None
    for i, grasp in enumerate(plan.grasps):
        found, clearance = verify_grasp(plan.task, grasp, f"grasps[{i}]", allowed, solids)
        problems += found
        clearances.append(clearance)
    return Verdict(tuple(problems), tuple(clearances))


def verify_grasp(
    task: Task, grasp: PlannedGrasp, where: str, allowed: Tolerances, solids: Solids | None
) -> tuple[list[Problem], float]:
    """Problems of one grasp, and its smallest clearance [m]; without solids, collisions are not looked for."""
    problems = [
        problem
        for k, state in enumerate(grasp.states)
        for problem in state_problems(task, state, f"{where}.states[{k}]", allowed, friction=grasp.reserve.friction)
    ]
    problems += reserve_problems(task, grasp, where, allowed)
    problems += motion_problems(task, grasp, where, allowed)
    problems += goal_problems(task, grasp, where, allowed)
    problems += _summary(grasp, where)
    clearance = float("inf")
    # A path with broken numbers cannot be followed.
    if solids is not None and not any("not finite" in problem.what for problem in problems):
        found, clearance = collision_problems(solids, grasp, where)
        problems += found
    return problems, clearance


def _account(plan: Plan) -> list[Problem]:
    """Every hypothesis is kept or rejected, once."""
    problems = []
    if (plan.status is PlanStatus.FOUND) != bool(plan.grasps):
        problems.append(Problem("status", f"is '{plan.status.value}' with {len(plan.grasps)} grasps"))
    numbers = [hypothesis.number for hypothesis in plan.hypotheses]
    kept = [grasp.hypothesis.number for grasp in plan.grasps]
    rejected = [rejection.number for rejection in plan.rejections]
    for label, known, listed in (("grasps", numbers, kept), ("rejections", numbers, rejected)):
        if strangers := sorted(set(listed) - set(known)):
            problems.append(Problem(label, f"name hypotheses that were never tried: {_some(strangers)}"))
        if twice := sorted(repeated(listed)):
            problems.append(Problem(label, f"name hypotheses twice: {_some(twice)}"))
    if both := sorted(set(kept) & set(rejected)):
        problems.append(Problem("rejections", f"hypotheses are kept and rejected: {_some(both)}"))
    if missing := sorted(set(numbers) - set(kept) - set(rejected)):
        problems.append(
            Problem("rejections", f"{len(missing)} hypotheses are neither kept nor rejected: {_some(missing)}")
        )
    return problems


def _summary(grasp: PlannedGrasp, where: str) -> list[Problem]:
    """The numbers by which grasps are compared are those of its states."""
    problems = []
    for label, claimed, found, unit in (
        ("largest_force", grasp.largest_force, max(s.largest_force for s in grasp.states), "N"),
        ("largest_pressure", grasp.largest_pressure, max(s.largest_pressure for s in grasp.states), "Pa"),
    ):
        if not found <= claimed * 1.0001:
            problems.append(
                Problem(f"{where}.{label}", f"is {claimed:.4g} {unit}", f"a held state has {found:.4g} {unit}")
            )
    return problems


def _some(numbers: list[int]) -> str:
    return ", ".join(str(number) for number in numbers[:6]) + (", ..." if len(numbers) > 6 else "")
