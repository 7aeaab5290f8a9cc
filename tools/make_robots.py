"""Write the shipped robots (URDF and meshes) from their makers: python tools/make_robots.py [FOLDER]."""

from __future__ import annotations

import sys
from pathlib import Path

from robot_makers import allegro_like, kawasaki_fs020n, parallel_gripper, schunk_sdh2

MAKERS = {
    "schunk_sdh2": schunk_sdh2.make,
    "kawasaki_fs020n": kawasaki_fs020n.make,
    "allegro_like": allegro_like.make,
    "parallel_gripper": parallel_gripper.make,
}


def main(folder: Path) -> None:
    for name, make in MAKERS.items():
        make(folder / name)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else here / "src" / "pliant" / "robot" / "shipped")
