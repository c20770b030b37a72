// The answer of `sharpen solve --json`; docs/json.md lists every key.
#include "command/json_text.hpp"
#include "sharpen/command/solve.hpp"

namespace sharpen::command {

namespace {

Json holding(const Solution& solution, Index asset) {
  const auto i = static_cast<std::size_t>(asset);
  Json out;
  out["asset"] = solution.input.tickers[i];
  out["index"] = asset;
  out["weight"] = solution.portfolio.weights[i];
  if (const select::Reason* reason = solution.reason(asset)) {
    out["mu"] = reason->mu;
    out["score"] = reason->score;
    out["score_rank"] = reason->score_rank;
    out["risk_contribution"] = reason->risk_contribution;
    out["sharpe_lost_if_removed"] = reason->sharpe_lost_if_removed;
  }
  return out;
}

Json left_out(const Solution& solution) {
  const auto& best = solution.explanation->best_left_out;
  if (!best) return nullptr;
  Json out;
  out["asset"] = solution.input.tickers[static_cast<std::size_t>(best->asset)];
  out["index"] = best->asset;
  out["sharpe_gain"] = best->sharpe_gain;
  return out;
}

void add_proofs(const Solution& solution, Json& out) {
  if (solution.iterations) out["iterations"] = *solution.iterations;
  if (solution.certified) out["certified"] = *solution.certified;
  if (const auto& sdr = solution.sdr) {
    out["sdr"]["kappa"] = sdr->kappa;
    out["sdr"]["solves"] = sdr->solves;
    out["sdr"]["matched"] = sdr->matched;
    out["sdr"]["cut"] = sdr->cut;
  }
  if (const auto& bound = solution.bound) {
    out["sharpe_upper_bound"] = bound->sharpe;
    out["sharpe_upper_bound_annualized"] = solution.annualized(bound->sharpe);
    out["share_of_bound"] = solution.share_of_bound();
    out["bound_from"] = baseline::name(bound->from);
    out["bound_status"] = name(bound->status);
    out["gap"] = bound->gap;
  }
}

}  // namespace

std::string solution_json(const Solution& solution) {
  const select::Portfolio& portfolio = solution.portfolio;
  const std::vector<Index> held = solution.held();
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "solve";
  out["status"] = name(portfolio.outcome.status);
  out["status_text"] = solution.status_text();
  out["sharpe"] = portfolio.sharpe;
  out["sharpe_annualized"] = solution.annualized(portfolio.sharpe);
  out["full_sharpe"] = solution.full_sharpe;
  out["full_sharpe_annualized"] = solution.annualized(solution.full_sharpe);
  out["share_of_full"] = solution.share_of_full();
  out["gross_exposure"] = solution.exposure.gross;
  out["net_exposure"] = solution.exposure.net;
  out["expected_return"] = solution.exposure.expected_return;
  out["volatility"] = solution.exposure.volatility;
  out["volatility_annualized"] = solution.annualized(solution.exposure.volatility);
  out["cardinality"] = held.size();
  out["k"] = solution.settings.k;
  out["n"] = solution.input.n();
  out["optimizer"] = solution.optimizer;
  add_proofs(solution, out);
  out["sizing"] = name_of(solution.settings.sizing.kind);
  out["net"] = name_of(solution.settings.net);
  out["form"] = name_of(solution.input.risk->form());
  out["shrinkage"] = solution.input.shrinkage;
  out["jitter"] = portfolio.outcome.jitter;
  out["neutral_first"] = portfolio.outcome.neutral_first;
  out["periods_per_year"] = solution.periods_per_year;
  if (const auto& window = solution.input.window) {
    out["window"]["from"] = window->from;
    out["window"]["to"] = window->to;
    out["window"]["rows"] = window->rows;
  }
  out["holdings"] = Json::array();
  for (const Index asset : held) out["holdings"].push_back(holding(solution, asset));
  if (solution.explanation) out["best_left_out"] = left_out(solution);
  out["warnings"] = solution.warnings;
  return json_text(out);
}

}  // namespace sharpen::command
