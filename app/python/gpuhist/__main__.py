"""The command gpuhist, as ``python -m gpuhist`` and as the script ``gpuhist``."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import _native


def main() -> NoReturn:
    words, parquet = _without_parquet(sys.argv[1:])
    if parquet:
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            _end("--write parquet needs pyarrow: pip install 'gpuhist[tables]'", 2)
    code = _native.command([b"gpuhist", *(os.fsencode(word) for word in words)])
    if parquet and code in (0, 1):
        from . import to_parquet
        from ._errors import Error

        try:
            results = _output(words)
            paths = to_parquet(results, force="--force" in words)
            if not {"-q", "--quiet"} & set(words):
                print(f"wrote  {results}/{' '.join(os.path.basename(path) for path in paths)}", flush=True)
        except (Error, OSError) as error:
            _end(str(error), 4)
    # All files are written. A thread may still hang while it reads a list, so do not wait for threads.
    os._exit(code)


def _end(why: str, code: int) -> NoReturn:
    print(f"gpuhist: {why}", file=sys.stderr, flush=True)
    os._exit(code)


def _without_parquet(words: list[str]) -> tuple[list[str], bool]:
    """The words without parquet in the list of --write, and whether it was there: the command itself can't write it."""
    left, found = list(words), False
    for place, word in enumerate(words):
        if word == "--":
            break
        if word == "--write" and place + 1 < len(words):
            at, begin, names = place + 1, "", words[place + 1]
        elif word.startswith("--write="):
            at, begin, names = place, "--write=", word[len("--write=") :]
        else:
            continue
        items = names.split(",")
        if "parquet" in items:
            found = True
            left[at] = begin + (",".join(item for item in items if item != "parquet") or "stats")
            if "stats" not in left[at]:
                left[at] += ",stats"
    return left, found


def _output(words: list[str]) -> str:
    """Directory with the results, as the words or the variable name it."""
    found = os.environ.get("GPUHIST_OUTPUT", "gpuhist-out")
    for place, word in enumerate(words):
        if word == "--":
            break
        if word in ("-o", "--output") and place + 1 < len(words):
            found = words[place + 1]
        elif word.startswith("--output="):
            found = word[len("--output=") :]
        elif word.startswith("-o") and not word.startswith("--"):
            found = word[2:]
    return found


if __name__ == "__main__":
    main()
