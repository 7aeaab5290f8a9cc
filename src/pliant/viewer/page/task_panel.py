"""Changing a task in the page, planning it, and saving both."""

from __future__ import annotations

import contextlib
import math
import tempfile
import threading
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from pliant.documents import parse_document, parse_mapping
from pliant.errors import InputError
from pliant.planner import EFFORTS, Plan, PlannedGrasp, Stopped, Task
from pliant.robot import shipped_names
from pliant.viewer.page.markup import message
from pliant.viewer.report.plan_text import common_reasons, ending_text
from pliant.viewer.scene.viewed_task import ViewedTask

if TYPE_CHECKING:
    from pliant.viewer.page.tab import Tab

DECIMALS = 3
"""Of a number in the page, at least: viser shows, and lets be typed, no more of them than a field's steps have."""
MOST_FORCES = 5
"""Forces of the newest best grasps that are listed while planning."""
HAND = ("robot", "hand")
DENSITY = ("object", "material", "density")
ROTATE = ("task", "move", "rotate")
EFFORT = ("planner", "effort")


class TaskField(NamedTuple):
    """A field of the task file on the page.

    Attributes:
        folder, label: where it is on the page.
        path: where it is in the file.
        initial: its value before a task is open; the kind of value decides the kind of control.
        step, least, most: of a number or of the numbers of a vector.
        factor: page units per file unit (kPa, mm).
        zero_is_none: zero stands for no value.
        options: of a choice.
    """

    folder: str
    label: str
    path: tuple[str, ...]
    initial: float | int | str | tuple[float, float, float]
    step: float = 1.0
    least: float | None = None
    most: float | None = None
    factor: float = 1.0
    zero_is_none: bool = False
    options: tuple[str, ...] = ()

    def to_page(self, value: Any) -> Any:
        """A value of the file as the page shows it; the initial one, or zero, where the file has none."""
        if isinstance(self.initial, tuple):
            return tuple(self.factor * float(v) for v in (value or self.initial))
        return value if isinstance(self.initial, str) else type(self.initial)(self.factor * (value or 0.0))

    def to_file(self, value: Any) -> Any:
        """A value of the page as the file has it; None to leave it out."""
        if isinstance(self.initial, tuple):
            return [v / self.factor for v in value]
        if isinstance(self.initial, str):
            return value
        if isinstance(self.initial, int):
            return int(value)
        return None if self.zero_is_none and value <= 0.0 else value / self.factor


def task_fields() -> tuple[TaskField, ...]:
    """All fields, folder by folder."""
    material, limits, move = ("object", "material"), ("object", "limits"), ("task", "move")
    no_limit, hands = "Limits (0: none)", shipped_names("hand")
    return (
        TaskField("Robot", "Hand", HAND, hands[0], options=tuple(hands)),
        TaskField("Material", "Young [kPa]", (*material, "young"), 500.0, 1.0, 0.001, factor=1e-3),
        TaskField("Material", "Poisson", (*material, "poisson"), 0.45, 0.01, 0.0, 0.499),
        TaskField("Material", "Friction", (*material, "friction"), 0.5, 0.05, 0.0),
        TaskField("Material", "Density [kg/m³]", DENSITY, 1000.0, 10.0, 0.0),
        TaskField(no_limit, "Force [N]", (*limits, "force"), 0.0, 1.0, 0.0, zero_is_none=True),
        TaskField(no_limit, "Pressure [kPa]", (*limits, "pressure"), 0.0, 10.0, 0.0, factor=1e-3, zero_is_none=True),
        TaskField("Goal", "Lift [mm]", ("task", "lift"), 50.0, 5.0, 0.0, factor=1e3),
        TaskField("Goal", "Move [mm]", (*move, "translate"), (0.0, 0.0, 0.0), 1.0, factor=1e3),
        TaskField("Goal", "Turn axis", (*ROTATE, "axis"), (0.0, 0.0, 1.0), 0.1),
        TaskField("Goal", "Turn [deg]", (*ROTATE, "angle_deg"), 0.0, 1.0),
        TaskField("Goal", "Frame", (*move, "frame"), "palm", options=("palm", "object", "world")),
        TaskField("Goal", "Moved by", ("task", "by"), "fingers", options=("fingers", "arm", "both")),
        TaskField("Search", "Effort", EFFORT, "normal", options=tuple(EFFORTS)),
        TaskField("Search", "Directions", ("planner", "faces"), 60, 1, 4),
        TaskField("Search", "Rolls", ("planner", "rolls"), 8, 1, 1),
        TaskField("Search", "At most", ("planner", "hypotheses"), 1500, 100, 1),
        TaskField("Search", "Keep", ("planner", "keep"), 5, 1, 1),
    )


