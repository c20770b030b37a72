// Rows of the table of settings that only `sharpen study` has.
#include "base/settings_rows.hpp"

namespace sharpen::settings {

namespace {

Setting of_study(Setting setting) {
  setting.commands = study;
  return setting;
}

std::vector<Setting> grid_rows() {
  return {
      {.name = "preset",
       .kind = Kind::choice,
       .text = "a study that is described already: a small one on a simulated market, the paper's "
               "methods, or the paper's sweep of alpha",
       .placeholder = "STUDY",
       .preset_words = "none: the lists below, or [[method]] tables of ‹--config›",
       .choices = {"demo", "paper", "alpha"},
       .group = Group::input,
       .roles = shorthand | steers,
       .shell_only = every_command},
      {.name = "prices",
       .kind = Kind::list,
       .text = "one market per file of prices; may be repeated",
       .placeholder = "FILE,FILE",
       .group = Group::input,
       .roles = of_panel | input_file | steers,
       .shell_only = every_command},
      {.name = "returns",
       .kind = Kind::list,
       .text = "likewise, files of returns",
       .placeholder = "FILE,FILE",
       .group = Group::input,
       .roles = of_panel | input_file | steers,
       .shell_only = every_command},
      {.name = "k",
       .kind = Kind::list,
       .text = "most names to hold, one or more: counts, or shares such as 10%",
       .placeholder = "K,K",
       .preset_words = "10%; 10%,15%,20% with a preset",
       .short_flag = 'k',
       .numbers = true,
       .roles = of_cell | steers},
      {.name = "frameworks",
       .kind = Kind::list,
       .text = "where expected returns come from: rolling, historic, pfl, dfl",
       .placeholder = "NAME,NAME",
       .preset_words = "historic,pfl,dfl",
       .group = Group::learning,
       .roles = of_methods | steers},
      {.name = "optimizers",
       .kind = Kind::list,
       .text = "what chooses the names, for every framework; equal is a method by itself",
       .placeholder = "NAME,NAME",
       .preset_words = "swap",
       .group = Group::portfolio,
       .roles = of_methods | steers},
      {.name = "trainings",
       .kind = Kind::list,
       .text = "presets of the trainings: default, paper",
       .placeholder = "NAME,NAME",
       .preset_words = "default",
       .group = Group::learning,
       .roles = of_methods | steers},
      {.name = "alphas",
       .kind = Kind::list,
       .text = "weights of the decision loss, for dfl; 0 is pfl",
       .placeholder = "X,X",
       .preset_words = "0.5; 0,0.1,0.5,0.9,1 with ‹--preset alpha›",
       .group = Group::learning,
       .numbers = true,
       .roles = of_methods | steers},
      {.name = "ensemble",
       .kind = Kind::list,
       .text = "numbers of networks to train and to average",
       .placeholder = "N,N",
       .preset_words = "what the training has",
       .group = Group::learning,
       .numbers = true,
       .roles = of_methods | steers},
      {.name = "costs",
       .kind = Kind::list,
       .text = "costs of trading, in basis points of what is traded",
       .placeholder = "X,X",
       .preset_words = "0",
       .group = Group::trading,
       .numbers = true,
       .roles = steers},
      {.name = "seeds",
       .kind = Kind::list,
       .text = "how many seeds, which then follow ‹--seed›; or which: 3,7 or 1-5",
       .placeholder = "N",
       .preset_words = "5; 3 with ‹--preset demo›",
       .group = Group::learning,
       .numbers = true,
       .roles = steers},
  };
}

std::vector<Setting> run_rows() {
  return {
      {.name = "list",
       .kind = Kind::flag,
       .text = "say what is done, failed and missing, and stop",
       .preset = "false",
       .in_file = false,
       .roles = of_run | steers,
       .shell_only = every_command},
      {.name = "dry-run",
       .kind = Kind::flag,
       .text = "say what the study would take, and stop",
       .preset = "false",
       .in_file = false,
       .roles = of_run | steers,
       .shell_only = every_command},
      {.name = "retry",
       .kind = Kind::flag,
       .text = "try cells again that have failed",
       .preset = "false",
       .in_file = false,
       .roles = of_run | steers},
      {.name = "force",
       .kind = Kind::flag,
       .text = "start afresh where ‹--out› holds another study, which gets another name",
       .preset = "false",
       .in_file = false,
       .roles = of_run | steers,
       .shell_only = every_command},
      {.name = "memory",
       .kind = Kind::real,
       .text = "gigabytes that may be in use at once",
       .placeholder = "GB",
       .preset_words = "80 % of what is free",
       .bounds = {.low = 0, .above = true},
       .roles = of_run | steers},
  };
}

}  // namespace

std::vector<Setting> study_rows() {
  std::vector<Setting> all;
  for (const Setting& row : grid_rows()) all.push_back(of_study(row));
  for (Setting row : run_rows()) {
    row.group = Group::running;
    all.push_back(of_study(row));
  }
  return all;
}

}  // namespace sharpen::settings
