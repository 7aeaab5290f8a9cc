"""Trials: a planned grasp is carried out in the lab, and the lab reports what became of the object.   (theory 10)"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.control import ControlOptions, Driver, RunPhase, RunResult, run_on_driver
from pliant.lab.driver import LabDriver, SensorSettings
from pliant.lab.judge import LabJudge
from pliant.lab.options import LabOptions
from pliant.lab.scene import Scene, build_scene
from pliant.objects import Body, Liquid
from pliant.planner import PlannedGrasp, Task
from pliant.tactile import TactileProcessor

SETTLING = 0.25  # the object comes to rest on its support before the run [s]
SUPPORT = 0.006  # something that close below the object holds it up [m]


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
class TrialResult(RunResult):
    """What became of a trial; ``max_force`` is the largest true normal force of a link on the object.

    Attributes:
        slip: how far the object has moved in the hand beyond the plan, from the grasp to the end [m].
        object_error: distance [m] and angle [rad] of the object from its planned pose at the end.
        centre_error: distance of its centre of mass from the planned one at the end [m].
        max_pressure: largest true pressure on a cell at any time [Pa].
        overload_s: longest time for which a true force was over its limit without a break [s].
        sim_s, wall_s, cpu_s: simulated, real and CPU time [s].
        notes: of the scene.
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


def lab_at_start(
    task: Task, grasp: PlannedGrasp, settings: TrialSettings, disturbance: Disturbance | None, *, fine: bool
) -> LabDriver:
    """The lab with the robot where the plan begins and the object at rest.

    ``fine``: a solid has finer nodes where the plan presses.
    """
    q_start = grasp.q_pregrasp if settings.from_pregrasp else grasp.trajectory.q[0]
    pressed = pressed_places(grasp) if fine else None
    scene = trial_scene(task, q_start, disturbance or Disturbance(), settings.lab, pressed)
    lab = LabDriver(scene, period=settings.period, sensors=settings.sensors)
    lab.command_positions(q_start)
    for _ in range(round(SETTLING / settings.period)):
        lab.step()
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
    settings = settings or TrialSettings()
    assert task.assembly.hand is not None
    wall, cpu = time.perf_counter(), time.process_time()
    lab = lab_at_start(task, grasp, settings, disturbance, fine=settings.fine)
    judge = LabJudge(lab, grasp, on_phase)
    result = run_on_driver(
        wrap(lab) if wrap is not None else lab,
        grasp,
        task.assembly,
        options=settings.control,
        processor=TactileProcessor.for_hand(task.assembly.hand, sensor=settings.sensors.pad),
        from_pregrasp=settings.from_pregrasp,
        linger=settings.linger,
        judge=judge,
        raises=True,
    )
    state, planned = lab.simulation.object_state(), grasp.states[-1]
    error = planned.T_world_object.actInv(state.T_world_object)
    known = vars(result) | {"max_force": judge.max_force}
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
        notes=lab.scene.notes,
    )
