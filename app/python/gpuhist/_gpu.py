"""Images on a GPU, enqueued on a stream: no allocation, no synchronisation, no copy."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from . import _arrays, _native
from ._errors import InvalidArgument
from ._measure import asked_of
from ._result import Range, Result


class Analyzer:
    """Analyser of images on a GPU, for loops and CUDA graphs: made once, it only puts kernels on a stream.

    channels are 1, 3 or 4; depth is u8, s8, u16, s16, f16 or f32, and u8, u16 or f32 where copies are made; bins and
    range are those of f32 histograms; normalize says whether copies will be made, by which mode (see
    gpuhist.normalize). Launches of one analyser share its memory: they must
    follow each other, in one stream or by events.

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
        gpu: int = 0,
    ) -> None:
        self._asked = asked_of(bins, range, percentile_columns, detail, None, "cuda", gpu)
        self._normalization: _native.Normalization | None = None
        if normalize is not None:
            low, high = percentiles
            self._normalization = _native.Normalization(
                mode=normalize, low=float(low), high=float(high), channels="joint", depth=None
            )
        self._native = _native.StreamAnalyzer(depth, channels, bins, normalize is not None, gpu)
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
        layout: str | None = None,
        order: str = "RGB",
        stream: Any = None,
    ) -> None:
        """Puts the analysis of an image, H x W x C, or of N of them, N x H x W x C, on a stream; nothing is waited for.

        out receives a result of layout.bytes an image: contiguous uint8 on the GPU. copy, where the analyser was made
        with normalize=, receives the normalised images. images, out and copy are borrowed until the stream has passed.
        stream is by default the current one of the images' library; it may be in capture.
        """
        found = _arrays.image_of(images, layout, order, stream=stream, batch=True)
        if found.array.gpu != self._gpu:
            where = "the host" if found.array.gpu is None else f"GPU {found.array.gpu}"
            raise InvalidArgument(f"the images are on {where}, and the analyser is for GPU {self._gpu}")
        memory = _results_in(out, self._layout.bytes * found.images, self._gpu)
        handle = _arrays.current_stream(found.array, stream)
        if self._normalization is None:
            if copy is not None:
                raise InvalidArgument("copy: the analyser was not made with normalize=")
            self._native.enqueue(found.view, found.images, found.image_bytes, self._asked, memory, handle)
            return
        if copy is None:
            raise InvalidArgument("copy: an analyser made with normalize= needs an array for the copies")
        target = _arrays.image_of(copy, layout, order, stream=stream, batch=True)
        if (target.array.gpu, target.images) != (found.array.gpu, found.images):
            raise InvalidArgument("copy: as many images as are measured, on the same GPU")
        self._native.enqueue_normalized(
            found.view,
            found.images,
            found.image_bytes,
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
        raw = (out.cpu().numpy() if hasattr(out, "cpu") else out.get() if hasattr(out, "get") else out).tobytes()
        size = self._layout.bytes
        if len(raw) % size:
            raise InvalidArgument(f"out: {len(raw)} bytes are no multiple of a result's {size}")
        return [
            Result(_native.measurement_of(raw[start : start + size], self._asked, width, height))
            for start in _starts(len(raw), size)
        ]


# Analysers, and memory for a result, that one stream uses: what it is given is done in order.
_normalizers: dict[tuple[str, int, int, int, str], tuple[_native.StreamAnalyzer, Any]] = {}
_normalizers_lock = threading.Lock()


def _starts(length: int, size: int) -> range:
    return range(0, length, size)


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


def normalize_on_stream(
    found: _arrays.Image, target: _arrays.Image, asked: _native.Normalization, stream: int
) -> None:
    gpu = found.array.gpu
    assert gpu is not None
    request = asked_of(256, None, None, "full", None, "cuda", gpu)
    key = (found.depth, found.channels, gpu, stream, asked.name)
    with _normalizers_lock:
        if key not in _normalizers:
            analyzer = _native.StreamAnalyzer(found.depth, found.channels, 256, True, gpu)
            memory = _arrays.device_bytes(found.array, analyzer.layout(request, asked).bytes)
            _normalizers[key] = analyzer, memory
        analyzer, memory = _normalizers[key]
        analyzer.enqueue_normalized(
            found.view,
            1,
            found.image_bytes,
            target.view,
            target.image_bytes,
            asked,
            request,
            _arrays.array_of(memory).pointer,
            stream,
        )
