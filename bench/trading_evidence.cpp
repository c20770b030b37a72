// What is left after costs: the evidence behind the rule, the memory and the training that are the
// defaults (docs/learning.md, docs/results.md). Every cell is one backtest with its training, its
// result one line of a file, so that a run that was stopped goes on where it was:
//   trading_evidence FILE [DATA]          runs what is missing, then prints the tables
//   trading_evidence FILE [DATA] --print  prints the tables of what is there
// DATA is the folder of the real markets; without it they are left out.
//
// A simulated market has 50 assets and 4,600 days, of which the first half trains. Choices were
// made on seeds 101 to 108 and shown on 301 to 308, which had no part in them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence.hpp"
#include "measure.hpp"
#include "sharpen/command/backtest.hpp"
#include "sharpen/market/simulate.hpp"

namespace {

using namespace sharpen;
using bench::Moments;
using bench::moments;

using Flags = std::vector<std::pair<std::string, std::string>>;

struct Method {
  std::string name;
  Flags flags;
  bool learns = true;  // seeds matter
};

struct Market {
  std::string name;
  std::uint64_t seed = 0;        // of a simulated one
  double predictability = 0.15;  // likewise
  Index days = 4600;             // likewise
  std::string file;              // of a real one
  Flags flags;
};

// What a cell comes to.
struct Figures {
  double net = 0.0, gross = 0.0, delayed = 0.0;  // Sharpe ratios, annualised
  double turnover = 0.0, break_even = 0.0;
  double equal = 0.0;         // of equal weights, after the same costs
  std::vector<double> curve;  // at 0, 5, .., 50 bp, trades as they are

