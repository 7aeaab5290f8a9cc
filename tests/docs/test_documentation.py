"""Every Python block of the documentation runs; every command block's commands exist; every link leads somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pliant.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


PYTHON = [(page, i) for page in PAGES for i in range(len(blocks(page, "python")))]


@pytest.mark.parametrize(("page", "i"), PYTHON, ids=[f"{page.name}-{i}" for page, i in PYTHON])
def test_python_block_runs(page: Path, i: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks(page, "python")[i], f"{page.name} block {i}", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_shown_exist(page: Path) -> None:
    for block in blocks(page, "sh"):
        for name in re.findall(r"^pliant (\w+)", block, re.MULTILINE):
            assert name in COMMANDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
