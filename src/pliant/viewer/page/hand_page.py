"""A hand's description in the browser: guesses are shown on the hand, corrected there, and saved.

Links have a shade of their finger's colour, pads its full colour; the red arrow is the palm's approach direction, the
black one how the first finger closes. One page per hand; like the viewer it listens on this machine only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pliant.arrays import Floats
from pliant.errors import DescriptionError, InputError, Problem, repeated
from pliant.robot import Guess, Hand, HandDescription, Palm, Preshape, link_mesh
from pliant.viewer.page.markup import message
from pliant.viewer.scene.colours import GREY, Colour
from pliant.viewer.scene.hand_marks import finger_colour, pad_surface, palm_arrows
from pliant.viewer.scene.robot_surfaces import creased
from pliant.viewer.scene.server import ServedPage
from pliant.viewer.scene.view_options import Viewpoint
from pliant.viewer.scene.viser_nodes import add_lamps, add_mesh, place

SHADE = 0.35
"""Share of the finger's colour in its links."""
FIELD_OF_VIEW = 0.7


class _FingerInputs(NamedTuple):
    name: Any
    max_force: Any


class _PalmInputs(NamedTuple):
    origin: Any
    approach: Any
    closing: Any


class _JointInput(NamedTuple):
    handle: Any
    apply: Callable[[], None]
    """Brings the value into the description."""


