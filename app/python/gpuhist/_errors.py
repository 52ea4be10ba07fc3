"""Exceptions of gpuhist. Every message says what failed, where, and how to mend it."""

from __future__ import annotations

from typing import get_args


class Error(Exception):
    """Root of the family."""


class InvalidArgument(Error, ValueError):
    """Argument outside what the function documents."""


class UnsupportedDepth(InvalidArgument):
    """Image of a depth for which an engine has nothing built; another engine may."""


class IoError(Error, OSError):
    """File that cannot be read or decoded.

    ``kind`` says why in a word: missing, permission, truncated, too_large, unsupported, damaged, memory, no_space,
    engine, unreadable.
    """

    kind: str

    def __init__(self, message: str = "", kind: str = "unreadable") -> None:
        super().__init__(message)
        self.kind = kind


class EngineUnavailable(Error, RuntimeError):
    """Engine that was asked for and cannot run here."""


class CudaError(Error, RuntimeError):
    """CUDA call or kernel that failed."""


class OutOfMemory(CudaError):
    """Memory of the GPU that does not suffice."""


def require_word(argument: str, given: object, words: object) -> None:
    """Refuses what is none of the words of a Literal."""
    known = get_args(words)
    if given not in known:
        raise InvalidArgument(f"{argument}: {given!r} is none of {', '.join(known)}")
