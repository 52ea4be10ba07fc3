"""Joint histograms of two channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from . import _arrays, _native
from ._errors import InvalidArgument
from ._request import OnDamaged, Range, asked_of
from ._source import Plane, Source, source_of, warn_of_pages
from ._validity import rules_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ._arrays import Layout, Order
    from ._validity import Nodata, Valid

MOST_BINS = 4096
"""Per channel."""


class Joint(NamedTuple):
    """Joint histogram of two channels."""

    counts: npt.NDArray[np.uint64]
    """Number of pixels with the first channel in bin i and the second in bin j, at [i, j]."""
    edges: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
    """Edges of the bins of both channels, one more than there are bins."""
    pixels: int
    """Number of pixels with valid samples in both channels."""
    outside: int
    """Number of valid pixels in no bin."""
    covariance: float | None
    """Covariance of the samples of these pixels, from exact sums, as numpy.cov(ddof=0)."""
    correlation: float | None
    """Pearson's correlation of these samples, from exact sums. None if a channel does not vary."""
    mutual_information: float | None
    """Mutual information of the bins, in bits."""


def joint(
    image: Any,
    first: str | int,
    second: str | int,
    other: Any = None,
    *,
    bins: int = 256,
    range: Range | None = None,
    layout: Layout | None = None,
    order: Order = "RGB",
    mask: Any = None,
    nodata: Nodata | None = None,
    valid: Valid | None = None,
    nodata_any: bool = False,
    alpha: Literal["row", "mask"] = "row",
    threads: int = 0,
    page: int | None = None,
    max_pixels: int | None = None,
    on_damaged: OnDamaged = "error",
) -> Joint:
    """Counts the pixels of an image by two channels at once.

    image
        A path, a URL, the bytes of a file, a file object or an array on the host, as in measure().
    first, second
        Two channels, by name (red, green, blue, luma, gray, alpha, c0, ..., or the name of a band) or number from 0.
    other
        Another image of the same size, which has the second channel.
    bins, range
        Number of bins of each channel, at most 4096, and their range. By default, bins cover all values of integers of
        8 and 16 bits, and the valid samples of other types.
    mask
        Pixels where it is 0 are excluded, as in measure(). A mask in either file excludes pixels, too.

    A pixel counts if both samples are valid. Other arguments are as in measure(); alpha is "row" or "mask". Raises
    InvalidArgument and IoError.
    """
    import numpy as np

    if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= MOST_BINS:
        raise InvalidArgument(f"bins: {bins!r} is not a number from 1 to {MOST_BINS}")
    if alpha not in ("row", "mask"):
        raise InvalidArgument(f"alpha: {alpha!r} is not one of row, mask")
    if range is not None:
        range = float(range[0]), float(range[1])
    rules = rules_of(nodata, valid, nodata_any, alpha)
    asked = asked_of(256, None, None, "full", None, engine="cpu", gpu=0, threads=threads, rules=rules)

    def read(given: Any, over: Any) -> tuple[Source, Plane]:
        given, axes = _arrays.unwrapped(given, layout)
        source = source_of(given, axes, order, page, max_pixels, on_damaged, rules=rules)
        if source.gpu is not None:
            raise InvalidArgument("image: on a GPU, where joint() cannot count it: copy it to the host")
        return source, source.masked(over)

    source, seen = read(image, mask)
    warn_of_pages(source.picture, page)
    partner, partner_seen = (source, seen) if other is None else read(other, None)
    found = _native.joint(
        seen.view, str(first), source.picture, partner_seen.view, str(second), partner.picture, asked, bins, range
    )
    return Joint(
        found.counts().reshape(bins, bins),
        (np.array(found.edges(0)), np.array(found.edges(1))),
        found.pixels,
        found.outside,
        found.covariance,
        found.correlation,
        found.mutual_information,
    )
