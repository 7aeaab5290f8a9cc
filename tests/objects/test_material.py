"""Elastic constants and limits: what is allowed, what is said."""

from __future__ import annotations

import math
import pickle

import pytest

from pliant.documents import Document, parse_document
from pliant.errors import DocumentError, MaterialError
from pliant.objects import ContactLimits, Liquid, Material


@pytest.mark.parametrize(
    ("values", "where", "said"),
    [
        ({"young": 0.0}, "young", "above 0"),
        ({"young": -5e5}, "young", "-500000.0"),
        ({"young": math.nan}, "young", "finite"),
        ({"young": math.inf}, "young", "finite"),
        ({"young": "soft"}, "young", "'soft'"),
        ({"young": None}, "young", "above 0"),
        ({"poisson": 0.5}, "poisson", "use 0.49"),
        ({"poisson": 0.7}, "poisson", "incompressible"),
        ({"poisson": 0.0}, "poisson", "both excluded"),
        ({"poisson": -0.2}, "poisson", "both excluded"),
        ({"poisson": math.nan}, "poisson", "between 0 and 0.5"),
        ({"density": 0.0}, "density", "above 0"),
        ({"density": -1.0}, "density", "above 0"),
        ({"friction": -0.1}, "friction", "0 or more"),
        ({"friction": True}, "friction", "0 or more"),
    ],
)
def test_constants_outside_physics_are_refused_by_field_with_value_and_remedy(values, where: str, said: str) -> None:
    with pytest.raises(MaterialError) as caught:
        Material(**{"young": 5e5, "poisson": 0.45, "density": 1000.0, "friction": 0.5, **values})
    assert [problem.where for problem in caught.value.problems] == [where]
    assert said in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_all_wrong_constants_are_told_at_once() -> None:
    with pytest.raises(MaterialError) as caught:
        Material(-1.0, 0.6, 0.0, -1.0)
    assert [problem.where for problem in caught.value.problems] == ["young", "poisson", "density", "friction"]


def test_unusual_but_legal_values_are_noted() -> None:
    assert Material(5e5, 0.45, 1100.0, 0.8).notes() == ()
    notes = " ".join(Material(0.5, 0.499, 1.1, 0.0).notes())
    for word in ("MPa", "incompressible", "g/cm3", "friction 0"):
        assert word in notes


def test_limits_are_positive_or_absent() -> None:
    assert ContactLimits().largest_force == math.inf
    assert ContactLimits(force=15).largest_force == 15.0
    for values in ({"force": 0.0}, {"pressure": -1.0}, {"force": math.nan}):
        with pytest.raises(MaterialError, match="above 0"):
            ContactLimits(**values)


def test_a_document_can_hold_them() -> None:
    class Thing(Document):
        material: Material
        limits: ContactLimits = ContactLimits()
        liquid: Liquid | None = None

    data = {"material": {"young": 5e5, "poisson": 0.45, "friction": 0.8}, "liquid": {"volume": 3e-4, "wall": 5e-4}}
    thing = parse_document(data, Thing, source="task.yaml")
    assert thing.material == Material(5e5, 0.45, None, 0.8)
    assert thing.liquid == Liquid(3e-4, wall=5e-4)
    with pytest.raises(DocumentError, match=r"task.yaml: material.yuong"):
        parse_document({"material": {"yuong": 5e5, "young": 1e5, "poisson": 0.4}}, Thing, source="task.yaml")
    with pytest.raises(MaterialError, match=r"poisson: 0.5"):
        parse_document({"material": {"young": 5e5, "poisson": 0.5}}, Thing, source="task.yaml")
