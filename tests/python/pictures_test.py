"""Plots, notebooks, and wide tables of regions."""

import re
import xml.etree.ElementTree

import numpy as np
import pytest
from skimage.measure import regionprops_table

import gpuhist as gh


@pytest.fixture
def image(rng):
    return rng.integers(0, 256, (40, 50, 3), np.uint8)


@pytest.fixture
def labels(rng):
    return rng.integers(0, 30, (40, 50), np.int32)


def test_svg(image, tmp_path, command):
    picture = gh.measure(image).svg("a & b")
    root = xml.etree.ElementTree.fromstring(picture)
    assert root.tag.endswith("svg") and "a &amp; b" in picture
    assert "50 × 40" in gh.measure(image).svg()
    with pytest.raises(FileNotFoundError):
        next(gh.measure_many(tmp_path / "none.png")).svg()


def test_plot(image):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    result = gh.measure(image)
    axes = result.plot()
    drawn = {patch.get_label(): patch.get_data() for patch in axes.patches}
    assert list(drawn) == ["red", "green", "blue", "luma"]
    for i, name in enumerate(("red", "green", "blue")):
        counts, edges = np.histogram(image[..., i], np.arange(257))
        assert np.array_equal(drawn[name].values, counts) and np.array_equal(drawn[name].edges, edges)
    figure, mine = pyplot.subplots()
    assert result.plot(mine, bins=16, range=(0, 256), log=True) is mine and mine.get_yscale() == "log"
    assert len(mine.patches[0].get_data().values) == 16
    assert list(patch.get_label() for patch in gh.measure(image[..., 0]).plot().patches) == ["gray"]
    pyplot.close("all")


def cells_of(html: str) -> list[list[str]]:
    return [re.findall(r"<t[hd]>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_notebooks(image, labels, tmp_path):
    found = gh.regions(image, labels)
    head, *rows = cells_of(found._repr_html_())
    assert head == ["label", "area", "x", "y", "width", "height", *(f"mean of {name}" for name in found[1])]
    assert len(rows) == 20 and "29 regions" in found._repr_html_() and "and 9 more" in found._repr_html_()
    assert [row[0] for row in rows] == [str(i) for i in range(1, 21)]
    assert float(rows[4][6]) == pytest.approx(image[..., 0][labels == 5].mean(), rel=1e-5)
    assert gh.regions(image, np.zeros((40, 50), np.uint8))._repr_html_().startswith("<div><p>0 regions")
    total = gh.Summary([gh.measure(image), gh.measure(image[..., 0].astype(np.uint16)), next(gh.measure_many(tmp_path / "x.png"))])
    head, *rows = cells_of(total._repr_html_())
    assert head[:3] == ["channel", "images", "valid"] and [row[0] for row in rows][-1] == "u16 gray"
    assert float(rows[0][head.index("mean")]) == pytest.approx(image[..., 0].mean(), rel=1e-5)
    assert "1 failed: missing" in total._repr_html_()


def test_wide_tables(image, labels):
    pandas = pytest.importorskip("pandas")
    wide = gh.regions(image, labels).to_pandas(wide=True)
    theirs = pandas.DataFrame(regionprops_table(labels, image, properties=("label", "area", "bbox", "intensity_mean", "intensity_max")))
    both = wide.merge(theirs, on="label", suffixes=("", "_theirs"))
    assert len(both) == len(wide) == len(theirs) == 29
    assert (both["area"] == both["area_theirs"]).all()
    assert (both["x"] == both["bbox-1"]).all() and (both["y"] + both["height"] == both["bbox-2"]).all()
    for i, name in enumerate(("red", "green", "blue")):
        assert np.allclose(both[f"{name}_mean"], both[f"intensity_mean-{i}"], rtol=1e-12)
        assert (both[f"{name}_max"] == both[f"intensity_max-{i}"]).all()
    assert not any("wp" in name or "weight" == name[-6:] for name in wide.columns)
    long = gh.regions(image, labels).to_pandas()
    assert (long[long["channel"] == "luma"]["p95"].to_numpy() == wide["luma_p95"].to_numpy()).all()


def test_wide_tables_of_other_kinds(image, labels):
    pytest.importorskip("pandas")
    gray = gh.regions(image[..., 0], labels, percentile_columns=[12.5], robust=True).to_pandas(wide=True)
    assert {"label", "gray_mean", "gray_p12.5", "gray_mad", "gray_clipped_mean"} < set(gray.columns)
    alpha = np.concatenate([image, image[..., :1]], -1)
    weighted = gh.regions(alpha, labels, alpha="weight").to_pandas(wide=True)
    assert weighted["red_weight"].iloc[0] == alpha[..., 3][labels == 1].sum()
    empty = gh.regions(image, np.zeros((40, 50), np.uint8)).to_pandas(wide=True)
    assert len(empty) == 0 and "label" in empty.columns
