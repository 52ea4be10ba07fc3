"""The command gpuhist, as ``python -m gpuhist`` and as the script ``gpuhist``."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import NoReturn

from . import _native


def main() -> NoReturn:
    words = [b"gpuhist", *(os.fsencode(word) for word in sys.argv[1:])]
    code = _native.command(words, _to_parquet if _has_pyarrow() else None)
    # All files are written. A thread may still hang while it reads a list, so do not wait for threads.
    os._exit(code)


def _has_pyarrow() -> bool:
    try:
        return find_spec("pyarrow") is not None
    except ValueError:  # it is kept from being imported
        return False


def _to_parquet(results: str, force: bool) -> list[str]:
    from ._parquet import to_parquet

    return [os.path.basename(path) for path in to_parquet(results, force=force)]


if __name__ == "__main__":
    main()
