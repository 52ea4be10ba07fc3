"""Normalized copies of arrays, on the host and on a GPU."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal

from . import _arrays, _native
from ._arrays import Layout, Order, library_of
from ._errors import InvalidArgument
from ._request import ApplyTo, Engine, asked_of, normalization_of, refuse_cpu
from ._source import source_of
from ._validity import Rules, rules_of

if TYPE_CHECKING:
    from ._native import Alpha, NormalizeMode
    from ._validity import Nodata, Valid

# Analyzers, and memory for a result, that one stream uses: what it is given is done in order.
_normalizers: dict[tuple[str, int, int, int, str, int], tuple[_native.StreamAnalyzer, Any]] = {}
_normalizers_lock = threading.Lock()


def normalize(
    image: Any,
    mode: NormalizeMode = "minmax",
    *,
    percentiles: tuple[float, float] = (1, 99),
    channels: Literal["joint", "separate"] = "joint",
    depth: str | None = None,
    layout: Layout | None = None,
    order: Order = "RGB",
    mask: Any = None,
    nodata: Nodata | None = None,
    valid: Valid | None = None,
    nodata_any: bool = False,
    alpha: Alpha = "row",
    apply_to: ApplyTo = "all",
    engine: Engine = "auto",
    gpu: int = 0,
    stream: Any = None,
    out: Any = None,
) -> Any:
    """The normalized copy of an array: of the same library, on the same device, in the same layout.

    mode
        A mode of the command's --normalize, such as minmax, percentile (between the two percentiles), equalize or
        zscore.
    channels
        joint: one table for all colors, which keep their hue; separate: one per channel. Alpha stays as it is.
    depth
        Of the copy: u8, u16, f32, ...; without it that of the image, of zscore f32 (f64 of u32, s32 and f64). On a GPU
        only these.
    mask, nodata, valid, nodata_any, alpha
        Rules for excluded samples, as in measure(): the table is made from the valid ones. Alpha itself is copied.
    apply_to
        all: the table maps every sample; valid: excluded samples stay as they are, in a copy of the image's
        depth. In a copy of another depth these are 0, and so is the alpha of their pixels.
    out
        Array for the copy; it may be the image where the depth stays.

    On a GPU the copy is complete when the work on the stream is, as with any of its library's operations. Other
    arguments, and what is raised, as in measure().
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    request = asked_of(engine=engine, gpu=gpu, rules=rules)
    excludes = mask is not None or rules.nodata or rules.valid or request.alpha_excludes
    if apply_to == "valid" and not excludes:
        raise InvalidArgument(
            'apply_to: "valid" is about excluded samples: give mask, nodata, valid or alpha="mask" or "weight"'
        )
    asked = normalization_of(mode, apply_to, channels, depth, percentiles=percentiles)
    if not _arrays.is_array(image):
        raise InvalidArgument(f"a {type(image).__name__} is no array")
    source = source_of(image, layout, order, None, None, "error", stream)
    found = source.found
    assert found is not None
    copy_depth = asked.depth_of(found.depth)
    if out is None:
        made, target = _arrays.empty_like(found, copy_depth)
    else:
        made, target = out, _target(out, found, copy_depth, layout, order, stream)
    source.check(rules)
    if found.array.gpu is None:
        _native.normalize(source.masked(mask).view, target.view, asked, request)
    else:
        refuse_cpu(engine)
        seen = source.masked(mask)
        _enqueue(found, seen.view, target, asked, rules, _arrays.current_stream(found.array, stream))
    if out is None:
        made = _like(made, image, found)
    return made


def _target(
    out: Any, found: _arrays.Image, depth: str, layout: str | None, order: str, stream: Any
) -> _arrays.Image:
    target = _arrays.image_of(out, layout, order, stream=stream)
    if found.array.gpu is None and not _shares(target, out):
        raise InvalidArgument("out: its pixels do not lie beside each other in memory, so that it would be a copy")
    same = (target.width, target.height, target.channels, target.array.gpu)
    wanted = (found.width, found.height, found.channels, found.array.gpu)
    if same != wanted or target.depth != depth:
        raise InvalidArgument(
            f"out: {target.width} x {target.height} x {target.channels} {target.depth}, and the copy has "
            f"{found.width} x {found.height} x {found.channels} {depth}, on the same device"
        )
    return target


def _shares(target: _arrays.Image, out: Any) -> bool:
    import numpy as np

    held = target.array.owner
    assert isinstance(held, np.ndarray)
    array = out.detach().numpy() if library_of(out) == "torch" else np.asarray(out)
    if not array.flags.writeable:
        raise InvalidArgument("out: the array may not be written")
    return bool(np.shares_memory(array, held))


def _like(made: Any, image: Any, found: _arrays.Image) -> Any:
    """The new array as the image is: its layout, and its library."""
    if found.planar:
        made = made.permute(2, 0, 1) if hasattr(made, "permute") else made.transpose(2, 0, 1)
    if found.array.gpu is None and library_of(image) == "torch":
        import torch

        made = torch.from_numpy(made)
    return made


def _enqueue(
    found: _arrays.Image,
    view: _native.View,
    target: _arrays.Image,
    asked: _native.Normalization,
    rules: Rules,
    stream: int,
) -> None:
    """Puts the copy of an image on a stream; view is that of the image, with its mask."""
    gpu = found.array.gpu
    assert gpu is not None
    request = asked_of(engine="cuda", gpu=gpu, rules=rules)
    # Rules ask for memory by the number of pixels. It is rounded up, so that images of many sizes share few analyzers.
    pixels = 0 if rules == Rules() else 1 << (found.width * found.height - 1).bit_length()
    key = (found.depth, found.channels, gpu, stream, asked.name, pixels)
    with _normalizers_lock:
        if key not in _normalizers:
            analyzer = _native.StreamAnalyzer(found.depth, found.channels, 256, True, pixels, gpu)
            memory = _arrays.empty(found.array, (analyzer.layout(request, asked).bytes,), "uint8")
            _normalizers[key] = analyzer, memory
        analyzer, memory = _normalizers[key]
        analyzer.enqueue_normalized(
            view,
            1,
            found.image_bytes,
            0,
            target.view,
            target.image_bytes,
            asked,
            request,
            _arrays.array_of(memory).pointer,
            stream,
        )
