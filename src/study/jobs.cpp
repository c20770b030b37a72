#include "study/jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <tuple>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/learn/train.hpp"

namespace sharpen::study {

namespace {

const Market& market_of(const Plan& plan, Index cell) {
  return plan.results.markets[at(plan.results.cells[at(cell)].market)];
}

const market::Panel& returns_of(const Plan& plan, Index cell) {
  return plan.returns[at(plan.results.cells[at(cell)].market)];
}

market::Panel first_rows(const market::Panel& returns, Index rows) {
  market::Panel out;
  out.tickers = returns.tickers;
  out.left_out = returns.left_out;
  out.dates.assign(returns.dates.begin(), returns.dates.begin() + rows);
  out.values.assign(returns.values.begin(), returns.values.begin() + rows * returns.n());
  return out;
}

struct Cost {
  double seconds = 0.0, gigabytes = 0.0;
};

// Epochs that a training with validation runs before it stops, as a rule.
double usual_share_of_epochs(const learn::TrainSettings& settings) {
  constexpr double kBest = 5.0;
  if (settings.validation == 0.0) return 1.0;
  const double usual = kBest + static_cast<double>(settings.patience);
  return std::min(1.0, usual / static_cast<double>(settings.epochs));
}

// The median: one step that had to wait for something else on the machine says nothing.
template <class Timed>
double median_of_three(const Timed& timed) {
  std::array<double, 3> found = {timed(), timed(), timed()};
  std::sort(found.begin(), found.end());
  return found[1];
}

Cost training_cost(const Plan& plan, Index cell, bool measure, const Stop& stop) {
  const backtest::BacktestSettings settings = plan.settings_of(cell);
  const Market& market = market_of(plan, cell);
  const learn::TrainSettings& training = settings.training;
  try {
    const market::Panel rows = first_rows(returns_of(plan, cell), market.training_rows);
    const auto planned = [&] { return learn::plan_training(rows, training, Threads(1), {}, stop); };
    learn::TrainingPlan cost = planned();
    if (measure) cost.minutes = median_of_three([&] { return planned().minutes; });
    const auto test = static_cast<double>(market.dates.size());
    const double times =
        settings.retrain > 0 ? std::ceil(test / static_cast<double>(settings.retrain)) : 1.0;
    return {60.0 * cost.minutes * usual_share_of_epochs(training) * times, cost.gigabytes};
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    return {};  // the job itself will say why
  }
}

// Seconds of one walk of `periods` test periods, timed.
double timed_walk(const Plan& plan, Index cell, Index periods, const Stop& stop) {
  backtest::BacktestSettings settings = plan.settings_of(cell);
  const market::Panel& returns = returns_of(plan, cell);
  const Market& market = market_of(plan, cell);
  const Index first = returns.rows() - static_cast<Index>(market.dates.size());
  settings.framework = backtest::Framework::rolling;
  settings.split = returns.dates[at(first)];
  settings.stats_from.clear();
  settings.retrain = 0;
  settings.bootstrap.replications = 1;
  const market::Panel some = first_rows(returns, first + periods);
  const auto start = std::chrono::steady_clock::now();
  static_cast<void>(backtest::backtest(some, settings, Threads(1), nullptr, {.stop = stop}));
  return seconds_since(start);
}

// Figures of a run, and its rows in the file.
double seconds_to_keep(const Plan& plan, Index cell) {
  constexpr double kTransaction = 0.005, kRow = 1e-6, kColumns = 10.0;
  const auto periods = static_cast<double>(market_of(plan, cell).dates.size());
  const auto k = static_cast<double>(plan.results.cells[at(cell)].k);
  return kTransaction + kRow * periods * (kColumns + k);
}

// What decides how much memory a training takes; one of another kind is not like it.
std::string kind_of_training(const Plan& plan, Index cell) {
  const learn::TrainSettings training = plan.settings_of(cell).training;
  const auto assets = static_cast<Index>(market_of(plan, cell).tickers.size());
  return fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {} {} {}", sharpen::name_of(training.network),
      training.shape(assets).parameters(), training.lookback, training.ensemble, training.batch,
      training.train_block, training.validation, training.alpha > 0.0, training.needs_risk(),
      sharpen::name_of(training.layer.score), sharpen::name_of(training.layer.reoptimization),
      sharpen::name_of(training.form), training.shrinkage);
}

// What jobs of a kind cost, measured in terms of what was guessed. A dozen tell: measuring every
// one of thousands would take longer than a study of them.
class Yardstick {
 public:
  // Of one that is guessed so.
  template <class Measure>
  Cost cost(const std::pair<Index, std::string>& kind, double guess, const Measure& measure) {
    constexpr int kEnough = 12;
    Seen& seen = kinds_[kind];
    if (seen.count == kEnough)
      return {seen.guesses > 0.0 ? guess * seen.sum / seen.guesses : seen.sum / kEnough,
              seen.gigabytes};
    const Cost found = measure();
    if (found.seconds == 0.0) return found;  // it cannot be done
    ++seen.count;
    seen.sum += found.seconds;
    seen.guesses += guess;
    seen.gigabytes = std::max(seen.gigabytes, found.gigabytes);
    return found;
  }

