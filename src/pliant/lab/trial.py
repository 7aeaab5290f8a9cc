"""Trials: a planned grasp is carried out in the lab, and the lab reports what became of the object.   (theory 10)"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.control import ControlOptions, Driver, RunPhase, RunResult, TorqueOptions, run_on_driver
from pliant.lab.driver import LabDriver, SensorSettings
from pliant.lab.judge import LabJudge
from pliant.lab.options import LabOptions
from pliant.lab.pushes import Pusher, PushOutcome, pushing_time, wrenches
from pliant.lab.scene import Scene, build_scene
from pliant.objects import Body, Liquid
from pliant.planner import Phase, PlannedGrasp, Task
from pliant.robot import Assembly
from pliant.tactile import TactileProcessor

SETTLING = 0.25  # the object comes to rest on its support before the run [s]
SUPPORT = 0.006  # something that close below the object holds it up [m]
LONG, SLENDER, PART = 0.01, 3.0, 0.6  # a patch so long [m] and slender is pressed that far to both of its ends as well
SLID = 0.001  # an object that goes so far while it shall come to rest does not rest [m]


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
        from_pregrasp: start where the approach ends, which is left out.
        linger: how long the object is watched after the end [s].
        fine: the object gets finer nodes where the plan presses: its surface is where the real one is, and centres of
            pressure are known to the nodes' distance.
        torques: grip by torques, in every simulation step; left out: by positions, but for a hand without pads whose
            servos' stiffness is not known.
    """

    control: ControlOptions = field(default_factory=ControlOptions)
    sensors: SensorSettings = field(default_factory=SensorSettings)
    lab: LabOptions = field(default_factory=lambda: LabOptions(step=0.004, friction_stiffness=100.0))
    period: float = 0.012
    from_pregrasp: bool = False
    linger: float = 0.2
    fine: bool = True
    torques: TorqueOptions | None = None

    @property
    def cycle(self) -> float:
        """Of control [s]; torques are controlled as often as the lab can."""
        return self.period if self.torques is None else self.lab.step


@dataclass(frozen=True, eq=False)
class TrialResult(RunResult):
    """What became of a trial; ``max_force`` is the largest true normal force of a link on the object.

    Attributes:
        slip: how far the object has moved in the hand beyond the plan, from the grasp to the end [m].
        object_error: distance [m] and angle [rad] of the object from its planned pose at the end.
        centre_error: distance of its centre of mass from the planned one at the end [m].
        max_pressure: largest true pressure on a cell at any time [Pa]; NaN of a hand without tactile arrays.
        overload_s: longest time for which a true force was over its limit without a break [s].
        sim_s, wall_s, cpu_s: simulated, real and CPU time [s].
        notes: of the scene, and what was done for the pushes.
        pushes: what each push of the task's disturbances did.
    """

    slip: float
    object_error: tuple[float, float]
    centre_error: float
    max_pressure: float
    overload_s: float
    sim_s: float
    wall_s: float
    cpu_s: float
    notes: tuple[str, ...] = ()
    pushes: tuple[PushOutcome, ...] = ()


def pressed_places(grasp: PlannedGrasp) -> Floats:
    """k x 3 places in the object's frame where the planned grasp presses [m].

    Of a long patch (a flat pad along a straight wall) three: nodes that are fine in its middle alone would carry the
    force there, and the centre of pressure would be wherever the next coarse node is.
    """
    places = []
    for contact in grasp.grasp.contacts:
        T, cells, half = contact.T_object_contact, contact.p_object_cells, contact.half_axes
        places.append(T.translation)
        if not len(cells) or half.max() < SLENDER * half.min():
            continue
        along = (cells - T.translation) @ T.rotation[:, int(np.argmax(half))]
        if np.ptp(along) > LONG:
            ends = (PART * along.min(), PART * along.max())
            places += [cells[int(np.argmin(np.abs(along - end)))] for end in ends]
    return np.array(places)


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
    """The task's world with the task's gravity, disturbed. An object with nothing below it gets a floor to lie on.

    The floor is there for the object alone: the plan knows of none, and the hand may come from below.
    Without gravity there is no floor: the object floats. Tilted gravity makes a slope of whatever it lies on.
    ``pressed``: k x 3 places in the object's frame where its nodes shall be finer [m].
    """
    T = task.T_world_object
    centre = T.act(task.body.centre_of_mass(T.rotation.T @ task.goal.up))
    turn = pin.utils.rotate("z", disturbance.turn)
    shift = np.array([*disturbance.shift, 0.0])
    moved = pin.SE3(turn, centre - turn @ centre + shift) * T
    lowest = float((task.body.mesh.vertices @ T.rotation.T + T.translation)[:, 2].min())
    floor = lowest if task.goal.gravity[2] < 0.0 and not _supported(task) else None
    scene = build_scene(
        task.assembly,
        _without_skin(disturbed_body(task.body, disturbance), options.skin),
        T_world_object=moved,
        obstacles=task.scene,
        q_start=q_start,
        floor=floor,
        options=replace(options, gravity=task.goal.gravity),
        pressed=pressed,
        stands=True,
    )
    return replace(scene, notes=scene.notes + _gravity_notes(task, disturbance))


