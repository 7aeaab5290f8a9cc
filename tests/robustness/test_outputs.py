"""Standard output that is closed, full, read by nobody or a terminal; Ctrl-C while compiled code runs."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzzing import write_yaml

import pliant.files
from made_plans import ball_plan
from pliant.cli import main, run_command
from pliant.cli.output import Output
from pliant.errors import OptionError
from pliant.file_bytes import write_bytes
from pliant.files import save_plan
from pliant.objects import make_shape, write_mesh

SHIPPED = Path(pliant.files.__file__).parent / "shipped"

SLIPPING = {
    "contacts": [{"point": [x, 0, 0], "normal": [-x, 0, 0], "friction": 1e-3, "max_force": 1} for x in (0.03, -0.03)],
    "external": {"force": [0, 0, -9.0]},
}


def pliant(
    *arguments: str, folder: Path, stdout: object = subprocess.DEVNULL, before: Callable[[], None] | None = None
):
    command = [sys.executable, "-m", "pliant", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=stdout, stderr=subprocess.PIPE, text=True, preexec_fn=before)


def ended(process) -> tuple[int, str]:
    errors = process.communicate(timeout=120)[1]
    assert "Traceback" not in errors and "our fault" not in errors and "Exception ignored" not in errors
    return process.returncode, errors


def test_an_answer_that_nobody_reads_is_still_the_answer(tmp_path: Path) -> None:
    """`pliant ... | head -c 1`: a no is a no, whoever has gone."""
    write_yaml(tmp_path / "g.yaml", SLIPPING)
    reader, writer = os.pipe()
    os.close(reader)
    process = pliant("forces", "g.yaml", "--json", folder=tmp_path, stdout=writer)
    os.close(writer)
    assert ended(process)[0] == 1


def test_a_full_device_is_said_once_and_is_not_our_fault(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        code, errors = ended(pliant("robots", "--json", folder=tmp_path, stdout=full))
    assert code == 2
    assert errors.strip() == "pliant: the answer cannot be written: No space left on device"


def test_output_that_was_closed_is_no_place_for_a_file_that_is_written(tmp_path: Path) -> None:
    """`pliant ... >&-`: the next file that is opened must not become the standard output."""
    process = pliant(
        "objects", "sphere", "--out", "s.stl", folder=tmp_path, stdout=None, before=lambda: (os.close(1), os.close(0))
    )
    assert ended(process)[0] == 0
    size = (tmp_path / "s.stl").stat().st_size
    assert (size - 84) % 50 == 0  # triangles alone


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_text_of_strangers_does_not_command_the_terminal(stream: type[io.StringIO]) -> None:
    behind = stream()
    out = Output(behind)
    out.write("\x1b]0;title\x07 \x9b2J \u202eevil \x1bc \udcff \x08\n\tplain, \u00e9 \u4e2d\n")
    shown = behind.getvalue()
    assert not set(shown) & set("\x1b\x07\x9b\u202e\udcff\x08")
    assert "\\x1b]0;title" in shown and shown.endswith("\n\tplain, \u00e9 \u4e2d\n")
    out.write("\x1b[31mred\x1b[0m")  # of ours, to a terminal
    assert ("\x1b[31m" in behind.getvalue()) == behind.isatty()


def test_control_characters_in_a_file_are_shown_as_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.yaml").write_text('"\\e[31mrobot\\x9b2J": 1\nobject: 2\n')
    (tmp_path / "r.urdf").write_text('<robot name="r"><link name="a&#155;2J&#x202e;&#10;b: ok"/></robot>')
    assert run_command(["check", str(tmp_path / "t.yaml"), str(tmp_path / "r.urdf")]) == 2
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x9b\u202e")
    assert "b: ok" not in shown.splitlines()


@pytest.mark.parametrize("name", [b"t\xff.yaml", b"t\x1b[31m.yaml", b"t\n.yaml", b"...yaml", b"a\\b.yaml"])
def test_a_task_whose_name_no_plan_can_have_is_refused_before_the_work(
    name: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pliant.planner.plan", lambda *_, **__: pytest.fail("it was planned"))
    file = f"{tmp_path}/{os.fsdecode(name)}"
    task = {"robot": {"hand": "parallel_gripper"}, "object": {"shape": {"sphere": {"radius": 0.03}}, "mass": 0.1}}
    task["object"]["material"] = {"young": 1e5, "poisson": 0.4}
    write_yaml(Path(file), task)
    assert run_command(["plan", file]) == 2
    assert "name" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["n" * 300 + ".plan", "a\x1b.plan", "a\udcff.plan"])
def test_a_plan_that_could_not_be_saved_is_not_begun(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pliant.planner.plan", lambda *_, **__: pytest.fail("it was planned"))
    assert run_command(["plan", "ball_gripper", "--out", str(tmp_path / name)]) == 2


def test_what_is_read_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--out` names the question itself: it would be gone, and often of another kind."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(SHIPPED / "ball_gripper.yaml", "t.yaml")
    write_yaml(
        Path("p.yaml"), {"duration": 0.1, "rate_hz": 100, "frames": [{"link": "flange", "path": {"here": True}}]}
    )
    save_plan(ball_plan(), "p.plan")
    write_mesh(make_shape("box", edge=0.05), "m.obj")
    Path("link").symlink_to("p.plan")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for command in (
        ["plan", "t.yaml", "--out", "t.yaml"],
        ["report", "p.plan", "--out", "p.plan"],
        ["report", "p.plan", "--out", "link"],
        ["run", "p.plan", "--out", "./p.plan"],
        ["servo", "kawasaki_fs020n", "p.yaml", "--out", "p.yaml"],
        ["calibrate", "t.yaml", "--plan", "p.plan", "--out", "t.yaml"],
        ["objects", "repair", "m.obj", "--out", "m.obj"],
        ["export", "p.plan", "--format", "csv", "--out", str(tmp_path / "p.plan")],
    ):
        assert run_command(command) == 2, command
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_names_of_streams_are_no_files_and_loops_of_links_no_fault_of_ours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever may write to /dev would replace the link that all programs use."""
    with pytest.raises(OptionError, match="is a device or a pipe"):
        write_bytes(Path("/dev/stdout"), b"", error=OptionError)
    with pytest.raises(OptionError, match="is a device or a pipe"):
        write_bytes(Path("/proc/self/fd/1"), b"", error=OptionError)
    (tmp_path / "a").symlink_to("a")
    save_plan(ball_plan(), tmp_path / "p.plan")
    assert run_command(["export", str(tmp_path / "p.plan"), "--format", "csv", "--out", str(tmp_path / "a")]) in (0, 2)
    assert run_command(["export", str(tmp_path / "a"), "--format", "csv", "--out", str(tmp_path / "b")]) == 2


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG, errno.EMFILE])
def test_a_disk_that_is_full_while_anything_is_written_is_not_our_fault(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), "log.jsonl")

    monkeypatch.setattr("pliant.files.load_task", full)
    assert run_command(["plan", "ball_gripper", "--json"]) == 2
    said = capsys.readouterr()
    assert "our fault" not in said.err and os.strerror(number) in said.err
    assert json.loads(said.out)["error"]["source"] == "log.jsonl"


