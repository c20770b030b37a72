#include "sharpen/backtest/walk_forward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sharpen/base/error.hpp"

namespace sharpen::backtest {

namespace {

using AssetSet = std::shared_ptr<const std::vector<Index>>;

struct PlannedBatch {
  Index first = 0;  // decision, from 0
  Index count = 0;  // decisions
  Index lookback = 0;
  AssetSet assets;
};

struct WalkPlan {
  std::vector<Index> ends;  // (decisions): a decision knows rows [0, end) of the panel
  std::vector<PlannedBatch> batches;
};

// The last row before the decision in which each asset has no return; -1 if there is none.
class Gaps {
 public:
  explicit Gaps(ConstMat returns) : returns_(returns), last_(at(returns.cols), -1) {}

  void advance_to(Index end) {
    for (; seen_ < end; ++seen_)
      for (Index j = 0; j < returns_.cols; ++j)
        if (!std::isfinite(returns_(seen_, j))) last_[at(j)] = seen_;
  }

  // Whether rows [start, end) are complete. Before the first row nothing but the price at the
  // start is known: an asset that has one also has a first return.
  bool complete(Index asset, Index start, Index end) const {
    if (end == 0) return std::isfinite(returns_(0, asset));
    return last_[at(asset)] < start;
  }

 private:
  ConstMat returns_;
  std::vector<Index> last_;
  Index seen_ = 0;
};

Index window_length(const Policy& policy, const WalkSettings& settings, Index end) {
  if (policy.least_history() == 0) return std::min(end, std::max<Index>(1, settings.min_history));
  return settings.lookback == WalkSettings::kAllRows ? end : std::min(end, settings.lookback);
}

std::vector<Index> assets_of(const Gaps& gaps, const Policy& policy, Index n, Index start,
                             Index end) {
  std::vector<Index> assets;
  for (Index j = 0; j < n; ++j)
    if (gaps.complete(j, start, end) && policy.usable(end - 1, j)) assets.push_back(j);
  return assets;
}

// Windows may lie apart: what is between them must be complete too, as a batch promises.
bool complete_since(const Gaps& gaps, const PlannedBatch& batch, const std::vector<Index>& ends,
                    Index end) {
  const Index start = ends[at(batch.first)] - batch.lookback;
  return std::all_of(batch.assets->begin(), batch.assets->end(),
                     [&](Index asset) { return gaps.complete(asset, start, end); });
}

// Which decisions a walk needs, and how they are batched: consecutive ones with windows of the
// same length over the same assets. Batches depend on the data and the settings only, never on
// the number of threads.
WalkPlan plan_decisions(ConstMat returns, const Policy& policy, const WalkSettings& settings) {
  WalkPlan plan;
  for (Index row = settings.first_traded(); row < returns.rows; row += settings.rebalance)
    plan.ends.push_back(row);
  const auto decisions = static_cast<Index>(plan.ends.size());
  const Index fair_share = std::max<Index>(1, decisions / 16);  // so that threads find work

  Gaps gaps(returns);
  for (Index i = 0; i < decisions; ++i) {
    const Index end = plan.ends[at(i)];
    const Index T = window_length(policy, settings, end);
    gaps.advance_to(end);
    std::vector<Index> assets = assets_of(gaps, policy, returns.cols, end - T, end);
    PlannedBatch* last = plan.batches.empty() ? nullptr : &plan.batches.back();
    const bool same = last != nullptr && *last->assets == assets;
    const Index most =
        std::min(fair_share, policy.batch_size(static_cast<Index>(assets.size()), T));
    if (same && last->lookback == T && last->count < most &&
        complete_since(gaps, *last, plan.ends, end)) {
      ++last->count;
    } else {
      AssetSet set =
          same ? last->assets : std::make_shared<const std::vector<Index>>(std::move(assets));
      plan.batches.push_back({i, 1, T, std::move(set)});
    }
  }
  return plan;
}

// Runs the planned batches and tells how far it is.
class Decisions {
 public:
  Decisions(ConstMat returns, const Policy& policy, const WalkPlan& plan, const Control& control)
      : returns_(returns),
        policy_(policy),
        plan_(plan),
        conductor_(control, static_cast<Index>(plan.ends.size())),
        decisions_(plan.ends.size()) {}

