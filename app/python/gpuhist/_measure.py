"""Measurements of images in memory, on a GPU and in files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _native
from ._arrays import Layout, Order, current_stream, pixels_in
from ._errors import EngineUnavailable, InvalidArgument, IoError
from ._request import Detail, Engine, OnDamaged, Range, asked_of, percents_of, refuse_cpu, sigma_of
from ._result import Histogram, Result
from ._source import encoded, is_local, is_path, source_of, warn_of_pages
from ._validity import rules_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ._native import Alpha
    from ._validity import Nodata, Valid

    Path = Union[str, os.PathLike[str]]


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
    quality_scale: int | None = None,
    robust: bool = False,
    clip_sigma: float = 3,
    engine: Engine = "auto",
    gpu: int = 0,
    threads: int = 0,
    stream: Any = None,
    page: int | None = None,
    max_pixels: int | None = None,
    on_damaged: OnDamaged = "error",
) -> Result:
    """Measures one image, exactly.

    image
        A path, a URL that fsspec opens, the bytes of a file, a file object, or an array. An array comes from numpy,
        torch, CuPy, Pillow, or any other library with DLPack, the array interface or the CUDA array interface. The mask
        of a numpy.ma array excludes pixels. Pillow images are gray or RGB, with or without alpha (modes L, LA, RGB,
        RGBA, I, I;16 and F). Samples are bool (as u8), u8, s8, u16, s16, u32, s32, f16, f32 or f64; on a GPU u8, s8,
        u16, s16, f16 or f32. A host array is copied if its channels are in separate planes, or if it has gaps between
        pixels, negative strides or a foreign byte order. An array on a GPU is never copied; its pixels must be
        adjacent.
    layout
        Axes of an array: HW, HWC or CHW. Without a layout, an array is HW, or HWC with 1 to 4 channels; with a layout
        it can have up to 64. 1 channel is gray, 3 are the colors, 4 are the colors and alpha; other numbers are bands
        c0, c1, ...
    order
        Order of the colors in an array: RGB or BGR.
    mask
        Array of bool or integers with the shape (height, width): pixels where it is 0 are excluded. If the image is a
        path, the mask can be one too: the path of a mask, or of a directory with a mask per image. Its samples are read
        as they are stored. It must have the height, the width and the orientation in which the image is shown.
    nodata
        Value or values that stand for no data: samples with such a value are excluded. numpy.nan is possible. Values
        are rounded to the type of float samples. Without a value, or with "tag", the nodata value of a GeoTIFF is
        excluded. "none" ignores the nodata values and the masks of files.
    valid
        Lowest and highest valid value. Other samples are excluded.
    nodata_any
        One nodata sample excludes its pixel in all channels. Otherwise each channel is checked on its own, and luma
        needs all colors.
    alpha
        row: alpha has a row of its own. mask: pixels of alpha 0 are excluded. ignore: alpha has no row. weight: each
        sample is weighted with the alpha of its pixel, which must be u8, u16 or f16; without alpha, samples of any type
        have the weight of white. ``weight`` is the sum of the weights, ``wp01``, ``wp50``, ... are the percentiles, and
        counts are sums of weights. Alpha of arrays is straight; premultiplied colors of f16 files, such as OpenEXR, are
        divided by it first. In f16, alpha over 1 weighs 1, and pixels with NaN or negative alpha are excluded.
    white
        Value that stands for white. By default it is that of the file, or else the highest value of the type, or 1 for
        floats.
    bins, range
        Bins and range of the histogram. f32 images are counted in these bins while they are measured; by default they
        are 256 from the finite minimum to the finite maximum.
    percentile_columns
        Percentiles of Statistics, in percent. By default they are 1, 5, 25, 50, 75, 95 and 99.
    detail
        For f32 images: brief leaves out percentiles, skewness and kurtosis. values keeps the count of every value,
        which a Summary needs for percentiles.
    measures
        Measures to compute: "quality" for all, or names: sharpness_laplacian, sharpness_tenengrad, noise, colorfulness,
        contrast, brightness, exposure, gray, thresholds, hashes. ``Result.measures`` has their values. The image must
        be on the host.
    quality_scale
        Longest side to which larger images are reduced before sharpness and noise are measured.
    robust, clip_sigma
        robust adds ``mad``, and the mean, the std and the share of sigma clipping at clip_sigma standard deviations from
        the median: ``clipped_mean``, ``clipped_std``, ``clipped_share``. f32 then keeps the count of every value, as
        with detail="values", and must be on the host.
    engine, gpu
        auto uses the CPU for images on the host, and the GPU for arrays that are there. cuda uses GPU number gpu for
        images on the host too. Arrays on a GPU are always measured on their own GPU.
    threads
        Number of threads of the CPU. By default, the environment variable GPUHIST_THREADS says it. Without it, there is
        one thread per processor that the process may use; a container may have a quota of them.
    stream
        Stream for an array on a GPU: of torch or CuPy, or its handle. By default it is the current stream of the
        array's library. The call waits for this stream only.
    page, max_pixels, on_damaged
        For files: the page, from 1; the largest number of pixels; "accept" measures damaged files too, with the pixels
        that the decoder makes of them.

    nodata and valid apply to all channels but alpha. They can also be a dict from channels (red, green, blue, gray,
    alpha, c0, ...) to such values. A sample belongs to the first of these classes that applies: masked, nodata, NaN,
    infinite, valid. Statistics counts each class, and all other numbers come from the valid samples. The mask of an
    array on a GPU must be on the same GPU.

    Raises InvalidArgument (a ValueError) for arguments that break these rules, IoError (an OSError with a ``kind``) for
    files, EngineUnavailable and CudaError (RuntimeErrors). Warns if a file has several pages and page is not given.
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    pixels = pixels_in(image)
    if white is None and pixels is not None:
        white = pixels.white
    asked = asked_of(
        bins, range, percentile_columns, detail, white, measures=measures, quality_scale=quality_scale,
        robust=robust, clip_sigma=clip_sigma, engine=engine, gpu=gpu, threads=threads, rules=rules,
    )
    if is_local(image) and os.path.isdir(image):
        raise InvalidArgument(f"{image}: a directory, but measure() takes one image: measure_many() takes directories")
    if is_local(image) and (mask is None or is_path(mask)):
        return _measure_file(os.fspath(image), asked, page, max_pixels, on_damaged, mask)
    source = source_of(image, layout, order, page, max_pixels, on_damaged, stream, rules=rules)
    if source.found is None or source.gpu is None:
        if stream is not None:
            raise InvalidArgument("stream: the image is on the host, where there are no streams")
        seen = source.masked(mask)
        warn_of_pages(source.picture, page)
        return Result(_native.measure(seen.view, asked, source.picture), source.path)
    refuse_cpu(engine)
    asked = asked_of(
        bins, range, percentile_columns, detail, white, measures=measures, quality_scale=quality_scale,
        robust=robust, clip_sigma=clip_sigma, engine=engine, gpu=source.gpu, rules=rules,
    )
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
    memory: int = 0,
    mask: Any = None,
) -> _native.Files:
    if mask is not None and not is_path(mask):
        raise InvalidArgument(f"mask: a {type(mask).__name__}, but masks of files must be an image file or a directory")
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
    )


