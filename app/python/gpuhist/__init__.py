"""gpuhist measures images: exact histograms, statistics and normalized copies, on a GPU or the CPU.

>>> import gpuhist as gh
>>> r = gh.measure("photo.jpg")
>>> r["red"].mean, r.luma.std, r.percentile("luma", 99.9), r.counts("red")

``gpuhist columns`` of a shell lists every number with its definition; so do the docstrings of Statistics.
"""

from __future__ import annotations

import os as _os

from . import _native
from ._errors import CudaError, EngineUnavailable, Error, InvalidArgument, IoError, OutOfMemory, UnsupportedDepth
from ._gpu import Analyzer, RegionAnalyzer
from ._measure import histogram, measure, measure_many, table
from ._native import Statistics
from ._normalize import normalize
from ._regions import Box, Region, Regions, regions
from ._result import Histogram, Result
from ._summary import Summary

__version__: str = _native.version
__all__ = [
    "Analyzer",
    "Box",
    "CudaError",
    "EngineUnavailable",
    "Error",
    "Histogram",
    "InvalidArgument",
    "IoError",
    "OutOfMemory",
    "Region",
    "RegionAnalyzer",
    "Regions",
    "Result",
    "Statistics",
    "Summary",
    "UnsupportedDepth",
    "engines",
    "histogram",
    "measure",
    "measure_many",
    "normalize",
    "regions",
    "table",
]

# Threads do not survive a fork: work halts for it, and engines make new ones.
_os.register_at_fork(
    before=_native.before_fork,
    after_in_parent=lambda: _native.after_fork(child=False),
    after_in_child=lambda: _native.after_fork(child=True),
)


def engines() -> dict[str, tuple[bool, str]]:
    """Engines, best first: whether each can run here, and what on, or why not."""
    return {name: (available, description) for name, available, description in _native.engines()}
