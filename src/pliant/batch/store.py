"""The folder of a batch: what is finished is there whole, what is not is not there at all.   (theory 11.5)

    rows/NAME.parquet     rows of a finished item; this file *is* the mark that it is finished
    files/NAME/           files the item kept, if any (plans)
    failed/NAME.json      why an item failed, both times
    log.jsonl             one line per attempt: when, how long, how much memory, which worker
    results.parquet       all rows, in the order of the items
    summary.md, .html     what came out

Everything is written beside its place and renamed into it, files before the mark. Only one process writes; a lock says
so. Times and machines are in the log alone: equal questions give equal results, byte for byte.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from pliant.batch.work import Column
from pliant.documents import make_folder
from pliant.errors import OptionError, Problem
from pliant.file_bytes import read_bytes, write_bytes
from pliant.json_text import read_json
from pliant.parts import need

if TYPE_CHECKING:
    import pyarrow

ITEM = Column("item", "text", "name of the item: object, hand, task and a digest of the question")
GROUP_ROWS, GROUP_TABLES = 50_000, 100
LONGEST_LINE = 1_000_000
"""Bytes of a line of the log."""


class LogEntry(BaseModel):
    """What the summary takes from a line of the log."""

    item: str
    ok: bool = False
    wall_s: float = 0.0
    peak_bytes: int = 0


class _Attempt(BaseModel):
    model_config = ConfigDict(extra="allow")
    kind: str
    reason: str


class _Failure(BaseModel):
    item: str
    attempts: Annotated[list[_Attempt], Field(min_length=1)]


class Store:
    """The folder of a batch, locked while it is open."""

    def __init__(self, folder: str | Path) -> None:
        need("batch")
        self.folder = make_folder(folder)
        self.rows, self.files, self.failed = (make_folder(self.folder / n) for n in ("rows", "files", "failed"))
        for name in (".lock", "log.jsonl"):
            if (self.folder / name).exists() and not (self.folder / name).is_file():  # a pipe would be waited for
                raise OptionError(str(self.folder / name), "is not an ordinary file; remove it, or name another folder")
        self._lock: IO[bytes] | None = (self.folder / ".lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            what = Problem("", "another batch is writing to this folder", "wait for it, or name another folder")
            raise OptionError(str(self.folder), what) from None
        # Nobody else is writing, so what lies here was left by a batch that was killed.
        shutil.rmtree(self.folder / ".scratch", ignore_errors=True)
        self.scratch = make_folder(self.folder / ".scratch")
        self._log = (self.folder / "log.jsonl").open("a", encoding="utf-8")
        self._end_last_line()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._log.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # -- items -------------------------------------------------------------------------------------------------------

    def finished(self, names: Iterable[str]) -> set[str]:
        """Those of the names that are finished; a damaged file of rows does not count."""
        return {name for name in names if _whole(self.rows / f"{name}.parquet")}

    def commit(self, name: str, made: Path) -> None:
        """Make an item finished: ``made`` holds ``rows.parquet`` and the folder ``files``."""
        kept, home = made / "files", self.files / name
        # The mark of an earlier time goes first: while its files are exchanged the item is not finished.
        (self.rows / f"{name}.parquet").unlink(missing_ok=True)
        if home.is_dir() and not home.is_symlink():  # of an attempt that did not live to its mark
            shutil.rmtree(home)
        else:
            home.unlink(missing_ok=True)
        if kept.is_dir() and any(kept.iterdir()):
            for path in kept.rglob("*"):
                if path.is_file():
                    _to_disk(path)
            kept.rename(home)
        _to_disk(made / "rows.parquet")
        (made / "rows.parquet").rename(self.rows / f"{name}.parquet")
        (self.failed / f"{name}.json").unlink(missing_ok=True)
        shutil.rmtree(made, ignore_errors=True)

    def fail(self, name: str, reasons: Sequence[dict[str, Any]]) -> None:
        """Record why an item failed, one reason per attempt."""
        text = json.dumps({"item": name, "attempts": list(reasons)}, indent=1)
        _replace(self.failed / f"{name}.json", text)

    def failures(self, names: Iterable[str]) -> Iterator[dict[str, Any]]:
        """The recorded failures among ``names``."""
        for name in names:
            path = self.failed / f"{name}.json"
            if path.is_file():
                try:
                    data = read_bytes(path, most=LONGEST_LINE, kind="a record", error=OptionError)
                    yield _Failure.model_validate(read_json(data)).model_dump()
                except (ValueError, OptionError):
                    what = {"kind": "unknown", "reason": "its record is damaged"}
                    yield {"item": name, "attempts": [what]}

    def log(self, **facts: Any) -> None:
        """Add a line to the log."""
        self._log.write(json.dumps(facts) + "\n")
        self._log.flush()

    def entries(self) -> Iterator[LogEntry]:
        """The lines of the log that can be read, those of earlier runs included."""
        with (self.folder / "log.jsonl").open("rb") as file:
            while line := file.readline(LONGEST_LINE):
                # Not of the line that a killed run was at, nor of one that a bad disk has damaged.
                with contextlib.suppress(ValueError):
                    yield LogEntry.model_validate(read_json(line))

    def _end_last_line(self) -> None:
        path = self.folder / "log.jsonl"
        size = path.stat().st_size
        if size:
            with path.open("rb") as file:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    self._log.write("\n")

    # -- all of them -------------------------------------------------------------------------------------------------

    def gather(self, names: Iterable[str], columns: Sequence[Column]) -> Path:
        """Write the rows of all finished items of ``names``, in that order, into one Parquet file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path, part = self.folder / "results.parquet", self.scratch / "results.parquet"
        schema = schema_of(columns)
        with pq.ParquetWriter(part, schema) as writer:
            group: list[pyarrow.Table] = [schema.empty_table()]
            for name in names:
                file = self.rows / f"{name}.parquet"
                if not _whole(file):
                    continue
                try:
                    table = pq.ParquetFile(file).read()
                except (pa.ArrowException, OSError) as bad:
                    what = Problem("", f"is damaged: {str(bad).splitlines()[0]}", "remove it and run the batch again")
                    raise OptionError(str(file), what) from None
                group.append(table if table.schema == schema else _fit(table, schema))
                # Thousands of tables of a row each weigh far more than the same rows in one.
                if len(group) >= GROUP_TABLES:
                    group = [pa.concat_tables(group).combine_chunks()]
                if len(group[0]) + len(table) >= GROUP_ROWS:
                    writer.write_table(pa.concat_tables(group).combine_chunks())
                    group = [schema.empty_table()]
            writer.write_table(pa.concat_tables(group).combine_chunks())
        _to_disk(part)
        part.rename(path)
        return path

    def write(self, name: str, text: str) -> Path:
        """Write a text file of the batch's own, whole or not at all."""
        return _replace(self.folder / name, text)


