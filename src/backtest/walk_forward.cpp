#include "sharpen/backtest/walk_forward.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>

#include "backtest/journey.hpp"
#include "backtest/plan.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::backtest {

namespace {

// A batch whose decisions are yet to be made for the accounts.
struct WaitingBatch {
  const PlannedBatch* planned = nullptr;
  std::unique_ptr<LiveBatch> live;  // null: without assets
  std::unique_ptr<PreparedBatch> prepared;
};

// Decides and walks: in one go where decisions do not look at the account, else in chunks of
// batches, each prepared while the one before is settled.
class Expedition {
 public:
  Expedition(const market::Panel& returns, const Policy& policy, const WalkSettings& settings,
             const Control& control)
      : panel_(returns),
        policy_(policy),
        settings_(settings),
        plan_(plan_decisions(returns.matrix(), policy, settings,
                             settings.decided_rows(returns.rows()))),
        conductor_(control, static_cast<Index>(plan_.ends.size())) {}

  Run run(const Threads& threads, Companions* beside) {
    Run run;
    run.risk_free = settings_.risk_free;
    const Index first_traded = settings_.first_traded();
    const Index stats_from = std::max(settings_.begin, settings_.stats_from.value_or(first_traded));
    run.first_row = std::max(settings_.begin, std::min(first_traded, stats_from));
    run.stats_from = stats_from - run.first_row;
    depart(run, beside != nullptr);
    if (policy_.sees_account())
      settle_all(threads);
    else
      decide_all(threads);
    // Ruin can come before the statistics begin: then they cover nothing.
    run.stats_from = std::min(run.stats_from, run.periods());
    if (beside != nullptr) {
      beside->delayed = journeys_[1].returns();
      beside->equal = journeys_[2].returns();
      beside->delayed.resize(at(run.periods()), 0.0);
      beside->equal.resize(at(run.periods()), 0.0);
    }
    return run;
  }

 private:
  void depart(Run& run, bool companions) {
    const auto join = [&](Index delay, Journey::Decide decide, Run* columns) {
      journeys_.emplace_back(panel_, settings_, run.first_row, delay, std::move(decide), columns);
    };
    const auto decides = [&](bool first) -> Journey::Decide {
      if (!policy_.sees_account())
        return [this](Index i, const Standing&, Decision& out) { out = decisions_[at(i)]; };
      return [this, first, settler = std::shared_ptr<Settler>(policy_.settler())](
                 Index i, const Standing& standing, Decision& out) {
        settle(*settler, i, standing, out);
        if (first) conductor_.done();
      };
    };
    join(settings_.delay, decides(true), &run);
    if (!companions) return;
    join(settings_.delay + 1, decides(false), nullptr);
    join(
        settings_.delay,
        [this](Index i, const Standing& standing, Decision& out) {
          hold_equally(i, standing, out);
        },
        nullptr);
  }

  void decide_all(const Threads& threads) {
    decisions_.resize(plan_.ends.size());
    for_batches(threads, 0, batches(), [&](Index b) {
      const PlannedBatch& planned = plan_.batches[at(b)];
      const std::span<Decision> out(decisions_.data() + planned.first, at(planned.count));
      const std::unique_ptr<LiveBatch> live = live_batch(planned);
      if (live)
        policy_.decide(live->windows(), out);
      else
        for (Decision& decision : out) decision.outcome.status = Status::no_signal;
      conductor_.done(planned.count);
    });
    threads.for_each(static_cast<Index>(journeys_.size()),
                     [&](Index j, int) { journeys_[at(j)].advance_to(panel_.rows()); });
  }

  void settle_all(const Threads& threads) {
    const Index chunk = threads.count();
    std::vector<WaitingBatch> next(at(std::min(chunk, batches())));
    prepare(threads, 0, next);
    for (Index b = 0; b < batches() && !journeys_.front().ruined(); b += chunk) {
      waiting_ = std::move(next);
      const Index then = std::min(b + chunk, batches());
      next = std::vector<WaitingBatch>(at(std::min(chunk, batches() - then)));
      const Index end =
          next.empty() ? panel_.rows() : plan_.ends[at(plan_.batches[at(then)].first)];
      settle_and_prepare(threads, end, then, next);
    }
    // Where there is nothing to decide, what is held is held on.
    if (batches() == 0)
      for (Journey& journey : journeys_) journey.advance_to(panel_.rows());
  }

  // Settles what waits, to the row `end`, beside preparing the batches from `first` on. The first
  // account is the first item and the others are the last, so that two threads begin with one each.
  void settle_and_prepare(const Threads& threads, Index end, Index first,
                          std::vector<WaitingBatch>& next) {
    const auto accounts = static_cast<Index>(journeys_.size());
    // Of a policy that remembers, batches come one after the other.
    const Index preparing = policy_.sequential() ? 1 : static_cast<Index>(next.size());
    threads.for_each(accounts + preparing, [&](Index item, int) {
      if (item == 0) return journeys_.front().advance_to(end);
      if (item > preparing) return journeys_[at(item - preparing)].advance_to(end);
      if (!policy_.sequential()) return prepare_one(first + item - 1, next[at(item - 1)]);
      for (std::size_t b = 0; b < next.size(); ++b)
        prepare_one(first + static_cast<Index>(b), next[b]);
    });
  }

