"""Every package that pliant needs when it runs, with version, size and licence as its own metadata says.

    python tools/licences.py             writes the tables of docs/dependencies.md anew
    python tools/licences.py --check     only says whether all licences are allowed; exit code 1 if not

Followed are the declared dependencies of pliant and of its extras `lab`, `viewer` and `batch`, and theirs, as installed
here; other extras (ray, ros, dev, bench) are not.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ALLOWED = re.compile(
    r"\b(?:MIT|MIT-0|MIT-CMU|BSD|0BSD|BSD-[0-4]-Clause|Apache|PSF|Python Software Foundation|ISC|ISCL|Zlib|HPND|"
    r"Unlicense|Public Domain|CC0|MPL|Mozilla Public License|LGPL|GNU Lesser|LLVM-exception|NCSA|BSL-1\.0|Boost|"
    r"Qhull)\b",
    re.IGNORECASE,
)
"""Permissive licences, and copyleft that ends at the borders of the library (MPL, LGPL)."""
PARTS = ("lab", "viewer", "batch")
"""Extras that are followed too."""
BEGIN = "<!-- written by tools/licences.py from here on -->\n"
STRONG = re.compile(r"\bA?GPL|GNU (?:Affero )?General Public|Commons Clause|SSPL|proprietary", re.IGNORECASE)
STATED = {"cmeel-qhull": "Qhull (permissive, notice kept)"}
"""Packages whose metadata names no licence, with what their source says."""


@dataclass(frozen=True)
class Package:
    """A package as installed."""

    name: str
    version: str
    licence: str
    needed_by: str
    source: str
    part: str = ""
    megabytes: float = 0.0

    @property
    def allowed(self) -> bool:
        return bool(ALLOWED.search(self.licence)) and not STRONG.search(self.licence)


def packages(root: str = "pliant") -> list[Package]:
    """All packages that ``root`` and its parts need, by name; ``root`` itself is left out."""
    found: dict[str, Package] = {}
    for part in ("", *PARTS):
        # Those of `root` alone come first: what they bring no part brings.
        _follow(root, part, found)
    return [found[name] for name in sorted(found)]


def _follow(root: str, part: str, found: dict[str, Package]) -> None:
    asked = frozenset({part} if part else ())
    waiting = [(requirement, root) for requirement in _requirements(distribution(root), asked)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        requirement, by = waiting.pop(0)
        name, extras = _plain(requirement.name), frozenset(requirement.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            there = distribution(requirement.name)
        except PackageNotFoundError:
            found.setdefault(name, Package(name, "not installed", "not installed", by, "", part))
            continue
        licence, source = licence_of(there)
        found.setdefault(name, Package(name, there.version, licence, by, source, part, _megabytes(there)))
        waiting += [(needed, name) for needed in _requirements(there, extras)]


def _megabytes(there: Distribution) -> float:
    """Of its files as they were installed, without what Python has compiled since."""
    files = (Path(str(there.locate_file(path))) for path in there.files or [] if path.suffix != ".pyc")
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def licence_of(there: Distribution) -> tuple[str, str]:
    """The licence of a distribution, and where it is said."""
    fields = there.metadata
    if text := fields.get("License-Expression"):
        return text, "expression"
    classified = [
        line.rpartition("::")[2].strip()
        for line in fields.get_all("Classifier") or []
        if line.startswith("License ::") and not line.endswith("OSI Approved")
    ]
    if classified:
        return ", ".join(classified), "classifier"
    stated = (fields.get("License") or "").strip()
    if stated and stated.lower() not in ("unknown", "none"):
        return " ".join(stated.splitlines()[0].split())[:80], "field"
    name = _plain(fields["Name"])
    if name in STATED:
        return STATED[name], "its source"
    return _from_file(there), "licence file"


def _from_file(there: Distribution) -> str:
    """What the licence file that came along is, by its words."""
    for path in there.files or []:
        if re.search(r"(licen[cs]e|copying)", path.name, re.IGNORECASE):
            text = Path(str(there.locate_file(path))).read_text(errors="replace")
            for words, licence in (
                ("GNU LESSER GENERAL PUBLIC", "LGPL"),
                ("GNU AFFERO", "AGPL"),
                ("GNU GENERAL PUBLIC", "GPL"),
                ("Mozilla Public License", "MPL"),
                ("Apache License", "Apache-2.0"),
                ("Permission is hereby granted, free of charge", "MIT"),
                ("Redistribution and use in source and binary forms", "BSD"),
            ):
                if words in text:
                    return licence
    return "unknown"


def _requirements(there: Distribution, extras: frozenset[str]) -> list[Requirement]:
    requirements = [Requirement(text) for text in there.requires or []]
    wanted = ("", *extras)
    return [r for r in requirements if r.marker is None or any(r.marker.evaluate({"extra": e}) for e in wanted)]


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def tables(found: list[Package]) -> str:
    """Sizes by part, then all packages."""
    lines = ["| part | packages | MB | largest |", "|---|---|---|---|"]
    for part in ("", *PARTS):
        own = sorted((p for p in found if p.part == part), key=lambda package: -package.megabytes)
        largest = ", ".join(f"{p.name} {p.megabytes:.0f}" for p in own[: 8 if not part else 3])
        total = sum(p.megabytes for p in own)
        lines.append(f"| {f'`pliant[{part}]`' if part else '`pliant`'} | {len(own)} | {total:.0f} | {largest} |")
    lines += ["", "## All packages", "", "| package | version | MB | licence | said by | needed by | part |"]
    lines += ["|---|---|---|---|---|---|---|"]
    lines += [
        f"| {p.name} | {p.version} | {p.megabytes:.1f} | {p.licence} | {p.source} | {p.needed_by} | {p.part} |"
        for p in found
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "dependencies.md")
    chosen = parser.parse_args()
    found = packages()
    for package in found:
        if not package.allowed:
            print(f"not allowed: {package.name} {package.version}: {package.licence} ({package.source})")
    if not chosen.check:
        written = chosen.out.read_text(encoding="utf-8")
        above, begin, _ = written.partition(BEGIN)
        chosen.out.write_text(f"{above}{begin}\n{tables(found)}", encoding="utf-8")
        print(f"{chosen.out}: {len(found)} packages")
    return int(not all(package.allowed for package in found))


if __name__ == "__main__":
    sys.exit(main())