def test_ctrl_c_that_arrives_as_a_failure_of_compiled_code_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def compiled(*_: object, **__: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as pressed:
            raise SystemError("<built-in function f> returned a result with an exception set") from pressed

    monkeypatch.setattr("pliant.files.load_task", compiled)
    assert run_command(["plan", "ball_gripper"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_ctrl_c_that_compiled_code_makes_another_error_of_is_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As numpy does, which then speaks of structured arrays."""

    def compiled(*_: object, **__: object) -> None:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise TypeError("Cannot compare structured arrays")

    monkeypatch.setattr("pliant.files.load_task", compiled)
    monkeypatch.setattr("pliant.cli.ctrl_c", threading.Event())
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(SystemExit) as ended, monkeypatch.context() as streams:
        streams.setattr("pliant.cli.output.use_outputs", lambda: (Output(sys.stdout), Output(sys.stderr)))
        main(["plan", "ball_gripper"])
    signal.signal(signal.SIGINT, before)
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor a device: who may write to its folder would lose it, /dev/null say."""
    os.mkfifo(tmp_path / "p.stl")
    assert run_command(["objects", "sphere", "--out", str(tmp_path / "p.stl")]) == 2
    assert (tmp_path / "p.stl").is_fifo()
    assert "is a device or a pipe" in capsys.readouterr().err
