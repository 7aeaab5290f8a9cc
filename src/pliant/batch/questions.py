"""Objects x hands x tasks: the questions of a batch of plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from glob import glob
from itertools import product
from pathlib import Path
from typing import Any

from pliant.batch.items import Item, make_item
from pliant.documents import parse_document, read_mapping
from pliant.errors import InputError, OptionError, Problem, repeated, unknown_name
from pliant.files import TaskFile, calibration_path, read_task, task_from_fields, with_calibration
from pliant.objects import load_mesh
from pliant.planner import Task
from pliant.robot import load_hand, shipped_names

OWN = "as in the task"


def plan_items(
    tasks: Sequence[str | Path],
    *,
    objects: Sequence[str] = (),
    hands: Sequence[str] = (),
    seed: int = 0,
    package_dirs: Iterable[str | Path] = (),
) -> list[Item]:
    """One item for every object with every hand in every task.

    An object takes the place of the task's own, with the same orientation, above the same spot, standing as high (its
    lowest point where the task's object has it); material and limits are the task's. Tasks and hands are checked here,
    so that a broken question is reported before anything runs; objects are checked where they are planned, so that a
    bad one costs only its own items.

    Args:
        tasks: task files.
        objects: mesh files or patterns (``meshes/*.stl``); the tasks' own objects if empty.
        hands: shipped names or description files; the tasks' own if empty.
        seed: of every search.
        package_dirs: folders in which ``package://name/...`` of robots is looked for.
    """
    meshes: list[Path | None] = [*_meshes(objects)] or [None]
    folders = [str(Path(folder).resolve()) for folder in package_dirs]
    chosen: list[str | None] = [_hand(hand, folders) for hand in hands] or [None]
    items = []
    for file in map(Path, tasks):
        task = read_task(file, package_dirs=folders)
        mapping = read_mapping(file)
        ground = float((task.body.mesh.vertices @ task.T_world_object.rotation.T)[:, 2].min())
        ground += float(task.T_world_object.translation[2])
        for mesh, hand in product(meshes, chosen):
            labels = {
                "task": file.stem,
                "object": mesh.stem if mesh is not None else _own_object(mapping),
                "hand": _hand_label(hand) if hand is not None else str(mapping["robot"]["hand"]),
            }
            arguments = labels | {
                "file": str(file.resolve()),
                "mesh": None if mesh is None else str(mesh.resolve()),
                "ground": None if mesh is None else ground,
                "hand_file": hand,
                "seed": seed,
                "package_dirs": folders,
            }
            # The place of a file does not matter, its contents do.
            asked = labels | {"seed": seed, "mapping": mapping}
            files = [path for path in (mesh, *_description_files(hand)) if path is not None]
            files += _named_files(mapping, file, own_object=mesh is None, own_hand=hand is None)
            label = f"{labels['object']}__{labels['hand']}__{labels['task']}"
            items.append(make_item(label, "plan", arguments, files, asked=asked))
    return items


def question_task(arguments: Mapping[str, Any]) -> Task:
    """The task of an item, read afresh from its files."""
    file = Path(arguments["file"])
    mapping = read_mapping(file)
    if arguments["hand_file"] is not None:
        mapping["robot"] = mapping["robot"] | {"hand": arguments["hand_file"]}
    if arguments["mesh"] is not None:
        kept = {key: value for key, value in mapping["object"].items() if key not in ("shape", "scale", "mesh")}
        mapping["object"] = kept | {"mesh": arguments["mesh"]}
    fields, changes = with_calibration(parse_document(mapping, TaskFile, source=str(file)), file)
    if arguments["mesh"] is not None:
        pose = fields.object.pose
        vertices = load_mesh(arguments["mesh"]).mesh.vertices
        lowest = float((vertices @ pose.se3.rotation.T)[:, 2].min())
        x, y, _ = pose.position
        stands = pose.model_copy(update={"position": (x, y, float(arguments["ground"]) - lowest)})
        fields = fields.model_copy(update={"object": fields.object.model_copy(update={"pose": stands})})
    # The task as it is written was read within its folder; what was put in since was named by whoever runs the batch.
    task = task_from_fields(fields, file, allow_outside=True, package_dirs=arguments["package_dirs"])
    return replace(task, notes=(*task.notes, *changes))


def _meshes(patterns: Sequence[str]) -> list[Path]:
    found: list[Path] = []
    for pattern in patterns:
        matches = sorted(Path(name) for name in glob(pattern, recursive=True))  # noqa: PTH207 - patterns may be absolute
        files = [path for path in matches if path.is_file()]
        if not files:
            raise OptionError("--objects", Problem(pattern, "matches no file", "give mesh files or a quoted pattern"))
        found += files
    unique = list(dict.fromkeys(found))
    # Scans often have equal names in folders of their own; then items differ by their digest, people need more.
    for twice in repeated(path.stem for path in unique):
        same = [str(path) for path in unique if path.stem == twice]
        what = f"{len(same)} files are called '{twice}': {', '.join(same[:3])}"
        raise OptionError("--objects", Problem("", what, "give them names of their own"))
    return unique


def _hand(hand: str, folders: Sequence[str]) -> str:
    """A shipped name as it is, a description file with its whole path; checked by loading it."""
    name = hand if hand in shipped_names("hand") else str(Path(hand).resolve())
    if name != hand and not Path(hand).exists() and not Path(hand).suffix:
        raise OptionError("--hands", unknown_name("hand", hand, shipped_names("hand")))
    load_hand(name, package_dirs=folders)
    return name


def _hand_label(hand: str) -> str:
    path = Path(hand)
    if not path.is_absolute():
        return hand
    return path.parent.name if path.stem == "hand" and path.parent.name else path.stem


def _description_files(module: str | None) -> list[Path]:
    """The description of a hand or arm and its URDF; nothing of one that ships."""
    if module is None or not Path(module).is_absolute():
        return []
    path = Path(module)
    try:
        return [path, path.parent / str(read_mapping(path)["urdf"])]
    except (InputError, KeyError):
        return [path]


def _named_files(mapping: Mapping[str, Any], task: Path, *, own_object: bool, own_hand: bool) -> list[Path]:
    """Files that the answer depends on because the task names them, and its calibration, where there is one."""
    folder = task.resolve().parent
    robot = mapping["robot"]
    found: list[Path] = []
    for kind, name in (("arm", robot.get("arm")), ("hand", robot["hand"] if own_hand else None)):
        if name is not None and name not in shipped_names(kind):
            found += _description_files(str(folder / str(name)))
    bodies = [*([mapping["object"]] if own_object else []), *(mapping.get("scene") or ())]
    found += [folder / str(body["mesh"]) for body in bodies if body.get("mesh")]
    return [path for path in (*found, calibration_path(task)) if path.is_file()]


def _own_object(mapping: Mapping[str, Any]) -> str:
    own = mapping["object"]
    return str(Path(own["mesh"]).stem) if own.get("mesh") else str(next(iter(own.get("shape", {OWN: 0}))))
