"""What `pliant doctor` finds out about the machine it runs on; one function per question."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple

from pliant.parts import PARTS, install_command, missing_modules

REQUIRED = {
    "numpy": "numpy",
    "scipy": "scipy",
    "pinocchio": "pin",
    "coal": "coal",
    "numba": "numba",
    "trimesh": "trimesh",
    "igl": "libigl",
    "manifold3d": "manifold3d",
    "fast_simplification": "fast-simplification",
    "clarabel": "clarabel",
    "daqp": "daqp",
    "pydantic": "pydantic",
    "yaml": "pyyaml",
    "PIL": "pillow",
}
"""What every installation has: as it is imported, as pip calls it."""
COMPILED = re.compile(r"^@(kernel|inner|jit|jit_inside|njit)\b", re.MULTILINE)
"""How a loop that is compiled begins."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox", "microsoft-edge")
LITTLE_ROOM = 1 << 30
"""A cache with less free space than this is soon full [bytes]."""
GL_BACKENDS = ("egl", "osmesa")
DRAWS = "import mujoco; mujoco.Renderer(mujoco.MjModel.from_xml_string('<mujoco/>'), 16, 16).close()"


class State(StrEnum):
    """How good it is."""

    GOOD = "good"
    SLOW = "slow"
    MISSING = "missing"
    BROKEN = "BROKEN"


class Finding(NamedTuple):
    """One answer.

    Attributes:
        what: that was asked about.
        state: missing is only what some commands need; broken is what all need.
        found: in words.
        remedy: what to do; empty where nothing is to be done.
        facts: the same as numbers and names.
    """

    what: str
    state: State
    found: str
    remedy: str = ""
    facts: dict[str, Any] = {}  # noqa: RUF012 - never changed


def examine() -> list[Finding]:
    """Everything, in the order of how much depends on it."""
    return [
        _version(),
        *_packages(),
        _cores(),
        _blas(),
        _cache(),
        _compiled(),
        *_parts(),
        _drawing(),
        _browser(),
        *_ros(),
    ]


def _version() -> Finding:
    import pliant

    python = platform.python_version()
    facts = {
        "pliant": pliant.__version__,
        "python": python,
        "executable": sys.executable,
        "folder": str(Path(pliant.__file__).parent),
        "system": platform.platform(),
    }
    return Finding("pliant", State.GOOD, f"{pliant.__version__}, Python {python}, {platform.platform()}", facts=facts)


def _packages() -> Iterator[Finding]:
    """Imported, not only looked up: a wheel may be there and not fit this machine."""
    versions: dict[str, str] = {}
    for module, package in REQUIRED.items():
        try:
            import_module(module)
            versions[package] = metadata.version(package)
        except Exception as bad:  # a binary of another machine may raise anything
            what = f"cannot be imported: {type(bad).__name__}: {bad}"
            yield Finding(package, State.BROKEN, what, f"pip install --force-reinstall {package}")
    found = ", ".join(f"{name} {version}" for name, version in versions.items())
    yield Finding("packages", State.GOOD, found, facts=versions)


def _cores() -> Finding:
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    facts: dict[str, Any] = {"cores": os.cpu_count(), "allowed": allowed}
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        facts["memory_bytes"] = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    memory = f", {facts['memory_bytes'] / 2**30:.0f} GiB of memory" if "memory_bytes" in facts else ""
    return Finding("cores", State.GOOD, f"{allowed} of {os.cpu_count()}, all used by pliant plan{memory}", facts=facts)


def _blas() -> Finding:
    import scipy.linalg  # noqa: F401 (only loaded libraries are found)
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    threads = max((int(pool["num_threads"]) for pool in pools), default=1)
    facts = {f"{pool['internal_api']} {pool['version']}": pool["num_threads"] for pool in pools}
    found = f"{threads} thread{'s' * (threads > 1)} ({', '.join(facts) or 'none found'})"
    if threads == 1:
        return Finding("linear algebra", State.GOOD, found, facts=facts)
    advice = "commands set one where it matters; in scripts that call single functions: export OPENBLAS_NUM_THREADS=1"
    return Finding("linear algebra", State.GOOD, found, advice, facts)


def _cache() -> Finding:
    from pliant.elastic import cache_folder

    folder = cache_folder()
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files)
    facts: dict[str, Any] = {"folder": str(folder), "files": len(files), "bytes": size}
    fault = _write_fault(folder)
    facts["writable"] = not fault
    if fault:
        remedy = "every object is prepared anew in each process: set PLIANT_CACHE to a folder that can be written"
        return Finding("cache", State.SLOW, f"{folder} cannot be written: {fault}", remedy, facts)
    facts["free_bytes"] = free = shutil.disk_usage(folder).free
    found = f"{folder}: {size / 1e6:.0f} MB in {len(files)} files, writable, {free / 1e9:.1f} GB free"
    if free < LITTLE_ROOM:
        return Finding("cache", State.SLOW, found, "make room, or set PLIANT_CACHE to a folder on another disk", facts)
    return Finding("cache", State.GOOD, found, facts=facts)


