"""Requests for a measurement and for a normalized copy, in the form of the native module."""

from __future__ import annotations

import os
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Literal, Union

from . import _native
from ._errors import InvalidArgument, require_word
from ._options import NormalizeOptions
from ._validity import Rules, rules_of

RegionDetail = Literal["full", "brief"]
Detail = Literal[RegionDetail, "values"]
Engine = Literal["auto", "cpu", "cuda"]
OnDamaged = Literal["error", "accept"]
ApplyTo = Literal["all", "valid"]
Range = tuple[float, float]
if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Unpack

    Bins = Union[int, Literal["full"], Sequence[float], npt.NDArray[Union[np.integer[Any], np.floating[Any]]]]


def bins_of(bins: Any, range: Range | None) -> tuple[int, Range | None]:
    """Number and range of bins in the form of the native module: 0 means one bin per value."""
    if not isinstance(bins, (int, str)) and hasattr(bins, "__len__"):
        if range is not None:
            raise InvalidArgument("range: bins= has edges, which are the range too")
        return _bins_between(bins)
    if range is not None:
        lower, upper = range
        range = float(lower), float(upper)
    if isinstance(bins, str) and bins == "full":
        return 0, range
    if isinstance(bins, str) or not hasattr(bins, "__index__") or not 1 <= index(bins) <= 1 << 24:
        raise InvalidArgument(f"bins: {bins!r} is neither a number from 1 to 2**24, nor edges, nor 'full'")
    return index(bins), range


def _bins_between(given: Any) -> tuple[int, Range]:
    """Number and range of equal bins with these edges."""
    import numpy as np

    as_given = np.asarray(given)
    edges = as_given.astype(np.float64)
    if edges.ndim != 1 or len(edges) < 2 or len(edges) > (1 << 24) + 1 or not np.isfinite(edges).all():
        raise InvalidArgument("bins: edges are a list of two or more finite numbers")
    lower, upper = float(edges[0]), float(edges[-1])
    width = (upper - lower) / (len(edges) - 1)
    # numpy rounds edges to the type of the samples.
    rounding = 2 * np.spacing(np.abs(as_given).max()) if as_given.dtype.kind == "f" else 0
    if width <= 0 or np.abs(edges - np.linspace(lower, upper, len(edges))).max() > 1e-9 * width + rounding:
        raise InvalidArgument(
            "bins: edges must ascend in equal steps: numpy.histogram(values, edges, weights=result.counts(channel)) "
            "counts in others"
        )
    return len(edges) - 1, (lower, upper)


def percents_of(percentile_columns: Sequence[float] | None) -> list[float] | None:
    return None if percentile_columns is None else [float(one) for one in percentile_columns]


def sigma_of(robust: bool, clip_sigma: float) -> float | None:
    """Width of sigma clipping if robust numbers are asked for."""
    if not 0 < clip_sigma < float("inf"):
        raise InvalidArgument(f"clip_sigma: {clip_sigma!r} is not over 0")
    return float(clip_sigma) if robust else None


def threads_of(threads: int) -> int:
    """Number of threads in the form of the native module, where 0 means as many as the process may run on."""
    usual = os.environ.get("GPUHIST_THREADS")
    name, given = ("GPUHIST_THREADS", usual) if threads == 0 and usual else ("threads", str(threads))
    if given == "0" and threads == 0 and not usual:
        return 0
    if not given.isdecimal() or not 1 <= int(given) <= 4096:
        raise InvalidArgument(f"{name}: {given!r} is not a number from 1 to 4096")
    return int(given)


def asked_of(
    bins: Bins = 256,
    range: Range | None = None,
    percentile_columns: Sequence[float] | None = None,
    detail: str = "full",
    white: float | None = None,
    *,
    measures: str | Sequence[str] = (),
    quality_scale: int | None = None,
    robust: bool = False,
    clip_sigma: float = 3,
    engine: str,
    gpu: int,
    threads: int = 0,
    rules: Rules,
    space: str | None = None,
) -> _native.Asked:
    require_word("engine", engine, Engine)
    if white is not None and not 0 < white < float("inf"):
        raise InvalidArgument(f"white: {white!r} is not over 0")
    if quality_scale is not None and not 3 <= quality_scale < 2**31:
        raise InvalidArgument(f"quality_scale: {quality_scale!r} is not from 3 to {2**31 - 1}")
    sigma_of(robust, clip_sigma)
    number, interval = bins_of(bins, range)
    return _native.Asked(
        bins=number,
        range=interval,
        percentiles=percents_of(percentile_columns),
        detail=detail,
        white=None if white is None else float(white),
        engine=engine,
        gpu=gpu,
        threads=threads_of(threads),
        nodata=rules.nodata,
        nodata_of_file=rules.nodata_of_file,
        masks_of_file=rules.masks_of_file,
        valid=rules.valid,
        nodata_any=rules.nodata_any,
        alpha=rules.alpha,
        measures=[measures] if isinstance(measures, str) else list(measures),
        quality_scale=quality_scale or 0,
        robust=robust,
        clip_sigma=float(clip_sigma),
        space=space,
    )


def normalization_of(
    mode: str,
    apply_to: str,
    channels: str = "joint",
    depth: str | None = None,
    fill: float | None = None,
    order: str = "RGB",
    **parameters: Unpack[NormalizeOptions],
) -> _native.Normalization:
    require_word("apply_to", apply_to, ApplyTo)
    numbers: dict[str, tuple[float, float]] = {}
    words: dict[str, str] = {}
    known = _native.normalize_keywords(mode)
    for name, value in parameters.items():
        if name not in known:
            if name in NormalizeOptions.__annotations__:
                raise InvalidArgument(f"{name}: the mode {mode} has no such parameter")
            raise TypeError(f"normalize() got an unexpected keyword argument {name!r}")
        if name in ("stretch", "interval", "threshold", "clip_bins"):
            words[name] = str(value)
        elif name != "reference":
            pair: Any = value if _native.is_pair(name) else (value, value)
            numbers[name] = float(pair[0]), float(pair[1])
    for needed in ("gamma",) if mode == "gamma" else ("levels",) if mode == "levels" else ():
        if needed not in parameters:
            raise InvalidArgument(f"the mode {mode} needs {needed}")
    reference = parameters.get("reference")
    return _native.Normalization(
        mode=mode,
        channels=channels,
        depth=depth,
        valid_only=apply_to == "valid",
        fill=None if fill is None else float(fill),
        parameters=numbers,
        words=words,
        reference=None if reference is None else _reference_of(reference, order),
    )


def _reference_of(image: Any, order: str) -> _native.Reference:
    """Histogram of an array on the host, or of a file."""
    from ._source import source_of

    rules = rules_of(None, None, False, "row")
    source = source_of(image, None, order, None, None, "error", rules=rules)
    if source.gpu is not None:
        raise InvalidArgument("reference: the array is on a GPU; copy it to the host")
    seen = source.masked(None)
    return _native.Reference(seen.view, asked_of(engine="cpu", gpu=0, rules=rules), source.picture)


def refuse_cpu(engine: str) -> None:
    """Refuses the CPU engine, which cannot read an array on a GPU."""
    if engine == "cpu":
        raise InvalidArgument("engine cpu: the array is on a GPU; copy it to the host, or leave the engine out")
