"""Arrays of any library as images: the place of the samples, and their meaning.

A host array is copied only if a view cannot describe it: planes, gaps between pixels, negative strides, foreign byte
order. An array on a GPU is never copied to the host; the channels in planes are interleaved on the GPU.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args

from . import _native
from ._errors import InvalidArgument, require_word

if TYPE_CHECKING:
    import numpy as np

    from ._pixels import Pixels

Layout = Literal["HWC", "CHW", "HW"]
BatchLayout = Literal["NHWC", "NCHW", "NHW"]
AnyLayout = Literal[Layout, BatchLayout]
Order = Literal["RGB", "BGR"]
TYPES = {depth: name for depth, name, *_ in _native.depths()}
_BYTES = {depth: size for depth, _, size, _ in _native.depths()}
DEPTHS = {"bool": "u8"} | {name: depth for depth, name in TYPES.items()}
ALL_DEPTHS = tuple(TYPES)
DEVICE_DEPTHS = tuple(depth for depth, *_, on_device in _native.depths() if on_device)
_CODES = {"b": "bool", "u": "uint", "i": "int", "f": "float", "c": "complex", "V": "void"}
_DLPACK_CODES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
_DLPACK_CPU = (1, 3)
_DLPACK_CUDA = (2, 13)


class Array(NamedTuple):
    """Array in memory. Shape and strides are in elements."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    type: str
    """Type of the elements, by the name that numpy gives it."""
    gpu: int | None
    """Number of the GPU; None on the host."""
    owner: object
    """Object that keeps the memory."""


class Image(NamedTuple):
    """Image, or images of one size, in the form of the native module."""

    view: _native.View
    array: Array
    given: tuple[int, ...]
    """Shape of the given array."""
    width: int
    height: int
    channels: int
    depth: str
    rgb: bool
    images: int
    image_bytes: int
    planar: bool
    """Whether the layout is CHW. Copies have it too."""
    flat: bool
    """Whether the layout has no axis for channels."""
    gray_alpha: bool = False
    """Whether the given array has gray and alpha, from which the channels are gray three times and alpha."""
    plane_bytes: int = 0
    """Bytes from one plane to the next if the channels lie in planes, which is possible on a GPU; else 0."""


def is_array(image: object) -> bool:
    return any(
        hasattr(image, name)
        for name in ("__cuda_array_interface__", "__array_interface__", "__dlpack__", "__array__")
    ) or isinstance(image, (list, tuple))


def pixels_in(image: object) -> Pixels | None:
    """The array of read(); None if it is another one."""
    module = sys.modules.get("gpuhist._pixels")
    return cast("Pixels", image) if module is not None and isinstance(image, module.Pixels) else None


def library_of(array: object) -> str:
    """Name of the package that an array belongs to."""
    return type(array).__module__.partition(".")[0]


def place_of(gpu: int | None) -> str:
    return "the host" if gpu is None else f"GPU {gpu}"


def current_stream(array: Array, stream: object = None) -> int:
    """Handle of the given stream, or of the current one of the array's library; 0 is the legacy default stream."""
    if stream is not None:
        return stream_handle(stream)
    library = library_of(array.owner)
    if library == "torch":
        import torch

        return int(torch.cuda.current_stream(array.gpu).cuda_stream)
    if library == "cupy":
        import cupy

        with cupy.cuda.Device(array.gpu):
            return int(cupy.cuda.get_current_stream().ptr)
    return 0


