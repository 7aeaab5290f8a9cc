"""What the judge takes from a plan, and how it looks for the critical friction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from made_plans import ball_plan
from pliant.errors import PlanError
from pliant.judge import critical_friction, pose_question
from pliant.planner import Push


def test_fingers_and_table_take_part_and_face_the_object_where_it_is_pressed() -> None:
    plan = ball_plan()
    grasp = plan.grasps[0]
    question = pose_question(plan.task, grasp)
    names = [partner.name for partner in question.partners]
    assert names[:2] == [contact.link for contact in grasp.grasp.contacts]
    assert [partner.support for partner in question.partners] == [False, False, True]
    assert question.planned[:2] == pytest.approx([c.normal_force for c in grasp.grasp.contacts])
    assert np.linalg.norm(question.operation.weight) == pytest.approx(0.07 * 9.80665)
    for number, contact in enumerate(grasp.grasp.contacts):
        place = contact.T_object_contact.translation
        assert question.near(number, np.array([place, -place])).tolist() == [True, False]
    low = np.array([[0.0, 0.0, -0.025], [0.0, 0.0, 0.025]])
    # half a millimetre above the table at the start; seven places at least may touch it
    around = np.vstack([low, np.column_stack([np.zeros((6, 2)), np.full(6, 0.02)])])
    assert question.near(2, around)[0]


def test_a_push_from_anywhere_is_played_along_axes_and_diagonals() -> None:
    plan = ball_plan()
    given = (Push(force=(0.0, 0.5, 0.0), torque=(0.0, 0.0, 0.01)), Push(any_force=0.3))
    task = replace(plan.task, goal=replace(plan.task.goal, disturbances=given))
    first, *others = pose_question(task, plan.grasps[0]).operation.pushes
    assert first.tolist() == [0.0, 0.5, 0.0, 0.0, 0.0, 0.01]
    assert len(others) == 14
    assert [np.linalg.norm(push[:3]) for push in others] == pytest.approx([0.3] * 14)
    assert np.sum(others, axis=0) == pytest.approx(np.zeros(6), abs=1e-12)


def test_a_grasp_without_contacts_is_no_question() -> None:
    plan = ball_plan()
    state = replace(plan.grasps[0].grasp, contacts=())
    with pytest.raises(PlanError, match="has no contacts"):
        pose_question(plan.task, replace(plan.grasps[0], states=(state,)))


@pytest.mark.parametrize("limit", [0.3, 0.97, 1.4])
def test_the_critical_friction_is_found_to_one_per_cent_with_few_questions(limit: float) -> None:
    asked: list[float] = []

    def ask(factor: float) -> bool:
        asked.append(factor)
        return factor >= limit

    found = critical_friction(ask)
    assert found.falls < limit <= found.holds
    assert found.holds / found.falls <= 1.01
    assert found.falls < found.factor < found.holds
    assert len(asked) == len(set(asked)) <= 13


def test_a_verdict_that_never_changes_is_said_so() -> None:
    always, never = critical_friction(lambda _factor: True), critical_friction(lambda _factor: None)
    assert always.falls == 0.0 and always.holds < 0.06 and np.isnan(always.factor)
    assert never.falls > 3.0 and np.isinf(never.holds) and np.isnan(never.factor)
