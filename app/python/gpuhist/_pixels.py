"""The pixels of a file as an array, with the facts that the file gives about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._result import PixelSize

class Pixels(np.ndarray[Any, np.dtype[Any]]):
    """Array of the samples of a file as they are stored: (height, width) of gray, else (height, width, channels).
    Colors are in the order red, green, blue, alpha. Views and copies keep the attributes, and an array that is
    computed from them is a plain one.
    """

    samples: str
    """gray, gray_alpha, rgb, rgba, bands, or color_bands: red, green, blue and others."""
    white: float | None
    """Value that stands for white."""
    nodata: float | None
    """Value that stands for no data, if the file names one."""
    pages: int | None
    """Number of pages in the file."""
    alpha: str | None
    """straight or premultiplied, as the file stores its colors; None without alpha."""
    mask: npt.NDArray[np.bool_] | None
    """Mask of the file with the shape (height, width), False where it excludes a pixel; None without a mask."""
    pixel_size: PixelSize | None
    """Width and height of a pixel in space, and their unit; None if the file doesn't say. Views keep it, also those of
    every other pixel."""
    path: str
    """Path of the file; empty for the content of a file."""

    def __array_finalize__(self, made_from: Any) -> None:
        same_type = made_from is not None and made_from.dtype == self.dtype
        for name in ("samples", "path"):
            setattr(self, name, getattr(made_from, name, ""))
        for name in ("pages", "alpha", "mask", "pixel_size"):
            setattr(self, name, getattr(made_from, name, None))
        for name in ("white", "nodata"):
            setattr(self, name, getattr(made_from, name, None) if same_type else None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar else plain

    def __reduce__(self) -> Any:
        reduced: Any = super().__reduce__()
        build, arguments, state = reduced
        return build, arguments, (state, self.__dict__)

    def __setstate__(self, state: Any) -> None:
        array, facts = state
        super().__setstate__(array)
        self.__dict__.update(facts)
