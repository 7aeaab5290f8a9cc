"""The pages that a newcomer works through, carried out in their order in one folder, as printed.

Files that a block names are written, Python runs, commands run; what they print is compared with what the page shows.
Numbers may differ from machine to machine; words may not, but for one line in five.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doc_blocks import DOCS, ROOT, WALKED, Block, blocks_of

from pliant.cli import run_command as run

PORT = "47001"
"""The port that the pages use. Tests of another checkout may run on this machine, so the reader takes a free one."""
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Reader:
    """Someone who does what the pages say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.running: list[subprocess.Popen[str]] = []
        self.port = _free_port()

    def work_through(self, page: Path) -> None:
        printed = ""
        for block in blocks_of(page):
            where = f"{page.name} line {block.line}"
            if block.file is not None:
                (self.folder / block.file).write_text(block.text.replace(PORT, self.port))
            elif block.language == "python":
                with _captured() as out:
                    exec(compile(block.text, where, "exec"), self.names)
                printed = out.getvalue()
            elif block.language == "text" and printed:
                _compare(block.text, printed, where)
                printed = ""
            elif block.language == "console":
                self._type(block, where)
        self.end_background()

    def _type(self, block: Block, where: str) -> None:
        for entry in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, expected = entry.partition("\n")
            command, _, remark = command.partition("  # ")
            said = re.search(r"exit code (\d)", remark)
            words = shlex.split(command)
            if words[-1] == "&":
                self._start(words[:-1], expected)
                continue
            assert words[0] == "pliant", f"{where}: {command}"
            with _captured() as out:
                code = run(words[1:])
            assert code == (int(said[1]) if said else 0), f"{where}: {command}\n{out.getvalue()}"
            _compare(expected, out.getvalue(), f"{where}: {command}")

    def _start(self, words: list[str], expected: str) -> None:
        """A program in the background; it is ready when it has printed its first line."""
        assert words[0] == "python"
        self.end_background()
        script = str(ROOT / words[1])
        arguments = [sys.executable, script, *words[2:], "--port", self.port]
        program = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        self.running.append(program)
        assert program.stdout is not None
        _compare(expected, program.stdout.readline(), script)

    def end_background(self) -> None:
        while self.running:
            program = self.running.pop()
            program.kill()
            program.communicate()


def _free_port() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield out


def _words(text: str) -> list[str]:
    """Lines without their numbers, frames and spaces."""
    lines = [NUMBER.sub("#", re.sub(r"[^\w.,:;()%+/'-]+", " ", line)) for line in text.splitlines()]
    return [line.strip() for line in lines if line.strip()]


def _compare(expected: str, printed: str, where: str) -> None:
    wanted = [line for line in _words(expected) if line != "..."]
    got = set(_words(printed))
    missing = [line for line in wanted if line not in got]
    assert len(missing) <= len(wanted) // 5, f"{where}: not printed:\n" + "\n".join(missing) + f"\nbut:\n{printed}"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_pages_do_what_they_show(tmp_path: Path, coarse_lab: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(os.environ, "COLUMNS", "100")
    reader = Reader(tmp_path)
    try:
        for name in WALKED:
            reader.work_through(DOCS / name)
    finally:
        reader.end_background()
        for module in ("udp_hand",):
            sys.modules.pop(module, None)


def test_numbers_may_differ_and_words_may_not() -> None:
    _compare("held\nforce 1.2 N", "held\nforce 3.4e-5 N\nmore", "here")
    with pytest.raises(AssertionError, match="not printed"):
        _compare("held\nforce 1.2 N", "dropped\nforce 1.2 N", "here")


def test_an_exit_code_that_the_page_does_not_show_is_caught(tmp_path: Path) -> None:
    block = Block("console", "$ pliant check nowhere.yaml\n", 1, None)
    with pytest.raises(AssertionError, match=r"page: pliant check nowhere\.yaml"):
        Reader(tmp_path)._type(block, "page")
