"""Sets of images in files: results one by one, as a stream of Arrow, or as a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _native
from ._errors import EngineUnavailable, InvalidArgument, IoError
from ._regions import Regions
from ._request import Detail, Engine, OnDamaged, Range, asked_of, percents_of, sigma_of
from ._result import Result
from ._source import encoded, is_local, is_path
from ._validity import rules_of

if TYPE_CHECKING:
    import pyarrow as pa
    from typing_extensions import Unpack

    from ._native import Alpha, ColorSpace
    from ._options import SetOptions
    from ._request import Bins
    from ._validity import Nodata, Valid

    Path = Union[str, os.PathLike[str]]


class Results(Iterator[Result]):
    """Iterator over the results of a set, in the order of the inputs. ``len()`` is the number of all inputs, taken or
    not."""

    def __init__(self, files: _native.Files, progress: bool = False) -> None:
        self._files = files
        self._length: int | None = None
        self._bar = _bar(self) if progress else None

    def __len__(self) -> int:
        if self._length is None:
            self._length = self._files.count()
        return self._length

    def __next__(self) -> Result:
        found = self._files.next()
        if self._bar is not None:
            self._bar.update(self._files.taken - self._bar.n)
        if found is None:
            if self._bar is not None:
                self._bar.close()
            raise StopIteration
        path, native, regions, kind, message, _ = found
        error = None if native is not None else IoError(message, kind, path)
        return Result(native, path, error, None if regions is None else Regions(regions, path))


class Batches:
    """Rows of a set as a stream of Arrow record batches, for any library that reads the Arrow C stream interface. Each
    time that a library reads it, the set is measured. ``len()`` is the number of inputs."""

    def __init__(self, files: _native.Files, percents: list[float] | None, sigma: float | None, of_regions: bool, rows: int) -> None:
        self._files: _native.Files = files
        self._columns = percents, sigma, of_regions, rows
        self._length: int | None = None

    def __len__(self) -> int:
        if self._length is None:
            self._length = self._files.count()
        return self._length

    @property
    def taken(self) -> int:
        """Number of inputs whose rows have been read, the last time."""
        return self._files.taken

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Capsule with the stream. A requested schema is ignored, as the interface allows."""
        return self._files.rows(*self._columns)


def _bar(images: Results | Batches) -> Any:
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise InvalidArgument("progress: the package tqdm, which shows it, is not installed") from None
    return tqdm(total=len(images), unit="image")


def files_of(
    paths: list[Path],
    asked: _native.Asked,
    *,
    recursive: bool = True,
    follow_links: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    pages: str | None = None,
    page: int = 0,
    max_pixels: int | None = None,
    on_damaged: str = "error",
    memory: int = 0,
    mask: Any = None,
    labels: Any = None,
    label_zero: bool = False,
) -> _native.Files:
    """Run over files."""
    for name, given in (("mask", mask), ("labels", labels)):
        if given is not None and not is_path(given):
            raise InvalidArgument(
                f"{name}: a {type(given).__name__}, but for files it must be an image file or a directory of such"
            )
    if pages not in (None, "all"):
        raise InvalidArgument(f"pages: {pages!r} is neither None (the first page of each file) nor 'all'")
    return _native.Files(
        arguments=[encoded(path) for path in paths],
        asked=asked,
        recursive=recursive,
        follow_links=follow_links,
        include=[os.fsencode(one) for one in include],
        exclude=[os.fsencode(one) for one in exclude],
        every_page=pages == "all",
        page=page,
        max_pixels=max_pixels,
        on_damaged=on_damaged,
        memory=memory,
        masks=b"" if mask is None else encoded(mask),
        labels=b"" if labels is None else encoded(labels),
        label_zero=label_zero,
    )


def _as_paths(paths: Path | Iterable[Path]) -> list[Path]:
    listed = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
    for path in listed:
        if isinstance(path, (bytes, bytearray, memoryview)):
            raise InvalidArgument("bytes are the content of a file, for measure(): os.fsdecode() makes a path of them")
        if not is_path(path):
            raise InvalidArgument(f"a {type(path).__name__} is not a path: measure() takes arrays, one by one")
        if not is_local(path):
            raise InvalidArgument(f"{path}: a URL: measure() takes URLs, one by one")
    return listed


