"""Measuring: images in memory, on a GPU, and in files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _native
from ._arrays import Layout, Order, current_stream
from ._errors import EngineUnavailable, InvalidArgument, IoError
from ._request import Detail, Engine, OnDamaged, Range, asked_of, percents_of, refuse_cpu
from ._result import Histogram, Result
from ._source import is_path, source_of, warn_of_pages
from ._validity import rules_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ._native import Alpha
    from ._validity import Nodata, Valid

    Path = Union[str, os.PathLike[str], bytes]


def measure(
    image: Any,
    *,
    layout: Layout | None = None,
    order: Order = "RGB",
    mask: Any = None,
    nodata: Nodata | None = None,
    valid: Valid | None = None,
    nodata_any: bool = False,
    alpha: Alpha = "row",
    white: float | None = None,
    bins: int | str = 256,
    range: Range | None = None,
    percentile_columns: Sequence[float] | None = None,
    detail: Detail = "full",
    measures: str | Sequence[str] = (),
    engine: Engine = "auto",
    gpu: int = 0,
    stream: Any = None,
    page: int | None = None,
    max_pixels: int | None = None,
    on_damaged: OnDamaged = "error",
) -> Result:
    """Measures one image, exactly.

    image
        A path; the bytes of a file; or an array: of numpy, torch, CuPy, or anything that has DLPack, the array
        interface or the CUDA array interface. Samples are bool (as u8), u8, s8, u16, s16, u32, s32, f16, f32 or f64;
        on a GPU u8, u16 and f32. Host arrays with negative strides, foreign byte order or planes are copied; on a
        GPU nothing is, and what does not lie pixel beside pixel is refused.
    layout
        Axes of an array: HW, HWC or CHW. Without it HW or HWC, whose last axis is 1 to 4; HWC with a layout up to 64.
        1 is gray, 3 the colors, 4 the colors and alpha, others are bands c0, c1, ...
    order
        Order of the colors in an array: RGB or BGR.
    mask
        Array of shape (height, width), bool or u8: pixels where it is 0 are excluded. For a path also a path: that of
        a mask, or of a directory of such, whose samples are read as they are stored. It lies over the image as that
        is shown.
    nodata
        Value that stands for no data, or several: such samples are excluded. numpy.nan is one; "tag" is what a
        GeoTIFF says of itself. It is rounded to the samples' type.
    valid
        Lowest and highest valid value; samples outside are excluded.
    nodata_any
        A pixel is excluded in all channels where one of its samples is nodata. Otherwise each channel is on its own,
        and luma needs all colors.
    alpha
        row: alpha has a row of its own; mask: pixels of alpha 0 are excluded; ignore: there is no row. weight: of
        integers of 8 and 16 bits each sample counts as often as its pixel's alpha says, without alpha as white does:
        ``weight`` is their sum and ``wp01``, ``wp50``, ... the percentiles, counts are sums of weights.
    white
        Value that stands for white; without it the file's, or the highest of the type, 1 of floats.
    bins, range
        Of the histogram; f32 images are counted in these bins, 256 from the finite minimum to the maximum by default.
    percentile_columns
        Percentiles that Statistics has, in percent: 1, 5, 25, 50, 75, 95 and 99.
    detail
        Of f32: brief leaves out percentiles, skewness and kurtosis; values keeps the count of every value, which a
        Summary needs for percentiles.
    measures
        "quality" for all, or names: sharpness_laplacian, sharpness_tenengrad, noise, colorfulness. ``Result.measures``
        has their numbers. Of images on the host.
    engine, gpu
        auto: the CPU for what is on the host, the GPU for what is there. cuda, and number gpu of them, is for host
        arrays too, and always for those on the GPU.
    stream
        Stream of an array on a GPU: of torch or CuPy, or its handle; by default the current one of its library. It
        alone is waited for.
    page, max_pixels, on_damaged
        Of a file: page from 1; pixels over which it is refused; "accept" measures what is sound of a damaged one.

    nodata and valid are for all channels but alpha, or a dict of channels, red, green, blue, gray, alpha, c0, ..., and
    such values. A sample is, by the first that applies, masked, nodata, NaN, infinite or valid: Statistics counts each,
    all other numbers are of valid samples. Beside an array on a GPU the mask lies there too.

    Raises InvalidArgument (a ValueError) for what is not as said here, IoError (an OSError with a ``kind``) for files,
    EngineUnavailable and CudaError (RuntimeErrors). Warns of a file with several pages where none was asked for.
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    asked = asked_of(bins, range, percentile_columns, detail, white, measures=measures, engine=engine, gpu=gpu, rules=rules)
    if is_path(image) and os.path.isdir(image):
        raise InvalidArgument(f"{image}: a directory, and measure() is for one image: measure_many() takes directories")
    if is_path(image) and (mask is None or is_path(mask)):
        return _measure_file(os.fspath(image), asked, page, max_pixels, on_damaged, mask)
    source = source_of(image, layout, order, page, max_pixels, on_damaged, stream)
    source.check(rules)
    if source.found is None or source.gpu is None:
        if stream is not None:
            raise InvalidArgument("stream: the image is on the host, where there are no streams")
        seen = source.masked(mask)
        warn_of_pages(source.picture, page)
        return Result(_native.measure(seen.view, asked, source.picture), source.path)
    refuse_cpu(engine)
    asked = asked_of(bins, range, percentile_columns, detail, white, measures=measures, engine=engine, gpu=source.gpu, rules=rules)
    seen = source.masked(mask)
    return Result(_native.measure_on_stream(seen.view, asked, current_stream(source.found.array, stream)))


