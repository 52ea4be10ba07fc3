"""Measurement of an image in memory, on a GPU or in a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _native
from ._arrays import Layout, Order, current_stream, pixels_in
from ._errors import InvalidArgument
from ._request import Detail, Engine, OnDamaged, Range, asked_of, refuse_cpu
from ._result import Histogram, Result
from ._sets import Results, files_of
from ._source import is_local, is_path, source_of, warn_of_pages
from ._validity import rules_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._native import Alpha
    from ._options import ImageOptions
    from ._validity import Nodata, Valid


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
    (result,) = Results(files_of([path], asked, page=page or 0, max_pixels=max_pixels, on_damaged=on_damaged, mask=mask))
    if result.error is not None:
        raise result.error
    warn_of_pages(result._measurement, page, 4)
    return result


def histogram(
    image: Any, bins: int | str = 256, range: Range | None = None, **options: Unpack[ImageOptions]
) -> Histogram:
    """Histogram of one image in equal bins over [lower, upper). The bin of v is floor((v - lower) bins / (upper -
    lower)), exactly for integers, whose bounds must be whole numbers. Without a range, the bins cover the whole type;
    for floats, they go from the finite minimum to the finite maximum, and the last bin includes the maximum. Options
    are those of measure().
    """
    return measure(image, bins=bins, range=range, **options).histogram()
