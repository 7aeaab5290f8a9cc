"""Running a scene: steps, the object's pose, whether the simulation is still valid, pictures.   (theory 10)"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from pliant.arrays import Floats
from pliant.errors import OptionError
from pliant.lab.scene import Scene, latest_warnings

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
    """A scene in motion. ``fault`` is why it is no longer valid, empty while it is; a trial with a fault has failed.

    The simulator resets itself silently when numbers blow up; that is noticed as well. After a fault, steps do nothing.
    ``rough_steps`` counts steps whose soft-body equations were left with a residual, small enough to be accepted.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.model = scene.model
        self.data = scene.start()
        self.fault = ""
        self.rough_steps = 0
        self._push: Floats | None = None
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
            self._apply_push()
            mujoco.mj_step(self.model, self.data)
            self._check(before)

    def push(self, force: ArrayLike, torque: ArrayLike) -> None:
        """Push the object at its centre of mass from now on, until another push or none: [N], [N m], world.

        On a solid every node takes its part, as in a rigid body: m_i (F / m + (I^-1 tau) x r_i). On a vessel the core
        takes all of it.
        """
        push = np.concatenate([np.asarray(force, dtype=np.float64), np.asarray(torque, dtype=np.float64)])
        ends = self._push is not None and not push.any()
        self._push = push if push.any() else None
        if ends:
            self.data.xfrc_applied[:] = 0.0

    def still_object(self) -> None:
        """Take all speed from the object."""
        held = self.scene.object
        if held is None:
            raise ValueError("this scene holds no object")
        if held.core:
            root = self.model.body_rootid[self.model.body(held.core).id]
            bodies = np.flatnonzero(np.asarray(self.model.body_rootid) == root)
        else:
            bodies = np.asarray(self.model.flex_vertbodyid)
        for body in bodies:
            first = int(self.model.body_dofadr[body])
            self.data.qvel[first : first + int(self.model.body_dofnum[body])] = 0.0

    def _apply_push(self) -> None:
        if self._push is None:
            return
        held, data = self.scene.object, self.data
        if held is None:
            raise ValueError("this scene holds no object")
        force, torque = self._push[:3], self._push[3:]
        if held.core:
            core = self.model.body(held.core).id
            arm = data.subtree_com[int(self.model.body_rootid[core])] - data.xipos[core]
            data.xfrc_applied[core] = np.concatenate([force, torque + np.cross(arm, force)])
            return
        bodies, masses = np.asarray(self.model.flex_vertbodyid), held.node_masses
        r = data.xpos[bodies] - masses @ data.xpos[bodies] / masses.sum()
        inertia = (masses * (r**2).sum(axis=1)).sum() * np.eye(3) - r.T @ (masses[:, None] * r)
        spin = np.linalg.solve(inertia, torque)
        data.xfrc_applied[bodies, :3] = masses[:, None] * (force / masses.sum() + np.cross(spin, r))

    def _check(self, before: float) -> None:
        data = self.data
        counts = self._warning_counts()
        if data.time <= before:
            self.fault = f"unstable: the simulator reset itself at {before:.3f} s"
        elif not (np.isfinite(data.qpos).all() and np.isfinite(data.qvel).all()):
            self.fault = f"unstable: numbers that are not finite at {data.time:.3f} s"
        elif counts > self._counts and not self._only_rough():
            last = (latest_warnings() or ("a warning",))[-1]
            self.fault = f"unstable: {last} ({data.time:.3f} s)"
        elif np.abs(data.qvel).max(initial=0.0) > FASTEST:
            fastest = float(np.abs(data.qvel).max())
            self.fault = f"unstable: something moves at {fastest:.3g} m/s or rad/s at {data.time:.3f} s"
        self._counts = counts

    def _only_rough(self) -> bool:
        """Whether the warning only reports a small residual of the soft body's equations."""
        warnings = [warning for warning in latest_warnings()[-2:] if "relative residual" in warning]
        number = re.search(r"relative residual of ([0-9.eE+-]+[0-9])", warnings[-1]) if warnings else None
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
            mujoco.mj_comVel(self.model, self.data)  # or the velocities are those of the step before
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


def picture(
    simulation: Simulation,
    *,
    looking_at: ArrayLike,
    distance: float = 0.5,
    azimuth_deg: float = 120.0,
    elevation_deg: float = -20.0,
    size: tuple[int, int] = (640, 480),
) -> NDArray[np.uint8]:
    """Height x width x 3 pixels of the scene as it is now.

    Args:
        looking_at: the point in the middle [m].
        distance: of the camera [m].
        azimuth_deg, elevation_deg: direction of view.
        size: width, height.
    """
    camera: Any = mujoco.MjvCamera()
    camera.lookat[:] = np.asarray(looking_at, dtype=np.float64)
    camera.distance, camera.azimuth, camera.elevation = distance, azimuth_deg, elevation_deg
    try:
        with mujoco.Renderer(simulation.model, size[1], size[0]) as renderer:
            renderer.update_scene(simulation.data, camera)
            return np.asarray(renderer.render()).copy()
    except Exception as bad:  # what is missing differs from machine to machine: library, device, rights
        raise OptionError("lab", f"no off-screen picture on this machine ({type(bad).__name__}: {bad})") from None
