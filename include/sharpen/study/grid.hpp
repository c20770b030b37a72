// A study as it is described: markets x numbers of names x methods x seeds, from flags, presets or
// the tables of a configuration file (docs/study.md). Nothing is read but that file.
//
//   preset = "paper"                       every setting of `sharpen study`, as in any command
//   [[market]]                             one per market, instead of --prices or --returns
//   name = "Nikkei"                        the name of its file without
//   prices = "nikkei225.csv"               or returns, or simulate = { assets = 30, days = 1500 }
//   on-suspect = "adjust"                  any setting about panels and years
//   [[method]]                             one per method, instead of --frameworks and the like
//   name = "mine"                          framework and optimizer without
//   framework = "dfl"
//   optimizer = "swap"
//   training = "paper"                     preset of the training
//   epochs = 10                            any setting of `sharpen backtest`
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/settings.hpp"
#include "sharpen/market/simulate.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::study {

// A setting of a backtest as a flag would have it, and where it was given.
struct Given {
  std::string name, text;
  std::string file_line = {};  // "study.toml:7"; "": a flag or a preset
};

struct MarketGrid {
  std::string name;
  std::vector<Given> settings;  // prices or returns among them, unless it is simulated
  std::optional<market::SimulationSettings> simulation = {};
  std::string file_line = {};
};

struct MethodGrid {
  std::string name, label;
  Role role = Role::own;
  std::string training = {};    // preset: default, paper
  std::vector<Given> settings;  // framework and optimizer among them
  std::string file_line = {};
};

struct Grid {
  std::string name;           // of the preset or the file; "study" without
  std::vector<Given> common;  // settings of every method
  std::vector<MarketGrid> markets;
  std::vector<std::string> ks;  // "10%", "5"
  std::string ks_given_as;      // "--k"; "": by the preset
  std::vector<MethodGrid> methods;
  std::vector<std::uint64_t> seeds;
  bool trades_freely = false;  // by the preset: trading costs nothing, as in the paper
  std::string toml;            // the description, whole: grid_of reads it back to the same grid
};

// `values`: of the command study. The tables are those of `toml` (the text of --config; "" for
// none), `file_name` its name in messages. Throws InputError with the place and the remedy for a
// table that cannot be read, names given twice, an empty grid and what cannot go together.
Grid grid_of(const settings::Values& values, std::string_view toml, std::string_view file_name);

// The same with the text of the file that --config names.
Grid grid_of(const settings::Values& values);

// The value of a setting of a method that is given; nullptr: it is not.
const Given* find_given(const std::vector<Given>& settings, std::string_view name);

}  // namespace sharpen::study
