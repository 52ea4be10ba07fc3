"""Pixels of files: read and written."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _arrays, _native
from ._arrays import Layout, Order
from ._errors import InvalidArgument
from ._request import OnDamaged
from ._source import encoded, own_mask_of, picture_of, warn_of_pages
from ._validity import rules_of

if TYPE_CHECKING:
    from ._pixels import Pixels


def read(
    image: Any, *, page: int | None = None, max_pixels: int | None = None, on_damaged: OnDamaged = "error"
) -> Pixels:
    """Reads an image file strictly: its own samples as stored, or an IoError that names the cause.

    image
        A path, a URL that fsspec opens, the bytes of a file, or a file object.

    Returns a numpy array with the attributes ``samples``, ``white``, ``nodata``, ``pages``, ``alpha``, ``mask``,
    ``pixel_size`` and ``path``. Its shape is (height, width) for gray, else (height, width, channels), as the image is shown: turned by
    its EXIF orientation. ``measure(read(path))`` has the numbers of ``measure(path)``, unless the file names nodata or
    has a mask: give nodata= and mask= then.

    Other arguments and exceptions are as in measure().
    """
    picture, path = picture_of(image, page, max_pixels, on_damaged, rules_of(None, None, False, "row"))
    if picture is None:
        raise InvalidArgument(f"a {type(image).__name__} is neither a path, nor a file, nor its bytes")
    warn_of_pages(picture, page)
    return pixels_of(picture, path)


def pixels_of(picture: _native.Picture, path: str) -> Pixels:
    """Copy of the pixels of a picture."""
    from ._pixels import Pixels
    from ._result import PixelSize

    pixels = picture.pixels().view(Pixels)
    pixels.samples, pixels.white, pixels.nodata = picture.samples, picture.white, picture.nodata
    pixels.pages, pixels.alpha, pixels.path = picture.pages, picture.alpha or None, path
    size = picture.pixel_size
    pixels.pixel_size = None if size is None else PixelSize(*size)
    own = own_mask_of(picture)
    pixels.mask = None if own is None else own != 0
    return pixels


def write(path: str | os.PathLike[str], image: Any, *, layout: Layout | None = None, order: Order = "RGB") -> None:
    """Writes an array without loss. The file appears only when it is complete.

    path
        Path of the file. The extension chooses the format: .png for u8 and u16, .tiff for any type and for bands.
    image, layout, order
        Array on the host, its axes and the order of its colors, as in measure().

    Raises InvalidArgument for arrays that measure() does not take, and IoError if the file cannot be written.
    """
    found = _arrays.image_of(image, layout, order, depths=_arrays.ALL_DEPTHS)
    if found.array.gpu is not None:
        raise InvalidArgument("write: an array on a GPU: copy it to the host, as x.cpu() or cupy.asnumpy(x) does")
    _native.write(found.view, encoded(path))
