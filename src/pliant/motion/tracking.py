"""The tracking servo: V = Udot + K e, turned into joint speeds, step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from pliant.arrays import Bools, Floats
from pliant.collision import Clearance
from pliant.errors import OptionError, Problem
from pliant.motion.frame_task import FrameTask, rows_of_levels
from pliant.motion.jacobian import StackedJacobian
from pliant.motion.limits import JointLimits
from pliant.motion.path import Hold, Path
from pliant.motion.solvers import make_solver
from pliant.motion.solvers.problem import CoordinateSolver, VelocityAnswer, VelocityProblem
from pliant.robot import Robot


@dataclass(frozen=True)
class Gains:
    """K: how much of an error is removed a second, for positions and rotations [1/s]; and whether Udot is added.

    Pure feedback (``feed_forward`` False) follows a moving setpoint at a distance v / K.
    """

    linear: float = 20.0
    angular: float = 20.0
    feed_forward: bool = True

    def checked(self, dt: float) -> Gains:
        """These gains, if the loop is stable with them at steps of ``dt`` [s]."""
        for name in ("linear", "angular"):
            K = getattr(self, name)
            if not (math.isfinite(K) and 0.0 <= K < 2.0 / dt):
                allowed = f"from 0 to below 2 / dt = {2.0 / dt:g} 1/s, beyond which the loop is unstable"
                raise OptionError("servo", Problem(f"gains.{name}", f"{K}", allowed))
        return self


class Servo:
    """Drives frames of a robot along their setpoints: ``qdot = servo.step(q, t)``.   (theory 5.3, 5.5)

    It owns no motion: hand it the joint angles of a model, a simulation or a real arm, and send its speeds there. The
    pose error closes the loop, so integration errors do not add up.

    A ball joint is solved for its angular velocity about the z, y and x of the link that it turns, which has no
    singular place; ``q + qdot dt`` are the yaw, pitch and roll after that turn. Its speed limits and weights count for
    the angular velocity.

    Args:
        robot: the model; the servo brings it to ``q`` in every step.
        targets: the setpoint of each task: a path, or a pose to hold. The pose is in the world, or in ``relative_to``.
        dt: time from one step to the next [s].
        solver: name of a coordinate solver, or one with settings of its own.
        gains: for all tasks, or one per task in the order of ``targets``.
        limits: the robot's own by default, with accelerations that reach full speed in 0.2 s.
        joint_weights: what moving each joint costs where there is a choice; above zero.
        joints: names of the joints that may move; all by default.
        clearance: keep-out distances to observe (solver ``qp`` only).
    """

    def __init__(
        self,
        robot: Robot,
        targets: Mapping[FrameTask, Path | pin.SE3] | Sequence[tuple[FrameTask, Path | pin.SE3]],
        *,
        dt: float = 0.002,
        solver: str | CoordinateSolver = "qp",
        gains: Gains | Sequence[Gains] = Gains(),  # noqa: B008 - frozen
        limits: JointLimits | None = None,
        joint_weights: ArrayLike | None = None,
        joints: Sequence[str] | None = None,
        clearance: Clearance | None = None,
    ) -> None:
        from pliant.motion import ball_kernels, kernels

        if not (math.isfinite(dt) and dt > 0.0):
            raise OptionError("servo", Problem("dt", f"{dt}", "a finite time above zero"))
        pairs = list(targets.items() if isinstance(targets, Mapping) else targets)
        order = sorted(range(len(pairs)), key=lambda i: pairs[i][0].priority)
        every = [gains] * len(pairs) if isinstance(gains, Gains) else list(gains)
        if len(every) != len(pairs):
            raise OptionError("servo", Problem("gains", f"{len(every)} given", f"one, or {len(pairs)}"))
        self.robot, self.dt = robot, dt
        self.jacobian = StackedJacobian(robot, [pairs[i][0] for i in order])
        self.tasks = self.jacobian.tasks
        self.solver: CoordinateSolver = make_solver(solver) if isinstance(solver, str) else solver
        self.clearance = clearance
        self._refuse_unkept()
        k, n = len(self.tasks), robot.dof
        rows = self.jacobian.rows
        for row, i in zip(rows, order, strict=True):
            K = every[i].checked(dt)
            row["gain_linear"], row["gain_angular"], row["feed_forward"] = K.linear, K.angular, K.feed_forward
        self.problem = VelocityProblem(
            jacobian=np.zeros((6 * k, n)),
            wanted=np.zeros(6 * k),
            row_weights=np.concatenate([task.row_weights() for task in self.tasks]),
            joint_weights=_joint_weights(joint_weights, n),
            free=_free_joints(robot, joints),
            q=np.zeros(n),
            qdot=np.zeros(n),
            limits=limits if limits is not None else JointLimits.of(robot),
            dt=dt,
            levels=rows_of_levels(self.tasks),
        )
        self.error = np.zeros((k, 6))
        self.answer: VelocityAnswer | None = None
        self._rotations, self._twists = rows["wanted_rotation"], rows["wanted_twist"]
        self.setpoint_positions = rows["wanted_translation"]
        self._moving: list[tuple[int, Path]] = []
        for row, i in enumerate(order):
            self._set_target(row, pairs[i][1])
        self._linearise: Any = kernels.linearise
        self._ball_columns: Any = ball_kernels.ball_columns
        self._turn_balls: Any = ball_kernels.turn_balls
        self.balls = ball_kernels.whole_balls(robot, self.problem.free)

    def _refuse_unkept(self) -> None:
        if len(rows_of_levels(self.tasks)) > 1 and not self.solver.keeps_priorities:
            what = f"'{self.solver.name}' cannot serve strict priorities"
            raise OptionError(
                "servo", Problem("solver", what, "pinv, exclusion or qp; or weights instead of priorities")
            )
        if self.clearance is not None and self.solver.name != "qp":
            what = f"'{self.solver.name}' cannot keep distances"
            raise OptionError("servo", Problem("solver", what, "qp"))

    def _set_target(self, row: int, target: Path | pin.SE3) -> None:
        path = Hold(target, where=f"target of '{self.tasks[row].link}'") if isinstance(target, pin.SE3) else target
        self._write(row, path, 0.0)
        self._moving = [(i, other) for i, other in self._moving if i != row]
        if not isinstance(path, Hold):
            self._moving.append((row, path))

    def retarget(self, task: FrameTask, target: Path | pin.SE3) -> None:
        """Give a task another setpoint while running."""
        if task not in self.tasks:
            raise OptionError(
                "servo", Problem("task", f"no task of link '{task.link}' like this one", "one of servo.tasks")
            )
        self._set_target(self.tasks.index(task), target)

    def _write(self, row: int, path: Path, t: float) -> None:
        T, twist = path.at(t)
        self._rotations[row], self.setpoint_positions[row], self._twists[row] = T.rotation, T.translation, twist

    def reset(self, qdot: Floats | None = None) -> None:
        """Forget the speed of the last step (at rest), or say what it was."""
        self.problem.qdot[:] = 0.0 if qdot is None else qdot

    def step(self, q: Floats, t: float, *, carried: Floats | None = None) -> Floats:
        """Joint speeds for the step from ``t`` to ``t + dt``.

        Args:
            q: where the joints are now.
            carried: ``speeds`` of joints that somebody else moves; their effect on the frames is made up for.
        """
        problem = self.problem
        self.observe(q, t)
        if carried is not None:
            problem.wanted -= problem.jacobian @ carried
        if self.clearance is not None:
            problem.barrier = self.clearance.barrier(q)
        self.answer = self.solver.solve(problem)
        speeds = problem.qdot[:] = self.answer.qdot
        return (self.moved(q, speeds) - q) / self.dt if len(self.balls) else speeds

    @property
    def speeds(self) -> Floats:
        """Joint speeds of the last step, those of ball joints as angular velocities [rad/s, m/s]."""
        return self.problem.qdot

    def moved(self, q: Floats, speeds: Floats) -> Floats:
        """Joint values one step after ``q`` at such speeds."""
        out = q + speeds * self.dt
        if len(self.balls):
            self._turn_balls(self.balls, speeds, self.dt, q, out)
        return out

    def observe(self, q: Floats, t: float) -> None:
        """Jacobian, command and pose errors at ``q``, without moving."""
        problem, stack = self.problem, self.jacobian
        self.robot.update(q)
        if len(self.balls):
            self._ball_columns(self.balls, stack.links, stack.joints)
        problem.q = q
        for row, path in self._moving:
            self._write(row, path, t)
        bad = self._linearise(
            stack.joints,
            stack.links,
            stack.rows,
            stack.support,
            stack.column,
            problem.jacobian,
            problem.wanted,
            self.error,
        )
        if bad >= 0:
            self._refuse_nan(bad, q, t)

    def _refuse_nan(self, row: int, q: Floats, t: float) -> None:
        self.robot.q(q)  # raises where a joint value is to blame
        where = f"target of '{self.tasks[row].link}' at t = {t:g} s"
        raise OptionError("servo", Problem(where, "is not a finite pose and twist", "finite numbers"))

    def errors(self) -> tuple[Floats, Floats]:
        """Distance [m] and angle [rad] of each task from its setpoint in the last step, rows that do not count left
        out.
        """
        counted = self.counted_error()
        return np.linalg.norm(counted[:, :3], axis=1), np.linalg.norm(counted[:, 3:], axis=1)

    def counted_error(self) -> Floats:
        """k x 6: ``error``, zero in rows that do not count."""
        return np.asarray(self.error * (self.problem.row_weights.reshape(-1, 6) != 0.0))


def _free_joints(robot: Robot, joints: Sequence[str] | None) -> Bools:
    if joints is None:
        return np.ones(robot.dof, dtype=bool)
    free = np.zeros(robot.dof, dtype=bool)
    free[[robot.joint_index(name) for name in joints]] = True
    return free


def _joint_weights(weights: ArrayLike | None, n: int) -> Floats:
    values = np.ones(n) if weights is None else np.array(weights, dtype=np.float64)
    if values.shape != (n,) or not np.isfinite(values).all() or (values <= 0.0).any():
        raise OptionError("servo", Problem("joint_weights", f"{weights!r}", f"{n} finite numbers above zero"))
    return values
