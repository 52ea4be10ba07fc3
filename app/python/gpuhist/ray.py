"""Any number of machines: the nodes of a Ray cluster measure the shards of a manifest, and merge the results.

>>> import gpuhist.ray
>>> gpuhist.ray.measure("manifest.jsonl", output="results", shards=1000, num_cpus=4)

``python -m gpuhist.ray`` does the same in a shell. ``pip install gpuhist[ray]`` installs Ray and fsspec.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import dataclasses
import fcntl
import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from . import __version__
from ._errors import Error, InvalidArgument

IN_FLIGHT = 10000  # tasks that Ray has at a time
# By these measurements, one machine merges all parts if that takes less than ten minutes. Else tasks join parts before.
MERGE_SECONDS, SECONDS_A_PART, SECONDS_AN_INPUT = 600, 7e-4, 1.1e-5
JOINED_PARTS = 500


class ShardFailed(Error, RuntimeError):
    """Attempt at a shard or at a merge that ended without a result. Another attempt may succeed."""


class ShardsGivenUp(Error, RuntimeError):
    """Shards that failed at every attempt. ``shards`` has the cause of each. The parts of the other shards are kept,
    and the same call continues with them."""

    def __init__(self, shards: Mapping[int, str]) -> None:
        first = "; ".join(f"{shard}: {cause}" for shard, cause in list(shards.items())[:3])
        super().__init__(f"{len(shards)} shards were given up: {first}")
        self.shards = dict(shards)


class TooManyErrors(Error, RuntimeError):
    """Failed inputs whose number has reached ``max_errors``."""


@dataclasses.dataclass(frozen=True)
class Progress:
    """Progress of a measurement, counted in finished parts."""

    shards: int
    done: int
    inputs: int
    errors: int
    given_up: int


@dataclasses.dataclass(frozen=True)
class Index:
    """Last line of a manifest: the number of the inputs, their weight, and the blocks of bytes that hold their
    lines."""

    line: bytes
    place: int
    inputs: int
    blocks: list[tuple[int, int]]  # bytes, weight
    checksum: str

    @property
    def weight(self) -> int:
        return sum(weight for _, weight in self.blocks)

    @staticmethod
    def read(manifest: str) -> Index:
        fs, path = _filesystem(manifest)
        size, wanted, line = fs.size(path), 1 << 16, b""
        while not line:
            tail = fs.cat_file(path, start=max(0, size - wanted), end=size)
            cut = tail.rfind(b"\n", 0, -1)
            line = tail[cut + 1 :] if cut >= 0 or len(tail) == size else b""
            wanted *= 16
        try:
            last = json.loads(line)
            blocks = [(int(block[0]), int(block[2])) for block in last["blocks"]]
            return Index(line, size - len(line), int(last["inputs"]), blocks, str(last["checksum"]))
        except (ValueError, KeyError, TypeError, IndexError):
            raise InvalidArgument(f"{manifest}: not a complete manifest: 'gpuhist manifest' makes one") from None

    def fetch(self, manifest: str, shard: int, shards: int, to: Path) -> None:
        """Makes a manifest with only the blocks that the shard reads, each at its place. The other blocks are holes."""
        fs, path = _filesystem(manifest)
        first, end = self.weight * (shard - 1) // shards, self.weight * shard // shards
        place = before = 0
        with open(to, "wb") as file:
            for count, weight in self.blocks:
                # A boundary can cut a line. The lines around it decide which of the two shards has that line.
                if before <= end and before + weight >= first:
                    file.seek(place)
                    file.write(fs.cat_file(path, start=place, end=place + count))
                place, before = place + count, before + weight
            file.seek(self.place)
            file.write(self.line)


def _ray() -> Any:
    return importlib.import_module("ray")


def _filesystem(url: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    fs, path = url_to_fs(url)
    return fs, path


def _is_url(path: str) -> bool:
    return "://" in path


def _put(local: Path, url: str) -> None:
    """Makes a file appear complete. Object stores do that by themselves; elsewhere the file gets its name at the
    end."""
    fs, path = _filesystem(url)
    fs.makedirs(path.rpartition("/")[0], exist_ok=True)
    if _is_url(url) and not url.startswith(("file://", "local://")):
        fs.put_file(str(local), path)
        return
    unfinished = f"{path}.{uuid.uuid4().hex}"
    fs.put_file(str(local), unfinished)
    os.replace(unfinished, path)


def _names(url: str) -> set[str]:
    fs, path = _filesystem(url)
    with contextlib.suppress(FileNotFoundError):
        return {str(name).rpartition("/")[2] for name in fs.ls(path, detail=False)}
    return set()


@contextlib.contextmanager
def _temporary() -> Iterator[Path]:
    """Directory of a task. First, directories that killed workers left are removed: nobody holds their locks."""
    for left in Path(tempfile.gettempdir()).glob("gpuhist-ray-*/lock"):
        with contextlib.suppress(OSError), open(left) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="gpuhist-ray-") as name, open(Path(name) / "new", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(Path(name) / "new", Path(name) / "lock")
        yield Path(name)


def _command(words: Sequence[str], folder: str, made: Path) -> None:
    """Runs the command in a folder. If it makes the file, exit code 1 only means that some inputs failed."""

    def stamp() -> tuple[int, int] | None:
        with contextlib.suppress(FileNotFoundError):
            found = made.stat()
            return found.st_ino, found.st_mtime_ns
        return None

    before = stamp()
    done = subprocess.run(
        [sys.executable, "-m", "gpuhist", *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    said = done.stderr.decode(errors="replace").strip()[-2000:]
    if done.returncode == 2:
        raise InvalidArgument(said)
    if done.returncode == 65:
        raise ShardFailed(f"parts, a manifest or a table are missing or damaged: {said}")
    if done.returncode not in (0, 1) or (done.returncode == 1 and stamp() in (None, before)):
        raise ShardFailed(f"gpuhist ended with {done.returncode}: {said}")


def _pack(folder: Path, url: str) -> None:
    """Puts the files of a part into one archive, whose bytes don't depend on the machine or the time."""
    archive = folder.with_suffix(".tar")
    with tarfile.open(archive, "w") as tar:
        for path in sorted(folder.glob("part-*")):
            info = tarfile.TarInfo(path.name)
            info.size = path.stat().st_size
            with open(path, "rb") as file:
                tar.addfile(info, file)
    _put(archive, url)


