"""Images of torch and CuPy on a GPU: nothing is copied to the host, streams are kept, graphs replay. Skipped where there is no GPU;
with GPUHIST_REQUIRE_CUDA set that is a failure."""

import itertools

import numpy as np
import pytest
from conftest import gpu_module

import gpuhist as gh
from gpuhist import _arrays

torch = gpu_module("torch")


@pytest.fixture(params=["uint8", "float32"])
def image(request, rng):
    return rng.normal(120, 30, (123, 457, 3)).clip(0, 255).astype(request.param)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "float16", "float32"])
def test_the_same_numbers_as_on_the_cpu(rng, dtype):
    image = rng.normal(60, 30, (123, 457, 3)).clip(0, 127).astype(dtype)
    there = torch.from_numpy(image).cuda()
    found, expected = gh.measure(there), gh.measure(image)
    assert found.to_dict() == expected.to_dict()
    assert gh.measure(there[..., 0].contiguous()).to_dict() == gh.measure(image[..., 0]).to_dict()
    region = there[5:100, 10:200]
    assert gh.measure(region).to_dict() == gh.measure(image[5:100, 10:200]).to_dict()
    last = there.permute(2, 0, 1)  # channels_last
    assert gh.measure(last, layout="CHW").to_dict() == expected.to_dict()


def test_nothing_is_copied(image):
    there = torch.from_numpy(image).cuda()
    assert _arrays.image_of(there).array.pointer == there.data_ptr()
    torch.cuda.synchronize()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    gh.measure(there)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.zeros(3, 32, 32, dtype=torch.uint8, device="cuda"), "layout"),
        (lambda: torch.zeros(32, 64, 3, dtype=torch.uint8, device="cuda")[:, ::2], "contiguous"),
        (lambda: torch.zeros(32, 32, dtype=torch.int64, device="cuda"), "int64"),
        (lambda: torch.zeros(32, 32, dtype=torch.float64, device="cuda"), "float64"),
        (lambda: torch.zeros(32, 32, dtype=torch.bfloat16, device="cuda"), "bfloat16"),
        (lambda: torch.zeros(32, 32, 5, dtype=torch.uint8, device="cuda"), "layout"),
    ],
)
def test_refused_with_the_remedy(make, words):
    with pytest.raises(ValueError, match=words):
        gh.measure(make())


def test_planes_are_refused_with_the_remedy():
    planes = torch.zeros(3, 32, 32, dtype=torch.uint8, device="cuda")
    labels = torch.zeros(32, 32, dtype=torch.uint8, device="cuda")
    out = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    with pytest.raises(ValueError, match="permute"):
        gh.normalize(planes, layout="CHW")
    with pytest.raises(ValueError, match="permute"):
        gh.Analyzer().enqueue(planes[None], layout="NCHW", out=out)
    with pytest.raises(ValueError, match="permute"):
        gh.RegionAnalyzer(pixels=1024, regions=4, channels=3, labels="u8").enqueue(planes[None], labels[None], layout="NCHW", out=out)
    with pytest.raises(ValueError, match="adjacent"):
        gh.measure(planes[:, :, ::2], layout="CHW")
    with pytest.raises(ValueError, match="planar_pixels"):
        gh.Analyzer(planar_pixels=1023).enqueue(planes[None], layout="NCHW", out=out)
    with pytest.raises(ValueError, match="engine cpu"):
        gh.measure(planes.permute(1, 2, 0).contiguous(), engine="cpu")


