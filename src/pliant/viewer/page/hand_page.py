"""A hand's description in the browser: what was guessed is seen on the hand, corrected there, and saved.

Links have a shade of their finger's colour, pads its full colour; the red arrow is where the palm looks, the black one
how the first finger closes. One page per hand; like the viewer it listens on this machine only.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from pliant.arrays import Floats
from pliant.errors import DescriptionError, InputError, Problem
from pliant.objects import Mesh
from pliant.robot import Hand, HandDescription, Palm, link_mesh, pad_mesh
from pliant.viewer.page.app import server_address, start_server, stop_server, wait_for_interrupt
from pliant.viewer.scene.drawables import Colour, arrow
from pliant.viewer.scene.lamps import add_lamps
from pliant.viewer.scene.robot_surfaces import creased
from pliant.viewer.still.hand_picture import CLOSING_COLOUR, FINGER_COLOURS, PALM_COLOUR

GREY: Colour = (0.72, 0.73, 0.75)
SHADE = 0.35
"""Share of the finger's colour in its links."""
LIFT = 4e-4
"""How far pads are drawn in front of the surface [m]."""
FIELD_OF_VIEW = 0.7


class HandPage:
    """A running page. Close it, or use it as a context.

    Args:
        hand: what is shown first.
        save: takes the corrected description, writes it, and returns the hand as it was read again and the file.
        notes: guesses in words, the unsure ones first.
        host, port: where it listens; port 0 takes any that is free.
    """

    def __init__(
        self,
        hand: Hand,
        save: Callable[[HandDescription], tuple[Hand, Path]],
        *,
        notes: Sequence[tuple[str, str, float]] = (),
        host: str = "127.0.0.1",
        port: int = 8080,
    ) -> None:
        self.hand, self._save, self._notes = hand, save, notes
        self.description = hand.description
        self.preshape, self.closed = hand.description.preshapes[0].name, 0.0
        self.lock = threading.RLock()
        self._frames: dict[str, Any] = {}
        self._arrows: list[Any] = []
        self._fields: list[tuple[Any, Any]] = []
        self._inputs: list[tuple[Any, Callable[[], None]]] = []
        self.server = start_server(host, port)
        with self.server.atomic():
            self._draw()
            self._panel()
            self._pose()
            self._aim()

    # -- the picture ---------------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Every link as a frame that carries its shape; pads and arrows hang on the links they are part of."""
        scene, robot = self.server.scene, self.hand.robot
        add_lamps(scene, np.zeros(3))
        owner = {link: i for i, finger in enumerate(self.description.fingers) for link in finger.links}
        for n, link in enumerate(robot.urdf.links):
            self._frames[link.name] = scene.add_frame(f"/hand/{n}", show_axes=False)
            mesh = link_mesh(link, "visual") or link_mesh(link)
            if mesh is not None:
                i = owner.get(link.name)
                colour = (
                    GREY
                    if i is None
                    else tuple(SHADE * a + (1 - SHADE) * b for a, b in zip(_colour(i), GREY, strict=True))
                )
                self._mesh(f"/hand/{n}/shape", creased(mesh), colour)
        for i, finger in enumerate(self.description.fingers):
            for k in range(len(finger.pads)):
                self._draw_pad(i, k)
        self._draw_palm()

    def _draw_pad(self, i: int, k: int) -> None:
        pad = self.description.fingers[i].pads[k]
        found = pad_mesh(self.hand.robot.urdf, pad)
        lifted = found.mesh.vertices + LIFT * np.array(pad.facing)
        surface = Mesh(lifted, found.mesh.faces[found.faces], pad.link)
        self._mesh(f"{self._frames[pad.link].name}/pad_{i}_{k}", surface, _colour(i))

    def _draw_palm(self) -> None:
        for handle in self._arrows:
            handle.remove()
        palm = self.description.palm
        T, length = palm.T_link_palm, 0.5 * palm.length
        home = self._frames[palm.link].name
        ways = ((length * T.rotation[:, 2], PALM_COLOUR), (0.5 * length * T.rotation[:, 0], CLOSING_COLOUR))
        self._arrows = [
            self._mesh(f"{home}/palm_{n}", arrow(T.translation, way, radius=0.003, colour=colour).mesh, colour)
            for n, (way, colour) in enumerate(ways)
        ]

    def _mesh(self, name: str, mesh: Mesh, colour: Any) -> Any:
        rgb = tuple(round(255 * c) for c in colour)
        return self.server.scene.add_mesh_simple(name, mesh.vertices, mesh.faces, color=rgb, side="double")

    def _pose(self) -> None:
        names = list(self._frames)
        for name, T in zip(names, self.hand.robot.poses(names, self.q), strict=True):
            x, y, z, w = pin.Quaternion(T.rotation).coeffs()
            self._frames[name].wxyz, self._frames[name].position = (w, x, y, z), T.translation

    @property
    def q(self) -> Floats:
        """Joints that are shown: the present preshape, closed as far as the slider says."""
        shape = self._shape()
        ends = self.hand.robot.q(shape.open), self.hand.robot.q(shape.closed)
        return np.asarray(ends[0] + self.closed * (ends[1] - ends[0]))

    def _shape(self) -> Any:
        return next(p for p in self.description.preshapes if p.name == self.preshape)

    def _aim(self) -> None:
        robot, palm = self.hand.robot, self.description.palm
        T = robot.pose(palm.link, self.q) * palm.T_link_palm
        target = T.act(np.array([0.0, 0.0, 0.3 * palm.length]))
        way = T.rotation @ np.array([0.55, 0.75, 0.6])
        camera = self.server.initial_camera
        camera.position, camera.look_at = target + 3.2 * palm.length * way / np.linalg.norm(way), target
        camera.fov = FIELD_OF_VIEW

    # -- the panel -----------------------------------------------------------------------------------------------

    def _panel(self) -> None:
        gui, hand = self.server.gui, self.description
        names = tuple(preshape.name for preshape in hand.preshapes)
        which = gui.add_dropdown("Preshape", names, initial_value=self.preshape)
        slider = gui.add_slider("Closed", min=0.0, max=1.0, step=0.01, initial_value=0.0)
        which.on_update(lambda _: self._show(preshape=which.value))
        slider.on_update(lambda _: self._show(closed=slider.value))
        with gui.add_folder("Palm"):
            palm = hand.palm
            origin = gui.add_vector3("Origin [mm]", _scaled(palm.origin, 1e3), step=1.0)
            looks = gui.add_vector3("Looks along", palm.approach, step=0.05)
            closing = gui.add_vector3("Closing", palm.closing, step=0.05)
            self._palm_fields = (origin, looks, closing)
            for handle in self._palm_fields:
                handle.on_update(self._change_palm)
        with gui.add_folder("Fingers and pads"):
            for i, finger in enumerate(hand.fingers):
                colour = FINGER_COLOURS[i % len(FINGER_COLOURS)][0]
                name = gui.add_text(f"Finger {i + 1} ({colour})", finger.name)
                most = finger.pads[0].max_force
                force = gui.add_number(f"Most on {i + 1} [N]", most, min=min(0.1, most), step=1.0)
                name.on_update(self._change_fingers)
                force.on_update(self._change_fingers)
                self._fields.append((name, force))
        self._joints = gui.add_folder("Joints at this end [deg]")
        self._joint_inputs()
        if self._notes:
            with gui.add_folder("Guesses", expand_by_default=False):
                rows = "".join(
                    f"<p><b>{100 * sure:.0f} %</b> {escape(about)}: {escape(what)}</p>"
                    for about, what, sure in self._notes
                )
                gui.add_html(f'<div style="padding:4px" data-pliant="guesses">{rows}</div>')
        gui.add_button("Save").on_click(lambda _: self._store())
        self._message = gui.add_html("")

    def _joint_inputs(self) -> None:
        """Values at the end that is nearer, open or closed: changing them moves the hand there at once."""
        for handle, _ in self._inputs:
            handle.remove()
        self._inputs = []
        robot, end = self.hand.robot, self._end()
        with self._joints:
            for name, value in getattr(self._shape(), end).items():
                k, slides = robot.joint_index(name), robot.urdf.joint(name).kind == "prismatic"
                scale = 1e3 if slides else float(np.degrees(1.0))
                shown = _shown(value, scale)
                # A joint without limits may turn half round either way; a value at its limit is rounded, maybe past it.
                lower, upper = (
                    scale * float(limit if np.isfinite(limit) else half)
                    for limit, half in ((robot.lower[k], -np.pi), (robot.upper[k], np.pi))
                )
                handle = self.server.gui.add_number(
                    f"{name} {end}" + (" [mm]" if slides else ""),
                    shown,
                    min=min(lower, shown),
                    max=max(upper, shown),
                    step=0.5,
                )
                apply = partial(self._apply_joint, self.preshape, name, end, scale, handle)
                handle.on_update(partial(self._change_joint, apply))
                self._inputs.append((handle, apply))

    def _end(self) -> str:
        return "open" if self.closed <= 0.5 else "closed"

    # -- what the page does --------------------------------------------------------------------------------------

    def _show(self, *, preshape: str | None = None, closed: float | None = None) -> None:
        with self.lock, self.server.atomic():
            before = self.preshape, self._end()
            self.preshape = self.preshape if preshape is None else preshape
            self.closed = self.closed if closed is None else closed
            if (self.preshape, self._end()) != before:
                self._joint_inputs()
            self._pose()

    def _change_palm(self, _: Any = None) -> None:
        with self._correcting():
            self._apply_palm()

    def _apply_palm(self) -> None:
        """The palm as its fields say, where they do not say what it is already (the origin rounded)."""
        palm = self.description.palm
        origin, looks, closing = (tuple(handle.value) for handle in self._palm_fields)
        if (origin, looks, closing) != (_scaled(palm.origin, 1e3), palm.approach, palm.closing):
            fields = {"origin": _scaled(origin, 1e-3), "approach": looks, "closing": closing}
            palm = Palm.model_validate(palm.model_dump() | fields)
            self.description = self.description.model_copy(update={"palm": palm})
            self._draw_palm()

    def _change_fingers(self, _: Any = None) -> None:
        with self._correcting():
            self._apply_fingers()

    def _apply_fingers(self) -> None:
        """All fingers as their fields say, at once: a name that is being typed may be another's for a moment."""
        fields = self.description.model_dump()
        names = [str(name.value) for name, _ in self._fields]
        for name in names:
            if names.count(name) > 1:
                what = f"the name '{name}' is used {names.count(name)} times"
                raise DescriptionError("hand", Problem("fingers", what, "give each its own name"))
        new = dict(zip((finger["name"] for finger in fields["fingers"]), names, strict=True))
        for finger, (_, force) in zip(fields["fingers"], self._fields, strict=True):
            finger["name"] = new[finger["name"]]
            if force.value != finger["pads"][0]["max_force"]:
                for pad in finger["pads"]:
                    pad["max_force"] = force.value
        for preshape in fields["preshapes"]:
            preshape["fingers"] = preshape["fingers"] and [new[name] for name in preshape["fingers"]]
        self.description = HandDescription.model_validate(fields)

    def _change_joint(self, apply: Callable[[], None], _: Any) -> None:
        with self._correcting():
            apply()
            self._pose()

    def _apply_joint(self, preshape: str, joint: str, end: str, scale: float, handle: Any) -> None:
        """The joint of a preshape as its field says, unless that says what it is already (rounded)."""
        fields = self.description.model_dump()
        values = next(p for p in fields["preshapes"] if p["name"] == preshape)[end]
        if handle.value == _shown(values[joint], scale):
            return
        robot, k = self.hand.robot, self.hand.robot.joint_index(joint)
        values[joint] = float(np.clip(round(handle.value / scale, 6), robot.lower[k], robot.upper[k]))
        self.description = HandDescription.model_validate(fields)

    def _store(self) -> None:
        """Every field is read once more: each change is told in a thread of its own, and may come after this."""
        with self._correcting():
            self._apply_palm()
            self._apply_fingers()
            for _, apply in self._inputs:
                apply()
            hand, path = self._save(self.description)
            self.description = hand.description
            self._say(f"saved to {path}")

    @contextlib.contextmanager
    def _correcting(self) -> Any:
        """One change, alone; a value that cannot be is said in the page and changes nothing."""
        with self.lock, self.server.atomic():
            try:
                self._say("not saved yet")
                yield
            except InputError as bad:
                self._say("; ".join(str(problem) for problem in bad.problems), wrong=True)
            except ValueError as bad:  # pydantic's
                self._say(str(bad).split("Value error, ")[-1].split(" [type=")[0], wrong=True)

    def _say(self, text: str, *, wrong: bool = False) -> None:
        style = "padding:4px;color:#b00020" if wrong else "padding:4px"
        self._message.content = f'<div style="{style}" data-pliant="hand_message">{escape(text)}</div>'

    # -- the server ----------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """What to type into a browser."""
        return server_address(self.server)

    def wait(self) -> None:
        """Serve until interrupted."""
        wait_for_interrupt()

    def close(self) -> None:
        """Stop serving."""
        stop_server(self.server)

    def __enter__(self) -> HandPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _colour(i: int) -> Colour:
    return FINGER_COLOURS[i % len(FINGER_COLOURS)][1]


def _scaled(values: Any, factor: float) -> tuple[float, float, float]:
    x, y, z = (round(factor * float(v), 7) for v in values)
    return x, y, z


def _shown(value: float, scale: float) -> float:
    """A joint's value as its field shows it, in degrees or millimetres."""
    return round(value * scale, 3)
