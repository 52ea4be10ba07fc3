"""Tensors of torch on the host, and loaders whose workers measure."""

import numpy as np
import pytest

import gpuhist as gh

torch = pytest.importorskip("torch")


@pytest.fixture
def images(rng):
    return rng.integers(0, 256, (30, 20, 25, 3), np.uint8)


def test_tensors_are_their_arrays(images):
    batch = torch.from_numpy(images)
    expected = [gh.measure(image) for image in images]
    assert gh.measure_batch(batch) == expected and gh.measure(batch[3]) == expected[3]
    planes = batch.permute(0, 3, 1, 2)
    assert gh.measure_batch(planes, layout="NCHW") == expected  # views in channels_last
    assert gh.measure_batch(planes.contiguous(), layout="NCHW") == expected
    assert gh.measure(planes[5].contiguous(), layout="CHW") == expected[5]
    assert gh.measure(batch[2].flip(0)) == gh.measure(images[2, ::-1])
    mask = batch[..., 0] > 100
    assert gh.measure_batch(batch, mask=mask) == [gh.measure(one, mask=one[..., 0] > 100) for one in images]
    labels = torch.arange(20 * 25).reshape(20, 25) // 50
    assert gh.regions(batch[0], labels) == gh.regions(images[0], labels.numpy())
    out = torch.zeros_like(batch[0])
    assert gh.normalize(batch[0], out=out) is out and np.array_equal(out.numpy(), gh.normalize(images[0]))


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "int16", "int32", "bool"])
def test_types(rng, name):
    array = (rng.normal(0, 50, (20, 25)) > 0) if name == "bool" else rng.normal(0, 50, (20, 25)).astype(name)
    assert gh.measure(torch.from_numpy(array)) == gh.measure(array)
    if name == "float32":
        assert gh.measure(torch.from_numpy(array).requires_grad_()) == gh.measure(array)
        with pytest.raises(gh.InvalidArgument, match=r"bfloat16.*x.float\(\)"):
            gh.measure(torch.from_numpy(array).bfloat16())
        with pytest.raises(gh.InvalidArgument, match="int64"):
            gh.measure(torch.zeros((4, 4), dtype=torch.int64))


class Measured(torch.utils.data.Dataset):
    """Images that workers measure."""

    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return gh.measure(torch.from_numpy(self.images[i]))


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver"])
def test_workers_of_a_loader_measure(images, context):
    expected = gh.Summary([gh.measure(image) for image in images])  # the process has engines before it forks
    loader = torch.utils.data.DataLoader(
        Measured(images), batch_size=4, num_workers=2, collate_fn=gh.Summary, multiprocessing_context=context
    )
    for _ in range(2):
        assert gh.Summary(loader) == expected


@pytest.mark.parametrize("persistent", [False, True])
def test_batches_of_workers_are_measured(images, persistent):
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(images))
    loader = torch.utils.data.DataLoader(dataset, batch_size=7, num_workers=2, persistent_workers=persistent)
    for _ in range(2):
        total = gh.Summary(gh.Summary(gh.measure_batch(batch)) for (batch,) in loader)
        mean, std = total.mean_std()
        pixels = images.reshape(-1, 3) / 255
        assert np.allclose(mean, pixels.mean(0), rtol=1e-12) and np.allclose(std, pixels.std(0), rtol=1e-12)


def test_loaders_while_a_set_is_read(images, data):
    """Workers are forked while the pipeline of a set works, and end while it goes on."""
    results = gh.measure_many(data)
    next(results)
    loader = torch.utils.data.DataLoader(Measured(images), batch_size=4, num_workers=2, collate_fn=gh.Summary)
    assert gh.Summary(loader) == gh.Summary([gh.measure(image) for image in images])
    assert len(list(results)) == len(gh.measure_many(data)) - 1
