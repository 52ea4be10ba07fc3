"""Analyzers for images on a GPU. They enqueue work on a stream, and never allocate, synchronize or copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _arrays, _native
from ._errors import InvalidArgument
from ._request import ApplyTo, Range, asked_of, normalization_of
from ._result import Result
from ._source import labels_of_images, masked_images
from ._validity import refuse_tag, rules_of

if TYPE_CHECKING:
    import numpy as np
    from typing_extensions import Unpack

    from ._native import Alpha
    from ._options import NormalizeOptions
    from ._validity import Nodata, Valid


class Analyzer:
    """Analyzer of images on a GPU, for loops and CUDA graphs. Make it once; then it only puts kernels on a stream.

    channels
        1, 3 or 4.
    depth
        u8, s8, u16, s16, f16 or f32; with normalize= u8, u16 or f32.
    bins, range
        Bins and range of f32 histograms.
    detail, percentile_columns
        As in gpuhist.measure.
    normalize, apply_to, fill, and the parameters of the mode, such as percentiles
        Mode of the copies, if the analyzer should make copies, and the arguments of gpuhist.normalize.
    nodata, valid, nodata_any, alpha
        As in gpuhist.measure.
    pixels
        Largest number of pixels in an image, if any of the rules above is given: the analyzer reserves memory for a
        mask of these pixels, or for a copy if they are floats. For alpha="weight", any number but 0 is enough.
    planar_pixels
        Largest number of pixels in an image whose channels lie in planes, such as a contiguous C x H x W: the analyzer
        reserves memory, in which the samples of these pixels are interleaved. With memory for several images, it measures
        as many at once. Such images have no copies.
    gpu
        Number of the GPU.

    Launches of one analyzer share its memory, so they must run one after the other, in one stream or ordered by events.
    Raises EngineUnavailable if the GPU cannot be used, and OutOfMemory.
    """

    def __init__(
        self,
        *,
        channels: int = 3,
        depth: str = "u8",
        bins: int = 256,
        range: Range | None = None,
        detail: str = "full",
        percentile_columns: Sequence[float] | None = None,
        normalize: str | None = None,
        apply_to: ApplyTo = "all",
        fill: float | None = None,
        nodata: Nodata | None = None,
        valid: Valid | None = None,
        nodata_any: bool = False,
        alpha: Alpha = "row",
        pixels: int = 0,
        planar_pixels: int = 0,
        gpu: int = 0,
        **parameters: Unpack[NormalizeOptions],
    ) -> None:
        rules = rules_of(nodata, valid, nodata_any, alpha)
        refuse_tag(rules)
        self._planar = planar_pixels > 0 and normalize is None
        self._asked = asked_of(bins, range, percentile_columns, detail, engine="cuda", gpu=gpu, rules=rules)
        self._normalization: _native.Normalization | None = None
        if normalize is None and parameters:
            raise InvalidArgument(f"{next(iter(parameters))}: the analyzer is made without normalize=")
        if normalize is not None:
            self._normalization = normalization_of(normalize, apply_to, fill=fill, **parameters)
        self._native = _native.StreamAnalyzer(depth, channels, bins, normalize is not None, pixels, planar_pixels, gpu)
        self._layout = self._native.layout(self._asked, self._normalization)
        self._gpu = gpu
        self._depth = depth

    @property
    def layout(self) -> _native.Layout:
        """Layout of the memory for the result of one image. ``layout.bytes`` is its size, a multiple of 256."""
        return self._layout

    def enqueue(
        self,
        images: Any,
        *,
        out: Any,
        copy: Any = None,
        mask: Any = None,
        layout: str | None = None,
        order: str = "RGB",
        stream: Any = None,
    ) -> None:
        """Puts the analysis of an image, H x W x C, or of N images, N x H x W x C, on a stream, and returns at once.
        Other axes need a layout, such as NCHW: for images in channels_last, or with planar_pixels= for those in planes.

        out is contiguous uint8 on the GPU and receives one result of layout.bytes per image. copy receives the
        normalized images, if the analyzer was made with normalize=. mask is H x W or N x H x W of bool or u8, and 0
        excludes a pixel. Keep all arrays alive until the stream has done the work. By default, stream is the current
        one of the images' library; it may be capturing.
        """
        found = _images_on(images, self._gpu, layout, order, stream, planes=self._planar)
        view, mask_bytes, _ = masked_images(found, mask, stream)
        memory = _results_in(out, self._layout.bytes * found.images, self._gpu)
        handle = _arrays.current_stream(found.array, stream)
        if self._normalization is None:
            if copy is not None:
                raise InvalidArgument("copy: the analyzer was not made with normalize=")
            if found.plane_bytes:
                self._native.enqueue_planes(
                    view, found.plane_bytes, found.images, found.image_bytes, mask_bytes, self._asked, memory, handle
                )
                return
            self._native.enqueue(view, found.images, found.image_bytes, mask_bytes, self._asked, memory, handle)
            return
        if copy is None:
            raise InvalidArgument("copy: an analyzer made with normalize= needs an array for the copies")
        target = _arrays.image_of(copy, layout, order, stream=stream, batch=True)
        if (target.array.gpu, target.images) != (found.array.gpu, found.images):
            raise InvalidArgument("copy: give as many images as are measured, on the same GPU")
        self._native.enqueue_normalized(
            view,
            found.images,
            found.image_bytes,
            mask_bytes,
            target.view,
            target.image_bytes,
            self._normalization,
            self._asked,
            memory,
            handle,
        )

    def read(self, out: Any, *, width: int = 0, height: int = 0) -> list[Result]:
        """Results in memory that enqueue() filled. They are copied to the host on the current stream of the memory's
        library, and the call waits for that stream. The memory only has the number of pixels; width and height are the
        size that the results report.
        """
        raw = _on_host(out).tobytes()
        size = self._layout.bytes
        if len(raw) % size:
            raise InvalidArgument(f"out: {len(raw)} bytes are not a multiple of the size of a result, {size}")
        return [
            Result(_native.measurement_of(raw[start : start + size], self._asked, width, height))
            for start in range(0, len(raw), size)
        ]


class RegionAnalyzer:
    """Analyzer of the regions of images on a GPU, for loops and CUDA graphs. Make it once; then it only puts kernels on
    a stream. The GPU sorts labels and values, so there may be any number of labels.

    pixels
        Largest number of pixels in a call, of all images together.
    regions
        Largest number of regions for whose results there is room.
    channels
        1, 3 or 4.
    depth
        Depth of the images, as in gpuhist.measure.
    labels
        Type of the labels: u8, u16, u32, or s32 without negative values.
    largest_label
        Largest label; 0 means that of the type. The smaller it is, the faster the analysis.
    label_zero
        If true, the pixels of label 0 are a region too.
    images
        Largest number of images in a call.
    masks
        Whether images may have masks.
    nodata, valid, nodata_any, alpha
        As in gpuhist.measure. Alpha keeps its row unless it is the weight.
    percentiles
        Percentiles of each region, in percent.
    gpu
        Number of the GPU.

    Calls of one analyzer share its memory, so they must run one after the other, in one stream or ordered by events.
    Raises EngineUnavailable if the GPU cannot be used, and OutOfMemory.
    """

    def __init__(
        self,
        *,
        pixels: int,
        regions: int,
        channels: int = 1,
        depth: str = "u8",
        labels: str = "u32",
        largest_label: int = 0,
        label_zero: bool = False,
        images: int = 1,
        masks: bool = False,
        nodata: Nodata | None = None,
        valid: Valid | None = None,
        nodata_any: bool = False,
        alpha: Alpha = "row",
        percentiles: Sequence[float] = (50,),
        gpu: int = 0,
    ) -> None:
        rules = rules_of(nodata, valid, nodata_any, alpha)
        refuse_tag(rules)
        self._native = _native.StreamRegionAnalyzer(
            depth,
            channels,
            labels,
            largest_label,
            label_zero,
            pixels,
            images,
            regions,
            masks,
            asked_of(percentile_columns=percentiles, engine="cuda", gpu=gpu, rules=rules),
            gpu,
        )
        self._layout = self._native.layout()
        self._gpu = gpu

    @property
    def layout(self) -> _native.RegionLayout:
        """Layout of the memory for the results. ``layout.bytes`` is its size."""
        return self._layout

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the result of a region. Its fields are label, image, x, y, width, height and area, and for each
        channel valid, nodata, nan, inf, min, max, mean, std and percentiles, such as ``gray_mean`` or ``red_median``.
        With alpha="weight" there are also weight, and percentiles such as ``red_wp50``. Without a valid sample,
        percentiles are NaN, and min, max, mean and std are 0."""
        import numpy as np

        columns = self._native.columns()
        return np.dtype(
            {
                "names": [name for name, _, _ in columns],
                "formats": [kind for _, kind, _ in columns],
                "offsets": [offset for _, _, offset in columns],
                "itemsize": self._layout.stride,
            }
        )

    def enqueue(
        self,
        images: Any,
        labels: Any,
        *,
        out: Any,
        mask: Any = None,
        layout: str | None = None,
        order: str = "RGB",
        stream: Any = None,
    ) -> None:
        """Puts the analysis of the regions of an image, H x W x C with labels H x W, on a stream, and returns at once.
        N images are N x H x W x C, and their labels are N x H x W.

        out is contiguous uint8 on the GPU and receives layout.bytes. mask is H x W or N x H x W of bool or u8, and 0
        excludes a pixel, which then only enters the area of its region. Keep all arrays alive until the stream has done
        the work. By default, stream is the current one of the images' library; it may be capturing.
        """
        found = _images_on(images, self._gpu, layout, order, stream, _arrays.ALL_DEPTHS)
        view, mask_bytes, _ = masked_images(found, mask, stream)
        over, labels_bytes = labels_of_images(found, labels, stream)
        self._native.enqueue(
            view,
            found.images,
            found.image_bytes,
            mask_bytes,
            over,
            labels_bytes,
            _results_in(out, self._layout.bytes, self._gpu),
            _arrays.current_stream(found.array, stream),
        )

    def read(self, out: Any) -> np.ndarray[Any, Any]:
        """Regions in memory that enqueue() filled: an array of ``dtype`` in the order of image and label. They are
        copied to the host on the current stream of the memory's library, and the call waits for that stream.

        Raises InvalidArgument if there are more regions than there is room for, or pixels whose label is negative or
        over largest_label.
        """
        raw = _on_host(out).tobytes()[: self._layout.bytes]
        import numpy as np

        return np.frombuffer(raw, self.dtype, self._native.regions_in(raw), self._layout.first)


def _images_on(
    images: Any,
    gpu: int,
    layout: str | None,
    order: str,
    stream: Any,
    depths: tuple[str, ...] = _arrays.DEVICE_DEPTHS,
    planes: bool = False,
) -> _arrays.Image:
    found = _arrays.image_of(images, layout, order, stream=stream, batch=True, depths=depths, planes=planes)
    if found.array.gpu != gpu:
        at = _arrays.place_of(found.array.gpu)
        raise InvalidArgument(f"the images are on {at}, but the analyzer is for GPU {gpu}")
    return found


def _on_host(out: Any) -> Any:
    return out.cpu().numpy() if hasattr(out, "cpu") else out.get() if hasattr(out, "get") else out


def _results_in(out: Any, size: int, gpu: int) -> int:
    array = _arrays.array_of(out)
    if array.gpu != gpu:
        raise InvalidArgument(f"out: it must be on GPU {gpu}")
    elements = 1
    for extent in array.shape:
        elements *= extent
    if array.type != "uint8" or array.strides != _arrays.packed(array.shape):
        raise InvalidArgument("out: it must be an array of uint8 without gaps")
    if elements < size:
        raise InvalidArgument(f"out: it has {elements} bytes, but the results take {size}")
    return array.pointer