def schema_of(columns: Sequence[Column]) -> pyarrow.Schema:
    """The Parquet schema of columns, ``item`` first; meanings are kept in the file."""
    import pyarrow as pa

    kinds = {"text": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    return pa.schema([pa.field(c.name, kinds[c.kind], metadata={"meaning": c.meaning}) for c in (ITEM, *columns)])


def write_rows(path: Path, item: str, columns: Sequence[Column], rows: Iterable[Any]) -> int:
    """Write an item's rows; how many. A column that was not declared is an error of the work."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [column.name for column in columns]
    values: dict[str, list[Any]] = {name: [] for name in names}
    count = 0
    for row in rows:
        count += 1
        if unknown := set(row) - set(names):
            raise ValueError(f"the work gave a column that it does not declare: {', '.join(sorted(unknown))}")
        for name in names:
            values[name].append(row.get(name))
    schema = schema_of(columns)
    arrays = [pa.array([item] * count, pa.string())]
    arrays += [pa.array(values[name], schema.field(name).type) for name in names]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path)
    return count


def _fit(table: pyarrow.Table, schema: pyarrow.Schema) -> pyarrow.Table:
    """Rows written by an earlier version: columns it did not have stay empty, ones that are gone are left out."""
    import pyarrow as pa

    def column(field: pyarrow.Field) -> Any:
        have = table.schema.get_field_index(field.name) >= 0
        return table.column(field.name).cast(field.type) if have else pa.nulls(len(table), field.type)

    return pa.Table.from_arrays([column(field) for field in schema], schema=schema)


def _whole(path: Path) -> bool:
    """Whether a Parquet file has its end: four letters at either end, and a footer that fits."""
    try:
        if not path.is_file():  # a pipe would be waited for
            return False
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < 12 or file.read(4) != b"PAR1":
                return False
            file.seek(size - 8)
            end = file.read(8)
            return end[4:] == b"PAR1" and int.from_bytes(end[:4], "little") <= size - 12
    except OSError:
        return False


def _to_disk(path: Path) -> None:
    # Without this a power cut may leave the new name with nothing in it.
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _replace(path: Path, text: str) -> Path:
    write_bytes(path, text.encode(), error=OptionError)
    return path
