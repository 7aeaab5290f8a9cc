"""HTML that all panels share: the style of tables and texts, and messages."""

from __future__ import annotations

from html import escape

STYLE = (
    "<style>.pliant{border-collapse:collapse;width:100%;font-size:12px;line-height:1.35}"
    ".pliant th{text-align:left;font-weight:600;border-bottom:1px solid #9aa4b2;padding:2px 4px;vertical-align:bottom}"
    ".pliant td{padding:2px 4px;border-bottom:1px solid rgba(128,140,160,.25);vertical-align:top}"
    ".pliant td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".pliant-page{padding:2px 12px 6px}.pliant-scroll{max-height:360px;overflow:auto}"
    ".pliant-text{font-size:13px;line-height:1.45}"
    ".pliant-error{color:#b3261e;font-weight:600;white-space:pre-wrap}</style>"
)


def block(html: str, classes: str = "") -> str:
    """A part of a panel with margins, in the common style."""
    return f'{STYLE}<div class="{f"pliant-page {classes}".strip()}">{html}</div>'


def text_block(text: str, key: str = "") -> str:
    """A paragraph; ``key`` is by what tests find it."""
    name = f' data-pliant="{key}"' if key else ""
    return f'{STYLE}<div class="pliant-page pliant-text"{name}>{escape(text)}</div>'


def message(text: str, key: str, *, error: bool = False) -> str:
    """An answer to what was done on the page; ``key`` is by what tests find it."""
    name = "pliant-error" if error else "pliant-text"
    return f'{STYLE}<div class="{name}" style="padding:4px" data-pliant="{key}">{escape(text)}</div>'
