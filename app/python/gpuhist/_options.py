"""Options of functions that hand them on to measure() or to measure_many(), for type checkers: a misspelled option, or
one of another type, is an error there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from ._arrays import Layout, Order
    from ._native import Alpha, ColorSpace
    from ._request import Bins, Detail, Engine, OnDamaged, Range
    from ._validity import Nodata, Valid


class _Options(TypedDict, total=False):
    nodata: Nodata | None
    valid: Valid | None
    nodata_any: bool
    alpha: Alpha
    space: ColorSpace | None
    white: float | None
    percentile_columns: Sequence[float] | None
    detail: Detail
    measures: str | Sequence[str]
    quality_scale: int | None
    robust: bool
    clip_sigma: float
    engine: Engine
    gpu: int
    threads: int
    max_pixels: int | None
    on_damaged: OnDamaged


class ImageOptions(_Options, total=False):
    """Options of measure() but bins and range."""

    layout: Layout | None
    order: Order
    mask: Any
    stream: Any
    page: int | None


class NormalizeOptions(TypedDict, total=False):
    """Parameters of the modes of normalize()."""

    percentiles: tuple[float, float]
    gamma: float
    levels: tuple[float, float]
    stretch: str
    interval: str
    threshold: str | float
    clip_limit: float
    clip_bins: Literal["all", "white"]
    tiles: tuple[int, int]
    reference: Any


class SetOptions(_Options, total=False):
    """Options of measure_many() but progress."""

    recursive: bool
    follow_links: bool
    include: Sequence[str]
    exclude: Sequence[str]
    pages: Literal["all"] | None
    mask: str | os.PathLike[str] | None
    labels: str | os.PathLike[str] | None
    label_zero: bool
    bins: Bins
    range: Range | None
    memory: int
