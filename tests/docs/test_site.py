"""The site has every page and every public name; its API pages are built without a warning. `make docs` builds all."""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from doc_blocks import DOCS, ROOT

import pliant


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_site", ROOT / "tools" / "make_site.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(site: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "pages"
    site.write_pages(folder)
    return folder


def test_every_page_is_in_the_navigation_once(pages: Path) -> None:
    listed = re.findall(r"^([\w./-]+)$", "\n".join(re.findall(r"{toctree}.*?```", _index(pages), re.DOTALL)), re.M)
    there = {str(path.relative_to(pages).with_suffix("")) for path in pages.rglob("*.md")} - {"index"}
    assert sorted(listed) == sorted(there)
    assert {path.stem for path in DOCS.glob("*.md")} - {"index"} <= set(listed)


def test_no_link_leaves_the_site(pages: Path) -> None:
    for page in pages.glob("*.md"):
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            assert "://" in target or (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_package_has_an_api_page_with_every_name_of_its_door(site: ModuleType, pages: Path) -> None:
    folders = {f"pliant.{path.parent.name}" for path in Path(pliant.__file__).parent.glob("*/__init__.pyi")}
    assert set(site.PACKAGES) == folders | {"pliant"}
    for package in site.PACKAGES:
        page = (pages / "api" / f"{package}.md").read_text()
        for name in importlib.import_module(package).__all__:
            assert re.search(rf"^\.\. (auto\w+|py:data):: .*\b{name}$", page, re.M) or name == "__version__", name


@pytest.mark.filterwarnings("default")  # what Sphinx deprecates in its own extensions is not ours
def test_docstrings_with_norms_properties_and_arguments_are_built_without_a_warning(
    site: ModuleType, pages: Path, tmp_path: Path
) -> None:
    source, out = tmp_path / "pages", tmp_path / "site"
    source.mkdir()
    for name in ("conf.py", "site.css"):
        shutil.copy(pages / name, source)
    shutil.copy(pages / "api" / "pliant.grasp.md", source / "index.md")
    assert site.sphinx(["-b", "html", "-q", "-W", str(source), str(out)]) == 0
    page = re.sub(r"<[^>]+>", "", (out / "index.html").read_text())
    assert "class Contact" in page
    assert "|f_t|" in page or "|f_i|" in page  # a norm, not a substitution
    assert "No solution has all |x| below" in page  # a sentence of a property, not its type
    assert "Floats" in page and "dtype[float64]" not in page
    assert "forcesolver" in (out / "searchindex.js").read_text().lower()


def _index(pages: Path) -> str:
    return (pages / "index.md").read_text()
