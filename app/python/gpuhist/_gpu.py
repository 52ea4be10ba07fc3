"""Images on a GPU, enqueued on a stream: no allocation, no synchronization, no copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _arrays, _native
from ._errors import InvalidArgument
from ._request import ApplyTo, Range, asked_of, normalization_of
from ._result import Result
from ._source import LABEL_TYPES, MASK_TYPES, plane_view, planes_over, row_bytes_of
from ._validity import refuse_tag, rules_of

if TYPE_CHECKING:
    import numpy as np

    from ._native import Alpha
    from ._validity import Nodata, Valid


class Analyzer:
    """Analyzer of images on a GPU, for loops and CUDA graphs: made once, it only puts kernels on a stream.

    channels are 1, 3 or 4; depth is u8, s8, u16, s16, f16 or f32, and u8, u16 or f32 where copies are made; bins and
    range are those of f32 histograms; normalize says whether copies will be made, by which mode, and apply_to what
    becomes of excluded samples (see gpuhist.normalize). nodata, valid, nodata_any and alpha are those of
    gpuhist.measure; for them pixels is the most in an image: there is memory for its mask, or of floats for a copy; for
    alpha="weight" any number but 0 will do. Launches of one analyzer share its memory: they must follow each other, in
    one stream or by events.

    Raises EngineUnavailable where the GPU cannot be used, OutOfMemory.
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
        percentiles: tuple[float, float] = (1, 99),
        apply_to: ApplyTo = "all",
        nodata: Nodata | None = None,
        valid: Valid | None = None,
        nodata_any: bool = False,
        alpha: Alpha = "row",
        pixels: int = 0,
        gpu: int = 0,
    ) -> None:
        rules = rules_of(nodata, valid, nodata_any, alpha)
        refuse_tag(rules)
        self._asked = asked_of(bins, range, percentile_columns, detail, engine="cuda", gpu=gpu, rules=rules)
        self._normalization: _native.Normalization | None = None
        if normalize is not None:
            self._normalization = normalization_of(normalize, apply_to, percentiles=percentiles)
        self._native = _native.StreamAnalyzer(depth, channels, bins, normalize is not None, pixels, gpu)
        self._layout = self._native.layout(self._asked, self._normalization)
        self._gpu = gpu
        self._depth = depth

    @property
    def layout(self) -> _native.Layout:
        """Layout of the memory of one image's result: ``layout.bytes`` of it, a multiple of 256."""
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
        """Puts the analysis of an image, H x W x C, or of N of them, N x H x W x C, on a stream; nothing is waited for.

        out receives a result of layout.bytes per image: contiguous uint8 on the GPU. copy, where the analyzer was made
        with normalize=, receives the normalized images. mask, H x W or N x H x W of bool or u8, is 0 at excluded
        pixels. All are borrowed until the stream has passed. stream is by default the current one of the images'
        library; it may be in capture.
        """
        found = _images_on(images, self._gpu, layout, order, stream)
        view, mask_bytes = _masked(found, mask, stream)
        memory = _results_in(out, self._layout.bytes * found.images, self._gpu)
        handle = _arrays.current_stream(found.array, stream)
        if self._normalization is None:
            if copy is not None:
                raise InvalidArgument("copy: the analyzer was not made with normalize=")
            self._native.enqueue(view, found.images, found.image_bytes, mask_bytes, self._asked, memory, handle)
            return
        if copy is None:
            raise InvalidArgument("copy: an analyzer made with normalize= needs an array for the copies")
        target = _arrays.image_of(copy, layout, order, stream=stream, batch=True)
        if (target.array.gpu, target.images) != (found.array.gpu, found.images):
            raise InvalidArgument("copy: as many images as are measured, on the same GPU")
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
        """Results of memory that enqueue() filled, copied to the host on the current stream of its library, whose work
        is waited for. width and height are what the results say of the images, of which they know the pixels alone.
        """
        raw = _on_host(out).tobytes()
        size = self._layout.bytes
        if len(raw) % size:
            raise InvalidArgument(f"out: {len(raw)} bytes are no multiple of a result's {size}")
        return [
            Result(_native.measurement_of(raw[start : start + size], self._asked, width, height))
            for start in range(0, len(raw), size)
        ]


