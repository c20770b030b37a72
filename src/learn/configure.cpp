#include "sharpen/learn/configure.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/framework.hpp"

namespace sharpen::learn {

namespace {

using settings::Values;

std::vector<Index> widths(const Values& values) {
  std::vector<Index> out;
  for (const std::string& text : values.list("hidden")) {
    Index width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error != std::errc() || end != text.data() + text.size() || width < 1)
      throw InputError(fmt::format("{} = {}: the width of a layer is a whole number such as 256",
                                   values.given_as("hidden"), printable(text)));
    out.push_back(width);
  }
  return out;
}

layer::LayerSettings layer_settings(const Values& values) {
  layer::LayerSettings out;
  out.beta = values.real("beta");
  out.score = values.text("score") == "cholesky" ? layer::Score::cholesky : layer::Score::symmetric;
  out.raw_score = values.flag("raw-score");
  out.reoptimization = values.text("reoptimization") == "masked"
                           ? layer::Reoptimization::masked
                           : layer::Reoptimization::restricted;
  out.topk =
      values.text("topk") == "bisection" ? layer::TopKSolver::bisection : layer::TopKSolver::newton;
  out.sizing = yearly_sizing(values);
  out.net = values.text("net") == "any" ? layer::Net::any : layer::Net::positive;
  return out;
}

}  // namespace

double window_shrinkage(const Values& values) {
  return values.has("shrinkage") ? values.real("shrinkage") : risk::kWindowShrinkage;
}

TrainSettings training_settings(const Values& values) {
  TrainSettings out;
  const settings::CountOrAll lookback = values.count_or_all("lookback");
  if (lookback.all)
    throw InputError(fmt::format(
        "{} = all has no meaning for a network, whose windows have one length; give a number",
        values.given_as("lookback")));
  out.lookback = static_cast<Index>(lookback.count);
  out.network = values.text("network") == "shared" ? NetworkKind::shared : NetworkKind::joint;
  out.hidden = widths(values);
  out.alpha = framework_named(values.text("framework")).decides ? values.real("alpha") : 0.0;
  out.mixing = values.text("mixing") == "literal" ? Mixing::literal : Mixing::balanced;
  out.decision_loss =
      values.text("decision-loss") == "sharpe" ? DecisionLoss::sharpe : DecisionLoss::mean_return;
  out.horizon = static_cast<Index>(values.integer("horizon"));
  out.warm_start = static_cast<Index>(values.integer("warm-start"));
  out.k = values.count_or_share("k");
  out.layer = layer_settings(values);
  out.beta_final = values.has("beta-final") ? values.real("beta-final") : 0.0;
  out.shrinkage = window_shrinkage(values);
  out.form = form_of(values);
  out.batch = static_cast<Index>(values.integer("batch"));
  out.adam.learning_rate = values.real("learning-rate");
  out.adam.weight_decay = values.real("weight-decay");
  out.adam.clip = values.real("clip");
  out.epochs = static_cast<Index>(values.integer("epochs"));
  out.validation = values.real("validation");
  out.patience = static_cast<Index>(values.integer("patience"));
  out.ensemble = static_cast<Index>(values.integer("ensemble"));
  out.seed = static_cast<std::uint64_t>(values.integer("seed"));
  return out;
}

}  // namespace sharpen::learn
