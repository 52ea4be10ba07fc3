"""Images as the native module takes them: arrays, and pictures that were read; and the planes that lie over them, masks
and labels.
"""

from __future__ import annotations

import os
import warnings
from typing import Any, NamedTuple

from . import _arrays, _native
from ._errors import InvalidArgument
from ._validity import Rules, refuse_tag

MASK_TYPES = ("bool", "uint8")
LABEL_TYPES = ("bool", "uint8", "uint16", "uint32", "int32")


class Plane(NamedTuple):
    """View, and what keeps its memory."""

    view: _native.View
    owner: object


class Source(NamedTuple):
    """Image of an array, or of a picture."""

    view: _native.View
    shape: tuple[int, ...]
    """Of the array, or height and width."""
    found: _arrays.Image | None
    picture: _native.Picture | None
    path: str
    """Of a picture that was read from a file."""

    @property
    def gpu(self) -> int | None:
        """Number of the GPU; None on the host."""
        return None if self.found is None else self.found.array.gpu

    def check(self, rules: Rules) -> None:
        """Refuses a rule that this image has no part in."""
        if self.picture is None:
            refuse_tag(rules)

    def masked(self, mask: Any, max_pixels: int | None = None) -> Plane:
        """The image, without the pixels where the mask is 0."""
        if mask is None:
            return Plane(self.view, None)
        if self.path and is_path(mask):
            assert self.picture is not None
            memory = self.picture.companion(os.fsencode(mask), "mask", max_pixels).mask
            import numpy as np

            mask = np.frombuffer(memory, np.uint8).reshape(self.shape)
        array = self._plane(mask, "mask", MASK_TYPES)
        own = None if self.picture is None else self.picture.own_mask
        if own is not None:  # valid is what both leave
            import numpy as np

            both = (np.asarray(mask) != 0) & (np.frombuffer(own, np.uint8).reshape(self.shape) != 0)
            array = self._plane(both.view(np.uint8), "mask", MASK_TYPES)
        return Plane(self.view.masked(array.pointer, row_bytes_of(array)), array)

    def labeled(self, labels: Any, max_pixels: int | None = None) -> Plane:
        """The labels of the image's pixels."""
        if self.path and is_path(labels):
            assert self.picture is not None
            picture = self.picture.companion(os.fsencode(labels), "labels", max_pixels)
            return Plane(picture.view, picture)
        array = self._plane(labels, "labels", LABEL_TYPES)
        return Plane(plane_view(array), array)

    def _plane(self, given: Any, what: str, types: tuple[str, ...]) -> _arrays.Array:
        """The array of one value per pixel that lies over the image."""
        if is_path(given):
            raise InvalidArgument(f"{what}: a path, which goes with the path of an image alone: give an array")
        return planes_over(given, what, types, self.gpu, (self.view.height, self.view.width), self.shape)


def planes_over(
    given: Any,
    what: str,
    types: tuple[str, ...],
    gpu: int | None,
    wanted: tuple[int, ...],
    shape: tuple[int, ...],
    stream: object = None,
) -> _arrays.Array:
    """The array of one value per pixel, of the shape that is wanted over an image, or several, of another shape;
    without gaps between the values of a row.
    """
    if not _arrays.is_array(given):
        raise InvalidArgument(f"{what}: a {type(given).__name__} is no array")
    array = _arrays.array_of(given, stream)
    if array.gpu != gpu:
        at, image_at = _arrays.place_of(array.gpu), _arrays.place_of(gpu)
        raise InvalidArgument(f"{what}: on {at}, and the image is on {image_at}: copy it there")
    if array.shape != wanted:
        raise InvalidArgument(
            f"{what}: shape {array.shape}, and the image's is {shape}: one value per pixel is wanted, shape {wanted}"
        )
    if array.type not in types:
        raise InvalidArgument(f"{what}: samples of type {array.type}, and not of {', '.join(types)}: convert them")
    height, width = wanted[-2:]
    row_step, step = array.strides[-2:]
    if (width > 1 and step != 1) or (height > 1 and row_step < width):
        if array.gpu is not None:
            raise InvalidArgument(
                f"{what}: the values of a row do not lie beside each other, and nothing on a GPU is copied unasked: "
                "x.contiguous() (torch) or x.copy() (CuPy) makes a copy that is"
            )
        import numpy as np

        assert isinstance(array.owner, np.ndarray)
        array = _arrays.from_numpy(np.ascontiguousarray(array.owner))
    return array


def is_path(given: object) -> bool:
    return isinstance(given, (str, os.PathLike))


def row_bytes_of(array: _arrays.Array) -> int:
    """Bytes from one row of planes to the next."""
    height, width = array.shape[-2:]
    return (array.strides[-2] if height > 1 else width) * _arrays.bytes_of(_arrays.DEPTHS[array.type])


def plane_view(array: _arrays.Array) -> _native.View:
    """View of the first of planes."""
    height, width = array.shape[-2:]
    depth = _arrays.DEPTHS[array.type]
    return _native.View(
        array.pointer, width, height, 1, depth, row_bytes_of(array), rgb=True, bands=False, device=array.gpu is not None
    )


def source_of(
    image: Any,
    layout: str | None,
    order: str,
    page: int | None,
    max_pixels: int | None,
    on_damaged: str,
    stream: object = None,
    depths: tuple[str, ...] = _arrays.DEVICE_DEPTHS,
) -> Source:
    """The image that a path, the bytes of a file, or an array is, on a GPU of some depths."""
    path = os.fspath(image) if is_path(image) else ""
    if path or isinstance(image, (bytes, bytearray, memoryview)):
        if path:
            picture = _native.Picture.read(os.fsencode(path), page or 0, max_pixels, on_damaged)
        else:
            picture = _native.Picture.decode(bytes(image), page or 0, max_pixels, on_damaged)
        view = picture.view
        return Source(view, (view.height, view.width), None, picture, path)
    if page is not None:
        raise InvalidArgument("page: an array has no pages")
    if not _arrays.is_array(image):
        raise InvalidArgument(f"a {type(image).__name__} is neither a path, nor bytes of a file, nor an array")
    found = _arrays.image_of(image, layout, order, stream=stream, depths=depths)
    return Source(found.view, found.given, found, None, "")


def warn_of_pages(read: _native.Picture | _native.Measurement | None, page: int | None, stacklevel: int = 3) -> None:
    if read is not None and page is None and read.pages > 1:
        warnings.warn(
            f"{read.path or 'the file'}: the first of its {read.pages} pages is measured; page= takes another",
            stacklevel=stacklevel,
        )
