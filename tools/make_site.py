"""The documentation as a site, with search and API pages: `make docs` writes it to out/site.

The pages are those of docs/, in the order of its index, the files beside them that they link to, the examples, and a
page for the door of every package, made of its docstrings. Any broken link or reference is an error.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.cmd.build import main as sphinx
from sphinx.pycode import ModuleAnalyzer

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BESIDE = ("CONTRIBUTING.md", "CHANGELOG.md")
# In the order in which data flows through them.
PACKAGES = (
    "pliant", "pliant.objects", "pliant.robot", "pliant.elastic", "pliant.collision", "pliant.motion",
    "pliant.contact", "pliant.grasp", "pliant.planner", "pliant.tactile", "pliant.control", "pliant.calibration",
    "pliant.lab", "pliant.judge", "pliant.files", "pliant.viewer", "pliant.batch", "pliant.ros",
)  # fmt: skip


def write_pages(folder: Path) -> None:
    """All pages as Sphinx reads them."""
    shutil.copytree(DOCS, folder)
    for page in folder.glob("*.md"):
        page.write_text(re.sub(r"\]\(\.\./examples[^)]*\)", "](examples.md)", page.read_text()).replace("](../", "]("))
    for name in BESIDE:
        (folder / name).write_text((ROOT / name).read_text().replace("](docs/", "]("))
    (folder / "examples.md").write_text(examples_page())
    (folder / "api").mkdir()
    for package in PACKAGES:
        (folder / "api" / f"{package}.md").write_text(api_page(package))
    index = folder / "index.md"
    index.write_text(f"{index.read_text()}\n{contents(index.read_text())}")
    for file in ("conf.py", "site.css"):
        shutil.copy(ROOT / "tools" / "site" / file, folder)


def contents(index: str) -> str:
    """The navigation: the pages that the index links to, chapter by chapter, then the API and the project itself."""
    chapters: dict[str, list[str]] = {}
    listed: set[str] = set()
    for chapter, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL):
        found = [page for page in dict.fromkeys(re.findall(r"\]\((\w+)\.md", text)) if page not in listed]
        chapters[chapter] = [page for page in found if f"{page.upper()}.md" not in BESIDE and page != "examples"]
        listed.update(found)
    chapters["API"] = [f"api/{package}" for package in PACKAGES]
    chapters["Project"] = ["examples", *(name.removesuffix(".md") for name in BESIDE)]
    return "\n".join(
        f"```{{toctree}}\n:hidden:\n:caption: {chapter}\n\n{chr(10).join(pages)}\n```\n"
        for chapter, pages in chapters.items()
        if pages
    )


def examples_page() -> str:
    """Every example in full, with what it says it shows."""
    parts = [
        "# Examples\n\nIn the repository's folder `examples`; those in `ros2` need ROS 2, the others run as they are.\n"
    ]
    parts += [
        f"## {path.relative_to(ROOT / 'examples')}\n\n```python\n{path.read_text().rstrip()}\n```\n"
        for path in sorted((ROOT / "examples").rglob("*.py"))
    ]
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        parts.append(f"## {path.name}\n")
        for cell in json.loads(path.read_text())["cells"]:
            text = "".join(cell["source"]).replace("# ", "", 1) if cell["cell_type"] == "markdown" else ""
            parts.append(f"{text}\n" if text else f"```python\n{''.join(cell['source'])}\n```\n")
    return "\n".join(parts)


def api_page(package: str) -> str:
    """The public names of a package: what its door offers."""
    module = importlib.import_module(package)
    head = inspect.getdoc(module) or ""
    names = [name for name in module.__all__ if name != "__version__"]
    entries = "\n".join(_entry(module, name) for name in names)
    return f"# {package}\n\n```{{eval-rst}}\n.. py:module:: {package}\n\n{head}\n\n{entries}\n```\n"


def _entry(module: ModuleType, name: str) -> str:
    value = getattr(module, name)
    if inspect.isclass(value):
        # The top package offers again what its packages have; one place has the links.
        again = "\n   :no-index:" if module.__name__ == "pliant" else ""
        return f".. autoclass:: {module.__name__}.{name}\n   :members:{again}\n"
    if callable(value):
        again = "\n   :no-index:" if module.__name__ == "pliant" else ""
        return f".. autofunction:: {module.__name__}.{name}{again}\n"
    lines = [f".. py:data:: {name}", "   :no-index:" if module.__name__ == "pliant" else ""]
    shown = repr(value)
    if len(shown) < 80:
        lines.append(f"   :value: {shown}")
    return "\n".join([*filter(None, lines), "", *(f"   {line}" for line in _words(module, name)), ""])


def _words(module: ModuleType, name: str) -> Iterator[str]:
    """The docstring below an assignment, in the module that the door names."""
    assert module.__file__ is not None
    stub = Path(module.__file__).with_suffix(".pyi").read_text()
    home = re.search(rf"^from ([\w.]+) import {name} as", stub, re.MULTILINE)
    if home is not None:
        found: Any = ModuleAnalyzer.for_module(home[1]).find_attr_docs()
        yield from found.get(("", name), [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "site", help="Folder of the site; made anew.")
    out = parser.parse_args().out
    pages = out.with_name(f"{out.name}-pages")
    for folder in (out, pages):
        shutil.rmtree(folder, ignore_errors=True)
    write_pages(pages)
    failed = sphinx(["-b", "html", "-q", "-W", "--keep-going", str(pages), str(out)])
    if not failed:
        print(f"{out / 'index.html'}: {len(list(out.rglob('*.html')))} pages")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
