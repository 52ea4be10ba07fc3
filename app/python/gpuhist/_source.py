"""Images in the form of the native module: arrays, and pictures from files. Also their masks and labels, which are
planes with one value per pixel.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _arrays, _native
from ._errors import InvalidArgument, IoError
from ._validity import Rules, refuse_tag

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MASK_TYPES = ("bool", "uint8")
LABEL_TYPES = ("bool", "uint8", "uint16", "uint32", "int32")


class Plane(NamedTuple):
    """View, and the object that keeps its memory."""

    view: _native.View
    owner: object


class Source(NamedTuple):
    """Image in an array, or in a picture from a file."""

    view: _native.View
    shape: tuple[int, ...]
    """Shape of the array; of a picture its height and width."""
    found: _arrays.Image | None
    picture: _native.Picture | None
    path: str
    """Path of the file that the picture comes from; else empty."""
    own_mask: Any = None
    """Array with the shape (height, width), 0 where the file or a numpy.ma array excludes a pixel; else None."""

    @property
    def gpu(self) -> int | None:
        """Number of the GPU; None on the host."""
        return None if self.found is None else self.found.array.gpu

    def masked(self, mask: Any, max_pixels: int | None = None) -> Plane:
        """View of the image in which the pixels where the mask is 0 are excluded."""
        if mask is None and self.found is not None and self.own_mask is not None:
            mask = self.own_mask
        if mask is None:  # the view of a picture has its mask
            return Plane(self.view, None)
        if self.path and is_path(mask):
            assert self.picture is not None
            memory = self.picture.companion(encoded(mask), "mask", max_pixels).mask
            import numpy as np

            mask = np.frombuffer(memory, np.uint8).reshape(self.shape)
        array = self._plane(mask, "mask", MASK_TYPES)
        if self.own_mask is not None:  # a pixel is valid if neither mask excludes it
            import numpy as np

            both = (np.asarray(mask) != 0) & (self.own_mask != 0)
            array = self._plane(both, "mask", MASK_TYPES)
        return Plane(self.view.masked(array.pointer, row_bytes_of(array)), array)

    def labeled(self, labels: Any, max_pixels: int | None = None) -> Plane:
        """View of the labels of the image's pixels."""
        if self.path and is_path(labels):
            assert self.picture is not None
            picture = self.picture.companion(encoded(labels), "labels", max_pixels)
            return Plane(picture.view, picture)
        array = self._plane(labels, "labels", LABEL_TYPES)
        return Plane(plane_view(array), array)

    def _plane(self, given: Any, what: str, types: tuple[str, ...]) -> _arrays.Array:
        """Array with one value per pixel of the image."""
        if is_path(given):
            raise InvalidArgument(f"{what}: a path needs an image that is a path too: give an array")
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
    """Array with one value per pixel, without gaps between the values of a row. Raises InvalidArgument if its shape is
    not the wanted one; the message names the shape of the image, or of several images, too.
    """
    if not _arrays.is_array(given):
        raise InvalidArgument(f"{what}: a {type(given).__name__} is not an array")
    if _is_masked(given):
        raise InvalidArgument(f"{what}: a numpy.ma array, which has no values where it is masked: give x.filled(0)")
    array = _arrays.array_of(given, stream)
    if array.gpu != gpu:
        at, image_at = _arrays.place_of(array.gpu), _arrays.place_of(gpu)
        raise InvalidArgument(f"{what}: on {at}, but the image is on {image_at}: copy it there")
    if array.shape != wanted:
        raise InvalidArgument(
            f"{what}: shape {array.shape}, but the image has {shape}: give one value per pixel, shape {wanted}"
        )
    if array.type in ("int64", "uint64") and gpu is None:
        array = _narrow(array, what, types)
    if array.type not in types:
        raise InvalidArgument(f"{what}: samples of type {array.type}, but not of {', '.join(types)}: convert them")
    height, width = wanted[-2:]
    row_step, step = array.strides[-2:]
    if (width > 1 and step != 1) or (height > 1 and row_step < width):
        if array.gpu is not None:
            raise InvalidArgument(
                f"{what}: the values of a row are not adjacent in memory, and gpuhist does not copy arrays on a GPU: "
                "x.contiguous() (torch) or x.copy() (CuPy) makes a copy that is"
            )
        import numpy as np

        assert isinstance(array.owner, np.ndarray)
        array = _arrays.from_numpy(np.ascontiguousarray(array.owner))
    return array


