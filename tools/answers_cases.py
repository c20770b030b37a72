"""The cases of tools/answers. A case has a name, commands that run one after the other in one
folder, and files of its own; inputs and data that its commands or files name are there as well.
"""

import re
import shlex
import sqlite3
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from answers_inputs import INPUTS
from answers_table import ANSWERS, WRONG

COMMANDS = "solve doctor simulate backtest train predict inspect compare study report".split()


@dataclass
class Case:
    name: str
    steps: list
    files: dict = field(default_factory=dict)

    @property
    def python(self):
        return self.steps[0].startswith("python ")


def cut(name, most):
    return lambda inputs: (inputs / name).read_bytes()[:most]


def altered(name, at, value):
    def made(inputs):
        content = bytearray((inputs / name).read_bytes())
        content[at] = value
        return bytes(content)

    return made


def by_sql(*statements):
    """The study, changed by hand."""

    def made(inputs):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "study.db"
            file.write_bytes((inputs / "study" / "study.db").read_bytes())
            study = sqlite3.connect(file)
            for statement in statements:
                study.execute(statement)
            study.commit()
            study.close()
            return file.read_bytes()

    return made


def with_a_column(inputs):
    lines = (inputs / "market.csv").read_text().splitlines()
    return "\n".join([lines[0] + ",MORE", *(line + ",5" for line in lines[1:])]) + "\n"


MARKET = '[[market]]\nprices = "small.csv"\n'

