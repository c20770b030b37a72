"""The results as Markdown tables."""

from __future__ import annotations

OURS = "sharpen from PyTorch"
TIMES = ("construction", "first", "forward", "backward")


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * size or unit == "µs":
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"
    return "–"


def number(value: float | None, form: str = ".3g") -> str:
    if value is None:
        return "–"
    text = format(value, form)
    return text.lstrip("-") if not text.strip("-0.") else text  # no -0.00


def both(row: dict) -> float | None:
    """Warm forward + backward, of a row whose answer is right."""
    if row.get("status") != "ok" or "forward" not in row:
        return None
    return row["forward"] + row["backward"]


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def remark(row: dict) -> str:
    if row.get("status") == "ok":
        return escaped(row.get("note", ""))
    return escaped(f"{row.get('status')}: {row.get('reason', '')}")


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def name_of(row: dict) -> str:
    return row["peer"] + (" ¹" if row["scope"] != "layer" else "")


def layer_cell(rows: list[dict]) -> str:
    """Every column for one n and B."""
    header = "layer,construction,first call,warm forward,warm backward,error of weights"
    header += ",error of gradient,peak memory ²,remark"
    lines = []
    for row in rows:
        memory = row.get("peak_mb", 0.0) - row.get("loaded_mb", 0.0)
        right = row.get("status") != "disagrees"  # how long a wrong answer takes is nothing
        times = [row.get(name) if right else None for name in TIMES]
        lines.append(
            [
                name_of(row),
                *map(duration, times),
                number(row.get("weights_error"), ".0e"),
                number(row.get("gradient_error"), ".0e"),
                f"{memory:.0f} MB" if right and "loaded_mb" in row else "–",
                remark(row),
            ]
        )
    return table(header.split(","), lines)


def layer_overview(rows: list[dict]) -> str:
    """Warm forward + backward of the whole batch, for every n and B."""
    cells = sorted({(row["B"], row["n"]) for row in rows})
    peers = list(dict.fromkeys(row["peer"] for row in rows))
    found = {(row["peer"], row["B"], row["n"]): row for row in rows}
    lines = []
    for peer in peers:
        own = [found[peer, B, n] for B, n in cells]
        texts = [duration(both(row)) if both(row) is not None else row["status"] for row in own]
        lines.append([name_of(own[0]), *texts])
    return table(["layer", *(f"n = {n}, B = {B}" for B, n in cells)], lines)


def sparse_table(rows: list[dict], limit: float) -> str:
    lines = []
    for row in rows:
        text = remark(row)
        largest = row.get("largest_of_net")
        if row["status"] == "ok":
            if row.get("stopped"):
                text = f"stopped at its limit of {limit:g} s"
            elif row["solver"].startswith("sharpen") and (largest is None or largest > 2.0):
                text = "outside the peers' bound on a weight"
        lines.append(
            [
                row["problem"],
                str(row["k"]),
                row["solver"],
                number(row.get("sharpe"), ".4f"),
                duration(row.get("seconds")),
                number(row.get("held"), "d"),
                text,
            ]
        )
    header = ["problem", "k", "solver", "Sharpe reached", "time", "names held", "remark"]
    return table(header, lines)


def proved_table(rows: list[dict], limit: float) -> str:
    """Sharpe ratio, bound on that of all others, and time."""
    lines = []
    for row in rows:
        reached, bound = row.get("sharpe"), row.get("bound")
        gap = bound / reached - 1.0 if reached and bound else None
        text = remark(row) if row["status"] != "ok" else ""
        if row["status"] == "ok" and row.get("stopped"):
            text = f"stopped at its limit of {limit:g} s"
        lines.append(
            [
                row["problem"],
                row["solver"],
                number(reached, ".6f"),
                number(bound, ".6f"),
                number(gap, ".2%"),
                duration(row.get("seconds")),
                text,
            ]
        )
    header = ["problem", "solver", "Sharpe reached", "bound", "gap", "time", "remark"]
    return table(header, lines)


def negative_table(rows: list[dict]) -> str:
    lines = []
    for row in rows:
        ours = row["package"] == "sharpen"
        bound = row["bound"]
        said = row.get("outcome") if row.get("status") == "ok" else None
        said = said or remark(row)
        lines.append(
            [
                row["package"],
                "none" if ours else "long only" if bound == 0 else f"±{bound:g}",
                escaped(said),
                number(row.get("sharpe"), ".4f"),
                number(row.get("net"), ".2f"),
                number(row.get("gross"), ".1f"),
            ]
        )
    header = ["package", "bound on a weight", "outcome", "Sharpe", "net position", "gross position"]
    return table(header, lines)


def versions(results: dict) -> str:
    found = {}
    for part in ("portfolios", "layers"):
        found |= {k: v for k, v in results["versions"][part].items() if k != "status"}
    return ", ".join(f"{name} {version}" for name, version in sorted(found.items()))
