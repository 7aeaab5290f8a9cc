"""What a trial squeeze has found, kept beside the task file and used when the task is read again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import yaml
from pydantic import Field

from pliant.calibration import NoteKind
from pliant.documents import Document, read_document
from pliant.errors import OptionError, Problem
from pliant.file_bytes import write_bytes
from pliant.files.task_schema import TaskFile

if TYPE_CHECKING:
    from pliant.calibration import Calibration
    from pliant.control import CalibrationFactors

Positive = Annotated[float, Field(gt=0)]
SENTENCES = {"do not trust": NoteKind.AT_BOUNDS, "Young's modulus may be": NoteKind.VAGUE_YOUNG}
"""What notes of version 1, which are texts alone, contain where they matter."""


class NoteEntry(Document):
    """A note as written since version 2."""

    kind: NoteKind
    text: str


class StartValues(Document):
    """Young's modulus [Pa] and friction that a calibration began with."""

    young: Positive
    friction: Annotated[float, Field(ge=0)]


class CalibrationFile(Document):
    """A calibration as written. Units: Pa, N/m.

    Args:
        young, friction: what the object really has; friction is left out where no slip was seen.
        k: measured over planned force, with the start values.
        stiffness: of a contact at the planned force; ``stiffness_factor`` is that over the plan's.
        started_from: the values that the task file had.
    """

    kind: Literal["calibration"]
    version: Literal[1, 2]
    young: Positive
    friction: Annotated[float, Field(ge=0)] | None = None
    k: Positive
    stiffness: Positive
    stiffness_factor: Positive
    misfit: Annotated[float, Field(ge=0)]
    started_from: StartValues
    notes: tuple[NoteEntry | str, ...] = ()

    def factors(self, young: float) -> CalibrationFactors:
        """What it says about a plan that was made with this Young's modulus [Pa].

        Forces and stiffness of a plan go with its modulus; those of the calibration are over the ones it started from.
        """
        from pliant.control import CalibrationFactors  # not for those who only open a plan

        share = self.started_from.young / young
        return CalibrationFactors(self.k * share, self.stiffness_factor * share)

    def note_texts(self, kind: NoteKind) -> list[str]:
        """Texts of the notes of a kind."""
        return [note.text for note in map(_with_kind, self.notes) if note.kind is kind]


def _with_kind(note: NoteEntry | str) -> NoteEntry:
    if isinstance(note, NoteEntry):
        return note
    kinds = [kind for part, kind in SENTENCES.items() if part in note]
    return NoteEntry(kind=kinds[0] if kinds else NoteKind.OTHER, text=note)


def calibration_path(task: str | Path) -> Path:
    """The calibration that belongs to a task file: ``ring.yaml`` has ``ring.calibration.yaml``."""
    task = Path(task)
    return task.with_name(f"{task.stem}.calibration.yaml")


def save_calibration(found: Calibration, path: str | Path, *, young: float, friction: float) -> Path:
    """Write a calibration; ``young`` and ``friction`` are the start values."""
    path = Path(path)
    fields = {
        "kind": "calibration",
        "version": 2,
        "young": float(f"{found.young:.6g}"),
        "friction": None if found.friction is None else float(f"{found.friction:.4g}"),
        "k": float(f"{found.k:.6g}"),
        "stiffness": float(f"{found.stiffness:.6g}"),
        "stiffness_factor": float(f"{found.stiffness_factor:.6g}"),
        "misfit": float(f"{found.misfit:.4g}"),
        "started_from": {"young": float(young), "friction": float(friction)},
        "notes": [{"kind": str(note.kind), "text": note.text} for note in found.notes],
    }
    text = "# Found by a trial squeeze (pliant calibrate); used when the task beside it is read.\n"
    text += yaml.safe_dump(fields, sort_keys=False)
    write_bytes(path, text.encode(), error=OptionError)
    return path


def load_calibration(path: str | Path) -> CalibrationFile:
    """Read a calibration."""
    return read_document(path, CalibrationFile)


def with_calibration(fields: TaskFile, task: str | Path) -> tuple[TaskFile, tuple[str, ...]]:
    """The task's fields with what a calibration beside it gives, and a note about it; unchanged where there is none."""
    path = calibration_path(task)
    if not path.is_file():
        return fields, ()
    known = load_calibration(path)
    if known.note_texts(NoteKind.AT_BOUNDS):
        raise OptionError(
            str(path), Problem("notes", "a fit that is not to be trusted", "calibrate again or remove it")
        )
    material = fields.object.material
    changed = {"young": known.young, "friction": material.friction if known.friction is None else known.friction}
    calibrated = fields.object.model_copy(update={"material": material.model_copy(update=changed)})
    applied = ", ".join(f"{name} {getattr(material, name):.4g} -> {value:.4g}" for name, value in changed.items())
    vague = known.note_texts(NoteKind.VAGUE_YOUNG)
    return fields.model_copy(update={"object": calibrated}), tuple(f"{path.name}: {text}" for text in (applied, *vague))
