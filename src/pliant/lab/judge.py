"""The judge beside the lab: what only a simulator knows about a run.   (theory 10)"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.control import Command, GraspController, RunOutcome, RunPhase, Sample
from pliant.lab.driver import LabDriver
from pliant.lab.pushes import Pusher
from pliant.planner import PlannedGrasp, Task
from pliant.robot import PALM_FRAME

FALLEN = 0.5  # of the planned height over the support: below, it was dropped


class LabJudge:
    """Watches the true object while a run goes on.

    Args:
        lab: the driver, the object at rest.
        grasp: what is carried out.
        on_phase: called at the beginning of every phase.
        pusher: pushes the object while it is carried.

    Attributes:
        max_force: largest true normal force of a link on the object so far [N].
        peak_force: the same in lift, move and hold alone [N]; NaN before the first of them.
        max_pressure: largest true pressure on a cell so far [Pa]; NaN of a hand without tactile arrays.
        overload: longest time for which a true force was over its limit without a break [s].
    """

    def __init__(
        self,
        lab: LabDriver,
        grasp: PlannedGrasp,
        on_phase: Callable[[LabDriver, RunPhase], None] | None = None,
        pusher: Pusher | None = None,
    ) -> None:
        self.lab, self.grasp = lab, grasp
        self.max_force = self.overload = 0.0
        self.peak_force = float("nan")
        self._limit = min(contact.max_force for contact in grasp.grasp.contacts)
        self._height = float(lab.simulation.object_state().centre[2])
        self._on_phase, self._pusher = on_phase, pusher
        self._over = 0.0
        self._phase: RunPhase | None = None
        self._at_phase: dict[RunPhase, tuple[pin.SE3, pin.SE3]] = {}
        self._cells = np.array([layout.area for layout in lab.pads.layouts.values()])
        self.max_pressure = 0.0 if len(self._cells) else float("nan")

    def observe(self, sample: Sample, command: Command) -> None:
        """True forces and pressures now; poses at the beginning of every phase; pushes, where there are any."""
        lab = self.lab
        if self._pusher is not None:
            self._pusher.observe(sample.time, command.phase)
        totals: dict[str, Floats] = {}
        for contact in lab.pads.contacts():
            totals[contact.link] = totals.get(contact.link, np.zeros(3)) + contact.force
        largest = max((float(np.linalg.norm(force)) for force in totals.values()), default=0.0)
        if totals and len(self._cells):
            pads = lab.pads.read().values()
            normal = max((pad.total for pad in pads), default=0.0)
            largest = normal if normal > 0 else largest
            peaks = [pad.cells.max(initial=0.0) for pad in pads]
            self.max_pressure = max(self.max_pressure, float((np.array(peaks) / self._cells).max(initial=0.0)))
        self.max_force = max(self.max_force, largest)
        if command.phase.carries:
            self.peak_force = float(np.fmax(self.peak_force, largest))
        self._over = self._over + lab.period if largest > self._limit else 0.0
        self.overload = max(self.overload, self._over)
        if command.phase is not self._phase:
            self._phase = command.phase
            self._at_phase.setdefault(command.phase, self._poses())
            if self._on_phase is not None:
                self._on_phase(lab, command.phase)

    def verdict(self, controller: GraspController, failure: str) -> tuple[RunOutcome, str]:
        """Held means: carried to the end, off its support, in the hand."""
        lab, grasp, reason = self.lab, self.grasp, failure or controller.reason
        if lab.fault:
            return RunOutcome.UNSTABLE, lab.fault
        lifted = RunPhase.LIFT in self._at_phase or RunPhase.MOVE in self._at_phase
        rise = float(grasp.states[-1].centre_of_mass[2] - grasp.grasp.centre_of_mass[2])
        risen = float(lab.simulation.object_state().centre[2]) - self._height
        done, gone = controller.phase is RunPhase.DONE, not lab.pads.contacts()
        fallen = rise > 1e-3 and risen < FALLEN * rise
        if lifted and (gone or (fallen and done)):
            where = "nothing is in the hand" if gone else f"it has risen {1e3 * risen:.1f} of {1e3 * rise:.1f} mm"
            return RunOutcome.DROPPED, f"{reason}; {where}" if reason else where
        if not done:
            return RunOutcome.ABORTED, reason
        if not lifted and gone:
            return RunOutcome.DROPPED, "nothing is in the hand"
        return RunOutcome.HELD, ""

    def slip(self, task: Task) -> float:
        """Motion of the object's centre in the palm's frame since the grasp, the planned motion taken off [m]."""
        start = next((self._at_phase[p] for p in RunPhase if p.carries and p in self._at_phase), None)
        if start is None:
            return float("nan")
        robot = task.assembly.robot
        first, last = self.grasp.states[0], self.grasp.states[-1]
        planned = (
            robot.pose(PALM_FRAME, last.q).actInv(last.T_world_object)
            * (robot.pose(PALM_FRAME, first.q).actInv(first.T_world_object)).inverse()
        )
        centre = task.body.centre_of_mass(task.T_world_object.rotation.T @ task.goal.up)
        T_world_palm, T_world_object = self._poses()
        before = start[0].actInv(start[1]).act(centre)
        now = T_world_palm.actInv(T_world_object).act(centre)
        return float(np.linalg.norm(now - planned.act(before)))

    def _poses(self) -> tuple[pin.SE3, pin.SE3]:
        """T_world_palm and T_world_object as they truly are."""
        palm = self.lab.assembly.robot.pose(PALM_FRAME, self.lab.true_joints())
        return palm, self.lab.simulation.object_state().T_world_object
