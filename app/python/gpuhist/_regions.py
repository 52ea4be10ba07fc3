"""Regions: the results for the pixels of each label of a label image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._arrays import ALL_DEPTHS, Layout, Order
from ._errors import InvalidArgument, require_word
from ._request import OnDamaged, Range, RegionDetail, asked_of
from ._result import Result, html_table
from ._source import source_of, warn_of_pages
from ._validity import rules_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from ._native import Alpha, ColorSpace
    from ._request import Bins
    from ._validity import Nodata, Valid


class Box(NamedTuple):
    """Rectangle of pixels. x goes to the right and y down, from the upper left pixel at (0, 0)."""

    x: int
    y: int
    width: int
    height: int


class Region(Result):
    """Result for the pixels of one label, as if they were an image of their own. Its width and height are those of its
    box."""

    __slots__ = ("_label", "_box", "_area", "_centroid")

    _label: int
    _box: Box
    _area: int
    _centroid: tuple[float, float]

    def __init__(
        self, native: _native.Measurement, path: str, label: int, box: Box, area: int, centroid: tuple[float, float]
    ) -> None:
        super().__init__(native, path)
        set_ = object.__setattr__
        set_(self, "_label", label)
        set_(self, "_box", box)
        set_(self, "_area", area)
        set_(self, "_centroid", centroid)

    @property
    def label(self) -> int:
        """Value of the region's pixels in the label image."""
        return self._label

    @property
    def box(self) -> Box:
        """Smallest rectangle that holds all pixels of the region: x, y, width and height in pixels."""
        return self._box

    @property
    def area(self) -> int:
        """Number of pixels in the region, including excluded ones."""
        return self._area

    @property
    def centroid(self) -> tuple[float, float]:
        """Mean x and y of these pixels. Statistics has ``weighted_centroid_x`` and ``weighted_centroid_y``."""
        return self._centroid

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Region):
            return NotImplemented
        same = (self._label, self._box, self._area) == (other._label, other._box, other._area)
        return same and self._centroid == other._centroid and super().__eq__(other)

    def __hash__(self) -> int:
        return hash((self._label, super().__hash__()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Region, (self._measurement, self._path, self._label, self._box, self._area, self._centroid)

    def __repr__(self) -> str:
        return f"<gpuhist.Region {self._label} of {self._area} pixels in {tuple(self._box)}: {', '.join(self._names)}>"


class Regions(Mapping[int, Region]):
    """Regions of an image: a mapping of labels, in ascending order, to the results for their pixels. It does not
    change."""

    __slots__ = ("_native", "_path", "_labels")

    def __init__(self, native: _native.Regions, path: str = "") -> None:
        self._native = native
        self._path = path
        self._labels = native.labels()
        self._labels.flags.writeable = False

    @property
    def labels(self) -> npt.NDArray[np.uint64]:
        """Labels that occur, in ascending order, uint64[regions]."""
        return self._labels

    def __getitem__(self, label: int) -> Region:
        labels, wanted = self._labels, index(label) if hasattr(label, "__index__") else -1
        place = int(labels.searchsorted(wanted)) if 0 <= wanted < 1 << 32 else len(labels)
        if place == len(labels) or labels[place] != wanted:
            raise KeyError(f"no pixel has label {label!r}")
        native = self._native
        box, centroid = Box(*native.box(place)), native.centroid(place)
        return Region(native.measurement(place), self._path, wanted, box, native.area(place), centroid)

    def __iter__(self) -> Iterator[int]:
        return iter(self._labels.tolist())

    def __len__(self) -> int:
        return len(self._labels)

    def __reduce__(self) -> tuple[Any, ...]:
        return Regions, (self._native, self._path)

    def __repr__(self) -> str:
        return f"<gpuhist.Regions: {len(self)}>"

    def to_dict(self) -> dict[int, dict[str, dict[str, int | float | str | None]]]:
        """Numbers by label, by channel and by the name of their column."""
        return {label: region.to_dict() for label, region in self.items()}

    def to_pandas(self, *, wide: bool = False) -> pd.DataFrame:
        """A pandas.DataFrame with one row per region and channel. It has the columns of the command's regions.csv
        without the path; ``region`` is the label as a number.

        With wide=True, it has one row per region, as skimage's regionprops_table: ``label``, the box, the area and the
        centroid, and the numbers of each channel, such as ``red_mean``. Without weights, there are no columns of
        weights. ``pixel_width``, ``pixel_height`` and ``pixel_unit`` are there if the file has a size of pixels.
        """
        import pandas as pd

        rows = self._native.table()
        names = [name for name, _, _ in _native.columns(self._native.percentiles, "regions", self._native.clip_sigma)]
        frame = pd.DataFrame.from_records(rows, columns=names).drop(columns="path")
        frame["region"] = frame["region"].astype("uint64")
        if not wide:
            return frame
        place = _PLACE + (_PIXEL_SIZE if frame["pixel_width"].notna().any() else [])
        facts = [*_PLACE, *_PIXEL_SIZE, "region", "channel", "depth", "pixels", "white", "alpha", "damage", "pages"]
        left_out = [] if frame["weight"].notna().any() else ["weight", *(name for name in names if name[:2] == "wp")]
        numbers = [name for name in frame.columns if name not in facts and name not in left_out]
        parts = [frame.groupby("region", sort=False)[place].first()]
        for channel, part in frame.groupby("channel", sort=False):
            parts.append(part.set_index("region")[numbers].add_prefix(f"{channel}_"))
        return pd.concat(parts, axis=1).rename_axis("label").reset_index()

    def _repr_html_(self) -> str:
        """The first regions, with the means of their channels."""
        shown = list(self)[:_SHOWN_REGIONS]
        channels = list(self[shown[0]]) if shown else []
        rows = [
            [str(one.label), one.area, *one.box, *(one[channel].mean for channel in channels)]
            for one in (self[label] for label in shown)
        ]
        heads = ["label", "area", "x", "y", "width", "height", *(f"mean of {channel}" for channel in channels)]
        more = f"<p>and {len(self) - len(shown):,} more</p>" if len(self) > len(shown) else ""
        return f"<div><p>{len(self):,} regions</p>{html_table(heads, rows)}{more}</div>"


_PLACE = ["x", "y", "width", "height", "area", "centroid_x", "centroid_y"]
_PIXEL_SIZE = ["pixel_width", "pixel_height", "pixel_unit"]
_SHOWN_REGIONS = 20


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
    space: ColorSpace | None = None,
    layout: Layout | None = None,
    order: Order = "RGB",
    white: float | None = None,
    bins: Bins = 256,
    range: Range | None = None,
    percentile_columns: Sequence[float] | None = None,
    detail: RegionDetail = "full",
    robust: bool = False,
    clip_sigma: float = 3,
    threads: int = 0,
    page: int | None = None,
    max_pixels: int | None = None,
    on_damaged: OnDamaged = "error",
) -> Regions:
    """Measures the pixels of each label exactly. The numbers are those of an image with only these pixels.

    image
        A path, the bytes of a file, or an array on the host, as in measure().
    labels
        Array of the shape (height, width) with one label per pixel: integers from 0 to 4294967295. If the image is a
        path, the labels can be the path of a label image, which is read as it is stored.
    label_zero
        If true, the pixels of label 0 are a region too. Otherwise they are outside of all regions.

    Other arguments are as in measure(), without detail="values". The CPU measures regions, on all threads. The result has
    the regions in ascending order of their labels. Each has label, box (x, y, width, height) and area, and the
    statistics of measure().

    Raises InvalidArgument (a ValueError) for labels of another shape or type and for negative labels, and the
    exceptions of measure().
    """
    rules = rules_of(nodata, valid, nodata_any, alpha)
    require_word("detail", detail, RegionDetail)
    asked = asked_of(
        bins, range, percentile_columns, detail, white, robust=robust, clip_sigma=clip_sigma, engine="cpu", gpu=0,
        threads=threads, rules=rules, space=space,
    )
    source = source_of(image, layout, order, page, max_pixels, on_damaged, depths=ALL_DEPTHS, rules=rules)
    if source.gpu is not None:
        raise InvalidArgument(
            "regions: of arrays on the host: RegionAnalyzer measures those on a GPU, or copy it, as x.cpu() (torch) or "
            "cupy.asnumpy(x) does"
        )
    over = source.labeled(labels, max_pixels)
    seen = source.masked(mask, max_pixels)
    warn_of_pages(source.picture, page)
    return Regions(_native.Regions(seen.view, over.view, label_zero, asked, source.picture), source.path)