class RegionAnalyzer:
    """Analyzer of the regions of images on a GPU, for loops and CUDA graphs: made once, it only puts kernels on a
    stream. Labels and values are sorted there, so that there may be any number of labels.

    channels are 1, 3 or 4; depth is that of gpuhist.measure; labels is u8, u16, u32, or s32 that is not negative. pixels
    is the most in a call, those of all images together; images the most of them; regions the most that there is room
    for. The smaller largest_label is, the less there is to sort. label_zero: pixels of label 0 are a region too. masks:
    there may be one. nodata, valid, nodata_any and alpha are those of gpuhist.measure; alpha that is no weight keeps its
    row. percentiles, in percent, are found for each region. Calls of one analyzer share its memory: they must follow
    each other, in one stream or by events.

    Raises EngineUnavailable where the GPU cannot be used, OutOfMemory.
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
        """Layout of the memory of the results: ``layout.bytes`` of it."""
        return self._layout

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of a region's result: label, image, x, y, width, height, area, and of each channel valid, nodata, nan,
        inf, min, max, mean, std and percentiles, as ``gray_mean`` or ``red_median``; weighted by alpha also weight, and
        percentiles as ``red_wp50``. Where no sample is valid, percentiles are NaN and the numbers before them 0."""
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
        """Puts the analysis of an image's regions on a stream, or of those of N images, N x H x W x C, whose labels are
        N x H x W; nothing is waited for.

        out receives layout.bytes: contiguous uint8 on the GPU. mask, H x W or N x H x W of bool or u8, is 0 at excluded
        pixels; their regions have them in the area alone. All are borrowed until the stream has passed.
        stream is by default the current one of the images' library; it may be in capture.
        """
        found = _images_on(images, self._gpu, layout, order, stream, _arrays.ALL_DEPTHS)
        view, mask_bytes = _masked(found, mask, stream)
        over, labels_bytes = _labels_over(found, labels, stream)
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
        """Regions of memory that enqueue() filled, copied to the host on the current stream of its library, whose work
        is waited for: an array of ``dtype``, in the order of image and label.

        Raises InvalidArgument where there are more regions than there is room for, or pixels whose label is negative
        or over largest_label.
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
) -> _arrays.Image:
    found = _arrays.image_of(images, layout, order, stream=stream, batch=True, depths=depths)
    if found.array.gpu != gpu:
        raise InvalidArgument(f"the images are on {_arrays.place_of(found.array.gpu)}, and the analyzer is for GPU {gpu}")
    return found


def _masked(found: _arrays.Image, mask: Any, stream: Any) -> tuple[_native.View, int]:
    """View of the first image with its mask, and bytes from one's mask to the next one's."""
    if mask is None:
        return found.view, 0
    over, image_bytes = _over(found, mask, "mask", MASK_TYPES, stream)
    return found.view.masked(over.pointer, row_bytes_of(over)), image_bytes


def _labels_over(found: _arrays.Image, labels: Any, stream: Any) -> tuple[_native.View, int]:
    """View of the first label map, and bytes from one to the next."""
    over, image_bytes = _over(found, labels, "labels", LABEL_TYPES, stream)
    return plane_view(over), image_bytes


def _over(
    found: _arrays.Image, given: Any, what: str, types: tuple[str, ...], stream: Any
) -> tuple[_arrays.Array, int]:
    """The planes of one value per pixel, one for each image, and bytes from one to the next."""
    pixels = (found.height, found.width)
    wanted = (found.images, *pixels) if len(found.given) == 4 else pixels
    array = planes_over(given, what, types, found.array.gpu, wanted, found.given, stream)
    size = _arrays.bytes_of(_arrays.DEPTHS[array.type])
    return array, array.strides[0] * size if found.images > 1 else 0


def _on_host(out: Any) -> Any:
    return out.cpu().numpy() if hasattr(out, "cpu") else out.get() if hasattr(out, "get") else out


def _results_in(out: Any, size: int, gpu: int) -> int:
    array = _arrays.array_of(out)
    if array.gpu != gpu:
        raise InvalidArgument(f"out: not on GPU {gpu}")
    elements = 1
    for extent in array.shape:
        elements *= extent
    if array.type != "uint8" or array.strides != _arrays.packed(array.shape):
        raise InvalidArgument("out: an array of uint8, without gaps")
    if elements < size:
        raise InvalidArgument(f"out: {elements} bytes, and the results take {size}")
    return array.pointer
