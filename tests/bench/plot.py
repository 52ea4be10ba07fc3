#!/usr/bin/env python3
"""Draws the bars of a run of gpuhist-bench from its CSV file. Needs Python 3.9 and matplotlib (pip install matplotlib).

    gpuhist-bench kernels --image data/rocket.jpg --csv kernels.csv
    tests/bench/plot.py kernels.csv tests/bench/kernels.png
    gpuhist-bench ladder --image data/rocket.jpg --csv ladder.csv
    tests/bench/plot.py ladder.csv tests/bench/ladder/ladder.png --rungs

Figures of one unit make a panel: GB/s first, with a line at the ceiling, then figures against another of the same run,
then times. In it stand cases, in each of them contents, of each one bar per tool. With --rungs a case is a group, in it
the rungs, of each one bar per content. A mark stands at a bar's target, red where that was missed. The picture's kind
follows from its name: .png, .svg, .pdf.
"""
import argparse
import csv

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

# Told apart by those who see red and green alike, too. The first is gpuhist's.
COLORS = ["#0969da", "#e37722", "#8250be", "#78828d", "#1e968c", "#d64880", "#a08228", "#424a53", "#7ab2ee"]
INK, FAINT, GRID, MISSED = "#1f2328", "#656d76", "#e8ebef", "#cf222e"
BAR, BETWEEN_BARS, BETWEEN_CASES = 0.26, 0.14, 0.62  # inches: a bar with its gap, after a content, above a case
COLUMN_INCHES, FEW_CASES = 7.2, 3  # cases of a panel that has one column


