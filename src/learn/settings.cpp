#include "sharpen/learn/settings.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "learn/samples.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/solve/optimizer.hpp"
#include "sharpen/solve/registry.hpp"
#include "sharpen/trade/memory.hpp"

namespace sharpen::learn {

namespace {

constexpr Index kWidestLayer = 65536;
constexpr std::size_t kMostLayers = 16;
constexpr double kMostParameters = 2e9;

void check_shape(const TrainSettings& settings, Index n) {
  if (settings.hidden.size() > kMostLayers)
    throw InputError(fmt::format("hidden names {} layers; at most {} are allowed",
                                 settings.hidden.size(), kMostLayers));
  double parameters = 0.0;
  Index inputs = settings.shape(n).inputs;
  for (const Index width : settings.hidden) {
    if (width < 1 || width > kWidestLayer)
      throw InputError(
          fmt::format("hidden = {}: a layer's width is outside [1, {}]", width, kWidestLayer));
    parameters += static_cast<double>(inputs) * static_cast<double>(width);
    inputs = width;
  }
  const Index outputs = settings.network == NetworkKind::joint ? n : 1;
  parameters += static_cast<double>(inputs) * static_cast<double>(outputs);
  if (parameters > kMostParameters)
    throw InputError(
        fmt::format("a network of {:.2g} parameters is more than the {:.0g} allowed; use a smaller "
                    "‹--hidden›, a shorter ‹--lookback›, or ‹--network shared›",
                    parameters, kMostParameters));
}

void check_block(const TrainSettings& settings) {
  const Index warm_up = settings.memory_rows();
  if (settings.train_block <= warm_up)
    throw InputError(
        fmt::format("‹train-block› = {} leaves nothing to learn from: the first {} periods of a "
                    "block only feed "
                    "the memory; use ‹--train-block {}› or more, a shorter ‹--memory› than {}, or "
                    "‹--train-block 0› for samples of any periods",
                    settings.train_block, warm_up, 2 * warm_up, settings.ruling().memory));
  if (settings.decision_loss == DecisionLoss::sharpe && settings.train_block < warm_up + 2)
    throw InputError(fmt::format(
        "‹decision-loss› = sharpe needs a ‹train-block› of {} at least: one return has no Sharpe "
        "ratio, and the first {} only feed the memory; use a larger ‹--train-block›, or "
        "‹--decision-loss return›",
        warm_up + 2, warm_up));
}

}  // namespace

void TrainSettings::validate(Index n) const {
  if (n < 1) throw InputError("a training needs one asset at least");
  settings::check(mandate);
  settings::check(*this);
  settings::check(adam);
  if (alpha > 0.0 && decision_loss == DecisionLoss::sharpe && batch < 2)
    throw InputError(
        "‹decision-loss› = sharpe needs a batch of 2 at least: one return has no Sharpe ratio; use "
        "a larger ‹--batch›, or ‹--decision-loss return›");
  settings::check(rules);
  if (in_blocks()) check_block(*this);
  check_shape(*this, n);
  std::shared_ptr<const layer::LimitSchedule> any;
  if (mandate.limits)
    any = std::make_shared<const layer::LimitSchedule>(layer::LimitSchedule{{layer::Limits{}}, {}});
  layer_for(n, any).validate(n);
}

trade::Ruling TrainSettings::ruling() const {
  return trade::ruling(rules, solve::optimizer_named(kDecider));
}

Index TrainSettings::memory_rows() const { return trade::Memory(ruling().memory).rows() - 1; }

layer::LayerSettings TrainSettings::layer_for(
    Index n, std::shared_ptr<const layer::LimitSchedule> limits) const {
  return {mandate.mandate(mandate.k.of(n, "k"), std::move(limits)), layer};
}

layer::LayerSettings TrainSettings::layer_of_day(
    Index m, std::shared_ptr<const layer::LimitSchedule> limits) const {
  return {mandate.mandate(solve::names_to_hold(mandate.k, m), std::move(limits)), layer};
}

Shape TrainSettings::shape(Index n) const {
  const bool joint = network == NetworkKind::joint;
  Index seen = !joint && inputs == Inputs::sums ? count_of_sums(lookback) : lookback;
  if (joint && __builtin_mul_overflow(lookback, n, &seen))  // of a file, which may say anything
    seen = std::numeric_limits<Index>::max();
  return {.inputs = seen, .hidden = hidden, .outputs = joint ? n : 1};
}

TrainSettings training_settings(const settings::Values& values) {
  if (values.count_or_all("lookback").all)
    throw InputError(fmt::format(
        "{} = all has no meaning for a network, whose windows have one length; give a number",
        values.given_as("lookback")));
  TrainSettings out;
  settings::fill(values, out);
  settings::fill(values, out.adam);
  settings::fill(values, out.mandate);
  settings::fill(values, out.layer);
  settings::fill(values, out.rules);
  if (!values.has("train-cost-bps") && !takes_file_costs(values))
    out.train_cost_bps = values.number_or_file("cost-bps").number;
  out.mandate.sizing = layer::sizing_settings(values);
  layer::fill_limits(values, out.mandate);
  if (!framework_named(values.text("framework")).decides) out.alpha = 0.0;
  return out;
}

bool takes_file_costs(const settings::Values& values) {
  return !values.has("train-cost-bps") && !values.number_or_file("cost-bps").file.empty();
}

}  // namespace sharpen::learn