class PlanningStopped(Exception):
    """The user pressed stop before a grasp was found, or closed the tab."""


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
        tab: what it acts on.
    """

    def __init__(self, tab: Tab) -> None:
        self.tab, self.gui = tab, tab.client.gui
        self._fields = task_fields()
        self._inputs: dict[tuple[str, ...], Any] = {}
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._planning = False
        self._forces: list[float] = []
        self._readable = False
        gui = self.gui
        for folder, fields in groupby(self._fields, key=lambda field: field.folder):
            with gui.add_folder(folder):
                for field in fields:
                    self._inputs[field.path] = self._add_input(field)
                if folder == "Search":
                    self.seed = gui.add_number("Seed", 0, min=0, step=1)
        self.plan_button = gui.add_button("Plan", color=(20, 90, 160), disabled=True)
        self.stop_button = gui.add_button("Stop", disabled=True)
        self.progress = gui.add_progress_bar(0.0, visible=False)
        self.message = gui.add_html("")
        self.save_task = gui.add_button("Save task", disabled=True)
        self.save_plan = gui.add_button("Save plan", disabled=True)
        self.plan_button.on_click(lambda _: self.start())
        self.stop_button.on_click(lambda _: self.stop())
        self.save_task.on_click(self._send_task)
        self.save_plan.on_click(self._send_plan)

    def _add_input(self, field: TaskField) -> Any:
        if isinstance(field.initial, str):
            return self.gui.add_dropdown(field.label, field.options, initial_value=field.initial)
        if isinstance(field.initial, tuple):
            handle = self.gui.add_vector3(field.label, field.initial, step=field.step)
        else:
            handle = self.gui.add_number(field.label, field.initial, min=field.least, max=field.most, step=field.step)
        if not isinstance(field.initial, int):
            handle.precision = DECIMALS
        return handle

    # -- values --------------------------------------------------------------------------------------------------

    def show_task(self, *, keep_fields: bool = False) -> None:
        """Show the values of the task that is open now, unless it came from these fields and they are to be kept."""
        task = self.tab.task
        assert task is not None
        self.save_plan.disabled = self.tab.plan is None
        if keep_fields:
            return
        values = _with_defaults(task.source)
        self._readable = values is not None
        self.plan_button.disabled = self.save_task.disabled = not self._readable
        if values is None:
            self._show_message("this plan carries no task file that can be read, so the task cannot be changed here")
            return
        self.message.content = ""  # it was about another task
        for field in self._fields:
            handle, value = self._inputs[field.path], _value_at(values, field.path)
            if field.path == HAND and value not in handle.options:
                handle.options = (*handle.options, value)
            handle.value = field.to_page(value)
            if isinstance(field.initial, float | tuple):
                handle.precision = max(DECIMALS, _decimals(handle.value))
        self._inputs[DENSITY].disabled = not self._has_density()

    def changes(self) -> dict[tuple[str, ...], Any]:
        """The page's values in the task file's units, by path; None for what the file is to leave out."""
        values = {field.path: field.to_file(self._inputs[field.path].value) for field in self._fields}
        if not self._has_density():
            values.pop(DENSITY)
        axis, angle = values.pop((*ROTATE, "axis")), values.pop((*ROTATE, "angle_deg"))
        values[ROTATE] = {"axis": axis, "angle_deg": angle} if angle else None
        return values

    def _has_density(self) -> bool:
        """Whether the object's weight comes from a density; else it is given, or the wall's is neglected."""
        return self.tab.task is not None and self.tab.task.body.material.density is not None

    def text(self) -> str:
        """The task file with the page's values."""
        task = self.tab.task
        assert task is not None
        fields = edited(task.source, self.changes())
        return yaml.safe_dump(fields, sort_keys=False, default_flow_style=None, width=120)

    def read(self) -> Task:
        """The task with the page's values, checked."""
        from pliant.files import TaskFile, task_from_fields

        viewed = self.tab.viewed
        assert viewed is not None
        path = viewed.folder / f"{viewed.task.name}.yaml"
        fields = parse_mapping(self.text(), source=str(path))
        return task_from_fields(parse_document(fields, TaskFile, source=str(path)), path)

    # -- planning ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Plan in the background; a second press while it runs does nothing."""
        with self.tab.lock:
            if self.tab.viewed is None or self._planning:
                return
            self._planning = True
            self._stop.clear()
            self._forces = []
            self._thread = threading.Thread(target=self._run, name="pliant-planning", daemon=True)
            self.plan_button.disabled, self.stop_button.disabled = True, False
            self.progress.value, self.progress.visible = 0.0, True
            self._show_message("reading the task ...")
            self._thread.start()

    def stop(self) -> None:
        """End the search; the best grasp so far becomes the plan."""
        self._stop.set()  # at once: the lock may be held by what is being drawn
        with self.tab.lock:
            if self._planning:
                self.stop_button.disabled = True
                self._show_message("stopping ...")

    def _run(self) -> None:
        before = self.tab.viewed
        assert before is not None
        error = True
        try:
            text, error = self._plan(before), False
        except PlanningStopped:
            text, error = "stopped before a grasp was found", False
        except InputError as bad:
            text = str(bad)
        except Exception as bug:  # shown in the page; the server goes on
            text = f"planning failed: {type(bug).__name__}: {bug}"
        with self.tab.lock:
            self._planning = False
            self.plan_button.disabled, self.stop_button.disabled = not self._readable, True
            self.progress.visible = False
            self._show_message(text, error=error)

    def _plan(self, before: ViewedTask) -> str:
        """Plan and open the result; the answer is what to say about it."""
        import pliant.planner

        viewer = self.tab.viewer
        task = pliant.planner.with_arm(self.read())
        so_far = ViewedTask(task, folder=before.folder)
        try:
            with self._turn():
                self._show_message("planning ...")
                planning = viewer.planning or pliant.planner.plan
                plan = planning(
                    task,
                    jobs=viewer.jobs,
                    seed=int(self.seed.value),
                    progress=self._progress,
                    improved=lambda grasp: self._show_improved(so_far, grasp),
                    stop=self._stop.is_set,
                )
            if self.tab.closed or (plan.stopped is Stopped.INTERRUPTED and not plan.grasps):
                raise PlanningStopped
            result = ViewedTask(plan.task, plan, folder=before.folder)
            viewer.open_in_new_tabs(result)
            self.tab.open(result, keep_fields=True)
        finally:
            if self.tab.viewed is so_far:  # it failed, and what it has shown belongs to no plan
                self.tab.open(before, keep_fields=True)
        text = f"{plan.status.value}: {len(plan.grasps)} kept, {len(plan.rejections)} rejected, {plan.wall_s:.1f} s"
        ending = ending_text(plan)
        return f"{text}. {ending}" if ending else text

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait until no other tab plans."""
        free = self.tab.viewer.planner_free
        if not free.acquire(blocking=False):
            self._show_message("another tab is planning; this one waits ...")
            while not free.acquire(timeout=0.2):
                if self._stop.is_set():
                    raise PlanningStopped
        try:
            yield
        finally:
            free.release()

    def _progress(self, stage: str, done: int, total: int, rejected: dict[str, int]) -> None:
        if self._stop.is_set():
            if self.tab.closed or not self._forces:
                raise PlanningStopped
            return  # the planner asks for itself, and keeps what it has found
        self.progress.value = 100.0 * done / max(total, 1)
        reasons = common_reasons(rejected, 3)
        forces = ", ".join(f"{force:.3g}" for force in self._forces[-MOST_FORCES:])
        self._show_message(
            f"{stage}: {done} of {total}"
            + (f"; forces so far: {forces} N" if forces else "")
            + (f"; rejected: {reasons}" if reasons else "")
        )

    def _show_improved(self, so_far: ViewedTask, grasp: PlannedGrasp) -> None:
        """Show a grasp that is better than those before it; called by the planner, from the thread that plans."""
        so_far.add(grasp)
        self._forces.append(grasp.largest_force)
        if self.tab.viewed is so_far:
            self.tab.show_rank(so_far.first)
        else:
            self.tab.open(so_far, keep_fields=True)

    def _show_message(self, text: str, *, error: bool = False) -> None:
        self.message.content = message(text, "message", error=error)

    # -- saving --------------------------------------------------------------------------------------------------

    def _send_task(self, event: Any) -> None:
        task = self.tab.task
        assert task is not None
        event.client.send_file_download(f"{task.name}.yaml", self.text().encode(), save_immediately=True)

    def _send_plan(self, event: Any) -> None:
        try:
            if self.tab.plan is None:
                return
            name, data = plan_bytes(self.tab.plan)
            event.client.send_file_download(name, data, save_immediately=True)
        except Exception as bug:  # shown in the page like any other failure
            self._show_message(f"the plan cannot be saved: {type(bug).__name__}: {bug}", error=True)


def plan_bytes(plan: Plan) -> tuple[str, bytes]:
    """A plan as a file: its name and content."""
    import pliant.files

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{plan.task.name}.plan"
        return path.name, pliant.files.save_plan(plan, path).read_bytes()


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


def _value_at(fields: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = fields
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
