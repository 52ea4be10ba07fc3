#!/usr/bin/env python3
"""Puts the figures of a run into the README's GPU tables.

    gpuhist-bench kernels --image data/rocket.jpg --csv kernels.csv --plot tests/bench/kernels.png
    tests/bench/readme_tables.py kernels.csv [README.md]

Nothing else is changed. Cells of which the run has no figure stay and are named. What stands in sentences is printed, to
be put there by hand: the machine, the sweep, single images.
"""
import csv
import pathlib
import sys

CONTENTS = ["random", "natural", "constant", "two values"]

# The row of the first table: image and tool, and the run's group, case and tool.
LARGE = {
    ("u8 grey", "gpuhist"): ("K1", "u8 grey, all statistics", "gpuhist"),
    ("u8 grey", "CUB `HistogramEven`"): ("K1", "u8 grey, all statistics", "CUB"),
    ("u8 grey", "NPP `HistogramEven`"): ("K1", "u8 grey, all statistics", "NPP"),
    ("u8 grey", "NPP `Mean_StdDev`"): ("K1", "u8 grey, all statistics", "NPP mean, std"),
    ("u8 BGR, luma sums", "gpuhist"): ("K2", "u8 BGR and brightness, no luma histogram", "gpuhist"),
    ("u8 BGR, luma sums", "CUB `MultiHistogramEven`, without luma"): ("K2", "u8 BGR and brightness, no luma histogram", "CUB"),
    ("u8 BGR, luma sums", "NPP `HistogramEven`, without luma"): ("K2", "u8 BGR and brightness, no luma histogram", "NPP"),
    ("u8 BGR, luma histogram", "gpuhist"): ("K3", "u8 BGR and luma histogram", "gpuhist"),
    ("u16 grey", "gpuhist"): ("K4", "u16 grey, 65,536 bins", "gpuhist"),
    ("u16 grey", "CUB"): ("K4", "u16 grey, 65,536 bins", "CUB"),
    ("u16 BGR, luma histogram", "gpuhist"): ("K4", "u16 BGR and luma histogram, 65,536 bins", "gpuhist"),
    ("u16 BGR, luma histogram", "CUB, without luma"): ("K4", "u16 BGR and luma histogram, 65,536 bins", "CUB"),
    ("f32 grey, brief", "gpuhist"): ("K5", "f32 grey, brief", "gpuhist"),
    ("f32 grey, brief", "CUB: extremes, then 256 bins"): ("K5", "f32 grey, brief", "CUB"),
    ("f32 BGR and luma, brief", "gpuhist"): ("K5", "f32 BGR and luma, brief", "gpuhist"),
    ("f32 BGR and luma, brief", "CUB, without luma"): ("K5", "f32 BGR and luma, brief", "CUB"),
    ("f32 grey", "gpuhist"): ("K5", "f32 grey, full", "gpuhist"),
    ("f32 grey", "CUB, and a sort for the percentiles"): ("K5", "f32 grey, full", "CUB with sort"),
    ("f32 BGR and luma", "gpuhist"): ("K5", "f32 BGR and luma, full", "gpuhist"),
    ("4096 × 224 × 224 BGR, luma sums", "gpuhist"): ("K8", "4096 images of 224 x 224 x 3, no luma histogram", "gpuhist"),
    ("4096 × 224 × 224 BGR, luma histogram", "gpuhist"): ("K8", "4096 images of 224 x 224 x 3, luma histogram", "gpuhist"),
}
REGIONS = ["u8 grey", "u8 BGR, no luma histogram", "u16 grey", "u16 BGR and luma histogram", "f32 grey, brief", "f32 BGR and luma, brief"]
COPIES = {
    "u8 grey": "u8 grey minmax",
    "u8 BGR": "u8 BGR minmax, no luma histogram",
    "u16 grey": "u16 grey minmax",
    "u16 BGR": "u16 BGR minmax, no luma histogram",
    "f32 grey, brief": "f32 grey minmax, brief",
    "f32 BGR, brief": "f32 BGR minmax, brief",
}
NO_ANALYSIS = {
    "no analysis: read, one grid barrier, read again from L2 and written": "through L2",
    "the same, kept in shared memory": "kept on chip",
}


