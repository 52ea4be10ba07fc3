"""Lookup tables that normalize a series of images alike."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from . import _arrays, _native
from ._arrays import Layout, Order
from ._errors import InvalidArgument
from ._normalize import check_apply_to, copy_of
from ._request import ApplyTo, OnDamaged, asked_of, normalization_of
from ._result import Result
from ._source import encoded
from ._summary import Summary
from ._validity import Rules, rules_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from typing_extensions import Unpack

    from ._native import Alpha, NormalizeMode
    from ._options import NormalizeOptions
    from ._validity import Nodata, Valid

_GATHERED = {"u8": 0, "s8": 128, "u16": 0, "s16": 32768}


class Lut:
    """Lookup tables for the images of a series: one table for all of them, so that they stay comparable. ``fit`` makes
    them from a set, for each of its depths, and ``apply`` makes copies with them. Their files are those of the command's
    --lut-out and --lut-in. You can pickle and compare them.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Luts) -> None:
        self._native = native

    @classmethod
    def fit(
        cls,
        images: Summary | Iterable[Result | Summary],
        mode: NormalizeMode = "minmax",
        *,
        channels: Literal["joint", "separate"] = "joint",
        depth: str | None = None,
        fill: float | None = None,
        **parameters: Unpack[NormalizeOptions],
    ) -> Lut:
        """Tables that normalize all pixels of a set as normalize() would those of one image.

        images
            A Summary, or what it adds up, such as measure_many("series"). f32 images need detail="values" for
            percentile and equalize.

        The other arguments are those of normalize(). Raises InvalidArgument if a depth of the set can't have such tables,
        as bands, u32, s32 and f64 by equalize, and f32, u32, s32 and f64 by other modes than minmax, percentile and zscore; and separate tables of gray images among colors.
        """
        summary = images if isinstance(images, Summary) else Summary(images)
        asked = normalization_of(mode, "all", channels, depth, fill, **parameters)
        return cls(_native.Luts.fit(summary._native, asked))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Lut:
        """Reads tables from a file. Raises IoError if it is damaged."""
        return cls(_native.Luts.load(encoded(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the tables to a file, readable CSV. The file appears only when it is complete."""
        self._native.save(encoded(path))

    @property
    def depths(self) -> list[str]:
        """Depths of the images that have tables."""
        return self._native.depths

    @property
    def mode(self) -> str:
        """Mode of the normalization."""
        return self._native.mode

    def tables(self, depth: str | None = None) -> dict[str, npt.NDArray[np.float32]]:
        """New value of each value, float32[256] or float32[65536], in ascending order of the values, by channel: all (of
        the colors) and gray, or gray, red, green and blue. u32, s32, f32 and f64 have formulas in place of values, so
        their arrays are empty. You can leave out the depth if there is only one."""
        import numpy as np

        if depth is None:
            if len(self.depths) > 1:
                raise InvalidArgument(f"depth: the tables are for {', '.join(self.depths)}: name one")
            depth = self.depths[0]
        return {name: np.array(values, np.float32) for name, values in self._native.tables(depth)}

    def apply(
        self,
        image: Any,
        *,
        layout: Layout | None = None,
        order: Order = "RGB",
        mask: Any = None,
        nodata: Nodata | None = None,
        valid: Valid | None = None,
        nodata_any: bool = False,
        alpha: Alpha = "row",
        apply_to: ApplyTo = "all",
        threads: int = 0,
        stream: Any = None,
        out: Any = None,
        page: int | None = None,
        max_pixels: int | None = None,
        on_damaged: OnDamaged = "error",
    ) -> Any:
        """Returns the copy of an image that the tables make: an array as that of normalize(), whose arguments these are.

        Images on a GPU are u8, s8, u16 or s16 of torch or CuPy, without rules for excluded samples. The copy is complete
        when the work on the current stream is complete.
        """
        rules = rules_of(nodata, valid, nodata_any, alpha)
        check_apply_to(apply_to, mask, rules, asked_of(engine="cpu", gpu=0, threads=threads, rules=rules))

        def write(found: _arrays.Image, seen: _native.View, target: _arrays.Image, rules: Rules) -> None:
            if found.array.gpu is None:
                request = asked_of(engine="cpu", gpu=0, threads=threads, rules=rules)
                self._native.apply(seen, target.view, apply_to == "valid", request)
                return
            if mask is not None or rules != Rules():
                raise InvalidArgument("an array on a GPU: its copies by tables have no rules for excluded samples")
            self._gather(found, target, stream)

        return copy_of(
            image, self._native.depth_of, write, layout=layout, order=order, mask=mask, rules=rules, stream=stream,
            out=out, page=page, max_pixels=max_pixels, on_damaged=on_damaged,
        )

    def _gather(self, found: _arrays.Image, target: _arrays.Image, stream: Any) -> None:
        """Looks the samples of an image on a GPU up, by the functions of its library."""
        library = _arrays.library_of(found.array.owner)
        if found.depth not in _GATHERED or library not in ("torch", "cupy"):
            raise InvalidArgument(
                f"tables on a GPU: of u8, s8, u16 and s16 arrays of torch and CuPy, not of {found.array.type} of {library}: "
                "copy the array to the host"
            )
        if stream is not None:
            raise InvalidArgument("stream: tables are applied on the current stream of the array's library")
        tables = self.tables(found.depth)
        to, image = _unflat(target), _unflat(found)
        names = ["gray"] if found.channels == 1 else ["red", "green", "blue"] if found.rgb else ["blue", "green", "red"]
        for channel in range(found.channels):
            if channel == 3:
                to[..., 3] = image[..., 3]
                continue
            table = tables.get(names[channel], tables.get("all") if found.channels > 1 else None)
            if table is None:
                raise InvalidArgument(f"there is no table for {names[channel]}")
            to[..., channel] = _looked_up(library, image[..., channel], table, _GATHERED[found.depth], to)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lut):
            return NotImplemented
        return self._native == other._native

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self._native.text(),)

    def __repr__(self) -> str:
        return f"<gpuhist.Lut {self.mode} of {', '.join(self.depths)}>"


def _unpickled(text: bytes) -> Lut:
    return Lut(_native.Luts.parse(text))


def _unflat(image: _arrays.Image) -> Any:
    """The array of an image, height x width x channels."""
    array: Any = image.array.owner
    if image.flat:
        return array[..., None]
    if image.planar:
        return array.permute(1, 2, 0) if hasattr(array, "permute") else array.transpose(1, 2, 0)
    return array


def _looked_up(library: str, samples: Any, table: npt.NDArray[np.float32], zero: int, to: Any) -> Any:
    if library == "torch":
        import torch

        # As floats, which hold all values: not every type can be indexed.
        return torch.as_tensor(table, device=samples.device)[samples.to(torch.int32) + zero].to(to.dtype)
    import cupy

    with cupy.cuda.Device(samples.device):
        return cupy.asarray(table)[samples.astype(cupy.int32) + zero].astype(to.dtype)
