"""The notebook's cells do what they say; its plan is a made one, and the lab is left out."""

from __future__ import annotations

import ast
import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest
from doc_blocks import ROOT

import made_plans
import pliant

NOTEBOOK = ROOT / "examples" / "40_plan_in_a_notebook.ipynb"


def test_the_notebook_plans_and_shows_scene_plots_and_picture(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = made_plans.ball_plan()
    monkeypatch.setattr(pliant, "load_task", lambda name: plan.task, raising=False)
    monkeypatch.setattr(pliant, "plan", lambda task, seed: plan, raising=False)
    result = SimpleNamespace(outcome="held", max_force=2.0)
    monkeypatch.setattr(pliant, "run", lambda planned: result, raising=False)
    monkeypatch.setattr(pliant, "report", lambda planned, path, run: path, raising=False)
    shown: list[Any] = []
    display = ModuleType("IPython.display")
    vars(display).update(HTML=str, Image=bytes, display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    notebook = json.loads(NOTEBOOK.read_text())
    assert all(not cell.get("outputs") for cell in notebook["cells"])
    names: dict[str, Any] = {}
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for source in cells[:-1]:
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, NOTEBOOK.name, "exec"), names)
        if isinstance(last, ast.Expr):  # a cell shows the value of its last line
            shown.append(eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names))
    page = next(value for value in shown if hasattr(value, "_repr_html_"))
    address = page._repr_html_().split('src="')[1].split('"')[0]
    assert b"<html" in urlopen(address).read()[:500].lower()
    exec(cells[-1], names)  # closes the page
    assert "left_finger" in capsys.readouterr().out
    assert sum(isinstance(value, str) and "<svg" in value for value in shown) == 4
    assert any(isinstance(value, bytes) and value.startswith(b"\x89PNG") for value in shown)
