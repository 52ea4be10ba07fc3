#!/usr/bin/env python3
"""Puts the figures of a run into the GPU tables of the page beside this and of the ladder's.

    gpuhist-bench kernels --image data/rocket.jpg --csv kernels.csv
    gpuhist-bench ladder --image data/rocket.jpg --csv ladder.csv
    tests/bench/readme_tables.py kernels.csv ladder.csv

Nothing else is changed. Cells of which the run has no figure stay and are named. What stands in sentences is printed, to
be put there by hand: the machine, the sweep, single images.
"""
import csv
import pathlib
import sys

CONTENTS = ["random", "natural", "constant", "two values"]

# The row of the first table: image and tool, and the run's group, case and tool.
LARGE = {
    ("u8 gray", "gpuhist"): ("K1", "u8 gray, all statistics", "gpuhist"),
    ("u8 gray", "CUB `HistogramEven`"): ("K1", "u8 gray, all statistics", "CUB"),
    ("u8 gray", "NPP `HistogramEven`"): ("K1", "u8 gray, all statistics", "NPP"),
    ("u8 gray", "NPP `Mean_StdDev`"): ("K1", "u8 gray, all statistics", "NPP mean, std"),
    ("u8 BGR, luma sums", "gpuhist"): ("K2", "u8 BGR and brightness, no luma histogram", "gpuhist"),
    ("u8 BGR, luma sums", "CUB `MultiHistogramEven`, without luma"): ("K2", "u8 BGR and brightness, no luma histogram", "CUB"),
    ("u8 BGR, luma sums", "NPP `HistogramEven`, without luma"): ("K2", "u8 BGR and brightness, no luma histogram", "NPP"),
    ("u8 BGR, luma histogram", "gpuhist"): ("K3", "u8 BGR and luma histogram", "gpuhist"),
    ("u16 gray", "gpuhist"): ("K4", "u16 gray, 65,536 bins", "gpuhist"),
    ("u16 gray", "CUB"): ("K4", "u16 gray, 65,536 bins", "CUB"),
    ("u16 BGR, luma histogram", "gpuhist"): ("K4", "u16 BGR and luma histogram, 65,536 bins", "gpuhist"),
    ("u16 BGR, luma histogram", "CUB, without luma"): ("K4", "u16 BGR and luma histogram, 65,536 bins", "CUB"),
    ("f32 gray, brief", "gpuhist"): ("K5", "f32 gray, brief", "gpuhist"),
    ("f32 gray, brief", "CUB: extremes, then 256 bins"): ("K5", "f32 gray, brief", "CUB"),
    ("f32 BGR and luma, brief", "gpuhist"): ("K5", "f32 BGR and luma, brief", "gpuhist"),
    ("f32 BGR and luma, brief", "CUB, without luma"): ("K5", "f32 BGR and luma, brief", "CUB"),
    ("f32 gray", "gpuhist"): ("K5", "f32 gray, full", "gpuhist"),
    ("f32 gray", "CUB, and a sort for the percentiles"): ("K5", "f32 gray, full", "CUB with sort"),
    ("f32 BGR and luma", "gpuhist"): ("K5", "f32 BGR and luma, full", "gpuhist"),
    ("4096 × 224 × 224 BGR, luma sums", "gpuhist"): ("K8", "4096 images of 224 x 224 x 3, no luma histogram", "gpuhist"),
    ("4096 × 224 × 224 BGR, luma histogram", "gpuhist"): ("K8", "4096 images of 224 x 224 x 3, luma histogram", "gpuhist"),
}
REGIONS = ["u8 gray", "u8 BGR, no luma histogram", "u16 gray", "u16 BGR and luma histogram", "f32 gray, brief", "f32 BGR and luma, brief"]
COPIES = {
    "u8 gray": "u8 gray minmax",
    "u8 BGR": "u8 BGR minmax, no luma histogram",
    "u16 gray": "u16 gray minmax",
    "u16 BGR": "u16 BGR minmax, no luma histogram",
    "f32 gray, brief": "f32 gray minmax, brief",
    "f32 BGR, brief": "f32 BGR minmax, brief",
}
NO_ANALYSIS = {
    "no analysis: read, one grid barrier, read again from L2 and written": "through L2",
    "the same, kept in shared memory": "kept on chip",
}
# The ladder's headings, and the run's groups.
RUNGS = {
    "Brightness sums": "sum",
    "Histograms": "histogram",
    "Atomics": "atomic",
    "Votes": "vote",
    "Shuffles": "shuffle",
    "Visibility": "visibility",
    "Seeds": "seeds",
}


