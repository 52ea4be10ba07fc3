"""gpuhist measures images: exact histograms and statistics, and normalized copies, on a GPU or on the CPU.

>>> import gpuhist as gh
>>> r = gh.measure("photo.jpg")
>>> r["red"].mean, r.luma.std, r.percentile("luma", 99.9), r.counts("red")

In a shell, ``gpuhist columns`` lists every number with its definition. The docstrings of Statistics have the same
texts.
"""

from __future__ import annotations

import os as _os
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from . import _native
from ._color_space import convert_colors
from ._errors import (
    CudaError,
    EngineUnavailable,
    Error,
    InvalidArgument,
    IoError,
    MissingError,
    NotPermittedError,
    OutOfMemory,
    UnsupportedDepth,
)
from ._flags import Flag, flags
from ._gpu import Analyzer, RegionAnalyzer
from ._joint import Joint, joint
from ._lut import Lut
from ._measure import histogram, measure, measure_batch
from ._native import Statistics
from ._normalize import normalize
from ._parquet import to_parquet
from ._read import read, write
from ._regions import Box, Region, Regions, regions
from ._result import Histogram, PixelSize, Result
from ._sets import Batches, Results, batches, measure_many, table
from ._summary import Summary

if _TYPE_CHECKING:
    from ._pixels import Pixels

__version__: str = _native.version
__all__ = [
    "Analyzer",
    "Batches",
    "Box",
    "CudaError",
    "EngineUnavailable",
    "Error",
    "Flag",
    "Histogram",
    "InvalidArgument",
    "IoError",
    "Joint",
    "Lut",
    "MissingError",
    "NotPermittedError",
    "OutOfMemory",
    "PixelSize",
    "Pixels",
    "Region",
    "RegionAnalyzer",
    "Regions",
    "Result",
    "Results",
    "Statistics",
    "Summary",
    "UnsupportedDepth",
    "batches",
    "convert_colors",
    "engines",
    "flags",
    "histogram",
    "joint",
    "measure",
    "measure_batch",
    "measure_many",
    "normalize",
    "read",
    "regions",
    "table",
    "to_parquet",
    "write",
]

# Threads do not survive a fork: work halts for it, and engines make new ones.
_os.register_at_fork(
    before=_native.before_fork,
    after_in_parent=lambda: _native.after_fork(child=False),
    after_in_child=lambda: _native.after_fork(child=True),
)


def engines() -> dict[str, tuple[bool, str]]:
    """Engines by name, the best one first: whether each can run here, and its device or the reason why it can't."""
    return {name: (available, description) for name, available, description in _native.engines()}


def __getattr__(name: str) -> _Any:
    if name == "Pixels":  # numpy is imported when it is needed
        from ._pixels import Pixels

        return Pixels
    raise AttributeError(f"module 'gpuhist' has no attribute '{name}'")
