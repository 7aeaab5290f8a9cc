"""The loop around the controller: read, step, command, until it is over.   (SPEC 9)"""

from __future__ import annotations

from collections.abc import Callable

from pliant.control.controller import Command, GraspController
from pliant.control.driver import Driver, Sample
from pliant.control.run_log import RunLog

__all__ = ["execute"]


def execute(
    driver: Driver,
    controller: GraspController,
    *,
    linger: float = 0.0,
    longest: float = 600.0,
    after_step: Callable[[Sample, Command], None] | None = None,
) -> RunLog:
    """Run a controller on a driver to its end.

    The driver is stopped when something raises, and when the loop takes longer than anything may (counted in cycles,
    so that a driver whose clock stands still cannot hang it). A controller that ends in ``stopped`` leaves its last
    command standing: a hand that is told positions keeps its grip.

    Args:
        linger: how long to go on commanding after the end [s].
        longest: upper bound of the whole run [s].
        after_step: called with every sample and command.
    """
    left = round(longest / driver.period)
    more = round(linger / driver.period)
    try:
        while left > 0:
            left -= 1
            sample = driver.read()
            command = controller.step(sample)
            if after_step is not None:
                after_step(sample, command)
            driver.command_positions(command.positions)
            if command.finished:
                if more <= 0:
                    break
                more -= 1
            driver.step()
        else:
            driver.emergency_stop(f"the run took longer than {longest:g} s")
    except BaseException as bad:
        driver.emergency_stop(f"{type(bad).__name__}: {bad}")
        raise
    return controller.log