def _measure_file(
    path: str, asked: _native.Asked, page: int | None, max_pixels: int | None, on_damaged: str, mask: Any
) -> Result:
    files = _files([path], asked, page=page or 0, max_pixels=max_pixels, on_damaged=on_damaged, mask=mask)
    found = files.next()
    assert found is not None, "an input has an outcome"
    result = _result_of(found)
    if result.error is not None:
        raise result.error
    warn_of_pages(result._measurement, page, 4)
    return result


def _files(
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
    threads: int = 0,
    memory: int = 0,
    mask: Any = None,
) -> _native.Files:
    if mask is not None and not is_path(mask):
        raise InvalidArgument(f"mask: a {type(mask).__name__}, and masks of files are an image file or a directory")
    if pages not in (None, "all"):
        raise InvalidArgument(f"pages: {pages!r} is neither None, the first of each file, nor 'all'")
    return _native.Files(
        arguments=[os.fsencode(path) for path in paths],
        asked=asked,
        recursive=recursive,
        follow_links=follow_links,
        include=[os.fsencode(one) for one in include],
        exclude=[os.fsencode(one) for one in exclude],
        every_page=pages == "all",
        page=page,
        max_pixels=max_pixels,
        on_damaged=on_damaged,
        threads=threads,
        memory=memory,
        masks=b"" if mask is None else os.fsencode(mask),
    )


def _result_of(found: tuple[str, _native.Measurement | None, str, str, list[str]]) -> Result:
    path, native, kind, message, _ = found
    return Result(native, path, None if native is not None else IoError(message, kind))


