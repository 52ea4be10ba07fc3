"""Exceptions of gpuhist. Every message names the fault, the place and the remedy."""

from __future__ import annotations

import errno
from typing import Any, get_args


class Error(Exception):
    """Base class of all exceptions of gpuhist."""


class InvalidArgument(Error, ValueError):
    """Argument that the function does not accept."""


class UnsupportedDepth(InvalidArgument):
    """Image of a depth that an engine was not built for. Another engine may measure it."""


class IoError(Error, OSError):
    """File that cannot be read or decoded. A missing file is also a FileNotFoundError, and one that may not be read
    a PermissionError.

    ``kind`` names the cause in a word: missing, permission, truncated, too_large, unsupported, damaged, memory,
    no_space, engine, unreadable. ``errno`` is None if the cause is in the data.
    """

    kind: str

    def __new__(cls, message: str = "", kind: str = "unreadable", filename: str | None = None) -> IoError:
        kinds: dict[str, type[IoError]] = {"missing": MissingError, "permission": NotPermittedError}
        made = OSError.__new__(kinds.get(kind, cls) if cls is IoError else cls, message)
        made.errno, made.strerror = _ERRNOS.get(kind), message
        made.filename = filename
        made.kind = kind
        return made

    def __init__(self, message: str = "", kind: str = "unreadable", filename: str | None = None) -> None:
        pass

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return IoError, (self.args[0], self.kind, self.filename)


_ERRNOS = {
    "missing": errno.ENOENT,
    "permission": errno.EACCES,
    "no_space": errno.ENOSPC,
    "memory": errno.ENOMEM,
}


class MissingError(IoError, FileNotFoundError):
    """File that is not there."""


class NotPermittedError(IoError, PermissionError):
    """File that may not be read."""


class EngineUnavailable(Error, RuntimeError):
    """Engine that cannot run here."""


class CudaError(Error, RuntimeError):
    """CUDA call or kernel that failed."""


class OutOfMemory(CudaError):
    """Lack of memory on the GPU."""


def require_word(argument: str, given: object, words: object) -> None:
    """Refuses any value that is not one of the words of a Literal."""
    known = get_args(words)
    if given not in known:
        raise InvalidArgument(f"{argument}: {given!r} is not one of {', '.join(known)}")
