"""The ROS driver against a robot that another participant plays."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pliant.cli import run_command as run
from pliant.control import Driver
from pliant.errors import OptionError
from pliant.robot import load_assembly
from pliant.ros import Ros1Link, Ros2Link, RosDriver, messages

Links = tuple[Ros2Link, Ros2Link]


def until(what: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Ask again until there is an answer; DDS participants need a moment to find each other."""
    end = time.monotonic() + seconds
    while not (answer := what()) and time.monotonic() < end:
        time.sleep(0.01)
    assert answer
    return answer


@pytest.fixture
def driver(links: Links) -> RosDriver:
    return RosDriver(links[0], load_assembly(None, "parallel_gripper"), period=0.005)


def say_joints(robot: Ros2Link, **positions: float) -> None:
    header = messages.Header(messages.Time.of(time.time()))
    robot.publish("/joint_states", messages.JointState(header, list(positions), list(positions.values())))


def test_it_is_a_driver(driver: RosDriver) -> None:
    assert isinstance(driver, Driver)
    assert driver.joint_names == ("opening",)
    assert driver.array_names == ("left_pad", "right_pad")
    assert driver.read().joints is None


def test_joint_states_of_several_publishers_are_put_together(links: Links) -> None:
    driver = RosDriver(links[0], load_assembly("kawasaki_fs020n", "parallel_gripper"))
    robot = links[1]
    arm = {f"joint{i}": 0.1 * i for i in range(1, 7)}

    def heard() -> Any:
        say_joints(robot, unknown=9.0, **dict(reversed(arm.items())))
        return driver.read().joints is None and np.isfinite(driver._positions[:6]).all()

    until(heard)  # the arm alone is not yet a reading
    first = time.time()
    until(lambda: say_joints(robot, opening=0.03) or driver.read().joints is not None)
    joints = driver.read().joints
    np.testing.assert_allclose(joints.positions, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.03])
    assert joints.torques is None
    # As old as the arm's part of it.
    assert joints.time <= first - driver._start
    assert driver.read().time >= joints.time


def say_opening(robot: Ros2Link, stamp: float, value: float) -> None:
    header = messages.Header(messages.Time.of(stamp))
    robot.publish("/joint_states", messages.JointState(header, ["opening"], [value]))


def test_a_late_message_does_not_replace_a_newer_one(driver: RosDriver, links: Links) -> None:
    now = time.time()
    until(lambda: say_opening(links[1], now - 10.0, 0.04) or driver.read().joints)
    say_opening(links[1], now - 5.0, 0.02)
    say_opening(links[1], now - 9.0, 0.01)
    until(lambda: driver.read().joints.positions[0] == 0.02)
    # Messages arrive in order: once the newer one is here, the older one has been and gone.
    say_opening(links[1], now - 6.0, 0.0)
    say_opening(links[1], now - 4.0, 0.03)
    seen = []
    until(lambda: seen.append(driver.read().joints.positions[0]) or seen[-1] == 0.03)
    assert set(seen) <= {0.02, 0.03}


def test_a_message_from_the_future_is_left_out_and_blocks_none_that_follow(driver: RosDriver, links: Links) -> None:
    until(lambda: say_joints(links[1], opening=0.04) or driver.read().joints)
    say_opening(links[1], time.time() + 5.0, 0.01)
    say_opening(links[1], time.time() + 1e6, 0.02)
    seen = []
    until(
        lambda: say_joints(links[1], opening=0.03) or seen.append(driver.read().joints) or seen[-1].positions[0] == 0.03
    )
    assert {joints.positions[0] for joints in seen} <= {0.04, 0.03}
    assert seen[-1].time <= driver.time