  static constexpr std::size_t kFixed = 6;
  std::vector<double> numbers() const {
    std::vector<double> out = {net, gross, delayed, turnover, break_even, equal};
    out.insert(out.end(), curve.begin(), curve.end());
    return out;
  }
  static Figures of(const std::vector<double>& x) {
    return {x[0], x[1], x[2], x[3], x[4], x[5], {x.begin() + kFixed, x.end()}};
  }
};

// The defaults of the version without costs.
const Flags kBefore = {{"rule", "none"},
                       {"memory", "1"},
                       {"alpha", "0.5"},
                       {"mixing", "literal"},
                       {"prediction-loss", "squared"},
                       {"inputs", "returns"},
                       {"horizon", "1"},
                       {"train-block", "0"},
                       {"train-cost-bps", "0"},
                       {"epochs", "30"},
                       {"validation", "0.2"}};

Flags with(Flags flags, const Flags& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// Ours, and what it is held against, under the rule of the defaults.
const std::vector<Method> kOurs = {
    {.name = "dfl", .flags = {{"framework", "dfl"}}},
    {.name = "pfl", .flags = {{"framework", "pfl"}}},
    {.name = "dfl-before", .flags = with({{"framework", "dfl"}}, kBefore)},
    {.name = "historic", .flags = {{"framework", "historic"}}, .learns = false},
    {.name = "rolling", .flags = {{"framework", "rolling"}}, .learns = false},
};

// The defaults with one of them changed.
std::vector<Method> searched() {
  std::vector<Method> out = {kOurs[0], kOurs[1]};
  const auto but = [&](std::string_view setting, std::string_view value, Flags more = {}) {
    const Flags changed = {{"framework", "dfl"}, {std::string(setting), std::string(value)}};
    out.push_back({fmt::format("dfl, {} {}", setting, value), with(changed, more)});
  };
  but("rule", "none");
  but("rule", "band");
  but("memory", "1");
  but("memory", "10");
  but("holding-horizon", "20");
  but("holding-horizon", "40");
  but("horizon", "1");
  but("horizon", "5");
  but("horizon", "20");
  but("train-cost-bps", "0");
  but("alpha", "0.5");
  but("mixing", "literal");
  but("prediction-loss", "squared");
  but("inputs", "returns");
  but("validation", "0.2", {{"epochs", "30"}});
  but("epochs", "12");
  but("reoptimization", "restricted");
  return out;
}

// The paper's methods, with their own rule.
std::vector<Method> published() {
  std::vector<Method> out;
  for (const std::string framework : {"historic", "pfl"})
    for (const std::string optimizer : {"oscar", "mssrm"}) {
      const bool learns = framework == "pfl";
      Flags flags = {{"framework", framework},
                     {"optimizer", optimizer},
                     {"held-sizing", "volatility"},
                     {"cost-bps", "0"}};
      flags.push_back(learns ? std::pair("preset", "paper") : std::pair("split", "80%"));
      out.push_back({framework + "-" + optimizer, flags, learns});
    }
  out.push_back({"dfl-oscar",
                 {{"framework", "dfl"},
                  {"optimizer", "oscar"},
                  {"preset", "paper"},
                  {"held-sizing", "volatility"},
                  {"cost-bps", "0"}},
                 true});
  out.push_back(
      {"mssrm-long", {{"optimizer", "mssrm-long"}, {"cost-bps", "0"}, {"split", "80%"}}, false});
  return out;
}

std::vector<Market> simulated(std::uint64_t first, int count, double predictability, Index days) {
  std::vector<Market> out;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    out.push_back({.name = std::to_string(seed),
                   .seed = seed,
                   .predictability = predictability,
                   .days = days,
                   .flags = {{"split", "50%"}}});
  }
  return out;
}

std::vector<Market> real(const std::filesystem::path& data) {
  const auto market = [&](std::string name, std::string_view file, Flags flags) {
    return Market{
        .name = std::move(name), .file = (data / file).string(), .flags = std::move(flags)};
  };
  return {
      market("nikkei225", "nikkei225_2014_2025.csv", {{"on-suspect", "adjust"}}),
      market("ftse100", "ftse100_2000_2023.csv", {{"from", "2010"}, {"on-suspect", "report"}}),
      market("us_liquid", "us_liquid_2016_2025.csv", {{"on-suspect", "drop-asset"}}),
      market("sp500_20", "sp500_20_1990_2022.csv", {{"from", "2000"}, {"on-suspect", "report"}})};
}

using Results = bench::Cells;

std::string key_of(std::string_view table, const Market& market, const Method& method,
                   std::uint64_t seed) {
  return fmt::format("{} {} {} {}", table, market.name, method.name, method.learns ? seed : 0);
}

market::MemoryPanel panel_of(const Market& market) {
  market::SimulationSettings settings;
  settings.assets = 50;
  settings.days = market.days;
  settings.seed = market.seed;
  settings.predictability = market.predictability;
  return {.raw = {.kind = market::PanelKind::prices, .panel = market::simulate(settings)}};
}

Figures run_cell(const Market& market, const Method& method, const Flags& common,
                 std::uint64_t seed) {
  settings::Values values(settings::backtest);
  for (const Flags& flags :
       {Flags{{"replications", "1"}, {"k", "15%"}}, market.flags, common, method.flags})
    for (const auto& [name, text] : flags) values.set_flag(name, text);
  values.set_flag("seed", std::to_string(seed));
  if (values.text("preset") == "paper") values.use_paper_preset();
  command::BacktestInputs inputs;
  if (market.file.empty())
    inputs.panel = panel_of(market);
  else
    values.set_flag("prices", market.file);
  const command::BacktestAnswer answer =
      command::backtest_answer(values, std::move(inputs), Log(), Control());
  const backtest::Metrics& m = answer.result.metrics;
  Figures out{.net = m.sharpe_annualized,
              .gross = m.sharpe_gross_annualized,
              .delayed = m.sharpe_delayed_annualized,
              .turnover = m.turnover_annualized,
              .break_even = m.break_even_bps,
              .equal = m.equal_sharpe_annualized};
  for (const backtest::CostPoint& point : answer.result.after_costs.cost_curve)
    out.curve.push_back(point.sharpe * std::sqrt(m.periods_per_year));
  return out;
}

void run_table(Results& results, std::string_view table, const std::vector<Market>& markets,
               const std::vector<Method>& methods, const Flags& common, int seeds) {
  for (const Market& market : markets)
    for (const Method& method : methods)
      for (int seed = 1; seed <= (method.learns ? seeds : 1); ++seed) {
        const auto number = static_cast<std::uint64_t>(seed);
        const std::string key = key_of(table, market, method, number);
        if (results.find(key) != nullptr) continue;
        results.add(key, run_cell(market, method, common, number).numbers());
        std::cerr << key << '\n';
      }
}

using Figure = double (*)(const Figures&);

// One number per market: the mean over the seeds. Empty unless every cell is there.
std::vector<double> by_market(const Results& results, std::string_view table,
                              const std::vector<Market>& markets, const Method& method, int seeds,
                              Figure figure) {
  std::vector<double> out;
  for (const Market& market : markets) {
    std::vector<double> cells;
    for (int seed = 1; seed <= (method.learns ? seeds : 1); ++seed) {
      const std::vector<double>* found =
          results.find(key_of(table, market, method, static_cast<std::uint64_t>(seed)));
      if (found == nullptr) return {};
      cells.push_back(figure(Figures::of(*found)));
    }
    out.push_back(moments(cells).mean);
  }
  return out;
}

double net_of(const Figures& f) { return f.net; }
double gross_of(const Figures& f) { return f.gross; }
double delayed_of(const Figures& f) { return f.delayed; }
double turnover_of(const Figures& f) { return f.turnover; }
double break_even_of(const Figures& f) { return f.break_even; }
double equal_of(const Figures& f) { return f.equal; }

std::string listed(const std::vector<double>& x) {
  std::string out;
  for (const double v : x) out += fmt::format("{}{:.2f}", out.empty() ? "" : " / ", v);
  return out;
}

// What is known of a table, to be asked again and again.
struct View {
  const Results& results;
  std::string_view table;
  std::vector<Market> markets;
  int seeds;

