#include "learn/validation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/vec.hpp"
#include "sharpen/learn/ensemble.hpp"
#include "sharpen/trade/account.hpp"
#include "sharpen/trade/memory.hpp"
#include "sharpen/trade/trader.hpp"

namespace sharpen::learn {

namespace {

solve::OptimizerSettings decision_settings(const TrainSettings& settings) {
  solve::OptimizerSettings out;
  static_cast<layer::MandateSettings&>(out) = settings.mandate;
  out.shrinkage = settings.shrinkage;
  out.form = settings.form;
  return out;
}

const solve::OptimizerInfo& deciding(const TrainSettings& settings, const trade::Ruling& ruling) {
  return solve::optimizer_named(ruling.rule == trade::Rule::none
                                    ? select::name(select::ranking_by(settings.layer.score))
                                    : kDecider);
}

}  // namespace

Validation::Validation(const Dataset& data, const TrainSettings& settings, double periods_per_year)
    : data_(&data),
      settings_(&settings),
      periods_per_year_(periods_per_year),
      ruling_(settings.ruling()),
      optimizer_(&deciding(settings, ruling_)),
      decision_(decision_settings(settings)),
      first_(std::max<Index>(0, data.split.validation_first - settings.memory_rows())),
      last_(data.split.validation_first + data.split.validation),
      all_(at(data.n())),
      mu_(at(days() * settings.ensemble * data.n())),
      signal_(at(days() * data.n())) {
  std::iota(all_.begin(), all_.end(), Index{0});
}

Mat Validation::expectations(Index member) {
  const Index n = data_->n();
  return {mu_.data() + member * n, days(), n, settings_->ensemble * n};
}

void Validation::find_signals(const Threads& threads) {
  const Index n = data_->n(), members = settings_->ensemble;
  const risk::Risk& risk = *data_->risk;
  std::vector<Combiner> combiners(at(threads.count()), Combiner(risk));
  const Mat signal(signal_.data(), days(), n);
  const auto sample = [&](Index day) { return first_ + day - data_->first_with_risk; };
  const auto mu = [&](Index day) { return ConstMat(mu_.data() + day * members * n, members, n); };
  if (!ruling_.normalizes()) {
    threads.for_each(days(), [&](Index day, int slot) {
      combiners[at(slot)].run(risk, sample(day), mu(day), signal.row(day));
    });
    return;
  }
  std::vector<double> values(signal_.size());
  const Mat x(values.data(), days(), n);
  threads.for_each(days(), [&](Index day, int slot) {
    combiners[at(slot)].run_unscaled(risk, sample(day), mu(day), x.row(day));
    const ConstVec variances = risk.diagonal(sample(day));
    for (Index i = 0; i < n; ++i)
      x(day, i) = risk.status(sample(day)) != Status::ok ? kNaN
                  : variances[at(i)] > 0.0               ? x(day, i) / std::sqrt(variances[at(i)])
                                                         : 0.0;
  });
  const trade::Memory memory(ruling_.memory);
  threads.for_each(days(), [&](Index day, int) {
    const Index first = std::max<Index>(0, day - memory.rows() + 1);
    memory.signal(x.middle_rows(first, day - first + 1), risk.diagonal(sample(day)),
                  signal.row(day));
  });
}

std::span<const Index> Validation::names_of(Index day) const {
  if (data_->parted == nullptr) return all_;
  return data_->parted->part(first_ + day - data_->first_with_risk).assets;
}

solve::Problem Validation::problem(Index day, std::vector<double>& mu) const {
  const Index n = data_->n(), sample = first_ + day - data_->first_with_risk;
  const ConstVec signal = ConstVec(signal_).subspan(at(day * n), at(n));
  if (data_->parted == nullptr)
    return {.n = n,
            .k = settings_->mandate.k.of(n, "k"),
            .mu = signal,
            .risk = data_->risk.get(),
            .sample = sample,
            .limits = data_->limits ? &data_->limits->of(sample) : nullptr};
  const SamplePart& part = data_->parted->part(sample);
  const Index local = data_->parted->local(sample);
  mu.resize(part.assets.size());
  gather_names(signal, part.assets, mu);
  return {.n = part.m(),
          .k = solve::names_to_hold(settings_->mandate.k, part.m()),
          .mu = mu,
          .risk = part.risk.get(),
          .sample = local,
          .limits = part.limits ? &part.limits->of(local) : nullptr};
}

// What would be held if trading were free, of every day: they do not wait for each other.
std::vector<solve::Answer> Validation::ideal_answers(const Threads& threads) const {
  std::vector<std::unique_ptr<solve::Optimizer>> optimizers(at(threads.count()));
  std::vector<solve::Answer> answers(at(days()));
  threads.for_each(days(), [&](Index day, int slot) {
    if (first_ + day < data_->split.validation_first || names_of(day).empty()) return;
    auto& optimizer = optimizers[at(slot)];
    if (!optimizer) optimizer = optimizer_->make(decision_);
    std::vector<double> mu;
    optimizer->decide(problem(day, mu), answers[at(day)]);
  });
  return answers;
}

Verdict Validation::judge(const Threads& threads) {
  find_signals(threads);
  const std::vector<solve::Answer> ideal = ideal_answers(threads);
  const std::vector<double> costs(at(data_->n()), settings_->train_cost_bps / 1e4);
  trade::Trader trader(ruling_, *optimizer_, decision_, periods_per_year_);
  trade::Account account(data_->n());
  solve::Answer answer;
  std::vector<double> net, mu, holdings, own_costs, weights(at(data_->n()));
  for (Index day = data_->split.validation_first - first_; day < days(); ++day) {
    // What is held and no longer there is sold, whatever else is decided.
    const std::span<const Index> names = names_of(day);
    std::ranges::fill(weights, 0.0);
    if (!names.empty()) {
      holdings.resize(names.size());
      own_costs.resize(names.size());
      gather_names(account.weights(), names, holdings);
      gather_names(costs, names, own_costs);
      trader.decide(problem(day, mu), ideal[at(day)], {.holdings = holdings, .costs = own_costs},
                    answer);
      scatter_names(answer.portfolio.weights, names, weights);
    }
    const ConstVec next = data_->returns.row(data_->split.end(first_ + day));
    if (!all_finite(weights)) std::ranges::fill(weights, 0.0);  // cash, as in a backtest
    net.push_back(account.live(weights, next, {.trading = costs}).net());
  }
  std::vector<double> unused(net.size());
  return {.loss = decision_loss(settings_->decision_loss, net, unused),
          .sharpe = -decision_loss(DecisionLoss::sharpe, net, unused)};
}

}  // namespace sharpen::learn