def _fetch(urls: Sequence[str], folder: Path, most_bytes: int) -> None:
    """Brings objects where the command, which runs in the folder, finds their names as paths, and those of TIFF files
    with the mask that may lie beside them (``.msk``). What is not there the command misses."""
    used = 0

    def one(url: str) -> int:
        taken = get(url)
        if taken > 0:
            with open(folder / url, "rb") as file:
                tiff = file.read(4) in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
            taken += get(f"{url}.msk") if tiff else 0
        return taken

    def get(url: str) -> int:
        if {"", ".", ".."} & set(url.partition("://")[2].lstrip("/").split("/")):
            raise InvalidArgument(f"{url}: a name with empty parts, . or .. is not a path below a directory")
        to = folder / url
        to.parent.mkdir(parents=True, exist_ok=True)
        fs, path = _filesystem(url)
        try:
            fs.get_file(path, str(to))
        except FileNotFoundError:
            to.unlink(missing_ok=True)
            return 0
        return to.stat().st_size

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for start in range(0, len(urls), 64):
            used += sum(pool.map(one, urls[start : start + 64]))
            if used > most_bytes:
                raise InvalidArgument(f"files of a shard take more than {most_bytes} bytes: ask for more shards")


def _measure_shard(
    manifest: str, index: Index, parts: str, shard: int, shards: int, words: list[str], here: str, most_bytes: int
) -> tuple[int, int]:
    """Task: makes the part of a shard. Returns the number of its inputs, and the number of failed ones."""
    with _temporary() as folder:
        if _is_url(manifest):
            local = folder / "manifest.jsonl"
            index.fetch(manifest, shard, shards, local)
            manifest = str(local)
        of_shard = ["--manifest", manifest, "--shard", f"{shard}/{shards}"]
        listed = subprocess.run(
            [sys.executable, "-m", "gpuhist", *of_shard, "--dry-run", "-0", "-q"], cwd=here, stdout=subprocess.PIPE
        )
        urls = [os.fsdecode(path) for path in listed.stdout.split(b"\0") if b"://" in path]
        if urls:
            (folder / "files").mkdir()
            here = str(folder / "files")
            _fetch(urls, folder / "files", most_bytes)
        name = f"part-{shard}-of-{shards}"
        made = folder / name / f"{name}.json"
        _command(
            [*of_shard, "--write", "stats", "-q", "-o", str(folder / name), "--die-with-parent", *words], here, made
        )
        part = json.loads(made.read_bytes())
        _pack(folder / name, f"{parts}/{name}.tar")
        return int(part["lines"][1]) - int(part["lines"][0]), int(part["rows"]["errors"])


