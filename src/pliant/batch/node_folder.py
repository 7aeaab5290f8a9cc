"""A folder on a node of a cluster for one attempt at an item, which does not stay behind there.

It is removed when the attempt ends. A cluster also kills its processes without notice; therefore the folder is locked
for as long as its process lives (the lock is the system's and falls with the process), and a folder that nobody has
locked is removed by the next attempt on the node.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

PREFIX = "pliant_batch_"


@contextlib.contextmanager
def node_folder() -> Iterator[Path]:
    """A new folder in the temporary directory, locked by this process; removed at the end with all that is in it."""
    remove_abandoned()
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with contextlib.suppress(OSError):  # a file system without locks: then nobody else can lock it either
                fcntl.flock(lock, fcntl.LOCK_EX)
            # Between its making and its lock another process may have taken it for abandoned.
            if not folder.is_dir():
                continue
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return
        finally:
            os.close(lock)


def remove_abandoned() -> None:
    """Remove this user's folders of attempts whose process is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, not a folder, locked, or just removed by another
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.getuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