def _result_of(found: tuple[str, _native.Measurement | None, str, str, list[str]]) -> Result:
    path, native, kind, message, _ = found
    return Result(native, path, None if native is not None else IoError(message, kind, path))


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
    quality_scale: int | None = None,
    robust: bool = False,
    clip_sigma: float = 3,
    engine: Engine = "auto",
    gpu: int = 0,
    threads: int = 0,
    memory: int = 0,
    max_pixels: int | None = None,
    on_damaged: OnDamaged = "error",
) -> Iterator[Result]:
    """Measures the images in files and directories, as the command ``gpuhist`` does: on all threads, in bounded memory,
    and a few images ahead of the caller. Results come in the order of the arguments; the files of a directory are in
    byte order of their paths. A file that several arguments name is measured once.

    An input that cannot be measured gives a Result whose ``error`` is not None.

    include, exclude
        Globs for file names; with a slash, for paths below the directory.
    pages
        "all" gives one Result per page.
    mask
        Path of one mask for all images, or of a directory with one mask per image. A mask has the relative name of its
        image, and any extension.
    nodata
        As in measure(). A value that the sample type of an image cannot hold matches nothing in that image.
    memory
        Bytes for images that are being measured; 0 means a quarter of the available memory.

    Other arguments are as in measure(), and options have the names of the command's options. Raises EngineUnavailable,
    CudaError or IoError if the run as a whole cannot continue.
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    asked = asked_of(
        bins, range, percentile_columns, detail, white, measures=measures, quality_scale=quality_scale,
        robust=robust, clip_sigma=clip_sigma, engine=engine, gpu=gpu, threads=threads, rules=rules,
    )
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
        memory=memory,
        mask=mask,
    )
    return _results(files)


def _results(files: _native.Files) -> Iterator[Result]:
    while (found := files.next()) is not None:
        yield _result_of(found)


def table(
    paths: Path | Iterable[Path],
    *,
    percentile_columns: Sequence[float] | None = None,
    robust: bool = False,
    clip_sigma: float = 3,
    **options: Any,
) -> pa.Table:
    """A pyarrow.Table of the images in files and directories, with one row per image and channel. It has the columns of
    the command's stats.csv, and ``error``. An input that failed has one row, with only its path and, in ``error``, the
    kind and the message. Options are those of measure_many().
    """
    import pyarrow as pa

    kinds = {"text": pa.string(), "integer": pa.uint64(), "number": pa.float64()}
    named = _native.columns(percents_of(percentile_columns), "stats", sigma_of(robust, clip_sigma))
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

    numbers = [at for at, (_, kind, _) in enumerate(named) if kind == "number"]
    for result in measure_many(
        paths, percentile_columns=percentile_columns, robust=robust, clip_sigma=clip_sigma, **options
    ):
        if result._measurement is None:
            failed: list[Any] = [None] * len(named)
            failed[path_at] = _utf8(result.path)
            rows = [[*failed, _utf8(f"{result.error.kind}: {result.error}")] if result.error else failed]
        else:
            rows = [[*row, None] for row in result._measurement.table()]
            for row in rows:
                row[path_at] = _utf8(row[path_at])
                for at in numbers:  # sums may be integers that no double holds exactly
                    row[at] = None if row[at] is None else float(row[at])
        for row in rows:
            for column, value in zip(columns, row):
                column.append(value)
        if len(columns[0]) >= 8192:
            flush()
    flush()
    return pa.Table.from_batches(batches, schema)


def _utf8(text: Any) -> str:
    """Text in which U+FFFD replaces bytes that are not UTF-8, because Arrow's strings must be UTF-8."""
    return os.fsencode(text).decode("utf-8", "replace")


def histogram(
    image: Any, bins: int | str = 256, range: Range | None = None, **options: Any
) -> Histogram:
    """Histogram of one image in equal bins over [lower, upper). The bin of v is floor((v - lower) bins / (upper -
    lower)), exactly for integers, whose bounds must be whole numbers. Without a range, the bins cover the whole type;
    for floats, they go from the finite minimum to the finite maximum, and the last bin includes the maximum. Options
    are those of measure().
    """
    return measure(image, bins=bins, range=range, **options).histogram()
