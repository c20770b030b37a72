"""What tools/answers asks the Python package: python answers_python.py SECTION FILE...

A section is a function below; the files are those that it reads, so that tools/answers puts them
there. Every answer is a line or more on standard output: a label, then the value with all its digits
(numbers in hexadecimal), or the error's type and message, and the warnings that came with it.
"""

import copy
import inspect
import pickle
import sys
import warnings
from pathlib import Path

import answers_cases
import numpy as np
import pandas as pd

import sharpen

LEARN = dict(k=3, lookback=20, hidden=[8, 4], batch=32, epochs=3, ensemble=2, progress=False)
ASOF = "2016-02-24"


def shown(value):
    """A text that is the same for the same bits, and no other."""
    if isinstance(value, (bool, np.bool_)) or value is None:
        return str(value)
    if isinstance(value, (float, np.floating)):
        return f"{float(value)!r}={float(value).hex()}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shown(k)}: {shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, pd.DataFrame):
        rows = "".join(f"\n  {shown(c)}: {shown(value.iloc[:, i])}" for i, c in enumerate(value))
        return f"{type(value).__name__} {value.shape} {shown(value.attrs)}{rows}"
    if isinstance(value, pd.Series):
        return f"{value.dtype} {value.name} {index_of(value.index)} {shown(value.tolist())}"
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {shown(value.tolist())}"
    if hasattr(value, "detach"):
        return f"tensor {shown(value.detach().numpy())}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value).__name__ + shown(value._asdict())
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(shown, value)) + "]"
    return str(value)


def index_of(index):
    ends = f"{index[0]}..{index[-1]}" if len(index) else ""
    return f"{type(index).__name__}({len(index)}: {ends}, {index.name}, {index.dtype})"


def tell(label, make):
    """Prints what `make` gives, or raises, and what it warns of; answers with what it gives."""
    found = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", sharpen.SharpenWarning)
        try:
            found = make()
            print(f"{label}: {shown(found)}")
        except Exception as error:  # what users see of any error
            kind = type(error)
            base = "" if kind.__mro__[1] is Exception else f" ({kind.__mro__[1].__name__})"
            print(f"{label}: {kind.__module__}.{kind.__name__}{base}: {error}")
    for warning in caught:
        if issubclass(warning.category, sharpen.SharpenWarning):
            print(f"{label}: warns: {warning.message}")
    return found