  std::vector<Decision> run(const Threads& threads) {
    const auto batches = static_cast<Index>(plan_.batches.size());
    if (policy_.sequential()) {
      for (Index b = 0; b < batches; ++b) step(b);
    } else {
      threads.for_each(batches, [&](Index b, int) { step(b); });
    }
    return std::move(decisions_);
  }

 private:
  void step(Index b) {
    conductor_.ask();
    const PlannedBatch& planned = plan_.batches[at(b)];
    decide(planned);
    conductor_.done(planned.count);
  }

  void decide(const PlannedBatch& planned) {
    const std::span<Decision> out(decisions_.data() + planned.first, at(planned.count));
    if (planned.assets->empty()) {
      for (Decision& decision : out) decision.outcome.status = Status::no_signal;
      return;
    }
    const auto first = plan_.ends.begin() + planned.first;
    const Index first_row = *first - planned.lookback;
    std::vector<Index> ends(first, first + planned.count);
    for (Index& end : ends) end -= first_row;
    const ConstMat rows = returns_.middle_rows(first_row, ends.back());
    WindowBatch batch;
    batch.lookback = planned.lookback;
    batch.ends = ends;
    batch.first_row = first_row;
    batch.assets = *planned.assets;
    batch.stop = [this] { return conductor_.stopped(); };
    if (static_cast<Index>(planned.assets->size()) == returns_.cols) {
      batch.returns = rows;
      return policy_.decide(batch, out);
    }
    const std::vector<double> some = gathered(rows, *planned.assets);
    batch.returns = {some.data(), rows.rows, static_cast<Index>(planned.assets->size())};
    policy_.decide(batch, out);
  }

  static std::vector<double> gathered(ConstMat rows, const std::vector<Index>& assets) {
    std::vector<double> some;
    some.reserve(at(rows.rows) * assets.size());
    for (Index t = 0; t < rows.rows; ++t)
      for (const Index j : assets) some.push_back(rows(t, j));
    return some;
  }

  ConstMat returns_;
  const Policy& policy_;
  const WalkPlan& plan_;
  Conductor conductor_;
  std::vector<Decision> decisions_;
};

PeriodStatus period_status(Status status) {
  switch (status) {
    case Status::ok: return PeriodStatus::ok;
    case Status::neutral_face: return PeriodStatus::neutral_face;
    case Status::no_signal: return PeriodStatus::no_signal;
    case Status::not_converged: return PeriodStatus::not_converged;
    case Status::invalid_input: return PeriodStatus::invalid_input;
    case Status::infeasible: return PeriodStatus::infeasible;
  }
  return PeriodStatus::invalid_input;
}

// The account: weights, what they drift to, and the columns of the run.
class Account {
 public:
  Account(const market::Panel& returns, const WalkSettings& settings, Run& run)
      : returns_(returns.matrix()),
        dates_(returns.dates),
        cost_(settings.cost_bps * 1e-4),
        f_(settings.risk_free),
        run_(run),
        held_(returns.tickers.size()),
        target_(returns.tickers.size()) {
    run_.weights_begin.push_back(0);
    run_.trades_begin.push_back(0);
  }

  void idle(Index row) { finish(row, f_, 0.0, kNotComputed, PeriodStatus::idle); }

  // Takes the decision, or keeps what it has (null); then lives through `row`. False: ruined.
  bool trade_and_hold(Index row, const Decision* decision) {
    const bool sold = set_target(row, decision);
    const double turnover = trade();
    const double gross = gross_return(row);
    const double cost = cost_ * turnover;
    const bool ruined = !(1.0 + (gross - cost) > 0.0);
    PeriodStatus status =
        decision != nullptr ? period_status(decision->outcome.status) : PeriodStatus::held;
    if (ruined) status = PeriodStatus::ruin;
    const bool traded = decision != nullptr || sold;
    finish(row, gross, cost, traded ? turnover : kNotComputed, status);
    if (ruined) return false;
    drift(row, gross);
    return true;
  }