# Files of cases, by the names under which commands ask for them.
FILES = {
    "falling.csv": "A,-1\nB,-2\nC,-3\n",
    "cov3.csv": ",A,B,C\nA,2,0.5,0\nB,0.5,1,0\nC,0,0,3\n",
    "flat.csv": "date,UP,FLAT,DOWN\n2024-01-01,10,5,10\n2024-01-02,11,5,9\n2024-01-03,12,5,10\n"
    "2024-01-04,14,5,9\n",
    "mine.toml": 'prices = "market.csv"\njson = true\nk = "25%"\noptimizer = "greedy"\n'
    'lookback = 50\ntickers = ["S001", "S002", "S003", "S007"]\nexplain = true\n',
    "walk.toml": 'prices = "market.csv"\nk = "25%"\nframework = "dfl"\npreset = "paper"\n'
    'lookback = 20\nhidden = [8, 4]\nepochs = 2\ncost-bps = 5\nlabel = "by file"\nforce = false\n',
    "mine/other.txt": "mine\n",
    "previous.csv": "asset,weight\nS001,0.5\nS002,-0.25\nGONE,0.1\n",
    "more.csv": with_a_column,
    "markets.toml": 'k = 2\nlookback = 30\n[[market]]\nname = "Ill, adjusted"\nprices = "ill.csv"\n'
    'on-suspect = "adjust"\nmax-gap = 20\nsplit = "70%"\n[[market]]\nreturns = "gross.csv"\n'
    'gross = true\nfrom = "2015-03"\nrisk-free = 0.01\nperiods-per-year = 250\n[[market]]\n'
    'prices = "odd_names.csv"\nname = "<odd> & =names"\n[[method]]\noptimizer = "equal"\n'
    '[[method]]\nframework = "historic"\noptimizer = "mssrm"\nhistoric-risk = "train"\n',
    "empty.csv": "",
    "header.csv": "date,A,B\n",
    "ragged.csv": "date,A,B\n2024-01-01,1,2\n2024-01-02,1\n",
    "oops.csv": "date,A,B\n2024-01-01,1,2\n2024-01-02,1,oops\n",
    "twins.csv": "date,A,A\n2024-01-01,1,2\n2024-01-02,1,2\n",
    "again.csv": "date,A,B\n2024-01-01,1,2\n2024-01-01,1,2\n",
    "unsorted.csv": "date,A,B\n2024-01-02,1,2\n2024-01-01,1,2\n",
    "bad_date.csv": "date,A,B\n2024-01-02,1,2\n2024-13-01,1,2\n",
    "constant.csv": "date,A,B\n2024-01-01,10,5\n2024-01-02,10,5\n2024-01-03,10,5\n",
    "absurd.csv": "date,A,B\n2024-01-01,1,1\n2024-01-02,2,1\n2024-01-03,1,1e300\n"
    "2024-01-04,1,1e-300\n",
    "broken.csv.gz": cut("small.csv.gz", 500),
    "mean2.csv": "asset,mean\nA,0.1\nB,0.2\n",
    "eye.csv": ",A,B\nA,1,0\nB,0,1\n",
    "skew.csv": ",A,B\nA,1,0.5\nB,0.4,1\n",
    "indefinite.csv": ",A,B\nA,1,2\nB,2,1\n",
    "nan.csv": "asset,mean\nA,nan\nB,0.2\n",
    "other.csv": ",A,C\nA,1,0\nC,0,1\n",
    "zero.csv": ",A,B\nA,0,0\nB,0,0\n",
    "huge.csv": "A,1e300\nB,2e300\n",
    "tiny.csv": ",A,B\nA,1e-300,0\nB,0,1e-300\n",
    "short.txt": "3\n1 1\n1 1\n",
    "key.toml": "demo = true\nshrinkge = 0.1\n",
    "type.toml": 'demo = true\nshrinkage = "much"\n',
    "syntax.toml": "demo = true\nk = = 3\n",
    "table.toml": "[solve]\nk = 3\n",
    "bound.toml": "demo = true\n\nshrinkage = 2\n",
    "choice.toml": 'prices = "small.csv"\noptimizer = "swop"\n',
    "clash.toml": '\n\nprices = "p.csv"\n',
    "hollow/returns.csv": "date,return\n",
    "words/returns.csv": "date,return\n2015-02-26,x\n",
    "cut.sharpen": cut("dfl.sharpen", 100),
    "altered.sharpen": altered("dfl.sharpen", 100, 255),
    "newer.sharpen": altered("dfl.sharpen", 8, 9),
    "twice.csv": "asset,weight\nS001,0.5\nS001,0.25\n",
    "method_key.toml": MARKET + '[[method]]\noptimiser = "swap"\n',
    "method_value.toml": MARKET + '[[method]]\nframework = "dfl"\nalpha = 3\n',
    "method_clash.toml": MARKET + "[[method]]\nalpha = 0.5\n",
    "method_twice.toml": MARKET + "[[method]]\n[[method]]\n",
    "method_signal.toml": MARKET + '[[method]]\nframework = "signal"\n',
    "market_key.toml": '[[market]]\nprice = "small.csv"\n[[method]]\n',
    "market_both.toml": '[[market]]\nprices = "small.csv"\nreturns = "returns.csv"\n[[method]]\n',
    "market_none.toml": "[[method]]\n",
    "simulate_key.toml": "[[market]]\nsimulate = { asset = 5 }\n[[method]]\n",
    "changed.toml": "seeds = 1\nlookback = 20\nhidden = [4]\nepochs = 3\n[[market]]\n"
    "simulate = { assets = 5, days = 160, seed = 9 }\n[[method]]\n"
    'name = "wild"\nframework = "pfl"\nlearning-rate = 1e30\n[[method]]\noptimizer = "equal"\n',
    "cut.db": cut("study/study.db", 5000),
    "text.db": by_sql("UPDATE cells SET state = 'odd' WHERE cell = 1"),
    "damaged.db": by_sql("UPDATE runs SET found = CAST(substr(found, 1, 900) || x'00' || substr(found, 902) AS BLOB) WHERE cell = 1"),
    "orphan.db": by_sql("DELETE FROM cells WHERE cell = 1"),
    "columns.db": by_sql("ALTER TABLE cells ADD COLUMN more TEXT"),
    "no_table.db": by_sql("DROP TABLE runs"),
}
KNOWN = re.compile(
    r"(?<![\w./-])(?:" + "|".join(re.escape(n.split("/")[0]) for n in [*INPUTS, *FILES])
    + r"|\w+(?:_gross|\d_20\d\d)\.csv|port\d\.txt)(?![\w.-])"
)  # fmt: skip


def words_of(case):
    """Every known file that the commands of a case, or the files among them, speak of."""
    found, texts = [], list(case.steps)
    while texts:
        for name in KNOWN.findall(texts.pop()):
            if name in found:
                continue
            found.append(name)
            if isinstance(FILES.get(name), str):
                texts.append(FILES[name])
            if name == "study.toml":
                found.append("small.csv")
    return found


def own(name):
    return {key: made for key, made in FILES.items() if key.split("/")[0] == name}


def files_of(case):
    """The inputs and data a case needs beside its own files."""
    return sorted({name for name in words_of(case) if not own(name)})