def _gravity_notes(task: Task, disturbance: Disturbance) -> tuple[str, ...]:
    """What holds the object until it is gripped, where that is not the usual weight on something level."""
    gravity, up = task.goal.gravity, task.goal.up
    if not any(gravity):
        floats = ("no gravity: the object floats until it is gripped",)
        still = "no gravity: the liquid has no level; it hangs where it would rest under gravity"
        return floats if task.body.liquid is None else (*floats, still)
    tilt = float(np.arccos(np.clip(up[2], -1.0, 1.0)))
    if tilt < np.radians(0.1):
        return ()
    if tilt >= np.radians(89.9):
        return (f"gravity is tilted by {np.degrees(tilt):.0f} degrees: nothing holds the object until it is gripped",)
    mu = task.body.material.friction * disturbance.friction
    return (
        f"a slope: gravity is tilted by {np.degrees(tilt):.1f} degrees; until it is gripped, friction with its support "
        f"must hold the object: it needs {np.tan(tilt):.2f} of {mu:.2f}",
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


def lab_at_start(
    task: Task, grasp: PlannedGrasp, settings: TrialSettings, disturbance: Disturbance | None, *, fine: bool
) -> LabDriver:
    """The lab with the robot where the plan begins and the object at rest.

    ``fine``: the object has finer nodes where the plan presses.
    """
    closing = grasp.trajectory.span(Phase.CLOSE) if settings.from_pregrasp else None
    q_start = grasp.trajectory.at(closing[0] if closing is not None else 0.0)
    pressed = pressed_places(grasp) if fine else None
    scene = trial_scene(task, q_start, disturbance or Disturbance(), settings.lab, pressed)
    lab = LabDriver(scene, period=settings.cycle, sensors=settings.sensors)
    lab.command_positions(q_start)
    start = lab.simulation.object_state().centre
    for _ in range(round(SETTLING / settings.cycle)):
        lab.step()
    if not any(task.goal.gravity):
        lab.simulation.still_object()  # what the support pushed off would drift away
    slid = float(np.linalg.norm((lab.simulation.object_state().centre - start)[:2]))
    if slid > SLID:
        lab.scene = replace(lab.scene, notes=(*lab.scene.notes, f"the object does not rest: {1e3 * slid:.1f} mm aside"))
    return lab


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
    settings = _with_grip(settings or TrialSettings(), task.assembly)
    assert task.assembly.hand is not None
    wall, cpu = time.perf_counter(), time.process_time()
    lab = lab_at_start(task, grasp, settings, disturbance, fine=settings.fine)
    pusher = Pusher(lab, grasp, wrenches(task.goal.disturbances))
    control, notes = _with_time_for(pusher, settings.control)
    judge = LabJudge(lab, grasp, on_phase, pusher)
    result = run_on_driver(
        wrap(lab) if wrap is not None else lab,
        grasp,
        task.assembly,
        options=control,
        processor=TactileProcessor.for_hand(task.assembly.hand, sensor=settings.sensors.pad),
        from_pregrasp=settings.from_pregrasp,
        linger=settings.linger,
        judge=judge,
        raises=True,
        torques=settings.torques,
    )
    state, planned = lab.simulation.object_state(), grasp.states[-1]
    error = planned.T_world_object.actInv(state.T_world_object)
    known = vars(result) | {"max_force": judge.max_force, "peak_force": judge.peak_force}
    return TrialResult(
        **known,
        slip=judge.slip(task),
        object_error=(float(np.linalg.norm(error.translation)), float(np.linalg.norm(pin.log3(error.rotation)))),
        centre_error=float(np.linalg.norm(state.centre - planned.centre_of_mass)),
        max_pressure=judge.max_pressure,
        overload_s=judge.overload,
        sim_s=lab.time,
        wall_s=time.perf_counter() - wall,
        cpu_s=time.process_time() - cpu,
        notes=lab.scene.notes + notes,
        pushes=pusher.outcomes(result.log, control.watch.slid),
    )


def _with_grip(settings: TrialSettings, assembly: Assembly) -> TrialSettings:
    """By torques where nothing is felt and commands tell no force: no pads, and servos whose stiffness nobody knows."""
    assert assembly.hand is not None
    blind = not assembly.hand.tactile and not np.isfinite(assembly.servo_stiffness[assembly.hand_joints]).all()
    if settings.torques is None and settings.control.force_loop and blind:
        return replace(settings, torques=TorqueOptions())
    return settings


def _with_time_for(pusher: Pusher, control: ControlOptions) -> tuple[ControlOptions, tuple[str, ...]]:
    """The options with a hold that lasts until all pushes are over, and what is to be told about it."""
    if not pusher.pushes:
        return control, ()
    spans = {phase: pusher.grasp.trajectory.span(phase) or (0.0, 0.0) for phase in (Phase.LIFT, Phase.MOVE)}
    shares = {Phase.LIFT: 0.5, Phase.MOVE: 1.0}  # half of the lift may be over before the object is clear
    carried = sum(shares[phase] * (end - start) for phase, (start, end) in spans.items())
    hold = control.hold + max(0.0, pushing_time(len(pusher.pushes)) - carried / control.speed)
    count = len(pusher.pushes)
    note = f"{count} push{'es' if count > 1 else ''} on the held object, which is held for {hold:.1f} s at the end"
    return replace(control, hold=hold), (note,)
