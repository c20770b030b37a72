"""The paper's study from Python: seven methods, several numbers of names, several seeds.

    python examples/paper_study.py                    a small market that is simulated, a minute
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

    cells = study.cells
    table = cells.pivot_table(index=["market", "k_given"], columns="method",
                              values="sharpe_annualized", sort=False)
    print("Sharpe ratio a year, mean over seeds\n")
    print(table.round(2).T.to_string(), "\n")

    report = study.report(out=folder / "report.html")
    for finding in report.findings:
        print("-", finding)
    print(f"\n{report.out}: open it in a browser")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(given, Path("study-paper" if given else "study-demo"))
