"""The command gpuhist, as ``python -m gpuhist`` and as the script ``gpuhist``."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import _native


def main() -> NoReturn:
    code = _native.command([b"gpuhist", *(os.fsencode(word) for word in sys.argv[1:])])
    # All files are written. A thread may still hang while it reads a list, so do not wait for threads.
    os._exit(code)


if __name__ == "__main__":
    main()