def stream_handle(stream: object) -> int:
    """Handle of a stream: of torch, CuPy or numba, of an object with __cuda_stream__, or a number."""
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int(protocol()[1])
    for name in ("cuda_stream", "ptr", "handle"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    raise InvalidArgument(
        f"stream: a {type(stream).__name__} is not a CUDA stream: give one of torch or CuPy, or its handle as an int"
    )


def _number_type(typestr: str) -> tuple[str, bool]:
    """Name of a type of the array interfaces, and whether its byte order is that of the machine."""
    name = _CODES.get(typestr[1], typestr)
    if name != "bool":
        name += str(8 * int(typestr[2:]))
    foreign = ">" if sys.byteorder == "little" else "<"
    return name, typestr[0] != foreign


def _from_cuda_interface(image: Any) -> Array:
    interface: dict[str, Any] = image.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise InvalidArgument("masked arrays on a GPU are not measured: copy the array and its mask to the host")
    name, native = _number_type(interface["typestr"])
    if not native:
        raise InvalidArgument(f"{interface['typestr']}: foreign byte order: convert the samples with x.byteswap()")
    size = int(interface["typestr"][2:])
    shape = tuple(int(n) for n in interface["shape"])
    strides = interface.get("strides")
    if strides is None:
        steps = packed(shape)
    else:
        if any(step % size for step in strides):
            raise InvalidArgument(f"strides {tuple(strides)} are not multiples of the sample size, {size} bytes")
        steps = tuple(int(step) // size for step in strides)
    pointer = int(interface["data"][0])
    return Array(pointer, shape, steps, name, _gpu_of(image), image)


def _gpu_of(image: Any) -> int:
    if hasattr(image, "__dlpack_device__"):
        return int(image.__dlpack_device__()[1])
    device = getattr(image, "device", None)
    for name in ("index", "id"):
        number = getattr(device, name, None)
        if isinstance(number, int):
            return number
    return 0


def packed(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides, in elements, of an array in C order."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def _from_dlpack(image: Any, stream: object) -> Array:
    # The producer makes the stream wait for the work on its own stream. 1 means the legacy default stream.
    capsule = image.__dlpack__(stream=(stream_handle(stream) if stream is not None else 0) or 1)
    borrowed = _native.borrow(capsule)
    code, bits, lanes = borrowed.type
    if lanes != 1:
        raise InvalidArgument("samples are vectors: an image has one number per sample")
    name = _DLPACK_CODES.get(code, "unknown")
    if name != "bool":
        name += str(bits)
    return Array(
        borrowed.pointer,
        tuple(borrowed.shape),
        tuple(borrowed.strides),
        name,
        int(image.__dlpack_device__()[1]),
        (image, borrowed),
    )


_PILLOW_MODES = ("L", "LA", "RGB", "RGBA", "I", "I;16", "I;16L", "I;16B", "I;16N", "F")
_PILLOW_REMEDIES = {"1": "L", "PA": "RGBA", "RGBa": "RGBA", "La": "LA"}


def _from_pillow(image: Any) -> np.ndarray[Any, Any]:
    """Samples of a Pillow image. A palette's are no gray values, and colors of other spaces are not red, green, blue."""
    import numpy as np

    if image.mode not in _PILLOW_MODES:
        target = _PILLOW_REMEDIES.get(image.mode, "RGBA" if "transparency" in image.info else "RGB")
        raise InvalidArgument(
            f"a Pillow image of mode {image.mode}, whose samples are neither gray nor red, green and blue: "
            f'give image.convert("{target}"), or the path of its file'
        )
    return np.asarray(image)


def _has_gray_alpha(image: Any) -> bool:
    pixels = pixels_in(image)
    if pixels is not None:
        return pixels.samples == "gray_alpha" and pixels.ndim == 3 and pixels.shape[2] == 2
    return library_of(image) == "PIL" and getattr(image, "mode", "") == "LA"


def _from_host(image: Any) -> Array:
    import numpy as np

    if library_of(image) == "PIL":
        array = _from_pillow(image)
    elif library_of(image) == "torch":
        if str(image.dtype) == "torch.bfloat16":
            raise InvalidArgument(_refused("bfloat16"))
        array = np.asarray(image.detach())
    elif hasattr(image, "__array_interface__") or hasattr(image, "__array__") or isinstance(image, (list, tuple)):
        array = np.asarray(image)
    else:
        array = np.from_dlpack(image)
    return from_numpy(array)


def from_numpy(array: np.ndarray[Any, Any]) -> Array:
    """The numpy array, or a copy if a view cannot describe it."""
    if array.dtype.byteorder not in "=|" and not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    size = array.itemsize
    if any(step < 0 or step % size for step in array.strides):
        array = array.copy(order="C")
    strides = tuple(step // size for step in array.strides)
    return Array(int(array.__array_interface__["data"][0]), array.shape, strides, array.dtype.name, None, array)


def unwrapped(image: Any, layout: str | None) -> tuple[Any, str | None]:
    """The array in an xarray.DataArray, whose dimensions say the layout; any other object as it is."""
    if library_of(image) != "xarray" or not hasattr(image, "dims"):
        return image, layout
    if layout is None and len(image.dims) == 3:
        at = [place for place, name in enumerate(image.dims) if str(name).lower() in _CHANNEL_DIMENSIONS]
        layout = "CHW" if at == [0] else "HWC" if at == [2] else None
    return image.data, layout


_CHANNEL_DIMENSIONS = ("band", "bands", "channel", "channels", "c", "rgb", "color", "wavelength")
_HWC_LIBRARIES = ("PIL", "gpuhist")
_warned: set[str] = set()


def _warn_of_layout(shape: tuple[int, ...]) -> None:
    if "layout" not in _warned:
        _warned.add("layout")
        warnings.warn(
            f"shape {shape}: both the first and the last axis may be channels; the last one is taken. Give layout="
            f'"HWC" or "CHW"',
            stacklevel=_outside(),
        )


def _outside() -> int:
    """Level of the caller of the package, for warnings."""
    level, frame = 1, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gpuhist":
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    return level


def batch_of(
    images: Any,
    layout: str | None,
    order: str,
    stream: object = None,
    depths: tuple[str, ...] = DEVICE_DEPTHS,
    planes: bool = False,
) -> Image:
    """Images of one size in an array, N x H x W x C, N x C x H x W or N x H x W."""
    if layout is not None:
        require_word("layout", layout, BatchLayout)
    images, _ = unwrapped(images, None)
    if not hasattr(images, "shape") or not (hasattr(images, "transpose") or hasattr(images, "permute")):
        images = array_of(images, stream).owner
    axes = len(images.shape)
    layout = layout or {3: "NHW", 4: "NHWC"}.get(axes, "NHWC")
    if axes != len(layout):
        raise InvalidArgument(
            f"shape {tuple(images.shape)}: images of one size have the axes N, height and width, or these and channels"
        )
    if layout == "NHWC" and images.shape[3] > 4:
        wanted = '"NCHW"' if images.shape[1] <= 4 else "None, one by one with layout=\"HWC\""
        raise InvalidArgument(f"shape {tuple(images.shape)}: the last axis must have 1 to 4 channels: give layout={wanted}")
    if layout == "NHW":
        images = images[..., None]
    elif layout == "NCHW":
        images = images.permute(0, 2, 3, 1) if hasattr(images, "permute") else images.transpose(0, 2, 3, 1)
    return image_of(images, "NHWC", order, stream=stream, batch=True, depths=depths, planes=planes)


def array_of(image: Any, stream: object = None) -> Array:
    """The array in an object. An array on a GPU is not copied."""
    kind = getattr(image, "__dlpack_device__", None)
    device = int(kind()[0]) if kind is not None else None
    if device in _DLPACK_CUDA or (device is None and hasattr(image, "__cuda_array_interface__")):
        if str(getattr(image, "dtype", "")) == "torch.bfloat16":
            raise InvalidArgument(_refused("bfloat16"))
        if library_of(image) == "torch":
            image = image.detach()
        if hasattr(image, "__cuda_array_interface__"):
            return _from_cuda_interface(image)
        return _from_dlpack(image, stream)
    if device is not None and device not in _DLPACK_CPU:
        raise InvalidArgument(f"DLPack device {device} is neither the host nor a CUDA GPU: copy the array to the host")
    return _from_host(image)


def _refused(name: str) -> str:
    remedy = {
        "bfloat16": "convert it: x.float()",
        "int64": "convert it to int32 or float64, if its values fit",
        "uint64": "convert it to uint32 or float64, if its values fit",
    }.get(name, "convert it")
    return f"samples of type {name} are not measured: {remedy}. Measured are {', '.join(DEPTHS)}"


def image_of(
    image: Any,
    layout: str | None = None,
    order: str = "RGB",
    *,
    stream: object = None,
    batch: bool = False,
    depths: tuple[str, ...] = DEVICE_DEPTHS,
    planes: bool = False,
) -> Image:
    """The image in an array. On a GPU it must have one of the depths, and its channels may lie in planes if `planes` is
    true. A batch may have N images."""
    if layout is not None:
        require_word("layout", layout, AnyLayout)
    require_word("order", order, Order)
    image, layout = unwrapped(image, layout)
    array = array_of(image, stream)
    depth = DEPTHS.get(array.type)
    if depth is None:
        raise InvalidArgument(_refused(array.type))
    shape, strides = array.shape, array.strides
    given = shape
    if batch and layout in ("NCHW", "NHW"):
        return batch_of(image, layout, order, stream, depths, planes)
    if layout in get_args(BatchLayout) and not batch:
        raise InvalidArgument(f"layout: {layout} is many images, which measure_batch() takes, and Analyzer on a GPU")
    if layout is not None and len(shape) != len(layout):
        raise InvalidArgument(f"layout: {layout} has {len(layout)} axes, but the array has {len(shape)}: shape {shape}")
    if len(shape) not in ((2, 3, 4) if batch else (2, 3)):
        raise InvalidArgument(
            f"shape {shape}: an image has two axes, or three with its channels"
            + ("; measure_batch() takes many images, and so does Analyzer on a GPU" if len(shape) == 4 else "")
        )
    if layout is None and len(shape) == 3 and {shape[0], shape[2]} <= {3, 4} and library_of(image) not in _HWC_LIBRARIES:
        _warn_of_layout(shape)
    planar = layout == "CHW"
    flat = len(shape) == 2
    gray_alpha = _has_gray_alpha(image)
    if gray_alpha:
        whole: Any = array.owner
        array = from_numpy(whole[..., [0, 0, 0, 1]])
        shape, strides = array.shape, array.strides
    images, image_step = 1, 0
    if len(shape) == 4:
        images, image_step = shape[0], strides[0]
        shape, strides = shape[1:], strides[1:]
    if planar:
        shape, strides = (*shape[1:], shape[0]), (*strides[1:], strides[0])
    if flat:
        shape, strides = (*shape, 1), (*strides, 1)
    height, width, channels = shape
    if channels > 4 and layout is None:
        wanted = 'layout="CHW"' if array.shape[-3] <= 4 else 'layout="HWC", if these are bands'
        raise InvalidArgument(
            f"shape {array.shape}: without a layout, the last axis must have 1 to 4 channels, not {channels}: give "
            f"{wanted}"
        )
    strides = tuple(packed(shape)[axis] if shape[axis] == 1 else strides[axis] for axis in range(3))
    row_step, pixel_step, channel_step = strides
    size = bytes_of(depth)
    plane_bytes = 0
    # With a single row or column, the distance to the next one does not matter.
    if (channels > 1 and channel_step != 1) or (width > 1 and pixel_step != channels) or (
        height > 1 and row_step < width * channels
    ):
        if array.gpu is not None:
            in_planes = channels > 1 and channel_step > pixel_step
            gaps = (width > 1 and pixel_step != 1) or (height > 1 and row_step < width)
            if not (in_planes and planes) or gaps:
                raise InvalidArgument(_not_interleaved(in_planes, batch=len(given) == 4))
            plane_bytes = channel_step * size
        else:
            import numpy as np

            whole = array.owner
            assert isinstance(whole, np.ndarray)
            if planar:
                whole = np.moveaxis(whole, 0, -1)
            array = from_numpy(np.ascontiguousarray(whole))
            row_step = width * channels
            if images > 1:
                image_step = height * row_step
    if height == 1:
        row_step = width * (1 if plane_bytes else channels)
    if array.gpu is not None and depth not in depths:
        raise InvalidArgument(
            f"samples of type {array.type} are not measured on a GPU, only {', '.join(TYPES[d] for d in depths)}: "
            "convert them, or copy the image to the host"
        )
    bands = channels not in (1, 3, 4)
    if array.gpu is not None and bands:
        raise InvalidArgument(f"{channels} channels are not measured on a GPU, only 1, 3 and 4: copy the image to the host")
    rgb = order == "RGB" or bands
    view = _native.View(
        array.pointer, width, height, channels, depth, row_step * size, rgb, bands, array.gpu is not None
    )
    if gray_alpha:
        view = view.gray_alpha()
    image_bytes = (image_step if images > 1 else height * row_step) * size
    return Image(
        view, array, given, width, height, channels, depth, rgb, images, image_bytes, planar, flat, gray_alpha,
        plane_bytes,
    )


def _not_interleaved(planes: bool, batch: bool) -> str:
    axes = "0, 2, 3, 1" if batch else "1, 2, 0"
    remedy = (
        f"x.permute({axes}).contiguous() (torch) or x.transpose({axes}).copy() (CuPy) makes a copy that is, or keep "
        "the tensor in torch.channels_last"
        if planes
        else "x.contiguous() (torch) or x.copy() (CuPy) makes a copy that is"
    )
    return (
        "the samples of a pixel, or the pixels of a row, are not adjacent in memory, and gpuhist does not copy arrays "
        f"on a GPU: {remedy}"
    )


def bytes_of(depth: str) -> int:
    return _BYTES[depth]


def empty_like(image: Image, depth: str) -> tuple[Any, Image]:
    """A new array of the same library, device and layout, and the image in it."""
    shape: tuple[int, ...] = (image.height, image.width)
    if not image.flat:
        shape = (*shape, image.channels)
    made = empty(image.array, shape, TYPES[depth])
    order = "RGB" if image.rgb else "BGR"
    return made, image_of(made, "HW" if image.flat else "HWC", order)


def empty(like: Array, shape: tuple[int, ...], name: str) -> Any:
    """A new array of a type in the place of another one: of numpy on the host, of its library on a GPU."""
    if like.gpu is None:
        import numpy as np

        return np.empty(shape, np.dtype(name))
    library = library_of(like.owner)
    if library == "torch":
        import torch

        return torch.empty(shape, dtype=getattr(torch, name), device=torch.device("cuda", like.gpu))
    if library == "cupy":
        import cupy

        with cupy.cuda.Device(like.gpu):
            return cupy.empty(shape, dtype=name)
    raise InvalidArgument(f"out: no array of {library or 'this library'} can be made on the GPU: give one")
