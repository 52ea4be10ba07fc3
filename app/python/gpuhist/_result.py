"""Results of an image: a mapping of channels to statistics, and facts about the image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._errors import InvalidArgument, IoError
from ._native import Statistics
from ._request import Range, bins_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes

    from ._regions import Regions
    from ._request import Bins

    Counts = npt.NDArray[np.uint64] | npt.NDArray[np.floating[Any]]


class Histogram(NamedTuple):
    """Equal bins over [lower, upper). In each channel, bins + below + above + nan + masked + nodata is the number of
    samples. In a measurement weighted by alpha, bins, below and above are sums of alpha."""

    lower: float
    upper: float
    counts: dict[str, Counts]
    """Counts of each channel, uint64[bins], or float64[bins] for weighted f16."""
    below: dict[str, int | float]
    """Number of samples under lower, including -Inf."""
    above: dict[str, int | float]
    """Number of samples at or over upper, including +Inf."""
    nan: dict[str, int]
    masked: dict[str, int]
    """Number of samples in masked pixels."""
    nodata: dict[str, int]
    """Number of samples that nodata or valid excludes."""

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """Edges of the bins, float64[bins + 1]: lower + i (upper - lower) / bins."""
        import numpy as np

        bins = len(next(iter(self.counts.values())))
        edges = self.lower + np.arange(bins + 1) * (self.upper - self.lower) / bins
        edges[-1] = self.upper
        return edges


def histogram_from(
    native: tuple[float, float, float, list[tuple[str, npt.NDArray[np.uint64], int, int, int, int, int]]]
) -> Histogram:
    lower, upper, unit, columns = native
    counts: dict[str, Counts] = {}
    below: dict[str, int | float] = {}
    above: dict[str, int | float] = {}
    nan: dict[str, int] = {}
    masked: dict[str, int] = {}
    nodata: dict[str, int] = {}
    for name, found, under, over, nan[name], masked[name], nodata[name] in columns:
        counts[name] = in_units(found, unit)
        below[name] = under if unit == 1 else under * unit
        above[name] = over if unit == 1 else over * unit
    return Histogram(lower, upper, counts, below, above, nan, masked, nodata)


def in_units(counts: npt.NDArray[np.uint64], unit: float) -> Counts:
    """Counts of samples, or what they weigh."""
    return counts if unit == 1 else counts * unit


SHOWN = ("valid", "min", "max", "mean", "std", "median", "entropy", "unique", "clipped_low", "clipped_high")
"""Numbers in tables of notebooks."""
_PLOT_COLORS = {"red": "tab:red", "green": "tab:green", "blue": "tab:blue", "luma": "black", "gray": "black", "alpha": "tab:gray"}


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Table for notebooks. The first cell of a row is its head."""

    def text(value: object) -> str:
        return "" if value is None else escape(value if isinstance(value, str) else format(value, ".6g"))

    body = ""
    for first, *cells in rows:
        body += f"<tr><th>{text(first)}</th>{''.join(f'<td>{text(cell)}</td>' for cell in cells)}</tr>"
    return f"<table><tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>{body}</table>"


class PixelSize(NamedTuple):
    """Size of a pixel in space, as OME-XML, ImageJ or GeoTIFF give it in a TIFF."""

    width: float
    height: float
    unit: str
    """Unit of both, such as µm, m or degree; empty if the file names none."""