def test_a_clock_that_is_set_makes_measurements_old_not_new(
    driver: RosDriver, links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    until(lambda: say_joints(links[1], opening=0.04) or driver.read().joints)
    before = driver.time
    for step in (-3600.0, 3600.0):
        wall = time.time
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", lambda wall=wall, step=step: wall() + step)
            say_joints(links[1], opening=0.02)
            end = time.monotonic() + 0.3
            while time.monotonic() < end:
                assert driver.read().joints.positions[0] == 0.04
                time.sleep(0.01)
    assert before < driver.time < before + 60.0
    assert driver.time - driver.read().joints.time > 0.5


def test_tactile_images_become_frames_and_wrong_ones_do_not(driver: RosDriver, links: Links) -> None:
    counts = np.arange(50, dtype="<u2").reshape(10, 5) * 20
    stamp = time.time()

    def image(**changes: Any) -> messages.Image:
        values: dict[str, Any] = {
            "header": messages.Header(messages.Time.of(stamp)), "height": 10, "width": 5, "encoding": "16UC1",
            "is_bigendian": 0, "step": 10, "data": counts.tobytes(),
        }  # fmt: skip
        return messages.Image(**(values | changes))

    def seen() -> Any:
        links[1].publish("/tactile/left_pad", image())
        links[1].publish("/tactile/right_pad", image(height=5))
        return driver.read().frames

    frames = until(seen)
    assert set(frames) == {"left_pad"}
    np.testing.assert_array_equal(frames["left_pad"].counts, counts)
    assert frames["left_pad"].time == pytest.approx(stamp - driver._start, abs=1e-6)
    for wrong in ({"encoding": "rgb8"}, {"step": 5}, {"data": b"123"}, {"width": 2**31}):
        links[1].publish("/tactile/right_pad", image(**wrong))
    big = image(is_bigendian=1, data=counts.astype(">u2").tobytes())
    until(lambda: links[1].publish("/tactile/right_pad", big) or "right_pad" in driver.read().frames)
    np.testing.assert_array_equal(driver.read().frames["right_pad"].counts, counts)


def test_commands_arrive_as_trajectories_of_one_point(driver: RosDriver, links: Links) -> None:
    robot = links[1]
    robot.listen("/joint_command", messages.JointTrajectory)
    command = until(lambda: driver.command_positions(np.array([0.02])) or robot.take("/joint_command"))[-1]
    assert command.joint_names == ["opening"]
    assert command.points[0].positions == [0.02]
    assert command.points[0].time_from_start == messages.Duration(0, 5_000_000)
    with pytest.raises(OptionError, match="finite"):
        driver.command_positions(np.array([np.nan]))
    with pytest.raises(OptionError, match="positions only"):
        driver.command_torques(np.zeros(1))


def test_an_emergency_stop_holds_the_robot_where_it_is_and_refuses_what_follows(
    driver: RosDriver, links: Links
) -> None:
    robot = links[1]
    robot.listen("/joint_command", messages.JointTrajectory)
    until(lambda: driver.command_positions(np.array([0.01])) or robot.take("/joint_command"))
    until(lambda: say_joints(robot, opening=0.035) or driver.read().joints)
    robot.take("/joint_command")
    driver.emergency_stop("the object fell")
    assert until(lambda: robot.take("/joint_command"))[-1].points[0].positions == [0.035]
    assert driver.read().stopped == "the object fell"
    with pytest.raises(OptionError, match="the object fell"):
        driver.command_positions(np.array([0.0]))
    driver.emergency_stop("again")
    driver.close()
    driver.close()


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_cycles_have_their_period_and_missed_ones_are_not_made_up_for(
    links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr("pliant.ros.driver.time", clock)
    driver = RosDriver(links[0], load_assembly(None, "parallel_gripper"), period=0.02)
    ends = []
    for late in (0.0, 0.005, 0.0, 0.1, 0.0, 0.0):
        clock.now += late
        driver.step()
        ends.append(round(clock.now - 100.0, 6))
    # On time, late but within the cycle, on time; then five periods late: at once, and from there a period each.
    assert ends == [0.02, 0.04, 0.06, 0.16, 0.18, 0.2]


def test_a_domain_that_does_not_exist_is_refused() -> None:
    with pytest.raises(OptionError, match="0 to 232"):
        Ros2Link(233)


@pytest.mark.parametrize("address", ["robot", "https://robot:11311", "http://robot", "http://:1", "http://robot:99999"])
def test_an_address_that_no_master_can_have_is_refused(address: str) -> None:
    with pytest.raises(OptionError, match="an address such as"):
        Ros1Link(address)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ros", "1", "--domain", "3"], "ROS 1 has no domains"),
        (["--ros", "2", "--master", "http://127.0.0.1:9"], "ROS 2 has no master"),
    ],
)
def test_options_of_the_other_version_of_ros_are_refused(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ros", *options]) == 2
    assert words in capsys.readouterr().err
