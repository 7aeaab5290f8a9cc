"""Changing a task in the page, planning it, and saving both."""

from __future__ import annotations

import contextlib
import math
import tempfile
import threading
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from pliant.documents import parse_document, parse_mapping
from pliant.errors import InputError
from pliant.planner import Plan, Task
from pliant.robot import shipped_names
from pliant.viewer.scene.shown import Opened

if TYPE_CHECKING:
    from pliant.viewer.page.tab import Session

DECIMALS = 3
"""Of a number in the page, at least: viser shows, and lets be typed, no more of them than a field's steps have."""


class Stopped(Exception):
    """The user pressed stop."""


def edited(source: str, changes: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    """The fields of a task file with some of them changed; None takes a field out.

    Args:
        source: the task file's text.
        changes: new values by path, as ``("object", "material", "young")``.
    """
    fields = parse_mapping(source, source="task") if source.strip() else {}
    for path, value in changes.items():
        place = fields
        for name in path[:-1]:
            if not isinstance(place.get(name), dict):
                place[name] = {}
            place = place[name]
        if value is None:
            place.pop(path[-1], None)
        else:
            place[path[-1]] = value
    return fields


class TaskPanel:
    """The tab in which a task is changed and planned.

    Args:
        session: what it acts on.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.gui = session, session.tab.gui
        self._inputs: dict[tuple[str, ...], Any] = {}
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._readable = False
        self._build()

    def _build(self) -> None:
        gui = self.gui
        add = self._inputs
        hands = shipped_names("hand")
        with gui.add_folder("Robot"):
            add["robot", "hand"] = gui.add_dropdown("Hand", tuple(hands), initial_value=hands[0])
        with gui.add_folder("Material"):
            material = ("object", "material")
            add[(*material, "young")] = gui.add_number("Young [kPa]", 500.0, min=0.001, step=1.0)
            add[(*material, "poisson")] = gui.add_number("Poisson", 0.45, min=0.0, max=0.499, step=0.01)
            add[(*material, "friction")] = gui.add_number("Friction", 0.5, min=0.0, step=0.05)
            add[(*material, "density")] = gui.add_number("Density [kg/m³]", 1000.0, min=0.0, step=10.0)
        with gui.add_folder("Limits (0: none)"):
            add["object", "limits", "force"] = gui.add_number("Force [N]", 0.0, min=0.0, step=1.0)
            add["object", "limits", "pressure"] = gui.add_number("Pressure [kPa]", 0.0, min=0.0, step=10.0)
        with gui.add_folder("Wish"):
            add["task", "lift"] = gui.add_number("Lift [mm]", 50.0, min=0.0, step=5.0)
            add["task", "move", "translate"] = gui.add_vector3("Move [mm]", (0.0, 0.0, 0.0), step=1.0)
            add["axis",] = gui.add_vector3("Turn axis", (0.0, 0.0, 1.0), step=0.1)
            add["angle",] = gui.add_number("Turn [deg]", 0.0, step=1.0)
            add["task", "move", "frame"] = gui.add_dropdown("Frame", ("palm", "object", "world"))
            add["task", "by"] = gui.add_dropdown("Moved by", ("fingers", "arm", "both"))
        with gui.add_folder("Search"):
            add["planner", "faces"] = gui.add_number("Directions", 60, min=4, step=1)
            add["planner", "rolls"] = gui.add_number("Rolls", 8, min=1, step=1)
            add["planner", "hypotheses"] = gui.add_number("At most", 1500, min=1, step=100)
            add["planner", "keep"] = gui.add_number("Keep", 5, min=1, step=1)
            self.seed = gui.add_number("Seed", 0, min=0, step=1)
        for handle in add.values():
            if hasattr(handle, "precision") and not isinstance(handle.value, int):
                handle.precision = DECIMALS
        self.plan_button = gui.add_button("Plan", color=(20, 90, 160), disabled=True)
        self.stop_button = gui.add_button("Stop", disabled=True)
        self.progress = gui.add_progress_bar(0.0, visible=False)
        self.message = gui.add_html("")
        self.save_task = gui.add_button("Save task", disabled=True)
        self.save_plan = gui.add_button("Save plan", disabled=True)
        self.plan_button.on_click(lambda _: self.start())
        self.stop_button.on_click(lambda _: self._stop.set())
        self.save_task.on_click(self._send_task)
        self.save_plan.on_click(self._send_plan)

    # -- values --------------------------------------------------------------------------------------------------

    def opened(self) -> None:
        """Show the values of the task that is open now."""
        task = self.session.task
        assert task is not None
        self.save_plan.disabled = self.session.plan is None
        fields = _with_defaults(task.source)
        self._readable = fields is not None
        self.plan_button.disabled = self.save_task.disabled = not self._readable
        if fields is None:
            self._say("this plan carries no task file that can be read, so the task cannot be changed here")
            return
        self.message.content = ""  # what was said of another task
        for path, handle in self._inputs.items():
            value = _pick(fields, _PLACES.get(path, path))
            if path == _HAND and value not in handle.options:
                handle.options = (*handle.options, value)
            if path == ("axis",):
                handle.value = tuple(map(float, value or (0.0, 0.0, 1.0)))
            elif path[-1] == "translate":
                handle.value = tuple(1e3 * float(v) for v in value)
            elif isinstance(handle.value, str):
                handle.value = value
            else:
                handle.value = type(handle.value)(_FACTORS.get(path[-1], 1.0) * (value or 0.0))
            if hasattr(handle, "precision") and not isinstance(handle.value, int):
                handle.precision = max(DECIMALS, _decimals(handle.value))
        self._inputs["object", "material", "density"].disabled = not self._has_density()

    def changes(self) -> dict[tuple[str, ...], Any]:
        """What the page says, in the task file's units."""
        values = {path: handle.value for path, handle in self._inputs.items()}
        axis, angle = values.pop(("axis",)), values.pop(("angle",))
        out: dict[tuple[str, ...], Any] = {}
        for path, value in values.items():
            if path[-1] == "translate":
                out[path] = [1e-3 * v for v in value]
            elif path[1:2] == ("limits",):
                out[path] = value / _FACTORS.get(path[-1], 1.0) if value > 0.0 else None
            elif path[-1] in _FACTORS:
                out[path] = value / _FACTORS[path[-1]]
            elif path[0] == "planner":
                out[path] = int(value)
            else:
                out[path] = value
        if not self._has_density():
            out.pop(("object", "material", "density"), None)
        rotate = ("task", "move", "rotate")
        out[rotate] = {"axis": [float(v) for v in axis], "angle_deg": float(angle)} if angle else None
        return out

    def _has_density(self) -> bool:
        """Whether the object's weight comes from a density; else it is given, or the wall's is neglected."""
        return self.session.task is not None and self.session.task.body.material.density is not None

    def text(self) -> str:
        """The task file that the page stands for."""
        task = self.session.task
        assert task is not None
        fields = edited(task.source, self.changes())
        return yaml.safe_dump(fields, sort_keys=False, default_flow_style=None, width=120)

    def read(self) -> Task:
        """The task that the page stands for, checked."""
        from pliant.files import TaskFile, task_from_fields

        opened = self.session.opened
        assert opened is not None
        path = opened.folder / f"{opened.task.name}.yaml"
        fields = parse_mapping(self.text(), source=str(path))
        return task_from_fields(parse_document(fields, TaskFile, source=str(path)), path)

    # -- planning ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Plan in the background; a second press while it runs does nothing."""
        with self.session.lock:
            if self.session.opened is None or (self._thread is not None and self._thread.is_alive()):
                return
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="pliant-planning", daemon=True)
            self.plan_button.disabled, self.stop_button.disabled = True, False
            self.progress.value, self.progress.visible = 0.0, True
            self._say("reading the task ...")
            self._thread.start()

    def stop(self) -> None:
        """Give up planning at the next progress report."""
        self._stop.set()

    def _run(self) -> None:
        viewer, opened = self.session.viewer, self.session.opened
        assert opened is not None
        try:
            task = self.read()
            with self._turn():
                self._say("planning ...")
                plan = self._plan()(task, jobs=viewer.jobs, seed=int(self.seed.value), progress=self._progress)
            found = Opened(plan.task, plan, folder=opened.folder)
            viewer.offer(found)
            self.session.open(found)
            self._say(
                f"{plan.status.value}: {len(plan.grasps)} kept, {len(plan.rejections)} rejected, {plan.wall_s:.1f} s"
            )
        except Stopped:
            self._say("stopped")
        except InputError as bad:
            self._say(str(bad), error=True)
        except Exception as bug:  # the page says what went wrong; the server lives on
            self._say(f"planning failed: {type(bug).__name__}: {bug}", error=True)
        finally:
            self.plan_button.disabled, self.stop_button.disabled = not self._readable, True
            self.progress.visible = False

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait until no other tab plans."""
        free = self.session.viewer.planner_free
        if not free.acquire(blocking=False):
            self._say("another tab is planning; this one waits ...")
            while not free.acquire(timeout=0.2):
                if self._stop.is_set():
                    raise Stopped
        try:
            yield
        finally:
            free.release()

    def _plan(self) -> Any:
        if self.session.viewer.planning is not None:
            return self.session.viewer.planning
        import pliant.planner

        return pliant.planner.plan

    def _progress(self, stage: str, done: int, total: int, rejected: dict[str, int]) -> None:
        if self._stop.is_set():
            raise Stopped
        self.progress.value = 100.0 * done / max(total, 1)
        common = sorted(rejected.items(), key=lambda item: -item[1])[:3]
        fallen = ", ".join(f"{reason} ({count})" for reason, count in common)
        self._say(f"{stage}: {done} of {total}" + (f"; rejected: {fallen}" if fallen else ""))

    def _say(self, text: str, *, error: bool = False) -> None:
        name = "pliant-error" if error else "pliant-text"
        self.message.content = f'<div class="{name}" style="padding:4px" data-pliant="message">{escape(text)}</div>'

    # -- saving --------------------------------------------------------------------------------------------------

    def _send_task(self, event: Any) -> None:
        task = self.session.task
        assert task is not None
        event.client.send_file_download(f"{task.name}.yaml", self.text().encode(), save_immediately=True)

    def _send_plan(self, event: Any) -> None:
        try:
            if self.session.plan is None:
                return
            name, data = plan_bytes(self.session.plan)
            event.client.send_file_download(name, data, save_immediately=True)
        except Exception as bug:  # shown in the page like any other failure
            self._say(f"the plan cannot be saved: {type(bug).__name__}: {bug}", error=True)


def plan_bytes(plan: Plan) -> tuple[str, bytes]:
    """A plan as a file: its name and content."""
    import pliant.files

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{plan.task.name}.plan"
        return path.name, pliant.files.save_plan(plan, path).read_bytes()


_HAND = ("robot", "hand")
_PLACES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("axis",): ("task", "move", "rotate", "axis"),
    ("angle",): ("task", "move", "rotate", "angle_deg"),
}
"""Where values of the page that are no fields by themselves stand in the file."""
_FACTORS = {"young": 1e-3, "pressure": 1e-3, "lift": 1e3}
"""Page units per file unit: kPa and mm."""


def _with_defaults(source: str) -> dict[str, Any] | None:
    """All fields of a task file, those that were left out included; None where there is no such file."""
    from pliant.files import TaskFile

    try:
        fields = parse_mapping(source, source="task")
        return parse_document(fields, TaskFile, source="task").model_dump(mode="json")
    except InputError:
        return None


def _decimals(value: float | tuple[float, ...]) -> int:
    """How many decimals a field needs to show its value; seven at most."""
    numbers = value if isinstance(value, tuple) else (value,)
    return next((n for n in range(7) if all(math.isclose(round(x, n), x, rel_tol=1e-9) for x in numbers)), 7)


def _pick(fields: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = fields
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
