"""Trials: a planned grasp is carried out in the lab, and the lab says what became of the object.   (theory 10)"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
import pinocchio as pin

from pliant.arrays import Bools, Floats
from pliant.control import Command, ControlOptions, Driver, GraspController, RunLog, RunPhase, Sample, execute
from pliant.lab.driver import LabDriver, SensorSettings
from pliant.lab.options import LabOptions
from pliant.lab.scene import Scene, build_scene
from pliant.objects import Body, Liquid
from pliant.planner import PlannedGrasp, Task
from pliant.robot import PALM_FRAME
from pliant.tactile import TactileProcessor

SETTLING = 0.25  # the object comes to rest on its support before the run [s]
FALLEN = 0.5  # of the planned height over the support: below, it was dropped
SUPPORT = 0.006  # something that close below the object holds it up [m]


class TrialOutcome(StrEnum):
    """What became of a trial, as the simulator knows it: of a run on a robot only the pads can tell (`RunOutcome`)."""

    HELD = "held"
    """Carried to the end, off its support, in the hand."""
    DROPPED = "dropped"
    """Not in the hand after the lift had begun or at the end, or not risen with it, whatever the controller felt."""
    ABORTED = "aborted"
    """Ended by the controller before its end, and not dropped."""
    UNSTABLE = "unstable"
    """The simulation failed: nothing can be said."""


@dataclass(frozen=True)
class Disturbance:
    """How the world differs from the plan.

    Args:
        shift: of the object along the world's x and y [m].
        turn: of the object about the vertical through its centre of mass [rad].
        young, friction, mass: factors.
    """

    shift: tuple[float, float] = (0.0, 0.0)
    turn: float = 0.0
    young: float = 1.0
    friction: float = 1.0
    mass: float = 1.0


@dataclass(frozen=True)
class TrialSettings:
    """How a trial is run.

    Args:
        control: of the controller.
        sensors: how well the hand can be measured.
        lab: how the simulator computes.
        period: of control [s].
        from_pregrasp: start with the open hand at the object, the approach left out.
        linger: how long the object is watched after the end [s].
        fine: a solid gets finer nodes where the plan presses: centres of pressure are known to their distance.
    """

    control: ControlOptions = field(default_factory=ControlOptions)
    sensors: SensorSettings = field(default_factory=SensorSettings)
    lab: LabOptions = field(default_factory=lambda: LabOptions(friction_stiffness=100.0, nodes=180))
    period: float = 0.01
    from_pregrasp: bool = False
    linger: float = 0.2
    fine: bool = False


@dataclass(frozen=True, eq=False)
class TrialResult:
    """What became of it.

    Attributes:
        outcome, reason: in words.
        slip: how far the object has moved in the hand beyond the plan, from the grasp to the end [m].
        object_error: distance [m] and angle [rad] of the object from its planned pose at the end.
        centre_error: distance of its centre of mass from the planned one at the end [m].
        planned_force: largest planned normal force while it is held [N].
        measured_force: largest force of a pad while it is held, mean over that time, as the pads say [N].
        point_error: largest distance of a measured centre of pressure from the planned one in the grasp [m].
        max_force: largest true normal force of a link on the object at any time [N].
        max_pressure: largest true pressure on a cell at any time [Pa].
        overload_s: longest time for which a true force was over its limit without a break [s].
        sim_s, wall_s, cpu_s: simulated, real and CPU time [s].
        log: everything.
        notes: of the scene.
    """

    outcome: TrialOutcome
    reason: str
    slip: float
    object_error: tuple[float, float]
    centre_error: float
    planned_force: float
    measured_force: float
    point_error: float
    max_force: float
    max_pressure: float
    overload_s: float
    sim_s: float
    wall_s: float
    cpu_s: float
    log: RunLog
    notes: tuple[str, ...] = ()

    @property
    def held(self) -> bool:
        """Whether the object was in the hand at the end."""
        return self.outcome is TrialOutcome.HELD


def pressed_places(grasp: PlannedGrasp) -> Floats:
    """k x 3 places in the object's frame where the planned grasp presses [m]."""
    return np.array([contact.T_object_contact.translation for contact in grasp.grasp.contacts])


def disturbed_body(body: Body, disturbance: Disturbance) -> Body:
    """The body with other elastic constants, friction and mass."""
    material = replace(
        body.material,
        young=body.material.young * disturbance.young,
        friction=body.material.friction * disturbance.friction,
    )
    liquid = body.liquid
    if liquid is not None and disturbance.mass != 1.0:
        liquid = Liquid(liquid.volume, liquid.density * disturbance.mass, liquid.wall, liquid.sealed)
    return replace(body, material=material, dry_mass=body.dry_mass * disturbance.mass, liquid=liquid)


