"""Measurement of an image in memory, on a GPU or in a file."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _arrays, _native
from ._arrays import BatchLayout, Layout, Order, current_stream, pixels_in
from ._errors import InvalidArgument
from ._request import Detail, Engine, OnDamaged, Range, asked_of, refuse_cpu
from ._result import Histogram, Result
from ._sets import Results, files_of
from ._source import is_local, is_path, mask_in, masked_images, source_of, warn_of_pages
from ._validity import Rules, refuse_tag, rules_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._native import Alpha, ColorSpace
    from ._options import ImageOptions
    from ._request import Bins
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
        pixels, negative strides or a foreign byte order. Of a dask array, also in an xarray.DataArray, a row of chunks is
        in memory at a time; f32 is computed two or three times. An array on a GPU is never copied to the host. Its pixels
        must be adjacent, or in each of its planes: then their samples are interleaved in memory of gpuhist on the GPU.
    layout
        Axes of an array: HW, HWC or CHW. Without a layout, an array is HW, or HWC with 1 to 4 channels; with a layout
        it can have up to 64. An xarray.DataArray whose first or last dimension is called band or channel needs no layout.
        A warning, once, says which axis was taken if the first one could be channels too. 1 channel is gray, 3 are the colors, 4 are the colors and alpha; other numbers are bands
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
    space
        Color space in which colors are measured: hsv, ycbcr, lab, xyz, linear or oklab, as the command's --space. The
        channels have the names of the space. Alpha must be row, or mask for a path.
    white
        Value that stands for white. By default it is that of the file, or else the highest value of the type, or 1 for
        floats.
    bins, range
        Bins and range of the histogram. f32 images are counted in these bins while they are measured; by default they
        are 256 from the finite minimum to the finite maximum. bins can be edges in equal steps, such as those of
        numpy.histogram_bin_edges; unlike there, a sample at the last edge is above the bins.
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
        robust=robust, clip_sigma=clip_sigma, engine=engine, gpu=gpu, threads=threads, rules=rules, space=space,
    )
    if is_local(image) and os.path.isdir(image):
        raise InvalidArgument(f"{image}: a directory, but measure() takes one image: measure_many() takes directories")
    if is_local(image) and (mask is None or is_path(mask)):
        return _measure_file(os.fspath(image), asked, page, max_pixels, on_damaged, mask)
    image, layout_of_dimensions = _arrays.unwrapped(image, layout)
    if _arrays.library_of(image) == "dask" and hasattr(image, "chunks"):
        refuse_tag(rules)
        return Result(_measure_chunks(image, asked, layout_of_dimensions, order, mask, rules))
    source = source_of(image, layout_of_dimensions, order, page, max_pixels, on_damaged, stream, rules=rules, planes=True)
    if source.found is None or source.gpu is None:
        if stream is not None:
            raise InvalidArgument("stream: the image is on the host, where there are no streams")
        seen = source.masked(mask)
        warn_of_pages(source.picture, page)
        return Result(_native.measure(seen.view, asked, source.picture), source.path)
    refuse_cpu(engine)
    if space is not None:
        raise InvalidArgument("space: the array is on a GPU: convert_colors() converts it there")
    asked = asked_of(
        bins, range, percentile_columns, detail, white, measures=measures, quality_scale=quality_scale,
        robust=robust, clip_sigma=clip_sigma, engine=engine, gpu=source.gpu, rules=rules, space=space,
    )
    seen = source.masked(mask)
    handle = current_stream(source.found.array, stream)
    return Result(_native.measure_on_stream(seen.view, source.found.plane_bytes, asked, handle))


def _measure_chunks(
    image: Any, asked: _native.Asked, layout: str | None, order: str, mask: Any, rules: Rules
) -> _native.Measurement:
    """Measures a dask array, a row of its chunks at a time. They are computed once per pass."""
    import numpy as np

    if image.ndim not in (2, 3):
        raise InvalidArgument(f"shape {image.shape}: an image has two axes, or three with its channels")
    axis = 1 if layout == "CHW" else 0
    height = image.shape[axis]
    if mask is not None and tuple(mask.shape) != (pixels := image.shape[axis : axis + 2]):
        raise InvalidArgument(f"mask: shape {tuple(mask.shape)}, but the image has {image.shape}: give shape {pixels}")
    some = np.ones(1, np.uint8)
    strips: _native.StripMeasurement | None = None
    again, masked = True, False
    while again:
        top = 0
        for rows in image.chunks[axis]:
            part = (image[:, top : top + rows] if axis == 1 else image[top : top + rows]).compute()
            source = source_of(part, layout, order, None, None, "error", rules=rules)
            over = None if mask is None else np.asarray(mask[top : top + rows])
            seen = source.masked(over)
            top += rows
            if strips is None:
                view, masked = source.view.of_height(height), seen.owner is not None
                strips = _native.StripMeasurement(
                    view.masked(some.ctypes.data, view.width) if masked else view, asked
                )
            elif masked and seen.owner is None:
                seen = source.masked(np.ones((rows, source.view.width), bool))
            elif not masked and seen.owner is not None:
                raise InvalidArgument("chunks: some are numpy.ma arrays, but not the first: give mask= instead")
            strips.take(seen.view)
        if strips is None:
            raise InvalidArgument(f"shape {image.shape}: there are no pixels")
        again = strips.end_pass()
    assert strips is not None
    return strips.result()


def measure_batch(
    images: Any,
    *,
    layout: BatchLayout | None = None,
    order: Order = "RGB",
    mask: Any = None,
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
    stream: Any = None,
) -> list[Result]:
    """Measures images of one size, which are one array, on all threads. Returns one Result per image.

    images
        Array of the shape (images, height, width, channels) or (images, height, width), such as the batches of a loader
        of torch. On a GPU, Analyzer measures such batches without waiting.
    layout
        Axes of the array: NHWC, NCHW or NHW. Without a layout, four axes are NHWC with 1 to 4 channels, and three are NHW.
    mask
        Array of bool or integers with the shape (images, height, width): pixels where it is 0 are excluded.

    Other arguments and exceptions are as in measure().
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    refuse_tag(rules)

    def asked(gpu: int) -> _native.Asked:
        return asked_of(
            bins, range, percentile_columns, detail, white, measures=measures, quality_scale=quality_scale,
            robust=robust, clip_sigma=clip_sigma, engine=engine, gpu=gpu, threads=threads, rules=rules, space=space,
        )

    asked(gpu)  # refuses wrong arguments, even if there are no images
    if hasattr(images, "__len__") and len(images) == 0:
        return []
    found = _arrays.batch_of(images, layout, order, stream, planes=True)
    own = mask_in(images, None if getattr(images, "ndim", 4) == 3 else 1 if layout == "NCHW" else -1)
    if own is not None:
        import numpy as np

        mask = own if mask is None else (np.asarray(mask) != 0) & own
    view, mask_bytes, kept = masked_images(found, mask, stream)
    if found.array.gpu is None:
        if stream is not None:
            raise InvalidArgument("stream: the images are on the host, where there are no streams")
        measured = _native.measure_batch(view, found.images, found.image_bytes, mask_bytes, asked(gpu))
        del kept
        return [Result(one) for one in measured]
    refuse_cpu(engine)
    if space is not None:
        raise InvalidArgument("space: the array is on a GPU: convert_colors() converts it there")
    request, handle = asked(found.array.gpu), current_stream(found.array, stream)
    return [
        Result(
            _native.measure_on_stream(
                view.moved(i * found.image_bytes, i * mask_bytes), found.plane_bytes, request, handle
            )
        )
        for i in builtins.range(found.images)
    ]


def _measure_file(
    path: str, asked: _native.Asked, page: int | None, max_pixels: int | None, on_damaged: str, mask: Any
) -> Result:
    (result,) = Results(files_of([path], asked, page=page or 0, max_pixels=max_pixels, on_damaged=on_damaged, mask=mask))
    if result.error is not None:
        raise result.error
    warn_of_pages(result._measurement, page, 4)
    return result


def histogram(
    image: Any, bins: Bins = 256, range: Range | None = None, **options: Unpack[ImageOptions]
) -> Histogram:
    """Histogram of one image in equal bins over [lower, upper). The bin of v is floor((v - lower) bins / (upper -
    lower)), exactly for integers, whose bounds must be whole numbers. Without a range, the bins cover the whole type;
    for floats, they go from the finite minimum to the finite maximum, and the last bin includes the maximum. Options
    are those of measure().
    """
    return measure(image, bins=bins, range=range, **options).histogram()
