"""Shards of a manifest, measured anywhere, as plain functions: a process pool, dask, Spark, Ray or a batch system calls
them. The result of all shards has the bytes of a single run.

>>> from gpuhist import shards
>>> shards.manifest("photos", "photos.jsonl")
>>> for shard in range(1, 9):  # in any order, on any machine
...     shards.measure_shard("photos.jsonl", "parts", shard, 8)
>>> shards.merge("parts", 8, "results")

Manifests, parts and results are files and directories, or URLs that fsspec knows (``pip install gpuhist[shards]``). A
function that is called again does its work again, and does no harm.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Union

from ._errors import Error, InvalidArgument
from ._source import encoded

PathOrUrl = Union[str, "os.PathLike[str]"]


class ShardFailed(Error, RuntimeError):
    """Attempt at a shard or at a merge that ended without a result. Another attempt may succeed."""


class Part(NamedTuple):
    """Part of a shard that was measured."""

    inputs: int
    """Number of inputs of the shard."""
    errors: int
    """Number of those that failed."""


def manifest(
    inputs: PathOrUrl | Iterable[PathOrUrl], path: str | os.PathLike[str], *, arguments: Sequence[str] = ()
) -> int:
    """Writes a manifest of files and directories, as ``gpuhist manifest`` does, and returns the number of its inputs.

    inputs
        Files and directories, which the manifest names as they are given.
    arguments
        Options of ``gpuhist manifest``, such as ``["--exclude", "*.gif"]``.

    Raises InvalidArgument for options that the command refuses, and ShardFailed.
    """
    listed = [inputs] if isinstance(inputs, (str, os.PathLike)) else list(inputs)
    words = [os.fsdecode(encoded(one)) for one in listed]
    to = os.path.abspath(path)
    _command(["manifest", *arguments, "-q", "-o", to, "--", *words], os.getcwd(), Path(to))
    return Index.read(to).inputs


def measure_shard(
    manifest: PathOrUrl,
    parts: PathOrUrl,
    shard: int,
    shards: int,
    *,
    arguments: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
    temporary_bytes: int = 16 << 30,
    index: Index | None = None,
) -> Part:
    """Measures a shard of a manifest with the command, and puts its part, a single file, into the directory of parts.
    The part appears only when it is complete.

    manifest, parts
        Paths, or URLs that fsspec knows.
    shard, shards
        Number of the shard, from 1, and number of all shards.
    arguments
        Options of the command, such as ``["--group-by", "dir", "--threads", "4"]``, the same for all shards. Parts have
        numbers only: options for copies and pictures are refused.
    folder
        Directory to which the paths in the manifest are relative; by default the working directory.
    temporary_bytes
        Approximate size of the temporary directory into which inputs are first copied if they are URLs.
    index
        Index of the manifest, if it was read before. For URLs it says which lines to fetch.

    Raises InvalidArgument for arguments that the command refuses, ShardFailed if the command ends without a part, and
    the exceptions of fsspec.
    """
    if not 1 <= shard <= shards:
        raise InvalidArgument(f"shard: {shard!r} is not from 1 to {shards!r}, the number of shards")
    _refuse_copies(arguments)
    manifest, parts = _absolute(manifest), _absolute(parts)
    here = os.path.abspath(folder or os.getcwd())
    with _temporary() as temporary:
        if _is_url(manifest):
            local = temporary / "manifest.jsonl"
            (index or Index.read(manifest)).fetch(manifest, shard, shards, local)
            manifest = str(local)
        of_shard = ["--manifest", manifest, "--shard", f"{shard}/{shards}"]
        listed = subprocess.run(
            [sys.executable, "-m", "gpuhist", *of_shard, "--dry-run", "-0", "-q"], cwd=here, stdout=subprocess.PIPE
        )
        urls = [os.fsdecode(path) for path in listed.stdout.split(b"\0") if b"://" in path]
        if urls:
            (temporary / "files").mkdir()
            here = str(temporary / "files")
            _fetch(urls, temporary / "files", temporary_bytes)
        name = f"part-{shard}-of-{shards}"
        made = temporary / name / f"{name}.json"
        words = [*of_shard, "--write", "stats", "-q", "-o", str(temporary / name), "--die-with-parent", *arguments]
        _command(words, here, made)
        part = json.loads(made.read_bytes())
        _pack(temporary / name, f"{parts}/{name}.tar")
        return Part(int(part["lines"][1]) - int(part["lines"][0]), int(part["rows"]["errors"]))


def missing(parts: PathOrUrl, shards: int) -> list[int]:
    """Numbers of the shards whose parts are not in the directory, in ascending order."""
    there = _names(_absolute(parts))
    return [shard for shard in range(1, shards + 1) if f"part-{shard}-of-{shards}.tar" not in there]


def join(parts: PathOrUrl, shards: int, to: PathOrUrl, part: int, count: int) -> None:
    """Joins some of the parts of ``shards`` shards into one part, the ``part``-th of ``count``, in the directory ``to``.
    So many machines can share the work of a merge of many parts. Raises ShardFailed if parts are missing or damaged."""
    if not 1 <= part <= count <= shards:
        raise InvalidArgument(f"part: {part!r} is not from 1 to {count!r}, or there are more than {shards!r} shards")
    with _unpacked(_absolute(parts), (part - 1) * shards // count + 1, part * shards // count, shards) as folder:
        name = f"part-{part}-of-{count}"
        words = ["merge", "-q", "--shard", f"{part}/{count}", "-o", name, "parts"]
        _command(words, str(folder), folder / name / f"{name}.json")
        _pack(folder / name, f"{_absolute(to)}/{name}.tar")


def merge(parts: PathOrUrl, shards: int, output: PathOrUrl = "gpuhist-out") -> None:
    """Makes the result of all parts, with the bytes of a single run, in a directory or below a URL. Raises ShardFailed if
    parts are missing or damaged; earlier results stay then."""
    output = _absolute(output)
    with _unpacked(_absolute(parts), 1, shards, shards) as folder:
        to = str(folder / "output") if _is_url(output) else output
        _command(["merge", "-q", "-o", to, "parts"], str(folder), Path(to) / "errors.csv")
        if _is_url(output):
            files = [path for path in Path(to).rglob("*") if path.is_file()]
            for path in sorted(files, key=lambda path: path.name == "stats.csv"):  # last: with it, all files are there
                _put(path, f"{output}/{path.relative_to(to)}")


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


def _refuse_copies(arguments: Sequence[str]) -> None:
    for word in arguments:
        name = word.partition("=")[0]
        if name in ("--write", "--normalize", "--link", "--lut-in", "--lut-out", "-o", "--output"):
            raise InvalidArgument(
                f"{name}: parts have numbers only, no copies or pictures: run gpuhist --manifest FILE --shard K/N with "
                "an output directory that all machines share"
            )


def _absolute(path: PathOrUrl) -> str:
    text = os.fspath(path)
    return text.rstrip("/") if _is_url(text) else os.path.abspath(text)


class _Local:
    """Files of the file system, by the functions of fsspec, which need not be installed for them."""

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        with open(path, "rb") as file:
            file.seek(start)
            return file.read(end - start)

    def makedirs(self, path: str, exist_ok: bool) -> None:
        os.makedirs(path, exist_ok=exist_ok)

    def put_file(self, local: str, path: str) -> None:
        shutil.copyfile(local, path)

    def ls(self, path: str, detail: bool) -> list[str]:
        return os.listdir(path)

    def open(self, path: str, mode: str) -> Any:
        return open(path, mode)

    def rm(self, path: str, recursive: bool) -> None:
        shutil.rmtree(path)


def _filesystem(url: str) -> tuple[Any, str]:
    if not _is_url(url):
        return _Local(), url
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise InvalidArgument(f"{url}: a URL is read by the package fsspec, which is not installed") from None

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
    for left in Path(tempfile.gettempdir()).glob("gpuhist-shard-*/lock"):
        with contextlib.suppress(OSError), open(left) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="gpuhist-shard-") as name, open(Path(name) / "new", "w") as lock:
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


@contextlib.contextmanager
def _unpacked(parts: str, first: int, last: int, shards: int) -> Iterator[Path]:
    """Folder that contains a folder with the parts from the first to the last one."""
    fs, path = _filesystem(parts)
    with _temporary() as temporary:
        folder = temporary / "parts"
        folder.mkdir()
        for shard in range(first, last + 1):
            name = f"part-{shard}-of-{shards}.tar"
            try:
                opened = fs.open(f"{path}/{name}", "rb")
            except FileNotFoundError:
                raise ShardFailed(f"{parts}: no {name}: missing() lists the shards without a part") from None
            with opened as file, tarfile.open(fileobj=file) as tar:
                for member in tar:
                    source = tar.extractfile(member)
                    if source is not None and os.path.basename(member.name) == member.name:
                        with open(folder / member.name, "wb") as to:
                            while piece := source.read(1 << 20):
                                to.write(piece)
        yield temporary
