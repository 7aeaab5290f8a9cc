"""How Sphinx makes the site; `tools/make_site.py` prepares the pages and calls it."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

import pliant

project = "pliant"
author = "the authors of pliant"
release = version = pliant.__version__
html_title = f"pliant {version}"
html_theme = "furo"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#145aa0", "color-brand-content": "#145aa0"},
    "dark_css_variables": {"color-brand-primary": "#6fb1ef", "color-brand-content": "#6fb1ef"},
}

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
nitpicky = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
highlight_language = "none"  # indented blocks are equations
default_role = "code"
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_type_aliases = {name: name for name in ("Floats", "Ints", "Bools", "Records", "ArrayLike")}
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
# A field's type may have the name of somebody's field; Sphinx then does not know which of two to link to.
suppress_warnings = ["ref.python"]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _as_written, priority=400)  # before napoleon


def _as_written(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """|x| is a norm in our docstrings, not a substitution; what stands in backquotes is left alone."""
    if what == "property":
        lines.insert(0, "")  # or napoleon takes what stands before a colon for a type
    for number, line in enumerate(lines):
        parts = re.split(r"(``.*?``|`.*?`)", line)
        lines[number] = "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)
