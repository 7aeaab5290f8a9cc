"""Reasons: complete, unlike each other, and the same in files of any version."""

from __future__ import annotations

import dataclasses
import json
import pickle
import zipfile
from pathlib import Path

import pytest

from made_plans import ball_plan
from pliant.files import load_plan, save_plan
from pliant.planner import Plan, Reason, Rejection, Stage
from pliant.planner.reasons import Failure

COUNTS = {Reason.NO_PAD, Reason.NO_FORCES, Reason.NO_FREE_PATH, Reason.BETTER_RANGE}
"""Margins that have no unit."""


def plan_with(*reasons: Reason) -> Plan:
    rejections = [Failure(reason, 0.5, detail="somewhere").rejection(3) for reason in reasons]
    plan = ball_plan()
    hypotheses = tuple(dataclasses.replace(plan.hypotheses[3], number=i) for i in range(len(rejections) + 3))
    numbered = tuple(dataclasses.replace(r, number=k if k < 2 else k + 1) for k, r in enumerate(rejections))
    return dataclasses.replace(plan, hypotheses=hypotheses, rejections=numbered)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_stage_a_unit_words_and_a_remedy(reason: Reason) -> None:
    assert reason.stage in Stage
    assert bool(reason.unit) != (reason in COUNTS)
    assert reason.remedy
    assert not reason.remedy.endswith(".")
    assert str(reason) == reason.value == reason.value.strip()
    assert Reason.from_words(reason.value) is reason
    assert pickle.loads(pickle.dumps(reason)) is reason


def test_words_are_unique() -> None:
    # two members with the same words would be one member with two names
    assert len({reason.value for reason in Reason}) == len(Reason.__members__)


def test_stage_and_unit_follow_from_the_reason_unless_a_failure_says_otherwise() -> None:
    plain = Failure(Reason.TORQUE_LIMIT, 1.2, detail="joint 3").rejection(7)
    assert plain == Rejection(7, Stage.STABILITY, Reason.TORQUE_LIMIT, 1.2, "of the limit", "joint 3")
    moved = Failure(Reason.TORQUE_LIMIT, 0.4, "of the move", found_in=Stage.MANIPULATION).rejection(7)
    assert moved == Rejection(7, Stage.MANIPULATION, Reason.TORQUE_LIMIT, 0.4, "of the move")


def test_every_reason_comes_back_from_a_plan_file_as_itself(tmp_path: Path) -> None:
    plan = plan_with(*Reason)
    read = load_plan(save_plan(plan, tmp_path / "reasons.plan"))
    assert read.rejections == plan.rejections
    assert all(a.reason is b.reason for a, b in zip(read.rejections, plan.rejections, strict=True))


def test_files_have_the_words_and_a_plan_with_words_of_another_version_opens_with_them(tmp_path: Path) -> None:
    foreign = Reason.from_words("thumb too shy")
    assert foreign not in list(Reason)
    assert pickle.loads(pickle.dumps(foreign)) == foreign
    plan = plan_with(Reason.SLIPS, foreign)
    file = save_plan(plan, tmp_path / "foreign.plan")
    with zipfile.ZipFile(file) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".json"))
        document = json.loads(archive.read(name))
    assert [rejection["reason"] for rejection in document["rejections"]] == ["slips", "thumb too shy"]
    read = load_plan(file)
    assert read.rejections[0].reason is Reason.SLIPS
    assert read.rejections[1].reason == foreign
    assert read.counts == plan.counts == {"contact: slips": 1, "choice: thumb too shy": 1}
