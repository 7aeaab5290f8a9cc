"""Standard output and standard error of the commands: what is shown is harmless, and nothing ends a command half done.

A reader that goes away (``| head``) or a full disk does not end the work: the exit code says what came of it. Text of
strangers, such as the name of a file, cannot command the terminal.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from pathlib import Path
from typing import TextIO, cast

from pliant.errors import UNPRINTABLE, printable

_STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
"""What Rich writes to a terminal: colours, and the moves of a progress bar."""


class Output(io.TextIOBase):
    """A stream that keeps control characters back and remembers that it could not write.

    Attributes:
        lost: why something could not be written; None if all was, or if its reader went away.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._styled = stream.isatty() or bool(os.environ.get("FORCE_COLOR"))
        self.lost: str | None = None

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the terminal or the file behind it."""
        return self._stream.encoding

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, text: str) -> int:
        try:
            self._stream.write(self._harmless(text))
        except OSError as bad:
            self._lose(bad)
        return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as bad:
            self._lose(bad)

    def _harmless(self, text: str) -> str:
        if not UNPRINTABLE.search(text):
            return text
        if not self._styled:
            return printable(text, len(text))
        kept = [found.group() for found in _STYLE.finditer(text)]
        parts = [printable(part, len(part)).replace("\\r", "\r") for part in _STYLE.split(text)]
        return "".join(part + style for part, style in zip(parts, [*kept, ""], strict=True))

    def _lose(self, bad: OSError) -> None:
        """From here on to nowhere; what waits in the buffer goes there too."""
        if bad.errno != errno.EPIPE:
            self.lost = bad.strerror or str(bad)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)


def use_outputs() -> tuple[Output, Output]:
    """Standard output and standard error as `Output`; where one was closed by who started us (``>&-``), to nowhere."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Or the next file that is opened, such as a plan, would be taken for standard output.
            os.open(os.devnull, os.O_RDWR)
    outputs = []
    for name in ("stdout", "stderr"):
        stream = cast(TextIO | None, getattr(sys, name))
        if stream is None:
            stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - open as long as the program runs
        elif isinstance(stream, io.TextIOWrapper):
            # A terminal that cannot show a letter shows a question mark instead of ending the program.
            stream.reconfigure(errors="replace")
        outputs.append(Output(stream))
        setattr(sys, name, outputs[-1])
    return outputs[0], outputs[1]
