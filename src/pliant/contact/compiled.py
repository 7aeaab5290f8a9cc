"""Whether the inner loops have been compiled on this machine before: it takes a minute or two, once."""

from __future__ import annotations

from pathlib import Path

from pliant.contact import deepest


def compiled_here() -> bool:
    """The compiler's cache holds the search for the deepest place, which calls most of the rest, as it is now."""
    folder = Path(deepest.search.stats.cache_path)
    written = Path(deepest.__file__).stat().st_mtime
    try:
        return any(file.stat().st_mtime > written for file in folder.glob("deepest.search-*.nbi"))
    except OSError:
        return False