def data_files(case):
    return [name for name in files_of(case) if name not in INPUTS]


def twice(step):
    plain = step.replace(" [--json]", "")
    return [plain] if plain == step else [plain, plain + " --json"]


def written():
    name, steps = None, []
    for line in [*ANSWERS.splitlines(), "end"]:
        if line.startswith("  "):
            steps += twice(line.strip())
        elif line:
            if name:
                yield Case(name, steps)
            name, steps = line, []


def refused():
    for line in WRONG.strip().splitlines():
        if line:
            name, _, command = line.partition(":")
            yield Case(f"wrong-{name}", [command.strip()])


def settings_of(page):
    """From docs/options.md: {command: [(flag, text of its values)]}."""
    found, command = {}, None
    for line in page.splitlines():
        if line.startswith("## sharpen "):
            command = line.split()[-1]
        elif line.startswith("| `-") and command:
            cells = re.split(r"(?<!\\)\|", line)
            found.setdefault(command, []).append((cells[1].strip(" `").split()[0], cells[2]))
    return found


# What some settings need beside them to mean anything.
STARTS = {
    "flags-backtest-dfl": "backtest --framework dfl",
    "flags-study": "study --prices small.csv",
    "flags-study-learning": "study --prices small.csv --frameworks pfl,dfl --trainings default,paper",
}

PAIRED = {
    "solve": ("solve", "--demo --json"),
    "backtest": ("backtest", "--print-config"),
    "dfl": ("backtest", "--framework dfl --print-config"),
}


def swept(page):
    """Every setting of every command with right and wrong values, by flag and by file; flags of other
    commands; and every pair of choices."""
    settings = settings_of(page)
    starts = {**{f"flags-{command}": command for command in settings}, **STARTS}
    for name, start in starts.items():
        yield Case(name, list(flags_of(start, settings[start.split()[0]])))
    for command, flags in settings.items():
        start = STARTS.get(f"flags-{command}", command)
        yield configured(f"configs-{command}", start, flags)
        yield Case(f"strangers-{command}", list(strangers_of(command, settings)))
    for name, (command, more) in PAIRED.items():
        for first, *steps in pairs_of(command, more, settings[command]):
            yield Case(f"pairs-{name}{first}", steps)


def choices(text):
    """The words of a column such as "`dense`, `low-rank`"."""
    return re.findall(r"`([^`]+)`", text)


def flags_of(start, flags):
    for flag, text in flags:
        values = ["", "x", "-1", "1.5", "nan", "7", *choices(text)]
        switch = ["=true", "=false", "=x"] if text.strip() == "on or off" else None
        for value in switch or [" " + shlex.quote(v) for v in values]:
            yield f"{start} {flag}{value} --print-config"


def strangers_of(command, settings):
    mine = dict(settings[command])
    others = {flag for flags in settings.values() for flag, _ in flags if flag not in mine}
    return [f"{command} {flag} 1" for flag in sorted(others)]


def configured(name, start, flags):
    steps, files = [], {}
    for flag, _ in flags:
        key = flag.lstrip("-")
        for number, value in enumerate(["true", "-1", "1.5", '"x"', '["a", 3]', "{ a = 1 }"]):
            file = f"{key}-{number}.toml"
            files[file] = f"# one setting\n{key} = {value}\n"
            steps.append(f"{start} --config {file} --print-config")
    return Case(name, steps, files)


def pairs_of(command, more, flags):
    """For each flag with choices: its name, then its choices with those of the flags after it."""
    given = [
        (flag, [f"{flag} {value}" for value in choices(text)])
        for flag, text in flags
        if len(choices(text)) > 1 and flag not in ("--log-level", "--on-suspect", "--form")
    ]
    for number, (flag, first) in enumerate(given[:-1]):
        others = [choice for _, second in given[number + 1 :] for choice in second]
        yield [flag, *(f"{command} {a} {b} {more}" for a in first for b in others)]


def all_cases(inputs):
    """Every case. `inputs` holds options.md, the table of settings from which some of them follow."""
    found = [*written(), *refused()]
    for command in COMMANDS:
        found.append(Case(f"help-{command}", [f"{command} --help", f"{command} --print-config"]))
    found += swept((inputs / "options.md").read_text())
    for case in found:
        for name in words_of(case):
            case.files.update(own(name))
    return found
