#include "sharpen/backtest/learned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "backtest/remembering.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/ensemble.hpp"
#include "sharpen/learn/train.hpp"

namespace sharpen::backtest {

namespace {

// Decisions whose covariances are in memory at once.
constexpr Index kRowsAtOnce = 32;

bool complete(ConstMat rows, Index column) {
  for (Index t = 0; t < rows.rows; ++t)
    if (!std::isfinite(rows(t, column))) return false;
  return true;
}

std::vector<Index> complete_columns(ConstMat rows) {
  std::vector<Index> columns;
  for (Index j = 0; j < rows.cols; ++j)
    if (complete(rows, j)) columns.push_back(j);
  return columns;
}

std::vector<double> some_columns(ConstMat rows, std::span<const Index> columns) {
  std::vector<double> out;
  out.reserve(at(rows.rows) * columns.size());
  for (Index t = 0; t < rows.rows; ++t)
    for (const Index j : columns) out.push_back(rows(t, j));
  return out;
}

// What a training sees, and how it is trained.
struct TrainingPart {
  market::Panel returns;
  learn::TrainSettings settings;
  std::span<const char> members;
};

TrainingPart training_part(const market::Panel& returns, Index rows,
                           const LearnedSettings& settings) {
  TrainingPart out;
  out.returns.tickers = returns.tickers;
  out.returns.left_out = returns.left_out;
  out.returns.dates.assign(returns.dates.begin(), returns.dates.begin() + rows);
  out.returns.values.assign(returns.values.begin(), returns.values.begin() + rows * returns.n());
  out.settings = settings.training;
  if (settings.costs) out.settings.train_cost_bps = settings.costs->mean_bps(out.returns.dates);
  const std::span<const char> members(settings.members);
  out.members = members.first(members.empty() ? 0 : at((rows + 1) * returns.n()));
  return out;
}

learn::Model train_on(const market::Panel& returns, Index rows, const LearnedSettings& settings,
                      const Threads& threads, const Control& control) {
  const TrainingPart part = training_part(returns, rows, settings);
  return learn::train(part.returns, part.settings, settings.periods_per_year, threads, {control},
                      part.members);
}

// What is wanted of a model: signals at decision rows, as they are or remembered.
struct Wanted {
  std::span<const Index> decisions;  // rows of the panel
  std::span<Expectation> out;        // (decisions, n)
  Remembering* remembering = nullptr;
  Index done = 0;  // decisions
};

// The next row's signal, of the members' mu (M, m).
void take(const risk::Risk& risk, Index sample, ConstMat mu, std::span<const Index> assets,
          Index row, learn::Combiner& combiner, std::vector<double>& signal, Wanted& wanted) {
  const bool decides = row == wanted.decisions[at(wanted.done)];
  const auto n = static_cast<Index>(wanted.out.size() / wanted.decisions.size());
  const std::span<Expectation> out = wanted.out.subspan(at(wanted.done * n), at(n));
  wanted.done += decides;
  if (wanted.remembering == nullptr) {
    combiner.run(risk, sample, mu, signal);
    for (std::size_t j = 0; j < assets.size(); ++j) out[at(assets[j])] = Expectation(signal[j]);
    return;
  }
  const bool usable = risk.status(sample) == Status::ok;
  if (usable)
    combiner.run_unscaled(risk, sample, mu, signal);
  else
    std::ranges::fill(signal, kNaN);
  const std::vector<double> unknown(usable ? 0 : assets.size(), kNaN);
  const ConstVec variances = usable ? risk.diagonal(sample) : ConstVec(unknown);
  wanted.remembering->push(assets, signal, variances);
  if (decides) wanted.remembering->signal(assets, variances, out);
}

// The signals of some rows that share their assets, by one model.
void fill(const learn::Model& model, const market::Panel& returns, std::span<const Index> rows,
          std::span<const Index> assets, const learn::TrainSettings& risks, const Threads& threads,
          Wanted& wanted) {
  const Index T = model.settings.lookback, first = rows.front() + 1 - T;
  const auto m = static_cast<Index>(assets.size()), count = static_cast<Index>(rows.size());
  const std::vector<double> part =
      some_columns(returns.matrix().middle_rows(first, rows.back() + 1 - first), assets);
  const ConstMat windows(part.data(), rows.back() + 1 - first, m);
  std::vector<Index> ends;
  for (const Index row : rows) ends.push_back(row + 1 - first);

  const auto members = static_cast<Index>(model.members.size());
  std::vector<double> mu(at(members * count * m)), signal(at(m));
  for (Index member = 0; member < members; ++member)
    learn::expected_returns(model, member, windows, ends, assets,
                            Mat(mu.data() + member * count * m, count, m), threads);
  const risk::RiskSettings risk_settings = {
      .shrinkage = risks.shrinkage,
      .form = risks.form,
      .parts = {.lower = false, .root = false, .restriction = false}};
  const auto risk = risk::from_windows(windows, T, ends, risk_settings, threads);
  learn::Combiner combiner(*risk);
  for (Index i = 0; i < count; ++i)
    // Row i of every member: rows of mu that are count * m apart.
    take(*risk, i, ConstMat(mu.data() + i * m, members, m, count * m), assets, rows[at(i)],
         combiner, signal, wanted);
}

// Rows in pieces of the same assets, few enough to hold their covariances.
void fill_all(const learn::Model& model, const market::Panel& returns, std::span<const Index> rows,
              const learn::TrainSettings& risks, std::span<const char> members,
              const Threads& threads, const Control& control, Wanted& wanted) {
  const Index T = model.settings.lookback;
  const auto assets_at = [&](Index row) {
    std::vector<Index> assets = complete_columns(returns.matrix().middle_rows(row + 1 - T, T));
    if (!members.empty())
      std::erase_if(assets, [&](Index j) { return members[at((row + 1) * returns.n() + j)] == 0; });
    return assets;
  };
  for (std::size_t begin = 0; begin < rows.size();) {
    control.ask();
    const std::vector<Index> assets = assets_at(rows[begin]);
    const auto follows = [&](std::size_t i) {
      return wanted.remembering == nullptr || rows[i] == rows[i - 1] + 1;
    };
    if (wanted.remembering != nullptr && (begin == 0 || !follows(begin)))
      wanted.remembering->forget();
    std::size_t end = begin + 1;
    while (end < rows.size() && end - begin < at(kRowsAtOnce) && follows(end) &&
           assets_at(rows[end]) == assets)
      ++end;
    // What only feeds the memory may lack names that were not listed yet.
    const bool lacks = model.settings.network == learn::NetworkKind::joint &&
                       static_cast<Index>(assets.size()) < returns.n();
    const bool silent = lacks || assets.empty();
    for (std::size_t i = begin; silent && i < end; ++i) {
      const bool decides = rows[i] == wanted.decisions[at(wanted.done)];
      if (lacks && decides)
        throw InputError(
            "network = joint needs every asset throughout; use network shared, or universe "
            "complete");
      wanted.done += decides;
      if (wanted.remembering != nullptr) wanted.remembering->push_nothing();
    }
    if (!silent)
      fill(model, returns, rows.subspan(begin, end - begin), assets, risks, threads, wanted);
    begin = end;
  }
}

TrainingRecord record_of(const learn::Model& model) {
  TrainingRecord record{model.first_date, model.last_date, {}};
  for (const learn::Member& member : model.members)
    record.members.push_back({.network = {},
                              .epochs = member.epochs,
                              .best_epoch = member.best_epoch,
                              .validation_loss = member.validation_loss,
                              .validation_sharpe = member.validation_sharpe});
  return record;
}

}  // namespace

Expectations learned_expectations(const market::Panel& returns, std::span<const Index> rows,
                                  const LearnedSettings& settings, const learn::Model* given,
                                  const Threads& threads, const Control& control) {
  Expectations out;
  out.rows.assign(rows.begin(), rows.end());
  out.values.resize(rows.size() * at(returns.n()));
  out.memory = settings.memory;
  std::size_t done = 0;
  Index next_training = settings.training_rows;
  while (done < rows.size()) {
    // Decisions made before the next training is due: it sees the rows before next_training.
    std::size_t end = rows.size();
    if (given == nullptr && settings.retrain > 0) {
      const Index due = next_training + settings.retrain;
      end = at(std::lower_bound(rows.begin() + static_cast<Index>(done), rows.end(), due - 1) -
               rows.begin());
    }
    if (end > done) {
      learn::Model own;
      if (given == nullptr) {
        control.begin(
            fmt::format("training on the returns to {}", returns.dates[at(next_training - 1)]));
        own = train_on(returns, next_training, settings, threads, control);
      }
      const learn::Model& model = given != nullptr ? *given : own;
      out.trainings.push_back(record_of(model));
      std::optional<Remembering> remembering;
      if (settings.memory) remembering.emplace(*settings.memory, returns.n());
      Wanted wanted{
          .decisions = rows.subspan(done, end - done),
          .out =
              std::span(out.values).subspan(done * at(returns.n()), (end - done) * at(returns.n())),
          .remembering = remembering ? &*remembering : nullptr};
      const std::vector<Index> seen = remembered_rows(
          wanted.decisions, remembering ? remembering->rows() : 1, model.settings.lookback - 1);
      fill_all(model, returns, seen, settings.training, settings.members, threads, control, wanted);
      done = end;
    }
    next_training += settings.retrain;
  }
  return out;
}

void check_learning(const market::Panel& returns, const LearnedSettings& settings) {
  const TrainingPart part = training_part(returns, settings.training_rows, settings);
  learn::check_training(part.returns, part.settings, part.members);
}

std::unique_ptr<const SignalSource> hindsight(const market::Panel& returns,
                                              std::span<const Index> rows) {
  std::vector<Expectation> values;
  for (const Index row : rows)
    for (const double next : returns.matrix().row(row + 1))
      values.push_back(std::isnan(next) ? Expectation() : Expectation(next));
  return std::make_unique<GivenSignal>(returns, rows, std::move(values));
}

Regret regret(const Run& run, const Run& oracle) {
  Regret out;
  Index decisions = 0;
  for (Index p = 0; p < std::min(run.periods(), oracle.periods()); ++p) {
    const PeriodStatus status = oracle.status[at(p)];
    if (status == PeriodStatus::held || status == PeriodStatus::idle) continue;
    // r' w, without what the cash beside it earns.
    const auto risky = [&](const Run& of) {
      return of.gross_returns[at(p)] - (1.0 - of.net[at(p)]) * of.risk_free;
    };
    out.mean += risky(oracle) - risky(run);
    out.oracle += risky(oracle);
    ++decisions;
  }
  out.mean /= static_cast<double>(decisions);
  out.oracle /= static_cast<double>(decisions);
  return out;
}

market::Panel match_model(const market::Panel& returns, const learn::Model& model,
                          std::vector<std::string>& warnings) {
  const std::unordered_set<std::string_view> there(returns.tickers.begin(), returns.tickers.end());
  const std::unordered_set<std::string_view> known(model.tickers.begin(), model.tickers.end());
  std::vector<std::string_view> missing, extra;
  for (const std::string& ticker : model.tickers)
    if (!there.contains(ticker)) missing.push_back(ticker);
  for (const std::string& ticker : returns.tickers)
    if (!known.contains(ticker)) extra.push_back(ticker);
  const auto list = [](const std::vector<std::string_view>& names) {
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 5); ++i)
      out += (i == 0 ? "" : ", ") + printable(names[i]);
    return names.size() > 5 ? fmt::format("{} and {} more", out, names.size() - 5) : out;
  };
  if (!missing.empty())
    throw InputError(
        fmt::format("the panel has no column for {}, which the model was trained on; add it, or "
                    "train a model without",
                    list(missing)));
  if (!extra.empty())
    warnings.push_back(fmt::format("the model does not know {}: ignored", list(extra)));
  return market::select_tickers(returns, model.tickers);
}

Index first_unseen_row(const market::Panel& returns, const learn::Model& model) {
  return std::upper_bound(returns.dates.begin(), returns.dates.end(), model.last_date) -
         returns.dates.begin();
}

}  // namespace sharpen::backtest