DTYPES = ["uint8", "int8", "uint16", "int16", "float16", "float32"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_channels_in_planes(rng, dtype, channels):
    images = rng.normal(60, 30, (5, channels, 41, 57)).clip(0, 127).astype(dtype)
    masks = rng.integers(0, 2, (5, 41, 57), np.uint8)
    there, over = torch.from_numpy(images).cuda(), torch.from_numpy(masks).cuda()
    expected = gh.measure_batch(images, layout="NCHW")
    for one, right in zip(there, expected):
        assert gh.measure(one, layout="CHW").to_dict() == right.to_dict()
    found = gh.measure_batch(there, layout="NCHW")
    assert [one.to_dict() for one in found] == [one.to_dict() for one in expected]
    blue_first = gh.measure(there[0], layout="CHW", order="BGR")
    assert blue_first.to_dict() == gh.measure(images[0], layout="CHW", order="BGR").to_dict()
    part = gh.measure(there[1, :, 3:30, 5:50], layout="CHW")  # rows and planes with gaps
    assert part.to_dict() == gh.measure(images[1, :, 3:30, 5:50], layout="CHW").to_dict()
    every_other = gh.measure_batch(there[::2], layout="NCHW")
    assert [one.to_dict() for one in every_other] == [one.to_dict() for one in expected[::2]]
    rules = {"nodata": 60, "valid": (5, 100)}
    expected = gh.measure_batch(images, layout="NCHW", mask=masks, **rules)
    found = gh.measure_batch(there, layout="NCHW", mask=over, **rules)
    assert [one.to_dict() for one in found] == [one.to_dict() for one in expected]
    if dtype in ("uint8", "uint16"):
        found = gh.measure(there[2], layout="CHW", alpha="weight")
        assert found.to_dict() == gh.measure(images[2], layout="CHW", alpha="weight").to_dict()
    for at_once in (1, 2, 5):  # images that are interleaved together
        an = gh.Analyzer(channels=channels, depth=_arrays.DEPTHS[dtype], planar_pixels=at_once * 41 * 57, pixels=41 * 57, **rules)
        out = torch.empty(5 * an.layout.bytes, dtype=torch.uint8, device="cuda")
        an.enqueue(there, mask=over, layout="NCHW", out=out)
        assert [one.to_dict() for one in an.read(out, width=57, height=41)] == [one.to_dict() for one in expected]
        an.enqueue(there.permute(0, 2, 3, 1).contiguous(), mask=over, out=out)
        assert [one.to_dict() for one in an.read(out, width=57, height=41)] == [one.to_dict() for one in expected]


def test_planes_of_other_libraries(rng):
    cupy = gpu_module("cupy")
    image = rng.integers(0, 256, (3, 41, 57), np.uint8)
    there, expected = cupy.asarray(image), gh.measure(image, layout="CHW").to_dict()

    class Exporter:
        """Only DLPack, no CUDA array interface."""

        def __dlpack__(self, **asked):
            return there.__dlpack__(**asked)

        def __dlpack_device__(self):
            return there.__dlpack_device__()

    assert gh.measure(there, layout="CHW").to_dict() == expected
    assert gh.measure(Exporter(), layout="CHW").to_dict() == expected
    pixels = there.transpose(1, 2, 0)  # the same planes
    assert gh.measure(pixels).to_dict() == expected


def test_planes_in_a_graph(rng):
    an = gh.Analyzer(planar_pixels=50 * 60)
    images = torch.zeros(2, 3, 50, 60, dtype=torch.uint8, device="cuda")
    out = torch.empty(2 * an.layout.bytes, dtype=torch.uint8, device="cuda")
    an.enqueue(images, layout="NCHW", out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        an.enqueue(images, layout="NCHW", out=out)
    for _ in range(3):
        values = rng.integers(0, 256, (2, 3, 50, 60), np.uint8)
        images.copy_(torch.from_numpy(values))
        graph.replay()
        torch.cuda.synchronize()
        expected = gh.measure_batch(values, layout="NCHW")
        assert [one.to_dict() for one in an.read(out)] == [one.to_dict() for one in expected]


@pytest.mark.parametrize("dtype", DTYPES)
def test_samples_that_do_not_count(rng, dtype):
    image = rng.normal(60, 30, (123, 457, 4)).clip(0, 127).astype(dtype)
    image[..., 3] = image[..., 3] > 40
    mask = image[..., 0] > 20
    there, over = torch.from_numpy(image).cuda(), torch.from_numpy(mask).cuda()
    rules = [
        {"nodata": 60},
        {"valid": (10, 100), "nodata": {"red": [50, 51], "alpha": 0}},
        {"nodata": 60, "nodata_any": True},
        {"alpha": "mask"},
        {"alpha": "ignore", "valid": {"green": (20, 70)}},
    ]
    for one in rules:
        for options, beside in ((one, one), ({"mask": over, **one}, {"mask": mask, **one})):
            expected = gh.measure(image, **beside).to_dict()
            assert gh.measure(there, **options).to_dict() == expected
            assert gh.measure(image, engine="cuda", **beside).to_dict() == expected
        an = gh.Analyzer(channels=4, depth=_arrays.DEPTHS[dtype], pixels=mask.size, **one)
        out = torch.empty(an.layout.bytes, dtype=torch.uint8, device="cuda")
        an.enqueue(there, mask=over, out=out)
        assert an.read(out, width=457, height=123)[0].to_dict() == expected
    with pytest.raises(ValueError, match="pixels"):
        gh.Analyzer(channels=4, depth=_arrays.DEPTHS[dtype], nodata=1).enqueue(there, out=out)
    if dtype not in ("uint8", "uint16"):
        with pytest.raises(ValueError, match="weight"):
            gh.measure(there, alpha="weight")
    with pytest.raises(ValueError, match="tag"):
        gh.measure(there, nodata="tag")
    with pytest.raises(ValueError, match="mask: on GPU 0"):
        gh.measure(image, mask=over)
    with pytest.raises(ValueError, match="mask: on the host, but the image is on GPU 0"):
        gh.measure(there, mask=mask)


@pytest.mark.parametrize("mode", ["minmax", "percentile", "equalize", "zscore"])
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
def test_copies_are_made_from_what_counts(rng, dtype, mode):
    image = rng.normal(60, 30, (123, 457, 4)).clip(0, 127).astype(dtype)
    image[..., 3] = image[..., 3] > 40
    mask = image[..., 0] > 20
    there, over = torch.from_numpy(image).cuda(), torch.from_numpy(mask).cuda()
    converted = mode == "zscore" and dtype != "float32"
    for rules in ({}, {"nodata": 60, "alpha": "mask"}, {"valid": {"green": (20, 70)}, "nodata_any": True}):
        for channels in ("joint", "separate"):
            for apply_to, fill in itertools.product(("all",) if converted else ("all", "valid"), (None, 0)):
                options = {"channels": channels, "apply_to": apply_to, "fill": fill, **rules}
                made = gh.normalize(there, mode, mask=over, **options)
                assert made.device == there.device
                expected = gh.normalize(image, mode, mask=mask, **options)
                assert np.array_equal(made.cpu().numpy(), expected, equal_nan=True)
        an = gh.Analyzer(channels=4, depth=_arrays.DEPTHS[dtype], normalize=mode, pixels=mask.size, **rules)
        batch, masks = torch.stack([there, there.flip(0)]), torch.stack([over, over.flip(1)])
        out = torch.empty(2 * an.layout.bytes, dtype=torch.uint8, device="cuda")
        copies = torch.empty(batch.shape, dtype=made.dtype, device="cuda")
        an.enqueue(batch, mask=masks, out=out, copy=copies)
        found = an.read(out, width=457, height=123)
        for i in range(2):
            one, beside = batch[i].cpu().numpy(), masks[i].cpu().numpy()
            normalized = gh.normalize(one, mode, mask=beside, **rules)
            assert np.array_equal(copies[i].cpu().numpy(), normalized, equal_nan=True)
            expected = gh.measure(one, mask=beside, **rules)
            assert found[i].red.valid == expected.red.valid and found[i].red.mean == expected.red.mean
    assert np.array_equal(gh.normalize(there, mode, fill=0).cpu().numpy(), gh.normalize(image, mode, fill=0))
    if dtype != "float32":
        made = gh.normalize(there, mode, mask=over, alpha="weight").cpu().numpy()
        assert np.array_equal(made, gh.normalize(image, mode, mask=mask, alpha="weight"))
    if converted:
        with pytest.raises(ValueError, match="cannot stay"):
            gh.normalize(there, mode, mask=over, apply_to="valid")
    else:
        same = there.clone()
        gh.normalize(same, mode, mask=over, apply_to="valid", out=same)
        assert np.array_equal(same.cpu().numpy()[~mask], image[~mask])


@pytest.mark.parametrize("mode", ["match", "robust", "threshold", "background", "clahe", "auto-gamma", "minmax"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "float16", "float32"])
def test_copies_that_wait(rng, dtype, mode):
    image = rng.normal(60, 30, (123, 457, 3)).clip(0, 127).astype(dtype)
    mask = image[..., 0] > 20
    options = {"reference": image[::2, ::2] // 2 + 3} if mode == "match" else {}
    if mode == "clahe" and dtype.startswith("float"):
        pytest.skip("clahe is for integers")
    there, over = torch.from_numpy(image).cuda(), torch.from_numpy(mask).cuda()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        later = there.clone()  # is there when the stream comes to it
        made = gh.normalize(later, mode, **options)
    stream.synchronize()
    assert np.array_equal(made.cpu().numpy(), gh.normalize(image, mode, **options), equal_nan=True)
    for rules in ({"nodata": 60}, {"valid": (20, 70), "nodata_any": True}):
        made = gh.normalize(there, mode, mask=over, **rules, **options)
        expected = gh.normalize(image, mode, mask=mask, **rules, **options)
        assert np.array_equal(made.cpu().numpy(), expected, equal_nan=True)
    out = there.clone()
    if made.dtype == there.dtype:
        assert gh.normalize(out, mode, out=out, **options) is out
        assert np.array_equal(out.cpu().numpy(), gh.normalize(image, mode, **options), equal_nan=True)
    if dtype.startswith("float"):
        with pytest.raises(ValueError, match="device memory"):
            gh.normalize(there, "stretch", interval="zscale")


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_alpha_weighs(rng, dtype, channels):
    images = rng.integers(0, np.iinfo(dtype).max + 1, (2, 123, 457, channels)).astype(dtype)
    images[..., -1][rng.random((2, 123, 457)) < 0.3] = 0
    masks = rng.integers(0, 2, (2, 123, 457), np.uint8)
    there, over = torch.from_numpy(images).cuda(), torch.from_numpy(masks).cuda()
    found, expected = gh.measure(there[0], alpha="weight"), gh.measure(images[0], alpha="weight", layout="HWC")
    assert found.to_dict() == expected.to_dict()
    name = "gray" if channels == 1 else "red"
    weights = images[0, ..., 3] if channels == 4 else np.full((123, 457), np.iinfo(dtype).max)
    assert found[name].weight == weights.sum(dtype=np.uint64)
    assert found[name].mean == pytest.approx(np.average(images[0, ..., 0].astype(float), weights=weights), rel=1e-12)
    rules = {"alpha": "weight", "nodata": 7, "valid": (3, 200)}
    an = gh.Analyzer(channels=channels, depth=_arrays.DEPTHS[dtype], pixels=1, **rules)
    out = torch.empty(2 * an.layout.bytes, dtype=torch.uint8, device="cuda")
    an.enqueue(there, mask=over, out=out)
    for found, image, mask in zip(an.read(out, width=457, height=123), images, masks):
        assert found.to_dict() == gh.measure(image, mask=mask, layout="HWC", **rules).to_dict()


@pytest.mark.parametrize("dtype", DTYPES)
def test_pixels_that_a_mask_leaves(rng, dtype):
    image = rng.normal(60, 30, (123, 457, 3)).clip(0, 127).astype(dtype)
    there = torch.from_numpy(image).cuda()
    an = gh.Analyzer(channels=3, depth=_arrays.DEPTHS[dtype])
    out = torch.empty(an.layout.bytes, dtype=torch.uint8, device="cuda")
    wide = torch.from_numpy(rng.integers(0, 2, (123, 500), np.uint8)).cuda()
    for over in (torch.from_numpy(image[..., 0] > 50).cuda(), wide[:, 7:464]):
        expected = gh.measure(image, mask=over.cpu().numpy()).to_dict()
        assert expected["red"]["masked"] > 0
        assert gh.measure(there, mask=over).to_dict() == expected
        an.enqueue(there, mask=over, out=out)
        assert an.read(out, width=457, height=123)[0].to_dict() == expected
    batch = torch.stack([there, there.flip(0)])
    out = torch.empty(2 * an.layout.bytes, dtype=torch.uint8, device="cuda")
    masks = torch.stack([over, over.flip(1)])
    an.enqueue(batch, mask=masks, out=out)
    for one, beside, found in zip(batch, masks, an.read(out, width=457, height=123)):
        assert found.to_dict() == gh.measure(one.cpu().numpy(), mask=beside.cpu().numpy()).to_dict()
    with pytest.raises(ValueError, match="contiguous"):
        gh.measure(there, mask=wide.t().contiguous().t()[:, :457])
    with pytest.raises(ValueError, match="shape"):
        gh.measure(there, mask=wide)


@pytest.mark.parametrize(
    ("dtype", "channels"),
    [
        ("uint8", 1),
        ("uint16", 1),
        ("int16", 3),
        ("uint8", 4),
        ("int32", 1),
        ("float16", 3),
        ("float32", 1),
        ("float32", 4),
        ("float64", 3),
    ],
)
def test_regions(rng, dtype, channels):
    if np.issubdtype(dtype, np.floating):
        bounds = -1000, 1000
        images = rng.normal(5, 300, (3, 60, 80, channels)).round(1).astype(dtype)
        images.flat[::97], images.flat[5::89], images.flat[7::101] = np.nan, np.inf, 5
    else:
        info = np.iinfo(dtype)
        bounds = int(info.min) // 2, int(info.max) // 2
        images = rng.integers(info.min, info.max, (3, 60, 80, channels), dtype, endpoint=True)
    labels = rng.integers(0, 40, (3, 60, 80), np.int32) * 1000

    def analyzer(pixels=3 * 60 * 80, regions=200, images=3, **options):
        options |= {"channels": channels, "depth": _arrays.DEPTHS[dtype], "labels": "s32", "percentiles": (50, 99)}
        return gh.RegionAnalyzer(pixels=pixels, regions=regions, images=images, **options)

    an = analyzer(masks=True)
    out = torch.empty(an.layout.bytes, dtype=torch.uint8, device="cuda")
    there, over = torch.from_numpy(images).cuda(), torch.from_numpy(labels).cuda()

    def check(found, image, expected):
        found = found[found["image"] == image]
        assert found["label"].tolist() == list(expected)
        for row, region in zip(found, expected.values()):
            assert (*region.box, region.area) == tuple(row[n] for n in ("x", "y", "width", "height", "area"))
            for name, numbers in region.items():
                if name == "all":
                    continue
                assert row[f"{name}_valid"] == numbers.valid
                for key in ("nodata", "nan", "inf", "min", "max", "mean", "std", "median", "p99"):
                    assert row[f"{name}_{key}"] == getattr(numbers, key)

    an.enqueue(there, over, out=out)
    found = an.read(out)
    for i in range(3):
        check(found, i, gh.regions(images[i], labels[i], percentile_columns=(50, 99), layout="HWC"))
    mask = rng.integers(0, 2, (3, 60, 80), np.uint8)
    an.enqueue(there, over, mask=torch.from_numpy(mask).cuda(), out=out)
    found = an.read(out)
    for i in range(3):
        check(found, i, gh.regions(images[i], labels[i], mask=mask[i], percentile_columns=(50, 99), layout="HWC"))
    small = analyzer(pixels=60 * 80, regions=3, images=1)
    small.enqueue(there[1], over[1], out=out)
    with pytest.raises(ValueError, match="39 regions: there is room for 3"):
        small.read(out)
    with pytest.raises(ValueError, match="labels: shape"):
        an.enqueue(there, over[0], out=out)
    with pytest.raises(ValueError, match="RegionAnalyzer"):
        gh.regions(there[0], over[0])
    rules = {"nodata": 5, "valid": bounds}
    few = analyzer(largest_label=39, **rules)
    out = torch.empty(few.layout.bytes, dtype=torch.uint8, device="cuda")
    few.enqueue(there, torch.from_numpy(labels // 1000).cuda(), out=out)
    found = few.read(out)
    for i in range(3):
        check(found, i, gh.regions(images[i], labels[i] // 1000, percentile_columns=(50, 99), layout="HWC", **rules))


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_regions_weighted_by_alpha(rng, dtype):
    image = rng.integers(0, 200, (60, 80, 4), dtype)
    labels = rng.integers(0, 9, (60, 80), np.uint8)
    options = {"channels": 4, "depth": _arrays.DEPTHS[dtype], "labels": "u8", "percentiles": (50, 99)}
    an = gh.RegionAnalyzer(pixels=60 * 80, regions=9, alpha="weight", **options)
    out = torch.empty(an.layout.bytes, dtype=torch.uint8, device="cuda")
    an.enqueue(torch.from_numpy(image).cuda(), torch.from_numpy(labels).cuda(), out=out)
    found = an.read(out)
    assert "alpha_mean" not in found.dtype.names
    expected = gh.regions(image, labels, alpha="weight", percentile_columns=(50, 99), layout="HWC")
    assert found["label"].tolist() == list(expected)
    for row, region in zip(found, expected.values()):
        for name in ("red", "green", "blue", "luma"):
            numbers = region[name].to_dict()
            for key in ("valid", "weight", "min", "max", "mean", "std", "wp50", "wp99"):
                assert row[f"{name}_{key}"] == numbers[key]


def test_regions_of_refused_labels():
    an = gh.RegionAnalyzer(pixels=64, regions=9, labels="s32")
    out = torch.empty(an.layout.bytes, dtype=torch.uint8, device="cuda")
    over = torch.ones(8, 8, dtype=torch.int32, device="cuda")
    over[0, 0] = -1
    an.enqueue(over.to(torch.uint8), over, out=out)
    with pytest.raises(ValueError, match="1 pixels"):
        an.read(out)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_color_spaces(rng, dtype, channels):
    image = (rng.random((61, 83, channels)) * (1 if dtype.startswith("float") else np.iinfo(dtype).max)).astype(dtype)
    there = torch.from_numpy(image).cuda()
    for space in ("hsv", "ycbcr", "lab", "xyz", "linear", "oklab"):
        expected = gh.convert_colors(image, space)
        found = gh.convert_colors(there, space)
        assert found.is_cuda and found.cpu().numpy().tobytes() == expected.tobytes()
        found = gh.convert_colors(there[3:50, 5:70], space, order="BGR", linear=True)
        assert (found.cpu().numpy() == gh.convert_colors(image[3:50, 5:70], space, order="BGR", linear=True)).all()
    with pytest.raises(gh.InvalidArgument, match="convert_colors"):
        gh.measure(there, space="lab")


def test_work_on_the_current_stream_is_seen(rng):
    values = torch.from_numpy(rng.integers(0, 256, (4000, 4000), np.uint8)).cuda()
    expected = gh.measure(values.cpu().numpy())
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for given in (None, stream):
        image = torch.zeros_like(values)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(200_000_000)
            image.copy_(values)
            if given is None:
                assert gh.measure(image).to_dict() == expected.to_dict()
        if given is not None:
            assert gh.measure(image, stream=stream).to_dict() == expected.to_dict()


def test_other_streams_are_not_waited_for():
    image = torch.zeros(64, 64, dtype=torch.uint8, device="cuda")
    gh.measure(image)
    torch.cuda.synchronize()
    busy, own = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(2_000_000_000)
        done = torch.cuda.Event()
        done.record()
    with torch.cuda.stream(own):
        gh.measure(image)
    assert not done.query()


def test_enqueue_and_read(rng):
    images = rng.integers(0, 256, (5, 33, 44, 3), np.uint8)
    there = torch.from_numpy(images).cuda()
    an = gh.Analyzer(channels=3)
    out = torch.empty(5 * an.layout.bytes, dtype=torch.uint8, device="cuda")
    an.enqueue(there, out=out)
    for found, image in zip(an.read(out), images):
        assert found.to_dict() == gh.measure(image).to_dict()
    with pytest.raises(ValueError, match="take"):
        an.enqueue(there, out=out[:-1])
    with pytest.raises(ValueError, match="uint8"):
        an.enqueue(there, out=out.view(torch.int32))
    with pytest.raises(ValueError, match="host"):
        an.enqueue(images, out=out)


def test_a_graph_replays_on_new_pixels(rng):
    an = gh.Analyzer(channels=1)
    image = torch.zeros(50, 60, dtype=torch.uint8, device="cuda")
    out = torch.empty(an.layout.bytes, dtype=torch.uint8, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        an.enqueue(image, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        an.enqueue(image, out=out)
    for _ in range(3):
        values = rng.integers(0, 256, (50, 60), np.uint8)
        image.copy_(torch.from_numpy(values))
        graph.replay()
        torch.cuda.synchronize()
        assert an.read(out)[0].to_dict() == gh.measure(values).to_dict()


@pytest.mark.parametrize("mode", ["minmax", "percentile", "equalize", "zscore"])
def test_normalized_copies(image, mode):
    there = torch.from_numpy(image).cuda()
    made = gh.normalize(there, mode)
    assert made.device == there.device
    assert np.array_equal(made.cpu().numpy(), gh.normalize(image, mode))


def test_cupy_and_dlpack_both_ways(image):
    cupy = gpu_module("cupy")
    expected = gh.measure(image).to_dict()
    there = cupy.asarray(image)
    assert gh.measure(there).to_dict() == expected
    with cupy.cuda.Stream(non_blocking=True):
        assert gh.measure(there).to_dict() == expected

    class Exporter:
        """Only DLPack, no CUDA array interface."""

        def __dlpack__(self, **asked):
            return there.__dlpack__(**asked)

        def __dlpack_device__(self):
            return there.__dlpack_device__()

    assert gh.measure(Exporter()).to_dict() == expected
    made = gh.normalize(there, "equalize")
    assert isinstance(made, cupy.ndarray) and np.array_equal(cupy.asnumpy(made), gh.normalize(image, "equalize"))
    assert gh.measure(torch.from_dlpack(made)).to_dict() == gh.measure(made).to_dict()


def test_a_fork_raises():
    import multiprocessing

    gh.measure(torch.zeros(4, 4, dtype=torch.uint8, device="cuda"))
    with multiprocessing.get_context("fork").Pool(1) as pool, pytest.raises(gh.CudaError, match="spawn"):
        pool.apply(gh.measure, (np.zeros((4, 4), np.uint8),), {"engine": "cuda"})


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches(rng, dtype):
    images = rng.normal(60, 30, (5, 40, 50, 3)).clip(0, 127).astype(dtype)
    masks = rng.integers(0, 2, (5, 40, 50), np.uint8)
    there, over = torch.from_numpy(images).cuda(), torch.from_numpy(masks).cuda()

    def same(found, expected):
        assert [one.to_dict() for one in found] == [one.to_dict() for one in expected]

    same(gh.measure_batch(there), gh.measure_batch(images))
    same(gh.measure_batch(there[1:4]), gh.measure_batch(images[1:4]))
    same(gh.measure_batch(there, mask=over, valid=(5, 100)), gh.measure_batch(images, mask=masks, valid=(5, 100)))
    same(gh.measure_batch(there[..., 0].contiguous()), gh.measure_batch(images[..., 0]))
    last = there.permute(0, 3, 1, 2)  # channels_last
    same(gh.measure_batch(last, layout="NCHW"), gh.measure_batch(images))
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        same(gh.measure_batch(there), gh.measure_batch(images))
    same(gh.measure_batch(images, engine="cuda"), gh.measure_batch(images))
    same(gh.measure_batch(last.contiguous(), layout="NCHW"), gh.measure_batch(images))
    with pytest.raises(ValueError, match="engine cpu"):
        gh.measure_batch(there, engine="cpu")


@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize("mode", ["minmax", "equalize", "zscore"])
@pytest.mark.parametrize("channels", ["joint", "separate"])
def test_tables_of_a_series(rng, library, dtype, mode, channels):
    cupy = pytest.importorskip("cupy") if library == "cupy" else None
    images = rng.normal(60, 20, (3, 40, 50, 3)).clip(1, 126).astype(dtype)
    lut = gh.Lut.fit(gh.measure_batch(images), mode, channels=channels)

    def to_gpu(array):
        return cupy.asarray(array) if cupy else torch.from_numpy(array).cuda()

    def to_host(array):
        return array.get() if cupy else array.cpu().numpy()

    image = images[1]
    there, expected = to_gpu(image), lut.apply(image)
    found = lut.apply(there)
    assert type(found) is type(there) and np.array_equal(to_host(found), expected)
    planes = lut.apply(there.transpose(2, 0, 1) if cupy else there.permute(2, 0, 1), layout="CHW")
    assert np.array_equal(to_host(planes), np.moveaxis(expected, -1, 0))
    assert np.array_equal(to_host(lut.apply(to_gpu(image[..., ::-1].copy()), order="BGR")), expected[..., ::-1])
    out = to_gpu(np.zeros_like(expected))
    assert lut.apply(there, out=out) is out and np.array_equal(to_host(out), expected)
    alpha = np.concatenate([image, image[..., :1]], -1)
    if mode != "zscore":
        assert np.array_equal(to_host(lut.apply(to_gpu(alpha))), lut.apply(alpha))
    gray = gh.Lut.fit(gh.measure_batch(images[..., 0].copy()), mode)
    assert np.array_equal(to_host(gray.apply(to_gpu(image[..., 0].copy()))), gray.apply(image[..., 0]))
    with pytest.raises(ValueError, match="rules"):
        lut.apply(there, valid=(0, 100))


def test_tables_that_need_the_host(rng):
    image = rng.normal(60, 20, (20, 30)).astype(np.float32)
    lut = gh.Lut.fit([gh.measure(image)])
    with pytest.raises(ValueError, match="copy the array to the host"):
        lut.apply(torch.from_numpy(image).cuda())


def test_a_loader_with_workers(rng):
    """Workers of a DataLoader that are forks measure on the CPU; the main process measures the batches on the GPU."""
    images = rng.integers(0, 256, (40, 12, 10, 3), np.uint8)

    class Measured(torch.utils.data.Dataset):
        def __len__(self):
            return len(images)

        def __getitem__(self, place):
            return images[place], gh.measure(images[place]).red.mean

    total = gh.Summary()
    for batch, means in torch.utils.data.DataLoader(Measured(), batch_size=16, num_workers=2):
        results = gh.measure_batch(batch.cuda())
        assert [one.red.mean for one in results] == means.tolist()
        total += gh.Summary(results)
    assert np.allclose(total.mean_std()[0], images.reshape(-1, 3).mean(0) / 255, rtol=1e-12)
