"""The paper's study from Python: its methods and ours, several numbers of names, several seeds.

    python examples/paper_study.py                    a small simulated market, half a minute
    python examples/paper_study.py prices.csv ...     the paper's grid on one's own markets, hours

What is done is kept in the folder, and not done again: stop it with Ctrl-C and go on later.
"""

import sys
from pathlib import Path

import sharpen


def main(files: list, folder: Path) -> None:
    if files:
        study = sharpen.study(files, preset="paper", out=folder)
    else:
        study = sharpen.study(preset="demo", k=["10%", "20%"], seeds=1, out=folder)

    report = study.report(out=folder / "report.html")
    print(report.text(tables="sharpe"))  # study.cells has every figure as a table
    for finding in report.findings:
        print("-", finding)
    print(f"\n{report.out}: open it in a browser")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(given, Path("study-paper" if given else "study-demo"))
