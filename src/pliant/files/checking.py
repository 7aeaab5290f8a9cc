"""What a file is and whether it can be used: the work behind `pliant check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pliant.collision import mount_problem
from pliant.documents import read_mapping
from pliant.errors import InputError, OptionError, PlanError, Problem, RobotError
from pliant.files.grasp_file import read_grasp
from pliant.files.plan_file import load_plan
from pliant.files.run_file import load_run
from pliant.files.task import read_task
from pliant.objects import load_mesh
from pliant.planner import verify_plan
from pliant.robot import (
    Robot,
    check_lengths,
    fingers_without_tip_pad,
    flange_fit,
    load_module,
    load_robot,
    pad_mesh,
    unreadable_visuals,
)

DOCUMENTS = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class FileReport:
    """The verdict on one file.

    Attributes:
        file: the file as named.
        kind: robot, hand, arm, mesh, task, grasp, plan, run or unknown.
        problems: why it cannot be used; empty if it can.
        notes: what was repaired or deserves a second look.
        facts: what it holds, in a few lines.
    """

    file: Path
    kind: str
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong with it."""
        return not self.problems


def check_file(path: str | Path, *, package_dirs: Iterable[str | Path] = ()) -> FileReport:
    """Find out what a file is and check all of it; never raises for a bad file."""
    path, folders = Path(path), tuple(package_dirs)
    kind = "unknown"
    try:
        kind = _kind(path)
        notes, facts = _CHECKS[kind](path, folders)
    except OSError as bad:
        return FileReport(path, kind, (Problem("", f"cannot be read: {bad.strerror or bad}"),))
    except InputError as bad:
        problems = []
        for problem in bad.problems:
            elsewhere = bad.source and bad.source not in (str(path), path.name)
            where = ": ".join(filter(None, (bad.source if elsewhere else "", problem.where)))
            problems.append(Problem(where, problem.what, problem.allowed))
        return FileReport(path, kind, tuple(problems))
    return FileReport(path, kind, (), tuple(notes), tuple(facts))


Found = tuple[Iterable[str], Iterable[str]]