class HandPage(ServedPage):
    """A running page. Close it, or use it as a context.

    Args:
        hand: what is shown first.
        save: takes the corrected description, writes it, and returns the hand as it was read again and the file.
        guesses: what was guessed of the description; the unsure ones are shown first.
        host, port: where it listens; port 0 takes any that is free.
    """

    def __init__(
        self,
        hand: Hand,
        save: Callable[[HandDescription], tuple[Hand, Path]],
        *,
        guesses: Sequence[Guess] = (),
        host: str = "127.0.0.1",
        port: int = 8080,
    ) -> None:
        super().__init__(host, port)
        self.hand, self._save = hand, save
        self.description = hand.description
        self.preshape, self.closed = hand.description.preshapes[0].name, 0.0
        self.lock = threading.RLock()
        self._frames: dict[str, Any] = {}
        self._arrows: list[Any] = []
        self._joint_inputs: list[_JointInput] = []
        with self.server.atomic():
            self._add_hand()
            self._add_preshape()
            self._palm_inputs = self._add_palm()
            self._finger_inputs = self._add_fingers()
            self._joints_folder = self.server.gui.add_folder("Joints at this end [deg]")
            self._add_joints()
            self._add_guesses(guesses)
            self.server.gui.add_button("Save").on_click(lambda _: self._store())
            self._message = self.server.gui.add_html("")
            self._place_links()
            self._aim()

    # -- the picture ---------------------------------------------------------------------------------------------

    def _add_hand(self) -> None:
        """Every link as a frame that carries its shape; pads and arrows hang on the links they are part of."""
        scene, robot = self.server.scene, self.hand.robot
        add_lamps(scene, np.zeros(3))
        owner = {link: i for i, finger in enumerate(self.description.fingers) for link in finger.links}
        for n, link in enumerate(robot.urdf.links):
            self._frames[link.name] = scene.add_frame(f"/hand/{n}", show_axes=False)
            mesh = link_mesh(link, "visual")
            if mesh is not None:
                colour = _shade(finger_colour(owner[link.name]).rgb) if link.name in owner else GREY
                add_mesh(scene, f"/hand/{n}/shape", creased(mesh), colour, side="double")
        for i, finger in enumerate(self.description.fingers):
            for k, pad in enumerate(finger.pads):
                name = f"{self._frames[pad.link].name}/pad_{i}_{k}"
                add_mesh(scene, name, pad_surface(robot.urdf, pad), finger_colour(i).rgb, side="double")
        self._draw_palm()

    def _draw_palm(self) -> None:
        for handle in self._arrows:
            handle.remove()
        palm = self.description.palm
        parent = self._frames[palm.link].name
        self._arrows = [
            add_mesh(self.server.scene, f"{parent}/palm_{item.name}", item.mesh, item.colour, side="double")
            for item in palm_arrows(palm.T_link_palm, palm.length, radius=0.003)
        ]

    def _place_links(self) -> None:
        for handle, T in zip(self._frames.values(), self.hand.robot.poses(list(self._frames), self.q), strict=True):
            place(handle, T)

    @property
    def q(self) -> Floats:
        """Joints that are shown: the present preshape, closed as far as the slider is moved."""
        preshape = self._preshape()
        q_open, q_closed = self.hand.robot.q(preshape.open), self.hand.robot.q(preshape.closed)
        return np.asarray(q_open + self.closed * (q_closed - q_open))

    def _preshape(self) -> Preshape:
        return next(p for p in self.description.preshapes if p.name == self.preshape)

    def _aim(self) -> None:
        robot, palm = self.hand.robot, self.description.palm
        T = robot.pose(palm.link, self.q) * palm.T_link_palm
        target = T.act(np.array([0.0, 0.0, 0.3 * palm.length]))
        direction = T.rotation @ np.array([0.55, 0.75, 0.6])
        eye = target + 3.2 * palm.length * direction / np.linalg.norm(direction)
        self.set_first_camera(Viewpoint(eye, target), FIELD_OF_VIEW)

    # -- the panel -----------------------------------------------------------------------------------------------

    def _add_preshape(self) -> None:
        gui = self.server.gui
        names = tuple(preshape.name for preshape in self.description.preshapes)
        preshape = gui.add_dropdown("Preshape", names, initial_value=self.preshape)
        closed = gui.add_slider("Closed", min=0.0, max=1.0, step=0.01, initial_value=0.0)
        preshape.on_update(lambda _: self._show(preshape=preshape.value))
        closed.on_update(lambda _: self._show(closed=closed.value))

    def _add_palm(self) -> _PalmInputs:
        gui, palm = self.server.gui, self.description.palm
        with gui.add_folder("Palm"):
            inputs = _PalmInputs(
                gui.add_vector3("Origin [mm]", _scaled(palm.origin, 1e3), step=1.0),
                gui.add_vector3("Approach", palm.approach, step=0.05),
                gui.add_vector3("Closing", palm.closing, step=0.05),
            )
        for handle in inputs:
            handle.on_update(lambda _: self._change(self._apply_palm))
        return inputs

    def _add_fingers(self) -> list[_FingerInputs]:
        gui, inputs = self.server.gui, []
        with gui.add_folder("Fingers and pads"):
            for i, finger in enumerate(self.description.fingers):
                most = finger.pads[0].max_force
                fields = _FingerInputs(
                    gui.add_text(f"Finger {i + 1} ({finger_colour(i).name})", finger.name),
                    gui.add_number(f"Most on {i + 1} [N]", most, min=min(0.1, most), step=1.0),
                )
                for handle in fields:
                    handle.on_update(lambda _: self._change(self._apply_fingers))
                inputs.append(fields)
        return inputs

    def _add_guesses(self, guesses: Sequence[Guess]) -> None:
        if not guesses:
            return
        with self.server.gui.add_folder("Guesses", expand_by_default=False):
            rows = "".join(
                f"<p><b>{100 * guess.confidence:.0f} %</b> "
                + escape(f"{guess.about}: {guess.what} ({guess.reason})")
                + "</p>"
                for guess in sorted(guesses, key=lambda guess: guess.confidence)
            )
            self.server.gui.add_html(f'<div style="padding:4px" data-pliant="guesses">{rows}</div>')

    def _add_joints(self) -> None:
        """Values at the end that is nearer, open or closed: changing them moves the hand there at once."""
        for handle, _ in self._joint_inputs:
            handle.remove()
        self._joint_inputs = []
        robot, end = self.hand.robot, self._end()
        with self._joints_folder:
            for name, value in getattr(self._preshape(), end).items():
                k, slides = robot.joint_index(name), robot.urdf.joint(name).kind == "prismatic"
                scale = 1e3 if slides else float(np.degrees(1.0))
                shown = _shown(value, scale)
                # A joint without limits may turn half round; a value at its limit is rounded, maybe past it.
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
                handle.on_update(lambda _, apply=apply: self._change(apply))
                self._joint_inputs.append(_JointInput(handle, apply))

    def _end(self) -> str:
        return "open" if self.closed <= 0.5 else "closed"

    # -- what the page does --------------------------------------------------------------------------------------

    def _show(self, *, preshape: str | None = None, closed: float | None = None) -> None:
        with self.lock, self.server.atomic():
            before = self.preshape, self._end()
            # A tab can report anything: what cannot be shown would spoil the page for all tabs.
            if preshape in {known.name for known in self.description.preshapes}:
                self.preshape = str(preshape)
            if closed is not None and 0.0 <= closed <= 1.0:
                self.closed = closed
            if (self.preshape, self._end()) != before:
                self._add_joints()
            self._place_links()

    def _apply_palm(self) -> None:
        """The palm with the values of its fields, where these are not its (rounded) values already."""
        palm = self.description.palm
        origin, approach, closing = (tuple(handle.value) for handle in self._palm_inputs)
        if (origin, approach, closing) != (_scaled(palm.origin, 1e3), palm.approach, palm.closing):
            fields = {"origin": _scaled(origin, 1e-3), "approach": approach, "closing": closing}
            palm = Palm.model_validate(palm.model_dump() | fields)
            self.description = self.description.model_copy(update={"palm": palm})
            self._draw_palm()

    def _apply_fingers(self) -> None:
        """All fingers with the values of their fields, at once: a name may be another's while it is being typed."""
        fields = self.description.model_dump()
        names = [str(inputs.name.value) for inputs in self._finger_inputs]
        for name, count in repeated(names).items():
            what = f"the name '{name}' is used {count} times"
            raise DescriptionError("hand", Problem("fingers", what, "give each its own name"))
        new = dict(zip((finger["name"] for finger in fields["fingers"]), names, strict=True))
        for finger, inputs in zip(fields["fingers"], self._finger_inputs, strict=True):
            finger["name"] = new[finger["name"]]
            if inputs.max_force.value != finger["pads"][0]["max_force"]:
                for pad in finger["pads"]:
                    pad["max_force"] = inputs.max_force.value
        for preshape in fields["preshapes"]:
            preshape["fingers"] = preshape["fingers"] and [new[name] for name in preshape["fingers"]]
        self.description = HandDescription.model_validate(fields)

    def _apply_joint(self, preshape: str, joint: str, end: str, scale: float, handle: Any) -> None:
        """The joint of a preshape with the value of its field, unless that is its (rounded) value already."""
        fields = self.description.model_dump()
        values = next(p for p in fields["preshapes"] if p["name"] == preshape)[end]
        if handle.value == _shown(values[joint], scale):
            return
        robot, k = self.hand.robot, self.hand.robot.joint_index(joint)
        values[joint] = float(np.clip(round(handle.value / scale, 6), robot.lower[k], robot.upper[k]))
        self.description = HandDescription.model_validate(fields)

    def _store(self) -> None:
        """Every field is read once more: each change is reported in a thread of its own, and may come after this."""
        joints = [joint.apply for joint in self._joint_inputs]
        self._change(self._apply_palm, self._apply_fingers, *joints, self._write)

    def _write(self) -> None:
        hand, path = self._save(self.description)
        self.description = hand.description
        self._show_message(f"saved to {path}")

    def _change(self, *applied: Callable[[], None]) -> None:
        """One change of the description, alone; a wrong value is explained in the page and changes nothing."""
        with self.lock, self.server.atomic():
            try:
                self._show_message("not saved yet")
                for apply in applied:
                    apply()
                self._place_links()
            except InputError as bad:
                self._show_message("; ".join(str(problem) for problem in bad.problems), error=True)
            except ValueError as bad:  # pydantic's
                self._show_message(str(bad).split("Value error, ")[-1].split(" [type=")[0], error=True)

    def _show_message(self, text: str, *, error: bool = False) -> None:
        self._message.content = message(text, "hand_message", error=error)


def _shade(colour: Colour) -> Colour:
    r, g, b = (SHADE * a + (1 - SHADE) * grey for a, grey in zip(colour, GREY, strict=True))
    return r, g, b


def _scaled(values: Any, factor: float) -> tuple[float, float, float]:
    x, y, z = (round(factor * float(v), 7) for v in values)
    return x, y, z


def _shown(value: float, scale: float) -> float:
    """A joint's value as its field shows it, in degrees or millimetres."""
    return round(value * scale, 3)
