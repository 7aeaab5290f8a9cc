"""Asking the command line questions that make no sense, and damaging sound files on purpose.

What must hold of every answer is said once, in `ask`: an exit code of the contract, words instead of a traceback, an
end in bounded time and memory, and nothing written when the question was broken.

PLIANT_FUZZ_EXAMPLES raises the number of examples of every fuzz test, PLIANT_FUZZ_SEED draws other ones.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import yaml
from hypothesis import strategies as st

from pliant.cli import run_command as run

EXAMPLES = int(os.environ.get("PLIANT_FUZZ_EXAMPLES", "0"))
CPU_LIMIT = 20.0
"""Of one answer in this process, libraries loaded before [s]."""
MEMORY_LIMIT = 1.5e9
"""By which an answer may raise the peak of this process [bytes]."""


def fuzz(few: int, **strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A property tested with ``few`` examples, the same in every run unless the environment says otherwise."""
    seed = os.environ.get("PLIANT_FUZZ_SEED")

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        bounded = hypothesis.settings(
            max_examples=max(few, EXAMPLES),
            deadline=None,
            derandomize=seed is None,
            database=None,
            suppress_health_check=list(hypothesis.HealthCheck),
            # Making a failure smaller takes many runs of what may be slow; the example as found is enough to mend it.
            phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
        )(hypothesis.given(**strategies)(test))
        return bounded if seed is None else hypothesis.seed(int(seed))(bounded)

    return decorate


@dataclass(frozen=True)
class Answer:
    """What came back: exit code, both streams."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        return self.out + self.err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@contextlib.contextmanager
def empty_folder() -> Iterator[Path]:
    """A fresh folder to be in, gone afterwards."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="pliant-fuzz-") as name:
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def ask(*arguments: str | Path, allowed: tuple[int, ...] = (0, 2), cpu: float = CPU_LIMIT) -> Answer:
    """Run a command in this process and hold its answer to the contract."""
    before = _listing(Path.cwd())
    out, err = io.StringIO(), io.StringIO()
    peak, began = _peak(), time.process_time()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    spent, grown = time.process_time() - began, _peak() - peak
    answer = Answer(code, out.getvalue(), err.getvalue())
    told = f"{arguments}\n{answer.code}\n{answer.words[-3000:]}"
    assert "Traceback" not in answer.words and "internal error" not in answer.words, told
    assert code in allowed, told
    assert spent < cpu, f"{spent:.1f} s: {told}"
    assert grown < MEMORY_LIMIT, f"{grown / 1e6:.0f} MB: {told}"
    if code == 2:
        assert len(answer.words.strip()) > 10, f"no word of explanation: {told}"
        assert "--json" in arguments or len(answer.words) < 20_000, "an explanation nobody can read"
        assert _listing(Path.cwd()) == before, f"something was left behind: {told}"
    assert not [name for name in _listing(Path.cwd()) - before if "partial" in name or ".part" in name], told
    return answer


def _listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# -- damage ----------------------------------------------------------------------------------------------------------

NASTY_WORDS = (
    "nan", "inf", "-inf", "-1", "0", "1e308", "-1e308", "1e-320", "99999999999999999999", "4294967295", "", "x", "\x00",
    "../../../../etc/passwd", "%s%n", "'", '"', "<", "&", "é", "\U0001f60a", "1e999", "0x10", "-0", "true", "null",
)  # fmt: skip
NASTY_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 0.0, -0.0, 1e-300, 1e300, -1e300, float("nan"), float("inf"),
    float("-inf"), "", "x", "x" * 5000, "nan", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd",
    "http://127.0.0.1/x", "\x00", "\u202e", [], [[]], {}, {"x": 1}, [0, 0, 0], [1e300, 1, 1], [None] * 3, [1] * 1000,
    [0.0, 0.0, 0.0, 0.0], {"": 1}, "[red]x[/]",
)  # fmt: skip


def damaged(data: bytes, seed: int) -> bytes:
    """``data`` with one to four things wrong in it: bits, bytes, words, pieces lost, doubled or moved."""
    rng = random.Random(seed)
    for _ in range(rng.choice((1, 1, 2, 4))):
        if not data:
            return data
        at = rng.randrange(len(data))
        end = min(len(data), at + rng.choice((1, 2, 4, 8, 50, 1000)))
        what = rng.randrange(8)
        if what == 0:
            data = data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        elif what == 1:
            data = data[:at] + rng.choice((b"\x00", b"\xff", b"\x80", b"\n")) * (end - at) + data[end:]
        elif what == 2:
            data = data[:at] + data[end:]
        elif what == 3:
            data = data[:at] + data[at:end] * rng.choice((2, 3, 100)) + data[end:]
        elif what == 4:
            data = data[:at]
        elif what == 5:
            data = data[:at] + rng.choice(NASTY_WORDS).encode() + data[end:]
        elif what == 6:
            other = rng.randrange(len(data))
            data = data[:at] + data[other : other + end - at] + data[end:]
        else:
            data = _word_replaced(data, at, rng)
    return data


def _word_replaced(data: bytes, at: int, rng: random.Random) -> bytes:
    """The number or word at a place becomes another one; of binary data, eight bytes do."""
    stops = b" \n\t\"'=:,[]{}<>/"
    first = max((data.rfind(bytes([stop]), 0, at) for stop in stops), default=-1) + 1
    ends = [found for stop in stops if (found := data.find(bytes([stop]), at)) >= 0]
    last = min(ends, default=len(data))
    if last - first > 40:
        return data[:at] + rng.choice((b"\xff" * 8, b"\x00" * 8, b"\x00\x00\xc0\x7f" * 2)) + data[at + 8 :]
    return data[:first] + rng.choice(NASTY_WORDS).encode() + data[last:]


def rewritten(tree: Any, seed: int) -> Any:
    """A document's plain data with one to three places changed: values, fields lost, doubled, renamed or foreign."""
    rng = random.Random(seed)
    tree = json.loads(json.dumps(tree))
    for _ in range(rng.choice((1, 1, 2, 3))):
        places = list(_places(tree))
        if not places:
            return tree
        container, key = rng.choice(places)
        what = rng.randrange(6)
        if what <= 2:
            container[key] = copy.deepcopy(rng.choice(NASTY_VALUES))  # what comes next may change it
        elif what == 3:
            del container[key]
        elif what == 4 and isinstance(container, dict):
            container[rng.choice(("x", "kind", "name", f"{key}s"))] = container[key]
        elif what == 4:
            container.extend([container[key]] * rng.choice((1, 2, 200)))
        else:
            other, place = rng.choice(places)
            with contextlib.suppress(KeyError, IndexError):  # it may just have gone
                container[key] = json.loads(json.dumps(other[place]))
        if isinstance(container, dict) and rng.random() < 0.1:
            container["foreign"] = copy.deepcopy(rng.choice(NASTY_VALUES))
    return tree


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def write_yaml(path: Path, tree: Any) -> Path:
    path.write_text(yaml.safe_dump(tree, allow_unicode=True), encoding="utf-8")
    return path


seeds = st.integers(0, 2**32)
