"""Summaries: many images as if their pixels were one image's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import _native
from ._errors import InvalidArgument
from ._native import Statistics
from ._request import Range, bins_of, percents_of, range_of
from ._result import Histogram, Result, histogram_from

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd


class Summary:
    """Sums of images, exact: adding in any order and grouping gives equal summaries.

    ``s += r`` adds a Result, or all of another Summary; a failed input is a no-op that ``failures`` counts. It
    pickles, so that processes and machines can each make one. Images of several depths are kept apart. Of f32 images
    percentiles are there only where all came with detail="values".
    """

    __slots__ = ("_native", "failures")

    def __init__(self) -> None:
        self._native = _native.Summary()
        self.failures: dict[str, int] = {}
        """Failed inputs that were added, by kind."""

    def __iadd__(self, other: Result | Summary) -> Summary:
        if isinstance(other, Summary):
            self._native.merge(other._native)
            for kind, count in other.failures.items():
                self.failures[kind] = self.failures.get(kind, 0) + count
        elif isinstance(other, Result):
            if other.error is not None:
                self.failures[other.error.kind] = self.failures.get(other.error.kind, 0) + 1
            else:
                self._native.add(other._found)
        else:
            return NotImplemented
        return self

    def __add__(self, other: Result | Summary) -> Summary:
        if not isinstance(other, (Result, Summary)):
            return NotImplemented
        sum_ = Summary()
        sum_ += self
        sum_ += other
        return sum_

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Summary):
            return NotImplemented
        return self._native.equals(other._native) and self.failures == other.failures

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> tuple[str, dict[str, int]]:
        return self._native.text(), self.failures

    def __setstate__(self, state: tuple[str, dict[str, int]]) -> None:
        self._native = _native.Summary()
        self._native.set_text(state[0])
        self.failures = dict(state[1])

    def __repr__(self) -> str:
        return f"<gpuhist.Summary of {', '.join(self.depths) or 'nothing'}>"

    @property
    def depths(self) -> list[str]:
        """Sample types of the images."""
        return self._native.depths()

    def statistics(
        self, depth: str | None = None, *, percentile_columns: Sequence[float] | None = None
    ) -> dict[str, Statistics]:
        """Statistics of each channel of the images of one depth, which may be left out where there is one.

        ``images`` of each says how many images have the channel.
        """
        depth = self._depth(depth)
        rows = self._native.rows(percents_of(percentile_columns))
        return {row.channel: row for of, row in rows if of == depth}

    def histogram(self, bins: int | str = 256, range: Range | None = None, *, depth: str | None = None) -> Histogram:
        """Histogram of the images of one depth, as of one image; see Result.histogram.

        Any bins where all f32 images came with detail="values"; else those in which all were measured over one range.
        """
        return histogram_from(self._native.histogram(self._depth(depth), bins_of(bins), range_of(range)))

    def mean_std(self, depth: str | None = None) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Mean and standard deviation, float64[3] each, red, green, blue, on the scale from 0 to 1, as training code
        takes them. Gray images count as R = G = B.

        ValueError where the images have several values that stand for white, where there are neither colors nor gray
        images, and where images of several depths were added and none is named.
        """
        import numpy as np

        depth = self._depth(depth)
        if self._native.white(depth) is None:
            raise InvalidArgument(
                f"mean_std: several values stand for white in the {depth} images, so that there is no scale from 0 to 1: "
                "measure them with white="
            )
        numbers = self._native.training(depth)
        if numbers is None:
            raise InvalidArgument(f"mean_std: the {depth} images have bands alone, neither colors nor gray")
        mean, std = (np.array([np.nan if one is None else one for one in list_]) for list_ in numbers)
        return mean, std

    def to_pandas(self, *, percentile_columns: Sequence[float] | None = None) -> pd.DataFrame:
        """A pandas.DataFrame with the columns of the command's dataset.csv: one row per depth and channel."""
        import pandas as pd

        percentiles = percents_of(percentile_columns)
        names = [name for name, _, _ in _native.columns(percentiles, "dataset")]
        return pd.DataFrame.from_records(self._native.table(percentiles), columns=names)

    def _depth(self, depth: str | None) -> str:
        depths = self.depths
        if depth is None and len(depths) == 1:
            return depths[0]
        if depth is None or depth not in depths:
            there = f"images of {', '.join(depths)}" if depths else "no image"
            raise InvalidArgument(f"depth: {depth!r}, and the summary has {there}")
        return depth
