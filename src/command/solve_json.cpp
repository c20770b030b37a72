// The answer of `sharpen solve --json`.
#include "command/explained_keys.hpp"
#include "command/json_keys.hpp"
#include "command/limit_keys.hpp"
#include "command/proof_keys.hpp"
#include "command/trade_keys.hpp"
#include "sharpen/command/solve.hpp"

namespace sharpen::command {

namespace {

// Parts of the section: the portfolio, its bound, the proof, the relaxation it comes from, its
// reasons.
enum SolvePart { kPortfolio, kBound, kProof, kRelaxation, kReasons, kLimits, kTrades };

struct Holding {
  std::string asset;
  Index index;
  double weight;
  const select::Reason* reason;
};

std::vector<Holding> holdings(const Solution& solution) {
  std::vector<Holding> out;
  for (const Index asset : solution.held()) {
    const auto i = at(asset);
    out.push_back(
        {solution.input.tickers[i], asset, solution.portfolio.weights[i], solution.reason(asset)});
  }
  return out;
}

Keys<Solution> portfolio_keys() {
  return {
      {"status",
       "`ok`, `neutral_face` (solved, with net position zero), `no_signal` (no portfolio of the "
       "names chosen has a positive Sharpe ratio: all cash), or `not_converged` (a search stopped "
       "early; the portfolio is the best it had)",
       [](auto& s) { return name(s.portfolio.outcome.status); }},
      {"status_text", "the status in words", &Solution::status_text},
      {"sharpe", "Sharpe ratio per period, recomputed from the weights: μᵀw/√(wᵀΣw); 0 for cash",
       [](auto& s) { return s.portfolio.sharpe; }},
      {"sharpe_annualized", "`sharpe` × √`periods_per_year`",
       [](auto& s) { return s.annualized(s.portfolio.sharpe); }},
      {"full_sharpe",
       "Sharpe ratio per period of the same problem without a bound on the number of names",
       &Solution::full_sharpe},
      {"full_sharpe_annualized", "`full_sharpe` × √`periods_per_year`",
       [](auto& s) { return s.annualized(s.full_sharpe); }},
      {"share_of_full",
       "`sharpe` / `full_sharpe`; `null` where there is no full Sharpe ratio to keep",
       [](auto& s) { return value_or_null(s.share_of(s.full_sharpe)); }},
      {"gross_exposure", "Σ\\|wᵢ\\|", [](auto& s) { return s.exposure.gross; }},
      {"net_exposure", "Σwᵢ", [](auto& s) { return s.exposure.net; }},
      {"expected_return", "μᵀw per period", [](auto& s) { return s.exposure.expected_return; }},
      {"volatility", "√(wᵀΣw) per period", [](auto& s) { return s.exposure.volatility; }},
      {"volatility_annualized", "`volatility` × √`periods_per_year`",
       [](auto& s) { return s.annualized(s.exposure.volatility); }},
      {"cardinality", "number of names held", [](auto& s) { return s.held().size(); }},
      {"k", "most names that could be held", [](auto& s) { return s.settings.k; }},
      {"n", "number of assets", [](auto& s) { return s.input.n(); }},
      {"optimizer",
       solve::names_of_optimizers([](const solve::OptimizerInfo& row) { return row.solves; },
                                  " or ", "`"),
       &Solution::optimizer},
  };
}

Keys<Solution> search_keys() {
  return {
      {"iterations", "only for `mssrm`, `mssrm-long` and `sdr`: steps made",
       [](auto& s) { return value_or_absent(s.iterations); }},
      {"certified",
       "only for `exact`: whether nothing better is possible, which is proved; for `mssrm-long`: "
       "whether its result is proved globally optimal for its own problem; for `sdr`: whether its "
       "relaxation is solved to the gap asked for "
       "([baselines.md](baselines.md))",
       [](auto& s) { return value_or_absent(s.certified); }},
      group<Solution>(
          "sdr", "",
          in_part<Solution>(
              kRelaxation, {{"kappa", "κ of the relaxation that the names come from",
                             [](auto& s) { return s.sdr->kappa; }},
                            {"solves", "relaxations solved", [](auto& s) { return s.sdr->solves; }},
                            {"matched", "names in that relaxation's own support",
                             [](auto& s) { return s.sdr->matched; }},
                            {"cut",
                             "with `--sdr-recovery match`: whether no κ tried has just `k` names, "
                             "so that a larger support was cut",
                             [](auto& s) { return s.sdr->cut; }}}),
          kNoTable, [](auto& s) { return s.sdr.has_value(); }),
  };
}

Keys<Solution> input_keys() {
  return {
      {"sizing", "`budget`, `volatility` or `gross`; `null` under limits",
       &sizing_or_null<Solution>},
      {"net", "`positive` or `any`", [](auto& s) { return name_of(s.settings.net); }},
      {"form", "`dense` or `low-rank`: how the covariance was stored",
       [](auto& s) { return name_of(s.input.risk->form()); }},
      {"shrinkage", "the shrinkage used", [](auto& s) { return s.input.shrinkage; }},
      {"jitter", "what had to be added to the diagonal of the covariance; 0 if nothing",
       [](auto& s) { return s.portfolio.outcome.jitter; }},
      {"neutral_first", "whether the full problem, over all assets, has net position zero",
       [](auto& s) { return s.portfolio.outcome.neutral_first; }},
      {"periods_per_year", "the number used to annualise", &Solution::periods_per_year},
      group<Solution>("window", "only for panels and the example: the returns that were used",
                      {{"from", "dates of the first and the last of them",
                        [](auto& s) { return s.input.window->from; }},
                       {"to", "", [](auto& s) { return s.input.window->to; }},
                       {"rows", "their number", [](auto& s) { return s.input.window->rows; }}},
                      kPortfolio, [](auto& s) { return s.input.window.has_value(); }),
  };
}

Keys<Solution> trades_of_solution_keys() {
  const auto of = [](auto value) {
    return [value](const Solution& s) { return s.trading ? Json(value(*s.trading)) : absent(); };
  };
  Keys<TradeRow> trade = {{"asset", "ticker, weight held, weight wanted, their difference",
                           [](const TradeRow& row) { return row.asset; }},
                          {"from", "", [](const TradeRow& row) { return row.from; }},
                          {"to", "", [](const TradeRow& row) { return row.to; }},
                          {"trade", "", [](const TradeRow& row) { return row.trade(); }}};
  append(trade, reason_of_trade_keys<TradeRow>(
                    [](const TradeRow& row) -> const TradeRow& { return row; }));
  Keys<Solution> keys = in_part<Solution>(
      kTrades,
      {{"turnover", "Σ\\|trade\\|", of([](const Trading& t) { return turnover(t.trades); })},
       {"trades",
        "the names whose weight changes: those wanted, in the order of the columns, then "
        "those only held now",
        of([trade](const Trading& t) {
          Json out = Json::array();
          for (const TradeRow& row : t.trades) out.push_back(json_of(trade, row));
          return out;
        }),
        kTrades, listed(trade, "trades[].")}});
  append(keys, rule_keys<Solution>(
                   kTrades, [](const Solution& s) { return s.trading ? &*s.trading : nullptr; }));
  return keys;
}

Keys<Solution> solve_keys() {
  Keys<Holding> holding = {{"asset", "ticker", &Holding::asset},
                           {"index", "column", &Holding::index},
                           {"weight", "weight", &Holding::weight}};
  append(holding, reason_keys<Holding>(kReasons));
  return answer_keys<Solution>(
      "solve", "`solve`",
      {portfolio_keys(),
       search_keys(),
       bound_keys<Solution>(kBound),
       proof_keys<Solution>(kProof),
       input_keys(),
       limit_keys<Solution>(kLimits),
       {list<Solution>("holdings", "the names held, in the order of the columns; empty for cash",
                       holding, holdings),
        left_out_key<Solution>(
            kReasons, [](auto& s) -> auto& { return s.input.tickers; }),
        binding_key<Solution>(
            kLimits, [](auto& s) -> auto& { return s.input.tickers; })},
       trades_of_solution_keys(),
       {{"warnings", kWarningsMeaning, &Solution::warnings}}});
}

}  // namespace

std::string solve_json(const Solution& solution) { return json_text<solve_keys>(solution); }

Section solve_section() {
  return {
      "solve",
      {"",
       "With `--certify`, and for `exact` and `sdr`, there is also ([baselines.md](baselines.md)):",
       "For `exact` there is also ([exact.md](exact.md)):", "For `sdr` there is also:",
       "With `--explain` there is also:", "Under limits there is also ([limits.md](limits.md)):",
       "With `--previous` there is also:"},
      listed(solve_keys())};
}

}  // namespace sharpen::command