 private:
  struct Seen {
    int count = 0;
    double sum = 0.0, guesses = 0.0, gigabytes = 0.0;
  };
  std::map<std::pair<Index, std::string>, Seen> kinds_;
};

// One decision alone, then some: the first of a month may cost more than the others.
double measured_decisions(const Plan& plan, Index cell, const Stop& stop) {
  constexpr double kQuick = 0.02, kPeriodsPerMonth = 21.0;
  const Market& market = market_of(plan, cell);
  const auto periods = static_cast<Index>(market.dates.size());
  try {
    const auto timed = [&](Index count) {
      return median_of_three([&] { return timed_walk(plan, cell, count, stop); });
    };
    if (periods < 8) return timed(periods);
    const Index rebalance = static_cast<Index>(plan.values_of(cell).integer("rebalance"));
    const double first = timed(1);
    const Index some = std::min(periods, (first < kQuick ? 24 : 3) * rebalance + 1);
    const double more = first < kQuick ? timed(some) : timed_walk(plan, cell, some, stop);
    const double each = std::max(0.0, more - first) / static_cast<double>(some - 1);
    const settings::Values values = plan.values_of(cell);
    const bool monthly = solve::optimizer_named(values.text("optimizer")).owns("sdr-match") &&
                         values.text("sdr-match") == "monthly";
    const double firsts =
        monthly ? std::max(1.0, static_cast<double>(periods) / kPeriodsPerMonth) : 1.0;
    return firsts * std::max(0.0, first - each) + each * static_cast<double>(periods);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    return 0.0;
  }
}

}  // namespace

