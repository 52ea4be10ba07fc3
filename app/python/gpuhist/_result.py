"""Results: a mapping of channels to statistics, and what else was found in an image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._errors import IoError
from ._native import Statistics
from ._request import Range, bins_of, range_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Counts = npt.NDArray[np.uint64]


class Histogram(NamedTuple):
    """Equal bins over [lower, upper). Of each channel, bins + below + above + nan + masked + nodata are all its
    samples."""

    lower: float
    upper: float
    counts: dict[str, Counts]
    """Of each channel, uint64[bins]."""
    below: dict[str, int]
    """Samples under lower, -Inf included."""
    above: dict[str, int]
    """Samples at or over upper, +Inf included."""
    nan: dict[str, int]
    masked: dict[str, int]
    """Samples of masked pixels."""
    nodata: dict[str, int]
    """Samples that nodata and valid leave out."""

    @property
    def edges(self) -> npt.NDArray[np.float64]:
        """Ends of the bins, float64[bins + 1]: lower + i (upper - lower) / bins."""
        import numpy as np

        bins = len(next(iter(self.counts.values())))
        edges = self.lower + np.arange(bins + 1) * (self.upper - self.lower) / bins
        edges[-1] = self.upper
        return edges


def histogram_from(native: tuple[float, float, list[tuple[str, Counts, int, int, int, int, int]]]) -> Histogram:
    lower, upper, columns = native
    outside: list[dict[str, int]] = [{}, {}, {}, {}, {}]
    for name, _, *numbers in columns:
        for of, number in zip(outside, numbers):
            of[name] = number
    return Histogram(lower, upper, {column[0]: column[1] for column in columns}, *outside)


class Result(Mapping[str, Statistics]):
    """What was found in one image: a mapping of channels, by name, to their Statistics. It does not change.

    The channels are gray; or red, green, blue, luma, all (the colors as one population), then alpha where there is
    one; bands c0, c1, ... or as the file names them. ``r["red"].mean`` and ``r.red.mean`` are the same. Of an input
    that failed ``error`` says why, and there are no channels.
    """

    __slots__ = ("_error", "_names", "_measurement", "_path")

    _measurement: _native.Measurement | None
    _names: tuple[str, ...]
    _path: str
    _error: IoError | None

    def __init__(self, native: _native.Measurement | None, path: str = "", error: IoError | None = None) -> None:
        set_ = object.__setattr__
        set_(self, "_measurement", native)
        set_(self, "_names", tuple(native.names) if native is not None else ())
        set_(self, "_path", path)
        set_(self, "_error", error)

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
        )

    def __hash__(self) -> int:
        return hash((self._measurement, self._path, str(self._error)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Result, (self._measurement, self._path, self._error)

    def __repr__(self) -> str:
        name = f"{self._path!r}, " if self._path else ""
        if self._error is not None:
            return f"<gpuhist.Result {name}error {self._error.kind}: {self._error}>"
        return f"<gpuhist.Result {name}{self.width} x {self.height} {self.depth}: {', '.join(self._names)}>"

    # Facts.

    @property
    def error(self) -> IoError | None:
        """Why the input could not be measured, with its ``kind``; None where it was."""
        return self._error

    @property
    def path(self) -> str:
        """The input as it was given; empty for an array."""
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
        """What stands for white: the highest of the type, 1 of floats, or as the file or the caller says."""
        return self._found.white

    @property
    def alpha_kind(self) -> str | None:
        """straight or premultiplied: how the file stores its alpha; None without."""
        return self._found.alpha or None

    @property
    def damage(self) -> str | None:
        """damaged or truncated: what on_damaged="accept" let pass."""
        return self._found.damage or None

    @property
    def pages(self) -> int:
        """Pages in the file."""
        return self._found.pages

    # Numbers.

    def percentile(self, channel: str, q: float) -> float | None:
        """Percentile q, 0 to 100, of a channel, as numpy.percentile; None without a finite sample.

        Any q of all depths but f32, of which percentile_columns= said which are found; detail="values" has all.
        """
        return self._found.percentile(self._row(channel), float(q))

    def counts(self, channel: str) -> Counts:
        """Count of each value of a channel, uint64[256] or uint64[65536], in the order of the values.

        Of s8, s16 and f16 the lowest is the first. ValueError for wider samples.
        """
        return self._found.counts(self._row(channel))

    def histogram(self, bins: int | str | None = None, range: Range | None = None) -> Histogram:
        """Histogram of equal bins, as asked for or as measured: 256 over the whole type, of floats from the finite
        minimum to the maximum. bins="full" is one per value.

        Bounds of integers are whole numbers. An f32 image has the bins that it was measured in; others are a
        ValueError.
        """
        found = self._found
        return histogram_from(
            found.histogram(
                found.bins if bins is None else bins_of(bins),
                found.range if range is None else range_of(range),
            )
        )

    @property
    def measures(self) -> dict[str, float | None]:
        """Numbers of the measures that were asked for, by name; None where it is undefined: in images under 3 x 3
        pixels, and where no neighborhood is valid. Bands have none."""
        return dict(self._found.measures)

    def to_dict(self) -> dict[str, dict[str, int | float | str | None]]:
        """Numbers by channel and by the columns' names."""
        return {name: self[name].to_dict() for name in self}

    def to_pandas(self) -> pd.DataFrame:
        """A pandas.DataFrame: one row per channel, one column per number."""
        import pandas as pd

        return pd.DataFrame.from_records(list(self.to_dict().values()), index="channel")

    def _repr_html_(self) -> str:
        from html import escape

        if self._error is not None:
            return f"<p>{escape(self._path)}: {escape(str(self._error))}</p>"
        shown = ("valid", "min", "max", "mean", "std", "median", "entropy", "unique", "clipped_low", "clipped_high")
        heads = "".join(f"<th>{name}</th>" for name in ("channel", *shown))
        rows = ""
        for name, numbers in self.to_dict().items():
            cells = "".join(
                f"<td>{'' if numbers.get(column) is None else format(numbers[column], '.6g')}</td>" for column in shown
            )
            rows += f"<tr><th>{escape(name)}</th>{cells}</tr>"
        title = f"{self._path or 'array'}  {self.width} × {self.height}  {self.depth}"
        plot = self._found.svg(title)
        return f"<div>{plot[plot.index('<svg'):]}<table><tr>{heads}</tr>{rows}</table></div>"

    @property
    def _found(self) -> _native.Measurement:
        if self._measurement is None:
            assert self._error is not None
            raise self._error
        return self._measurement

    def _row(self, channel: str) -> int:
        found = self._found  # of a failed input the error, not the channel, is what is wrong
        assert found is not None
        try:
            return self._names.index(channel)
        except ValueError:
            raise KeyError(f"{channel!r}: the channels are {', '.join(self._names)}") from None
