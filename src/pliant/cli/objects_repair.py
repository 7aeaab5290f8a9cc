"""`pliant objects repair`: a scan mended on demand, with a report on what was done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pliant.objects import Mended


def repair(
    file: Path, out: Path, *, cap: bool, smooth: bool, units: str | None, picture: Path | None, json: bool
) -> None:
    """Mend a mesh or a cloud of points, write it, and say what was done."""
    from pliant.cli.answers import emit, progress
    from pliant.documents import not_of
    from pliant.errors import MeshError, OptionError, unknown_name
    from pliant.objects import UNITS, load_mesh, mend_file, write_mesh

    if units is not None and units not in UNITS:
        raise OptionError("--units", unknown_name("unit", units, UNITS))
    not_of(out, file)
    if picture is not None:
        from pliant.viewer import mended_picture, png_path, save_png

        not_of(png_path(picture), file, out)
    with progress("mending"):
        given, mended = mend_file(file, cap=cap, smooth=smooth, unit=units)
        path = write_mesh(mended.repaired.mesh, out)
        try:
            load_mesh(path)  # what was written is what counts; some formats round
        except MeshError as bad:
            path.unlink()
            raise MeshError(str(path), bad.problems[0]) from None
    answer = _answer(mended, path)
    if picture is not None:
        with progress("drawing"):
            answer["picture"] = save_png(mended_picture(given, mended.repaired.mesh), picture)
    emit(answer, json)
    if not json:
        _print(answer)


def _answer(mended: Mended, path: Path) -> dict[str, Any]:
    mesh, report = mended.repaired.mesh, mended.repaired.report
    answer: dict[str, Any] = {
        "out": path,
        "done": list(mended.done),
        "volume_change": mended.volume_change,
        "faces": len(mesh.faces),
        "extents_m": mesh.extents,
        "volume_m3": report.volume,
        "notes": list(report.notes),
    }
    if mended.cloud is not None:
        answer["trust"] = {
            "spacing_m": mended.cloud.spacing,
            "distance_m": mended.cloud.distance,
            "distance_95_m": mended.cloud.farthest,
            "made_up_share": 1.0 - mended.cloud.seen,
        }
    return answer


def _print(answer: dict[str, Any]) -> None:
    size = " x ".join(f"{1000 * extent:.4g}" for extent in answer["extents_m"])
    change = answer["volume_change"]
    changed = "" if change is None else f" ({100 * change:+.2g} %)"
    for line in answer["done"] or ["nothing was to be mended"]:
        print(line)
    for note in answer["notes"]:
        print(f"note: {note}")
    print(
        f"written to {answer['out']}: {answer['faces']} faces, {size} mm, {1e6 * answer['volume_m3']:.4g} cm3{changed}"
    )
    if "picture" in answer:
        print(f"before and after: {answer['picture']}")
