"""The inputs that the cases of tools/answers share: markets, files made of them, models, studies.

Each is made once, when a record is made, and kept in it: a comparison gives other builds the same
bytes, so that a change of the simulator is one difference and not a hundred.
"""

import csv
import gzip
import random

LEARN = "--lookback 20 --hidden 8,4 --batch 32 --epochs 3 --ensemble 2 -k 3"

STUDY = """\
k = [2, "50%"]
seeds = 2
lookback = 20
hidden = [4]
epochs = 3
batch = 32
[[market]]
name = "sim"
simulate = { assets = 6, days = 200, seed = 1, predictability = 0.3 }
[[market]]
name = "file"
prices = "small.csv"
[[method]]
framework = "historic"
optimizer = "sdr"
sdr-recovery = "match"
sdr-match = "monthly"
[[method]]
framework = "pfl"
optimizer = "oscar"
training = "paper"
[[method]]
framework = "dfl"
optimizer = "swap"
alpha = 0.9
label = "Our own"
[[method]]
framework = "dfl"
optimizer = "symmetric"
cost-bps = 5
name = "costly"
[[method]]
optimizer = "equal"
"""

FAILING = """\
seeds = 1
lookback = 20
hidden = [4]
epochs = 3
[[market]]
simulate = { assets = 5, days = 160 }
[[method]]
name = "wild"
framework = "pfl"
learning-rate = 1e30
[[method]]
optimizer = "equal"
"""


def table(folder, name):
    with open(folder / name, newline="") as file:
        header, *rows = csv.reader(file)
    return header, [(row[0], [float(cell) for cell in row[1:]]) for row in rows]


def write(folder, name, header, rows):
    lines = [",".join(header)]
    lines += [",".join([label, *(v if isinstance(v, str) else repr(v) for v in values)])
              for label, values in rows]  # fmt: skip
    (folder / name).write_text("\n".join(lines) + "\n")


def returns_of(rows):
    return [
        (date, [now / then - 1 for now, then in zip(values, before)])
        for (_, before), (date, values) in zip(rows, rows[1:])
    ]


def returns(folder):
    header, rows = table(folder, "market.csv")
    write(folder, "returns.csv", header, returns_of(rows))


def gross(folder):
    header, rows = table(folder, "returns.csv")
    write(folder, "gross.csv", header, [(d, [1 + r for r in values]) for d, values in rows])


def signal(folder):
    """Half foresight, half noise, for the period after each date."""
    header, rows = table(folder, "returns.csv")
    noise = random.Random(5)
    made = [
        (date, [0.5 * r + 0.01 * (noise.random() - 0.5) for r in following])
        for (date, _), (_, following) in zip(rows, rows[1:])
    ]
    made.append((rows[-1][0], [0.01 * (noise.random() - 0.5) for _ in header[1:]]))
    write(folder, "signal.csv", header, made)


def moments(folder):
    """Means and covariance of the returns, as two CSVs and in OR-Library's layout."""
    header, rows = table(folder, "returns.csv")
    names, n = header[1:], len(rows)
    columns = list(zip(*(values for _, values in rows)))
    means = [sum(c) / n for c in columns]
    cov = [
        [sum((a - ma) * (b - mb) for a, b in zip(x, y)) / (n - 1) for y, mb in zip(columns, means)]
        for x, ma in zip(columns, means)
    ]
    write(folder, "mean.csv", ["asset", "mean"], [(a, [m]) for a, m in zip(names, means)])
    write(folder, "cov.csv", ["", *names], list(zip(names, cov)))
    size = range(len(names))
    sd = [cov[i][i] ** 0.5 for i in size]
    lines = [str(len(names)), *(f"{m:.8f} {s:.8f}" for m, s in zip(means, sd))]
    lines += [
        f"{i + 1} {j + 1} {cov[i][j] / sd[i] / sd[j]:.8f}" for i in size for j in size if i <= j
    ]
    (folder / "orlib.txt").write_text("\n".join(lines) + "\n")