def _as_paths(paths: Path | Iterable[Path]) -> list[Path]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        return [paths]
    listed = list(paths)
    for path in listed:
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise InvalidArgument(f"a {type(path).__name__} is no path: measure() takes arrays, one by one")
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
    nodata: Nodata | None = None,
    valid: Valid | None = None,
    nodata_any: bool = False,
    alpha: Alpha = "row",
    white: float | None = None,
    bins: int | str = 256,
    range: Range | None = None,
    percentile_columns: Sequence[float] | None = None,
    detail: Detail = "full",
    measures: str | Sequence[str] = (),
    engine: Engine = "auto",
    gpu: int = 0,
    threads: int = 0,
    memory: int = 0,
    max_pixels: int | None = None,
    on_damaged: OnDamaged = "error",
) -> Iterator[Result]:
    """Measures the images of files and directories, in the order of the arguments, those of a directory in byte order
    of their paths, as the command ``gpuhist`` does: on all cores, in bounded memory, some images ahead of the caller. A
    file that several arguments name is measured once.

    An input that cannot be measured is a Result whose ``error`` is not None. Options are those of the command, by the
    same names: include and exclude are globs of file names, or of paths below the directory where they have a slash;
    threads 0 are all; memory is bytes for images in flight, 0 a quarter of what there is; pages="all" makes a result
    of each page; mask is the path of one mask for all, or of a directory with one for each, by the same relative name
    and any extension. In several images a nodata that the samples' type does not hold is nothing there. Other
    arguments as in measure().

    Raises EngineUnavailable, CudaError or IoError where the run as a whole cannot go on.
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    asked = asked_of(bins, range, percentile_columns, detail, white, measures=measures, engine=engine, gpu=gpu, rules=rules)
    for name, available, description in _native.engines():
        if name == engine and not available:
            raise EngineUnavailable(description)
    files = _files(
        _as_paths(paths),
        asked,
        recursive=recursive,
        follow_links=follow_links,
        include=include,
        exclude=exclude,
        pages=pages,
        max_pixels=max_pixels,
        on_damaged=on_damaged,
        threads=threads,
        memory=memory,
        mask=mask,
    )
    return _results(files)


def _results(files: _native.Files) -> Iterator[Result]:
    while (found := files.next()) is not None:
        yield _result_of(found)


def table(
    paths: Path | Iterable[Path], *, percentile_columns: Sequence[float] | None = None, **options: Any
) -> pa.Table:
    """A pyarrow.Table of the images of files and directories: one row per image and channel, with the columns of the
    command's stats.csv, and ``error``: of an input that failed the kind and the message, in a row with its path and
    nothing else. Options are those of measure_many().
    """
    import pyarrow as pa

    kinds = {"text": pa.string(), "integer": pa.uint64(), "number": pa.float64()}
    named = _native.columns(percents_of(percentile_columns), "stats")
    schema = pa.schema(
        [
            *(pa.field(name, kinds[kind], metadata={"definition": text}) for name, kind, text in named),
            pa.field("error", pa.string(), metadata={"definition": "Why the input could not be measured."}),
        ]
    )
    path_at = [name for name, _, _ in named].index("path")
    columns: list[list[Any]] = [[] for _ in schema]
    batches = []

    def flush() -> None:
        batches.append(pa.record_batch(columns, schema=schema))
        for column in columns:
            column.clear()

    for result in measure_many(paths, percentile_columns=percentile_columns, **options):
        if result._measurement is None:
            failed: list[Any] = [None] * len(named)
            failed[path_at] = _utf8(result.path)
            rows = [[*failed, _utf8(f"{result.error.kind}: {result.error}")] if result.error else failed]
        else:
            rows = [[*row, None] for row in result._measurement.table()]
            for row in rows:
                row[path_at] = _utf8(row[path_at])
        for row in rows:
            for column, value in zip(columns, row):
                column.append(value)
        if len(columns[0]) >= 8192:
            flush()
    flush()
    return pa.Table.from_batches(batches, schema)


def _utf8(text: Any) -> str:
    """Text whose bytes that are not UTF-8 are U+FFFD: Arrow's strings have no others."""
    return os.fsencode(text).decode("utf-8", "replace")


def histogram(
    image: Any, bins: int | str = 256, range: Range | None = None, **options: Any
) -> Histogram:
    """Histogram of one image in equal bins over [lower, upper): floor((v - lower) bins / (upper - lower)), exact for
    integers, whose bounds are whole numbers. Without a range the whole type; of floats the finite minimum to the
    maximum, which is in the last bin. Options are those of measure().
    """
    return measure(image, bins=bins, range=range, **options).histogram()
