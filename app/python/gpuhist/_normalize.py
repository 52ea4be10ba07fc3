"""Normalized copies of arrays, on the host and on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from . import _arrays, _native
from ._arrays import Layout, Order, library_of
from ._errors import InvalidArgument, require_word
from ._request import ApplyTo, Engine, OnDamaged, asked_of, normalization_of, refuse_cpu
from ._read import pixels_of
from ._source import encoded, is_path, picture_of, source_of, warn_of_pages
from ._validity import Rules, rules_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._native import Alpha, NormalizeMode
    from ._options import NormalizeOptions
    from ._pixels import Pixels
    from ._validity import Nodata, Valid

# Analyzers, each with memory for a result. One stream uses each of them, so their work is done in order.
_normalizers: dict[tuple[str, int, int, int, str, str, int], tuple[_native.StreamAnalyzer, Any]] = {}
_normalizers_lock = threading.Lock()


def normalize(
    image: Any,
    mode: NormalizeMode = "minmax",
    *,
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
    fill: float | None = None,
    engine: Engine = "auto",
    gpu: int = 0,
    threads: int = 0,
    stream: Any = None,
    out: Any = None,
    page: int | None = None,
    max_pixels: int | None = None,
    on_damaged: OnDamaged = "error",
    **parameters: Unpack[NormalizeOptions],
) -> Any:
    """Returns the normalized copy of an image. For an array, it is an array of the same library, on the same device, in
    the same layout. For a file that measure() takes, it is a numpy array, as read() returns it.

    mode
        Mode of the command's --normalize: minmax, percentile, equalize, zscore, gamma, auto-gamma, levels, stretch,
        robust, match, gray-world, white-patch, threshold, clahe or background.
    percentiles, gamma, levels, stretch, interval, threshold, clip_limit, clip_bins, tiles, reference
        Parameters of the modes, with the values of the options of the same names: percentiles=(1, 99) of percentile,
        white-patch, and stretch with interval="percentile"; gamma=2.2; levels=(low, high); stretch="asinh" or
        "sigmoid=3,0.5"; interval="zscale" or "sigma=3"; threshold="otsu" or a number; clip_limit=40, clip_bins="all" and
        tiles=(8, 8) of clahe; tiles of background; reference, an array on the host or what measure() reads, of match.
    channels
        joint: one table for all colors, which keeps their hue. separate: one table per channel. Alpha does not change.
    depth
        Depth of the copy: u8, u16, f32, ... By default it is the depth of the image, and for zscore and robust f32 (f64
        if the image is u32, s32 or f64). On a GPU, the interval zscale of floats or with excluded samples, and copies of
        f32 by minmax, percentile, equalize and zscore in another depth than u8, u16 and f32 need an array on the host.
    mask, nodata, valid, nodata_any, alpha
        Rules for excluded samples, as in measure(). The table is made from the valid samples. Alpha itself is copied.
    apply_to
        Rule for samples that mask, alpha or valid excludes. all: the table maps them. valid: they keep their values,
        which needs a copy of the depth of the image. In a copy of another depth, they are 0, or fill.
    fill
        Value to write in place of nodata. Nodata, masked or not, is never mapped by a table. Without fill, it keeps its
        value; in a copy of another depth, it becomes NaN in floats and 0 in integers. For integers, fill must be the
        lowest or the highest value of the type. Then NaN becomes fill too, and no sample that the table maps gets this
        value. In a copy of another depth, pixels with an excluded sample have alpha 0.
    out
        Array for the copy, with the axes of the image. It may be the image itself if they have the same depth. On the
        host, it can have any strides and byte order.

    On a GPU, the copy is complete when the work on the stream is complete, as with any operation of its library. The
    call waits for it if an Analyzer does not write such copies: robust, match, background, zscale, thresholds that
    follow from the image, clahe of u16 or with excluded samples, and all copies of s8, s16 and f16. Other arguments and
    exceptions are as in measure().
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    request = asked_of(engine=engine, gpu=gpu, threads=threads, rules=rules)
    check_apply_to(apply_to, mask, rules, request)
    asked = normalization_of(mode, apply_to, channels, depth, fill, order, **parameters)

    def write(found: _arrays.Image, seen: _native.View, target: _arrays.Image, rules: Rules) -> None:
        if found.array.gpu is None:
            request = asked_of(engine=engine, gpu=gpu, threads=threads, rules=rules)
            _native.normalize(seen, target.view, asked, request)
        else:
            refuse_cpu(engine)
            handle = _arrays.current_stream(found.array, stream)
            if _native.StreamAnalyzer.writes(found.depth, asked, mask is not None or rules != Rules()):
                _enqueue(found, seen, target, asked, rules, handle)
            else:
                request = asked_of(engine="cuda", gpu=found.array.gpu, threads=threads, rules=rules)
                _native.normalize_behind_stream(seen, target.view, asked, request, handle)

    return copy_of(
        image, asked.depth_of, write, layout=layout, order=order, mask=mask, rules=rules, stream=stream, out=out,
        page=page, max_pixels=max_pixels, on_damaged=on_damaged,
    )


def check_apply_to(apply_to: str, mask: Any, rules: Rules, request: _native.Asked) -> None:
    """Refuses to keep excluded samples if there are none."""
    require_word("apply_to", apply_to, ApplyTo)
    if apply_to == "valid" and not (mask is not None or rules.nodata or rules.valid or request.alpha_excludes):
        raise InvalidArgument(
            'apply_to: "valid" needs excluded samples: give mask, nodata, valid or alpha="mask" or "weight"'
        )


