"""What is asked for: of a measurement, and of a normalized copy, as the native module takes it."""

from __future__ import annotations

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
    """Bins as the native module takes them: 0 is one per value."""
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


def asked_of(
    bins: int | str = 256,
    range: Range | None = None,
    percentile_columns: Sequence[float] | None = None,
    detail: str = "full",
    white: float | None = None,
    *,
    measures: str | Sequence[str] = (),
    engine: str,
    gpu: int,
    rules: Rules,
) -> _native.Asked:
    require_word("engine", engine, Engine)
    if white is not None and not 0 < white < float("inf"):
        raise InvalidArgument(f"white: {white!r} is not over 0")
    return _native.Asked(
        bins=bins_of(bins),
        range=range_of(range),
        percentiles=percents_of(percentile_columns),
        detail=detail,
        white=None if white is None else float(white),
        engine=engine,
        gpu=gpu,
        nodata=rules.nodata,
        nodata_of_file=rules.nodata_of_file,
        valid=rules.valid,
        nodata_any=rules.nodata_any,
        alpha=rules.alpha,
        measures=[measures] if isinstance(measures, str) else list(measures),
    )


def normalization_of(
    mode: str,
    apply_to: str,
    channels: str = "joint",
    depth: str | None = None,
    **parameters: Any,
) -> _native.Normalization:
    require_word("apply_to", apply_to, ApplyTo)
    numbers = {}
    for name, value in parameters.items():
        first, second = value if _native.is_pair(name) else (value, value)
        numbers[name] = float(first), float(second)
    return _native.Normalization(
        mode=mode, channels=channels, depth=depth, valid_only=apply_to == "valid", parameters=numbers
    )


def refuse_cpu(engine: str) -> None:
    """Refuses the engine that does not reach an array on a GPU."""
    if engine == "cpu":
        raise InvalidArgument("engine cpu: the array is on a GPU; copy it to the host, or leave the engine out")
