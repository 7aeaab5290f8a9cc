"""What a batch consists of: items with names that say what they ask, and change when the question changes."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pliant.errors import OptionError, Problem

LONGEST = 120
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]*\Z")


@dataclass(frozen=True)
class Item:
    """One question of a batch.

    Args:
        name: its name, unique in the batch, and the name of its files: letters, digits and ``. _ + = -``.
        arguments: what the work is called with; plain JSON values.
    """

    name: str
    arguments: Mapping[str, Any]

    def __post_init__(self) -> None:
        if len(self.name) > LONGEST + 20 or not _SAFE.match(self.name):
            allowed = f"letters, digits and . _ + = -, at most {LONGEST + 20}, not starting with a dot"
            raise OptionError("batch", Problem("item", f"'{self.name[:60]}' cannot be the name of a file", allowed))


def make_item(
    label: str,
    work: str,
    arguments: Mapping[str, Any],
    files: Iterable[Path] = (),
    *,
    asked: Mapping[str, Any] | None = None,
) -> Item:
    """An item whose name ends in a digest of the whole question: work, arguments and the contents of its files.

    A finished item is found again by its name; so one whose mesh or task has been edited since is a new one.

    Args:
        label: begins the name; what is not allowed in the name of a file is replaced.
        files: files the answer depends on.
        asked: what the digest is made of in place of the arguments (which may hold paths that do not matter).
    """
    digest = hashlib.sha256(
        json.dumps([work, arguments if asked is None else asked], sort_keys=True, allow_nan=False).encode()
    )
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    readable = re.sub(r"[^A-Za-z0-9._+=-]+", "_", label).strip("._-+=") or "item"
    return Item(f"{readable[:LONGEST]}-{digest.hexdigest()[:10]}", dict(arguments))
