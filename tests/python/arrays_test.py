"""Arrays on a GPU as they are seen, without one: interfaces that are played, whose memory nobody reads."""

import numpy as np
import pytest

import gpuhist as gh
from gpuhist import _arrays, _native


class OnGpu:
    """What the CUDA array interface says of an array of these strides, in bytes."""

    def __init__(self, shape, typestr="|u1", strides=None, gpu=0, **more):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (0x7F0000000000, False),
            "strides": strides,
            "version": 3,
            **more,
        }
        self.gpu = gpu

    def __dlpack_device__(self):
        return 2, self.gpu


def test_images_are_seen_where_they_lie():
    seen = _arrays.image_of(OnGpu((20, 30, 3), "<f4", gpu=1))
    assert (seen.width, seen.height, seen.channels, seen.depth, seen.images) == (30, 20, 3, "f32", 1)
    assert (seen.array.pointer, seen.array.gpu) == (0x7F0000000000, 1)
    region = _arrays.image_of(OnGpu((20, 30, 3), strides=(300, 3, 1)))
    assert region.image_bytes == 20 * 300
    last = _arrays.image_of(OnGpu((3, 20, 30), strides=(1, 90, 3)), "CHW")
    assert (last.width, last.height, last.channels) == (30, 20, 3)
    batch = _arrays.image_of(OnGpu((7, 20, 30, 3), "<u2"), batch=True)
    assert (batch.images, batch.image_bytes, batch.depth) == (7, 20 * 30 * 3 * 2, "u16")
    last = _arrays.image_of(np.zeros((7, 20, 30, 3), np.uint16).transpose(0, 3, 1, 2), "NCHW", batch=True)
    assert (last.images, last.width, last.height, last.channels, last.image_bytes) == (7, 30, 20, 3, 20 * 30 * 3 * 2)
    gray = _arrays.image_of(np.zeros((7, 20, 30), np.uint8), "NHW", batch=True)
    assert (gray.images, gray.width, gray.height, gray.channels) == (7, 30, 20, 1)
    assert _arrays.image_of(OnGpu((20, 1), strides=(40, 7))).width == 1  # a column's pixels have no distance


def test_batches_of_planes_are_refused_with_the_axes_of_a_batch():
    planes = OnGpu((7, 20, 30, 3), strides=(1800, 30, 1, 600))  # N x C x H x W, permuted
    with pytest.raises(gh.InvalidArgument, match=r"permute\(0, 2, 3, 1\)"):
        _arrays.image_of(planes, "NHWC", batch=True)


@pytest.mark.parametrize(
    ("array", "options", "words"),
    [
        (OnGpu((3, 20, 30), strides=(1200, 60, 2)), {"layout": "CHW"}, r"permute\(1, 2, 0\)"),
        (OnGpu((20, 30, 3), strides=(180, 6, 1)), {}, "contiguous"),
        (OnGpu((20, 30), strides=(-30, 1)), {}, "contiguous"),
        (OnGpu((20, 30), strides=(0, 1)), {}, "contiguous"),
        (OnGpu((3, 20, 30)), {}, 'layout="CHW"'),
        (OnGpu((20, 30, 5)), {"layout": "HWC"}, "5 channels"),
        (OnGpu((20, 30), "<f8"), {}, "float64"),
        (OnGpu((20, 30), "<i8"), {}, "int64"),
        (OnGpu((20, 30), ">u2"), {}, "byte order"),
        (OnGpu((20, 30), "<f4", strides=(122, 4)), {}, "multiples"),
        (OnGpu((20, 30), mask=object()), {}, "masked"),
        (OnGpu((2, 20, 30, 3)), {}, "measure_batch"),
        (OnGpu((20, 30)), {"engine": "cpu"}, "engine cpu"),
        (OnGpu((20, 30)), {"mask": np.ones((20, 30), bool)}, "mask: on the host, but the image is on GPU 0"),
        (OnGpu((20, 30)), {"mask": OnGpu((20, 30), gpu=1)}, "mask: on GPU 1, but the image is on GPU 0"),
        (OnGpu((20, 30)), {"mask": OnGpu((20, 30), strides=(60, 2))}, "mask: .*contiguous"),
        (OnGpu((20, 30)), {"mask": OnGpu((20, 31))}, "mask: shape"),
        (OnGpu((20, 30)), {"nodata": "tag"}, "an array has none"),
        (OnGpu((20, 30)), {"nodata": 300}, "300 is not a value of u8"),
        (np.zeros((20, 30), np.uint8), {"mask": OnGpu((20, 30))}, "mask: on GPU 0"),
    ],
)
def test_what_would_be_copied_is_refused(array, options, words):
    with pytest.raises(gh.InvalidArgument, match=words):
        gh.measure(array, **options)