  std::vector<double> operator()(const Method& method, Figure figure) const {
    return by_market(results, table, markets, method, seeds, figure);
  }
};

void print_table(const View& view, const std::vector<Method>& methods) {
  fmt::print(
      "| method | after costs | before costs | a period later | turnover a year | break-even, bp | "
      "after costs, by market |\n|---|--:|--:|--:|--:|--:|---|\n");
  for (const Method& method : methods) {
    const std::vector<double> net = view(method, net_of);
    if (net.empty()) continue;
    fmt::print("| {} | {:.2f} ± {:.2f} | {:.2f} | {:.2f} | {:.1f} | {:.1f} | {} |\n", method.name,
               moments(net).mean, moments(net).standard_error(),
               moments(view(method, gross_of)).mean, moments(view(method, delayed_of)).mean,
               moments(view(method, turnover_of)).mean, moments(view(method, break_even_of)).mean,
               listed(net));
  }
  const std::vector<double> equal = view(methods.front(), equal_of);
  if (!equal.empty())
    fmt::print("| equal weights | {:.2f} ± {:.2f} | | | | | {} |\n", moments(equal).mean,
               moments(equal).standard_error(), listed(equal));
}

// By a t of so many markets less one.
double quantile(std::size_t markets) {
  constexpr double kQuantiles[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365};
  return markets >= 2 && markets - 2 < std::size(kQuantiles) ? kQuantiles[markets - 2] : 2.093;
}

void print_difference(const View& view, const Method& a, const Method& b) {
  const std::vector<double> x = view(a, net_of), y = view(b, net_of);
  if (x.empty() || y.empty()) return;
  std::vector<double> d;
  for (std::size_t i = 0; i < x.size(); ++i) d.push_back(x[i] - y[i]);
  const Moments s = moments(d);
  const double half = quantile(d.size()) * s.standard_error();
  fmt::print("\n{} − {}: {:+.2f}, 95 % from {:+.2f} to {:+.2f}, above in {} of {} markets\n",
             a.name, b.name, s.mean, s.mean - half, s.mean + half,
             std::ranges::count_if(d, [](double v) { return v > 0.0; }), d.size());
}

double markets_above(const View& view, const Method& a, const Method& b) {
  const std::vector<double> x = view(a, net_of), y = view(b, net_of);
  double count = 0.0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) count += x[i] > y[i] ? 1.0 : 0.0;
  return count;
}

void require_simulated(const View& view) {
  const Method& ours = kOurs.front();
  if (view(ours, net_of).empty()) return;
  bench::at_least("evidence_simulated_net_sharpe", moments(view(ours, net_of)).mean, 1.0);
  for (const Method& other : kOurs)
    if (other.name != ours.name && other.name != "pfl")
      bench::at_least("evidence_simulated_markets_above_" + other.name,
                      markets_above(view, ours, other), 7);
  bench::at_least("evidence_simulated_break_even_bps", moments(view(ours, break_even_of)).mean, 15);
  bench::at_most("evidence_simulated_turnover", moments(view(ours, turnover_of)).mean, 40);
}

