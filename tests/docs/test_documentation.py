"""Every block of the documentation is true: Python runs, commands parse, YAML fits its schema, links lead somewhere.

Blocks named ``console`` are carried out word for word by ``test_walkthrough.py``.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from doc_blocks import DOCS, PAGES, ROOT, WALKED, Block, blocks_of

from pliant.cli import COMMANDS, _application
from pliant.documents import parse_document, read_mapping
from pliant.files import TaskFile
from pliant.motion import PathFile
from pliant.robot import ArmDescription, HandDescription

LANGUAGES = {"python", "sh", "yaml", "xml", "console", "text", "mermaid"}
PYTHON = [
    (page, block)
    for page in PAGES
    if page.name not in WALKED
    for block in blocks_of(page)
    if block.language == "python" and block.file is None
]


def named(values: list[tuple[Path, Block]]) -> list[str]:
    return [f"{page.name}:{block.line}" for page, block in values]


def test_whatever_the_page_on_security_says_is_enforced_has_a_test() -> None:
    text = (DOCS / "security.md").read_text()
    tests = ROOT / "tests"
    names = re.findall(r"`((?:tests/\w+/)?test_[\w*]+)`", text)
    assert len(names) > 30
    for name in names:
        where = [ROOT] if "/" in name else [tests / "robustness", tests]
        assert any(list(folder.glob(f"{name}.py")) for folder in where), name
    enforced = text.partition("| enforced | test |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len(enforced) > 10 and all("`" in line.rpartition("|")[0].rpartition("|")[2] for line in enforced)
    for module in re.findall(r"`pliant\.([a-z_.]+)`", text):
        assert list((ROOT / "src" / "pliant").glob(f"{module.replace('.', '/')}*")), module


@pytest.mark.parametrize(("page", "block"), PYTHON, ids=named(PYTHON))
def test_python_block_runs(page: Path, block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block.text, f"{page.name} line {block.line}", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    for block in blocks_of(page):
        assert block.language in LANGUAGES, f"line {block.line}"


def commands_of(block: Block) -> list[list[str]]:
    """The arguments of every `pliant` command of a block."""
    found = []
    for line in block.text.replace("\\\n", " ").splitlines():
        line = line.removeprefix("$ ")
        if line.startswith("pliant "):
            words = shlex.split(line.split(" | ")[0].removesuffix("&"), comments=True)
            found.append(words[1:])
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_shown_exist_and_take_the_options_shown(page: Path) -> None:
    application: Any = _application()
    for block in blocks_of(page):
        if block.language not in ("sh", "console"):
            continue
        for words in commands_of(block):
            if words[0].startswith("-"):
                continue
            assert words[0] in COMMANDS, f"line {block.line}: {words[0]}"
            try:
                application.commands[words[0]].make_context(words[0], list(words[1:]))
            except typer.Exit:
                pass  # --help
            except Exception as bad:
                pytest.fail(f"{page.name} line {block.line}: pliant {shlex.join(words)}: {bad}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_blocks_fit_the_schema_of_what_they_show(page: Path, tmp_path: Path) -> None:
    for block in blocks_of(page):
        if block.language != "yaml":
            continue
        (tmp_path / "block.yaml").write_text(block.text)
        content = read_mapping(tmp_path / "block.yaml")
        kind = content.get("kind")
        if "robot" in content:
            parse_document(content, TaskFile, source=page.name)
        elif kind in ("arm", "hand"):
            parse_document(content, ArmDescription if kind == "arm" else HandDescription, source=page.name)
        elif "frames" in content:
            parse_document(content, PathFile, source=page.name)
        else:
            pytest.fail(f"line {block.line}: neither task nor arm, hand or path")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_pictures_exist(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)]*)?\)", page.read_text()):
        if "://" in target:
            continue
        there = page.parent / target if target else page
        assert there.exists(), target
        if anchor:
            assert anchor[1:] in anchors(there), anchor


def anchors(page: Path) -> set[str]:
    """Places within a page that a link can name: its headings, as they are usually shortened."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_table_of_contents() -> None:
    index = (DOCS / "index.md").read_text()
    for page in DOCS.glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, page.name


def test_pictures_are_small_and_used() -> None:
    text = "".join(page.read_text() for page in PAGES)
    for picture in (DOCS / "pictures").iterdir():
        assert picture.stat().st_size < 170_000, picture.name
        assert picture.name in text, f"{picture.name} is shown nowhere"


def test_no_page_is_larger_than_a_reader_can_take() -> None:
    for page in PAGES:
        assert len(page.read_text().splitlines()) < 320, page.name


def test_every_section_that_is_cited_is_in_the_table_of_sections() -> None:
    table = (DOCS / "architecture.md").read_text().partition("## Section numbers")[2]
    listed: set[str] = set()
    for first, last in re.findall(r"^\| ([\d.]+)(?: - ([\d.]+))? \|", table, re.MULTILINE):
        chapter, _, number = first.partition(".")
        to = last.partition(".")[2] or number
        listed |= {f"{chapter}.{n}" for n in range(int(number), int(to) + 1)} if number else {first}
    for root in ("src", "tests", "benchmarks", "tools", "examples"):
        for path in (DOCS.parent / root).rglob("*.py"):
            # The number may stand on the next line, and several after one word; (5) is an equation, [C, 9] a source.
            for numbers in re.findall(r"\btheory\s+(\d+(?:\.\d+)?(?:, \d+\.\d+)*)", path.read_text()):
                for number in numbers.split(", "):
                    inside = any(section.startswith(f"{number}.") for section in listed)
                    assert number in listed or inside, f"{path}: theory {number}"
