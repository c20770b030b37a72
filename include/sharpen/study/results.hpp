// What a study has found: the grid of cells as its store holds it, and as a report reads it.
//
// A cell is one market x k x method x seed, a method being a framework with an optimizer, a
// training and costs. All cells of a market are tested on the same periods, so that their daily
// returns can be compared pair by pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/backtest/learned.hpp"
#include "sharpen/backtest/metrics.hpp"
#include "sharpen/backtest/walk_forward.hpp"
#include "sharpen/base/named.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::study {

// The most that a study may have.
constexpr std::size_t kMostMethods = 10'000, kMostCells = 1'000'000;

struct Market {
  std::string name;      // unique in the study
  std::string source;    // file as given, or the words of a simulation
  std::string checksum;  // of the file's bytes, or of what was simulated
  // How it is read: settings, and their values as text.
  std::vector<std::pair<std::string, std::string>> reading;
  std::vector<std::string> tickers;  // (n) after cleaning
  std::vector<std::string> dates;    // (P) of the test periods
  std::string first_date;            // of the training part
  Index training_rows = 0;
  double periods_per_year = 252.0;
  double risk_free = 0.0;             // per period
  std::vector<std::string> warnings;  // what cleaning found
};

// Where a table shows a method.
enum class Role {
  paper,  // one of the paper's methods
  own,    // ours, shown apart
  sweep,  // one value of alpha in a sweep
};
constexpr std::array<std::string_view, 3> names(Role) { return {"paper", "own", "sweep"}; }
constexpr std::string_view name(Role role) { return name_of(role); }

struct Method {
  std::string name;   // unique in the study: "pfl-oscar"
  std::string label;  // as a table heads its column: "PFL OSCAR"
  Role role = Role::paper;
  std::string framework;  // historic, rolling, pfl, dfl
  std::string optimizer;
  std::string training;  // preset of the training; "" where nothing is trained
  double alpha = 0.0;    // of the training; 0 without
  Index ensemble = 1;
  double cost_bps = 0.0;
  std::string settings;  // everything, as TOML that `sharpen backtest --config` reads
};

enum class CellState { missing, done, failed };
constexpr std::array<std::string_view, 3> names(CellState) { return {"missing", "done", "failed"}; }
constexpr std::string_view name(CellState state) { return name_of(state); }

struct Cell {
  Index market = 0, method = 0;       // of Results::markets, methods
  std::string k_given;                // "10%" or "5"
  Index k = 0;                        // names
  std::optional<std::uint64_t> seed;  // none where nothing is random
  CellState state = CellState::missing;
  std::string reason;    // of failed
  double seconds = 0.0;  // of work, its share of a training left out
  // Of done cells; else empty.
  backtest::Metrics metrics;
  std::optional<backtest::Regret> regret;  // of pfl and dfl
  backtest::Run run;                       // weights and daily columns; no trades
  // (P) after costs, as BacktestResult has them; empty in files of earlier versions.
  std::vector<double> delayed_returns, equal_returns;
  std::vector<std::string> warnings;

  // Views of the daily columns, for metrics(); valid as long as the cell.
  backtest::Track track(double periods_per_year) const {
    backtest::Track out = run.track(periods_per_year);
    out.delayed = delayed_returns;
    out.equal = equal_returns;
    return out;
  }
};

// A part of a study that is computed in several (shard.hpp).
struct Shard {
  Index part = 1, of = 1;  // part 1 of 1 is the whole study

  bool whole() const { return of == 1; }
  // "3/100"; "" for the whole
  std::string text() const {
    return whole() ? "" : std::to_string(part) + "/" + std::to_string(of);
  }

  bool operator==(const Shard&) const = default;
};

struct Results {
  std::string name;      // of the preset or file that described it
  std::string settings;  // the whole study as TOML: `sharpen study --config` repeats it
  std::vector<std::pair<std::string, std::string>> versions;  // sharpen, compiler, BLAS, ...
  std::vector<Market> markets;
  std::vector<Method> methods;  // in the order of a table's columns
  std::vector<Cell> cells;      // by market, k, method, seed
  Shard shard = {};             // what of it this file computes
  Index shard_cells = 0;        // cells that fell to it; 0 for the whole
};

}  // namespace sharpen::study
