"""Calibration: Young's modulus and friction come back from squeezes whose truth is known."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from made_plans import MadeTask, made
from made_plans.states import pad_surface
from pliant.calibration import (
    Calibration,
    NoteKind,
    SlipOnset,
    SqueezePoint,
    SqueezeSamples,
    TrialSqueeze,
    fit_squeeze,
    friction_at_slip,
)
from pliant.contact import PreparedObject, settle
from pliant.control import ContactKinematics, RunPhase, execute
from pliant.errors import OptionError
from pliant.grasp import contact_rotations
from spring_hand import SpringHand


@pytest.fixture(scope="module")
def ball() -> MadeTask:
    return made("ball", hand="parallel_gripper", young=1.5e5)


def thing_of(made_task: MadeTask) -> PreparedObject:
    material = made_task.task.body.material
    return PreparedObject.of(
        made_task.task.body.mesh, young=material.young, poisson=material.poisson, model="halfspace"
    )


def synthetic(
    made_task: MadeTask,
    prepared: PreparedObject,
    young: float,
    offset: float,
    *,
    steps: int = 5,
    deepest: float = 0.004,
) -> SqueezeSamples:
    """Forces by the contact model itself, for an object of another modulus that is met earlier by ``offset``."""
    task, grasp = made_task.task, made_task.grasp
    links = tuple(contact.link for contact in grasp.grasp.contacts)
    assert task.assembly.hand is not None
    pads = [pad for finger in task.assembly.hand.fingers for pad in finger.pads]
    surfaces = [pad_surface(task.assembly, pad, task.body) for pad in pads]
    robot = task.assembly.robot
    normals = np.array([[1.0, 0.0, 0.0]] * 2)  # out of the pads, into the object
    places = np.array([contact.p_link for contact in grasp.grasp.contacts])
    points = []
    for deeper in np.linspace(0.0005, deepest, steps):
        q = grasp.q_touch.copy()
        q[robot.joint_index("opening")] -= deeper
        Ts = robot.poses(links, q)
        for T, n in zip(Ts, normals, strict=True):
            T.translation = T.translation + offset * (T.rotation @ n)
        state = settle(replace(prepared, young=young), surfaces, Ts, task.T_world_object)
        points.append(SqueezePoint(q, np.array([region.normal_force for region in state.regions]), places))
    return SqueezeSamples(links, normals, tuple(points))


def fitted(made_task: MadeTask, prepared: PreparedObject, samples: SqueezeSamples) -> Calibration:
    task = made_task.task
    return fit_squeeze(
        samples,
        task.assembly,
        task.body,
        task.T_world_object,
        prepared,
        planned_force=1.0,
        planned_stiffness=1000.0,
    )


def kinds(found: Calibration) -> set[NoteKind]:
    return {note.kind for note in found.notes}


@pytest.mark.parametrize(("factor", "offset", "within"), [(0.5, 0.0, 0.02), (2.0, 0.0, 0.02), (2.0, 0.0002, 0.15)])
def test_the_modulus_behind_given_forces_is_found_from_a_twofold_wrong_start(
    ball: MadeTask, factor: float, offset: float, within: float
) -> None:
    """Exact where the touch is as the model says; pulled towards that where it is not, within what is asked: 15 %."""
    prepared = thing_of(ball)
    start = ball.task.body.material.young
    found = fitted(ball, prepared, synthetic(ball, prepared, factor * start, offset))
    assert found.young == pytest.approx(factor * start, rel=within)
    assert found.touch_offset == pytest.approx(offset, abs=1.2e-4)
    assert found.misfit < 0.05
    # Pads of 1.5 MPa give little beside 0.3 MPa or less, so forces go almost with E.
    assert found.k == pytest.approx(factor, rel=0.2)
    assert NoteKind.NO_SLIP in kinds(found)


def test_steps_that_leave_small_strains_do_not_count(ball: MadeTask) -> None:
    """Between plates the mean pressure is 0.424 sqrt(depth / R) E*: 8 % at 1.07 mm for a ball of 30 mm."""
    prepared = thing_of(ball)
    samples = synthetic(ball, prepared, 3e5, 0.0, steps=17, deepest=0.0025)
    rubbery = tuple(
        replace(point, forces=0.7 * point.forces) if k >= 5 else point for k, point in enumerate(samples.points)
    )
    found = fitted(ball, prepared, replace(samples, points=rubbery))
    assert found.young == pytest.approx(3e5, rel=0.05)
    assert found.points <= 5


def test_a_narrow_span_of_forces_leaves_the_modulus_open_and_says_how_far(ball: MadeTask) -> None:
    """Met 0.1 mm earlier and softer, or later and stiffer: nearly the same forces where they hardly differ."""
    prepared = thing_of(ball)
    wide = synthetic(ball, prepared, 3e5, 0.0001, steps=12, deepest=0.0012)
    assert NoteKind.VAGUE_YOUNG not in kinds(fitted(ball, prepared, wide))
    found = fitted(ball, prepared, replace(wide, points=wide.points[-4:]))
    text = next(note.text for note in found.notes if note.kind is NoteKind.VAGUE_YOUNG)
    span = re.search(r"modulus may be (\S+) to (\S+) Pa: the measured forces span a factor of 1\.3", text)
    assert span is not None, text
    least, most = float(span[1]), float(span[2])
    assert least < 0.86 * most
    assert least <= 3e5 <= most
    assert least <= found.young <= most


def test_too_few_steps_are_refused(ball: MadeTask) -> None:
    prepared = thing_of(ball)
    samples = synthetic(ball, prepared, 1e5, 0.0)
    with pytest.raises(OptionError, match="three are needed"):
        fitted(ball, prepared, replace(samples, points=samples.points[:2]))


@pytest.mark.parametrize("mu", [0.3, 0.9])
def test_friction_is_the_load_over_the_normal_forces_when_a_pinch_slips(mu: float) -> None:
    """Two facing pads, weight W across: it slips when 2 mu f = W."""
    weight = 1.7
    normals = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    axes = contact_rotations(normals)
    now = ContactKinematics(np.array([[-0.03, 0, 0.5], [0.03, 0, 0.5]]), axes, np.zeros((2, 3, 1)))
    onset = SlipOnset(
        np.full(2, weight / (2 * mu)) * [1.03, 0.97],  # pads do not agree to the last percent
        now,
        np.array([0, 0, -weight, 0, 0, 0]),
        np.array([0, 0, 0.5]),
    )
    assert friction_at_slip(onset) == pytest.approx(mu, rel=0.03)


def loosened(ball: MadeTask, slips_at: float) -> tuple[SpringHand, TrialSqueeze]:
    """The trial squeeze of a ball in the air that falls below a mean force, or never."""
    hand = SpringHand(ball.grasp, ball.task.assembly, noise=0.3, slips_at=slips_at)
    squeeze = TrialSqueeze(ball.grasp, ball.task.assembly, start=RunPhase.CLOSE)
    log = execute(hand, squeeze.controller)
    assert log.end is RunPhase.DONE, log.reason
    return hand, squeeze


@pytest.mark.parametrize("slips_at", [0.45, 0.7])
def test_a_ball_that_falls_while_it_is_loosened_tells_its_friction(ball: MadeTask, slips_at: float) -> None:
    squeeze = loosened(ball, slips_at)[1]
    assert squeeze.slip is not None and squeeze.held is None
    weight = 9.81 * ball.task.body.mass
    assert friction_at_slip(squeeze.slip) == pytest.approx(weight / (2.0 * slips_at), rel=0.05)


def test_pads_that_hardly_feel_a_ball_that_has_not_slipped_give_only_a_bound(ball: MadeTask) -> None:
    """Cells that report 0.02 N at least are trusted down to twice as much; what falls later they would not see."""
    hand, squeeze = loosened(ball, 0.0)
    assert squeeze.slip is None and squeeze.held is not None
    force = float(np.mean(squeeze.held.forces))
    layout, array = hand.layouts["left_pad"], hand.arrays["left_pad"]
    away = ((layout.centres - hand.points[0]) ** 2).sum(axis=-1)
    weights = np.where(layout.exists, np.exp(-0.5 * away / 0.004**2), 0.0)
    strongest = force * float(weights.max() / weights[weights >= 0.05 * weights.max()].sum())
    assert array.min_force < strongest < 2.5 * array.min_force
    bound = 9.81 * ball.task.body.mass / (2.0 * force)
    prepared = thing_of(ball)
    found = fitted(ball, prepared, replace(synthetic(ball, prepared, 1.5e5, 0.0), held=squeeze.held))
    assert found.friction is None
    text = next(note.text for note in found.notes if note.kind is NoteKind.NO_SLIP)
    least = re.search(r"friction is not known, but ([\d.]+) or more", text)
    assert least is not None, text
    assert float(least[1]) == pytest.approx(bound, rel=0.02)


def test_a_trial_squeeze_presses_in_steps_and_gives_joints_and_forces(ball: MadeTask) -> None:
    hand = SpringHand(ball.grasp, ball.task.assembly, stiffness=2.0)
    squeeze = TrialSqueeze(
        ball.grasp, ball.task.assembly, start=RunPhase.CLOSE, levels=(1.0, 2.0, 3.0, 4.0), slip=False
    )
    log = execute(hand, squeeze.controller)
    assert log.end is RunPhase.DONE, log.reason
    points = squeeze.samples.points
    np.testing.assert_allclose([point.forces.mean() for point in points], [1.0, 2.0, 3.0, 4.0], rtol=0.15)
    opening = [point.q[ball.task.assembly.robot.joint_index("opening")] for point in points]
    assert np.all(np.diff(opening) < 0)
