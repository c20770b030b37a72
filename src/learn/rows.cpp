// Rows of the table of settings about networks and their training.
#include "base/settings_rows.hpp"
#include "sharpen/learn/settings.hpp"

namespace sharpen::settings {

using learn::AdamSettings;
using learn::TrainSettings;

namespace {

constexpr unsigned kTraining = train | backtest;  // and studies of them, but for their own rows

}  // namespace

std::vector<Setting> learning_rows() {
  std::vector<Setting> rows = {
      row("preset", Kind::choice,
          "values of all settings of a training that are not given: ours, or the paper's",
          {.preset = "default",
           .choices = {"default", "paper"},
           .commands = kTraining,
           .roles = shorthand}),
      row("network", field(&TrainSettings::network),
          "one network that sees all assets, or one that every asset shares", {.paper = "joint"}),
      row("inputs", field(&TrainSettings::inputs),
          "what a shared network sees of an asset: its returns, or sums of them over several "
          "stretches and its volatility",
          {.paper = "returns"}),
      row("hidden", field(&TrainSettings::hidden), "widths of the hidden layers",
          {.placeholder = "N,N",
           .paper = "512,256",
           .numbers = true,
           .misfit = "the width of a layer is a whole number such as 256"}),
      row("ensemble", field(&TrainSettings::ensemble), "networks to train and to average",
          {.bounds = {.low = 1, .high = 1024}, .commands = kTraining, .paper = "1"}),
      row("alpha", field(&TrainSettings::alpha),
          "weight of the decision loss against the prediction loss, for ‹--framework dfl›",
          {.bounds = {.low = 0, .high = 1},
           .commands = kTraining,
           .paper = "0.5",
           .roles = of_decisions}),
      row("mixing", field(&TrainSettings::mixing),
          "alpha weighs the two gradients as they come, or brought to equal size first",
          {.paper = "literal", .roles = of_decisions}),
      row("decision-loss", field(&TrainSettings::decision_loss),
          "what decisions are judged by: the mean return, or the Sharpe ratio of the batch",
          {.roles = of_decisions}),
      row("prediction-loss", field(&TrainSettings::prediction_loss),
          "what expectations are judged by: squared errors, or errors in the metric of the risk",
          {.paper = "squared"}),
      row("horizon", field(&TrainSettings::horizon),
          "periods whose mean return is the target, in training only",
          {.bounds = {.low = 1, .high = 1000}, .paper = "1"}),
      row("warm-start", field(&TrainSettings::warm_start),
          "epochs of prediction only before alpha applies",
          {.bounds = {.low = 0, .high = 1e6}, .paper = "0", .roles = of_decisions}),
      row("beta", {field(&layer::SoftSettings::beta), field(&layer::TopKSettings::beta)},
          "sharpness of the soft selection",
          {.bounds = {.low = 0, .high = 1e6, .above = true}, .roles = of_decisions | of_layer}),
      row("beta-final", field(&TrainSettings::beta_final),
          "sharpness in the last epoch, reached by equal ratios",
          {.preset_words = "beta",
           .bounds = {.low = 0, .high = 1e6, .above = true},
           .roles = of_decisions}),
      row("score", field(&layer::SoftSettings::score),
          "what the soft selection ranks assets by; cholesky depends on their order",
          {.paper = "cholesky", .roles = of_decisions | of_layer}),
      row("raw-score", field(&layer::SoftSettings::raw_score),
          "keep the paper's scale of the score", {.roles = of_decisions | of_layer}),
      row("reoptimization", field(&layer::SoftSettings::reoptimization),
          "what is solved under the mask: the masked signal, or the restricted problem",
          {.preset = "masked", .roles = of_decisions | of_layer}),
      row("topk", field(&layer::SoftSettings::topk),
          "how the soft selection finds its threshold; bisection is the paper's",
          {.paper = "bisection", .roles = of_decisions | of_layer}),
      row("train-block", field(&TrainSettings::train_block),
          "consecutive periods per step, so that decisions can be charged for their trades; the "
          "first of them only feed the memory; 0 for ‹--batch› samples of any periods, with "
          "neither "
          "memory nor costs in the loss",
          {.bounds = {.low = 0, .high = 65536}, .paper = "0", .roles = of_decisions}),
      row("train-cost-bps", field(&TrainSettings::train_cost_bps),
          "cost of trading in the loss of blocks and in the validation, in basis points of what is "
          "traded",
          {.preset_words = "what ‹--cost-bps› is",
           .bounds = {.low = 0},
           .paper = "0",
           .roles = of_decisions}),
      row("epochs", field(&TrainSettings::epochs), "passes over the training samples, at most",
          {.bounds = {.low = 1, .high = 1e6}, .paper = "30"}),
      row("validation", field(&TrainSettings::validation),
          "share of the training part, its end, that says when to stop; 0 runs all epochs",
          {.bounds = {.low = 0, .high = 0.9}, .paper = "0", .roles = of_decisions}),
      row("patience", field(&TrainSettings::patience),
          "epochs without a better validation before stopping",
          {.bounds = {.low = 1, .high = 1e6}, .roles = of_decisions}),
      row("batch", field(&TrainSettings::batch), "samples per step",
          {.bounds = {.low = 1, .high = 65536}}),
      row("learning-rate", field(&AdamSettings::learning_rate), "length of Adam's steps",
          {.bounds = kPositive}),
      row("weight-decay", field(&AdamSettings::weight_decay),
          "share, times the learning rate, by which parameters shrink at each step",
          {.bounds = {.low = 0}}),
      row("clip", field(&AdamSettings::clip),
          "greatest norm of a gradient, in units of the returns' variance; 0 for any",
          {.bounds = {.low = 0}}),
      row("resume", Kind::flag, "go on with the training that was interrupted",
          {.commands = train}),
      row("dry-run", Kind::flag, "say what the training would take, and stop",
          {.commands = train, .roles = of_run, .shell_only = every_command}),
  };
  return rows_of(kTraining | study, Group::learning, std::move(rows));
}

}  // namespace sharpen::settings