class Run:
    def __init__(self, path):
        with open(path, newline="") as file:
            self.rows = [row for row in csv.DictReader(file) if not row["skipped"]]
        self.found = {(r["group"], r["case"], r["content"], r["tool"]): r for r in self.rows}
        self.sweep = float(self.find("Ceilings", "read only", "ceiling")["gb_per_s"])

    def find(self, group, content, tool):
        return next(r for r in self.rows if (r["group"], r["content"], r["tool"]) == (group, content, tool))

    def microseconds(self, group, case, content, tool):
        return float(self.found[group, case, content, tool]["median_ms"]) * 1e3

    def large(self, group, case, tool, content):
        """GB/s, and beside it the fraction of the sweep, where there is one to speak of."""
        speed = float(self.found[group, case, content, tool]["gb_per_s"])
        fraction = speed / self.sweep
        if fraction < 0.02:
            return f"{speed:.0f}"
        return f"{speed:.0f} ({fraction:.{3 if (group, tool) == ('K1', 'gpuhist') else 2}f})"

    def region(self, kind, content):
        case = kind + ", regions of interest"
        speed, ceiling = (float(self.found["ROI", case, content, tool]["gb_per_s"]) for tool in ("gpuhist", "ceiling"))
        return f"{speed:.0f} ({speed / self.sweep:.2f}; {speed / ceiling:.2f})"

    def small(self, image, size):
        times = [self.microseconds("Small", image + ", natural", size, tool) for tool in ("gpuhist", "gpuhist, minmax", "CUB")]
        digits = 0 if image in ("f32 grey", "f32 BGR") else 1
        return f"{times[0]:.{digits}f}, {times[1]:.{digits}f} ({times[2]:.1f})"

    def copies(self, case, content, tool="gpuhist"):
        return f'{float(self.found["K6", case, content, tool]["relative"]):.2f}'


def figures_of(run, header, image, tool):
    """What the cells of a table's row hold, from its first figure on, as functions; none where it is not of a run."""
    if header[1:3] == ["target", ""]:
        return [lambda c=c: run.large(*LARGE[image, tool], c) for c in CONTENTS]
    if header[1:] == ["u8 grey", "u8 BGR, luma sums", "u16 grey", "u16 BGR, luma histogram", "f32 grey, brief", "f32 BGR, brief"]:
        return [lambda k=k: run.region(k, image.removesuffix(" pixels")) for k in REGIONS]
    if header[1:] == ["1 MB", "4 MB", "8 MB"]:
        return [lambda s=s: run.small(image, s) for s in header[1:]]
    if header[1:] == ["24 MB (target 1.25)", "512 MiB (target 1.6)"]:
        if image in NO_ANALYSIS:
            return [lambda: run.copies("24 MB read, a grid barrier, written: no analysis", NO_ANALYSIS[image], "ceiling")]
        return [lambda c=c: run.copies(COPIES[image] + ", natural", c) for c in ("24 MB", "512 MiB")]
    return []


def rewritten(run, lines):
    header, image = None, ""
    for line in lines:
        raw = line.strip()[1:-1].split("|") if line.startswith("|") else None
        cells = raw and [cell.strip() for cell in raw]
        if cells is None:
            header = None
        elif header is None:
            header = cells
        elif set(line.strip()) - set("|-"):
            image = cells[0] or image
            figures = figures_of(run, header, image, cells[2] if len(cells) > 2 else "")
            for at, figure in enumerate(figures, 3 if header[1] == "target" else 1):
                try:
                    raw[at] = f" {figure()} "
                except KeyError as error:
                    print("no figure of", error.args[0], file=sys.stderr)
            line = "|" + "|".join(raw) + "|\n"
        yield line


def main():
    run = Run(sys.argv[1])
    readme = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else "README.md")
    text = "".join(rewritten(run, readme.read_text().splitlines(keepends=True)))
    readme.write_text(text)
    copy = run.find("Ceilings", "copy", "ceiling")
    print(copy["machine"], copy["date"], f"sweep {run.sweep:.0f} GB/s, copy {float(copy['gb_per_s']):.0f}")
    for row in run.rows:
        if row["group"] == "K7" or "small enough" in row["case"]:
            print(f'{row["case"]}, {row["content"]}, {row["tool"]}: {float(row["median_ms"]) * 1e3:.1f} us')


if __name__ == "__main__":
    main()