 private:
  // What shall be held over `row`. True if an asset that ended is sold.
  bool set_target(Index row, const Decision* decision) {
    if (decision != nullptr) {
      std::fill(target_.begin(), target_.end(), 0.0);
      for (const Position& p : decision->positions) target_[at(p.asset)] = p.weight;
      return false;
    }
    target_ = held_;
    bool sold = false;
    for (std::size_t j = 0; j < held_.size(); ++j) {
      if (held_[j] == 0.0 || std::isfinite(returns_(row - 1, static_cast<Index>(j)))) continue;
      target_[j] = 0.0;
      sold = true;
    }
    return sold;
  }

  double trade() {
    double turnover = 0.0;
    for (std::size_t j = 0; j < held_.size(); ++j) {
      if (target_[j] == held_[j]) continue;
      turnover += std::abs(target_[j] - held_[j]);
      run_.trades.push_back({static_cast<Index>(j), held_[j], target_[j]});
    }
    std::swap(held_, target_);
    return turnover;
  }

  double return_of(Index row, std::size_t j) const {
    const double r = returns_(row, static_cast<Index>(j));
    return std::isfinite(r) ? r : 0.0;
  }

  double gross_return(Index row) const {
    double invested = 0.0, gross = 0.0;
    for (std::size_t j = 0; j < held_.size(); ++j) {
      if (held_[j] == 0.0) continue;
      invested += held_[j];
      gross += held_[j] * return_of(row, j);
    }
    return gross + (1.0 - invested) * f_;
  }

  void drift(Index row, double gross) {
    for (std::size_t j = 0; j < held_.size(); ++j)
      if (held_[j] != 0.0) held_[j] = held_[j] * (1.0 + return_of(row, j)) / (1.0 + gross);
  }

  void finish(Index row, double gross, double cost, double turnover, PeriodStatus status) {
    run_.dates.push_back(dates_[at(row)]);
    run_.returns.push_back(gross - cost);
    run_.gross_returns.push_back(gross);
    run_.costs.push_back(cost);
    run_.turnover.push_back(turnover);
    const WeightSummary e = summarize(held_);
    run_.net.push_back(e.net);
    run_.gross.push_back(e.gross);
    run_.holdings.push_back(e.holdings);
    run_.effective_names.push_back(e.effective_names);
    run_.largest.push_back(e.largest);
    run_.status.push_back(status);
    for (std::size_t j = 0; j < held_.size(); ++j)
      if (held_[j] != 0.0) run_.weights.push_back({static_cast<Index>(j), held_[j]});
    run_.weights_begin.push_back(static_cast<Index>(run_.weights.size()));
    run_.trades_begin.push_back(static_cast<Index>(run_.trades.size()));
  }