def quietly(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def prices_of(name="market.csv"):
    return pd.read_csv(name, index_col=0, parse_dates=True)


def solve():
    market, small = prices_of("market.csv"), prices_of("small.csv")
    returns = market.pct_change().iloc[1:]
    mu, Sigma = returns.mean(), returns.cov()
    for optimizer in "oscar symmetric greedy swap mssrm mssrm-long sdr equal".split():
        made = tell(optimizer, lambda: sharpen.solve(market, 4, optimizer=optimizer, lookback=60))
        if made is None:
            continue
        tell("weights", lambda: made.weights)
        tell("figures", lambda: made.figures)
        tell("explain", made.explain)
        tell("pickled", lambda: pickle.loads(pickle.dumps(made)).explain())
        tell("warnings", lambda: made.warnings)
        tell("window", lambda: made.window)
    for settings in (
        dict(sizing="budget", offset=0.02), dict(sizing="volatility", target_volatility=0.2),
        dict(net="any"), dict(lookback="all", shrinkage=0), dict(certify=True),
        dict(certify=True, bound="perspective"), dict(form="dense"), dict(form="low-rank"),
        dict(from_="2015-03-01", to="2015-11"), dict(tickers=["S003", "S001", "S007"]),
        dict(optimizer="sdr", sdr_recovery="match"), dict(k="25%"), dict(threads=1),
    ):  # fmt: skip
        made = tell(str(settings), lambda: sharpen.solve(market, **{"k": 3, **settings}))
        tell("weights", lambda: made.weights)
        tell("figures", lambda: made.figures)
    tell("moments", lambda: sharpen.solve((mu, Sigma), 3).figures)
    tell("moments, arrays", lambda: sharpen.solve((mu.to_numpy(), Sigma.to_numpy()), 3).weights)
    tell("moments, explained", lambda: sharpen.solve((mu, Sigma), 3).explain())
    tell("falling", lambda: sharpen.solve((-mu.abs(), Sigma), 1).figures)
    tell("returns", lambda: sharpen.solve(returns=returns, k=3).weights)
    tell("gross", lambda: sharpen.solve(returns=returns + 1, gross=True, k=3).weights)
    tell("file", lambda: sharpen.solve("small.csv", 2).weights)
    tell("float32", lambda: sharpen.solve(small.astype("float32"), 2).weights)
    tell("array", lambda: sharpen.solve(small.to_numpy(), 2).weights)
    tell("copy", lambda: copy.copy(sharpen.solve(small, 2)).weights)
    tell("names", lambda: dir(sharpen.solve(small, 2)))


def backtest():
    market, ill = prices_of("market.csv"), prices_of("ill.csv")
    signal = pd.read_csv("signal.csv", index_col=0, parse_dates=True)
    common = dict(k=3, lookback=40, replications=200, progress=False)

    def everything(label, make):
        made = tell(label, make)
        for name in "returns daily weights trades benchmark wealth metrics".split():
            tell(name, lambda: getattr(made, name))
        tell("text", lambda: str(made))
        return made

    for optimizer in "oscar symmetric greedy swap mssrm mssrm-long sdr equal".split():
        settings = {**common, "optimizer": optimizer, "rebalance": 3}
        made = tell(optimizer, lambda: sharpen.backtest(market, **settings))
        tell("returns", lambda: made.returns)
        tell("metrics", lambda: made.metrics)
    kept = everything("rolling", lambda: sharpen.backtest(
        market, **common, cost_bps=5, risk_free=0.01, benchmark="S002", trials=5, label="Mine"))
    everything("historic", lambda: sharpen.backtest(
        market, **common, framework="historic", historic_risk="train", sizing="gross", net="any"))
    everything("signal", lambda: sharpen.backtest(market, **common, signal=signal))
    everything("available", lambda: sharpen.backtest(
        ill, **common, universe="available", on_suspect="adjust"))
    everything("dfl", lambda: sharpen.backtest(market, **LEARN, framework="dfl", replications=200))
    everything("paper", lambda: sharpen.backtest(
        market, **LEARN, framework="pfl", preset="paper", retrain=30, replications=200))
    everything("soft", lambda: sharpen.backtest(
        market, **LEARN, framework="dfl", decision="soft", replications=200))
    tell("model", lambda: sharpen.backtest(
        market, framework="dfl", model="early.sharpen", replications=200, progress=False).metrics)
    tell("save", lambda: kept.save("kept"))
    everything("load", lambda: sharpen.Backtest.load("kept"))
    everything("pickled", lambda: pickle.loads(pickle.dumps(kept)))
    tell("out", lambda: sharpen.backtest(market, **common, out="written").sharpe)
    other = quietly(lambda: sharpen.backtest(market, **{**common, "k": 5}))
    compared = tell("compare", lambda: sharpen.compare(kept, other, replications=300))
    tell("compare, text", lambda: str(compared))
    tell("compare, figures", lambda: {n: getattr(compared, n) for n in dir(compared) if n[0] != "_"})
    tell("compare, folders", lambda: sharpen.compare("kept", "written", seed=4, block=5))
    tell("compare, method", lambda: kept.compare(other, replications=100))
    tell("simulate", lambda: sharpen.simulate(assets=4, days=20, seed=3, expected=True))
    tell("simulate, null", lambda: sharpen.simulate(assets=3, days=10, predictability=0, factors=1))
    tell("doctor", lambda: sharpen.doctor(ill, on_suspect="adjust"))
    tell("doctor, available", lambda: sharpen.doctor(ill, universe="available", max_gap=2))
    tell("doctor, file", lambda: sharpen.doctor("nonpositive.csv"))


def training():
    market = prices_of("market.csv")
    model = tell("dfl", lambda: sharpen.train(market, **LEARN, out="dfl.model"))
    for settings in (
        dict(framework="pfl"), dict(preset="paper"), dict(alpha=0.9, mixing="balanced"),
        dict(reoptimization="restricted", score="cholesky", raw_score=True, topk="bisection"),
        dict(decision_loss="sharpe", sizing="gross", net="any", seed=7, threads=1),
        dict(beta=2, beta_final=20, horizon=2, warm_start=0, validation=0),
    ):  # fmt: skip
        made = tell(str(settings), lambda: sharpen.train(market, **LEARN, **settings))
        tell("save", lambda: made.save("-".join(settings) + ".model"))
        tell("members", lambda: made.members)
    for name in "assets settings info members warnings".split():
        tell(name, lambda: getattr(model, name))
    tell("load", lambda: sharpen.Model.load("dfl.sharpen"))
    tell("same", lambda: sharpen.Model.load("dfl.sharpen") == model)
    tell("pickled", lambda: pickle.loads(pickle.dumps(model)) == model)
    for settings in (
        dict(), dict(optimizer="oscar", k=5, sizing="volatility"), dict(net="any", shrinkage=0.5),
        dict(previous={"S001": 0.5, "S002": -0.2}, capital=1e6, lot=10), dict(explain=True),
        dict(previous=pd.Series({"S003": 1.0}), trades="trades.csv", out="held.csv"),
        dict(asof="2015-08-03"), dict(optimizer="sdr"), dict(max_age=0),
    ):  # fmt: skip
        made = tell(str(settings), lambda: model.predict(market, **{"asof": ASOF, **settings}))
        for name in "weights mu holdings trades date status sharpe agreement figures".split():
            if made is not None:
                tell(name, lambda: getattr(made, name))
    tell("file", lambda: sharpen.predict("pfl.sharpen", "market.csv", asof=ASOF).weights)
    returns = market.pct_change().iloc[1:]
    tell("returns", lambda: sharpen.predict("joint.sharpen", returns=returns, asof=ASOF).weights)


def study():
    small = prices_of("small.csv")
    grid = dict(k=[2, "50%"], frameworks=["rolling", "historic"], lookback=40, progress=False,
                optimizers=["swap", "oscar", "mssrm", "sdr", "equal"])  # fmt: skip
    made = tell("study", lambda: sharpen.study({"small": small}, **grid, out="grid"))

    def everything(label, made):
        tell(label, lambda: made.cells.drop(columns="seconds"))
        tell("returns", lambda: made.returns)
        tell("warnings", lambda: made.warnings)
        tell("tally", lambda: {k: v for k, v in made.tally.items() if k not in ("seconds", "worker_seconds")})

    everything("cells", made)
    everything("again", sharpen.study({"small": small}, **grid, out="grid"))
    kept = sharpen.Study.load("study")
    everything("load", kept)
    everything("pickled", pickle.loads(pickle.dumps(kept)))
    everything("config", tell("config", lambda: sharpen.study(
        config="study.toml", out="own", progress=False)))
    everything("learned", tell("learned", lambda: sharpen.study(
        {"m": small}, k=2, frameworks=["pfl", "dfl"], alphas=[0.5, 1], trainings=["default"],
        seeds=[3, 5], costs=[0, 10], lookback=20, hidden=[4], epochs=2, batch=32, ensemble=[1],
        progress=False, out="learned")))
    dry = dict(k=[2], frameworks="rolling", dry_run=True, progress=False, lookback=40)
    tell("dry run", lambda: {
        k: v for k, v in sharpen.study({"small": small}, **dry).items() if k != "minutes"})
    tell("demo", lambda: {
        k: v for k, v in sharpen.study(preset="demo", dry_run=True, progress=False).items()
        if k != "minutes"})
    report = tell("report", lambda: kept.report(replications=200, progress=False))
    tell("findings", lambda: report.findings)
    for name in report.tables:
        tell(name, lambda: report.table(name))
    for form in "text md latex csv".split():
        tell(form, lambda: report.text(form))
    tell("pickled report", lambda: pickle.loads(pickle.dumps(report)).text())
    for ending in "html md tex csv txt".split():
        tell(ending, lambda: sharpen.report(
            "study", f"report.{ending}", replications=200, progress=False))
    tell("failed", lambda: sharpen.report("failed", replications=200, progress=False).text())
    tell("other data", lambda: sharpen.study({"small": small * 2}, **grid, out="grid"))
    tell("by force", lambda: sharpen.study({"small": small * 2}, **grid, out="grid", force=True))


def panels():
    """Tables of every kind, and indices of every kind."""
    import polars
    import pyarrow

    small = prices_of("small.csv")
    columns = {"date": [d.date() for d in small.index], **{c: small[c].tolist() for c in small}}
    common = dict(k=2, lookback=40, replications=100, progress=False)
    signal = small.pct_change().shift(-1).fillna(0.0)
    for label, table in {
        "polars": polars.DataFrame(columns),
        "arrow": pyarrow.table(columns),
        "array": small.to_numpy(),
        "texts": small.set_axis(small.index.strftime("%Y-%m-%d")),
        "zone": small.tz_localize("Asia/Tokyo"),
        "hours": small.set_axis(pd.date_range("2024-10-30", periods=len(small), freq="h")),
        "months": small.set_axis(pd.period_range("2000-01", periods=len(small), freq="M")),
        "numbers": small.reset_index(drop=True),
        "labels": small.set_axis(range(6), axis=1),
        "levels": small.set_axis(pd.MultiIndex.from_product([["a", "b"], range(3)]), axis=1),
        "float32": small.astype("float32"),
        "nullable": small.astype("Float64"),
        "gaps": small.mask(np.arange(200)[:, None] % 50 == np.arange(6)),
    }.items():
        tell(label, lambda: sharpen.solve(table, 2, lookback=60).weights)
        made = tell(f"{label}, backtest", lambda: sharpen.backtest(table, **common))
        tell("returns", lambda: made.returns)
        tell("trades", lambda: made.trades)
        tell("doctor", lambda: sharpen.doctor(table))
    tell("signal", lambda: sharpen.backtest(small, **common, signal=signal).returns)
    tell("signal, array", lambda: sharpen.backtest(small, **common, signal=signal.to_numpy()).returns)
    tell("signal, short", lambda: sharpen.backtest(small, **common, signal=signal.to_numpy()[1:]))
    for start in ("2015-03", np.datetime64("2015-03-01"), pd.Period("2015-03", "M"), pd.NaT, "soon"):
        tell(f"from {start!r}", lambda: sharpen.solve(small, 2, from_=start, lookback="all").window)


def layer():
    import torch
    from sharpen.torch import Risk, SparseTangent, mixed_loss

    returns = prices_of("market.csv").pct_change().iloc[1:, :7].to_numpy()
    risk = Risk.from_windows(returns[:60], 30)
    generator = torch.Generator().manual_seed(3)
    signal = torch.randn(6, 7, generator=generator, dtype=torch.float64)
    batch = risk[[3, 0, 7, 7, 29, 12]]
    tell("risk", lambda: risk)
    tell("statuses", lambda: risk.statuses)
    tell("targets", lambda: risk.targets)
    tell("windows", lambda: risk.windows[:2])

    def pass_through(label, made, risk=batch, mu=signal):
        def forward_and_backward():
            leaf = mu.clone().requires_grad_()
            w, aux = made(leaf, risk, return_aux=True)
            (w.nan_to_num() ** 2).sum().backward()
            return {"w": w, "grad": leaf.grad, "aux": aux}

        tell(label, forward_and_backward)

    for score in ("symmetric", "cholesky"):
        for reoptimization in ("masked", "restricted"):
            for sizing in ("budget", "volatility", "gross"):
                for net in ("positive", "any"):
                    settings = dict(score=score, reoptimization=reoptimization, sizing=sizing, net=net)
                    made = tell(f"{settings}", lambda: SparseTangent(3, 2.0, **settings))
                    if made is not None:
                        pass_through("pass", made)
    pass_through("default", SparseTangent(3))
    pass_through("raw", SparseTangent(3, score="cholesky", raw_score=True))
    pass_through("bisection", SparseTangent("30%", 50.0, topk="bisection"))
    pass_through("float32", SparseTangent(3), mu=signal.float())
    pass_through("low rank", SparseTangent(3), Risk.from_windows(returns[:12], 4, form="low-rank")[:6])
    pass_through("covariance", SparseTangent(3), Risk.from_covariance(np.cov(returns.T)))
    odd = signal.clone()
    odd[1], odd[2, 3] = 0.0, float("nan")
    pass_through("odd rows", SparseTangent(3), mu=odd)
    for optimizer in "oscar symmetric greedy swap mssrm mssrm-long sdr equal".split():
        tell(f"decide, {optimizer}", lambda: SparseTangent(3).decide(
            signal, batch, optimizer=optimizer, return_aux=True))
    tell("numbers", lambda: SparseTangent(3)(signal[0], risk[4]))
    w = SparseTangent(3)(signal, batch).detach()
    for mixing in ("literal", "balanced"):
        leaf = (signal * 0.01).requires_grad_()

        def loss():
            weights = SparseTangent(3)(leaf, batch)
            found = mixed_loss(leaf, weights, batch.targets, 0.5, mixing=mixing)
            found.backward()
            return [found, leaf.grad]

        tell(f"loss, {mixing}", loss)
    made = SparseTangent(3, 2.0, score="cholesky")
    tell("settings", lambda: dict(made.settings))
    tell("pickled", lambda: pickle.loads(pickle.dumps(made)))
    tell("risk, pickled", lambda: SparseTangent(3)(signal, pickle.loads(pickle.dumps(batch))) - w)
    tell("collated", lambda: Risk.collate([risk[1], risk[2]]))
    for name, value in [("beta", -1), ("beta", [5.0]), ("k", 2.5), ("k", 0), ("score", "cholesqy"),
                        ("net", "some"), ("sizing", "none"), ("topk", 3), ("threads", 1.5),
                        ("reoptimization", "mask"), ("offset", 0), ("raw_score", "no")]:  # fmt: skip
        tell(f"{name} = {value!r}", lambda: setattr(made, name, value))
        tell(f"{name} = {value!r}, made", lambda: SparseTangent(**{"k": 3, name: value}))
    tell("other shape", lambda: made(signal[:, :5], batch))
    tell("other rows", lambda: made(signal[:2], batch))
    tell("whole numbers", lambda: made(signal.long(), batch))
    tell("no tensor", lambda: made(signal.numpy(), batch))
    tell("alpha", lambda: mixed_loss(signal, w, batch.targets, 1.5))
    tell("mixing", lambda: mixed_loss(signal, w, batch.targets, 0.5, mixing="equal"))
    tell("lookback", lambda: Risk.from_windows(returns, 1))
    tell("prices", lambda: Risk.from_windows(prices_of("market.csv"), 20))
    tell("no covariance", lambda: Risk.from_covariance(-np.eye(3)))
    tell("index", lambda: risk[999])


def estimator():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
    from sharpen import SparseTangentPortfolio

    X = prices_of("market.csv").pct_change().iloc[1:]
    for optimizer in "oscar symmetric greedy swap mssrm mssrm-long sdr equal".split():
        made = SparseTangentPortfolio(3, optimizer=optimizer)
        if tell(optimizer, lambda: made.fit(X)) is not None:
            tell("fitted", lambda: {n: v for n, v in sorted(vars(made).items()) if n.endswith("_")})
    made = SparseTangentPortfolio(
        3, previous_weights={"S001": 0.5}, transaction_costs=0.001, risk_free_rate=1e-4)
    tell("predict", lambda: made.fit(X[:200]).predict(X[200:]))
    tell("score", lambda: made.score(X[200:]))
    tell("parameters", lambda: made.get_params())
    tell("clone", lambda: clone(made))
    tell("pickled", lambda: pickle.loads(pickle.dumps(made)).weights_)
    tell("array", lambda: SparseTangentPortfolio(3).fit(X.to_numpy()).weights_)
    splits = TimeSeriesSplit(4)
    tell("cross", lambda: sharpen.cross_val_predict(SparseTangentPortfolio(3), X, cv=splits))
    tell("scores", lambda: cross_val_score(SparseTangentPortfolio(3), X, cv=splits))
    grid = GridSearchCV(SparseTangentPortfolio(), {"cardinality": [2, 3, 5]}, cv=splits)
    tell("grid", lambda: grid.fit(X).cv_results_["mean_test_score"])
    for settings in (dict(cardinality=0), dict(cardinality=40), dict(optimizer="swop"),
                     dict(shrinkage=2), dict(lookback=1), dict(sizing="any"), dict(net="none"),
                     dict(transaction_costs=-1), dict(previous_weights={"NO": 1}),
                     dict(risk_free_rate="much"), dict(lookback=5000)):  # fmt: skip
        tell(str(settings), lambda: SparseTangentPortfolio(**settings).fit(X).weights_)
    tell("prices", lambda: SparseTangentPortfolio(3).fit(prices_of("market.csv")).weights_)
    tell("splits as y", lambda: sharpen.cross_val_predict(SparseTangentPortfolio(3), X, splits))


FUNCTIONS = "solve doctor simulate backtest compare train predict study report".split()
POSITIONAL = {"compare": ("a", "b"), "predict": ("m",), "report": ("s",)}  # needed before settings


def help():
    tell("version", lambda: sharpen.__version__)
    tell("names", lambda: dir(sharpen))
    for name in FUNCTIONS:
        function = getattr(sharpen, name)
        tell(f"{name}, signature", lambda: inspect.signature(function))
        tell(f"{name}, text", lambda: function.__doc__)
        for wrong in ("xyzzy", "replicatons", "shrinkge", "asets", "optimiser", "max_gaps", "json"):
            tell(f"{name}, {wrong}", lambda: function(*POSITIONAL.get(name, ()), **{wrong: 3}))
    for name in "Backtest Comparison Model Portfolio Prediction Report Study".split():
        tell(f"{name}, names", lambda: [n for n in dir(getattr(sharpen, name)) if n[0] != "_"])
    for wrong in (-1, 2000, 1.5, True, "two"):
        tell(f"threads {wrong!r}", lambda: sharpen.set_threads(wrong))
    tell("threads", sharpen.get_threads)


def errors():
    market = prices_of("market.csv")
    dates = list(market.index)
    learn = {**LEARN, "epochs": 1, "ensemble": 1}
    eye, two = np.eye(2), np.ones(2)
    for label, make in {
        "nothing": lambda: sharpen.solve(),
        "both": lambda: sharpen.solve(market, 3, returns=market),
        "k half": lambda: sharpen.solve(market, 2.5),
        "k true": lambda: sharpen.solve(market, True),
        "k list": lambda: sharpen.solve(market, [3]),
        "gross": lambda: sharpen.solve(market, 3, gross=True),
        "gross text": lambda: sharpen.solve(returns=market, k=3, gross="no"),
        "demo": lambda: sharpen.solve(market, 3, demo=True),
        "series": lambda: sharpen.solve(market["S001"], 1),
        "complex": lambda: sharpen.solve(market.to_numpy() * 1j, 3),
        "dict": lambda: sharpen.solve({"a": [1, 2]}, 1),
        "text column": lambda: sharpen.solve(market.assign(X="a"), 3),
        "reversed": lambda: sharpen.solve(market.iloc[::-1], 3),
        "one row": lambda: sharpen.solve(market.iloc[:1], 3),
        "infinite": lambda: sharpen.solve(market.replace(market.iloc[3, 2], np.inf), 3),
        "negative": lambda: sharpen.solve(-market, 3),
        "no dates": lambda: sharpen.solve(market.to_numpy(), 3, to="2015"),
        "NaT": lambda: sharpen.solve(market.set_axis([*dates[:-1], pd.NaT]), 3),
        "no file": lambda: sharpen.solve("no/such/file.csv", 3),
        "prices as returns": lambda: sharpen.solve(returns=market, k=3),
        "no pair": lambda: sharpen.solve((two,), 1),
        "shapes": lambda: sharpen.solve((np.ones(3), eye), 1),
        "nan mean": lambda: sharpen.solve((np.array([1, np.nan]), eye), 1),
        "not symmetric": lambda: sharpen.solve((two, np.array([[1, 0.5], [0, 1]])), 1),
        "not psd": lambda: sharpen.solve((two, np.array([[1, 2], [2, 1.0]])), 1),
        "lookback of moments": lambda: sharpen.solve((two, eye), 1, lookback=3),
        "huge": lambda: sharpen.solve((two * 1e300, eye * 1e-300), 1, sizing="budget"),
        "signal unasked": lambda: sharpen.backtest(market, signal=market, framework="rolling"),
        "signal missing": lambda: sharpen.backtest(market, framework="signal"),
        "alpha": lambda: sharpen.backtest(market, alpha=0.5),
        "retrain": lambda: sharpen.backtest(market, retrain=5),
        "soft sdr": lambda: sharpen.backtest(market, decision="soft", optimizer="sdr"),
        "equal dfl": lambda: sharpen.backtest(market, **learn, framework="dfl", optimizer="equal"),
        "benchmark": lambda: sharpen.backtest(market, benchmark="S0O1"),
        "split": lambda: sharpen.backtest(market, split="150%"),
        "history": lambda: sharpen.backtest(market, min_history=0),
        "model seen": lambda: sharpen.backtest(market, framework="dfl", model="dfl.sharpen"),
        "model kind": lambda: sharpen.backtest(market, framework="pfl", model="early.sharpen"),
        "no folder": lambda: sharpen.Backtest.load("nothing"),
        "no run": lambda: sharpen.Backtest.load("study"),
        "a number": lambda: sharpen.Backtest.load(3),
        "compare numbers": lambda: sharpen.compare(1, 2),
        "compare folders": lambda: sharpen.compare("nothing", "study"),
        "train rolling": lambda: sharpen.train(market, framework="rolling"),
        "train all": lambda: sharpen.train(market, lookback="all"),
        "train batch": lambda: sharpen.train(market, **{**learn, "batch": 500}),
        "train budget": lambda: sharpen.train(market, **learn, sizing="budget", net="any"),
        "train hidden": lambda: sharpen.train(market, hidden=["x"]),
        "train available": lambda: sharpen.train(market, universe="available"),
        "train over prices": lambda: sharpen.train("market.csv", **learn, out="market.csv"),
        "train diverges": lambda: sharpen.train(market, **learn, learning_rate=1e30),
        "no model": lambda: sharpen.Model.load("nothing"),
        "a text as model": lambda: sharpen.Model.load("small.csv"),
        "predict number": lambda: sharpen.predict(3, market),
        "predict columns": lambda: sharpen.predict("dfl.sharpen", "small.csv", asof=ASOF),
        "predict lot": lambda: sharpen.predict("dfl.sharpen", market, asof=ASOF, lot=5),
        "predict equal": lambda: sharpen.predict("dfl.sharpen", market, asof=ASOF, optimizer="equal"),
        "predict previous": lambda: sharpen.predict("dfl.sharpen", market, asof=ASOF, previous=[1]),
        "study memory": lambda: sharpen.study(market),
        "study names": lambda: sharpen.study([market], out="o"),
        "study slash": lambda: sharpen.study({"a/b": market}, out="o"),
        "study framework": lambda: sharpen.study({"m": market}, frameworks=["role"], out="o"),
        "study preset": lambda: sharpen.study(preset="papper"),
        "study out": lambda: sharpen.study(out=5),
        "study numbers": lambda: sharpen.study({"m": market}, k=[2.5], out="o"),
        "study available": lambda: sharpen.study(
            {"m": market}, frameworks="historic", universe="available", out="o", progress=False),
        "no study": lambda: sharpen.Study.load("small.csv"),
        "report folder": lambda: sharpen.report("run-a"),
        "report number": lambda: sharpen.report(3),
        "report table": lambda: sharpen.report("study", table="sharp", replications=100),
        "report ending": lambda: sharpen.report("study", "r.pdf", replications=100),
        "report over": lambda: sharpen.report("study", "small.csv", replications=100),
        "simulate": lambda: sharpen.simulate(assets=0),
        "simulate text": lambda: sharpen.simulate(assets="many", days=3),
        "simulate date": lambda: sharpen.simulate(start_date="x"),
        "doctor": lambda: sharpen.doctor("ill.csv", on_suspect="error"),
    }.items():  # fmt: skip
        tell(label, make)


def settings():
    """Every setting of every function, with values of every kind; where one is right, its answer."""
    small = prices_of("small.csv")
    given = {
        "solve": lambda **s: sharpen.solve(small, **{"k": 2, **s}).sharpe,
        "doctor": lambda **s: len(sharpen.doctor(small, **s)),
        "simulate": lambda **s: sharpen.simulate(**{"assets": 3, "days": 5, **s}),
        "backtest": lambda **s: sharpen.backtest(
            small, **{"k": 2, "replications": 50, "progress": False, **s}).sharpe,
        "train": lambda **s: sharpen.train(
            small, **{"k": 2, "lookback": 20, "hidden": [2], "epochs": 1, "ensemble": 1,
                      "progress": False, **s}).members,
        "predict": lambda **s: sharpen.predict("dfl.sharpen", "market.csv", **{"asof": ASOF, **s}).sharpe,
        "compare": lambda **s: sharpen.compare("run-a", "run-b", **{"replications": 50, **s}).p_value,
        "study": lambda **s: sharpen.study(
            {"m": small}, **{"frameworks": "rolling", "progress": False, **s}, dry_run=True)["cells"],
        "report": lambda **s: len(sharpen.report(
            "study", **{"replications": 50, "progress": False, **s}).text()),
    }  # fmt: skip
    left_out = {"out", "config", "progress", "trades", "threads", "memory"}  # files, and the machine
    for name, flags in answers_cases.settings_of(Path("options.md").read_text()).items():
        for flag, _ in flags if name in given else ():
            setting = {"from": "from_"}.get(flag.lstrip("-"), flag.lstrip("-").replace("-", "_"))
            if setting in left_out:
                continue
            for value in (True, -1, 1.5, 3, "x", ["a", 1], float("nan")):
                tell(f"{name} {setting} = {value!r}", lambda: given[name](**{setting: value}))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
