// Rows of the table of settings about networks and their training.
#include "base/settings_rows.hpp"
#include "sharpen/learn/settings.hpp"

namespace sharpen::settings {

using learn::AdamSettings;
using learn::TrainSettings;

namespace {

constexpr unsigned kTraining = train | backtest;  // and studies of them, but for their own rows

Setting learning(Setting setting) {
  if (setting.commands == every_command) setting.commands = kTraining | study;
  setting.group = Group::learning;
  return setting;
}

std::vector<Setting> network_rows() {
  return {
      {.name = "preset",
       .kind = Kind::choice,
       .text = "values of all settings of a training that are not given: ours, or the paper's",
       .placeholder = "NAME",
       .preset = "default",
       .choices = {"default", "paper"},
       .commands = kTraining,
       .roles = shorthand | steers},
      {.name = "network",
       .fields = {field(&TrainSettings::network)},
       .text = "one network that sees all assets, or one that every asset shares",
       .placeholder = "NAME",
       .paper = "joint"},
      {.name = "hidden",
       .fields = {field(&TrainSettings::hidden)},
       .text = "widths of the hidden layers",
       .placeholder = "N,N",
       .paper = "512,256",
       .numbers = true,
       .misfit = "the width of a layer is a whole number such as 256"},
      {.name = "ensemble",
       .fields = {field(&TrainSettings::ensemble)},
       .text = "networks to train and to average",
       .placeholder = "N",
       .bounds = {.low = 1, .high = 1024},
       .commands = kTraining,
       .paper = "1"},
  };
}

std::vector<Setting> loss_rows() {
  return {
      {.name = "alpha",
       .fields = {field(&TrainSettings::alpha)},
       .text = "weight of the decision loss against the prediction loss, for ‹--framework dfl›",
       .placeholder = "X",
       .bounds = {.low = 0, .high = 1},
       .commands = kTraining,
       .roles = of_decisions},
      {.name = "mixing",
       .fields = {field(&TrainSettings::mixing)},
       .text = "alpha weighs the two gradients as they come, or brought to equal size first",
       .placeholder = "NAME",
       .roles = of_decisions},
      {.name = "decision-loss",
       .fields = {field(&TrainSettings::decision_loss)},
       .text = "what decisions are judged by: the mean return, or the Sharpe ratio of the batch",
       .placeholder = "NAME",
       .roles = of_decisions},
      {.name = "horizon",
       .fields = {field(&TrainSettings::horizon)},
       .text = "periods whose mean return is the target, in training only",
       .placeholder = "N",
       .bounds = {.low = 1, .high = 1000}},
      {.name = "warm-start",
       .fields = {field(&TrainSettings::warm_start)},
       .text = "epochs of prediction only before alpha applies",
       .placeholder = "N",
       .bounds = {.low = 0, .high = 1e6},
       .paper = "0",
       .roles = of_decisions},
  };
}

std::vector<Setting> layer_rows() {
  return {
      {.name = "beta",
       .fields = {field(&layer::LayerSettings::beta), field(&layer::TopKSettings::beta)},
       .text = "sharpness of the soft selection",
       .placeholder = "X",
       .bounds = {.low = 0, .high = 1e6, .above = true},
       .roles = of_decisions | of_layer},
      {.name = "beta-final",
       .fields = {field(&TrainSettings::beta_final)},
       .text = "sharpness in the last epoch, reached by equal ratios",
       .placeholder = "X",
       .preset_words = "beta",
       .bounds = {.low = 0, .high = 1e6, .above = true},
       .roles = of_decisions},
      {.name = "score",
       .fields = {field(&layer::LayerSettings::score)},
       .text = "what the soft selection ranks assets by; cholesky depends on their order",
       .placeholder = "NAME",
       .paper = "cholesky",
       .roles = of_decisions | of_layer},
      {.name = "raw-score",
       .fields = {field(&layer::LayerSettings::raw_score)},
       .text = "keep the paper's scale of the score",
       .roles = of_decisions | of_layer},
      {.name = "reoptimization",
       .fields = {field(&layer::LayerSettings::reoptimization)},
       .text = "what is solved under the mask: the masked signal, or the restricted problem",
       .placeholder = "NAME",
       .preset = "masked",
       .roles = of_decisions | of_layer},
      {.name = "topk",
       .fields = {field(&layer::LayerSettings::topk)},
       .text = "how the soft selection finds its threshold; bisection is the paper's",
       .placeholder = "NAME",
       .paper = "bisection",
       .roles = of_decisions | of_layer},
  };
}

std::vector<Setting> step_rows() {
  return {
      {.name = "epochs",
       .fields = {field(&TrainSettings::epochs)},
       .text = "passes over the training samples, at most",
       .placeholder = "N",
       .bounds = {.low = 1, .high = 1e6}},
      {.name = "validation",
       .fields = {field(&TrainSettings::validation)},
       .text = "share of the training part, its end, that says when to stop; 0 runs all epochs",
       .placeholder = "X",
       .bounds = {.low = 0, .high = 0.9},
       .paper = "0",
       .roles = of_decisions},
      {.name = "patience",
       .fields = {field(&TrainSettings::patience)},
       .text = "epochs without a better validation before stopping",
       .placeholder = "N",
       .bounds = {.low = 1, .high = 1e6},
       .roles = of_decisions},
      {.name = "batch",
       .fields = {field(&TrainSettings::batch)},
       .text = "samples per step",
       .placeholder = "N",
       .bounds = {.low = 1, .high = 65536}},
      {.name = "learning-rate",
       .fields = {field(&AdamSettings::learning_rate)},
       .text = "length of Adam's steps",
       .placeholder = "X",
       .bounds = kPositive},
      {.name = "weight-decay",
       .fields = {field(&AdamSettings::weight_decay)},
       .text = "share, times the learning rate, by which parameters shrink at each step",
       .placeholder = "X",
       .bounds = {.low = 0}},
      {.name = "clip",
       .fields = {field(&AdamSettings::clip)},
       .text = "greatest norm of a gradient, in units of the returns' variance; 0 for any",
       .placeholder = "X",
       .bounds = {.low = 0}},
  };
}

std::vector<Setting> run_rows() {
  return {
      {.name = "resume",
       .kind = Kind::flag,
       .text = "go on with the training that was interrupted",
       .preset = "false",
       .commands = train,
       .roles = steers},
      {.name = "dry-run",
       .kind = Kind::flag,
       .text = "say what the training would take, and stop",
       .preset = "false",
       .commands = train,
       .roles = of_run | steers,
       .shell_only = every_command},
  };
}

}  // namespace

std::vector<Setting> learning_rows() {
  std::vector<Setting> all;
  for (const auto& rows : {network_rows(), loss_rows(), layer_rows(), step_rows(), run_rows()})
    for (const Setting& row : rows) all.push_back(learning(row));
  return all;
}

}  // namespace sharpen::settings
