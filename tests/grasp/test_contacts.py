"""What comes in: checked, normalised, and refused in words."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pliant.errors import GraspError
from pliant.grasp import Contact, ContactModel, ContactSet, solve_forces

WEIGHT = [0, 0, -9.81, 0, 0, 0]


def _pair(**changes: object) -> list[Contact]:
    first = {"point": [0.03, 0, 0], "normal": [-1, 0, 0], "friction": 0.5, **changes}
    return [Contact(**first), Contact([-0.03, 0, 0], [1, 0, 0], 0.5)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"friction": -0.1}, r"\[0\].friction: -0.1"),
        ({"friction": np.nan}, r"\[0\].friction: nan"),
        ({"friction": np.inf}, r"\[0\].friction: inf"),
        ({"normal": [0, 0, 0]}, r"\[0\].normal: has length 0"),
        ({"normal": [0, np.nan, 0]}, r"\[0\].normal"),
        ({"point": [0, np.nan, 0]}, r"\[0\].point"),
        ({"point": [np.inf, 0, 0]}, r"\[0\].point"),
        ({"max_force": 0}, r"\[0\].max_force: 0"),
        ({"max_force": np.nan}, r"\[0\].max_force: nan"),
        ({"radius": -0.001}, r"\[0\].radius: -0.001"),
        ({"radius": 0.0}, r"\[0\].radius: 0"),
        ({"radius": np.nan}, r"\[0\].radius"),
        ({"stiffness": [1000, 0, 1000]}, r"\[0\].stiffness.*positive definite"),
        ({"stiffness": [1000, -5, 1000]}, r"\[0\].stiffness.*positive definite"),
        ({"stiffness": [np.nan, 1, 1]}, r"\[0\].stiffness"),
        ({"stiffness": [[1, 2, 0], [2, 1, 0], [0, 0, 1]]}, r"\[0\].stiffness.*positive definite"),
        ({"stiffness": [[1, 2, 0], [0, 5, 0], [0, 0, 1]]}, r"\[0\].stiffness.*positive definite"),
        ({"stiffness": [1, 2]}, r"\[0\].stiffness.*3 numbers"),
        ({"point": [0, 0]}, "three numbers"),
    ],
)
def test_a_contact_outside_physics_is_named_with_its_value(changes: dict, words: str) -> None:
    with pytest.raises(GraspError, match=words):
        ContactSet.of(_pair(**changes))


def test_every_problem_is_told_at_once_and_survives_pickling() -> None:
    with pytest.raises(GraspError) as caught:
        ContactSet.of([Contact([0, 0, 0], [0, 0, 1], -1.0, max_force=-2), Contact([0, 0, 0], [0, 0, 0], 0.5)])
    assert len(caught.value.problems) == 3
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_no_contacts_are_refused() -> None:
    with pytest.raises(GraspError, match="no contacts"):
        ContactSet.of([])
    with pytest.raises(GraspError, match="no contacts"):
        ContactSet.from_arrays(np.zeros((0, 3)), np.zeros((0, 3)), friction=0.5)


def test_arrays_of_the_wrong_shape_are_refused() -> None:
    good = {"points": np.eye(3), "normals": -np.eye(3), "friction": 0.5}
    for change in (
        {"points": np.zeros(3)},
        {"normals": np.eye(2)},
        {"friction": [0.5, 0.5]},
        {"max_force": [1, 2]},
        {"radius": [0.1]},
        {"stiffness": np.ones((2, 3))},
        {"rotations": np.eye(3)},
    ):
        with pytest.raises(GraspError):
            ContactSet.from_arrays(**{**good, **change})
    with pytest.raises(GraspError, match="plane"):
        ContactSet.from_arrays([[0, 0.0]], [[1.0, 0]], friction=0.5, radius=0.01)


def test_a_normal_of_any_length_is_normalised_and_said() -> None:
    contacts = ContactSet.of(_pair(normal=[-4, 0, 0]))
    assert np.array_equal(contacts.normals, [[-1, 0, 0], [1, 0, 0]])
    assert contacts.notes == ("contact 0: normal had length 4, made unit length",)
    assert np.allclose(solve_forces(contacts, WEIGHT).forces, solve_forces(ContactSet.of(_pair()), WEIGHT).forces)
    assert solve_forces(contacts, WEIGHT).notes == contacts.notes


def test_zero_friction_is_a_frictionless_contact_and_said() -> None:
    contacts = ContactSet.of(_pair(friction=0))
    assert contacts.models == (ContactModel.FRICTIONLESS, ContactModel.POINT)
    assert "contact 0: friction 0, taken as frictionless" in contacts.notes
    answer = solve_forces(contacts, [-5.0, 0, 0, 0, 0, 0])
    assert answer.forces == pytest.approx(np.array([[0, 0, 0], [0, 0, 5.0]]), abs=1e-6)


def test_coincident_contacts_are_said_and_share_the_load() -> None:
    ring = [[0.03, 0, 0], [0.03, 0, 0], [-0.03, 0, 0]]
    contacts = ContactSet.from_arrays(ring, [[-1, 0, 0], [-1, 0, 0], [1, 0, 0]], friction=0.5)
    assert contacts.notes == ("contacts 0 and 1 lie at the same point",)
    answer = solve_forces(contacts, WEIGHT)
    # The lone contact opposes both others, so it presses with W / (2 mu) and they with half of it each.
    assert answer.forces[2, 2] == pytest.approx(9.81, rel=1e-6)
    assert answer.forces[:2, 2].sum() == pytest.approx(9.81, rel=1e-6)


def test_all_contacts_in_one_point_are_still_a_question_with_an_answer() -> None:
    contacts = ContactSet.from_arrays(np.zeros((3, 3)), -np.eye(3), friction=0.5)
    assert len(contacts.notes) == 3
    assert solve_forces(contacts, [1, 1, 1, 0, 0, 0]).feasible
    assert not solve_forces(contacts, [1, 1, 1, 0, 0, 1]).feasible


def test_one_contact_holds_what_rests_on_it_and_nothing_else() -> None:
    contacts = ContactSet.of([Contact([0, 0, -0.02], [0, 0, 1], 0.5)])
    answer = solve_forces(contacts, WEIGHT)
    assert answer.forces == pytest.approx(np.array([[0, 0, 9.81]]), abs=1e-7)
    answer = solve_forces(contacts, [0, 0, 9.81, 0, 0, 0])
    assert not answer.feasible
    assert answer.certificate.check()


def test_tables_and_stacked_forces_are_each_others_opposite() -> None:
    contacts = ContactSet.of(
        [
            Contact([1, 0, 0], [-1, 0, 0], 0.0),
            Contact([0, 1, 0], [0, -1, 0], 0.5, radius=0.01),
            Contact([0, 0, 1], [0, 0, -1], 0.5),
        ]
    )
    f = np.arange(1.0, 9.0)
    forces, moments = contacts.table(f)
    assert np.array_equal(forces, [[0, 0, 1], [2, 3, 4], [6, 7, 8]])
    assert np.array_equal(moments, [0, 5, 0])
    assert np.array_equal(contacts.stacked(forces, moments), f)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"external": [0, 0, -1]}, "external: shape"),
        ({"external": [0, 0, np.nan, 0, 0, 0]}, "external.*not finite"),
        ({"centre": [0, 0]}, "centre"),
        ({"centre": [0, 0, np.inf]}, "centre"),
        ({"disturbances": [[1, 2, 3]]}, "disturbances"),
        ({"jacobian": np.zeros((5, 2))}, "jacobian"),
        ({"torque_limits": [1.0]}, "jacobian: is needed"),
        ({"jacobian": np.zeros((6, 2)), "torque_limits": [1.0, -1.0]}, "torque_limits"),
        ({"jacobian": np.zeros((6, 2)), "torque_limits": np.nan}, "torque_limits"),
        ({"jacobian": np.zeros((6, 2)), "gravity_torques": [1.0]}, "gravity_torques"),
        ({"stiffness": np.eye(5)}, "stiffness"),
        ({"stiffness": -np.eye(6), "jacobian": np.ones((6, 2))}, "positive definite"),
        ({"margin": -1.0}, "margin"),
        ({"margin": np.nan}, "margin"),
        ({"objective": "larges"}, "closest: largest"),
        ({"disturbances": [WEIGHT], "reaction": "activ"}, "closest: active"),
    ],
)
def test_a_broken_question_is_refused_by_name(given: dict, words: str) -> None:
    from pliant.errors import InputError

    external = given.pop("external", WEIGHT)
    with pytest.raises(InputError, match=words):
        solve_forces(ContactSet.of(_pair()), external, **given)


def test_contacts_survive_pickling_and_do_not_follow_later_changes_of_the_arrays() -> None:
    points, friction = np.array([[0.03, 0, 0], [-0.03, 0, 0]]), np.array([0.5, 0.5])
    contacts = ContactSet.from_arrays(points, [[-1, 0, 0], [1, 0, 0]], friction=friction)
    before = solve_forces(contacts, WEIGHT)
    again = pickle.loads(pickle.dumps(contacts))
    assert again.layout is contacts.layout
    points += 1.0
    friction *= 2
    assert np.array_equal(solve_forces(contacts, WEIGHT).f, before.f)
    assert np.array_equal(pickle.loads(pickle.dumps(before)).f, before.f)
