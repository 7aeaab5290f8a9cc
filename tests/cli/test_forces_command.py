"""The ``forces`` command: the contract of its JSON, its exit codes, its words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from pliant.cli.forces import forces
from pliant.errors import DocumentError, GraspError, InputError

PINCH = """
contacts:
  - {point: [0.03, 0, 0], normal: [-1, 0, 0], friction: 0.5, max_force: 20, stiffness: [2000, 2000, 3000],
     radius: 0.004}
  - {point: [-0.03, 0, 0], normal: [1, 0, 0], friction: 0.5, max_force: 20, stiffness: [2000, 2000, 3000],
     radius: 0.004}
external: {force: [0, 0, -9.81], torque: [0, 0, 0], at: [0, 0, 0]}
"""


def _run(tmp_path: Path, text: str, *options: str):
    app = typer.Typer()
    app.command()(forces)
    file = tmp_path / "grasp.yaml"
    file.write_text(text, encoding="utf-8")
    return CliRunner().invoke(app, [str(file), *options])


def test_a_pinch_is_answered_with_the_keys_of_the_contract(tmp_path: Path) -> None:
    result = _run(tmp_path, PINCH, "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert {"status", "forces_n", "wrench_residual", "margins", "blame", "quality"} <= set(answer)
    assert answer["status"] == "optimal"
    assert np.array(answer["forces_n"])[:, 2] == pytest.approx(9.81, rel=1e-6)
    assert answer["wrench_residual"] < 1e-9
    assert answer["blame"] == []
    assert [m["overload_n"] for m in answer["margins"]] == pytest.approx([10.19, 10.19], abs=1e-4)
    assert answer["quality"]["largest_force"] == pytest.approx(9.81 * np.sqrt(1.25), rel=1e-6)
    axes = np.array(answer["contact_axes"])
    world = np.einsum("ijk,ik->ij", axes, answer["forces_n"])
    assert world == pytest.approx(np.array(answer["forces_world_n"]))
    assert world.sum(axis=0) == pytest.approx([0, 0, 9.81], abs=1e-9)


def test_an_infeasible_grasp_exits_with_one_and_says_who_is_to_blame(tmp_path: Path) -> None:
    text = PINCH.replace("max_force: 20", "max_force: 8")
    result = _run(tmp_path, text, "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert answer["status"] == "infeasible"
    assert answer["forces_n"] is None
    assert answer["blame"] == ["friction", "force limit"]
    assert answer["certificate"]["checked"] is True
    assert answer["friction_factor_needed"] == pytest.approx(9.81 / 8, rel=1e-3)
    words = _run(tmp_path, text).stdout
    assert "to blame: friction" in words
    assert "to blame: force limit" in words
    assert "1.23 times the friction" in " ".join(words.split())


def test_point_contacts_that_let_the_object_turn_are_told_to_become_soft_fingers(tmp_path: Path) -> None:
    text = PINCH.replace(",\n     radius: 0.004", "").replace("at: [0, 0, 0]", "at: [0, 0.01, 0]")
    result = _run(tmp_path, text)
    assert result.exit_code == 1
    words = " ".join(result.stdout.split())
    assert "balance" in words
    assert "soft finger" in words
    assert "turning about" in words


def test_people_get_a_table_with_units_and_notes(tmp_path: Path) -> None:
    words = _run(tmp_path, PINCH.replace("[-1, 0, 0]", "[-2, 0, 0]")).stdout
    assert "contact 0: normal had length 2, made unit length" in words
    assert "9.810" in words
    assert "[N]" in words
    assert "quality" in words


def test_margin_and_disturbances_make_the_squeeze_stronger(tmp_path: Path) -> None:
    base = json.loads(_run(tmp_path, PINCH, "--json", "--no-quality").stdout)
    careful = json.loads(_run(tmp_path, PINCH, "--json", "--no-quality", "--margin", "0.5").stdout)
    assert careful["forces_n"][0][2] == pytest.approx((9.81 / 2 + 0.5) / 0.5, rel=1e-6)
    shaken = PINCH + "disturbances: [{force: [0, 0, -2]}, {force: [0, 1, 0]}]\n"
    for reaction in ("elastic", "active"):
        answer = json.loads(_run(tmp_path, shaken, "--json", "--no-quality", "--reaction", reaction).stdout)
        assert answer["worst_load"] == 1
        assert answer["largest_force_n"] > base["largest_force_n"]
    assert base["quality"] == {}


@pytest.mark.parametrize(
    ("old", "new", "error", "words"),
    [
        ("friction: 0.5", "friction: -0.5", GraspError, r"grasp.yaml: contacts\[0\].friction: -0.5"),
        ("friction: 0.5", "fricton: 0.5", DocumentError, "closest: friction"),
        ("normal: [-1, 0, 0]", "normal: [0, 0, 0]", GraspError, r"contacts\[0\].normal"),
        ("normal: [-1, 0, 0]", "normal: [0, 0]", DocumentError, r"contacts\[0\].normal"),
        ("point: [0.03, 0, 0]", "point: [.nan, 0, 0]", DocumentError, r"contacts\[0\].point"),
        ("stiffness: [2000, 2000, 3000]", "stiffness: [2000, 0, 3000]", GraspError, "positive definite"),
        ("force: [0, 0, -9.81]", "force: [0, 0, .inf]", DocumentError, "external.force"),
        ("radius: 0.004", "radius: 0", GraspError, "radius"),
    ],
)
def test_a_broken_file_is_refused_with_file_and_field(
    tmp_path: Path, old: str, new: str, error: type[InputError], words: str
) -> None:
    result = _run(tmp_path, PINCH.replace(old, new, 1), "--json")
    assert isinstance(result.exception, error)
    with pytest.raises(error, match=words):
        raise result.exception
    assert result.stdout == ""


def test_a_file_without_contacts_is_refused(tmp_path: Path) -> None:
    result = _run(tmp_path, "contacts: []\nexternal: {force: [0, 0, -1]}\n", "--json")
    assert isinstance(result.exception, GraspError)
    assert "no contacts" in str(result.exception)


def test_hundred_contacts_are_answered(tmp_path: Path) -> None:
    angles = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    rows = [
        f"  - {{point: [{0.03 * np.cos(a):.9f}, {0.03 * np.sin(a):.9f}, 0], "
        f"normal: [{-np.cos(a):.9f}, {-np.sin(a):.9f}, 0], friction: 0.5}}"
        for a in angles
    ]
    text = "contacts:\n" + "\n".join(rows) + "\nexternal: {force: [0, 0, -9.81]}\n"
    result = _run(tmp_path, text, "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert np.array(answer["forces_n"])[:, 2] == pytest.approx(9.81 / 50, rel=1e-5)
    assert "epsilon_l1" not in answer["quality"]
