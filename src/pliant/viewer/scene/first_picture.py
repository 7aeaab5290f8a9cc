"""A still picture in the page's own document, there until the browser has drawn the scene itself.

The document is viser's, and arrives before its program, the connection and WebGL are ready; the picture's request waits
until the picture is made. The page takes it away when an element named ``DRAWN`` has come, which the server sends after
the scene.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

PATH = "/pliant-still.png"
DRAWN = '<span data-pliant="drawn"></span>'
"""Sent once everything is on the scene."""
OVERLAY = """
<div id="pliant-still" style="position:fixed;inset:0 {panel}px 0 0;overflow:hidden;z-index:1;pointer-events:none">
<img src="{path}" alt="" onload="if (this.naturalWidth < 2) this.parentNode.remove()"
 style="position:absolute;left:50%;height:100%;transform:translateX(-50%)"></div>
<style>@media (max-width: 900px) {{ #pliant-still {{ display: none }} }}</style>
<script>
(() => {{
  const still = document.getElementById("pliant-still");
  const later = (frames, what) => frames ? requestAnimationFrame(() => later(frames - 1, what)) : what();
  const wait = new MutationObserver(() => {{
    if (!document.querySelector('[data-pliant="drawn"]')) return;
    wait.disconnect();
    later(3, () => still.remove());
  }});
  wait.observe(document.documentElement, {{ childList: true, subtree: true }});
}})();
</script>
"""


def with_still(answer: Callable[..., Any] | None, still: Callable[[], bytes | None], panel: int) -> Callable[..., Any]:
    """viser's function that answers requests for files, with the picture in its document.

    Args:
        answer: viser's own.
        still: the PNG file of what is open, or None where there is nothing to draw; called in a thread of its own.
        panel: width of the controls beside the scene [pixels].
    """

    async def answered(connection: Any, request: Any) -> Any:
        path = request.path.partition("?")[0]
        if path == PATH:
            return _file(await asyncio.to_thread(still))
        response = answer(connection, request) if answer is not None else None
        if response is not None and path in ("/", "/index.html") and response.status_code == 200:
            _put_in(response, OVERLAY.format(path=PATH, panel=panel).encode())
        return response

    return answered


def _file(data: bytes | None) -> Any:
    """Nothing is one clear pixel: a picture that is missing would be an error to the browser."""
    from websockets.datastructures import Headers
    from websockets.http11 import Response

    if data is None:
        import numpy as np

        from pliant.viewer.still.render import png_bytes

        data = png_bytes(np.zeros((1, 1, 4), dtype=np.uint8))
    headers = Headers({"Content-Type": "image/png", "Content-Length": str(len(data)), "Cache-Control": "no-store"})
    return Response(200, "OK", headers, data)


def _put_in(response: Any, text: bytes) -> None:
    """A text at the beginning of the document's body."""
    packed = response.headers.get("Content-Encoding") == "gzip"
    document = gzip.decompress(response.body) if packed else response.body
    document = document.replace(b"<body>", b"<body>" + text, 1)
    response.body = gzip.compress(document, 1) if packed else document
    if "Content-Length" in response.headers:
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
