"""The page beside the picture: timeline, legend, looks, hypotheses, plots, pads and the task."""

from __future__ import annotations

import time as clock
from html import escape
from typing import TYPE_CHECKING, Any

from pliant.planner import PlannedGrasp
from pliant.viewer.page.task_panel import TaskPanel
from pliant.viewer.report.curves import grasp_figures
from pliant.viewer.report.figures import colour_bar
from pliant.viewer.report.pad_pressures import felt_image
from pliant.viewer.report.text import (
    CONTACT_HEADER,
    contact_rows,
    grasp_title,
    number_rows,
    rejection_rows,
    stages_of,
    summary,
    table,
)
from pliant.viewer.scene.colours import ARROW, CENTRE, GHOST, WEIGHT, css
from pliant.viewer.scene.object_surface import ColourBy
from pliant.viewer.still.png import png_source

if TYPE_CHECKING:
    from pliant.viewer.page.tab import Session

STYLE = (
    "<style>.pliant{border-collapse:collapse;width:100%;font-size:12px;line-height:1.35}"
    ".pliant th{text-align:left;font-weight:600;border-bottom:1px solid #9aa4b2;padding:2px 4px;vertical-align:bottom}"
    ".pliant td{padding:2px 4px;border-bottom:1px solid rgba(128,140,160,.25);vertical-align:top}"
    ".pliant td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".pliant-page{padding:2px 12px 6px}.pliant-scroll{max-height:360px;overflow:auto}"
    ".pliant-text{font-size:13px;line-height:1.45}"
    ".pliant-error{color:#b3261e;font-weight:600;white-space:pre-wrap}</style>"
)
SPEEDS = {"1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
MOST_BUTTONS = 12
ALL_STAGES = "all stages"
NOTHING = "none"


class Panels:
    """Everything in a tab that is not the 3-D picture.

    Args:
        session: what the controls act on.
    """

    def __init__(self, session: Session) -> None:
        self.session, self.gui = session, session.tab.gui
        self._slow_at = 0.0
        self.summary = self.gui.add_html("")
        self._timeline()
        tabs = self.gui.add_tab_group()
        with tabs.add_tab("Look"):
            self._look()
        self.hypotheses = tabs.add_tab("Hypotheses")
        with tabs.add_tab("Plots"):
            self.plots = self.gui.add_html("")
        with tabs.add_tab("Pads"):
            self.contacts = self.gui.add_html("")
            with self.gui.add_folder("What the tactile arrays feel"):
                self.pads = self.gui.add_html("")
        with tabs.add_tab("Task"):
            self.task = TaskPanel(session)
        self._legend_panel = self.gui.add_panel()
        with self._legend_panel.add_tab("Colours"):
            self.legend = self.gui.add_html("")
        self._legend_panel.float(x=14, y=-14, width=250)
        self._buttons: list[Any] = []
        self._further: Any = None
        self._filter: Any = None
        self._rejected: Any = None
        self._rejected_table: Any = None

    # -- parts ---------------------------------------------------------------------------------------------------

    def _timeline(self) -> None:
        gui, session = self.gui, self.session
        self.slider = gui.add_slider("Time [s]", min=0.0, max=1.0, step=0.01, initial_value=0.0)
        self.play = gui.add_button_group("Play", ("play", "pause", "start", "end"))
        self.speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1")
        self.numbers = gui.add_html("")

        @self.slider.on_update
        def _(event: Any) -> None:
            if event.client_id is None:  # only a hand on the slider: the player moves it too
                return
            # A quick drag tells faster than pictures are made: whoever comes next shows the newest place, once.
            with session.lock:
                if (time := float(self.slider.value)) != session.player.time:
                    session.show_time(time, dragged=True)

        @self.play.on_click
        def _(event: Any) -> None:
            if event.target.value == "play":
                session.player.play()
                return
            session.player.pause()
            if event.target.value in ("start", "end"):
                session.show_time(0.0 if event.target.value == "start" else session.player.duration)
            else:
                session.show_time(session.player.time)

        @self.speed.on_update
        def _(_: Any) -> None:
            session.player.speed = SPEEDS[self.speed.value]

    def _look(self) -> None:
        gui, session = self.gui, self.session
        self.colour_by = gui.add_dropdown("Colour by", tuple(c.value for c in ColourBy), initial_value="displacement")
        opacity = gui.add_slider("Hand opacity", min=0.05, max=1.0, step=0.05, initial_value=0.45)
        exaggerate = gui.add_slider("Deformation ×", min=1.0, max=10.0, step=0.5, initial_value=1.0)
        for name, field in (
            ("Arm", "arm"),
            ("Forces", "forces"),
            ("Labels", "labels"),
            ("Friction cones", "cones"),
            ("Centre of mass", "centres"),
        ):
            box = gui.add_checkbox(name, initial_value=True)
            box.on_update(lambda event, field=field: session.restyle(**{field: bool(event.target.value)}))
        self.colour_by.on_update(lambda _: session.restyle(colour_by=ColourBy(self.colour_by.value)))
        opacity.on_update(lambda _: session.restyle(hand_opacity=float(opacity.value)))
        exaggerate.on_update(lambda _: session.restyle(exaggerate=float(exaggerate.value)))
        gui.add_html(_symbols())

    def _hypotheses(self) -> None:
        """The list of kept grasps as buttons, then the fallen ones behind a filter."""
        plan, session, gui = self.session.plan, self.session, self.gui
        for handle in self._buttons:
            handle.remove()
        self._buttons = []
        self._further = self._filter = self._rejected = self._rejected_table = None
        if plan is None:
            return
        with self.hypotheses:
            for rank in range(min(len(plan.grasps), MOST_BUTTONS)):
                button = gui.add_button(grasp_title(plan, rank))
                button.on_click(lambda _, rank=rank: session.show_rank(rank))
                self._buttons.append(button)
            if len(plan.grasps) > MOST_BUTTONS:
                self._further = gui.add_slider("Rank", min=1, max=len(plan.grasps), step=1, initial_value=1)
                self._buttons.append(self._further)

                @self._further.on_update
                def _(event: Any) -> None:
                    if event.client_id is None:  # only a hand: it also follows the buttons
                        return
                    with session.lock:  # as for the time: only the newest of a quick drag is drawn
                        if (rank := int(event.target.value) - 1) != session.rank:
                            session.show_rank(rank, dragged=True)

            ghosts = gui.add_button_group("Ghosts", (NOTHING, "kept", "rejected"))
            self._filter = gui.add_dropdown("Stage", (ALL_STAGES, *(s.value for s in stages_of(plan))))
            self._rejected = gui.add_dropdown("Show rejected", (NOTHING, *self._rejected_names()))
            self._rejected_table = gui.add_html("")
        self._buttons += [ghosts, self._filter, self._rejected, self._rejected_table]

        # The locks: another plan may come, with other controls, while one of these is on its way.
        @ghosts.on_click
        def _(event: Any) -> None:
            with session.lock:
                if session.plan is plan:
                    kept = [g.hypothesis.number for g in plan.grasps]
                    fallen = [r.number for r in self._chosen()]
                    session.show_hypotheses({"kept": kept, "rejected": fallen[:60]}.get(event.target.value, []))

        @self._filter.on_update
        def _(_: Any) -> None:
            with session.lock:
                if session.plan is plan:
                    self._rejected.options = (NOTHING, *self._rejected_names())
                    self._rejected.value = NOTHING
                    self._fill_rejected()

        @self._rejected.on_update
        def _(event: Any) -> None:
            with session.lock:
                if session.plan is plan:
                    value = event.target.value
                    session.show_hypotheses([] if value == NOTHING else [int(value.split(":")[0].lstrip("#"))])

        self._fill_rejected()

    def _chosen(self) -> list[Any]:
        assert self.session.plan is not None
        stage = self._filter.value if self._filter is not None else ALL_STAGES
        return [r for r in self.session.plan.rejections if stage in (ALL_STAGES, r.stage.value)]

    def _rejected_names(self) -> list[str]:
        return [f"#{r.number}: {r.stage.value}: {r.reason}" for r in self._chosen()][:400]

    def _fill_rejected(self) -> None:
        rows = [
            (number, f"{stage}: {reason}" + (f" ({detail})" if detail else ""), margin)
            for number, stage, reason, margin, detail in rejection_rows(self._chosen()[:400])
        ]
        more = len(self._chosen()) - len(rows)
        self._rejected_table.content = (
            f'{STYLE}<div class="pliant-page"><div class="pliant-text">{len(self._chosen())} rejected</div>'
            f'<div class="pliant-scroll">{table(("hypothesis", "why it fell", "short by"), rows)}</div>'
            + (f'<div class="pliant-text">and {more} more</div>' if more > 0 else "")
            + "</div>"
        )

    # -- news ----------------------------------------------------------------------------------------------------

    def opened(self) -> None:
        """Another task or plan is open."""
        session = self.session
        if session.plan is not None:
            sentences = summary(session.plan)[: 1 if session.plan.grasps else 3]
        else:
            assert session.task is not None
            sentences = [f"{session.task.assembly.name}: not planned yet. Change it under Task and press Plan."]
        text = " ".join(escape(sentence) for sentence in sentences)
        self.summary.content = f'{STYLE}<div class="pliant-page pliant-text" data-pliant="summary">{text}</div>'
        self._hypotheses()
        self.task.opened()
        self.ranked()

    def ranked(self, *, dragged: bool = False) -> None:
        """Another grasp is shown.

        Args:
            dragged: by the slider, which stays where it is.
        """
        duration = self.session.player.duration
        self.slider.max = max(round(duration, 2), 0.01)
        self.slider.visible = self.play.visible = self.speed.visible = duration > 0.0
        for k, button in enumerate(self._buttons[:MOST_BUTTONS]):
            if hasattr(button, "color") and self.session.plan is not None and k < len(self.session.plan.grasps):
                button.color = (20, 90, 160) if k == self.session.rank else (150, 160, 172)
        if self._further is not None and not dragged:
            self._further.value = self.session.rank + 1
        if self._rejected is not None:  # its ghost has gone with the grasp before
            self._rejected.value = NOTHING
        self.styled()
        self.timed(every=True)

    def styled(self) -> None:
        """Colours mean something else."""
        stage = self.session.stage
        bar = ""
        if stage is not None and stage.surface is not None and stage.look.colour_by is not ColourBy.PLAIN:
            by = stage.look.colour_by
            name = "contact pressure" if by is ColourBy.PRESSURE else "displacement"
            bar = colour_bar(stage.surface.top(by), title=name, unit=by.unit)
        self.legend.content = bar
        self._legend_panel.visible = bool(bar)

    def timed(self, *, every: bool, dragged: bool = False) -> None:
        """Another moment is shown; plots and pads only now and then while playing.

        Args:
            every: plots and pads too.
            dragged: by the slider, which stays where it is.
        """
        session = self.session
        if session.stage is None or session.task is None:
            return
        if not dragged:
            self.slider.value = round(min(session.player.time, self.slider.max), 2)
        moment = session.stage.at(session.player.time)
        now = clock.monotonic()
        if moment is None:
            self.numbers.content = self.plots.content = self.contacts.content = self.pads.content = ""
            return
        if not every and now - self._slow_at < 0.25:
            return
        cells = "".join(
            f'<tr><td>{escape(name)}</td><td class="n" data-pliant="{key}">{escape(value)}</td></tr>'
            for key, name, value in number_rows(moment, session.task.body.mass)
        )
        self.numbers.content = f'{STYLE}<div class="pliant-page"><table class="pliant">{cells}</table></div>'
        if every or now - self._slow_at > 0.5:
            self._slow_at = now
            self._slow_parts(moment)

    def _slow_parts(self, moment: Any) -> None:
        session, grasp = self.session, self.session.grasp
        assert session.task is not None and isinstance(grasp, PlannedGrasp)
        figures = grasp_figures(session.task, grasp, session.measured, cursor=moment.time)
        self.plots.content = "".join(f'<div style="padding:0 8px">{svg}</div>' for svg in figures.values())
        if moment.state is not None:
            # One column per contact: the panel is narrow, and fingers are fewer than quantities.
            first, *rest = zip(CONTACT_HEADER, *contact_rows(moment.state, moment.depth_share), strict=True)
            header = [first[0], *(link.replace("_", " ") for link in first[1:])]
            self.contacts.content = f'{STYLE}<div class="pliant-page pliant-scroll">{table(header, rest)}</div>'
        else:
            self.contacts.content = f'{STYLE}<div class="pliant-page pliant-text">Nothing touches yet.</div>'
        if session.task.assembly.hand is not None and session.task.assembly.hand.tactile:
            picture = png_source(felt_image(session.task, moment, session.measured))
            self.pads.content = f'<img src="{picture}" alt="tactile arrays" style="max-width:100%">'
        else:
            self.pads.content = f'{STYLE}<div class="pliant-page pliant-text">This hand has none.</div>'


def _symbols() -> str:
    def item(colour: str, text: str, shape: str) -> str:
        return (
            f'<div style="display:flex;align-items:center;gap:7px;font-size:12px;line-height:1.5;padding-left:14px">'
            f'<svg width="20" height="12" viewBox="0 0 20 12">{shape.format(c=colour)}</svg>{escape(text)}</div>'
        )

    arrow = '<path d="M1 6h12" stroke="{c}" stroke-width="2.4"/><path d="M12 2l7 4-7 4z" fill="{c}"/>'
    cone = '<path d="M1 1L19 6 1 11z" fill="{c}" fill-opacity=".25"/>'
    ball = '<circle cx="10" cy="6" r="5" fill="{c}" stroke="#555" stroke-width=".6"/>'
    return "".join(
        [
            item(css(ARROW), "force on the object", arrow),
            item(css(WEIGHT), "weight", arrow),
            item(css(ARROW), "friction cone", cone),
            item(css(CENTRE), "centre of mass, deformed", ball),
            item("#ffffff", "centre of mass, undeformed", ball),
            item(css(GHOST), "ghost: the hand at a hypothesis", ball),
        ]
    )
