"""Results of the command as Parquet files."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Union

from . import _native
from ._errors import IoError, MissingError

if TYPE_CHECKING:
    import pyarrow as pa

Path = Union[str, "os.PathLike[str]"]

_ROWS = 65_536  # of a row group
_TABLE_KEY = b"gpuhist.table"


def to_parquet(results: Path, output: Path | None = None, *, force: bool = False) -> list[str]:
    """Writes the tables of results as Parquet files, with the same numbers as in CSV. Returns the paths of the files.

    results
        Directory with results of the command. Every table in it is converted: stats, regions, quality, flags, errors,
        dataset, dataset.quality, groups, comparison and same.
    output
        Directory for the files, TABLE.parquet, which is made if needed; by default the one with the results.
    force
        Whether to replace Parquet files that this function did not write.

    Integers are uint64, numbers are float64, and texts are strings, in which U+FFFD replaces bytes that are not UTF-8.
    Undefined numbers are null. Row groups have 65,536 rows, compressed by zstd; memory does not grow with the number of
    rows. Each column has its unit, its definition and what it equals in the metadata of its field, and all of them are
    in the metadata of the file, as JSON under gpuhist.columns.

    >>> gh.to_parquet("gpuhist-out")
    ['gpuhist-out/stats.parquet', 'gpuhist-out/dataset.parquet']

    Needs pyarrow: pip install 'gpuhist[tables]'. Raises MissingError if there are no results, and IoError for tables that
    are not gpuhist's, and for a file in the way.
    """
    try:
        import_module("pyarrow.parquet")
    except ImportError as error:
        raise ImportError("to_parquet needs pyarrow: pip install 'gpuhist[tables]'") from error
    source = os.fspath(results)
    if not os.path.exists(os.path.join(source, "stats.csv")) and not any(
        os.path.exists(os.path.join(source, f"{table}.csv")) for table in ("comparison", "same", "groups")
    ):
        raise MissingError(f"{source}: has no results of gpuhist: stats.csv is missing")
    target = source if output is None else os.fspath(output)
    os.makedirs(target, exist_ok=True)
    tables = [table for table in _native.tables() if table != "image_counts"]
    present = [table for table in tables if os.path.exists(os.path.join(source, f"{table}.csv"))]
    paths = [os.path.join(target, f"{table}.parquet") for table in present]
    if not force:
        for path in paths:
            if os.path.exists(path) and not _is_ours(path):
                raise IoError(f"{path}: not replaced: gpuhist did not write it; give force=True")
    for table, path in zip(present, paths):
        _convert(table, os.path.join(source, f"{table}.csv"), path)
    return paths


def _is_ours(path: str) -> bool:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    try:
        return _TABLE_KEY in (parquet.read_schema(path).metadata or {})
    except (arrow.ArrowException, OSError):
        return False


def _convert(table: str, csv_path: str, path: str) -> None:
    arrow, csv, parquet = import_module("pyarrow"), import_module("pyarrow.csv"), import_module("pyarrow.parquet")
    # The header tells which columns there are, and so which percentiles.
    options: dict[str, Any] = {
        "parse_options": csv.ParseOptions(newlines_in_values=True),
        "read_options": csv.ReadOptions(block_size=1 << 24),
    }
    try:
        names = _header(csv_path)
        schema = _schema(table, names, csv_path)
        text = [field.name for field in schema if field.type == arrow.string()]
        types = {field.name: arrow.binary() if field.name in text else field.type for field in schema}
        convert = csv.ConvertOptions(
            column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=True, null_values=[""], check_utf8=False
        )
        reader = csv.open_csv(csv_path, convert_options=convert, **options)
        handle, temporary = tempfile.mkstemp(prefix=".gpuhist.", suffix=".tmp", dir=os.path.dirname(path) or ".")
        os.close(handle)
        try:
            with parquet.ParquetWriter(temporary, schema, compression="zstd") as writer:
                for group in _row_groups(reader, schema):
                    writer.write_table(group, row_group_size=_ROWS)
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except arrow.ArrowException as error:
        raise IoError(f"{csv_path}: not a table of gpuhist: {error}") from error


def _header(csv_path: str) -> list[str]:
    with open(csv_path, encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip("\n").split(",")


def _schema(table: str, names: list[str], csv_path: str) -> pa.Schema:
    arrow = import_module("pyarrow")
    percents = [50.0 if name == "median" else float(name[1:]) for name in names if _is_percentile(name)]
    sigma = 3.0 if "mad" in names else None
    facts = {name: rest for name, *rest in _native.column_facts(percents or None, table, sigma)}
    types = {"text": arrow.string(), "integer": arrow.uint64(), "number": arrow.float64()}
    fields, all_facts = [], {}
    for name in names:
        if name not in facts:
            raise IoError(f"{csv_path}: not a table of gpuhist {_native.version}: it has no column {name!r}")
        kind, unit, definition, source = facts[name]
        all_facts[name] = {"unit": unit, "definition": definition, "equals": source}
        fields.append(arrow.field(name, types[kind], metadata=all_facts[name]))
    metadata = {
        _TABLE_KEY: table.encode(),
        b"gpuhist.version": _native.version.encode(),
        b"gpuhist.columns": json.dumps(all_facts).encode(),
    }
    schema: pa.Schema = arrow.schema(fields, metadata=metadata)
    return schema


def _is_percentile(name: str) -> bool:
    return name == "median" or (name[:1] == "p" and name[1:].replace(".", "", 1).isdigit())


def _row_groups(reader: Any, schema: pa.Schema) -> Iterator[pa.Table]:
    """Tables of as many rows as a row group has, but for the last one."""
    arrow = import_module("pyarrow")
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in reader:
        waiting.append(_with_text(batch, schema))
        rows += batch.num_rows
        while rows >= _ROWS:
            table = arrow.Table.from_batches(waiting)
            yield table.slice(0, _ROWS)
            waiting = table.slice(_ROWS).to_batches()
            rows -= _ROWS
    yield arrow.Table.from_batches(waiting, schema)


def _with_text(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrow = import_module("pyarrow")
    columns = []
    for field, column in zip(schema, batch.columns):
        if field.type == arrow.string():
            try:
                column = column.cast(arrow.string())
            except arrow.ArrowInvalid:
                column = arrow.array(
                    [None if one is None else one.decode("utf-8", "replace") for one in column.to_pylist()], arrow.string()
                )
        columns.append(column)
    made: pa.RecordBatch = arrow.record_batch(columns, schema=schema)
    return made
