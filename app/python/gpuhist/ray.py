"""Any number of machines: the nodes of a Ray cluster measure the shards of a manifest, and merge the results.

>>> import gpuhist.ray
>>> gpuhist.ray.measure("manifest.jsonl", output="results", shards=1000, num_cpus=4)

``python -m gpuhist.ray`` does the same in a shell. ``pip install gpuhist[ray]`` installs Ray and fsspec.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from . import __version__, shards as _shards
from ._errors import Error, InvalidArgument
from .shards import Index, Part, ShardFailed, join, measure_shard, merge, missing

IN_FLIGHT = 10000  # tasks that Ray has at a time
# By these measurements, one machine merges all parts if that takes less than ten minutes. Else tasks join parts before.
MERGE_SECONDS, SECONDS_A_PART, SECONDS_AN_INPUT = 600, 7e-4, 1.1e-5
JOINED_PARTS = 500


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


def _ray() -> Any:
    return importlib.import_module("ray")


def _run_all(
    task: Any, calls: Mapping[int, Mapping[str, object]], report: Callable[[int, Part | None, str], None]
) -> None:
    """Runs calls of a task, by their arguments, and reports the result of each, or the cause of its failure, in the order
    in which they end. An exception cancels the running calls."""
    ray = _ray()
    waiting = sorted(calls, reverse=True)
    running: dict[Any, int] = {}
    try:
        while waiting or running:
            while waiting and len(running) < IN_FLIGHT:
                number = waiting.pop()
                running[task.remote(**calls[number])] = number
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
    _shards._refuse_copies(arguments)
    manifest, output = _shards._absolute(manifest), _shards._absolute(output)
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

    todo = missing(parts, shards)
    state = Progress(shards, shards - len(todo), 0, 0, 0)
    given_up: dict[int, str] = {}

    def report(shard: int, result: Part | None, cause: str) -> None:
        nonlocal state
        if cause:
            given_up[shard] = cause
        inputs, errors = result or Part(0, 0)
        done = state.done + (not cause)
        state = Progress(shards, done, state.inputs + inputs, state.errors + errors, len(given_up))
        if progress is not None:
            progress(state)
        if max_errors is not None and state.errors >= max_errors:
            raise TooManyErrors(f"{state.errors} inputs failed in {done} of {shards} parts")

    here, of_all = os.getcwd(), ray.put(index)  # the index of many inputs is long: each node gets it once
    same = {"manifest": manifest, "index": of_all, "parts": parts, "shards": shards, "arguments": words, "folder": here}
    calls = {shard: {**same, "shard": shard, "temporary_bytes": temporary_bytes} for shard in todo}
    _run_all(task(measure_shard, num_cpus=num_cpus, num_gpus=num_gpus), calls, report)
    if given_up:
        raise ShardsGivenUp(given_up)

    def fail(number: int, result: Part | None, cause: str) -> None:
        if cause:
            raise ShardFailed(cause)

    if merged_at_once is None:
        seconds = shards * SECONDS_A_PART + index.inputs * SECONDS_AN_INPUT
        merged_at_once = shards if seconds < MERGE_SECONDS else JOINED_PARTS
    level, count = parts, shards
    while count > max(merged_at_once, 2):
        fewer = -(-count // max(merged_at_once, 2))
        to = f"{parts}/{fewer}"
        same = {"parts": level, "shards": count, "to": to, "count": fewer}
        _run_all(task(join), {part: {**same, "part": part} for part in range(1, fewer + 1)}, fail)
        level, count = to, fewer
    _run_all(task(merge), {1: {"parts": level, "shards": count, "output": output}}, fail)
    fs, path = _shards._filesystem(parts)
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
