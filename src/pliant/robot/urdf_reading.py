"""From URDF text to a checked `Urdf`: every problem is collected, with its line, before anything is refused."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pinocchio as pin

from pliant.errors import Problem, Problems, RobotError, closest, unknown_name
from pliant.robot.compound import COMPOUND, SPEED, TURN_SPEED, single_joints
from pliant.robot.mesh_paths import MeshPaths
from pliant.robot.urdf import LARGEST_SHAPE, MOVING, Inertial, Joint, Link, LinkShape, Mimic, Urdf
from pliant.robot.xml import Element, parse_xml, read_xml

KINDS = (*MOVING, "fixed", *COMPOUND)
HUGE = 1e9
SHAPES = "mesh, box, cylinder, sphere, capsule"
MAX_SHAPES, MAX_MESH_BYTES = 1000, 1_000_000_000
LONGEST_NAME, LONGEST_NUMBERS = 1000, 2000
MAX_JOINTS, MAX_LINKS = 200, 2000
"""Beyond these a model would take gigabytes (some of Pinocchio's tables grow with the cube of the joints)."""
# Elements that other programs put into a URDF; passed over without a word.
FOREIGN = ("gazebo", "transmission", "sensor", "plugin", "mujoco", "drake", "ros2_control")
KNOWN = {
    "robot": ("link", "joint", "material", *FOREIGN),
    "link": ("inertial", "visual", "collision", "contact", "self_collision_checking", *FOREIGN),
    "joint": (
        "origin", "parent", "child", "axis", "limit", "mimic", "dynamics", "calibration", "safety_controller", *FOREIGN,
    ),
}  # fmt: skip


def read_urdf(path: str | Path, *, package_dirs: Iterable[str | Path] = ()) -> Urdf:
    """Read a URDF file.

    Args:
        path: the file.
        package_dirs: folders in which ``package://name/...`` looks for ``name``. The folder of the file, and the
            package the file itself lies in, are always looked at; nothing outside these is ever opened.
    """
    path = Path(path)
    return _Reader(read_xml(path), str(path), MeshPaths(path.resolve().parent, package_dirs)).urdf()


def parse_urdf(text: str, *, source: str = "URDF", folder: str | Path | None = None) -> Urdf:
    """Read URDF text; mesh files are looked for in ``folder`` only (none: meshes are a problem)."""
    paths = MeshPaths(Path(folder).resolve() if folder is not None else None, ())
    return _Reader(parse_xml(text, source=source), source, paths).urdf()


class _Reader:
    """One pass over the elements that fills ``problems``; ``urdf()`` raises them together."""

    def __init__(self, root: Element, source: str, paths: MeshPaths) -> None:
        self.root = root
        self.source = source
        self.paths = paths
        self.problems = Problems(source, RobotError)
        self.notes: list[str] = []
        self.mesh_bytes = 0  # each file as often as it is named
        self.materials: dict[str, tuple[float, float, float, float]] = {}

    def urdf(self) -> Urdf:
        if self.root.tag != "robot":
            raise RobotError(
                self.source,
                Problem(f"line {self.root.line}", f"the root element is <{self.root.tag}>", "expected <robot>"),
            )
        self._check_tags()
        counts = [len(self.root.all(tag)) for tag in ("link", "joint")]
        if max(counts) > MAX_LINKS:  # a tree has one joint less than links
            what = f"has {counts[0]} links and {counts[1]} joints"
            raise RobotError(self.source, Problem("robot", what, f"at most {MAX_LINKS} links"))
        shapes = sum(len(link.all(tag)) for link in self.root.all("link") for tag in ("visual", "collision"))
        if shapes > MAX_SHAPES:
            raise RobotError(self.source, Problem("robot", f"has {shapes} shapes", f"at most {MAX_SHAPES}"))
        for element in self.root.all("material"):
            self._material(element)
        links = [self._link(element) for element in self.root.all("link")]
        joints = [self._joint(element) for element in self.root.all("joint")]
        moving = sum(len(COMPOUND.get(joint.kind, (joint.kind,))) for joint in joints if joint.kind != "fixed")
        if not links:
            self._problem(self.root, "robot", "has no link", "a robot is at least one <link>")
        elif moving > MAX_JOINTS:
            what = f"has {len(links)} links and {moving} moving joints"
            self._problem(self.root, "robot", what, f"at most {MAX_LINKS} links and {MAX_JOINTS} moving joints")
        else:
            self._check_tree(links, joints)
        self.problems.check()
        links, joints = self._split_compound(links, joints)
        return Urdf(
            self.root.attributes.get("name", "robot"), tuple(links), tuple(joints), self.source, tuple(self.notes)
        )

    def _check_tags(self) -> None:
        """Refuse a xacro that was never expanded; mention elements that nobody knows."""
        for element in (self.root, *self.root.children):
            macro = element.tag.startswith("xacro:") or any("${" in value for value in element.attributes.values())
            if macro:
                what = f"<{element.tag}> belongs to xacro, the macro language"
                self._problem(element, "robot", what, "expand it first: xacro robot.urdf.xacro > robot.urdf")
                self.problems.check()
            for child in element.children if element.tag in KNOWN else ():
                known = KNOWN[element.tag]
                if child.tag not in known and ":" not in child.tag and len(self.notes) < 20:
                    near = closest(child.tag, known, 1)
                    hint = f"; closest: <{near[0]}>" if near else ""
                    self.notes.append(f"line {child.line}: <{child.tag}> is not known here and is passed over{hint}")

    # -- elements ------------------------------------------------------------------------------------------------

    def _link(self, element: Element) -> Link:
        name = self._name(element)
        where = f"link '{name}'"
        inertial = element.first("inertial")
        return Link(
            name,
            self._visuals(element, where),
            tuple(s for e in element.all("collision") for s in self._shapes(e, f"{where}, collision")),
            self._inertial(inertial, where) if inertial is not None else None,
        )

    def _visuals(self, element: Element, where: str) -> tuple[LinkShape, ...]:
        """What is seen of a link; nothing, with a note, where a shape of it cannot be had: it is for pictures only.

        Such a link is drawn by its collision shapes. Of a robot without collision shapes it stays a problem.
        """
        before = len(self.problems)
        found = tuple(s for e in element.all("visual") for s in self._shapes(e, f"{where}, visual"))
        lost = self.problems.take_back(before)
        if not lost or not any(link.first("collision") is not None for link in self.root.all("link")):
            for problem in lost:
                self.problems.add(problem)
            return found
        drawn = "is drawn by its collision shapes" if element.first("collision") is not None else "is not drawn"
        self.notes.append(f"{lost[0].where}: {lost[0].what}; '{element.attributes.get('name', '')}' {drawn}")
        return ()

    def _joint(self, element: Element) -> Joint:
        name = self._name(element)
        where = f"joint '{name}'"
        kind = element.attributes.get("type", "")
        if kind not in KINDS:
            problem = unknown_name("joint type", kind, KINDS)
            self._problem(element, where, problem.what, f"allowed: {', '.join(KINDS)}")
        ends = []
        for tag in ("parent", "child"):
            end = element.first(tag)
            link = end.attributes.get("link", "") if end is not None else ""
            if not link:
                self._problem(element, where, f"has no <{tag} link=...>", f"name the {tag} link")
            ends.append(link)
        axis_element = element.first("axis")
        axis = self._vector(axis_element, "xyz", 3, (1.0, 0.0, 0.0), where)
        length = math.hypot(*axis)
        if not 1e-9 < length < 1e9:
            if kind not in ("fixed", "floating", "spherical"):
                what = f"axis {_text(axis)} has no direction"
                self._problem(axis_element or element, where, what, "give a unit vector")
            axis, length = (1.0, 0.0, 0.0), 1.0
        axis = tuple(value / length for value in axis)
        lower, upper, velocity, effort = self._limits(element, kind, where)
        dynamics = element.first("dynamics")
        return Joint(
            name,
            kind,
            ends[0],
            ends[1],
            self._origin(element, where),
            (axis[0], axis[1], axis[2]),
            lower,
            upper,
            velocity,
            effort,
            self._number(dynamics, "damping", 0.0, where),
            self._number(dynamics, "friction", 0.0, where),
            self._mimic(element, where),
        )

    def _limits(self, element: Element, kind: str, where: str) -> tuple[float, float, float, float]:
        limit = element.first("limit")
        if kind not in MOVING and kind not in COMPOUND:
            return -math.inf, math.inf, math.inf, math.inf
        if limit is None and kind != "continuous" and kind not in COMPOUND:
            endless = ', or make it type="continuous"' if kind == "revolute" else ""
            remedy = f"give lower, upper, effort and velocity{endless}"
            self._problem(element, where, f"is {kind} but has no <limit>", remedy)
        velocity = self._number(limit, "velocity", math.inf, where)
        effort = self._number(limit, "effort", math.inf, where)
        for label, value in (("velocity", velocity), ("effort", effort)):
            if value < 0:
                self._problem(limit or element, where, f"limit {label} {value:g} is negative", "give its magnitude")
        # Zero is how many exporters write "not known"; a joint that cannot move would be of type fixed.
        velocity = velocity if velocity > 0 else math.inf
        effort = effort if effort > 0 else math.inf
        if kind == "continuous":
            return -math.inf, math.inf, velocity, effort
        lower = self._number(limit, "lower", 0.0, where)
        upper = self._number(limit, "upper", 0.0, where)
        if kind in COMPOUND and lower == upper:
            return -math.inf, math.inf, velocity, effort
        if lower == upper:
            self.notes.append(
                f"joint '{element.attributes.get('name', '')}' cannot move: both its limits are {lower:g}"
            )
        if lower > upper:
            self._problem(limit or element, where, f"lower limit {lower:g} is above upper limit {upper:g}", "swap them")
        return lower, upper, velocity, effort

    def _mimic(self, element: Element, where: str) -> Mimic | None:
        mimic = element.first("mimic")
        if mimic is None:
            return None
        multiplier = self._number(mimic, "multiplier", 1.0, where)
        return Mimic(mimic.attributes.get("joint", ""), multiplier, self._number(mimic, "offset", 0.0, where))

    def _inertial(self, element: Element, where: str) -> Inertial:
        mass = self._number(element.first("mass"), "value", 0.0, f"{where}, mass")
        inertia = element.first("inertia")
        values = [
            self._number(inertia, key, 0.0, f"{where}, inertia") for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        ]
        if mass < 0:
            self._problem(
                element, where, f"mass {mass:g} kg is negative", "give a positive mass or leave <inertial> out"
            )
        if min(values[0], values[3], values[5]) < 0:
            self._problem(inertia or element, where, f"inertia {_text(values)} has a negative diagonal")
        ixx, ixy, ixz, iyy, iyz, izz = values
        return Inertial(mass, self._origin(element, where), (ixx, ixy, ixz, iyy, iyz, izz))

    def _shapes(self, element: Element, where: str) -> tuple[LinkShape, ...]:
        """The shape of an element; a capsule as a cylinder with a ball at either end."""
        geometry = element.first("geometry")
        shape = geometry.children[0] if geometry is not None and geometry.children else None
        if shape is None:
            self._problem(element, where, "has no shape", f"expected <geometry> with {SHAPES}")
            return ()
        T = self._origin(element, where)
        colour = self._material(element.first("material"))
        size: Sequence[float]
        path: Path | None = None
        if shape.tag == "mesh":
            size = self._vector(shape, "scale", 3, (1.0, 1.0, 1.0), where)
            if not all(abs(s) > 0 for s in size):
                self._problem(shape, where, f"mesh scale {_text(size)} is zero", "give positive factors")
            try:
                path = self.paths.resolve(shape.attributes.get("filename", ""))
                self.mesh_bytes += path.stat().st_size
            except (ValueError, OSError) as bad:
                self._problem(shape, where, str(bad))
                return ()
            if self.mesh_bytes > MAX_MESH_BYTES:
                what = f"with '{path.name}' the meshes of all shapes have {self.mesh_bytes / 1e6:.0f} MB"
                raise RobotError(self.source, Problem(where, what, f"at most {MAX_MESH_BYTES / 1e6:.0f} MB"))
            return (LinkShape("mesh", tuple(size), T, path, colour),)
        if shape.tag == "box":
            size = self._vector(shape, "size", 3, None, where)
        elif shape.tag in ("cylinder", "capsule"):
            size = (self._number(shape, "radius", None, where), self._number(shape, "length", None, where))
        elif shape.tag == "sphere":
            size = (self._number(shape, "radius", None, where),)
        else:
            self._problem(shape, where, f"shape <{shape.tag}> is not known", f"allowed: {SHAPES}")
            return ()
        if not all(s > 0 for s in size):
            self._problem(shape, where, f"<{shape.tag}> with size {_text(size)}", "sizes must be positive")
            return ()
        if max(size) > LARGEST_SHAPE:
            what = f"<{shape.tag}> with size {_text(size)} m"
            self._problem(shape, where, what, f"at most {LARGEST_SHAPE:g} m; the lengths of a URDF are metres")
            return ()
        if shape.tag != "capsule":
            return (LinkShape(shape.tag, tuple(size), T, None, colour),)
        radius, length = size
        ends = [T * pin.SE3(np.eye(3), np.array([0.0, 0.0, side * length])) for side in (-0.5, 0.5)]
        balls = (LinkShape("sphere", (radius,), end, None, colour) for end in ends)
        return (LinkShape("cylinder", (radius, length), T, None, colour), *balls)

    def _material(self, element: Element | None) -> tuple[float, float, float, float] | None:
        if element is None:
            return None
        name = element.attributes.get("name", "")
        colour = element.first("color")
        if colour is None:
            return self.materials.get(name)
        rgba = self._vector(colour, "rgba", 4, (0.7, 0.7, 0.7, 1.0), f"material '{name}'")
        value = (rgba[0], rgba[1], rgba[2], rgba[3])
        self.materials[name] = value
        return value

    def _origin(self, element: Element, where: str) -> pin.SE3:
        origin = element.first("origin")
        xyz = self._vector(origin, "xyz", 3, (0.0, 0.0, 0.0), where)
        rpy = self._vector(origin, "rpy", 3, (0.0, 0.0, 0.0), where)
        return pin.SE3(pin.rpy.rpyToMatrix(*rpy), np.array(xyz))

    # -- joints of several degrees of freedom ------------------------------------------------------------------

    def _split_compound(self, links: list[Link], joints: list[Joint]) -> tuple[list[Link], list[Joint]]:
        """Floating, planar and spherical joints as chains of single ones, each mentioned in the notes."""
        singles: list[Joint] = []
        for joint in joints:
            if joint.kind not in COMPOUND:
                singles.append(joint)
                continue
            between, chain = single_joints(joint)
            for kind, added, there in (("link", between, links), ("joint", chain, joints)):
                if taken := {item.name for item in added} & {item.name for item in there}:
                    what = f"has the name of a part of joint '{joint.name}', which is {joint.kind}"
                    raise RobotError(self.source, Problem(f"{kind} '{min(taken)}'", what, "rename it"))
            links, singles = [*links, *between], [*singles, *chain]
            note = f"joint '{joint.name}' is {joint.kind}: coordinates {', '.join(single.name for single in chain)}"
            if math.isinf(joint.velocity):
                slides = "" if joint.kind == "spherical" else f"{SPEED:g} m/s and "
                note += f"; a speed of {slides}{TURN_SPEED:g} rad/s is assumed"
            self.notes.append(note)
        return links, singles

    # -- values --------------------------------------------------------------------------------------------------

    def _name(self, element: Element) -> str:
        name = element.attributes.get("name", "")
        if not name:
            self._problem(element, element.tag, "has no name", 'write name="..."')
            name = f"unnamed at line {element.line}"
        elif len(name) > LONGEST_NAME:
            self._problem(element, element.tag, f"'{name}' has {len(name)} letters", f"at most {LONGEST_NAME}")
        return name

    def _number(self, element: Element | None, key: str, default: float | None, where: str) -> float:
        values = self._vector(element, key, 1, None if default is None else (default,), where)
        return values[0]

    def _vector(
        self, element: Element | None, key: str, count: int, default: Sequence[float] | None, where: str
    ) -> tuple[float, ...]:
        text = element.attributes.get(key) if element is not None else None
        fallback = tuple(default) if default is not None else (1.0,) * count
        if text is None:
            if default is None:
                line = element if element is not None else self.root
                self._problem(line, where, f"'{key}' is missing", f"give {count} number{'s' * (count > 1)}")
            return fallback
        assert element is not None
        if len(text) > LONGEST_NUMBERS:
            self._problem(
                element, where, f'{key}="{text[:60]}..." has {len(text)} letters', f"expected {count} numbers"
            )
            return fallback
        try:
            values = tuple(float(part) for part in text.split())
        except ValueError:
            self._problem(element, where, f'{key}="{text[:60]}" is not a number', f"expected {count}")
            return fallback
        if len(values) != count:
            self._problem(element, where, f'{key}="{text[:60]}" has {len(values)} numbers', f"expected {count}")
            return fallback
        if not all(math.isfinite(value) for value in values):
            self._problem(element, where, f'{key}="{text[:60]}" is not finite', "give finite numbers")
            return fallback
        if any(abs(value) > HUGE for value in values):
            self._problem(element, where, f'{key}="{text[:60]}" is absurdly large', f"at most {HUGE:g} (SI units)")
            return fallback
        return values

    def _problem(self, element: Element, where: str, what: str, allowed: str = "") -> None:
        self.problems.add(Problem(f"line {element.line}, {where}", what, allowed))

    # -- the tree ------------------------------------------------------------------------------------------------

    def _check_tree(self, links: list[Link], joints: list[Joint]) -> None:
        lines = {joint.name: element for joint, element in zip(joints, self.root.all("joint"), strict=True)}
        names = [link.name for link in links]
        self._check_unique("link", names, self.root.all("link"))
        self._check_unique("joint", [joint.name for joint in joints], self.root.all("joint"))
        known = set(names)
        parents: dict[str, Joint] = {}
        for joint in joints:
            for label, link in (("parent", joint.parent), ("child", joint.child)):
                if link and link not in known:
                    missing = unknown_name("link", link, names)
                    self._problem(lines[joint.name], f"joint '{joint.name}', {label}", missing.what, missing.allowed)
            if joint.child in parents:
                other = parents[joint.child].name
                self._problem(
                    lines[joint.name],
                    f"joint '{joint.name}'",
                    f"link '{joint.child}' is already the child of joint '{other}'",
                    "closed chains are not supported; cut the loop at one joint",
                )
            parents.setdefault(joint.child, joint)
        self._check_root(names, parents)
        self._check_followers(joints, lines)

    def _check_unique(self, kind: str, names: list[str], elements: list[Element]) -> None:
        first: dict[str, int] = {}
        for name, element in zip(names, elements, strict=True):
            if name in first:
                what = f"the name is used twice (first at line {first[name]})"
                self._problem(element, f"{kind} '{name}'", what, "give each its own name")
            first.setdefault(name, element.line)

    def _check_root(self, names: list[str], parents: dict[str, Joint]) -> None:
        roots = [name for name in names if name not in parents]
        if len(roots) > 1:
            shown = ", ".join(roots[:6]) + (", ..." if len(roots) > 6 else "")
            what = f"{len(roots)} links are nobody's child ({shown})"
            self._problem(self.root, "tree", what, "a robot is one tree: join them with joints")
        cleared: set[str] = set()
        for start in names:
            seen = {start: None}
            while (link := next(reversed(seen))) in parents and link not in cleared:
                above = parents[link].parent
                if above in seen:
                    chain = list(seen)[list(seen).index(above) :]
                    shown = " -> ".join([*reversed(chain), chain[-1]])
                    self._problem(self.root, "tree", f"the links form a loop: {shown}", "cut it at one joint")
                    break
                seen[above] = None
            cleared |= seen.keys()

    def _check_followers(self, joints: list[Joint], lines: dict[str, Element]) -> None:
        moving = {joint.name: joint for joint in joints if joint.moves}
        for joint in joints:
            if joint.mimic is None:
                continue
            where = f"joint '{joint.name}', mimic"
            if joint.kind in COMPOUND:
                self._problem(lines[joint.name], where, f"a {joint.kind} joint cannot follow another", "leave it out")
                continue
            if joint.mimic.joint not in moving:
                missing = unknown_name("other moving joint", joint.mimic.joint, [n for n in moving if n != joint.name])
                self._problem(lines[joint.name], where, missing.what, missing.allowed)
                continue
            seen = [joint.name]
            master = joint
            while master.mimic is not None and master.mimic.joint in moving:
                if master.mimic.joint in seen:
                    chain = " -> ".join([*seen, master.mimic.joint])
                    self._problem(lines[joint.name], where, f"joints follow each other in a circle: {chain}")
                    break
                master = moving[master.mimic.joint]
                seen.append(master.name)


def _text(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{value:g}" for value in values) + ")"
