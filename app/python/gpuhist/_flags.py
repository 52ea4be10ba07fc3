"""Flags of the images of a set: dark, blurred, copied and so on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Union

from . import _native
from ._errors import InvalidArgument
from ._result import Result
from ._source import encoded, is_local, is_path

Policy = Union[str, "os.PathLike[str]", Mapping[str, Any]]


class Flag(NamedTuple):
    """Flag of an image: a row of the command's flags.csv, with the places of the images."""

    path: str
    """Path of the image; empty for an array."""
    flag: str
    """Name of the flag."""
    value: float
    """Number that the flag is about."""
    threshold: float | None
    """Threshold that the value is beyond; None if the flag has none."""
    image: int
    """Place of the image among those that were given, from 0."""
    first: int | None
    """Of a duplicate, the place of the first image of its group; else None."""


def flags(images: Iterable[Result], *, policy: Policy | None = None) -> list[Flag]:
    """Flags of the images of a set: those that the command writes to flags.csv, in the same order.

    images
        Results of measure_many(..., measures="quality") or measure(..., measures="quality"). Results with an error
        bear no flag. About 200 bytes are kept per image, so you need not keep the results.
    policy
        Path of a policy, as for the command's --policy, or its content as a dict. It sets thresholds, and False
        switches a flag off: {"flags": {"dark": 0.25, "blurry": False}}.

    >>> for one in gh.flags(gh.measure_many("train", measures="quality")):
    ...     print(one.path, one.flag, one.value)

    Raises InvalidArgument for a dict that is no policy, and for an image without the measures that a flag needs; IoError
    for a file that is no policy.
    """
    if isinstance(images, Result):
        raise InvalidArgument("images: a single Result, and flags() takes the results of a set, such as a list of them")
    found = _native.Flags(*_policy_of(policy))
    places: list[int] = []
    paths: list[str] = []
    for place, image in enumerate(images):
        if not isinstance(image, Result):
            raise InvalidArgument(f"images: a {type(image).__name__}, and flags() takes results of measure()")
        if image.error is not None:
            continue
        try:
            found.add(image._found)
        except InvalidArgument as error:
            raise InvalidArgument(f"{image.path or f'image {place}'}: {error}") from None
        places.append(place)
        paths.append(image.path)
    return [
        Flag(paths[at], name, value, threshold, places[at], None if first is None else places[first])
        for at, name, value, threshold, first in found.found()
    ]


def _policy_of(policy: Policy | None) -> tuple[bytes, bool]:
    """Text of a policy, or its path, in the form of the native module."""
    if policy is None:
        return b"", False
    if isinstance(policy, Mapping):
        try:
            return json.dumps(dict(policy)).encode(), False
        except TypeError as error:
            raise InvalidArgument(f"policy: {error}") from None
    if not is_path(policy) or not is_local(policy):
        raise InvalidArgument(f"policy: {policy!r} is neither the path of a file nor a dict")
    return encoded(policy), True