def _kind(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix in (".urdf", ".xml"):
        return "robot"
    if suffix == ".xacro":
        raise InputError(
            str(path), Problem("", "is a xacro file", "expand it first: xacro robot.urdf.xacro > robot.urdf")
        )
    if suffix in (".plan", ".run"):
        return suffix.removeprefix(".")
    if suffix not in DOCUMENTS:
        return "mesh"
    fields = read_mapping(path)
    if fields.get("kind") in ("hand", "arm"):
        return str(fields["kind"])
    if "contacts" in fields:
        return "grasp"
    if {"object", "robot", "task"} & set(fields):
        return "task"
    if {"fingers", "palm", "preshapes"} & set(fields):
        return "hand"
    if "flange" in fields:
        return "arm"
    raise InputError(
        str(path),
        Problem(
            "",
            f"cannot tell what this document is (fields: {', '.join(sorted(fields)[:8])})",
            "a hand or arm says 'kind: hand' or 'kind: arm', a task has 'robot' and 'object'",
        ),
    )


def _check_robot(path: Path, folders: tuple[str | Path, ...]) -> Found:
    robot = load_robot(path, package_dirs=folders)
    coupled = robot.model.nv - robot.dof
    joints = f"{robot.dof} independent joints" + (f" and {coupled} coupled" if coupled else "")
    shapes = sum(len(link.collisions) for link in robot.urdf.links)
    notes = list(robot.urdf.notes)
    if not shapes:
        notes.append("no link has a collision shape: contact and collisions cannot be seen")
    notes += _open_meshes(robot)
    massless = [link.name for link in robot.urdf.links if link.inertial is None]
    if len(massless) > 1:
        notes.append(
            f"{len(massless)} links have no <inertial>: {', '.join(massless[:6])}{', ...' * (len(massless) > 6)}"
        )
    return notes, [f"{joints}, {len(robot.link_names)} links, {shapes} collision shapes, {robot.mass:.3g} kg"]


def _check_module(path: Path, folders: tuple[str | Path, ...]) -> Found:
    module = load_module(path, package_dirs=folders)
    notes = [*module.robot.urdf.notes, *_open_meshes(module.robot)]
    facts = [
        f"{module.description.title or module.name}: {module.robot.dof} independent joints, {module.robot.mass:.3g} kg"
    ]
    if module.description.kind == "arm":
        fit = flange_fit(module.robot, module.description.flange)
        if fit is not None and (words := fit.problem(module.description.flange)):
            notes.insert(0, f"WARNING: {words}; pliant arm import gives it a flange that looks out of the arm")
    else:
        pads = sum(len(finger.pads) for finger in module.description.fingers)
        names = ", ".join(preshape.name for preshape in module.description.preshapes)
        facts.append(f"{len(module.description.fingers)} fingers, {pads} pads, preshapes: {names}")
        for finger in module.description.fingers:
            for pad in finger.pads:
                sound = pad_mesh(module.robot.urdf, pad)
                notes += [f"pad on '{pad.link}': {text}" for text in sound.notes]
        notes[:0] = [
            f"WARNING: finger '{name}' has no pad on its last link: nothing can be held with its tip"
            for name in fingers_without_tip_pad(module.description, module.robot.urdf)
        ]
    return [*notes, *(f"assumed: {text}" for text in module.description.assumed)], facts


def _open_meshes(robot: Robot) -> list[str]:
    """Read every shape of every link: a file that is there may still be no mesh. What is only seen is worth a note."""
    lost = [problem for link in robot.urdf.links for problem in unreadable_visuals(link)]
    if lost and not any(link.collisions for link in robot.urdf.links):
        raise RobotError(robot.urdf.source, lost)
    for link in robot.urdf.links:
        check_lengths(link)
    return [f"{problem}; pictures show the collision shapes instead" for problem in lost]


def _check_mesh(path: Path, _: tuple[str | Path, ...]) -> Found:
    repaired = load_mesh(path)
    report = repaired.report
    size = " x ".join(f"{1000 * extent:.4g}" for extent in repaired.mesh.extents)
    contents = f"{1e6 * report.volume:.4g} cm3, surface {1e4 * repaired.mesh.area:.4g} cm2"
    facts = [f"{len(repaired.mesh.faces)} faces, {size} mm, {contents}"]
    return [*(f"repaired: {text}" for text in report.repaired), *report.notes], facts


def _check_task(path: Path, folders: tuple[str | Path, ...]) -> Found:
    task = read_task(path, package_dirs=folders)
    if (problem := mount_problem(task.assembly)) is not None:
        raise OptionError(str(path), problem)
    body = task.body
    centre = 1000 * body.centre_of_mass(task.T_world_object.rotation.T @ (0.0, 0.0, 1.0))
    facts = [
        f"robot {task.assembly.name}: {task.assembly.robot.dof} independent joints",
        f"{body.kind} '{body.mesh.name}', {len(body.mesh.faces)} faces, {body.mass:.4g} kg, "
        f"centre of mass ({centre[0]:.2f}, {centre[1]:.2f}, {centre[2]:.2f}) mm in its own frame",
        f"{len(task.scene)} obstacles, lift {1000 * task.goal.lift:g} mm, moved by {task.goal.by.value}",
    ]
    return task.notes, facts


def _check_grasp(path: Path, _: tuple[str | Path, ...]) -> Found:
    grasp = read_grasp(path)
    weight = float((grasp.external[:3] @ grasp.external[:3]) ** 0.5)
    return grasp.contacts.notes, [f"{len(grasp.contacts)} contacts, external force {weight:.4g} N"]


def _check_plan(path: Path, _: tuple[str | Path, ...]) -> Found:
    """The file first, then everything the plan claims, computed again."""
    plan = load_plan(path)
    verdict = verify_plan(plan)
    if verdict.problems:
        raise PlanError(str(path), verdict.problems)
    body, robot = plan.task.body, plan.task.assembly
    facts = [
        f"task '{plan.task.name}': {robot.name} and {body.kind} '{body.mesh.name}', {body.mass:.4g} kg",
        f"{len(plan.hypotheses)} hypotheses, {len(plan.grasps)} kept"
        + "".join(f"; {reason} {count}" for reason, count in list(plan.counts.items())[:6]),
    ]
    for i, (grasp, clearance) in enumerate(zip(plan.grasps, verdict.clearances, strict=True)):
        facts.append(
            f"grasp {i}: {', '.join(grasp.hypothesis.fingers)}; at most {grasp.largest_force:.3g} N and "
            f"{grasp.largest_pressure / 1e3:.3g} kPa; {grasp.trajectory.duration:.2f} s, "
            f"{len(grasp.states)} held states; nearest miss {1e3 * clearance:.2g} mm"
        )
    notes = [*plan.task.notes, *(f"grasp {i}: {text}" for i, g in enumerate(plan.grasps) for text in g.warnings)]
    return [*notes, *([plan.advice] if plan.advice else [])], facts


def _check_run(path: Path, _: tuple[str | Path, ...]) -> Found:
    log = load_run(path)
    if not len(log):
        raise PlanError(str(path), "the run has no steps")
    lasted = float(log["time"][-1] - log["time"][0])
    frames = sum(len(pad.times) for pad in log.frames.values())
    facts = [
        f"{len(log)} steps in {lasted:.2f} s, {len(log.joints)} joints, {len(log.contacts)} contacts, "
        f"{frames} tactile frames",
        f"ended: {log.end}" + (f", aborted: {log.reason}" if log.reason else ""),
    ]
    return [], facts


_CHECKS: dict[str, Callable[[Path, tuple[str | Path, ...]], Found]] = {
    "robot": _check_robot,
    "hand": _check_module,
    "arm": _check_module,
    "mesh": _check_mesh,
    "task": _check_task,
    "grasp": _check_grasp,
    "plan": _check_plan,
    "run": _check_run,
}