  void prepare(const Threads& threads, Index first, std::vector<WaitingBatch>& out) {
    for_batches(threads, first, static_cast<Index>(out.size()),
                [&](Index b) { prepare_one(b, out[at(b - first)]); });
  }

  void prepare_one(Index b, WaitingBatch& out) {
    conductor_.ask();
    out.planned = &plan_.batches[at(b)];
    out.live = live_batch(*out.planned);
    if (out.live) out.prepared = policy_.prepare(out.live->windows());
  }

  template <class Body>
  void for_batches(const Threads& threads, Index first, Index count, const Body& body) {
    const auto step = [&](Index i) {
      conductor_.ask();
      body(first + i);
    };
    if (policy_.sequential()) {
      for (Index i = 0; i < count; ++i) step(i);
    } else {
      threads.for_each(count, [&](Index i, int) { step(i); });
    }
  }

  std::unique_ptr<LiveBatch> live_batch(const PlannedBatch& planned) {
    if (planned.assets->empty()) return nullptr;
    return std::make_unique<LiveBatch>(panel_.matrix(), plan_, planned,
                                       [this] { return conductor_.stopped(); });
  }

  void settle(Settler& settler, Index i, const Standing& standing, Decision& out) {
    conductor_.ask();
    const auto batch = std::ranges::find_if(waiting_, [&](const WaitingBatch& waiting) {
      return i < waiting.planned->first + waiting.planned->count;
    });
    if (batch->live)
      settler.settle(batch->live->windows(), *batch->prepared, i - batch->planned->first, standing,
                     out);
    else
      out.outcome.status = Status::no_signal;
  }

  // What is left beside names that cannot be traded, in equal parts.
  void hold_equally(Index i, const Standing& standing, Decision& out) const {
    const auto after = std::ranges::upper_bound(plan_.batches, i, {}, &PlannedBatch::first);
    const std::vector<Index>& assets = *std::prev(after)->assets;
    out.outcome.status = assets.empty() ? Status::no_signal : Status::ok;
    const auto is_fixed = [&](Index asset) {
      return !standing.fixed.empty() && standing.fixed[at(asset)] != 0;
    };
    double left = 1.0;
    for (std::size_t j = 0; j < standing.fixed.size(); ++j)
      if (standing.fixed[j] != 0) left -= std::abs(standing.holdings[j]);
    const auto free = std::ranges::count_if(assets, std::not_fn(is_fixed));
    const double share = std::max(0.0, left) / static_cast<double>(std::max<Index>(1, free));
    for (const Index asset : assets)
      if (!is_fixed(asset) && share > 0.0) out.positions.push_back({asset, share});
  }

  Index batches() const { return static_cast<Index>(plan_.batches.size()); }

  const market::Panel& panel_;
  const Policy& policy_;
  const WalkSettings& settings_;
  WalkPlan plan_;
  Conductor conductor_;
  std::deque<Journey> journeys_;       // the run itself, then its companions
  std::vector<Decision> decisions_;    // of a policy that does not look at the account
  std::vector<WaitingBatch> waiting_;  // of one that does
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

std::vector<Index> WalkSettings::decided_rows(Index rows) const {
  std::vector<Index> out;
  for (Index row = first_traded(); row < rows; row += rebalance)
    if (row >= begin) out.push_back(row);
  return out;
}

void WalkSettings::validate(Index rows) const {
  const auto refuse = [](const char* field, auto value, const char* bound) {
    throw InputError(fmt::format("{} = {} is outside {}", field, value, bound));
  };
  if (lookback != kAllRows && lookback < 1) refuse("lookback", lookback, "[1, inf)");
  if (min_history < 0) refuse("min-history", min_history, "[0, inf)");
  if (first_row < 0) refuse("first_row", first_row, "[0, inf)");
  if (rebalance < 1) refuse("rebalance", rebalance, "[1, inf)");
  if (!(short_fee >= 0.0 && std::isfinite(short_fee))) refuse("short-fee", short_fee, "[0, inf)");
  if (!(financing >= 0.0 && std::isfinite(financing))) refuse("financing", financing, "[0, inf)");
  if (delay < 0) refuse("delay", delay, "[0, inf)");
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
  track.gross_returns = gross_returns;
  track.trading_costs = trading_costs;
  track.short_fees = short_fees;
  track.financing = financing;
  track.stats_from = stats_from;
  track.periods_per_year = periods_per_year;
  return track;
}

Run walk_forward(const market::Panel& returns, const Policy& policy, const WalkSettings& settings,
                 const Threads& threads, const Control& control, Companions* beside) {
  settings.validate(returns.rows());
  check_history(policy, settings);
  return Expedition(returns, policy, settings, control).run(threads, beside);
}

}  // namespace sharpen::backtest
