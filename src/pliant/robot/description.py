"""What a URDF lacks: palm, fingers, pads, preshapes, tactile arrays, servos of a hand; flange of an arm. (theory 3)

The classes are the schema of the YAML files, field by field. Numbers are SI: metres, radians, newtons, pascals.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pinocchio as pin
from pydantic import AfterValidator, Field, field_validator, model_validator

from pliant.documents import Document


def _near(value: float) -> float:
    if abs(value) > 100.0:
        raise ValueError(f"{value:g} m is too far away (allowed: -100 to 100); if it is in mm, write {value / 1e3:g}")
    return value


Length = Annotated[float, AfterValidator(_near)]
"""A coordinate within a machine or its surroundings [m]."""
Vector3 = tuple[Length, Length, Length]
"""A place or direction; nothing here is further than 100 m away."""
Name = Annotated[str, Field(min_length=1)]
Positive = Annotated[float, Field(gt=0)]


class Pose(Document):
    """A pose as people write it: position [m] and roll, pitch, yaw [deg], or a quaternion w x y z."""

    position: Vector3 = (0.0, 0.0, 0.0)
    rpy_deg: tuple[float, float, float] | None = None
    quaternion: tuple[float, float, float, float] | None = None

    @model_validator(mode="after")
    def _one_orientation(self) -> Pose:
        if self.rpy_deg is not None and self.quaternion is not None:
            raise ValueError("both rpy_deg and quaternion are given; give one")
        if self.quaternion is not None and abs(np.linalg.norm(self.quaternion) - 1.0) > 1e-3:
            length = float(np.linalg.norm(self.quaternion))
            raise ValueError(f"quaternion {self.quaternion} has length {length:.4g}; give a unit one, in order w x y z")
        return self

    @property
    def se3(self) -> pin.SE3:
        """The pose as a transform from its own frame to the frame it is given in."""
        if self.quaternion is not None:
            w, x, y, z = np.array(self.quaternion) / np.linalg.norm(self.quaternion)
            rotation = pin.Quaternion(w, x, y, z).matrix()
        else:
            rotation = pin.rpy.rpyToMatrix(*np.radians(self.rpy_deg or (0.0, 0.0, 0.0)))
        return pin.SE3(rotation, np.array(self.position))


class Pad(Document):
    """The part of a link's surface that may touch.

    Args:
        link: the link.
        facing: outward direction of the pad, in the link's axes.
        region: two opposite corners of a box in the link's frame; surface inside it that faces outwards is pad.
            Left out: all of the surface that faces in that direction.
        young, poisson: elastic constants of the pad's cover; young left out: rigid.
        max_force: largest force on the pad [N].
    """

    link: Name
    facing: Vector3 = (1.0, 0.0, 0.0)
    region: tuple[Vector3, Vector3] | None = None
    young: Positive | None = None
    poisson: Annotated[float, Field(gt=0, lt=0.5)] = 0.45
    max_force: Positive

    @field_validator("facing")
    @classmethod
    def _has_direction(cls, value: Vector3) -> Vector3:
        length = float(np.linalg.norm(value))
        if length < 1e-9:
            raise ValueError("facing (0, 0, 0) has no direction; give the outward normal of the pad")
        if abs(length - 1.0) < 1e-14:
            return value  # so that a description read, written and read again is the same to the last bit
        return (value[0] / length, value[1] / length, value[2] / length)


class Finger(Document):
    """A chain of links, root first, with its pads; ``tip`` is a point of the last link."""

    name: Name
    links: Annotated[tuple[Name, ...], Field(min_length=1, max_length=100)]
    tip: Vector3
    pads: Annotated[tuple[Pad, ...], Field(min_length=1, max_length=50)]

    @model_validator(mode="after")
    def _pads_on_links(self) -> Finger:
        for pad in self.pads:
            if pad.link not in self.links:
                raise ValueError(
                    f"pad on link '{pad.link}', which is not one of this finger's: {', '.join(self.links)}"
                )
        return self


class Preshape(Document):
    """How the hand closes: joint values when open and when fully closed. Joints not named keep their neutral value."""

    name: Name
    open: dict[str, float]
    closed: dict[str, float]
    fingers: Annotated[tuple[Name, ...], Field(min_length=2, max_length=50)] | None = None

    @model_validator(mode="after")
    def _same_joints(self) -> Preshape:
        if differing := set(self.open) ^ set(self.closed):
            raise ValueError(
                f"open and closed must name the same joints; only in one of them: {', '.join(sorted(differing))}"
            )
        return self


class Bend(Document):
    """A stretch of a tactile array that curves away from its normal: from ``start`` to ``end`` along the rows [m]."""

    start: Annotated[float, Field(ge=0)]
    end: Positive
    radius: Positive

    @model_validator(mode="after")
    def _in_order(self) -> Bend:
        if self.end <= self.start:
            raise ValueError(f"end {self.end:g} must lie beyond start {self.start:g}")
        return self


class TactileArray(Document):
    """A grid of cells on a pad.

    Args:
        name: unique name.
        link: the link that carries it.
        pose: frame of the array in the link: origin in the middle of the outer edge of row 0; x along a row (column
            index grows), y across rows (row index grows), z outwards.
        rows, columns: number of cells.
        cell: size of a cell: along a row, across rows [m].
        min_force: smallest force that a cell reports [N].
        missing: (row, column) of cells that do not exist.
        bend: where the array curves; flat if left out.
        max_pressure: pressure at which a cell saturates [Pa].
    """

    name: Name
    link: Name
    pose: Pose
    rows: Annotated[int, Field(ge=1, le=1000)]
    columns: Annotated[int, Field(ge=1, le=1000)]
    cell: tuple[Positive, Positive]
    min_force: Annotated[float, Field(ge=0)] = 0.0
    missing: tuple[tuple[int, int], ...] = ()
    bend: Bend | None = None
    max_pressure: Positive | None = None


class JointServo(Document):
    """A joint's position servo.

    Args:
        stiffness: torque (force) per position error [N m/rad, N/m].
        max_torque: largest torque (force) [N m, N]; the URDF's effort if left out.
        max_acceleration: [rad/s^2, m/s^2].
        follows_speed: the drive is given the commanded speed as well; without that it lags behind while it moves.
    """

    stiffness: Positive
    max_torque: Positive | None = None
    max_acceleration: Positive | None = None
    follows_speed: bool = False


class Palm(Document):
    """The face of the hand, and the direction in which it approaches an object.

    Args:
        link: the palm's link.
        origin: point on the palm's face, in the link's frame [m].
        approach: direction from the palm towards the object, in the link's frame.
        closing: direction in which the first finger moves when it closes, in the link's frame; roll zero.
        height: how far the palm's body reaches out behind ``origin`` along the approach direction [m].
        length: distance from ``origin`` to the tips of the stretched fingers [m].
    """

    link: Name
    origin: Vector3
    approach: Vector3
    closing: Vector3
    height: Positive
    length: Positive

    @model_validator(mode="after")
    def _axes(self) -> Palm:
        if min(np.linalg.norm(self.approach), np.linalg.norm(self.closing)) < 1e-9:
            raise ValueError("approach and closing must be directions, not (0, 0, 0)")
        if np.linalg.norm(np.cross(self.approach, self.closing)) < 1e-6:
            raise ValueError(f"closing {self.closing} is parallel to approach {self.approach}")
        return self

    @property
    def T_link_palm(self) -> pin.SE3:
        """The palm frame in its link: z along the approach, x towards the closing direction, origin on the face."""
        z = np.array(self.approach) / np.linalg.norm(self.approach)
        x = np.array(self.closing) - z * np.dot(z, self.closing)
        x /= np.linalg.norm(x)
        return pin.SE3(np.column_stack([x, np.cross(z, x), z]), np.array(self.origin))


class _Description(Document):
    version: Literal[1]
    name: Name
    title: str = ""
    urdf: Name
    packages: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    servos: dict[str, JointServo] = Field(default_factory=dict)
    sources: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


class HandDescription(_Description):
    """A hand: everything the planner and the controller must know that the URDF does not say."""

    kind: Literal["hand"]
    mount: Name
    palm: Palm
    fingers: Annotated[tuple[Finger, ...], Field(min_length=2, max_length=50)]
    preshapes: Annotated[tuple[Preshape, ...], Field(min_length=1, max_length=100)]
    tactile: Annotated[tuple[TactileArray, ...], Field(max_length=200)] = ()

    def renamed(self, links: dict[str, str], joints: dict[str, str]) -> HandDescription:
        """The same hand where links and joints have other names; names that are not mentioned stay."""

        def of_joints(values: dict[str, float]) -> dict[str, float]:
            return {joints.get(name, name): value for name, value in values.items()}

        def of_link(item: Pad | Palm | TactileArray) -> dict[str, str]:
            return {"link": links.get(item.link, item.link)}

        return self.model_copy(
            update={
                "mount": links.get(self.mount, self.mount),
                "palm": self.palm.model_copy(update=of_link(self.palm)),
                "fingers": tuple(
                    finger.model_copy(
                        update={
                            "links": tuple(links.get(name, name) for name in finger.links),
                            "pads": tuple(pad.model_copy(update=of_link(pad)) for pad in finger.pads),
                        }
                    )
                    for finger in self.fingers
                ),
                "preshapes": tuple(
                    preshape.model_copy(update={"open": of_joints(preshape.open), "closed": of_joints(preshape.closed)})
                    for preshape in self.preshapes
                ),
                "tactile": tuple(array.model_copy(update=of_link(array)) for array in self.tactile),
                "servos": {joints.get(name, name): servo for name, servo in self.servos.items()},
            }
        )


class ArmDescription(_Description):
    """An arm: where it stands, where a hand is bolted on, where it rests.

    Args:
        flange: the link a hand is bolted to (its frame is the mounting face, z outwards).
        home: joint values of the rest position [rad, m]; the rest neutral.
    """

    kind: Literal["arm"]
    flange: Name
    home: dict[str, float] = Field(default_factory=dict)
