"""The fenced blocks of the documentation's pages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]

# Pages whose blocks build on each other, in reading order: one folder, as a reader would work through them.
WALKED = ("first_plan.md", "own_object.md", "own_arm.md", "reading_a_plan.md", "execution.md", "hardware.md")

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"\A(?:# |<!-- )([\w./-]+\.(?:py|yaml|urdf))(?: -->)?\n")


@dataclass(frozen=True)
class Block:
    """One block: language, text, first line, and the file that its first line names, if it names one."""

    language: str
    text: str
    line: int
    file: str | None


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page, in order."""
    text = page.read_text()
    found = []
    for match in _FENCE.finditer(text):
        named = _NAMED.match(match[2])
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(match[1], match[2], line, named[1] if named else None))
    return found