def number(value):
    """Three or four digits, thousands set apart: 4,369; 23.1; 0.52."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


class Bar:
    def __init__(self, row, rungs):
        ms = float(row["median_ms"])
        speed, relative = (float(row[name] or 0) for name in ("gb_per_s", "relative"))
        percent = float(row["percent_of_ceiling"] or 0)
        self.case, self.content, self.tool = f'{row["group"]}  {row["case"]}'.strip(), row["content"], row["tool"]
        if rungs:
            on_host = "host's clock" in row["note"]
            self.case = row["group"] + (", on the host's clock" if on_host else "")
            self.content, self.tool = row["case"] if row["tool"] == "ladder" else row["tool"], row["content"]
        # Length and unit: bars of different units share no axis.
        if speed:
            self.unit, self.length = "GB/s", speed
        elif relative:
            self.unit, self.length = row["relative_to"], relative
        else:
            self.unit, self.length = ("microseconds", ms * 1e3) if ms < 1 else ("milliseconds", ms)
        self.label = number(self.length)
        if speed and relative:
            self.label += f' · {number(relative)} {row["relative_to"]}'
        elif speed and percent:
            self.label += f" · {percent:.{1 if percent < 10 else 0}f} %"
        self.ceiling = (row["ceiling"], speed / percent * 100) if percent else None
        self.target, self.missed = None, row["met"] == "no"
        if row["target"]:
            target, of = float(row["target"]), row.get("target_of")
            if of == "ceiling" and percent:
                self.target = target * self.ceiling[1]
            elif of == "relative" and relative:
                self.target = self.length * target / relative
            elif of == "microseconds" and not speed:
                self.target = target / (1 if ms < 1 else 1e3)


def grouped(bars, key):
    """In the order of first appearance."""
    groups = {}
    for bar in bars:
        groups.setdefault(key(bar), []).append(bar)
    return groups


def height_of(cases):
    return sum(
        BETWEEN_CASES + sum(BAR * len(bars) + BETWEEN_BARS for bars in grouped(case, lambda b: b.content).values())
        for case in cases.values()
    )


def columns_of(bars):
    """One column of cases, or two of about the same height."""
    cases = grouped(bars, lambda b: b.case)
    names = list(cases)
    if len(names) <= FEW_CASES:
        return [cases]
    parts = [[{n: cases[n] for n in part} for part in (names[:i], names[i:])] for i in range(1, len(names))]
    return min(parts, key=lambda part: max(map(height_of, part)))


def draw_column(axes, cases, height, longest, ceiling, colors):
    axes.set_xlim(0, longest)
    axes.set_ylim(height, 0)
    axes.set_yticks([])
    axes.tick_params(axis="x", colors=FAINT, length=0)
    axes.grid(axis="x", color=GRID)
    axes.set_axisbelow(True)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(GRID)
    if ceiling:
        axes.axvline(ceiling[1], color=INK, linewidth=1, linestyle=(0, (4, 3)))
        axes.text(ceiling[1], 0, f"{ceiling[0]} {number(ceiling[1])} = 100 %", color=INK, fontsize=8, va="bottom")
    y = 0
    for name, case in cases.items():
        y += BETWEEN_CASES
        background = {"facecolor": "white", "edgecolor": "none", "pad": 2}
        axes.text(0, y - 0.12, name, color=INK, fontsize=10, va="bottom", bbox=background)
        for content, bars in grouped(case, lambda b: b.content).items():
            middle = y + BAR * len(bars) / 2
            axes.annotate(content, (0, middle), (-8, 0), textcoords="offset points", ha="right", va="center",
                          color=FAINT, fontsize=9)
            for bar in bars:
                axes.barh(y + BAR / 2, bar.length, BAR * 0.83, color=colors[bar.tool])
                end = bar.length
                if bar.target:
                    axes.plot([bar.target] * 2, [y - 0.02, y + BAR + 0.02], linewidth=2,
                              color=MISSED if bar.missed else INK)
                    if end <= bar.target < end + longest * 0.2:
                        end = bar.target
                axes.annotate(bar.label, (end, y + BAR / 2), (5, 0), textcoords="offset points", va="center",
                              color=INK, fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})
                y += BAR
            y += BETWEEN_BARS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", help="what gpuhist-bench --csv has written")
    parser.add_argument("picture", help="the file to write")
    parser.add_argument("--rungs", action="store_true", help="arranged as the ladder")
    parser.add_argument("--title", help="instead of the usual one")
    arguments = parser.parse_args()

    with open(arguments.csv, newline="") as file:
        rows = list(csv.DictReader(file))
    measured = [row for row in rows if not row["skipped"]]
    if not measured:
        raise SystemExit(f"{arguments.csv}: there is nothing measured in it")
    bars = [Bar(row, arguments.rungs) for row in measured]
    title = arguments.title or ("The ladder: known ways to reduce and to count an image on a GPU" if arguments.rungs
                                else "gpuhist, measured")

    colors, others = {}, iter(COLORS[1:])
    for bar in bars:  # where there are more tools than colors the last one stands for all others
        if bar.tool not in colors:
            colors[bar.tool] = COLORS[0] if bar.tool == "gpuhist" else INK if bar.tool == "ceiling" else next(others, COLORS[-1])

    panels = sorted(grouped(bars, lambda b: b.unit).items(), key=lambda panel: panel[0] != "GB/s")
    panels = [(unit, bars, columns_of(bars)) for unit, bars in panels]
    heights = [max(map(height_of, columns)) for _, _, columns in panels]
    above, space, below = 1.2, 1.0, 0.3 + 0.2 * len({row["skipped"] for row in rows})
    total = above + sum(heights) + space * len(heights) + below
    width = 2 * COLUMN_INCHES
    figure = plt.figure(figsize=(width, total), dpi=100)
    figure.text(0.3 / width, 1 - 0.35 / total, title, color=INK, fontsize=16, va="center")
    figure.text(0.3 / width, 1 - 0.65 / total, f'{measured[0]["machine"]} · {measured[0]["date"]}', color=FAINT, fontsize=9, va="center")
    handles = [plt.Rectangle((0, 0), 1, 1, color=color) for color in colors.values()]
    figure.legend(handles, colors, loc="upper left", bbox_to_anchor=(0.25 / width, 1 - 0.75 / total), ncols=len(colors),
                  frameon=False, fontsize=9, handlelength=1, handleheight=1)

    top = total - above
    for (unit, bars, columns), height in zip(panels, heights):
        top -= space
        ceiling = next((b.ceiling for b in bars if b.ceiling), None) if unit == "GB/s" else None
        figure.text(0.3 / width, (top + 0.35) / total, unit + (f" and percent of the {ceiling[0]}" if ceiling else ""),
                    color=INK, fontsize=11)
        labels = 0.4 + 0.075 * max(len(b.content) for b in bars)
        longest = 1.35 * max([b.length for b in bars] + [b.target or 0 for b in bars] + [ceiling[1] if ceiling else 0])
        each = width / len(columns)
        for i, cases in enumerate(columns):
            box = [(i * each + labels) / width, (top - height) / total, (each - labels - 0.3) / width, height / total]
            draw_column(figure.add_axes(box), cases, height, longest, ceiling, colors)
        top -= height
    notes = sorted({f'{row["tool"]} skipped: {row["skipped"]}' for row in rows if row["skipped"]})
    figure.text(0.3 / width, 0.1 / total, "\n".join(notes), color=FAINT, fontsize=8, va="bottom")
    figure.savefig(arguments.picture)


if __name__ == "__main__":
    main()