void require_null(const View& view) {
  for (const Method& method : {kOurs[0], kOurs[1]}) {
    const std::vector<double> net = view(method, net_of), gross = view(method, gross_of);
    if (net.empty()) continue;
    bench::at_most("evidence_null_net_t_" + method.name,
                   moments(net).mean / moments(net).standard_error(), 1.96);
    bench::at_most("evidence_null_gross_t_" + method.name,
                   moments(gross).mean / moments(gross).standard_error(), 1.96);
  }
}

void require_real(const View& view) {
  const std::vector<double> turnover = view(kOurs.front(), turnover_of);
  if (turnover.empty()) return;
  const std::vector<double> break_even = view(kOurs.front(), break_even_of);
  bench::at_most("evidence_real_largest_turnover", std::ranges::max(turnover), 50);
  bench::at_least(
      "evidence_real_markets_that_bear_10_bps",
      static_cast<double>(std::ranges::count_if(break_even, [](double v) { return v >= 10.0; })),
      3);
}

// Of the paper's methods, whose trades do not depend on costs.
void print_published(const View& view, const std::vector<Method>& methods) {
  fmt::print(
      "| market | method | turnover a year | 0 bp | 5 bp | 10 bp | 20 bp |\n"
      "|---|---|--:|--:|--:|--:|--:|\n");
  for (const Market& market : view.markets)
    for (const Method& method : methods) {
      const View one{view.results, view.table, {market}, view.seeds};
      const std::vector<double> turnover = one(method, turnover_of);
      if (turnover.empty()) continue;
      const auto at_bps = [&](Figure figure) { return one(method, figure).front(); };
      fmt::print("| {} | {} | {:.0f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", market.name,
                 method.name, turnover.front(), at_bps([](const Figures& f) { return f.curve[0]; }),
                 at_bps([](const Figures& f) { return f.curve[1]; }),
                 at_bps([](const Figures& f) { return f.curve[2]; }),
                 at_bps([](const Figures& f) { return f.curve[4]; }));
    }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    std::cerr << "usage: trading_evidence FILE [DATA] [--print]\n";
    return 2;
  }
  const bool prints = arguments.back() == "--print";
  Results results(arguments.front(), Figures::kFixed + backtest::kCostLevels.size());
  const std::filesystem::path data = arguments.size() > (prints ? 2u : 1u) ? arguments[1] : "";
  const std::vector<Market> markets = data.empty() ? std::vector<Market>() : real(data);
  const std::vector<Market> chosen_on = simulated(101, 8, 0.15, 4600);
  const std::vector<Market> shown = simulated(301, 8, 0.15, 4600),
                            null = simulated(1001, 20, 0.0, 2500);
  constexpr int kSeeds = 3;
  const Flags five = {{"cost-bps", "5"}}, ten = {{"cost-bps", "10"}};
  if (!prints) {
    run_table(results, "simulated", shown, kOurs, ten, kSeeds);
    run_table(results, "null", null, {kOurs[0], kOurs[1]}, ten, 1);
    run_table(results, "search", chosen_on, searched(), ten, 1);
    run_table(results, "real-10", markets, kOurs, ten, kSeeds);
    run_table(results, "real-5", markets, kOurs, five, kSeeds);
    run_table(results, "published", markets, published(), {}, kSeeds);
  }
  fmt::print("Simulated markets 101 to 108, 10 bp, one training seed: what was chosen on\n\n");
  print_table({results, "search", chosen_on, 1}, searched());
  const auto table = [&](std::string_view title, const View& view) {
    fmt::print("\n{}\n\n", title);
    print_table(view, kOurs);
    print_difference(view, kOurs[0], kOurs[1]);
  };
  const View on_simulated{results, "simulated", shown, kSeeds}, on_null{results, "null", null, 1};
  table("Simulated markets 301 to 308, 10 bp", on_simulated);
  table("Null markets, 10 bp", on_null);
  const View at_ten{results, "real-10", markets, kSeeds};
  if (!markets.empty()) {
    table("Real markets, 10 bp", at_ten);
    table("Real markets, 5 bp", {results, "real-5", markets, kSeeds});
    fmt::print("\nThe paper's methods with their own rule, costs applied to their trades\n\n");
    print_published({results, "published", markets, kSeeds}, published());
  }
  require_simulated(on_simulated);
  require_null(on_null);
  require_real(at_ten);
  return 0;
}