std::vector<Job> make_jobs(const Plan& plan, const std::vector<CellState>& states,
                           const std::vector<bool>& wanted, const Stop& stop) {
  std::vector<Job> jobs;
  std::map<std::string, Index> shared;
  const auto job_of = [&](TaskKind kind, const std::string& key, Index cell) {
    const auto [found, fresh] = shared.emplace(key, static_cast<Index>(jobs.size()));
    if (fresh) jobs.push_back({.kind = kind, .cell = cell, .key = key});
    return found->second;
  };
  for (Index cell = 0; cell < static_cast<Index>(states.size()); ++cell) {
    ask(stop);
    if (!wanted[at(cell)] || states[at(cell)] != CellState::missing) continue;
    Job job{.kind = TaskKind::cell, .cell = cell};
    const std::string training = training_key(plan, cell);
    if (!training.empty()) {
      job.training = job_of(TaskKind::training, training, cell);
      job.oracle = job_of(TaskKind::oracle, oracle_key(plan, cell), cell);
    }
    const auto self = static_cast<Index>(jobs.size());
    for (const Index before : {job.training, job.oracle})
      if (before >= 0) jobs[at(before)].cells.push_back(self);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Index decisions(const Plan& plan, Index cell) {
  const auto periods = static_cast<Index>(market_of(plan, cell).dates.size());
  const auto rebalance = static_cast<Index>(plan.values_of(cell).integer("rebalance"));
  return (periods + rebalance - 1) / rebalance;
}

double rough_decision_seconds(const Plan& plan, Index cell) {
  const auto n = static_cast<double>(market_of(plan, cell).tickers.size());
  const auto k = static_cast<double>(plan.results.cells[at(cell)].k);
  return solve::optimizer_named(plan.values_of(cell).text("optimizer")).seconds(n, k);
}

double rough_training_seconds(const Plan& plan, Index cell) {
  constexpr double kFlops = 2e9;        // a second
  constexpr double kPerWeight = 6.0;    // flops forward and back
  constexpr double kPerDecision = 3.0;  // covariances
  const backtest::BacktestSettings settings = plan.settings_of(cell);
  const learn::TrainSettings& training = settings.training;
  const Market& market = market_of(plan, cell);
  const auto assets = static_cast<Index>(market.tickers.size());
  const auto n = static_cast<double>(assets);
  const double networks = training.network == learn::NetworkKind::shared ? n : 1.0;
  double sample =
      kPerWeight * networks * static_cast<double>(training.shape(assets).parameters()) / kFlops;
  if (training.needs_risk())
    sample += kPerDecision * solve::OptimizerInfo::covariance_seconds(n, n);
  const double times = settings.retrain > 0 ? std::ceil(static_cast<double>(market.dates.size()) /
                                                        static_cast<double>(settings.retrain))
                                            : 1.0;
  return times * static_cast<double>(market.training_rows) * sample *
         static_cast<double>(training.ensemble * training.epochs) * usual_share_of_epochs(training);
}

void estimate_jobs(const Plan& plan, std::vector<Job>& jobs, bool measure,
                   const std::function<bool()>& stop) {
  std::map<std::pair<Index, Index>, Cost> trainings;              // by market and method
  std::map<std::tuple<Index, Index, std::string>, double> walks;  // and k
  Yardstick of_trainings, of_walks;
  for (Job& job : jobs) {
    if (stop && stop()) return;
    if (job.kept) continue;
    const Cell& cell = plan.results.cells[at(job.cell)];
    if (job.kind == TaskKind::training) {
      const auto [found, fresh] = trainings.try_emplace({cell.market, cell.method});
      if (fresh)
        found->second = of_trainings.cost(
            {cell.market, kind_of_training(plan, job.cell)}, rough_training_seconds(plan, job.cell),
            [&] { return training_cost(plan, job.cell, measure, stop); });
      job.seconds = found->second.seconds;
      job.gigabytes = found->second.gigabytes;
      continue;
    }
    const auto [found, fresh] = walks.try_emplace({cell.market, cell.method, cell.k_given});
    if (fresh) {
      const double guess =
          rough_decision_seconds(plan, job.cell) * static_cast<double>(decisions(plan, job.cell));
      found->second =
          !measure ? guess
                   : of_walks
                         .cost({cell.market, plan.values_of(job.cell).text("optimizer")}, guess,
                               [&] {
                                 return Cost{measured_decisions(plan, job.cell, stop), 0.0};
                               })
                         .seconds;
    }
    job.seconds = found->second + seconds_to_keep(plan, job.cell);
    job.gigabytes = 1e-9 * static_cast<double>(returns_of(plan, job.cell).values.size()) * 40.0;
  }
}

Schedule::Schedule(const std::vector<Job>& jobs, Limits limits, const Log& log)
    : jobs_(jobs),
      limits_(limits),
      log_(log),
      places_(jobs.size(), Place::waits),
      waits_for_(jobs.size(), 0),
      urgency_(jobs.size(), 0.0),
      left_(static_cast<Index>(jobs.size())) {
  for (Index job = 0; job < left_; ++job) {
    const Job& each = jobs_[at(job)];
    waits_for_[at(job)] = (each.training >= 0 ? 1 : 0) + (each.oracle >= 0 ? 1 : 0);
    // What waits for a job makes it more urgent.
    double after = 0.0;
    for (const Index cell : each.cells) after += jobs_[at(cell)].seconds;
    urgency_[at(job)] = each.seconds + after;
    if (waits_for_[at(job)] == 0) make_ready(job);
  }
}

void Schedule::make_ready(Index job) {
  places_[at(job)] = Place::ready;
  ready_.emplace(urgency_[at(job)], -job);
}

int Schedule::threads_for_next() const {
  const auto others =
      static_cast<int>(std::min<Index>(limits_.workers, static_cast<Index>(ready_.size()) + out_));
  return std::max(1, limits_.workers / std::max(1, others));
}

Index Schedule::take() {
  for (auto it = ready_.rbegin(); it != ready_.rend(); ++it) {
    const Index job = -it->second;
    const double need = jobs_[at(job)].gigabytes;
    if (out_ > 0 && in_use_ + need > limits_.gigabytes) continue;
    if (need > limits_.gigabytes)
      log_.warning(fmt::format(
          "a job needs about {:.2g} GB, more than the {:.2g} GB it may use: it runs alone", need,
          limits_.gigabytes));
    ready_.erase(std::next(it).base());
    places_[at(job)] = Place::out;
    ++out_;
    in_use_ += need;
    return job;
  }
  return -1;
}

void Schedule::give_back(Index job) {
  --out_;
  in_use_ = out_ == 0 ? 0.0 : in_use_ - jobs_[at(job)].gigabytes;  // no rest of sums of doubles
  make_ready(job);
}

void Schedule::finish(Index job) {
  if (out(job)) give_back(job);
  ready_.erase({urgency_[at(job)], -job});
  places_[at(job)] = Place::ended;
  --left_;
  for (const Index cell : jobs_[at(job)].cells)
    if (--waits_for_[at(cell)] == 0 && places_[at(cell)] == Place::waits) make_ready(cell);
}

}  // namespace sharpen::study
