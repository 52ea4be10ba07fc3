"""Summaries: many images, as if all their pixels were one image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from . import _native
from ._errors import InvalidArgument
from ._native import Statistics
from ._request import Range, bins_of, percents_of, sigma_of
from ._result import SHOWN, Histogram, Result, histogram_from, html_table

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from ._request import Bins


class Summary:
    """Exact sums over images. The order and the grouping in which you add images do not matter.

    ``Summary(results)`` adds all Results and Summaries of an iterable, such as measure_many(). ``s += r`` adds a Result, or another Summary as a whole. A failed input adds nothing, and ``failures`` counts it.
    You can pickle summaries, so processes and machines can each make one. Images of different depths are kept apart.
    f32 images have percentiles only if all of them were measured with detail="values".
    """

    __slots__ = ("_native", "failures")

    def __init__(self, images: Iterable[Result | Summary] = ()) -> None:
        self._native = _native.Summary()
        self.failures: dict[str, int] = {}
        """Number of failed inputs that were added, by kind."""
        if isinstance(images, (Result, Summary)):
            raise InvalidArgument(f"images: a single {type(images).__name__}: give a list of it")
        for image in images:
            if not isinstance(image, (Result, Summary)):
                raise InvalidArgument(f"images: a {type(image).__name__}, but summaries add results of measure()")
            self += image

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
        self,
        depth: str | None = None,
        *,
        percentile_columns: Sequence[float] | None = None,
        robust: bool = False,
        clip_sigma: float = 3,
    ) -> dict[str, Statistics]:
        """Statistics of each channel of the images of one depth. You can leave out the depth if there is only one.

        ``images`` of Statistics is the number of images that have the channel.
        """
        depth = self._depth(depth)
        rows = self._native.rows(percents_of(percentile_columns), sigma_of(robust, clip_sigma))
        return {row.channel: row for of, row in rows if of == depth}

    def histogram(self, bins: Bins = 256, range: Range | None = None, *, depth: str | None = None) -> Histogram:
        """Histogram of the images of one depth, as of one image; see Result.histogram.

        For f32 images, bins can be any number if all images were measured with detail="values". Otherwise, there are
        only the bins and the range in which all of them were measured.
        """
        return histogram_from(self._native.histogram(self._depth(depth), *bins_of(bins, range)))

    def mean_std(self, depth: str | None = None) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Mean and standard deviation of red, green and blue, float64[3] each, on the scale from 0 to 1, as training
        code expects them. A gray image is treated as R = G = B.

        Raises ValueError if the images have different values for white, if there are neither colors nor gray images,
        and if there are images of several depths but no depth is named.
        """
        import numpy as np

        depth = self._depth(depth)
        if self._native.white(depth) is None:
            raise InvalidArgument(
                f"mean_std: the {depth} images have different values for white, so there is no scale from 0 to 1: "
                "measure them with white="
            )
        numbers = self._native.training(depth)
        if numbers is None:
            raise InvalidArgument(f"mean_std: the {depth} images have only bands, neither colors nor gray")
        mean, std = (np.array([np.nan if one is None else one for one in list_]) for list_ in numbers)
        return mean, std

    def measures(self, depth: str | None = None) -> dict[str, dict[str, int | float]]:
        """Numbers of the images of one depth in each column of their measures: ``images`` that have one, ``mean``,
        ``min`` and ``max``. You can leave out the depth if there is only one."""
        return self._native.measures(self._depth(depth))

    def to_pandas(
        self, *, percentile_columns: Sequence[float] | None = None, robust: bool = False, clip_sigma: float = 3
    ) -> pd.DataFrame:
        """A pandas.DataFrame with one row per depth and channel, and the columns of the command's dataset.csv."""
        import pandas as pd

        percentiles = percents_of(percentile_columns)
        sigma = sigma_of(robust, clip_sigma)
        names = [name for name, _, _ in _native.columns(percentiles, "dataset", sigma)]
        return pd.DataFrame.from_records(self._native.table(percentiles, sigma), columns=names)

    def _repr_html_(self) -> str:
        rows = [
            [f"{depth} {name}", found.images, *(found.to_dict().get(column) for column in SHOWN)]
            for depth in self.depths
            for name, found in self.statistics(depth).items()
        ]
        failed = "".join(f"<p>{count} failed: {escape(kind)}</p>" for kind, count in self.failures.items())
        return f"<div>{html_table(['channel', 'images', *SHOWN], rows)}{failed}</div>"

    def _depth(self, depth: str | None) -> str:
        depths = self.depths
        if depth is None and len(depths) == 1:
            return depths[0]
        if depth is None or depth not in depths:
            there = f"images of {', '.join(depths)}" if depths else "no image"
            raise InvalidArgument(f"depth: {depth!r}, but the summary has {there}")
        return depth