def ill(folder):
    """A split, a print, gaps short and long, a frozen price, a holiday, a late start, an early
    end."""
    header, rows = table(folder, "market.csv")
    cells = [[repr(v) for v in values] for _, values in rows]
    for t in range(len(rows)):
        if t >= 120:
            cells[t][0] = repr(rows[t][1][0] / 2)
        if t < 60:
            cells[t][3] = ""
        if t > 250:
            cells[t][4] = ""
        if 150 <= t < 165:
            cells[t][5] = cells[150][5]
        if 90 <= t < 93 or 200 <= t < 212:
            cells[t][6 if t < 100 else 7] = ["", "NaN", "n/a"][t % 3]
    cells[80][1] = repr(rows[80][1][1] * 10)
    cells[180] = cells[179]
    write(folder, "ill.csv", header, [(date, row) for (date, _), row in zip(rows, cells)])


def nonpositive(folder):
    header, rows = table(folder, "small.csv")
    rows[50][1][2] = 0.0
    rows[70][1][4] = -3.0
    write(folder, "nonpositive.csv", header, rows)


def long(folder):
    header, rows = table(folder, "small.csv")
    lines = ["date;ticker;close"]
    lines += [f'{d};"{a}";{v!r}' for d, values in rows for a, v in zip(header[1:], values)]
    (folder / "long.csv").write_bytes(("\ufeff" + "\r\n".join(lines) + "\r\n").encode())


def zipped(folder):
    content = (folder / "small.csv").read_bytes()
    (folder / "small.csv.gz").write_bytes(gzip.compress(content, mtime=0))


def monthly(folder):
    header, rows = table(folder, "small.csv")
    dates = [f"{2000 + t // 12}-{t % 12 + 1:02}-28" for t in range(len(rows))]
    write(folder, "monthly.csv", header, [(d, values) for d, (_, values) in zip(dates, rows)])


def odd_names(folder):
    header, rows = table(folder, "small.csv")
    names = ['"A,B"', '"say ""so"""', "Ω", "=1+1", "<b>", "a b"]
    write(folder, "odd_names.csv", [header[0], *names], rows)


def texts(folder):
    (folder / "study.toml").write_text(STUDY)
    (folder / "failing.toml").write_text(FAILING)


SMALL_RUN = "--lookback 40 --replications 200"

# In the order in which they are made: commands of the program, or functions.
INPUTS = {
    "options.md": "--print-options-md > options.md",
    "market.csv": "simulate --assets 12 --days 300 --seed 1 --predictability 0.3 --out market.csv",
    "small.csv": "simulate --assets 6 --days 200 --seed 2 --out small.csv",
    "wide.csv": "simulate --assets 60 --days 70 --seed 3 --factors 2 --out wide.csv",
    "returns.csv": returns,
    "gross.csv": gross,
    "signal.csv": signal,
    "mean.csv": moments,
    "cov.csv": moments,
    "orlib.txt": moments,
    "ill.csv": ill,
    "nonpositive.csv": nonpositive,
    "long.csv": long,
    "small.csv.gz": zipped,
    "monthly.csv": monthly,
    "odd_names.csv": odd_names,
    "study.toml": texts,
    "failing.toml": texts,
    "dfl.sharpen": f"train --prices market.csv {LEARN} --out dfl.sharpen",
    "pfl.sharpen": f"train --prices market.csv {LEARN} --framework pfl --out pfl.sharpen",
    "joint.sharpen": f"train --prices market.csv {LEARN} --preset paper --out joint.sharpen",
    "early.sharpen": f"train --prices market.csv {LEARN} --to 2015-10-30 --out early.sharpen",
    "run-a": f"backtest --prices market.csv {SMALL_RUN} -k 3 --out run-a",
    "run-b": f"backtest --prices market.csv {SMALL_RUN} --optimizer equal --out run-b",
    "run-c": f"backtest --prices small.csv {SMALL_RUN} -k 3 --out run-c",
    "study": "study study.toml --out study",
    "failed": "study failing.toml --out failed",
    "paper": "study --preset paper --prices small.csv -k 2 --seeds 2 --epochs 2 --hidden 4 "
    "--lookback 20 --out paper",
    "alpha": "study --preset alpha --prices small.csv --alphas 0,0.5,1 -k 2 --seeds 2 --epochs 3 "
    "--hidden 4 --lookback 20 --out alpha",
}
