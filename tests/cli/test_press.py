"""The press command, through its own little application."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pliant.cli.press import press
from pliant.errors import OptionError

app = typer.Typer()
app.command()(press)
RUN = [
    "sphere:0.03",
    "--young",
    "5e5",
    "--poisson",
    "0.45",
    "--model",
    "halfspace",
    "--pad",
    "sphere:0.01",
    "--depth",
    "3e-4",
]
PLACES = ["--contact", "0,0,0.03", "--contact", "0,0,-0.03;0,0,1"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path))


def test_the_table_for_people_says_its_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Square brackets are also the markup of the library that draws the table: unless told, it eats them."""
    monkeypatch.setenv("COLUMNS", "120")
    shown = CliRunner().invoke(app, [*RUN, *PLACES], catch_exceptions=False).stdout
    for unit in ("[N]", "[mm]", "[kPa]"):
        assert unit in shown


def test_json_has_exactly_the_promised_keys_and_hertz_forces() -> None:
    result = CliRunner().invoke(app, [*RUN, *PLACES, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert list(answer) == ["model", "contacts", "max_displacement_m", "volume_change", "warnings"]
    assert len(answer["contacts"]) == 2
    for contact in answer["contacts"]:
        assert list(contact) == ["normal_force_n", "force_n", "centre_m", "radius_m", "peak_pressure_pa"]
        # Hertz: R = 7.5 mm, E* = 0.627 MPa
        assert contact["normal_force_n"] == pytest.approx(
            4 / 3 * 5e5 / (1 - 0.45**2) * 0.0075**0.5 * 3e-4**1.5, rel=0.02
        )


def test_people_get_a_table() -> None:
    result = CliRunner().invoke(app, [*RUN, *PLACES], catch_exceptions=False)
    assert result.exit_code == 0 and "normal force" in result.stdout


def test_one_pad_on_a_free_object_is_an_honest_no() -> None:
    result = CliRunner().invoke(app, [*RUN, "--contact", "0,0,0.03", "--json"])
    assert result.exit_code == 1 and json.loads(result.stdout)["contacts"] == []
    held = CliRunner().invoke(app, [*RUN, "--contact", "0,0,0.03", "--fixed", "--json"])
    assert held.exit_code == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--contact", "0,0"], "three numbers"),
        (["--contact", "0,0,0.03", "--pad", "cone:1"], "no pad"),
        (["--contact", "0,0,0.03", "--model", "magic"], "no model"),
        (["--contact", "0,0,0.03", "--fill", "1e-4"], "--wall"),
    ],
)
def test_broken_questions_name_what_is_allowed(change: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        CliRunner().invoke(app, [*RUN, *change], catch_exceptions=False)


@pytest.mark.slow
def test_a_vessel_is_pressed_as_a_shell_and_warns_beyond_its_wall() -> None:
    run = ["sphere:0.03", "--young", "2e6", "--poisson", "0.3", "--wall", "5e-4", "--pad", "sphere:0.01", *PLACES]

    def answer(*more: str) -> dict[str, Any]:
        result = CliRunner().invoke(app, [*run, *more, "--json"], catch_exceptions=False)
        assert result.exit_code == 0
        return json.loads(result.stdout)

    empty = answer("--depth", "2e-4")
    shut = answer("--depth", "2e-4", "--fill", "1e-4")
    deep = answer("--depth", "1e-3")
    assert 0 < empty["contacts"][0]["normal_force_n"] < shut["contacts"][0]["normal_force_n"]
    assert not empty["warnings"]
    assert any("over the wall thickness" in warning for warning in deep["warnings"])