def measure_many(
    paths: Path | Iterable[Path],
    *,
    recursive: bool = True,
    follow_links: bool = False,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    pages: Literal["all"] | None = None,
    mask: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    label_zero: bool = False,
    nodata: Nodata | None = None,
    valid: Valid | None = None,
    nodata_any: bool = False,
    alpha: Alpha = "row",
    space: ColorSpace | None = None,
    white: float | None = None,
    bins: Bins = 256,
    range: Range | None = None,
    percentile_columns: Sequence[float] | None = None,
    detail: Detail = "full",
    measures: str | Sequence[str] = (),
    quality_scale: int | None = None,
    robust: bool = False,
    clip_sigma: float = 3,
    engine: Engine = "auto",
    gpu: int = 0,
    threads: int = 0,
    memory: int = 0,
    max_pixels: int | None = None,
    on_damaged: OnDamaged = "error",
    progress: bool = False,
) -> Results:
    """Measures the images in files and directories, as the command ``gpuhist`` does: on all threads, in bounded memory,
    and a few images ahead of the caller. Results come in the order of the arguments; the files of a directory are in
    byte order of their paths. A file that several arguments name is measured once.

    Returns an iterator, whose ``len()`` is the number of inputs, which are listed for it. So ``tqdm(measure_many(...))``
    shows how much is left. An input that cannot be measured gives a Result whose ``error`` is not None.

    include, exclude
        Globs for file names; with a slash, for paths below the directory.
    pages
        "all" gives one Result per page.
    mask
        Path of one mask for all images, or of a directory with one mask per image. A mask has the relative name of its
        image, and any extension.
    labels, label_zero
        Path of one label image for all images, or of a directory with one per image, as for mask. The ``regions`` of
        each Result are those of regions().
    nodata
        As in measure(). A value that the sample type of an image cannot hold matches nothing in that image.
    memory
        Bytes for images that are being measured; 0 means a quarter of the available memory.
    progress
        Whether a bar of tqdm, which must be installed, shows the progress.

    Other arguments are as in measure(), and options have the names of the command's options. Raises EngineUnavailable,
    CudaError or IoError if the run as a whole cannot continue.
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    asked = asked_of(
        bins, range, percentile_columns, detail, white, measures=measures, quality_scale=quality_scale,
        robust=robust, clip_sigma=clip_sigma, engine=engine, gpu=gpu, threads=threads, rules=rules, space=space,
    )
    for name, available, description in _native.engines():
        if name == engine and not available:
            raise EngineUnavailable(description)
    files = files_of(
        _as_paths(paths),
        asked,
        recursive=recursive,
        follow_links=follow_links,
        include=include,
        exclude=exclude,
        pages=pages,
        max_pixels=max_pixels,
        on_damaged=on_damaged,
        memory=memory,
        mask=mask,
        labels=labels,
        label_zero=label_zero,
    )
    return Results(files, progress)


def batches(paths: Path | Iterable[Path], *, batch_size: int = 8192, **options: Unpack[SetOptions]) -> Batches:
    """Rows of the images in files and directories as a stream of Arrow record batches, in bounded memory. Any library
    with the Arrow C stream interface reads it, without a Python object per value:

    >>> pyarrow.RecordBatchReader.from_stream(gh.batches("photos"))
    >>> polars.DataFrame(gh.batches("photos"))
    >>> duckdb.sql("SELECT path, mean FROM rows")  # rows = gh.batches("photos")

    The rows have the columns of the command's stats.csv, one row per image and channel, and ``error``. With labels=,
    they have the columns of regions.csv, one row per region and channel. An input that failed has one row, with only
    its path and, in ``error``, the kind and the message. U+FFFD replaces bytes of a path that are not UTF-8.

    batch_size
        Number of rows after which a batch ends; it ends with an image or a region.

    Options are those of measure_many(). If the run as a whole cannot continue, reading raises the exception that the
    library has for a failed stream.
    """
    if not 1 <= batch_size <= 1 << 18:
        raise InvalidArgument(f"batch_size: {batch_size!r} is not from 1 to {1 << 18}")
    percents = percents_of(options.get("percentile_columns"))
    sigma = sigma_of(options.get("robust", False), options.get("clip_sigma", 3))
    files = measure_many(paths, **options)._files
    return Batches(files, percents, sigma, options.get("labels") is not None, batch_size)


def table(paths: Path | Iterable[Path], *, progress: bool = False, **options: Unpack[SetOptions]) -> pa.Table:
    """A pyarrow.Table of all rows of batches(). With progress=True, a bar of tqdm, which must be installed, shows the
    progress. Raises the exceptions of measure_many()."""
    rows = batches(paths, **options)
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("table needs pyarrow: pip install 'gpuhist[tables]'") from error
    bar = _bar(rows) if progress else None
    read = []
    try:
        reader = pa.RecordBatchReader.from_stream(rows)
        for batch in reader:
            read.append(batch)
            if bar is not None:
                bar.update(rows.taken - bar.n)
    except (pa.ArrowException, OSError):
        rows._files.rethrow()
        raise
    finally:
        if bar is not None:
            bar.close()
    return pa.Table.from_batches(read, reader.schema)
