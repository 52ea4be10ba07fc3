"""Rules for valid samples: the command's options, by the same names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union

from ._errors import InvalidArgument

if TYPE_CHECKING:
    Number = Union[float, Literal["tag"]]
    Nodata = Union[Number, Iterable[Number], Mapping[str, Union[float, Iterable[float]]]]
    Valid = Union[tuple[float, float], Mapping[str, tuple[float, float]]]


class Rules(NamedTuple):
    """Rules of a call, as the native module takes them; None stands for all channels but alpha."""

    nodata: list[tuple[str | None, float]] = []
    nodata_of_file: bool = False
    valid: list[tuple[str | None, float, float]] = []
    nodata_any: bool = False
    alpha: str = "row"


def refuse_tag(rules: Rules) -> None:
    """Refuses the rule of a file where there is none."""
    if rules.nodata_of_file:
        raise InvalidArgument('nodata: "tag" is a file\'s, and an array has none')


def rules_of(nodata: Nodata | None, valid: Valid | None, nodata_any: bool, alpha: str) -> Rules:
    values, of_file = _nodata(nodata)
    intervals = _valid(valid)
    if nodata_any and not (values or of_file or intervals):
        raise InvalidArgument("nodata_any is about nodata and valid")
    return Rules(values, of_file, intervals, bool(nodata_any), alpha)


def _nodata(nodata: Nodata | None) -> tuple[list[tuple[str | None, float]], bool]:
    if nodata is None:
        return [], False
    if isinstance(nodata, Mapping):
        return [(name, _number(one)) for name, given in nodata.items() for one in _listed(given)], False
    given = _listed(nodata)
    tags = [one for one in given if isinstance(one, str) and one == "tag"]
    return [(None, _number(one)) for one in given if not isinstance(one, str) or one != "tag"], bool(tags)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else [given]


def _number(value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"nodata: {value!r} is neither a number nor 'tag', nor are several, nor a dict of channels and such"
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
                f"valid: {pair!r} is no pair of numbers, lowest and highest, nor a dict of channels and such"
            ) from None
        intervals.append((name, lowest, highest))
    return intervals