def trial_scene(
    task: Task, q_start: Floats, disturbance: Disturbance, options: LabOptions, pressed: Floats | None = None
) -> Scene:
    """The task's world, disturbed. An object with nothing below it gets a floor to lie on.

    ``pressed``: k x 3 places in the object's frame where its nodes shall be finer [m].
    """
    T = task.T_world_object
    centre = T.act(task.body.centre_of_mass(T.rotation.T @ np.array([0.0, 0.0, 1.0])))
    turn = pin.utils.rotate("z", disturbance.turn)
    shift = np.array([*disturbance.shift, 0.0])
    moved = pin.SE3(turn, centre - turn @ centre + shift) * T
    lowest = float((task.body.mesh.vertices @ T.rotation.T + T.translation)[:, 2].min())
    floor = None if _supported(task) else lowest
    return build_scene(
        task.assembly,
        _without_skin(disturbed_body(task.body, disturbance), options.skin),
        T_world_object=moved,
        obstacles=task.scene,
        q_start=q_start,
        floor=floor,
        options=options,
        pressed=pressed,
        stands=True,
    )


def _without_skin(body: Body, skin: float) -> Body:
    """The body with its surface moved inwards by the simulator's skin, so that contact begins where the mesh is.

    Indentations in a grasp are about a millimetre; a skin of 0.3 mm left on would add half as much force again.
    """
    v, f = body.mesh.vertices, body.mesh.faces
    areas = np.cross(v[f[:, 1]] - v[f[:, 0]], v[f[:, 2]] - v[f[:, 0]])
    normals = np.zeros_like(v)
    for corner in range(3):
        np.add.at(normals, f[:, corner], areas)
    sizes = np.linalg.norm(normals, axis=1, keepdims=True)
    return body.deformed(v - skin * normals / np.where(sizes > 0, sizes, 1.0))


def _supported(task: Task) -> bool:
    T = task.T_world_object
    points = task.body.mesh.vertices @ T.rotation.T + T.translation
    low, middle = float(points[:, 2].min()), points.mean(axis=0)
    for mesh in task.scene:
        lower, upper = mesh.bounds
        over = (lower[:2] <= middle[:2]).all() and (middle[:2] <= upper[:2]).all()
        if over and -SUPPORT <= low - float(upper[2]) <= SUPPORT:
            return True
    return False


class _Observer:
    """Watches the truth while a run goes on."""

    def __init__(self, driver: LabDriver, limit: float, on_phase: Callable[[LabDriver, RunPhase], None] | None) -> None:
        self.driver, self.limit, self.on_phase = driver, limit, on_phase
        self.max_force = self.max_pressure = 0.0
        self.overload = self._over = 0.0
        self.phase: RunPhase | None = None
        self.at_phase: dict[RunPhase, tuple[pin.SE3, pin.SE3]] = {}
        self._cells = np.array([layout.area for layout in driver.pads.layouts.values()])

    def __call__(self, sample: Sample, command: Command) -> None:
        driver = self.driver
        totals: dict[str, Floats] = {}
        for contact in driver.pads.contacts():
            totals[contact.link] = totals.get(contact.link, np.zeros(3)) + contact.force
        largest = max((float(np.linalg.norm(force)) for force in totals.values()), default=0.0)
        if totals:
            felt = driver.pads.read()
            normal = max((pad.total for pad in felt.values()), default=0.0)
            largest = normal if normal > 0 else largest
            peaks = [pad.cells.max(initial=0.0) for pad in felt.values()]
            self.max_pressure = max(self.max_pressure, float((np.array(peaks) / self._cells).max(initial=0.0)))
        self.max_force = max(self.max_force, largest)
        self._over = self._over + driver.period if largest > self.limit else 0.0
        self.overload = max(self.overload, self._over)
        if command.phase is not self.phase:
            self.phase = command.phase
            self.at_phase.setdefault(command.phase, self.poses())
            if self.on_phase is not None:
                self.on_phase(driver, command.phase)

    def poses(self) -> tuple[pin.SE3, pin.SE3]:
        """T_world_palm and T_world_object as they truly are."""
        driver = self.driver
        q = driver.simulation.data.qpos[driver._qpos]
        palm = driver.assembly.robot.pose(PALM_FRAME, np.asarray(q))
        return palm, driver.simulation.object_state().T_world_object


