#include "sharpen/study/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "base/settings_toml.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/market/panel_input.hpp"
#include "sharpen/study/checksum.hpp"
#include "sharpen/trade/costs.hpp"
#include "study/plan_files.hpp"
#include "study/reading.hpp"

namespace sharpen::study {

namespace {

using settings::Values;

void set_all(const std::vector<Given>& given, Values& values) {
  for (const Given& each : given) {
    if (each.file_line.empty())
      values.set_flag(each.name, each.text);
    else
      values.set_file(each.name, each.text, each.file_line);
  }
}

// Settings without one come from a preset or a list.
std::vector<Given> with_file_line(const std::vector<Given>& all, bool file_line) {
  std::vector<Given> out;
  for (const Given& each : all)
    if (each.file_line.empty() != file_line) out.push_back(each);
  return out;
}

bool needs_training(const Given& each) {
  return settings::find_for(each.name, settings::backtest)->is(settings::needs_training);
}

// Whether a setting of the whole study means something to an optimizer: a soft decision to those it
// can stand in for, limits and weighing of costs to those that keep limits, a band and a memory to
// those that ask for a signal.
bool hears(const solve::OptimizerInfo& optimizer, const Given& each) {
  if (each.name == "decision" && each.text == "soft") return optimizer.softens;
  const bool weighs_costs = each.name == "expected-sharpe" || each.name == "holding-horizon" ||
                            (each.name == "rule" && each.text == name(trade::Rule::cost));
  if (weighs_costs || settings::find_for(each.name, settings::backtest)->is(settings::of_limits))
    return optimizer.keeps_limits;
  if (each.name == "memory" || (each.name == "rule" && each.text == name(trade::Rule::band)))
    return optimizer.needs.signal;
  return true;
}

// Whether it means something to a method. What is a matter of learning is for those that learn.
bool applies_to(const MethodGrid& method, const Given& each) {
  if (needs_training(each))
    return learn::framework_named(find_given(method.settings, "framework")->text).learns;
  return hears(solve::optimizer_named(find_given(method.settings, "optimizer")->text), each);
}

std::vector<Given> those_for(const MethodGrid& method, const std::vector<Given>& common) {
  std::vector<Given> out;
  std::ranges::copy_if(common, std::back_inserter(out),
                       [&](const Given& each) { return applies_to(method, each); });
  return out;
}

// What the text of a method leaves out: what is of a cell, of a panel or of the process.
constexpr unsigned kNotInText = settings::of_run | settings::of_answer | settings::of_one_run |
                                settings::of_panel | settings::of_cell;

std::string method_toml(const Values& values) {
  std::string out;
  for (const settings::Setting& setting : settings::table())
    if (setting.taken_by(settings::backtest) && setting.in_file && !setting.is(kNotInText) &&
        values.has(setting.name))
      out += fmt::format("{} = {}\n", setting.name,
                         settings::toml_text(setting, values.value(setting.name)));
  return out;
}

// What a market says whatever the method.
Values market_values(const Grid& grid, const MarketGrid& market) {
  Values values(settings::backtest);
  set_all(grid.common, values);
  set_all(market.settings, values);
  values.set_default("split", backtest::kTrainingSplit);
  return values;
}

// Without k and seed. `market` null: what the method says whatever the market. What is given for
// the whole study and has no meaning for the method is left out where that is a matter of learning:
// retrain where nothing is trained, a soft decision in place of an optimizer that has none; and
// limits, rules and a memory where the optimizer has no ear for them.
Values method_values(const Grid& grid, const MarketGrid* market, const MethodGrid& method) {
  Values values(settings::backtest);
  set_all(with_file_line(method.settings, false), values);
  set_all(those_for(method, grid.common), values);
  if (market != nullptr) set_all(those_for(method, market->settings), values);
  set_all(with_file_line(method.settings, true), values);
  values.set_default("split", backtest::kTrainingSplit);
  if (method.training == "paper") {
    values.set_flag("preset", "paper");
    values.use_paper_preset();
  }
  return values;
}

Method method_of(const Grid& grid, const MethodGrid& method) {
  const Values values = with_method_files(method_values(grid, nullptr, method));
  const learn::FrameworkInfo& framework = learn::framework_named(values.text("framework"));
  Method out;
  out.name = method.name;
  out.label = method.label;
  out.role = method.role;
  out.framework = values.text("framework");
  out.optimizer = values.text("optimizer");
  out.cost_bps = values.number_or_file("cost-bps").number;
  out.settings = method_toml(values);
  if (!framework.learns) return out;
  out.training = method.training.empty() ? "default" : method.training;
  out.alpha = framework.decides ? values.real("alpha") : 0.0;
  out.ensemble = static_cast<Index>(values.integer("ensemble"));
  return out;
}

// Methods beside others that keep limits.
void warn_of_free_methods(const Grid& grid, Plan& plan) {
  std::string free;
  bool limited = false;
  for (std::size_t m = 0; m < grid.methods.size(); ++m) {
    const MethodGrid& method = grid.methods[m];
    limited = limited || layer::gives_limits(plan.values[m]);
    if (!solve::optimizer_named(find_given(method.settings, "optimizer")->text).keeps_limits)
      free += (free.empty() ? "" : ", ") + printable(method.name);
  }
  if (limited && !free.empty())
    plan.warnings.push_back(
        fmt::format("without the limits: {}, whose optimizers keep none", free));
}

// Throws InputError for a setting of the whole study that is left out everywhere.
void check_taken(const Grid& grid) {
  for (const Given& each : grid.common) {
    if (std::ranges::any_of(grid.methods,
                            [&](const MethodGrid& method) { return applies_to(method, each); }))
      continue;
    throw InputError(fmt::format(
        "{} has no meaning for any method of this study; it goes with {}",
        each.file_line.empty() ? reference("--" + each.name)
                               : each.file_line + ": " + reference(each.name),
        needs_training(each)
            ? std::string("frameworks pfl and dfl: leave it out, or name one of them")
            : fmt::format("optimizers {}: leave it out, or name one of them",
                          solve::names_of_optimizers(
                              [&](const solve::OptimizerInfo& row) { return hears(row, each); },
                              " and "))));
  }
}

// Throws InputError for what contradicts itself whatever the panel holds.
void check_values(const Values& values) {
  market::check_panel_settings(values);
  backtest::check_settings(backtest::backtest_settings(values));
  backtest::check_split(values.text("split"));
  if (values.has("stats-from")) backtest::check_stats_from(values.text("stats-from"));
}

std::string simulation_words(const market::SimulationSettings& s) {
  return fmt::format(
      "simulated: {} assets, {} days from {}, predictability {}, {}{} factors, seed {}", s.assets,
      s.days, s.start_date, shortest(s.predictability),
      s.signal_life ? fmt::format("signal life {}, ", shortest(*s.signal_life)) : "", s.factors,
      s.seed);
}

std::string in_market(const MarketGrid& market, const std::string& what) {
  return fmt::format("{}market {}: {}", market.file_line.empty() ? "" : market.file_line + ": ",
                     printable(market.name), what);
}

std::string in_method(const MarketGrid& market, const MethodGrid& method, const std::string& what) {
  return fmt::format("market {}, method {}: {}", printable(market.name), printable(method.name),
                     what);
}

market::PanelInput read_market(const MarketGrid& grid, const Values& values, const Log& log,
                               Market& out) {
  if (grid.simulation) {
    out.source = simulation_words(*grid.simulation);
    market::RawPanel raw;
    raw.panel = market::simulate(*grid.simulation);
    out.checksum = checksum_of_panel(raw.panel, out.source);
    market::cut_panel(values, raw);
    return market::clean_panel_input(values, std::move(raw));
  }
  out.source = values.text(values.has("prices") ? "prices" : "returns");
  market::PanelInput input = market::read_panel_input(values, log);
  out.checksum = checksum_of_file(out.source);
  return input;
}

// The first row that is held or counted, as a backtest has it.
Index first_period(const Values& values, const std::vector<std::string>& dates, Index training) {
  const settings::CountOrAll lookback = values.count_or_all("lookback");
  const Index history = values.has("min-history")
                            ? static_cast<Index>(values.integer("min-history"))
                        : lookback.all ? risk::kWindowRows
                                       : static_cast<Index>(lookback.count);
  const Index traded = std::max(training, history);
  if (!values.has("stats-from")) return traded;
  return std::min(traded, backtest::stats_row(dates, values.text("stats-from")));
}

market::PanelInput add_market(const Grid& grid, const MarketGrid& market, const Log& log,
                              Results& results) {
  Market out;
  out.name = market.name;
  const Values values = market_values(grid, market);
  try {
    market::PanelInput input = read_market(market, values, log, out);
    out.reading = reading_of(values);
    const std::vector<std::string>& dates = input.returns.dates;
    out.training_rows = backtest::split_row(dates, values.text("split"));
    const Index first = first_period(values, dates, out.training_rows);
    if (first >= input.returns.rows())
      throw InputError(
          fmt::format("{} rows of returns leave no period to test on; give more of them, a shorter "
                      "lookback, or an earlier split",
                      input.returns.rows()));
    out.tickers = input.returns.tickers;
    if (values.has("benchmark")) std::erase(out.tickers, values.text("benchmark"));
    out.dates.assign(dates.begin() + first, dates.end());
    out.first_date = dates.front();
    out.periods_per_year = values.real("periods-per-year");
    out.risk_free = values.real("risk-free") / out.periods_per_year;
    out.warnings = input.warnings;
    results.markets.push_back(std::move(out));
    return input;
  } catch (const InputError& error) {
    throw InputError(in_market(market, error.marked()));
  }
}

// Whether every cell of the two would be the same.
bool same_market(const Plan& plan, std::size_t a, std::size_t b) {
  const Market &x = plan.results.markets[a], &y = plan.results.markets[b];
  if (x.checksum != y.checksum || x.reading != y.reading || x.tickers != y.tickers ||
      x.dates != y.dates || x.first_date != y.first_date || x.training_rows != y.training_rows ||
      x.periods_per_year != y.periods_per_year || x.risk_free != y.risk_free)
    return false;
  return std::ranges::equal(plan.returns[a].values, plan.returns[b].values, [](double u, double v) {
    return std::bit_cast<std::uint64_t>(u) == std::bit_cast<std::uint64_t>(v);
  });
}

// The last market read is none of those before it under another name.
void check_new_market(const Grid& grid, const Plan& plan) {
  const std::size_t last = plan.returns.size() - 1;
  for (std::size_t before = 0; before < last; ++before)
    if (same_market(plan, before, last))
      throw InputError(in_market(grid.markets[last],
                                 fmt::format("is the same data, read in the same way, as market "
                                             "{}, and would count twice; leave one of them out",
                                             printable(grid.markets[before].name))));
}

// Numbers of names to hold, one per k of the grid. Those of a preset may come to the same in a
// small market, which is worth a warning.
std::vector<Index> names_held(const Grid& grid, Market& read) {
  const auto n = static_cast<Index>(read.tickers.size());
  std::vector<Index> out;
  for (const std::string& k : grid.ks) {
    const Index names =
        std::get<settings::CountOrShare>(settings::parse(settings::find("k"), k)).of(n, "k");
    const auto same = std::find(out.begin(), out.end(), names);
    if (same != out.end()) {
      const std::string what = fmt::format("k = {} and k = {} are both {} of its {} assets",
                                           grid.ks[at(same - out.begin())], k, names, n);
      if (!grid.ks_given_as.empty())
        throw InputError(fmt::format("{}, and would count twice; leave one of them out of {}", what,
                                     grid.ks_given_as));
      read.warnings.push_back(what + ", and count twice; give -k");
    }
    out.push_back(names);
  }
  return out;
}

void add_cells(const Grid& grid, Index market, Results& results) {
  const MarketGrid& described = grid.markets[at(market)];
  std::vector<Index> names;
  try {
    names = names_held(grid, results.markets[at(market)]);
  } catch (const InputError& error) {
    throw InputError(in_market(described, error.marked()));
  }
  std::size_t per_k = 0;
  for (const Method& method : results.methods)
    per_k += method.training.empty() ? 1 : grid.seeds.size();
  results.cells.reserve(results.cells.size() + grid.ks.size() * per_k);
  for (std::size_t k = 0; k < grid.ks.size(); ++k) {
    Cell cell;
    cell.market = market;
    cell.k_given = grid.ks[k];
    cell.k = names[k];
    for (std::size_t method = 0; method < results.methods.size(); ++method) {
      cell.method = static_cast<Index>(method);
      if (results.methods[method].training.empty()) {
        cell.seed.reset();
        results.cells.push_back(cell);
        continue;
      }
      for (const std::uint64_t seed : grid.seeds) {
        cell.seed = seed;
        results.cells.push_back(cell);
      }
    }
  }
}

// Likely mistakes, each once, with a method's name unless all have it.
std::vector<std::string> mistakes_of(const Grid& grid, const Plan& plan) {
  std::vector<std::pair<std::string, std::vector<std::string_view>>> found;  // and whose
  for (std::size_t at = 0; at < plan.values.size(); ++at) {
    const MarketGrid& market = grid.markets[at / grid.methods.size()];
    const MethodGrid& method = grid.methods[at % grid.methods.size()];
    try {
      for (std::string& mistake : backtest::likely_mistakes(
               plan.values[at], plan.returns[at / grid.methods.size()].dates)) {
        auto same = std::ranges::find(found, mistake, [](const auto& each) { return each.first; });
        if (same == found.end()) same = found.insert(found.end(), {std::move(mistake), {}});
        auto& whose = same->second;
        if (std::ranges::find(whose, method.name) == whose.end()) whose.push_back(method.name);
      }
    } catch (const InputError& error) {  // a row that the panel does not have
      throw InputError(in_method(market, method, error.marked()));
    }
  }
  std::vector<std::string> out;
  for (const auto& [mistake, whose] : found) {
    const std::size_t others = whose.size() - 1;
    out.push_back(whose.size() == grid.methods.size()
                      ? mistake
                      : fmt::format("method {}{}: {}", printable(whose.front()),
                                    others == 0 ? "" : fmt::format(" and {} more", others),
                                    mistake));
  }
  return out;
}

std::vector<std::pair<std::string, std::string>> versions() {
  const BuildInfo info = build_info();
  return {{"sharpen", info.version},
          {"compiler", info.compiler},
          {"build", info.build_type},
          {"blas", info.blas}};
}

// What a backtest would refuse, before any cell is, with files by their names. A method's cost is
// then that of the first market: of a file the mean over assets and dates that are traded, which
// tables show, and which it is ranked by.
void check_backtests(const Grid& grid, Plan& plan) {
  for (std::size_t m = 0; m < grid.markets.size(); ++m)
    for (std::size_t i = 0; i < grid.methods.size(); ++i) {
      const MarketGrid& market = grid.markets[m];
      const MethodGrid& method = grid.methods[i];
      Values values = method_values(grid, &market, method);
      values.set_flag("k", grid.ks.front());
      try {
        const double cost =
            backtest::check_backtest(plan.returns[m], backtest::backtest_settings(values));
        if (m == 0) plan.results.methods[i].cost_bps = cost;
      } catch (const InputError& error) {
        throw InputError(in_method(market, method, error.marked()));
      }
    }
}

}  // namespace

Plan plan_study(const Grid& grid, const Log& log) {
  Plan plan;
  plan.results.name = grid.name;
  plan.results.settings = grid.toml;
  plan.results.versions = versions();
  check_taken(grid);
  for (const MethodGrid& method : grid.methods)
    plan.results.methods.push_back(method_of(grid, method));
  for (const MarketGrid& market : grid.markets)
    for (const MethodGrid& method : grid.methods) {
      const Values given = method_values(grid, &market, method);  // errors tell files by their names
      try {                                                       // before any panel is read
        check_values(given);
        plan.values.push_back(with_method_files(given));
      } catch (const InputError& error) {
        throw InputError(in_method(market, method, error.marked()));
      }
    }
  for (std::size_t market = 0; market < grid.markets.size(); ++market) {
    market::PanelInput input = add_market(grid, grid.markets[market], log, plan.results);
    plan.standstills.push_back(market::standstills(input.halts, input.returns));
    plan.returns.push_back(std::move(input.returns));
    check_new_market(grid, plan);
    try {
      check_files(plan, market);
    } catch (const InputError& error) {
      throw InputError(in_market(grid.markets[market], error.marked()));
    }
    add_cells(grid, static_cast<Index>(market), plan.results);
  }
  check_backtests(grid, plan);
  plan.warnings = mistakes_of(grid, plan);
  warn_of_free_methods(grid, plan);
  if (grid.trades_freely)
    plan.warnings.emplace_back(
        "trading costs nothing in this study, as in the paper; ‹--costs 5› charges for it");
  return plan;
}

Values Plan::values_of(Index cell) const {
  const Cell& planned = results.cells[at(cell)];
  const auto methods = static_cast<Index>(results.methods.size());
  Values out = values[at(planned.market * methods + planned.method)];
  out.set_flag("k", planned.k_given);
  if (planned.seed) out.set_flag("seed", fmt::format("{}", *planned.seed));
  return out;
}

}  // namespace sharpen::study
