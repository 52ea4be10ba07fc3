"""Ray: whatever dies on a cluster of two nodes, the results are byte for byte those of one run on one machine."""

import csv
import os
import re
import random
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

# A loaded machine takes its time to start a node.
os.environ.update(RAY_raylet_start_wait_time_s="300", RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0")
import ray
from ray import cluster_utils

import gpuhist as gh
import gpuhist.ray
from gpuhist import shards

SHARDS = 6

# What goes wrong, in the command as a worker runs it: once, where the file `fault` is there, which it takes away.
FAULT = '''
import os, pathlib, signal, sys, time
if "--die-with-parent" in sys.orig_argv:
    folder = pathlib.Path(os.environ["GPUHIST_TEST_FAULTS"])
    worker = os.getppid()
    raylet = int(pathlib.Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
    for kind in ("child", "worker", f"node-{raylet}"):
        try:
            os.rename(folder / kind, folder / f"{kind}-done")
        except FileNotFoundError:
            continue
        if kind == "child":
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "worker":
            os.kill(worker, signal.SIGKILL)
        time.sleep(600)  # until its node is removed
'''


def make_images(folder: Path) -> None:
    """600 images of three kinds in directories, of which some are damaged, and some none at all."""
    random.seed(4)
    for i in range(600):
        width, height = random.randrange(1, 30), random.randrange(1, 30)
        channels, wide = random.choice((1, 3)), random.choice((1, 2))
        data = f"P{5 if channels == 1 else 6} {width} {height} {255 if wide == 1 else 65535}\n".encode()
        data += random.randbytes(width * height * channels * wide)
        data = {0: data[:-1], 1: b"no image"}.get(i % 50, data)
        path = folder / random.choice(("", "a", "a/b", "c d")) / f"{i}.{'pgm' if channels == 1 else 'ppm'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def make_masked_tiff(path: Path) -> None:
    """A TIFF of a gray image, and beside it the mask of half of it."""
    for name, bits, data in ((path, 8, bytes(range(64))), (path.with_name(f"{path.name}.msk"), 1, b"\xf0" * 8)):
        tags = {256: 8, 257: 8, 258: bits, 259: 1, 262: 1, 273: 8, 277: 1, 278: 8, 279: len(data)}
        fields = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
        directory = struct.pack("<H", len(tags)) + fields + bytes(4)
        name.write_bytes(b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory)


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Folder with images, their manifest, and what one run makes of them; it is the working directory."""
    folder = tmp_path_factory.mktemp("ray")
    (folder / "sitecustomize.py").write_text(FAULT)
    (folder / "faults").mkdir()
    make_images(folder / "images")
    make_masked_tiff(folder / "images/masked.tif")
    before = os.getcwd()
    os.chdir(folder)
    os.environ["GPUHIST_TEST_FAULTS"] = str(folder / "faults")
    os.environ["PYTHONPATH"] = f"{folder}:{os.environ['PYTHONPATH']}"
    (folder / "tmp").mkdir()
    os.environ.update(TMPDIR=str(folder / "tmp"), RAY_TMPDIR="/tmp")  # whose sockets need short paths
    for words in (["images", "-o", "whole", "--group-by", "dir"], ["manifest", "images", "-o", "m.jsonl"]):
        assert subprocess.run([sys.executable, "-m", "gpuhist", *words, "-q"]).returncode in (0, 1)
    yield folder
    os.chdir(before)


@pytest.fixture(scope="module")
def cluster(work):
    nodes = {"num_cpus": 2, "object_store_memory": 80 << 20}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={**nodes, "include_dashboard": False})
    cluster.add_node(**nodes)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def measure(output: str, manifest: str = "m.jsonl", **more: object) -> list[gpuhist.ray.Progress]:
    seen: list[gpuhist.ray.Progress] = []
    gpuhist.ray.measure(
        manifest, output, shards=SHARDS, arguments=["--group-by", "dir"], progress=seen.append, **more
    )
    return seen


def expect_whole(work: Path, output: str) -> None:
    whole = files_of(work / "whole")
    assert {"stats.csv", "errors.csv", "dataset.csv", "dataset.json", "dataset.histogram.png"} < set(whole)
    found = files_of(work / output)
    # Only results over a manifest name one. The list of files has their lengths.
    assert found.pop(".gpuhist", None) is not None and whole.pop(".gpuhist", None) is not None
    found["dataset.json"], names = re.subn(rb',"manifest":"[0-9a-f]{16}"', b"", found["dataset.json"])
    assert names >= 1
    assert found == whole


def test_results_are_those_of_one_run(work, cluster):
    seen = measure("out")
    expect_whole(work, "out")
    assert [state.done for state in seen] == list(range(1, SHARDS + 1))
    assert (seen[-1].inputs, seen[-1].errors, seen[-1].given_up) == (601, 24, 0)


def test_a_command_that_is_killed_is_run_again(work, cluster):
    (work / "faults/child").touch()
    measure("child")
    assert (work / "faults/child-done").exists()
    expect_whole(work, "child")


def test_a_worker_that_is_killed_loses_nothing(work, cluster):
    (work / "faults/worker").touch()
    measure("worker")
    assert (work / "faults/worker-done").exists()
    expect_whole(work, "worker")
    measure("cleared")  # by the tasks that come after
    assert list((work / "tmp").glob("gpuhist-shard-*")) == []


def test_two_attempts_at_a_part_at_once_make_the_same(work, cluster):
    arguments = ["--group-by", "dir"]
    index = shards.Index.read("m.jsonl")
    task = ray.remote(shards.measure_shard).options(num_cpus=1)
    measured = [
        task.remote("m.jsonl", work / "twice/parts", shard, SHARDS, arguments=arguments, folder=work, index=index)
        for shard in range(1, SHARDS + 1)
        for _ in range(2)
    ]
    results = ray.get(measured)
    assert results[::2] == results[1::2]
    assert sorted(path.name for path in (work / "twice/parts").iterdir()) == sorted(
        f"part-{shard}-of-{SHARDS}.tar" for shard in range(1, SHARDS + 1)
    )
    # Parts are joined by tasks, two at a time, where there are many.
    ray.get(
        [
            ray.remote(shards.join).remote(work / "twice/parts", SHARDS, work / "twice/3", number, 3)
            for number in (1, 2, 3)
        ]
    )
    ray.get(ray.remote(shards.merge).remote(work / "twice/3", 3, work / "merged"))
    expect_whole(work, "merged")


def test_objects_are_brought_and_parts_are_put(work, cluster):
    lines = (work / "m.jsonl").read_text().splitlines()[:-1]
    url = f"file://{work}/images/"
    text = "\n".join(line.replace('{"path":"images/', f'{{"path":"{url}') for line in lines)
    made = [sys.executable, "-m", "gpuhist", "manifest", "--lines", "-", "-q", "-o", "urls.jsonl"]
    subprocess.run(made, input=text.encode(), check=True)
    (work / "urls.jsonl").rename(work / "images/urls.jsonl")
    measure(f"file://{work}/urls", f"file://{work}/images/urls.jsonl", merged_at_once=4)
    whole, found = files_of(work / "whole"), files_of(work / "urls")
    assert set(found) == set(whole)
    rows = csv.DictReader(whole["stats.csv"].decode().splitlines())
    assert [row["valid"] for row in rows if row["path"].endswith("masked.tif")] == ["32"]  # the mask is brought, too
    for name in set(whole) - {".gpuhist"}:  # which has the lengths of the others
        assert re.sub(rb',"manifest":"[0-9a-f]{16}"', b"", found[name].replace(url.encode(), b"images/")) == whole[name], name
    with pytest.raises(gh.InvalidArgument, match="ask for more shards"):
        measure(f"file://{work}/less", f"file://{work}/images/urls.jsonl", temporary_bytes=1000)


def test_what_cannot_be_is_said(work, cluster):
    with pytest.raises(gh.InvalidArgument, match="not a complete manifest"):
        gpuhist.ray.measure("images/0.pgm" if (work / "images/0.pgm").exists() else "sitecustomize.py")
    with pytest.raises(gh.InvalidArgument, match="no option '--group'"):
        gpuhist.ray.measure("m.jsonl", "none", shards=2, arguments=["--group"])
    with pytest.raises(gpuhist.ray.TooManyErrors, match="inputs failed in"):
        measure("few", max_errors=3)
    broken = (work / "m.jsonl").read_bytes().replace(b"images/", b"imagos/", 1)
    (work / "broken.jsonl").write_bytes(broken)
    with pytest.raises(gpuhist.ray.ShardsGivenUp, match="missing or damaged: .*it was changed after it was made") as given_up:
        measure("broken", "broken.jsonl", retries=0)
    assert set(given_up.value.shards) == set(range(1, SHARDS + 1))


def test_a_merge_that_refuses_makes_no_result_of_earlier_ones(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "images").mkdir()
    (tmp_path / "images/good.pgm").write_bytes(b"P5 1 1 255\n\7")
    (tmp_path / "images/bad.pgm").write_bytes(b"no image")
    for earlier in (False, True):
        if earlier:
            command = [sys.executable, "-m", "gpuhist", "images", "-q", "--write", "stats", "-o", "out"]
            assert subprocess.run(command, cwd=tmp_path, stderr=subprocess.DEVNULL).returncode == 1
            assert (tmp_path / "out/errors.csv").exists()
        with pytest.raises(gpuhist.ray.ShardFailed, match="missing or damaged: .*no part-K-of-N.json"):
            shards._command(["merge", "-q", "-o", "out", "parts"], str(tmp_path), tmp_path / "out/errors.csv")


def test_the_shell_measures_too(work, cluster):
    done = subprocess.run(
        [sys.executable, "-m", "gpuhist.ray", "m.jsonl", "-o", "shell", "--shards", "2", "--", "--group-by", "dir"],
        env={**os.environ, "RAY_ADDRESS": cluster.address},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert "gpuhist: 2 of 2 parts, 24 errors, 0 given up" in done.stderr
    expect_whole(work, "shell")


def test_a_node_that_is_removed_loses_nothing(work, cluster):
    node = cluster.add_node(num_cpus=2, object_store_memory=80 << 20)
    raylet = node.all_processes["raylet"][0].process.pid
    fault = work / f"faults/node-{raylet}"
    fault.touch()

    def remove() -> None:
        while fault.exists():
            time.sleep(0.1)
        cluster.remove_node(node, allow_graceful=False)

    removal = threading.Thread(target=remove, daemon=True)
    removal.start()
    measure("node")
    assert not fault.exists()
    removal.join()
    expect_whole(work, "node")
