"""Where the mesh files of a URDF may lie: in its own folder, its own package, or folders the user named."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from pliant.errors import closest

SUFFIXES = (".stl", ".obj", ".ply", ".off", ".glb", ".gltf", ".dae")
"""Of mesh files that robots come with: whatever else lies around is never opened, or carried along in a plan."""
ROBOT_FOLDERS = ("urdf", "urdfs", "robot", "robots", "model", "models", "description", "xacro", "config")
"""Folders of a package that robot descriptions lie in."""


class MeshPaths:
    """Resolves the ``filename`` of a mesh; a path that would leave the allowed folders is refused.

    Args:
        folder: folder of the URDF, or None when it came as text.
        package_dirs: folders that hold packages by name. ROS_PACKAGE_PATH is added, as ROS users expect.
    """

    def __init__(self, folder: Path | None, package_dirs: Iterable[str | Path]) -> None:
        self.folder = folder
        environment = os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)
        self.package_dirs = [Path(d).resolve() for d in [*package_dirs, *filter(None, environment)]]

    def resolve(self, filename: str) -> Path:
        """The file, or ValueError with the reason in words."""
        if not filename:
            raise ValueError("mesh without filename")
        if len(filename) > 1000:
            raise ValueError(f"'{filename[:60]}...' is {len(filename)} characters long; that is no file name")
        try:
            if filename.startswith("package://"):
                return self._in_package(unquote(filename.removeprefix("package://")), filename)
            if "://" in filename and not filename.startswith("file://"):
                allowed = "package://name/path, file://path or a relative path"
                raise ValueError(f"'{filename}' is not a file; allowed: {allowed}")
            return self._in_folder(unquote(filename.removeprefix("file://")), filename)
        except (OSError, RuntimeError) as bad:
            raise ValueError(f"'{filename}' cannot be looked up: {getattr(bad, 'strerror', None) or bad}") from None

    def _in_package(self, rest: str, filename: str) -> Path:
        package, _, inner = rest.partition("/")
        if package in ("", ".", "..") or not inner:
            raise ValueError(f"'{filename}' leaves the package folders; expected package://name/path")
        folders = [*self.package_dirs, *([self.folder] if self.folder is not None else [])]
        roots = [directory / package for directory in folders]
        for directory, root in zip(folders, roots, strict=True):
            if root.is_dir():
                if not root.resolve().is_relative_to(directory):  # it is a link
                    raise ValueError(f"'{filename}' leads out of {directory.name}; mesh files must lie inside it")
                return _existing(root, inner, filename)
        for parent in self._own_packages() if self.folder is not None else ():
            if parent.name == package:
                return _existing(parent, inner, filename)
        looked = ", ".join(dict.fromkeys(str(root.parent) for root in roots)) or "nowhere: no package folder is known"
        raise ValueError(
            f"package '{package}' of '{filename}' was not found; looked in {looked}; "
            "name the folder that holds it (package_dirs, or --package-dir)"
        )

    def _own_packages(self) -> list[Path]:
        """Folders above the file that are the package it lies in.

        Not any folder above: a foreign file would only have to guess the name of somebody's home to look into it. A
        package says so (package.xml), or has the file directly in it or in one of the folders where packages have it.
        """
        assert self.folder is not None
        marked = [parent for parent in self.folder.parents if (parent / "package.xml").is_file()]
        usual = [self.folder.parent] if self.folder.name.lower() in ROBOT_FOLDERS else []
        return [self.folder, *usual, *marked]

    def _in_folder(self, name: str, filename: str) -> Path:
        path = Path(name)
        if path.is_absolute():
            for root in [*([self.folder] if self.folder else []), *self.package_dirs]:
                if path.resolve().is_relative_to(root):
                    return _existing(root, str(path), filename)
            raise ValueError(
                f"'{filename}' lies outside the robot's folder; name its folder with package_dirs to allow it"
            )
        if self.folder is None:
            raise ValueError(f"'{filename}': no folder is known to look in")
        return _existing(self.folder, name, filename)


def _existing(root: Path, inner: str, filename: str) -> Path:
    path = (root / inner).resolve()
    if not path.is_relative_to(root.resolve()):
        raise ValueError(f"'{filename}' leads out of {root.name}; mesh files must lie inside it")
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"'{filename}' does not end as a mesh file does; allowed: {', '.join(SUFFIXES)}")
    if not path.is_file():
        near = closest(path.name, [entry.name for entry in path.parent.iterdir()]) if path.parent.is_dir() else []
        raise ValueError(
            f"mesh file '{filename}' does not exist" + (f"; closest there: {', '.join(near)}" if near else "")
        )
    return path