class Run:
    def __init__(self, paths):
        self.rows = []
        for path in paths:
            with open(path, newline="") as file:
                self.rows += [row for row in csv.DictReader(file) if not row["skipped"]]
        self.found = {(r["group"], r["case"], r["content"], r["tool"]): r for r in self.rows}

    def speed(self, group, case, content, tool):
        return float(self.found[group, case, content, tool]["gb_per_s"])

    def sweep(self):
        return self.speed("Ceilings", "the hardware's, over 1 GiB", "read only", "ceiling")

    def microseconds(self, group, case, content, tool):
        return float(self.found[group, case, content, tool]["median_ms"]) * 1e3

    def large(self, group, case, tool, content):
        """GB/s, and beside it the fraction of the sweep, where there is one to speak of."""
        speed = self.speed(group, case, content, tool)
        fraction = speed / self.sweep()
        if fraction < 0.02:
            return f"{speed:.0f}"
        return f"{speed:.0f} ({fraction:.{3 if (group, tool) == ('K1', 'gpuhist') else 2}f})"

    def region(self, kind, content):
        case = kind + ", regions of interest"
        speed, ceiling = (self.speed("ROI", case, content, tool) for tool in ("gpuhist", "ceiling"))
        return f"{speed:.0f} ({speed / self.sweep():.2f}; {speed / ceiling:.2f})"

    def small(self, image, size):
        times = [self.microseconds("Small", image + ", natural", size, tool) for tool in ("gpuhist", "gpuhist, minmax", "CUB")]
        return "{:.{d}f}, {:.{d}f} ({:.1f})".format(*times, d=0 if image in ("f32 gray", "f32 BGR") else 1)

    def copies(self, case, content, tool="gpuhist"):
        return f'{float(self.found["K6", case, content, tool]["relative"]):.2f}'

    def rung(self, group, name, content):
        speed = self.speed(group, name, content, "ladder")
        return f"{speed:.{0 if speed >= 100 else 1 if speed >= 10 else 2}f}"

    def gain(self, group, name, before):
        """Of a rung against the one before, on random pixels: two digits."""
        gain = self.speed(group, name, "random", "ladder") / self.speed(group, before, "random", "ladder")
        return f"× {float(f'{gain:.2g}'):g}"


def figures_of(run, section, header, cells, image, before):
    """What cells of a table's row hold, by their column, as functions. `image`: its first cell, or the last that was
    not empty; `before`: that of the row above."""
    if header[1:3] == ["target", ""]:
        return {3 + i: lambda c=c: run.large(*LARGE[image, cells[2]], c) for i, c in enumerate(CONTENTS)}
    if header[1:] == ["u8 gray", "u8 BGR, luma sums", "u16 gray", "u16 BGR, luma histogram", "f32 gray, brief", "f32 BGR, brief"]:
        return {1 + i: lambda k=k: run.region(k, image.removesuffix(" pixels")) for i, k in enumerate(REGIONS)}
    if header[1:] == ["1 MB", "4 MB", "8 MB"]:
        return {1 + i: lambda s=s: run.small(image, s) for i, s in enumerate(header[1:])}
    if header[1:] == ["24 MB (target 1.25)", "512 MiB (target 1.6)"]:
        if image in NO_ANALYSIS:
            return {1: lambda: run.copies("24 MB read, a grid barrier, written: no analysis", NO_ANALYSIS[image], "ceiling")}
        return {1 + i: lambda c=c: run.copies(COPIES[image] + ", natural", c) for i, c in enumerate(("24 MB", "512 MiB"))}
    if header[0] == "rung":
        group, name = RUNGS[section], image.strip("`†")
        figures = {2 + i: lambda c=c: run.rung(group, name, c) for i, c in enumerate(CONTENTS)}
        if len(header) > 6:
            same_clock = before and image.endswith("†") == before.endswith("†")
            figures[6] = lambda: run.gain(group, name, before.strip("`†")) if same_clock else ""
        return figures
    return {}


def rewritten(run, lines):
    section, header, image = "", None, ""
    for line in lines:
        raw = line.strip()[1:-1].split("|") if line.startswith("|") else None
        cells = raw and [cell.strip() for cell in raw]
        if line.startswith("#"):
            section = line.strip("# \n")
        if cells is None:
            header, image = None, ""
        elif header is None:
            header = cells
        elif set(line.strip()) - set("|-"):
            before, image = image, cells[0] or image
            for at, figure in figures_of(run, section, header, cells, image, before).items():
                try:
                    text = figure()
                    raw[at] = f" {text} " if text else " "
                except KeyError as error:
                    print("no figure of", error.args[0], file=sys.stderr)
            line = "|" + "|".join(raw) + "|\n"
        yield line


def main():
    run = Run(sys.argv[1:])
    here = pathlib.Path(__file__).resolve().parent
    for folder in (here, here / "ladder"):
        readme = folder / "README.md"
        readme.write_text("".join(rewritten(run, readme.read_text().splitlines(keepends=True))))
    for row in run.rows:
        if row["group"] in ("Ceilings", "ceiling"):
            print(row["machine"], row["date"], row["content"] or row["case"], f'{float(row["gb_per_s"]):.0f} GB/s')
        if row["group"] == "K7" or "small enough" in row["case"]:
            print(f'{row["case"]}, {row["content"]}, {row["tool"]}: {float(row["median_ms"]) * 1e3:.1f} us')
        if row["group"] == "product":
            print(f'{row["tool"]}, {row["content"]}: {float(row["gb_per_s"]):.0f} GB/s')


if __name__ == "__main__":
    main()
