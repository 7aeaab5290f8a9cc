"""Which forces and moments each contact passes on, and where they stand in the stacked force f.   (theory 7.1)"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pliant.arrays import Floats


class ContactModel(StrEnum):
    """What a contact can pass on."""

    FRICTIONLESS = "frictionless"
    POINT = "point"
    SOFT = "soft"


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each component of the stacked contact force f lives: (tangents.., normal, [moment]) contact by contact."""

    dimension: int
    models: tuple[ContactModel, ...]
    columns: NDArray[np.intp]  # of each component of f among the n*d columns of G~
    normal: NDArray[np.intp]  # of each contact's normal force in f
    slices: tuple[slice, ...]  # of each contact in f
    force_entries: NDArray[np.intp]  # components of f that are forces ..
    force_places: NDArray[np.intp]  # .. and their places in the flat n x s table of forces
    moment_entries: NDArray[np.intp]
    moment_contacts: NDArray[np.intp]
    no_shift: Floats  # 1 x size zeros: the answer to no disturbance
    ones: Floats  # one per component

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        # Back from another process it becomes the one layout of this process, so that the solvers kept for it serve it.
        return layout_of, (self.dimension, self.models)

    @property
    def size(self) -> int:
        """Number of components of f."""
        return len(self.columns)

    def selection(self) -> Floats:
        """H, block diagonal: picks what the contact models pass on, w_c = H f.   (theory 7.1)"""
        wrench = 6 if self.dimension == 3 else 3
        h = np.zeros((wrench * len(self.models), self.size))
        h[self.columns, np.arange(self.size)] = 1.0
        return h


@lru_cache(maxsize=256)
def layout_of(dimension: int, models: tuple[ContactModel, ...]) -> Layout:
    """The one layout of this process for contacts of these models, in space (3) or in the plane (2)."""
    s, d = (3, 6) if dimension == 3 else (2, 3)
    picks = {
        ContactModel.FRICTIONLESS: (s - 1,),
        ContactModel.POINT: tuple(range(s)),
        ContactModel.SOFT: (*range(s), d - 1),
    }
    columns: list[int] = []
    normal: list[int] = []
    slices: list[slice] = []
    force_entries: list[int] = []
    force_places: list[int] = []
    moment_entries: list[int] = []
    moment_contacts: list[int] = []
    for i, model in enumerate(models):
        start = len(columns)
        for pick in picks[model]:
            if pick < s:
                force_entries.append(len(columns))
                force_places.append(i * s + pick)
            else:
                moment_entries.append(len(columns))
                moment_contacts.append(i)
            if pick == s - 1:
                normal.append(len(columns))
            columns.append(i * d + pick)
        slices.append(slice(start, len(columns)))

    def integers(values: list[int]) -> NDArray[np.intp]:
        return np.array(values, dtype=np.intp)

    return Layout(
        dimension,
        models,
        integers(columns),
        integers(normal),
        tuple(slices),
        integers(force_entries),
        integers(force_places),
        integers(moment_entries),
        integers(moment_contacts),
        np.zeros((1, len(columns))),
        np.ones(len(columns)),
    )


@lru_cache(maxsize=64)
def point_layout(dimension: int, n: int) -> Layout:
    """The layout of n point contacts."""
    return layout_of(dimension, (ContactModel.POINT,) * n)
