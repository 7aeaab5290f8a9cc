"""Long lists of small wrong things: refused in words, in time that grows as the file does, within a gigabyte.

Every file is refused at two sizes in one process with a limit of memory; see `hostile`. Each would take hours, or
gigabytes, if what is wrong in one place were compared with what is wrong in all others.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hostile import GROWTH, HOSTILE, SHORTEST

HERE = Path(__file__).parent
ACCEPTED = {"urdf_tags": 0, "grasp_one_point": 1}
"""What is passed over with a note, and what is answered by a no."""
LIMIT = 1800
"""Of the whole process [s]; it takes less than a minute of CPU time, on a busy machine many times that."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("hostile")
    paths = os.pathsep.join([str(HERE.parent), *filter(None, sys.path)])
    command = [sys.executable, str(HERE / "hostile.py"), str(folder)]
    with (folder / "answers").open("wb+") as out, (folder / "errors").open("wb+") as errors:
        done = subprocess.run(command, stdout=out, stderr=errors, env=os.environ | {"PYTHONPATH": paths}, timeout=LIMIT)
        lines = (folder / "answers").read_text().splitlines()
        assert done.returncode == 0, f"after {len(lines)} files: {(folder / 'errors').read_text()[-2000:]}"
    return {answer["name"]: answer for answer in map(json.loads, lines)}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_long_list_of_small_wrong_things_is_refused_in_linear_time(name: str, answers: dict[str, Any]) -> None:
    answer = answers[name]
    assert answer["codes"] == [ACCEPTED.get(name, 2)], answer["words"]  # 3 where the memory did not suffice
    assert "Traceback" not in answer["words"] and 20 < answer["length"] < 20_000
    small, large = answer["seconds"]
    assert large <= GROWTH * max(small, SHORTEST), f"{small:.2f} s, then {large:.2f} s: {answer['words'][:300]}"
