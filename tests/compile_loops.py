"""Compiles the inner loops that most tests need, for all their processes: what `pliant doctor --compile` does, a made
plan, a searched one, its pictures.

Where they are compiled already this takes a few seconds.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path


def main() -> None:
    """What is prepared on the way goes with its folder; what is compiled stays where the compiler keeps it."""
    sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "planner")]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLIANT_CACHE"] = folder
        import small_tasks

        import made_plans
        from pliant.compiling import compile_loops
        from pliant.viewer import save_stills

        compile_loops()  # as a first plan does in a second process, where nobody would hear of a failure
        save_stills(made_plans.ball_plan(), Path(folder))
        made_plans.ball_plan(liquid=True)
        small_tasks.ball_plan()


if __name__ == "__main__":
    main()
