"""The example of this package runs and ends in its checked number."""

from __future__ import annotations

import runpy
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "05_smallest_forces.py"


def test_example_of_the_smallest_forces_ends_in_the_closed_form(capsys) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert "closed form W / (3 mu) = 3.270000 N" in capsys.readouterr().out
