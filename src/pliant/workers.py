"""Worker processes that do not outlive who started them."""

from __future__ import annotations

import os
import threading
from multiprocessing import parent_process


def end_with_parent() -> None:
    """To be called in a worker: it ends when the process that started it ends.

    A parent that was killed cannot end its workers, and they would wait for work for ever.
    """
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