def _narrow(array: _arrays.Array, what: str, types: tuple[str, ...]) -> _arrays.Array:
    """Array of integers of 64 bits, in the type of the list that holds its values. A mask is 0 or not."""
    import numpy as np

    values = array.owner
    assert isinstance(values, np.ndarray)
    if types is MASK_TYPES:
        return _arrays.from_numpy(values != 0)
    for name in ("uint32", "int32"):
        limits = np.iinfo(name)
        if values.size == 0 or (values.min() >= limits.min and values.max() <= limits.max):
            return _arrays.from_numpy(values.astype(name))
    raise InvalidArgument(f"{what}: values from {values.min()} to {values.max()}, but labels are 0 to {2**32 - 1}")


def is_path(given: object) -> bool:
    return isinstance(given, (str, os.PathLike))


def encoded(path: str | os.PathLike[str]) -> bytes:
    """Path in the bytes of the system."""
    text = os.fsencode(path)
    if b"\0" in text:
        raise InvalidArgument(f"{path!r}: a path can't contain a NUL")
    return text


def is_local(given: object) -> bool:
    """Whether something is a path of the file system, not a URL."""
    return is_path(given) and not _is_url(os.fspath(given))  # type: ignore[call-overload]


def _is_url(path: str | bytes) -> bool:
    return isinstance(path, str) and re.match("[A-Za-z][A-Za-z0-9+.-]+://", path) is not None


def content_of(image: Any) -> tuple[bytes, str] | None:
    """Content of a file and the name of the file: of bytes, a file object, or a URL. None for anything else."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        return bytes(image), ""
    if is_path(image):
        url = os.fspath(image)
        if not _is_url(url):
            return None
        try:
            import fsspec  # type: ignore[import-untyped, unused-ignore]
        except ImportError:
            raise InvalidArgument(f"{url}: a URL is read by the package fsspec, which is not installed") from None
        try:
            with fsspec.open(url, "rb") as file:
                return file.read(), url
        except (OSError, ValueError, ImportError) as error:
            missing, refused = isinstance(error, FileNotFoundError), isinstance(error, PermissionError)
            kind = "missing" if missing else "permission" if refused else "unreadable"
            raise IoError(f"{url}: {error}", kind, url) from error
    read = getattr(image, "read", None)
    if callable(read) and not _arrays.is_array(image):
        content = read()
        if not isinstance(content, bytes):
            raise InvalidArgument("a file object of text: open the file in the mode 'rb'")
        name = getattr(image, "name", "")
        return content, name if isinstance(name, str) else ""
    return None



def row_bytes_of(array: _arrays.Array) -> int:
    """Bytes from one row of planes to the next."""
    height, width = array.shape[-2:]
    return (array.strides[-2] if height > 1 else width) * _arrays.bytes_of(_arrays.DEPTHS[array.type])


def plane_view(array: _arrays.Array) -> _native.View:
    """View of the first plane."""
    height, width = array.shape[-2:]
    depth = _arrays.DEPTHS[array.type]
    return _native.View(
        array.pointer, width, height, 1, depth, row_bytes_of(array), rgb=True, bands=False, device=array.gpu is not None
    )


def masked_images(found: _arrays.Image, mask: Any, stream: Any = None) -> tuple[_native.View, int, object]:
    """View of the first image with its mask, the bytes from one mask to the next, and the owner of the masks."""
    if mask is None:
        return found.view, 0, None
    over, image_bytes = _over(found, mask, "mask", MASK_TYPES, stream)
    return found.view.masked(over.pointer, row_bytes_of(over)), image_bytes, over.owner


def labels_of_images(found: _arrays.Image, labels: Any, stream: Any = None) -> tuple[_native.View, int]:
    """View of the first label image, and the bytes from one to the next. The caller keeps the labels."""
    over, image_bytes = _over(found, labels, "labels", LABEL_TYPES, stream)
    return plane_view(over), image_bytes


def _over(
    found: _arrays.Image, given: Any, what: str, types: tuple[str, ...], stream: Any
) -> tuple[_arrays.Array, int]:
    """Planes with one value per pixel, one plane per image, and the bytes from one to the next."""
    pixels = (found.height, found.width)
    wanted = (found.images, *pixels) if len(found.given) == 4 else pixels
    array = planes_over(given, what, types, found.array.gpu, wanted, found.given, stream)
    size = _arrays.bytes_of(_arrays.DEPTHS[array.type])
    return array, array.strides[0] * size if found.images > 1 else 0


def own_mask_of(picture: _native.Picture) -> npt.NDArray[np.uint8] | None:
    """Mask of a picture's file with the shape (height, width), 0 where it excludes a pixel."""
    import numpy as np

    own = picture.own_mask
    view = picture.view
    return None if own is None else np.frombuffer(own, np.uint8).reshape(view.height, view.width)


