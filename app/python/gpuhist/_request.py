"""Requests for a measurement and for a normalized copy, in the form of the native module."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal

from . import _native
from ._errors import InvalidArgument, require_word
from ._validity import Rules

RegionDetail = Literal["full", "brief"]
Detail = Literal[RegionDetail, "values"]
Engine = Literal["auto", "cpu", "cuda"]
OnDamaged = Literal["error", "accept"]
ApplyTo = Literal["all", "valid"]
Range = tuple[float, float]


def bins_of(bins: int | str) -> int:
    """Number of bins in the form of the native module: 0 means one bin per value."""
    if bins == "full":
        return 0
    if isinstance(bins, str) or not 1 <= bins <= 1 << 24:
        raise InvalidArgument(f"bins: {bins!r} is neither a number from 1 to 2**24 nor 'full'")
    return int(bins)


def range_of(range: Range | None) -> Range | None:
    if range is None:
        return None
    lower, upper = range
    return float(lower), float(upper)


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
    bins: int | str = 256,
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
) -> _native.Asked:
    require_word("engine", engine, Engine)
    if white is not None and not 0 < white < float("inf"):
        raise InvalidArgument(f"white: {white!r} is not over 0")
    if quality_scale is not None and not 3 <= quality_scale < 2**31:
        raise InvalidArgument(f"quality_scale: {quality_scale!r} is not from 3 to {2**31 - 1}")
    sigma_of(robust, clip_sigma)
    return _native.Asked(
        bins=bins_of(bins),
        range=range_of(range),
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
    )


def normalization_of(
    mode: str,
    apply_to: str,
    channels: str = "joint",
    depth: str | None = None,
    fill: float | None = None,
    **parameters: Any,
) -> _native.Normalization:
    require_word("apply_to", apply_to, ApplyTo)
    numbers = {}
    for name, value in parameters.items():
        first, second = value if _native.is_pair(name) else (value, value)
        numbers[name] = float(first), float(second)
    return _native.Normalization(
        mode=mode,
        channels=channels,
        depth=depth,
        valid_only=apply_to == "valid",
        fill=None if fill is None else float(fill),
        parameters=numbers,
    )


def refuse_cpu(engine: str) -> None:
    """Refuses the CPU engine, which cannot read an array on a GPU."""
    if engine == "cpu":
        raise InvalidArgument("engine cpu: the array is on a GPU; copy it to the host, or leave the engine out")
