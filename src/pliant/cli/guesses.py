"""What was guessed about a robot, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.robot import Guess


def guess_answers(guesses: Sequence[Guess]) -> list[dict[str, Any]]:
    """For the JSON answer."""
    return [{"what": g.about, "value": g.what, "sure": round(g.confidence, 2), "why": g.reason} for g in guesses]


def print_guesses(title: str, guesses: Sequence[Guess]) -> None:
    """A table."""
    from rich.console import Console
    from rich.table import Table

    table = Table("about", "guess", "why", "sure", title=title)
    for guess in guesses:
        table.add_row(guess.about, guess.what, guess.reason, f"{100 * guess.confidence:.0f} %")
    Console(soft_wrap=True, highlight=False, emoji=False, markup=False).print(table)