  ConstMat returns_;
  const std::vector<std::string>& dates_;
  double cost_, f_;
  Run& run_;
  std::vector<double> held_;    // (n), drifted between rows
  std::vector<double> target_;  // (n)
};

template <class T>
std::span<const T> part(const std::vector<T>& all, const std::vector<Index>& begin, Index period) {
  const auto p = at(period);
  return {all.data() + begin[p], at(begin[p + 1] - begin[p])};
}

void check_history(const Policy& policy, const WalkSettings& settings) {
  const Index least = policy.least_history();
  const auto refuse = [&](const char* field, Index value) {
    throw InputError(fmt::format("{} = {} is too short for this policy: it needs {} rows at least",
                                 field, value, least));
  };
  if (settings.min_history < least) refuse("min-history", settings.min_history);
  if (settings.lookback != WalkSettings::kAllRows && settings.lookback < least)
    refuse("lookback", settings.lookback);
}

}  // namespace

std::string_view name(PeriodStatus status) {
  switch (status) {
    case PeriodStatus::ok: return name(Status::ok);
    case PeriodStatus::neutral_face: return name(Status::neutral_face);
    case PeriodStatus::no_signal: return name(Status::no_signal);
    case PeriodStatus::not_converged: return name(Status::not_converged);
    case PeriodStatus::invalid_input: return name(Status::invalid_input);
    case PeriodStatus::held: return "held";
    case PeriodStatus::idle: return "idle";
    case PeriodStatus::ruin: return "ruin";
    case PeriodStatus::infeasible: return name(Status::infeasible);
  }
  return "unknown";
}

Index WalkSettings::first_traded() const { return std::max(first_row, min_history); }

void WalkSettings::validate(Index rows) const {
  const auto refuse = [](const char* field, auto value, const char* bound) {
    throw InputError(fmt::format("{} = {} is outside {}", field, value, bound));
  };
  if (lookback != kAllRows && lookback < 1) refuse("lookback", lookback, "[1, inf)");
  if (min_history < 0) refuse("min-history", min_history, "[0, inf)");
  if (first_row < 0) refuse("first_row", first_row, "[0, inf)");
  if (rebalance < 1) refuse("rebalance", rebalance, "[1, inf)");
  if (!(cost_bps >= 0.0 && std::isfinite(cost_bps))) refuse("cost-bps", cost_bps, "[0, inf)");
  if (!(risk_free > -1.0 && std::isfinite(risk_free))) refuse("risk-free", risk_free, "(-1, inf)");
  if (first_traded() >= rows)
    throw InputError(fmt::format(
        "nothing to trade: the panel has {} return{} and the first period to hold would be row {} "
        "(after {} rows of {}); give more rows, or a shorter ‹--lookback›, ‹--min-history› or "
        "‹--split›",
        rows, rows == 1 ? "" : "s", first_traded() + 1, first_traded(),
        min_history >= first_row ? "history" : "training"));
  if (stats_from && (*stats_from < 0 || *stats_from >= rows))
    throw InputError(fmt::format("‹stats-from› = {} is outside [1, {}], the rows of the returns",
                                 *stats_from + 1, rows));
}

std::span<const Position> Run::weights_of(Index period) const {
  return part(weights, weights_begin, period);
}

std::span<const Trade> Run::trades_of(Index period) const {
  return part(trades, trades_begin, period);
}

Track Run::track(double periods_per_year) const {
  Track track;
  track.dates = dates;
  track.returns = returns;
  track.risk_free = {&risk_free, 1};
  track.turnover = turnover;
  track.gross = gross;
  track.net = net;
  track.holdings = holdings;
  track.effective_names = effective_names;
  track.largest = largest;
  track.benchmark = benchmark;
  track.stats_from = stats_from;
  track.periods_per_year = periods_per_year;
  return track;
}

Run walk_forward(const market::Panel& returns, const Policy& policy, const WalkSettings& settings,
                 const Threads& threads, const Control& control) {
  settings.validate(returns.rows());
  check_history(policy, settings);
  const WalkPlan plan = plan_decisions(returns.matrix(), policy, settings);
  const std::vector<Decision> decisions =
      Decisions(returns.matrix(), policy, plan, control).run(threads);

  Run run;
  run.risk_free = settings.risk_free;
  const Index first_traded = settings.first_traded();
  run.first_row = std::min(first_traded, settings.stats_from.value_or(first_traded));
  run.stats_from = settings.stats_from.value_or(first_traded) - run.first_row;
  Account account(returns, settings, run);
  bool alive = true;
  for (Index row = run.first_row; row < returns.rows() && alive; ++row) {
    const Index since = row - first_traded;
    if (since < 0) {
      account.idle(row);
      continue;
    }
    const bool decides = since % settings.rebalance == 0;
    const Decision* decision = decides ? &decisions[at(since / settings.rebalance)] : nullptr;
    run.n_decisions += decides;
    run.n_jittered += decides && decision->outcome.jittered();
    run.n_certified += decides && decision->certified;
    run.iterations += decides ? decision->iterations : 0;
    alive = account.trade_and_hold(row, decision);
  }
  // Ruin can come before the statistics begin: then they cover nothing.
  run.stats_from = std::min(run.stats_from, run.periods());
  return run;
}

}  // namespace sharpen::backtest
