"""The list of hypotheses: kept grasps to choose from, rejected ones by stage, and ghosts of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pliant.planner import Plan, Rejection
from pliant.viewer.page.markup import block
from pliant.viewer.report.plan_text import grasp_title, rejection_rows, stages_of, table

if TYPE_CHECKING:
    from pliant.viewer.page.tab import Tab

MOST_BUTTONS = 12
"""Kept grasps with a button of their own; further ones have a slider."""
MOST_REJECTED = 400
"""Rejected hypotheses that are listed."""
MOST_GHOSTS = 60
ALL_STAGES = "all stages"
NOTHING = "none"


class HypothesesPanel:
    """The controls for the hypotheses of one plan after another.

    Args:
        tab: what they act on.
        container: viser's, where they are put.
    """

    def __init__(self, tab: Tab, container: Any) -> None:
        self.tab, self.container = tab, container
        self._handles: list[Any] = []
        self._rank_buttons: list[Any] = []
        self.rank_slider: Any = None
        self.rejected: Any = None

    def show_plan(self, plan: Plan | None) -> None:
        """Kept grasps as buttons, then the rejected hypotheses behind a filter."""
        for handle in self._handles:
            handle.remove()
        self._handles, self._rank_buttons, self.rank_slider, self.rejected = [], [], None, None
        if plan is None:
            return
        with self.container:
            self._add_kept(plan)
            self._add_rejected(plan)

    def show_rank(self, rank: int, *, dragged: bool = False) -> None:
        """Another grasp is shown; the slider stays where it is while it is dragged."""
        for k, button in enumerate(self._rank_buttons):
            button.color = (20, 90, 160) if k == rank else (150, 160, 172)
        if self.rank_slider is not None and not dragged:
            self.rank_slider.value = rank + 1
        if self.rejected is not None:  # its ghost has gone with the grasp before
            self.rejected.value = NOTHING

    def _add_kept(self, plan: Plan) -> None:
        tab, gui = self.tab, self.tab.client.gui
        for rank in range(min(len(plan.grasps), MOST_BUTTONS)):
            button = gui.add_button(grasp_title(plan, rank))
            button.on_click(lambda _, rank=rank: tab.show_rank(rank))
            self._rank_buttons.append(button)
        self._handles += self._rank_buttons
        if len(plan.grasps) <= MOST_BUTTONS:
            return
        self.rank_slider = gui.add_slider("Rank", min=1, max=len(plan.grasps), step=1, initial_value=1)
        self._handles.append(self.rank_slider)

        @self.rank_slider.on_update
        def _(event: Any) -> None:
            if event.client_id is None:  # moved by a button, not by the user
                return
            with tab.lock:  # as for the time: only the newest of a quick drag is drawn
                if (rank := int(event.target.value) - 1) != tab.rank:
                    tab.show_rank(rank, dragged=True)

    def _add_rejected(self, plan: Plan) -> None:
        tab, gui = self.tab, self.tab.client.gui
        ghosts = gui.add_button_group("Ghosts", (NOTHING, "kept", "rejected"))
        stage = gui.add_dropdown("Stage", (ALL_STAGES, *(s.value for s in stages_of(plan))))
        rejected = gui.add_dropdown("Show rejected", _names(plan.rejections))
        rejected_table = gui.add_html(_table(plan.rejections))
        self.rejected = rejected
        self._handles += [ghosts, stage, rejected, rejected_table]

        def chosen() -> list[Rejection]:
            return [r for r in plan.rejections if stage.value in (ALL_STAGES, r.stage.value)]

        # The locks: another plan may come, with other controls, while one of these events waits.
        @ghosts.on_click
        def _(event: Any) -> None:
            with tab.lock:
                if tab.plan is plan:
                    kept = [g.hypothesis.number for g in plan.grasps]
                    others = [r.number for r in chosen()][:MOST_GHOSTS]
                    tab.show_hypotheses({"kept": kept, "rejected": others}.get(event.target.value, []))

        @stage.on_update
        def _(_: Any) -> None:
            with tab.lock:
                if tab.plan is plan:
                    rejected.options, rejected.value = _names(chosen()), NOTHING
                    rejected_table.content = _table(chosen())

        @rejected.on_update
        def _(event: Any) -> None:
            with tab.lock:
                if tab.plan is plan:
                    value = event.target.value
                    tab.show_hypotheses([] if value == NOTHING else [int(value.split(":")[0].lstrip("#"))])


def _names(rejections: Sequence[Rejection]) -> tuple[str, ...]:
    return (NOTHING, *(f"#{r.number}: {r.stage.value}: {r.reason}" for r in rejections[:MOST_REJECTED]))


def _table(rejections: Sequence[Rejection]) -> str:
    rows = []
    for row in rejection_rows(rejections[:MOST_REJECTED]):
        detail = f" ({row['detail']})" if row["detail"] else ""
        why = f"{row['stage']}: {row['reason']}{detail}"
        rows.append({"hypothesis": row["hypothesis"], "why it was rejected": why, "short by": row["short by"]})
    more = len(rejections) - len(rows)
    return block(
        f'<div class="pliant-text">{len(rejections)} rejected</div>'
        f'<div class="pliant-scroll">{table(rows)}</div>'
        + (f'<div class="pliant-text">and {more} more</div>' if more > 0 else "")
    )