class Result(Mapping[str, Statistics]):
    """Results of one image: a mapping of the names of channels to their Statistics. It does not change.

    The channels are gray; or red, green, blue, luma, all (the colors as one population), and alpha if there is one.
    Bands have the names that the file gives them. Without names, they are c0, c1, ..., or extra1, extra2, ... beside
    colors. ``r["red"].mean`` and ``r.red.mean`` are the same. If the input failed, ``error`` has the reason, and there
    are no channels.
    """

    __slots__ = ("_error", "_names", "_measurement", "_path", "_regions")

    _measurement: _native.Measurement | None
    _names: tuple[str, ...]
    _path: str
    _error: IoError | None
    _regions: Regions | None

    def __init__(
        self,
        native: _native.Measurement | None,
        path: str = "",
        error: IoError | None = None,
        regions: Regions | None = None,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "_measurement", native)
        set_(self, "_names", tuple(native.names) if native is not None else ())
        set_(self, "_path", path)
        set_(self, "_error", error)
        set_(self, "_regions", regions)

    # A mapping.

    def __getitem__(self, channel: str) -> Statistics:
        return self._found.statistics(self._row(channel))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getattr__(self, name: str) -> Statistics:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(f"{type(self).__name__} has no {name!r}: its channels are {', '.join(self._names)}")
        return self[name]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("results do not change")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("results do not change")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Result):
            return NotImplemented
        return (
            self._measurement == other._measurement
            and self._path == other._path
            and str(self._error) == str(other._error)
            and self._regions == other._regions
        )

    def __hash__(self) -> int:
        return hash((self._measurement, self._path, str(self._error)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Result, (self._measurement, self._path, self._error, self._regions)

    def __repr__(self) -> str:
        name = f"{self._path!r}, " if self._path else ""
        if self._error is not None:
            return f"<gpuhist.Result {name}error {self._error.kind}: {self._error}>"
        return f"<gpuhist.Result {name}{self.width} x {self.height} {self.depth}: {', '.join(self._names)}>"

    # Facts.

    @property
    def error(self) -> IoError | None:
        """Reason why the input could not be measured, with its ``kind``; None if it was measured."""
        return self._error

    @property
    def path(self) -> str:
        """Path as it was given; empty for an array."""
        return self._path

    @property
    def width(self) -> int:
        """Pixels in a row."""
        return self._found.width

    @property
    def height(self) -> int:
        """Rows of pixels."""
        return self._found.height

    @property
    def depth(self) -> str:
        """Sample type: u8, s8, u16, s16, u32, s32, f16, f32 or f64."""
        return self._found.depth

    @property
    def white(self) -> float:
        """Value that stands for white: the highest of the type, or 1 for floats, unless the file or the caller says
        otherwise."""
        return self._found.white

    @property
    def alpha_kind(self) -> str | None:
        """Form in which the file stores its alpha: straight or premultiplied; None without alpha."""
        return self._found.alpha or None

    @property
    def damage(self) -> str | None:
        """Damage that on_damaged="accept" accepted: damaged or truncated; None if there is none."""
        return self._found.damage or None

    @property
    def pages(self) -> int:
        """Number of pages in the file."""
        return self._found.pages

    @property
    def pixel_size(self) -> PixelSize | None:
        """Width and height of a pixel in space, and their unit; None if the file doesn't say."""
        size = self._found.pixel_size
        return None if size is None else PixelSize(*size)

    @property
    def regions(self) -> Regions:
        """Regions of the image: of measure_many(..., labels=) only."""
        if self._regions is None:
            assert self._found is not None  # raises the error of a failed input
            raise InvalidArgument("regions: measure_many() was not given labels=; regions() measures those of an image")
        return self._regions

    # Numbers.

    def percentile(self, channel: str, q: float) -> float | None:
        """Percentile q of a channel, with q from 0 to 100, as numpy.percentile computes it; None without a finite
        sample.

        For all depths but f32, q can be any number. f32 only has the percentiles of percentile_columns=, or any q with
        detail="values".
        """
        return self._found.percentile(self._row(channel), float(q))

    def counts(self, channel: str) -> Counts:
        """Number of samples with each value of a channel, uint64[256] or uint64[65536], in ascending order.

        For s8, s16 and f16, the first is that of the lowest value. In a measurement weighted by alpha, they are sums of
        alpha, and float64[65536] for f16. Raises ValueError for wider samples.
        """
        return in_units(self._found.counts(self._row(channel)), self._found.unit)

    def histogram(self, bins: Bins | None = None, range: Range | None = None) -> Histogram:
        """Histogram of equal bins. By default it has the bins and the range of the measurement: 256 bins over the whole
        type, or for floats from the finite minimum to the finite maximum. bins="full" is one bin per value, and bins
        can be edges in equal steps, such as those of numpy.histogram_bin_edges.

        For integers, bounds must be whole numbers. An f32 image only has the bins in which it was measured. Raises
        ValueError for others.
        """
        found = self._found
        number, interval = bins_of(256 if bins is None else bins, range)
        return histogram_from(
            found.histogram(found.bins if bins is None else number, found.range if interval is None else interval)
        )

    @property
    def measures(self) -> dict[str, int | float | str | None]:
        """Values of the requested measures, by column. A value is None if it is undefined: sharpness and noise in an
        image smaller than 3 x 3 pixels, or without a valid neighborhood. Bands have pixels_hash alone."""
        return dict(self._found.measures)

    def to_dict(self) -> dict[str, dict[str, int | float | str | None]]:
        """Numbers by channel and by the name of their column."""
        return {name: self[name].to_dict() for name in self}

    def to_pandas(self) -> pd.DataFrame:
        """A pandas.DataFrame with one row per channel and one column per number."""
        import pandas as pd

        return pd.DataFrame.from_records(list(self.to_dict().values()), index="channel")

    def svg(self, title: str | None = None) -> str:
        """Picture of the histograms as SVG, as the command draws it. By default, the title is the path, the size and the
        depth."""
        if title is None:
            title = f"{self._path or 'array'}  {self.width} × {self.height}  {self.depth}"
        return self._found.svg(title)

    def plot(
        self, ax: Axes | None = None, *, bins: Bins | None = None, range: Range | None = None, log: bool = False
    ) -> Axes:
        """Draws the histograms of the channels on axes of matplotlib, new ones by default, and returns the axes.

        bins and range are those of histogram(). log makes the axis of the counts logarithmic.
        """
        found = self.histogram(bins, range)
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        for name in self:
            if name in found.counts and (name != "all" or len(self) == 1):
                ax.stairs(found.counts[name], found.edges, label=name, color=_PLOT_COLORS.get(name))
        ax.set(xlabel="value", ylabel="samples", title=self._path or None, yscale="log" if log else "linear")
        ax.legend()
        return ax

    def _repr_html_(self) -> str:
        if self._error is not None:
            return f"<p>{escape(self._path)}: {escape(str(self._error))}</p>"
        plot = self.svg()
        rows = [[name, *(numbers.get(column) for column in SHOWN)] for name, numbers in self.to_dict().items()]
        return f"<div>{plot[plot.index('<svg'):]}{html_table(['channel', *SHOWN], rows)}</div>"

    @property
    def _found(self) -> _native.Measurement:
        if self._measurement is None:
            assert self._error is not None
            raise self._error
        return self._measurement

    def _row(self, channel: str) -> int:
        found = self._found  # raises the error of a failed input, before the channel is checked
        assert found is not None
        try:
            return self._names.index(channel)
        except ValueError:
            raise KeyError(f"{channel!r}: the channels are {', '.join(self._names)}") from None