@contextlib.contextmanager
def _unpacked(parts: str, first: int, last: int, shards: int) -> Iterator[Path]:
    """Folder that contains a folder with the parts from the first to the last one."""
    fs, path = _filesystem(parts)
    with _temporary() as temporary:
        folder = temporary / "parts"
        folder.mkdir()
        for shard in range(first, last + 1):
            with fs.open(f"{path}/part-{shard}-of-{shards}.tar", "rb") as file, tarfile.open(fileobj=file) as tar:
                for member in tar:
                    source = tar.extractfile(member)
                    if source is not None and os.path.basename(member.name) == member.name:
                        with open(folder / member.name, "wb") as to:
                            while piece := source.read(1 << 20):
                                to.write(piece)
        yield temporary


def _join(parts: str, shards: int, to: str, joined: int, count: int) -> tuple[int, int]:
    """Task: joins some parts into one, the K-th of ``count``."""
    with _unpacked(parts, (joined - 1) * shards // count + 1, joined * shards // count, shards) as folder:
        name = f"part-{joined}-of-{count}"
        words = ["merge", "-q", "--shard", f"{joined}/{count}", "-o", name, "parts"]
        _command(words, str(folder), folder / name / f"{name}.json")
        _pack(folder / name, f"{to}/{name}.tar")
    return 0, 0


def _merge(parts: str, shards: int, output: str) -> tuple[int, int]:
    """Task: makes the result of all parts."""
    with _unpacked(parts, 1, shards, shards) as folder:
        to = str(folder / "output") if _is_url(output) else output
        _command(["merge", "-q", "-o", to, "parts"], str(folder), Path(to) / "errors.csv")
        if _is_url(output):
            files = [path for path in Path(to).rglob("*") if path.is_file()]
            for path in sorted(files, key=lambda path: path.name == "stats.csv"):  # last: with it, all files are there
                _put(path, f"{output}/{path.relative_to(to)}")
    return 0, 0


def _run_all(
    task: Any, calls: Mapping[int, tuple[object, ...]], report: Callable[[int, tuple[int, int] | None, str], None]
) -> None:
    """Runs calls of a task, and reports the result of each, in the order in which they end. An exception cancels the
    running calls."""
    ray = _ray()
    waiting = sorted(calls, reverse=True)
    running: dict[Any, int] = {}
    try:
        while waiting or running:
            while waiting and len(running) < IN_FLIGHT:
                number = waiting.pop()
                running[task.remote(*calls[number])] = number
            for reference in ray.wait(list(running), num_returns=1)[0]:
                number = running.pop(reference)
                try:
                    result = ray.get(reference)
                except (ray.exceptions.RayError, Error) as error:
                    cause = getattr(error, "cause", None) or error
                    if isinstance(cause, InvalidArgument):
                        raise cause from None
                    report(number, None, f"{type(cause).__name__}: {cause}")
                else:
                    report(number, result, "")
    except BaseException:
        for reference in running:
            ray.cancel(reference, force=True)
        raise


def measure(
    manifest: str | os.PathLike[str],
    output: str | os.PathLike[str] = "gpuhist-out",
    *,
    shards: int | None = None,
    num_cpus: int = 1,
    num_gpus: float = 0,
    max_errors: int | None = None,
    arguments: Sequence[str] = (),
    retries: int = 3,
    temporary_bytes: int = 16 << 30,
    merged_at_once: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Progress:
    """Measures the inputs of a manifest on the nodes of a Ray cluster, one task per shard, and merges their parts. The
    files in ``output`` are the same, byte for byte, as those of a single run.

    manifest, output
        URLs that fsspec knows, or paths that exist on every node. The same holds for the paths in the manifest, which
        are relative to the working directory.
    shards
        Number of shards. By default, it is 4 for each task that the cluster can run at a time, or more, so that the
        files of a shard fit into temporary_bytes.
    num_cpus, num_gpus
        Number of threads of a task, and its share of the GPUs of a node.
    max_errors
        Number of failed inputs after which the call ends.
    arguments
        Options of the command, such as ``["--group-by", "dir"]``.
    retries
        Number of further attempts at a shard. If a node, a worker or the command dies, its shard is measured elsewhere.
    temporary_bytes
        Approximate size of the temporary directory of a task, into which it first copies inputs that are URLs.
    merged_at_once
        Largest number of parts in one merge. If there are more, tasks join parts first. By default, they do so if the
        merge on one machine would take more than ten minutes.
    progress
        Function that gets the Progress after each part.

    Parts stay in ``output``/parts-… until all of them are merged, and the same call continues with the parts that are
    there. Raises ShardsGivenUp; TooManyErrors, once max_errors inputs have failed in the finished parts;
    InvalidArgument for arguments that the command refuses; and the exceptions of fsspec.
    """
    ray = _ray()
    manifest, output = os.fspath(manifest), os.fspath(output)
    manifest = manifest if _is_url(manifest) else os.path.abspath(manifest)
    output = output.rstrip("/") if _is_url(output) else os.path.abspath(output)
    index = Index.read(manifest)
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    if shards is None:
        at_once = int(ray.cluster_resources().get("CPU", 1) // max(num_cpus, 1))
        shards = max(1, min(index.inputs, max(4 * at_once, 2 * index.weight // temporary_bytes)))
    words = ["--threads", str(max(num_cpus, 1)), *arguments]
    key = hashlib.sha256(json.dumps([__version__, index.checksum, shards, list(arguments)]).encode()).hexdigest()[:16]
    parts = f"{output}/parts-{key}"

    def task(function: Callable[..., Any], **resources: Any) -> Any:
        options = {"max_retries": retries, "retry_exceptions": [ShardFailed, OSError], "scheduling_strategy": "SPREAD"}
        return ray.remote(function).options(**{**options, **resources})

    there = _names(parts)
    todo = [shard for shard in range(1, shards + 1) if f"part-{shard}-of-{shards}.tar" not in there]
    state = Progress(shards, shards - len(todo), 0, 0, 0)
    given_up: dict[int, str] = {}

    def report(shard: int, result: tuple[int, int] | None, cause: str) -> None:
        nonlocal state
        if result is None:
            given_up[shard] = cause
        inputs, errors = result or (0, 0)
        done = state.done + (result is not None)
        state = Progress(shards, done, state.inputs + inputs, state.errors + errors, len(given_up))
        if progress is not None:
            progress(state)
        if max_errors is not None and state.errors >= max_errors:
            raise TooManyErrors(f"{state.errors} inputs failed in {done} of {shards} parts")

    here, of_all = os.getcwd(), ray.put(index)  # the index of many inputs is long: each node gets it once
    calls = {shard: (manifest, of_all, parts, shard, shards, words, here, temporary_bytes) for shard in todo}
    _run_all(task(_measure_shard, num_cpus=num_cpus, num_gpus=num_gpus), calls, report)
    if given_up:
        raise ShardsGivenUp(given_up)

    def fail(number: int, result: tuple[int, int] | None, cause: str) -> None:
        if result is None:
            raise ShardFailed(cause)

    if merged_at_once is None:
        seconds = shards * SECONDS_A_PART + index.inputs * SECONDS_AN_INPUT
        merged_at_once = shards if seconds < MERGE_SECONDS else JOINED_PARTS
    level, count = parts, shards
    while count > max(merged_at_once, 2):
        fewer = -(-count // max(merged_at_once, 2))
        to = f"{parts}/{fewer}"
        _run_all(task(_join), {number: (level, count, to, number, fewer) for number in range(1, fewer + 1)}, fail)
        level, count = to, fewer
    _run_all(task(_merge), {1: (level, count, output)}, fail)
    fs, path = _filesystem(parts)
    fs.rm(path, recursive=True)
    return state


def main() -> NoReturn:
    """The command of ``python -m gpuhist.ray``."""
    parser = argparse.ArgumentParser("python -m gpuhist.ray", description=(measure.__doc__ or "").partition("\n\n")[0])
    parser.add_argument("manifest", help="file that 'gpuhist manifest' made")
    parser.add_argument("-o", "--output", default="gpuhist-out", help="where results are written [gpuhist-out]")
    parser.add_argument("--shards", type=int, help="number of tasks")
    parser.add_argument("--num-cpus", type=int, default=1, help="CPUs per task [1]")
    parser.add_argument("--num-gpus", type=float, default=0, help="GPUs per task, for example 0.5 [0]")
    parser.add_argument("--max-errors", type=int, help="stop once this many inputs have failed")
    parser.add_argument("--retries", type=int, default=3, help="further attempts at a shard [3]")
    parser.epilog = "Options of gpuhist go after --, for example: ... -- --group-by dir"
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    given = {**vars(parser.parse_args(words[:end])), "arguments": words[end + 1 :]}

    def show(state: Progress) -> None:
        text = f"gpuhist: {state.done} of {state.shards} parts, {state.errors} errors, {state.given_up} given up"
        print(text, end="\r" if sys.stderr.isatty() and state.done < state.shards else "\n", file=sys.stderr)

    try:
        state = measure(given.pop("manifest"), progress=show, **given)
    except (Error, OSError) as error:
        print(f"gpuhist: {error}", file=sys.stderr)
        for shard, cause in getattr(error, "shards", {}).items():
            print(f"gpuhist: shard {shard} was given up: {cause}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InvalidArgument) else 1)
    sys.exit(1 if state.errors else 0)


if __name__ == "__main__":
    from gpuhist import ray as _itself  # workers import functions and exceptions by this name

    _itself.main()
