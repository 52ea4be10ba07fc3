"""The command gpuhist: ``python -m gpuhist`` and the script of that name."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from . import _native


def main() -> NoReturn:
    code = _native.command([b"gpuhist", *(os.fsencode(word) for word in sys.argv[1:])])
    # As the program does: all files are written, and threads that still read a list are not waited for.
    os._exit(code)


if __name__ == "__main__":
    main()
