// Why a portfolio under limits holds what it holds: everything is the kernel's optimum on its
// names, with one of them, or one limit, taken away.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/vec.hpp"
#include "layer/exchange_table.hpp"
#include "select/input.hpp"
#include "sharpen/select/explain.hpp"
#include "sharpen/select/limited.hpp"

namespace sharpen::select {

namespace {

using layer::LimitedEnd;
using layer::LimitedSolver;

constexpr double kAtLimit = 1e-9;      // relative: a weight is where it must be at least
constexpr std::size_t kConfirmed = 8;  // names left out that are solved with
constexpr double kWorthIt = 1e-12;     // relative: less is rounding

class LimitedExplainer {
 public:
  LimitedExplainer(const SelectSettings& settings, const risk::Risk& risk, Index sample,
                   ConstVec mu, const layer::Limits& limits, const Portfolio& portfolio,
                   const Stop& stop)
      : settings_(settings),
        risk_(risk),
        sample_(sample),
        mu_(mu),
        limits_(limits),
        portfolio_(portfolio),
        stop_(stop),
        n_(risk.n()),
        scratch_(at(risk.scratch_size())),
        lower_(at(n_)),
        upper_(at(n_)) {
    for (const Index i : portfolio.support) {
      lower_[at(i)] = limits.lower.empty() ? -kInfinity : limits.lower[at(i)];
      upper_[at(i)] = limits.upper.empty() ? kInfinity : limits.upper[at(i)];
      if (!must_be_enough(i)) continue;
      const double least = limits.least_if_held[at(i)];
      if (portfolio.weights[at(i)] > 0.0)
        lower_[at(i)] = std::max(lower_[at(i)], least);
      else
        upper_[at(i)] = std::min(upper_[at(i)], -least);
    }
  }

  Explanation run() {
    Explanation result;
    result.reasons = reasons();
    LimitedSolver solver(settings_.objective, limits_, n_);
    const LimitedEnd end = solver.forward_within(risk_, sample_, mu_, lower_, upper_);
    if (!is_solved(end) || end == LimitedEnd::neutral) return result;
    sharpe_ = sharpe_of(solver);
    value_ = solver.value();
    bounds(solver, result.binding);
    rows(solver, result.binding);
    for (Reason& reason : result.reasons) {
      ask(stop_);
      const bool possible = solver.bound(reason.asset, 0.0, 0.0) && is_solved(solver.again());
      reason.sharpe_lost_if_removed = possible ? sharpe_ - sharpe_of(solver) : kNaN;
      back(solver, reason.asset);
    }
    result.best_left_out = best_left_out(solver);
    return result;
  }

 private:
  bool must_be_enough(Index i) const {
    return !limits_.least_if_held.empty() && limits_.least_if_held[at(i)] > 0.0;
  }

  double sharpe_of(const LimitedSolver& solver) const {
    return dot(mu_, solver.weights()) / solver.risk();
  }

  // To the portfolio's own names and bounds.
  void back(LimitedSolver& solver, Index i) {
    if (!solver.bound(i, lower_[at(i)], upper_[at(i)]) || !is_solved(solver.again()))
      solver.forward_within(risk_, sample_, mu_, lower_, upper_);
  }

  // Signals, scores and shares of the risk; what is lost without a name comes later.
  std::vector<Reason> reasons() {
    const std::vector<double>& w = portfolio_.weights;
    std::vector<double> Sw(at(n_)), score(at(n_));
    scores(score);
    std::vector<Index> rank(at(n_));
    std::iota(rank.begin(), rank.end(), Index{0});
    std::ranges::stable_sort(rank, [&](Index i, Index j) { return score[at(i)] > score[at(j)]; });
    std::vector<Index> place(at(n_));
    for (Index r = 0; r < n_; ++r) place[at(rank[at(r)])] = r + 1;
    risk_.apply(sample_, w, Sw, scratch_);
    const double variance = dot(w, Sw);
    std::vector<Reason> out;
    for (const Index i : portfolio_.support)
      out.push_back({.asset = i,
                     .mu = mu_[at(i)],
                     .score = score[at(i)],
                     .score_rank = place[at(i)],
                     .risk_contribution = w[at(i)] * Sw[at(i)] / variance,
                     .sharpe_lost_if_removed = kNaN});
    return out;
  }

  void scores(std::vector<double>& score) {
    SelectSettings all = settings_;
    all.k = n_;
    Portfolio full;
    LimitedSelector(all, n_).run(risk_, sample_, mu_, limits_, full, stop_);
    if (full.support.empty()) return;
    std::vector<double> Sy(at(n_));
    risk_.apply(sample_, full.weights, Sy, scratch_);
    if (settings_.optimizer == Optimizer::oscar)
      risk_.lower_solve(sample_, Sy, score, scratch_);
    else
      risk_.root_solve(sample_, Sy, score, scratch_);
    const double length = std::sqrt(dot(score, score));
    for (double& s : score) s = std::abs(s) / length;
  }

