"""Rules for valid samples. They have the names of the command's options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union

from ._errors import InvalidArgument

if TYPE_CHECKING:
    Number = Union[float, Literal["tag", "none"]]
    Nodata = Union[Number, Iterable[Number], Mapping[str, Union[float, Iterable[float]]]]
    Valid = Union[tuple[float, float], Mapping[str, tuple[float, float]]]


class Rules(NamedTuple):
    """Rules of a call in the form of the native module. None in place of a channel means all channels but alpha."""

    nodata: list[tuple[str | None, float]] = []
    nodata_of_file: bool = True
    masks_of_file: bool = True
    tag: bool = False
    valid: list[tuple[str | None, float, float]] = []
    nodata_any: bool = False
    alpha: str = "row"


def refuse_tag(rules: Rules) -> None:
    """Refuses rules for files, because there is no file."""
    if rules.tag:
        raise InvalidArgument('nodata: "tag" is the value of a file, and an array has none')
    _check_nodata_any(rules.nodata_any, bool(rules.nodata or rules.valid))


def rules_of(nodata: Nodata | None, valid: Valid | None, nodata_any: bool, alpha: str) -> Rules:
    values, words = _nodata(nodata)
    tag, none = "tag" in words, "none" in words
    if tag and none:
        raise InvalidArgument('nodata: "none" ignores what files declare, but "tag" uses it')
    of_file = tag or not (values or none)
    intervals = _valid(valid)
    _check_nodata_any(nodata_any, bool(values or of_file or intervals))
    return Rules(values, of_file, not none, tag, intervals, bool(nodata_any), alpha)


def _check_nodata_any(nodata_any: bool, rules: bool) -> None:
    if nodata_any and not rules:
        raise InvalidArgument("nodata_any needs nodata or valid")


def _nodata(nodata: Nodata | None) -> tuple[list[tuple[str | None, float]], set[str]]:
    """Values with their channels, and the words among them."""
    if nodata is None:
        return [], set()
    if isinstance(nodata, Mapping):
        by_channel: Mapping[Any, Any] = nodata
        return [(name, _number(one)) for name, given in by_channel.items() for one in _listed(given)], set()
    given = _listed(nodata)
    words = {one for one in given if isinstance(one, str) and one in ("tag", "none")}
    return [(None, _number(one)) for one in given if not isinstance(one, str) or one not in words], words


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [given]


def _number(value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"nodata: {value!r} is not a number, 'tag', 'none', a list of these, or a dict of them by channel"
        ) from None


def _valid(valid: Valid | None) -> list[tuple[str | None, float, float]]:
    if valid is None:
        return []
    pairs: list[tuple[str | None, Any]] = list(valid.items()) if isinstance(valid, Mapping) else [(None, valid)]
    intervals = []
    for name, pair in pairs:
        try:
            lowest, highest = (float(one) for one in pair)
        except (TypeError, ValueError):
            raise InvalidArgument(
                f"valid: {pair!r} is not a pair of numbers, lowest and highest, or a dict of such pairs by channel"
            ) from None
        intervals.append((name, lowest, highest))
    return intervals
