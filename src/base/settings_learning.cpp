// Rows of the table of settings about networks and their training.
#include "base/settings_learning.hpp"

namespace sharpen::settings {

namespace {

constexpr unsigned kTraining = train | backtest;  // and studies of them, but for their own rows
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Bounds kPositive = {.low = 0, .high = kInfinity, .above = true};

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
       .commands = kTraining},
      {.name = "network",
       .kind = Kind::choice,
       .text = "one network that sees all assets, or one that every asset shares",
       .placeholder = "NAME",
       .preset = "shared",
       .choices = {"joint", "shared"},
       .paper = "joint"},
      {.name = "hidden",
       .kind = Kind::list,
       .text = "widths of the hidden layers",
       .placeholder = "N,N",
       .preset = "64,32",
       .paper = "512,256",
       .numbers = true},
      {.name = "ensemble",
       .kind = Kind::integer,
       .text = "networks to train and to average",
       .placeholder = "N",
       .preset = "8",
       .bounds = {.low = 1, .high = 1024},
       .commands = kTraining,
       .paper = "1"},
  };
}

std::vector<Setting> loss_rows() {
  return {
      {.name = "alpha",
       .kind = Kind::real,
       .text = "weight of the decision loss against the prediction loss, for --framework dfl",
       .placeholder = "X",
       .preset = "0.5",
       .bounds = {.low = 0, .high = 1},
       .commands = kTraining},
      {.name = "mixing",
       .kind = Kind::choice,
       .text = "alpha weighs the two gradients as they come, or brought to equal size first",
       .placeholder = "NAME",
       .preset = "literal",
       .choices = {"literal", "balanced"}},
      {.name = "decision-loss",
       .kind = Kind::choice,
       .text = "what decisions are judged by: the mean return, or the Sharpe ratio of the batch",
       .placeholder = "NAME",
       .preset = "return",
       .choices = {"return", "sharpe"}},
      {.name = "horizon",
       .kind = Kind::integer,
       .text = "periods whose mean return is the target, in training only",
       .placeholder = "N",
       .preset = "1",
       .bounds = {.low = 1, .high = 1000}},
      {.name = "warm-start",
       .kind = Kind::integer,
       .text = "epochs of prediction only before alpha applies",
       .placeholder = "N",
       .preset = "1",
       .bounds = {.low = 0, .high = 1e6},
       .paper = "0"},
  };
}

std::vector<Setting> layer_rows() {
  return {
      {.name = "beta",
       .kind = Kind::real,
       .text = "sharpness of the soft selection",
       .placeholder = "X",
       .preset = "5",
       .bounds = {.low = 0, .high = 1e6, .above = true}},
      {.name = "beta-final",
       .kind = Kind::real,
       .text = "sharpness in the last epoch, reached by equal ratios",
       .placeholder = "X",
       .preset_words = "beta",
       .bounds = {.low = 0, .high = 1e6, .above = true}},
      {.name = "score",
       .kind = Kind::choice,
       .text = "what the soft selection ranks assets by; cholesky depends on their order",
       .placeholder = "NAME",
       .preset = "symmetric",
       .choices = {"cholesky", "symmetric"},
       .paper = "cholesky"},
      {.name = "raw-score",
       .kind = Kind::flag,
       .text = "keep the paper's scale of the score",
       .preset = "false"},
      {.name = "reoptimization",
       .kind = Kind::choice,
       .text = "what is solved under the mask: the masked signal, or the restricted problem",
       .placeholder = "NAME",
       .preset = "masked",
       .choices = {"masked", "restricted"}},
      {.name = "topk",
       .kind = Kind::choice,
       .text = "how the soft selection finds its threshold; bisection is the paper's",
       .placeholder = "NAME",
       .preset = "newton",
       .choices = {"newton", "bisection"},
       .paper = "bisection"},
  };
}

std::vector<Setting> step_rows() {
  return {
      {.name = "epochs",
       .kind = Kind::integer,
       .text = "passes over the training samples, at most",
       .placeholder = "N",
       .preset = "30",
       .bounds = {.low = 1, .high = 1e6}},
      {.name = "validation",
       .kind = Kind::real,
       .text = "share of the training part, its end, that says when to stop; 0 runs all epochs",
       .placeholder = "X",
       .preset = "0.2",
       .bounds = {.low = 0, .high = 0.9},
       .paper = "0"},
      {.name = "patience",
       .kind = Kind::integer,
       .text = "epochs without a better validation before stopping",
       .placeholder = "N",
       .preset = "5",
       .bounds = {.low = 1, .high = 1e6}},
      {.name = "batch",
       .kind = Kind::integer,
       .text = "samples per step",
       .placeholder = "N",
       .preset = "64",
       .bounds = {.low = 1, .high = 65536}},
      {.name = "learning-rate",
       .kind = Kind::real,
       .text = "length of Adam's steps",
       .placeholder = "X",
       .preset = "0.001",
       .bounds = kPositive},
      {.name = "weight-decay",
       .kind = Kind::real,
       .text = "share, times the learning rate, by which parameters shrink at each step",
       .placeholder = "X",
       .preset = "0",
       .bounds = {.low = 0}},
      {.name = "clip",
       .kind = Kind::real,
       .text = "greatest norm of a gradient, in units of the returns' variance; 0 for any",
       .placeholder = "X",
       .preset = "0",
       .bounds = {.low = 0}},
  };
}

std::vector<Setting> run_rows() {
  return {
      {.name = "resume",
       .kind = Kind::flag,
       .text = "go on with the training that was interrupted",
       .preset = "false",
       .commands = train},
      {.name = "dry-run",
       .kind = Kind::flag,
       .text = "say what the training would take, and stop",
       .preset = "false",
       .commands = train},
      {.name = "retrain",
       .kind = Kind::integer,
       .text = "periods after which the network is trained anew, on all that is past by then",
       .placeholder = "N",
       .preset_words = "never",
       .bounds = {.low = 1, .high = 1e9},
       .commands = backtest | study},
      {.name = "decision",
       .kind = Kind::choice,
       .text = "hold at most k names, or the layer's own weights, which are dense",
       .placeholder = "NAME",
       .preset = "exact",
       .choices = {"exact", "soft"},
       .commands = backtest | study},
  };
}

}  // namespace

void append_learning_rows(std::vector<Setting>& table) {
  for (const auto& rows : {network_rows(), loss_rows(), layer_rows(), step_rows(), run_rows()})
    for (const Setting& row : rows) table.push_back(learning(row));
}

}  // namespace sharpen::settings