def run_trial(
    task: Task,
    grasp: PlannedGrasp,
    *,
    settings: TrialSettings | None = None,
    disturbance: Disturbance | None = None,
    wrap: Callable[[LabDriver], Driver] | None = None,
    on_phase: Callable[[LabDriver, RunPhase], None] | None = None,
) -> TrialResult:
    """Carry out a planned grasp in the lab.

    Args:
        task: the world it was planned for.
        grasp: the plan.
        disturbance: how the lab's world differs from it.
        wrap: puts something between controller and lab (faults).
        on_phase: called at the beginning of every phase, for pictures.
    """
    settings = settings or TrialSettings()
    assembly = task.assembly
    assert assembly.hand is not None
    wall, cpu = time.perf_counter(), time.process_time()
    q_start = grasp.q_pregrasp if settings.from_pregrasp else grasp.trajectory.q[0]
    pressed = pressed_places(grasp) if settings.fine else None
    scene = trial_scene(task, q_start, disturbance or Disturbance(), settings.lab, pressed)
    lab = LabDriver(scene, period=settings.period, sensors=settings.sensors)
    lab.command_positions(q_start)
    for _ in range(round(SETTLING / settings.period)):
        lab.step()
    before = lab.simulation.object_state()
    controller = GraspController(
        grasp,
        assembly,
        processor=TactileProcessor.for_hand(assembly.hand, sensor=settings.sensors.pad),
        options=settings.control,
        start=RunPhase.CLOSE if settings.from_pregrasp else RunPhase.APPROACH,
    )
    observer = _Observer(lab, float(controller.timeline.max_force.min()), on_phase)
    driver: Driver = wrap(lab) if wrap is not None else lab
    log = execute(driver, controller, linger=settings.linger, after_step=observer)
    state = lab.simulation.object_state()
    outcome, reason = _judge(lab, controller, log, grasp, float(state.centre[2] - before.centre[2]), observer)
    planned = grasp.states[-1]
    error = planned.T_world_object.actInv(state.T_world_object)
    palm, thing = observer.poses()
    slip = _slip(task, grasp, observer, palm, thing)
    holding = log.during(RunPhase.HOLD)
    measured = _mean_force(log, holding)
    robot_centre = float(np.linalg.norm(state.centre - planned.centre_of_mass))
    return TrialResult(
        outcome,
        reason,
        slip,
        (float(np.linalg.norm(error.translation)), float(np.linalg.norm(pin.log3(error.rotation)))),
        robot_centre,
        planned.largest_force,
        measured,
        _point_error(log),
        observer.max_force,
        observer.max_pressure,
        observer.overload,
        lab.time,
        time.perf_counter() - wall,
        time.process_time() - cpu,
        log,
        scene.notes,
    )


def _judge(
    lab: LabDriver,
    controller: GraspController,
    log: RunLog,
    grasp: PlannedGrasp,
    risen: float,
    observer: _Observer,
) -> tuple[TrialOutcome, str]:
    """Held means: carried to the end, off its support, in the hand."""
    if lab.fault:
        return TrialOutcome.UNSTABLE, lab.fault
    lifted = RunPhase.LIFT in observer.at_phase or RunPhase.MOVE in observer.at_phase
    rise = float(grasp.states[-1].centre_of_mass[2] - grasp.grasp.centre_of_mass[2])
    gone = not lab.pads.contacts()
    fallen = rise > 1e-3 and risen < FALLEN * rise
    if lifted and (gone or (fallen and log.end is RunPhase.DONE)):
        where = "nothing is in the hand" if gone else f"it has risen {1e3 * risen:.1f} of {1e3 * rise:.1f} mm"
        return TrialOutcome.DROPPED, f"{log.reason}; {where}" if log.reason else where
    if controller.phase is not RunPhase.DONE:
        return TrialOutcome.ABORTED, log.reason
    if not lifted and gone:
        return TrialOutcome.DROPPED, "nothing is in the hand"
    return TrialOutcome.HELD, ""


def _slip(task: Task, grasp: PlannedGrasp, observer: _Observer, palm: pin.SE3, thing: pin.SE3) -> float:
    """Motion of the object's centre in the palm's frame since the grasp, the planned motion taken off [m]."""
    start = observer.at_phase.get(RunPhase.LIFT) or observer.at_phase.get(RunPhase.MOVE)
    start = start or observer.at_phase.get(RunPhase.HOLD)
    if start is None:
        return float("nan")
    robot = task.assembly.robot
    first, last = grasp.states[0], grasp.states[-1]
    planned = (
        robot.pose(PALM_FRAME, last.q).actInv(last.T_world_object)
        * (robot.pose(PALM_FRAME, first.q).actInv(first.T_world_object)).inverse()
    )
    up = task.T_world_object.rotation.T @ np.array([0.0, 0.0, 1.0])
    centre = task.body.centre_of_mass(up)
    was = start[0].actInv(start[1]).act(centre)
    now = palm.actInv(thing).act(centre)
    return float(np.linalg.norm(now - planned.act(was)))


def _mean_force(log: RunLog, rows: Bools) -> float:
    forces = log["force_measured"][rows]
    if not forces.size or not np.isfinite(forces).any():
        return float("nan")
    return float(np.nanmax(np.nanmean(forces, axis=0)))


def _point_error(log: RunLog) -> float:
    rows = log.during(RunPhase.LIFT) | log.during(RunPhase.HOLD)
    away = np.linalg.norm(log["point_measured"][rows] - log["point_planned"][rows], axis=2)
    if not away.size or not np.isfinite(away).any():
        return float("nan")
    columns = [column[np.isfinite(column)] for column in away.T]
    return float(max(np.median(column) for column in columns if len(column)))
