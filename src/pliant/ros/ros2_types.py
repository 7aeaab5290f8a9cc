"""ROS 2 messages as CycloneDDS types, made from `pliant.ros.messages`: names, fields and bytes are those of ROS 2."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, get_args, get_origin

from cyclonedds.idl import make_idl_struct, types

from pliant.ros.messages import field_types, from_foreign, to_foreign

_MADE: dict[type[Any], Any] = {}


def dds_type(kind: type[Any]) -> Any:
    """The DDS type of a message: ``std_msgs::msg::dds_::String_`` of std_msgs/String. Made once: DDS compares them."""
    if kind not in _MADE:
        package, name = kind.ROS_TYPE.split("/")
        fields = {field: _annotation(hint) for field, hint in field_types(kind).items()}
        _MADE[kind] = make_idl_struct(name, f"{package}::msg::dds_::{name}_", fields)
    return _MADE[kind]


def to_dds(message: Any) -> Any:
    """A message as CycloneDDS sends it."""
    return to_foreign(message, _make)


def from_dds(kind: type[Any], message: Any) -> Any:
    """A message of ours from one that CycloneDDS received."""
    return from_foreign(kind, message)


def _make(kind: type[Any], values: dict[str, Any]) -> Any:
    return dds_type(kind)(
        **{name: list(value) if isinstance(value, bytes) else value for name, value in values.items()}
    )


def _annotation(hint: Any) -> Any:
    if hint is bytes:
        return types.sequence[types.uint8]
    if isinstance(hint, type) and is_dataclass(hint):
        return dds_type(hint)
    if get_origin(hint) is list:
        return types.sequence[_annotation(get_args(hint)[0])]
    width = getattr(hint, "__metadata__", None)
    return getattr(types, width[0]) if width else hint