def picture_of(
    image: Any, page: int | None, max_pixels: int | None, on_damaged: str, rules: Rules
) -> tuple[_native.Picture | None, str]:
    """Picture in a file, and its path if it has one; None for an array."""
    how = (page or 0, max_pixels, on_damaged, rules.masks_of_file, rules.nodata_of_file, rules.alpha == "weight")
    content = content_of(image)
    try:
        if content is not None:
            data, name = content
            return _native.Picture.decode(data, name, *how), ""
        if is_path(image):
            return _native.Picture.read(encoded(image), *how), os.fspath(image)
    except IoError as error:
        error.filename = (content[1] if content else os.fspath(image)) or None
        raise
    return None, ""


def source_of(
    image: Any,
    layout: str | None,
    order: str,
    page: int | None,
    max_pixels: int | None,
    on_damaged: str,
    stream: object = None,
    depths: tuple[str, ...] = _arrays.DEVICE_DEPTHS,
    *,
    rules: Rules,
    planes: bool = False,
) -> Source:
    """Image from a path, the bytes of a file, or an array. An array on a GPU must have one of the depths,
    and its channels may lie in planes if `planes` is true. Raises InvalidArgument for rules that do not apply to the
    image.
    """
    picture, path = picture_of(image, page, max_pixels, on_damaged, rules)
    if picture is not None:
        view = picture.view
        own = own_mask_of(picture)
        return Source(view, (view.height, view.width), None, picture, path, own)
    if page is not None:
        raise InvalidArgument("page: an array has no pages")
    refuse_tag(rules)
    if not _arrays.is_array(image):
        raise InvalidArgument(f"a {type(image).__name__} is neither a path, nor a file, nor its bytes, nor an array")
    found = _arrays.image_of(image, layout, order, stream=stream, depths=depths, planes=planes)
    return Source(found.view, found.given, found, None, "", mask_in(image, None if found.flat else 0 if found.planar else -1))


def _is_masked(array: object) -> bool:
    numpy = sys.modules.get("numpy")  # without which there are none
    return numpy is not None and isinstance(array, numpy.ma.MaskedArray)


def mask_in(image: Any, axis: int | None) -> Any:
    """Mask with one value per pixel, 0 where a numpy.ma array excludes the pixel; None for any other array. The axis is
    that of the channels, if there is one."""
    if not _is_masked(image):
        return None
    import numpy as np

    excluded = np.ma.getmaskarray(image)
    if axis is not None:
        first = excluded.take(0, axis)
        if not (excluded == np.expand_dims(first, axis)).all():
            raise InvalidArgument(
                "a numpy.ma array whose channels have different masks: measure the channels one by one, or give "
                "array.data with a mask per pixel"
            )
        excluded = first
    return ~excluded


def warn_of_pages(read: _native.Picture | _native.Measurement | None, page: int | None, stacklevel: int = 3) -> None:
    if read is not None and page is None and read.pages > 1:
        warnings.warn(
            f"{read.path or 'the file'}: only the first of its {read.pages} pages is measured; page= selects another",
            stacklevel=stacklevel,
        )
