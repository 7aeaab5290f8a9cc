"""Running a scene: steps, the object's pose, and whether the simulation can still be believed.   (theory 10)"""

from __future__ import annotations

import re
from dataclasses import dataclass

import mujoco
import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.lab.quiet import taken_warnings
from pliant.lab.scene import Scene

LARGEST_RESIDUAL = 1e-3  # of the soft body's equations, relative
FASTEST = 50.0  # [m/s, rad/s]: nothing in a hand moves like that unless the integration has broken down


@dataclass(frozen=True, eq=False)
class ObjectState:
    """Where the object is.

    Attributes:
        T_world_object: best-fitting rigid pose of the object's frame.
        centre: centre of mass [m].
        velocity: of the centre of mass [m/s].
        nodes: n x 3, nodes of its soft part [m].
    """

    T_world_object: pin.SE3
    centre: Floats
    velocity: Floats
    nodes: Floats


class Simulation:
    """A scene in motion. ``fault`` says why it can no longer be believed; a trial with a fault has failed.

    The simulator resets itself silently when numbers blow up; that is noticed as well. After a fault, steps do nothing.
    ``rough_steps`` counts steps whose soft-body equations were left with a residual, small enough to be believed.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.model = scene.model
        self.data = scene.start()
        self.fault = ""
        self.rough_steps = 0
        self._counts = self._warning_counts()

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return float(self.data.time)

    def step(self, number: int = 1) -> None:
        """Advance by so many simulation steps."""
        for _ in range(number):
            if self.fault:
                return
            before = self.data.time
            mujoco.mj_step(self.model, self.data)
            self._check(before)

    def _check(self, before: float) -> None:
        data = self.data
        counts = self._warning_counts()
        if data.time <= before:
            self.fault = f"unstable: the simulator reset itself at {before:.3f} s"
        elif not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
            self.fault = f"unstable: numbers that are not finite at {data.time:.3f} s"
        elif counts > self._counts and not self._only_rough():
            last = taken_warnings()[-1] if taken_warnings() else "a warning"
            self.fault = f"unstable: {last} ({data.time:.3f} s)"
        elif np.abs(data.qvel).max(initial=0.0) > FASTEST:
            fastest = float(np.abs(data.qvel).max())
            self.fault = f"unstable: something moves at {fastest:.3g} m/s or rad/s at {data.time:.3f} s"
        self._counts = counts

    def _only_rough(self) -> bool:
        """Whether the warning only says that the soft body's equations were solved to a small residual, not to zero."""
        said = [warning for warning in taken_warnings()[-2:] if "relative residual" in warning]
        number = re.search(r"relative residual of ([0-9.eE+-]+[0-9])", said[-1]) if said else None
        if number is None or float(number.group(1)) > LARGEST_RESIDUAL:
            return False
        self.rough_steps += 1
        return True

    def _warning_counts(self) -> int:
        return int(sum(int(warning.number) for warning in self.data.warning))

    def object_state(self) -> ObjectState:
        """Pose and centre of mass of the object, from where its nodes (or its core) are now."""
        held = self.scene.object
        if held is None:
            raise ValueError("this scene holds no object")
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_comPos(self.model, self.data)
        mujoco.mj_flex(self.model, self.data)
        nodes = np.array(self.data.flexvert_xpos) if self.model.nflex else np.zeros((0, 3))
        if held.core:
            core = self.model.body(held.core).id
            T = pin.SE3(self.data.xmat[core].reshape(3, 3).copy(), self.data.xpos[core].copy())
            bodies = [b for b in range(self.model.nbody) if self.model.body_rootid[b] == self.model.body_rootid[core]]
            mujoco.mj_subtreeVel(self.model, self.data)
            root = int(self.model.body_rootid[bodies[0]])
            return ObjectState(T, self.data.subtree_com[root].copy(), self.data.subtree_linvel[root].copy(), nodes)
        weights = held.node_masses / held.node_masses.sum()
        centre = weights @ nodes
        rest = held.nodes - weights @ held.nodes
        U, _, Vt = np.linalg.svd((nodes - centre).T @ (weights[:, None] * rest))
        R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
        velocity = weights @ self._node_velocities()
        return ObjectState(pin.SE3(R, centre - R @ (weights @ held.nodes)), centre, velocity, nodes)

    def _node_velocities(self) -> Floats:
        """Every node of a solid has three slides along the axes of the object's frame at the beginning."""
        assert self.scene.object is not None
        bodies = np.asarray(self.model.flex_vertbodyid)
        first = np.asarray(self.model.body_dofadr)[bodies]
        local = np.stack([self.data.qvel[first + i] for i in range(3)], axis=1)
        return np.asarray(local @ self.scene.object.T_world_object.rotation.T)
