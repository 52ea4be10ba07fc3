"""Regions: what was found in the pixels of each label of a label image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._arrays import ALL_DEPTHS, Layout, Order
from ._errors import InvalidArgument, require_word
from ._request import OnDamaged, Range, RegionDetail, asked_of
from ._result import Result
from ._source import source_of, warn_of_pages
from ._validity import rules_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from ._native import Alpha
    from ._validity import Nodata, Valid


class Box(NamedTuple):
    """Rectangle of pixels, x to the right and y down from the upper left pixel, (0, 0)."""

    x: int
    y: int
    width: int
    height: int


class Region(Result):
    """What was found in the pixels of one label: a Result, as of an image that is these pixels. Its width and height
    are those of its box."""

    __slots__ = ("_label", "_box", "_area")

    _label: int
    _box: Box
    _area: int

    def __init__(self, native: _native.Measurement, path: str, label: int, box: Box, area: int) -> None:
        super().__init__(native, path)
        set_ = object.__setattr__
        set_(self, "_label", label)
        set_(self, "_box", box)
        set_(self, "_area", area)

    @property
    def label(self) -> int:
        """Value of the region's pixels in the label image."""
        return self._label

    @property
    def box(self) -> Box:
        """Smallest rectangle, in pixels, that holds all pixels of the region: x, y, width, height."""
        return self._box

    @property
    def area(self) -> int:
        """Pixels of the region, excluded ones included."""
        return self._area

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Region):
            return NotImplemented
        same = (self._label, self._box, self._area) == (other._label, other._box, other._area)
        return same and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self._label, super().__hash__()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Region, (self._measurement, self._path, self._label, self._box, self._area)

    def __repr__(self) -> str:
        return f"<gpuhist.Region {self._label} of {self._area} pixels in {tuple(self._box)}: {', '.join(self._names)}>"


class Regions(Mapping[int, Region]):
    """Regions of an image: a mapping of labels, ascending, to what was found in their pixels. It does not change."""

    __slots__ = ("_native", "_path", "_labels")

    def __init__(self, native: _native.Regions, path: str = "") -> None:
        self._native = native
        self._path = path
        self._labels = native.labels()
        self._labels.flags.writeable = False

    @property
    def labels(self) -> npt.NDArray[np.uint64]:
        """Labels that occur, uint64[regions], ascending."""
        return self._labels

    def __getitem__(self, label: int) -> Region:
        labels, wanted = self._labels, index(label) if hasattr(label, "__index__") else -1
        place = int(labels.searchsorted(wanted)) if 0 <= wanted < 1 << 32 else len(labels)
        if place == len(labels) or labels[place] != wanted:
            raise KeyError(f"no pixel has label {label!r}")
        native = self._native
        return Region(native.measurement(place), self._path, wanted, Box(*native.box(place)), native.area(place))

    def __iter__(self) -> Iterator[int]:
        return iter(self._labels.tolist())

    def __len__(self) -> int:
        return len(self._labels)

    def __reduce__(self) -> tuple[Any, ...]:
        return Regions, (self._native, self._path)

    def __repr__(self) -> str:
        return f"<gpuhist.Regions: {len(self)}>"

    def to_dict(self) -> dict[int, dict[str, dict[str, int | float | str | None]]]:
        """Numbers by label, by channel and by the columns' names."""
        return {label: region.to_dict() for label, region in self.items()}

    def to_pandas(self) -> pd.DataFrame:
        """A pandas.DataFrame: one row per region and channel, with the columns of the command's regions.csv but for the
        path; ``region`` is the label as a number.
        """
        import pandas as pd

        rows = self._native.table()
        names = [name for name, _, _ in _native.columns(self._native.percentiles, "regions")]
        frame = pd.DataFrame.from_records(rows, columns=names).drop(columns="path")
        frame["region"] = frame["region"].astype("uint64")
        return frame


def regions(
    image: Any,
    labels: Any,
    *,
    label_zero: bool = False,
    mask: Any = None,
    nodata: Nodata | None = None,
    valid: Valid | None = None,
    nodata_any: bool = False,
    alpha: Alpha = "row",
    layout: Layout | None = None,
    order: Order = "RGB",
    white: float | None = None,
    bins: int | str = 256,
    range: Range | None = None,
    percentile_columns: Sequence[float] | None = None,
    detail: RegionDetail = "full",
    page: int | None = None,
    max_pixels: int | None = None,
    on_damaged: OnDamaged = "error",
) -> Regions:
    """Measures the pixels of each label, exactly: the numbers are those of an image that is these pixels alone.

    image
        A path, the bytes of a file, or an array on the host, as in measure().
    labels
        Array of shape (height, width) of u8, u16, u32, or s32 that is not negative: one label per pixel. For a path also
        a path: that of a label image, which is read as it is stored.
    label_zero
        Pixels of label 0 are a region too; else they are outside of all.

    Other arguments as in measure(); of f32 there is no detail="values". Runs on all cores of the CPU. The result has
    its regions in ascending order of the labels, each with label, box (x, y, width, height), area, and the statistics
    that measure() gives.

    Raises InvalidArgument (a ValueError) for labels of another shape or type, or negative ones, and as measure().
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    require_word("detail", detail, RegionDetail)
    asked = asked_of(bins, range, percentile_columns, detail, white, engine="cpu", gpu=0, rules=rules)
    source = source_of(image, layout, order, page, max_pixels, on_damaged, depths=ALL_DEPTHS)
    if source.gpu is not None:
        raise InvalidArgument(
            "regions: of arrays on the host: RegionAnalyzer measures those on a GPU, or copy it, as x.cpu() (torch) or "
            "cupy.asnumpy(x) does"
        )
    source.check(rules)
    over = source.labeled(labels, max_pixels)
    seen = source.masked(mask, max_pixels)
    warn_of_pages(source.picture, page)
    return Regions(_native.Regions(seen.view, over.view, label_zero, asked, source.picture), source.path)
