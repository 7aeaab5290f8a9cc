"""The controls beside the scene: timeline, legend, view options, hypotheses, plots, pads and the task."""

from __future__ import annotations

import time as clock
from html import escape
from typing import TYPE_CHECKING, Any

from pliant.planner import Moment
from pliant.viewer.page.hypotheses_panel import HypothesesPanel
from pliant.viewer.page.markup import block, text_block
from pliant.viewer.page.task_panel import TaskPanel
from pliant.viewer.report.figures import colour_bar
from pliant.viewer.report.grasp_plots import grasp_figures
from pliant.viewer.report.pad_pressures import pad_image
from pliant.viewer.report.plan_text import (
    contact_rows,
    duration_text,
    ending_text,
    holding_text,
    moment_rows,
    summary,
    table,
)
from pliant.viewer.scene.colours import ARROW, CENTRE, GHOST, PUSH, WEIGHT, css
from pliant.viewer.scene.first_picture import DRAWN
from pliant.viewer.scene.object_surface import ColourBy
from pliant.viewer.still.render import png_source

if TYPE_CHECKING:
    from pliant.viewer.page.tab import Tab

SPEEDS = {"1/10": 0.1, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
TEXT_INTERVAL, PLOT_INTERVAL = 0.1, 0.5
"""While playing numbers, and plots and pads, are made anew no more often than this [s]."""


class Panels:
    """Everything in a tab that is not the 3-D picture.

    Args:
        tab: what the controls act on.
    """

    def __init__(self, tab: Tab) -> None:
        self.tab, self.gui = tab, tab.client.gui
        self._written_at = self._plotted_at = 0.0
        self.summary = self.gui.add_html("")
        self._add_timeline()
        tabs = self.gui.add_tab_group()
        with tabs.add_tab("View"):
            self._add_view_options()
        self.hypotheses = HypothesesPanel(tab, tabs.add_tab("Hypotheses"))
        with tabs.add_tab("Plots"):
            self.plots = self.gui.add_html("")
        with tabs.add_tab("Pads"):
            self.contacts = self.gui.add_html("")
            with self.gui.add_folder("Pressures on the tactile arrays"):
                self.pads = self.gui.add_html("")
        with tabs.add_tab("Task"):
            self.task = TaskPanel(tab)
        self._legend_panel = self.gui.add_panel()
        with self._legend_panel.add_tab("Colours"):
            self.legend = self.gui.add_html("")
        self._legend_panel.float(x=14, y=-14, width=250)
        self._drawn = self.gui.add_html("")

    def _add_timeline(self) -> None:
        gui, tab = self.gui, self.tab
        self.slider = gui.add_slider("Time [s]", min=0.0, max=1.0, step=0.01, initial_value=0.0)
        self.play = gui.add_button_group("Play", ("play", "pause", "start", "end"))
        self.speed = gui.add_dropdown("Speed", tuple(SPEEDS), initial_value="1")
        self.numbers = gui.add_html("")

        @self.slider.on_update
        def _(event: Any) -> None:
            if event.client_id is None:  # moved by the player, not by the user
                return
            # A quick drag reports faster than pictures are made: the next one to get the lock shows the newest time.
            with tab.lock:
                if (time := float(self.slider.value)) != tab.player.time:
                    tab.show_time(time, dragged=True)

        @self.play.on_click
        def _(event: Any) -> None:
            if event.target.value == "play":
                tab.player.play()
                return
            tab.player.pause()
            ends = {"start": 0.0, "end": tab.player.duration}
            tab.show_time(ends.get(event.target.value, tab.player.time))

        @self.speed.on_update
        def _(_: Any) -> None:
            tab.player.speed = SPEEDS[self.speed.value]

    def _add_view_options(self) -> None:
        gui, tab = self.gui, self.tab
        self.colour_by = gui.add_dropdown("Colour by", tuple(c.value for c in ColourBy), initial_value="displacement")
        opacity = gui.add_slider("Hand opacity", min=0.05, max=1.0, step=0.05, initial_value=0.45)
        exaggerate = gui.add_slider("Deformation ×", min=1.0, max=10.0, step=0.5, initial_value=1.0)
        for label, field in (
            ("Arm", "arm"),
            ("Forces", "forces"),
            ("Labels", "labels"),
            ("Friction cones", "cones"),
            ("Centre of mass", "centres"),
            ("Pad dents", "dents"),
        ):
            box = gui.add_checkbox(label, initial_value=bool(getattr(tab.options, field)))
            box.on_update(lambda event, field=field: tab.restyle(**{field: bool(event.target.value)}))
        self.colour_by.on_update(lambda _: tab.restyle(colour_by=ColourBy(self.colour_by.value)))
        opacity.on_update(lambda _: tab.restyle(hand_opacity=float(opacity.value)))
        exaggerate.on_update(lambda _: tab.restyle(exaggerate=float(exaggerate.value)))
        gui.add_html(_symbols())

    # -- what has changed ----------------------------------------------------------------------------------------

    def show_task(self, *, keep_fields: bool = False) -> None:
        """Another task or plan is open; ``keep_fields`` as for `Tab.open`."""
        self.hypotheses.show_plan(self.tab.plan)
        self.task.show_task(keep_fields=keep_fields)
        self.show_rank()
        self._drawn.content = DRAWN

    def _show_summary(self) -> None:
        tab = self.tab
        assert tab.task is not None
        if tab.plan is not None:
            best, sentences = tab.plan.best, summary(tab.plan)
            if best is not None:
                sentences = [sentences[0], duration_text(best), ending_text(tab.plan)]
        elif tab.grasp is not None:
            sentences = [f"Best grasp so far: {holding_text(tab.task, tab.grasp)}.", duration_text(tab.grasp)]
        else:
            sentences = [f"{tab.task.assembly.name}: not planned yet. Change it under Task and press Plan."]
        self.summary.content = text_block(" ".join(filter(None, sentences)), "summary")

    def show_rank(self, *, dragged: bool = False) -> None:
        """Another grasp is shown."""
        self._show_summary()
        duration = self.tab.player.duration
        self.slider.max = max(round(duration, 2), 0.01)
        self.slider.visible = self.play.visible = self.speed.visible = duration > 0.0
        self.hypotheses.show_rank(self.tab.rank, dragged=dragged)
        self.show_legend()
        self.show_moment(every=True)

    def show_legend(self) -> None:
        """Colours mean something else."""
        plan_scene, by = self.tab.plan_scene, self.tab.options.colour_by
        bar = ""
        if plan_scene is not None and plan_scene.surface is not None and by is not ColourBy.PLAIN:
            bar = colour_bar(plan_scene.surface.top(by), title=by.quantity, unit=by.unit)
        self.legend.content = bar
        self._legend_panel.visible = bool(bar)

    def show_moment(self, *, every: bool, dragged: bool = False) -> None:
        """Another moment is shown.

        Args:
            every: plots and pads too; else they are made only now and then.
            dragged: by the slider, which stays where it is.
        """
        tab = self.tab
        if tab.plan_scene is None:
            return
        if not dragged:
            self.slider.value = round(min(tab.player.time, self.slider.max), 2)
        moment = tab.plan_scene.at(tab.player.time)
        if moment is None:
            self.numbers.content = self.plots.content = self.contacts.content = self.pads.content = ""
            return
        now = clock.monotonic()
        if not every and now - self._written_at < TEXT_INTERVAL:
            return
        self._written_at = now
        cells = "".join(
            f'<tr><td>{escape(row.name)}</td><td class="n" data-pliant="{row.key}">{escape(row.value)}</td></tr>'
            for row in moment_rows(moment)
        )
        self.numbers.content = block(f'<table class="pliant">{cells}</table>')
        if every or now - self._plotted_at > PLOT_INTERVAL:
            self._plotted_at = now
            self._show_plots_and_pads(moment)

    def _show_plots_and_pads(self, moment: Moment) -> None:
        task, grasp, measured = self.tab.task, self.tab.grasp, self.tab.measured
        assert task is not None and grasp is not None
        figures = grasp_figures(task, grasp, measured, cursor=moment.time)
        self.plots.content = "".join(f'<div style="padding:0 8px">{svg}</div>' for svg in figures.values())
        if moment.state is not None:
            # One column per contact: the panel is narrow, and fingers are fewer than quantities.
            columns = {row.pop("link").replace("_", " "): row for row in contact_rows(moment.state, moment.depth_share)}
            names = next(iter(columns.values()), {})
            rows = [{"link": name} | {link: column[name] for link, column in columns.items()} for name in names]
            self.contacts.content = block(table(rows), "pliant-scroll")
        else:
            self.contacts.content = text_block("Nothing touches yet.")
        if task.assembly.hand is not None and task.assembly.hand.tactile:
            picture = png_source(pad_image(task, moment, measured))
            self.pads.content = f'<img src="{picture}" alt="tactile arrays" style="max-width:100%">'
        else:
            self.pads.content = text_block("This hand has none.")


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
            item(css(PUSH), "push that the held object must bear", arrow),
            item(css(ARROW), "friction cone", cone),
            item(css(CENTRE), "centre of mass, deformed", ball),
            item("#ffffff", "centre of mass, undeformed", ball),
            item(css(GHOST), "ghost: the hand at a hypothesis", ball),
        ]
    )
