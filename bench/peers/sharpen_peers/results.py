"""Writes results.md and chart.svg from the results, and prints the lines that have a bound:

    bench: NAME VALUE BOUND ok|short

in the form of tools/bench. `python -m sharpen_peers.results RESULTS.json PERFORMANCE.md CHART.svg`
puts tables and chart into the documentation, unless they come from a quick run or a busy machine;
`--force` at the end does so in any case.
"""

from __future__ import annotations

import json
import os
import pathlib
import sys

from . import tables
from .chart import chart
from .tables import OURS
from .witness import GAMMAS

BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"
GROUPS = {  # whose fastest member a ratio is held against, and the bound
    "cvxpylayers": (("CVXPYlayers, Clarabel", "CVXPYlayers, SCS"), 300),
    "qpth": (("qpth",), 10),
    "proxsuite": (("ProxSuite QPLayer",), 10),
    "closed_form": (
        (
            "closed form, cholesky_solve",
            "closed form, triangular solves",
            "closed form, stored inverse",
        ),
        2,
    ),
}
LIMITED_GROUPS = {
    "piqp": (("PIQP",), 10),
    "cvxpylayers": (("CVXPYlayers, Clarabel", "CVXPYlayers, SCS"), 100),
}
NOTES = """\
¹ The second solve alone, w from p ⊙ μ with the mask given, as a QP: less work than the layer.

² The most memory held, less what was held once packages and problem were loaded.
"""


def ratio_lines(times: dict, groups: dict, line: str) -> list[str]:
    """How long the fastest of each group takes in our time."""
    lines = []
    for name, (members, bound) in groups.items():
        known = [times[m] for m in members if m in times]
        if OURS not in times or not known:
            missing = members if OURS in times else (OURS,)
            lines.append(f"no ratio {line.format(name)}: {why_missing(times, missing)}")
            continue
        value = min(known) / times[OURS]
        verdict = "ok" if value >= bound else "short"
        lines.append(f"bench: {line.format(name)} {value:.3g} >={bound} {verdict}")
    return lines


def swap_over_mip(rows: list[dict]) -> float | None:
    """The least Sharpe ratio of ours by the best of the others, over the problems that one of them
    has an answer to."""
    ratios = []
    for problem in dict.fromkeys(row["problem"] for row in rows):
        own = {r["solver"]: r for r in rows if r["problem"] == problem and r["status"] == "ok"}
        others = [row["sharpe"] for solver, row in own.items() if not solver.startswith("sharpen")]
        if "sharpen swap" in own and others:
            ratios.append(own["sharpen swap"]["sharpe"] / max(others))
    return min(ratios, default=None)


def bench_lines(results: dict) -> list[str]:
    """Numbers with a bound; what cannot be given is said in words."""
    lines = ratio_lines(results["ratios"], GROUPS, "peers_{}_over_torch")
    lines += ratio_lines(results["limited"]["ratios"], LIMITED_GROUPS, "limited_layer_over_{}")
    value = swap_over_mip(results["capped"])
    if value is None:
        lines.append("no ratio limited_swap_over_mip: no problem that both have answered")
    else:
        verdict = "ok" if value >= 1.0 - 1e-6 else "short"  # solvers keep limits to about that
        lines.append(f"bench: limited_swap_over_mip {value:.7g} >=1 {verdict}")
    overhead = results["overhead"]
    for what in ("forward", "backward"):
        if overhead.get("status") != "ok":
            lines.append(f"no overhead of the {what} call: {overhead.get('reason')}")
            continue
        value = 1e6 * overhead[what]
        verdict = "ok" if value <= 30 else "short"
        lines.append(f"bench: peers_python_{what}_overhead_us {value:.3g} <=30 {verdict}")
    return lines


def why_missing(times: dict, members: tuple[str, ...]) -> str:
    """Why none of the layers is among the ratios."""
    if times.get("status") != "ok":
        return f"all layers taking turns: {times.get('status')}: {times.get('reason')}"
    why = times.get("why", {})
    return "; ".join(f"{name}: {why.get(name, 'not measured')}" for name in members)


def wrong_answers(results: dict) -> list[str]:
    """What is not right among our own answers, or is not there at all."""
    found = []
    if OURS not in results["ratios"]:
        found.append(f"ratios: {why_missing(results['ratios'], (OURS,))}")
    if results["overhead"].get("status") != "ok":
        found.append(f"overhead of the Python call: {results['overhead'].get('reason')}")
    if OURS not in results["limited"]["ratios"]:
        found.append(f"limited ratios: {why_missing(results['limited']['ratios'], (OURS,))}")
    witness = results["witness"]
    if witness.get("status") != "ok":
        found.append(f"witness: {witness.get('status')}: {witness.get('reason')}")
    found += [f"witness: {what}" for what in witness.get("wrong", [])]
    parts = {part: results[part] for part in ("layers", "sparse", "capped", "negative")}
    parts["limited"] = results["limited"]["rows"]
    parts |= {part: results[part] for part in ("proved",) if part in results}
    keys = {"layers": "peer", "limited": "peer", "negative": "package"}
    for part, rows in parts.items():
        key = keys.get(part, "solver")
        ours = [row for row in rows if row[key].startswith("sharpen")]
        if not ours:
            found.append(f"{part}: no row of ours")
        found += [f"{part}: {row}" for row in ours if row["status"] != "ok"]
    return found


