"""Keep the simulator from writing MUJOCO_LOG.TXT into the working directory: warnings come to us instead."""

from __future__ import annotations

import mujoco

_WARNINGS: list[str] = []
_KEPT = 100


def quiet_simulator() -> None:
    """Take over the simulator's warnings. Idempotent."""
    mujoco.set_mju_user_warning(_take)


def taken_warnings() -> tuple[str, ...]:
    """The latest warnings of the simulator, oldest first."""
    return tuple(_WARNINGS)


def _take(message: str | bytes) -> None:
    _WARNINGS.append(message.decode(errors="replace") if isinstance(message, bytes) else str(message))
    del _WARNINGS[:-_KEPT]
