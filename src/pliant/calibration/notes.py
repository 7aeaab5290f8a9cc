"""What can be rough about a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class NoteKind(StrEnum):
    """What can be rough about a calibration."""

    MISFIT = "misfit"
    """The model does not follow the measurement."""
    VAGUE_YOUNG = "vague_young"
    """Young's modulus is known only within a range."""
    AT_BOUNDS = "at_bounds"
    """The fit ran into its bounds: not to be trusted."""
    NO_SLIP = "no_slip"
    """Friction is not known."""
    OTHER = "other"
    """Anything that an older version has written."""


@dataclass(frozen=True)
class CalibrationNote:
    """What is rough about a calibration, as a kind and in words with numbers."""

    kind: NoteKind
    text: str