def _write_fault(folder: Path) -> str:
    """Why nothing can be written into a folder; empty where something can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"pliant")
    except OSError as bad:
        return bad.strerror or str(bad)
    return ""


def _compiled() -> Finding:
    """The inner loops are compiled when first used and kept beside the sources, or where NUMBA_CACHE_DIR says."""
    kernels = list(_kernels())
    ready = [kernel for kernel in kernels if _is_compiled(kernel)]
    folders = sorted({str(Path(kernel.stats.cache_path)) for kernel in kernels if kernel.stats.cache_path})
    stuck = [folder for folder in folders if _write_fault(Path(folder))]
    facts = {"loops": len(kernels), "compiled": len(ready), "folders": folders, "jit": not _jit_is_off()}
    found = f"{len(ready)} of {len(kernels)}"
    if _jit_is_off():
        return Finding("compiled loops", State.SLOW, "switched off", "unset NUMBA_DISABLE_JIT", facts)
    if stuck:
        remedy = "they are compiled anew in each process: set NUMBA_CACHE_DIR to a folder that can be written"
        return Finding("compiled loops", State.SLOW, f"{found}; {stuck[0]} cannot be written", remedy, facts)
    if len(ready) < len(kernels) // 2:
        remedy = "pliant doctor --compile, or the first plan does it, once, and takes so much longer"
        return Finding("compiled loops", State.SLOW, found, remedy, facts)
    return Finding("compiled loops", State.GOOD, f"{found}, the others when they are needed", facts=facts)


def _jit_is_off() -> bool:
    from numba import config

    return bool(config.DISABLE_JIT)


def _kernels() -> Iterator[Any]:
    """Every function of pliant that numba compiles and keeps."""
    import pliant

    root = Path(pliant.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if not COMPILED.search(path.read_text(encoding="utf-8")):
            continue
        module = import_module(".".join(["pliant", *path.relative_to(root).with_suffix("").parts]))
        for value in vars(module).values():
            if getattr(value, "__module__", None) == module.__name__ and hasattr(value, "py_func"):
                yield value


def _is_compiled(kernel: Any) -> bool:
    """Whether a result of the source as it is now lies in the cache, for any arguments."""
    function = kernel.py_func
    source = Path(function.__code__.co_filename)
    line = function.__code__.co_firstlineno
    stem = f"{source.stem}.{function.__qualname__}-{line}.py{sys.version_info[0]}{sys.version_info[1]}"
    files = Path(kernel.stats.cache_path).glob(f"{stem}*.nbi") if kernel.stats.cache_path else iter(())
    return any(file.stat().st_mtime >= source.stat().st_mtime for file in files)


def _parts() -> Iterator[Finding]:
    for name, part in PARTS.items():
        lacking = missing_modules(name)
        facts = {module: module not in lacking for module in part.modules}
        if lacking:
            yield Finding(name, State.MISSING, f"no {', '.join(lacking)} ({part.gives})", install_command(name), facts)
        else:
            versions = (f"{module} {metadata.version(module)}" for module in part.modules)
            yield Finding(name, State.GOOD, f"{', '.join(versions)} ({part.gives})", facts=facts)


def _drawing() -> Finding:
    what = "off-screen GL"
    if missing_modules("lab"):
        return Finding(what, State.MISSING, "not tried without mujoco", install_command("lab"))
    chosen = os.environ.get("MUJOCO_GL", "")
    tried = {backend or "the default": _draw_fault(backend) for backend in dict.fromkeys((chosen, *GL_BACKENDS))}
    works = [backend for backend, fault in tried.items() if not fault]
    first = chosen or "the default"
    if first in works:
        return Finding(what, State.GOOD, f"works with {first}", facts=tried)
    remedy = "only photographs of lab runs (pliant run --plots) need it; apt install libegl1, or libosmesa6"
    if works:
        remedy = f"for photographs of lab runs (pliant run --plots): export MUJOCO_GL={works[0]}"
    return Finding(what, State.MISSING, f"no picture with {first}: {tried[first]}", remedy, tried)


def _draw_fault(backend: str) -> str:
    """Why MuJoCo cannot draw; in a process of its own, because a driver that does not fit may end it."""
    # -P: not from the current folder, which may be a stranger's and have a mujoco.py
    environment = {**os.environ, "MUJOCO_GL": backend}
    if not backend:
        del environment["MUJOCO_GL"]
    try:
        tried = subprocess.run(
            [sys.executable, "-P", "-c", DRAWS],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as bad:
        return type(bad).__name__
    last = (tried.stderr.strip().splitlines() or [f"ended with {tried.returncode}"])[-1]
    return last[:100] if tried.returncode else ""


def _browser() -> Finding:
    found = {name: path for name in BROWSERS if (path := shutil.which(name))}
    screen = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")) or sys.platform == "darwin"
    facts = {"browsers": found, "screen": screen}
    if found and screen:
        return Finding("browser", State.GOOD, ", ".join(found), facts=facts)
    without = "no screen" if found else "none of " + ", ".join(BROWSERS)
    remedy = "pliant view prints an address; from another machine: ssh -L 8080:localhost:8080, then open it there"
    return Finding("browser", State.MISSING, without, remedy, facts)


def _ros() -> Iterator[Finding]:
    from pliant.ros import find_rospy

    names = ("ROS_DISTRO", "ROS_DOMAIN_ID", "ROS_MASTER_URI")
    here = {name: os.environ[name] for name in names if name in os.environ}
    words = ", ".join(f"{name}={value}" for name, value in here.items())
    if missing_modules("ros"):
        yield Finding("ROS 2", State.MISSING, words or "no cyclonedds, no rosbags", install_command("ros"), here)
    else:
        yield Finding("ROS 2", State.GOOD, words or "domain 0; no ROS is needed on this machine", facts=here)
    folder = find_rospy()
    facts = {"rospy": folder}
    if folder is None:
        remedy = "only for robots on ROS 1: apt install python3-rospy python3-sensor-msgs python3-trajectory-msgs"
        yield Finding("ROS 1", State.MISSING, "no rospy", remedy, facts)
    else:
        yield Finding("ROS 1", State.GOOD, f"rospy in {folder}", facts=facts)