def introduction(results: dict) -> str:
    machine = results["machine"]
    text = (
        f"Measured on: {machine['cpu']}, {machine['cores']} cores, {machine['system']}, "
        f"Python {machine['python']}; {machine['threads']} threads for every peer; seed "
        f"{results['seed']}; load {machine['load_before']:.1f} before the run. "
        f"{tables.versions(results)}.\n"
    )
    if results["quick"]:
        text += "\nA quick run: small sizes and short limits.\n"
    if machine["load_before"] > 0.3 * machine["cores"]:
        text += (
            "\nThe machine was busy with other work: layers that run several threads under PyTorch "
            "suffer most from that, and the ratios flatter us.\n"
        )
    if results["not_installed"]:
        text += "\nNot installed: " + "; ".join(results["not_installed"]) + ".\n"
    return text


def cells(results: dict) -> dict[tuple[int, int], list[dict]]:
    found: dict[tuple[int, int], list[dict]] = {}
    for row in results["layers"]:
        found.setdefault((row["B"], row["n"]), []).append(row)
    return dict(sorted(found.items()))


def limited_section(results: dict) -> list[str]:
    limited, witness = results["limited"], results["witness"]
    return [
        f"n = {limited['n']}, B = {limited['B']}, one thread: the largest return at a volatility, "
        "long only, no weight above 10 %, ten groups of at most 15 % each. qpth and ProxSuite are "
        "given the risk aversion that leads to the volatility; PIQP finds it by several QPs.",
        "",
        tables.layer_cell(limited["rows"]),
        f"Of {witness.get('instances', 0)} random problems under limits PIQP finds the same values "
        f"at {len(GAMMAS)} risk aversions each, to "
        f"{witness.get('largest_error', float('nan')):.0e}; "
        f"{witness.get('impossible', 0)} are impossible, which HiGHS finds, too.",
        "",
    ]


def body(results: dict, level: str, whole: bool) -> str:
    """The sections; `whole` with a table for every n and B, else for the largest B at n = 100."""
    head = results["headline"]
    chosen = cells(results)
    if not whole:
        wanted = (head["B"], head["n"])
        chosen = {k: v for k, v in chosen.items() if k == wanted} or dict([chosen.popitem()])
    parts = [introduction(results), "```text", *bench_lines(results), "```", ""]
    parts += [
        f"The ratios are of forward + backward, warm, at n = {head['n']}, B = {head['B']}, all "
        "layers taking turns in one process; of several ways to write a peer the fastest counts. "
        "The overhead is the median call at n = 20, B = 1, less the same call from C++.",
        "",
        f"{level} Forward and backward of the layer",
        "",
        "Warm, the whole batch:",
        "",
        tables.layer_overview(results["layers"]),
    ]
    for (B, n), rows in chosen.items():
        parts += [f"n = {n}, B = {B}:", "", tables.layer_cell(rows)]
    parts += [
        f"{level} The layer under limits",
        "",
        *limited_section(results),
        NOTES,
        f"{level} At most k names",
        "",
        tables.sparse_table(results["sparse"], results["mip_limit"]),
        f"{level} At most k names, long only, with a cap",
        "",
        tables.sparse_table(results["capped"], results["capped_limit"]),
        *proved_section(results, level),
        f"{level} A market in which every expected return is negative",
        "",
        f"No portfolio with a net position of zero or more has a larger Sharpe ratio than "
        f"{max(row.get('best', 0.0) for row in results['negative']):.4f}.",
        "",
        tables.negative_table(results["negative"]),
    ]
    return "\n".join(parts)


def proved_section(results: dict, level: str) -> list[str]:
    """Of results that have it: those of earlier versions do not."""
    if "proved" not in results:
        return []
    table = tables.proved_table(results["proved"], results["capped_limit"])
    return [f"{level} The best k names, proved", "", table]


def replace_file(path: pathlib.Path, text: str) -> None:
    """Whole or not at all."""
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text)
    os.replace(temporary, path)


def write_results(results: dict, folder: pathlib.Path) -> bool:
    """Whether our own answers are right."""
    replace_file(folder / "results.md", "# Peers\n\n" + body(results, "##", whole=True))
    replace_file(folder / "chart.svg", chart(results["layers"], results["machine"]["threads"]))
    print("\n".join(bench_lines(results)))
    wrong = wrong_answers(results)
    for what in wrong:
        print(f"peers: ours is not right: {what}", file=sys.stderr)
    return not wrong


def unfit(results: dict) -> str:
    """Why results are not for the documentation, or nothing."""
    machine = results["machine"]
    if results["quick"]:
        return "they come from a quick run"
    if machine["load_before"] > machine["cores"]:
        return (
            f"the machine was busy, with a load of {machine['load_before']:.1f} on "
            f"{machine['cores']} cores before the run"
        )
    if wrong_answers(results):
        return "an answer of ours is wrong"
    return ""


def write_docs(
    results: dict, page: pathlib.Path, picture: pathlib.Path, force: bool = False
) -> None:
    if unfit(results) and not force:
        raise SystemExit(f"results are not for {page}: {unfit(results)}; --force puts them there")
    text = page.read_text()
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise SystemExit(f"{page}: needs one {BEGIN} and one {END}")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    section = body(results, "###", whole=False)
    drawn = f"![Time of forward and backward against n, for every layer]({picture.name})\n"
    replace_file(page, f"{before}{BEGIN}\n{drawn}\n{section}{END}{after}")
    replace_file(picture, chart(results["layers"], results["machine"]["threads"]))


if __name__ == "__main__":
    write_docs(
        json.loads(pathlib.Path(sys.argv[1]).read_text()),
        pathlib.Path(sys.argv[2]),
        pathlib.Path(sys.argv[3]),
        force="--force" in sys.argv[4:],
    )