def test_channels_in_planes_on_a_gpu():
    batch = OnGpu((7, 20, 30, 3), "<u2", strides=(3600, 60, 2, 1200))  # N x C x H x W, permuted
    found = _arrays.image_of(batch, "NHWC", batch=True, planes=True)
    assert (found.plane_bytes, found.image_bytes, found.images) == (1200, 3600, 7)
    assert (found.height, found.width, found.channels) == (20, 30, 3)
    part = OnGpu((4, 20, 30), "<f4", strides=(9600, 160, 4))  # of planes of 60 x 40
    found = _arrays.image_of(part, "CHW", planes=True)
    assert (found.plane_bytes, found.channels, found.images) == (9600, 4, 1)
    assert _arrays.image_of(OnGpu((1, 20, 30)), "CHW", planes=True).plane_bytes == 0
    assert _arrays.image_of(OnGpu((20, 30, 3)), planes=True).plane_bytes == 0
    with pytest.raises(gh.InvalidArgument, match=r"permute\(1, 2, 0\)"):
        gh.normalize(OnGpu((3, 20, 30)), layout="CHW", out=OnGpu((3, 20, 30)))


def test_planes_elsewhere_than_the_image_are_refused():
    image, there = np.zeros((20, 30), np.uint8), OnGpu((20, 30))
    with pytest.raises(ValueError, match="regions: .*host"):
        gh.regions(there, image)
    with pytest.raises(ValueError, match="labels: on GPU 0"):
        gh.regions(image, there)
    with pytest.raises(ValueError, match="mask: on the host, but the image is on GPU 0"):
        gh.normalize(there, mask=image, out=there)
    with pytest.raises(ValueError, match="an array has none"):
        gh.normalize(there, nodata="tag", out=there)


def test_other_devices_are_refused():
    class Elsewhere:
        def __dlpack_device__(self):
            return 10, 0

        def __dlpack__(self, **_):
            raise AssertionError

    with pytest.raises(ValueError, match="device 10"):
        gh.measure(Elsewhere())


def test_dlpack_capsules_are_borrowed():
    array = np.arange(60, dtype=np.float32).reshape(3, 4, 5)[:, ::2]
    borrowed = _native.borrow(array.__dlpack__())
    assert (borrowed.shape, borrowed.strides, borrowed.type) == ([3, 2, 5], [20, 10, 1], (2, 32, 1))
    assert borrowed.pointer == array.__array_interface__["data"][0]

    class Played:
        """Says that the host's memory is a GPU's, and gives it on a stream."""

        def __dlpack_device__(self):
            return 2, 3

        def __dlpack__(self, *, stream):
            self.stream = stream
            return array[0].__dlpack__()

    played = Played()
    seen = _arrays.image_of(played, stream=77)
    assert (played.stream, seen.array.gpu, seen.array.type, seen.width, seen.height) == (77, 3, "float32", 5, 2)
    assert seen.array.pointer == array.__array_interface__["data"][0]
    _arrays.image_of(played)
    assert played.stream == 1  # the legacy default one


def test_streams_of_every_library():
    class Torch:
        cuda_stream = 11

    class Cupy:
        ptr = 12

    class Protocol:
        def __cuda_stream__(self):
            return 0, 13

    assert [_arrays.stream_handle(s) for s in (10, Torch(), Cupy(), Protocol())] == [10, 11, 12, 13]
    with pytest.raises(ValueError, match="str is not a CUDA stream"):
        _arrays.stream_handle("main")
    with pytest.raises(ValueError, match="host"):
        gh.measure(np.zeros((3, 3), np.uint8), stream=10)