  // A bound of a name that is held, and what is there without it.
  void bounds(LimitedSolver& solver, std::vector<BindingLimit>& out) {
    const double unit = solver.theta() > 0.0 ? 1.0 / solver.theta() : 1.0;
    const auto add = [&](const char* name, Index i, double limit, double gain, double lower,
                         double upper) {
      ask(stop_);
      const double w = solver.weights()[at(i)];
      const bool possible = solver.bound(i, lower, upper) && is_solved(solver.again());
      const double cost = possible ? solver.value() - value_ : kInfinity;
      back(solver, i);
      out.push_back({name, i, w, limit, unit * gain, std::max(cost, 0.0)});
    };
    for (const Index i : portfolio_.support) {
      const double w = solver.weights()[at(i)];
      const double lower = limits_.lower.empty() ? -kInfinity : limits_.lower[at(i)];
      const double upper = limits_.upper.empty() ? kInfinity : limits_.upper[at(i)];
      const double least = must_be_enough(i) ? limits_.least_if_held[at(i)] : 0.0;
      if (w == upper)
        add("upper", i, upper, solver.gain_above(i), lower_[at(i)], kInfinity);
      else if (w == lower)
        add("lower", i, lower, solver.gain_below(i), -kInfinity, upper_[at(i)]);
      else if (least > 0.0 && std::abs(std::abs(w) - least) <= kAtLimit * least)
        add("if held", i, least, w > 0.0 ? solver.gain_below(i) : solver.gain_above(i), lower,
            upper);
    }
  }

  // Rows, gross and turnover.
  void rows(const LimitedSolver& solver, std::vector<BindingLimit>& out) {
    const double unit = solver.theta() > 0.0 ? 1.0 / solver.theta() : 1.0;
    const ConstVec multipliers = solver.multipliers(), w = solver.weights();
    const std::size_t count = limits_.rows.size();
    const auto add = [&](const std::string& name, double value, double limit, double multiplier,
                         const layer::Limits& without) {
      ask(stop_);
      LimitedSolver other(settings_.objective, without, n_);
      const bool possible = is_solved(other.forward_within(risk_, sample_, mu_, lower_, upper_));
      const double cost = possible ? other.value() - value_ : kInfinity;
      out.push_back({name, -1, value, limit, unit * std::abs(multiplier), std::max(cost, 0.0)});
    };
    for (std::size_t r = 0; r < count; ++r) {
      if (multipliers[r] == 0.0) continue;
      const layer::LimitRow& row = limits_.rows[r];
      layer::Limits without = limits_;
      without.rows.erase(without.rows.begin() + static_cast<std::ptrdiff_t>(r));
      add(row.name, dot(row.coefficients, w), multipliers[r] > 0.0 ? row.upper : row.lower,
          multipliers[r], without);
    }
    const double gross = multipliers[multipliers.size() - 2], turnover = multipliers.back();
    layer::Limits without = limits_;
    if (gross != 0.0) {
      without.gross = layer::kUnlimited;
      add("gross", abs_sum(w), limits_.gross, gross, without);
      without.gross = limits_.gross;
    }
    if (turnover != 0.0) {
      double traded = 0.0;
      for (std::size_t i = 0; i < w.size(); ++i) traded += std::abs(w[i] - limits_.holdings[i]);
      without.turnover = layer::kUnlimited;
      add("turnover", traded, limits_.turnover, turnover, without);
    }
  }

  // The few that look best, each confirmed by the kernel.
  std::optional<LeftOut> best_left_out(LimitedSolver& solver) {
    layer::ExchangeTable table;
    for (Index j = 0; j < n_; ++j) {
      if (std::ranges::binary_search(portfolio_.support, j)) continue;
      if (solver.may_exceed_zero(j)) table.entrants.push_back({.asset = j, .direction = 1});
      if (solver.may_undercut_zero(j)) table.entrants.push_back({.asset = j, .direction = -1});
    }
    solver.exchanges(table);
    std::vector<std::pair<double, Index>> best;
    for (std::size_t e = 0; e < table.entrants.size(); ++e)
      best.emplace_back(-table.worth(-1, static_cast<Index>(e)), table.entrants[e].asset);
    const std::size_t count = std::min(kConfirmed, best.size());
    std::partial_sort(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), best.end());
    std::optional<LeftOut> found;
    double most = value_ + kWorthIt * std::abs(value_);
    for (std::size_t a = 0; a < count; ++a) {
      ask(stop_);
      const Index j = best[a].second;
      if (std::isinf(best[a].first)) break;
      if (solver.bound(j, solver.lower(j), solver.upper(j)) && is_solved(solver.again()) &&
          solver.value() > most && enough(solver, j)) {
        most = solver.value();
        found = {.asset = j, .sharpe_gain = sharpe_of(solver) - sharpe_};
      }
      back(solver, j);
    }
    return found;
  }

  // Whether name j is held by enough in the last solution, if it is held.
  bool enough(const LimitedSolver& solver, Index j) const {
    return !must_be_enough(j) || std::abs(solver.weights()[at(j)]) >= limits_.least_if_held[at(j)];
  }

  const SelectSettings& settings_;
  const risk::Risk& risk_;
  const Index sample_;
  const ConstVec mu_;
  const layer::Limits& limits_;
  const Portfolio& portfolio_;
  const Stop& stop_;
  const Index n_;
  double sharpe_ = 0.0, value_ = 0.0;
  std::vector<double> scratch_, lower_, upper_;  // bounds (n): zero off the support
};

}  // namespace

Explanation explain_limited(const SelectSettings& settings, const risk::Risk& risk, Index sample,
                            ConstVec mu, const layer::Limits& limits, const Portfolio& portfolio,
                            const Stop& stop) {
  const bool oscar = settings.optimizer == Optimizer::oscar;
  check_input(oscar ? Optimizer::oscar : Optimizer::symmetric, risk.n(), risk, sample, mu);
  const bool weights = portfolio.outcome.solved() || portfolio.outcome.status == Status::no_signal;
  if (!weights) return {};
  return LimitedExplainer(settings, risk, sample, mu, limits, portfolio, stop).run();
}

}  // namespace sharpen::select
