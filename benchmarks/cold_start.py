"""How long does a command take on a machine that has never run it, and how long the second time?

    python benchmarks/cold_start.py [--commands plan,check,...] [--out out/benchmarks/cold_start.json]

Everything that pliant keeps is new: what the inner loops were compiled to and what objects were prepared. Python's own
byte code is there, as after an installation. `plan` comes first, so the commands after it find what it compiled;
`ik_new` has an empty cache of its own. Wall time means something only on a machine that does nothing else; CPU time is
that of all processes. The targets are of issue 22: on two cores, 30 s for the first plan and 4 s for the second.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from record import about, write

ROOT = Path(__file__).parent.parent
IK = ["ik", "kawasaki_fs020n", "--samples", "20"]
COMMANDS: dict[str, tuple[list[str], float | None, float | None]] = {
    "plan": (["plan", "ball", "--effort", "quick", "--out", "{folder}/ball.plan"], 30.0, 4.0),
    "check": (["check", "{folder}/ball.plan"], 2.0, 2.0),
    "forces": (["forces", str(ROOT / "examples" / "grasps" / "pinch.yaml")], 2.0, 2.0),
    "ik": (IK, 2.0, 2.0),
    "robots": (["robots"], 2.0, 2.0),
    "ik_new": (IK, None, 2.0),
    "demo": (["demo", "--no-view", "--out", "{folder}/demo"], 90.0, None),
}
"""What to run, and the wall time wanted [s] for the first time and again."""


def timed(arguments: list[str], caches: Path) -> dict[str, float]:
    """Wall and CPU time of a command and all its processes [s]."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"NUMBA_CACHE_DIR": str(caches / "numba"), "PLIANT_CACHE": str(caches / "pliant")}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "pliant", *arguments]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(arguments)}: {ended.stderr}")
    return {"wall_s": wall, "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def main() -> None:
    """Run, print the table, write the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", default=",".join(COMMANDS), help="which of them, in this order")
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks/cold_start.json"))
    wanted = parser.parse_args()
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(
            f"{'':8} {'first: wall':>12} {'CPU [s]':>8} {'wanted':>7} {'again: wall':>12} {'CPU [s]':>8} {'wanted':>7}"
        )
        for command in wanted.commands.split(","):
            words, first_s, again_s = COMMANDS[command]
            arguments = [word.format(folder=folder) for word in words]
            caches = folder / ("new" if command == "ik_new" else "shared")
            first, again = timed(arguments, caches), timed(arguments, caches)
            compiled = len(list((caches / "numba").rglob("*.nbc")))
            rows[command] = {"first": first, "again": again, "wanted_s": [first_s, again_s], "compiled": compiled}
            print(
                f"{command:8} {first['wall_s']:12.1f} {first['cpu_s']:8.1f} {first_s or '':>7} "
                f"{again['wall_s']:12.1f} {again['cpu_s']:8.1f} {again_s or '':>7}   {compiled} loops in the cache"
            )
    write(wanted.out, {**about("numba", "llvmlite"), "load": os.getloadavg()[0], "commands": rows})


if __name__ == "__main__":
    main()