def copy_of(
    image: Any,
    depth_of: Callable[[str], str],
    write: Callable[[_arrays.Image, _native.View, _arrays.Image, Rules], None],
    *,
    layout: Layout | None,
    order: Order,
    mask: Any,
    rules: Rules,
    stream: Any,
    out: Any,
    page: int | None,
    max_pixels: int | None,
    on_damaged: str,
) -> Any:
    """Copy of an image in its library and layout, or ``out``. ``depth_of`` says its depth, and ``write`` gets the image,
    its view with its mask, the image of the copy, and the rules, with those of a file."""
    if not _arrays.is_array(image):
        image, mask, rules = _from_file(image, mask, rules, page, max_pixels, on_damaged)
        layout, order = "HW" if image.ndim == 2 else "HWC", "RGB"
    elif page is not None:
        raise InvalidArgument("page: an array has no pages")
    source = source_of(image, layout, order, None, None, "error", stream, rules=rules)
    found = source.found
    assert found is not None
    depth = depth_of(found.depth)
    through = None
    if out is None:
        made, target = _arrays.empty_like(found, depth)
    else:
        made = out
        target, through = _target(out, found, depth, layout, order, stream)
    if found.gray_alpha:
        target = target._replace(view=target.view.gray_alpha())
    seen = source.masked(mask)
    write(found, seen.view, target, rules)
    if through is not None:
        through[...] = _in_layout(target.array.owner, found)
    return _like(made, image, found) if out is None else out


def _from_file(
    image: Any, mask: Any, rules: Rules, page: int | None, max_pixels: int | None, on_damaged: str
) -> tuple[Pixels, Any, Rules]:
    """Pixels of a file, its mask together with the given one, and the rules with the file's nodata."""
    import numpy as np

    picture, path = picture_of(image, page, max_pixels, on_damaged, rules._replace(alpha="row"))
    if picture is None:
        raise InvalidArgument(f"a {type(image).__name__} is neither a path, nor a file, nor its bytes, nor an array")
    warn_of_pages(picture, page)
    pixels = pixels_of(picture, path)
    if rules.alpha == "weight" and pixels.alpha == "premultiplied":
        raise InvalidArgument('alpha: "weight" needs straight alpha, and the colors of this file are premultiplied')
    if path and is_path(mask):
        memory = picture.companion(encoded(mask), "mask", max_pixels).mask
        mask = np.frombuffer(memory, np.uint8).reshape(pixels.shape[:2])
    if pixels.mask is not None:
        mask = pixels.mask if mask is None else (np.asarray(mask) != 0) & pixels.mask
    value = pixels.nodata if rules.nodata_of_file else None
    if value is not None and pixels.dtype.kind != "f":  # a value that the type cannot hold matches nothing
        limits = np.iinfo(pixels.dtype)
        value = value if limits.min <= value <= limits.max and value == int(value) else None
    nodata = rules.nodata if value is None else [*rules.nodata, (None, value)]
    return pixels, mask, rules._replace(tag=False, nodata=nodata)


def _target(
    out: Any, found: _arrays.Image, depth: str, layout: str | None, order: str, stream: Any
) -> tuple[_arrays.Image, Any]:
    """Image into which the copy is written, and, on the host, the array to which it is copied then if a view cannot
    describe it."""
    if found.array.gpu is None and not (hasattr(out, "__dlpack__") or hasattr(out, "__array_interface__")):
        raise InvalidArgument(f"out: a {type(out).__name__} is not an array that can be written")
    target = _arrays.image_of(out, layout, order, stream=stream)
    same = (target.width, target.height, target.channels, target.array.gpu)
    wanted = (found.width, found.height, found.channels, found.array.gpu)
    if found.gray_alpha and target.channels == 2:
        same, wanted = (*same[:2], 4, None), (*wanted[:2], 4, None)
    if same != wanted or target.depth != depth:
        raise InvalidArgument(
            f"out: {target.width} x {target.height} x {target.channels} {target.depth}, but the copy has "
            f"{found.width} x {found.height} x {found.channels} {depth}, on the same device"
        )
    if found.array.gpu is not None:
        return target, None
    import numpy as np

    array = out.detach().numpy() if library_of(out) == "torch" else np.asarray(out)
    if not array.flags.writeable:
        raise InvalidArgument("out: the array is read-only and can't be written")
    if np.shares_memory(array, target.array.owner) and not found.gray_alpha:
        return target, None
    return _arrays.empty_like(found, depth)[1], array


def _like(made: Any, image: Any, found: _arrays.Image) -> Any:
    """The new array in the layout and the library of the image."""
    made = _in_layout(made, found)
    if found.array.gpu is None and library_of(image) == "torch":
        import torch

        made = torch.from_numpy(made)
    return made


def _in_layout(made: Any, found: _arrays.Image) -> Any:
    if found.gray_alpha:
        made = made[..., [0, 3]]
    if found.planar:
        made = made.permute(2, 0, 1) if hasattr(made, "permute") else made.transpose(2, 0, 1)
    return made


def _enqueue(
    found: _arrays.Image,
    view: _native.View,
    target: _arrays.Image,
    asked: _native.Normalization,
    rules: Rules,
    stream: int,
) -> None:
    """Puts the copy of an image on a stream. view is the view of the image with its mask."""
    gpu = found.array.gpu
    assert gpu is not None
    request = asked_of(engine="cuda", gpu=gpu, rules=rules)
    # Rules need memory for each pixel. The number is rounded up, so that images of many sizes share few analyzers.
    pixels = 0 if rules == Rules() else 1 << (found.width * found.height - 1).bit_length()
    key = (found.depth, found.channels, gpu, stream, asked.name, asked.depth_of(found.depth), pixels)
    with _normalizers_lock:
        if key not in _normalizers:
            analyzer = _native.StreamAnalyzer(found.depth, found.channels, 256, True, pixels, gpu=gpu)
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
