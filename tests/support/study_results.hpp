// Results of a study made by hand: nothing needs to be trained to test what is done with them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "sharpen/backtest/metrics.hpp"
#include "sharpen/base/random.hpp"
#include "sharpen/report/summary.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::testing {

struct StudyPlan {
  std::vector<std::string> markets = {"alpha land", "beta land"};
  std::vector<std::string> ks = {"10%", "15%", "20%"};
  Index assets = 20, days = 120, seeds = 3;
  bool own = true, sweep = false;
  std::uint64_t seed = 1;
};

// 2021-01-01, ..., every day, as text.
inline std::string day_text(Index day) {
  Index year = 2021, month = 1;
  const auto length = [&] {
    constexpr Index kLengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0;
    return month == 2 && leap ? Index{29} : kLengths[month - 1];
  };
  while (day >= length()) {
    day -= length();
    if (++month > 12) {
      month = 1;
      ++year;
    }
  }
  const auto two = [](Index x) { return (x < 10 ? "0" : "") + std::to_string(x); };
  return std::to_string(year) + "-" + two(month) + "-" + two(day + 1);
}

inline study::Method made_method(std::string name, std::string label, study::Role role,
                                 std::string framework, std::string optimizer, double alpha = 0.0) {
  study::Method method;
  method.name = std::move(name);
  method.label = std::move(label);
  method.role = role;
  method.framework = std::move(framework);
  method.optimizer = std::move(optimizer);
  method.alpha = alpha;
  method.cost_bps = 5.0;
  method.settings =
      "optimizer = \"" + method.optimizer + "\"\nframework = \"" + method.framework + "\"\n";
  return method;
}

inline double normal(Random& random) {
  return std::sqrt(-2.0 * std::log(1.0 - random.uniform())) *
         std::cos(6.283185307179586 * random.uniform());
}

// A run that follows the market's days with a drift of its own, and holds k names that change.
inline backtest::Run made_run(const study::Market& market, const std::vector<double>& market_days,
                              Index k, double drift, Random& random) {
  backtest::Run run;
  const Index n = static_cast<Index>(market.tickers.size());
  run.dates = market.dates;
  run.risk_free = market.risk_free;
  run.weights_begin.push_back(0);
  Index offset = 0;
  for (std::size_t t = 0; t < market.dates.size(); ++t) {
    const double cost = 0.0002;
    const double gross = drift + 0.5 * market_days[t] + 0.006 * normal(random);
    run.gross_returns.push_back(gross);
    run.costs.push_back(cost);
    run.trading_costs.push_back(cost);
    run.short_fees.push_back(0.0);
    run.financing.push_back(0.0);
    run.returns.push_back(gross - cost);
    run.turnover.push_back(0.4);
    if (t % 20 == 0) offset = static_cast<Index>(random.uniform() * static_cast<double>(n - k + 1));
    double net = 0.0, sum = 0.0, squares = 0.0, largest = 0.0;
    for (Index j = 0; j < k; ++j) {
      const double w =
          (j % 3 == 2 ? -1.0 : 1.0) * (0.5 + random.uniform()) / static_cast<double>(k);
      run.weights.push_back({offset + j, w});
      net += w;
      sum += std::abs(w);
      squares += w * w;
      largest = std::max(largest, std::abs(w));
    }
    run.weights_begin.push_back(static_cast<Index>(run.weights.size()));
    run.net.push_back(net);
    run.gross.push_back(sum);
    run.holdings.push_back(static_cast<double>(k));
    run.effective_names.push_back(sum * sum / squares);
    run.largest.push_back(largest);
    run.status.push_back(backtest::PeriodStatus::ok);
  }
  run.n_decisions = static_cast<Index>(run.dates.size());
  return run;
}

inline void finish(study::Cell& cell, const study::Market& market, backtest::Run run) {
  cell.state = study::CellState::done;
  cell.seconds = 1.5;
  cell.run = std::move(run);
  cell.metrics = backtest::metrics(cell.track(market.periods_per_year));
}

// The paper's seven methods, ours and a sweep over alpha, over markets, ks and seeds; every cell
// done.
inline study::Results made_results(const StudyPlan& plan = {}) {
  using study::Role;
  study::Results out;
  out.name = "made by hand";
  out.settings = "preset = \"demo\"\nseeds = 3\n";
  out.versions = {{"sharpen", "0.1.0"}, {"compiler", "GNU 12"}};
  for (const char* optimizer : {"oscar", "sdr", "mssrm"}) {
    std::string word = optimizer == std::string("mssrm") ? "mSSRM"
                       : optimizer == std::string("sdr") ? "SDR"
                                                         : "OSCAR";
    out.methods.push_back(made_method(std::string("historic-") + optimizer, "Historic " + word,
                                      Role::paper, "historic", optimizer));
  }
  for (const char* optimizer : {"oscar", "sdr", "mssrm"}) {
    std::string word = optimizer == std::string("mssrm") ? "mSSRM"
                       : optimizer == std::string("sdr") ? "SDR"
                                                         : "OSCAR";
    out.methods.push_back(
        made_method(std::string("pfl-") + optimizer, "PFL " + word, Role::paper, "pfl", optimizer));
  }
  out.methods.push_back(made_method("dfl", "DFL", Role::paper, "dfl", "oscar", 0.5));
  if (plan.own) {
    out.methods.push_back(made_method("equal", "1/n", Role::own, "rolling", "equal"));
    out.methods.push_back(made_method("dfl-swap", "DFL swap", Role::own, "dfl", "swap", 1.0));
  }
  if (plan.sweep)
    for (const double alpha : {0.0, 0.5, 1.0})
      out.methods.push_back(made_method("dfl-alpha-" + std::to_string(alpha),
                                        "DFL α " + std::to_string(alpha), Role::sweep, "dfl",
                                        "oscar", alpha));
  Random random(plan.seed, 0);
  for (const std::string& name : plan.markets) {
    study::Market market;
    market.name = name;
    market.source = name + ".csv";
    market.checksum = "crc32 0badcafe, 1234 bytes";
    for (Index i = 0; i < plan.assets; ++i) market.tickers.push_back("T" + std::to_string(100 + i));
    for (Index d = 0; d < plan.days; ++d) market.dates.push_back(day_text(d));
    market.first_date = "2015-01-01";
    market.training_rows = 1000;
    std::vector<double> days;
    for (Index d = 0; d < plan.days; ++d) days.push_back(0.01 * normal(random));
    const Index index = static_cast<Index>(out.markets.size());
    for (std::size_t g = 0; g < plan.ks.size(); ++g)
      for (std::size_t m = 0; m < out.methods.size(); ++m) {
        const bool random_method =
            out.methods[m].framework == "pfl" || out.methods[m].framework == "dfl";
        for (Index s = 0; s < (random_method ? plan.seeds : 1); ++s) {
          study::Cell cell;
          cell.market = index;
          cell.method = static_cast<Index>(m);
          cell.k_given = plan.ks[g];
          cell.k = 2 + static_cast<Index>(g);
          if (random_method) {
            cell.seed = static_cast<std::uint64_t>(s);
            cell.regret = backtest::Regret{0.01 + 0.001 * static_cast<double>(s), 0.02};
          }
          for (const double day : days) {
            cell.delayed_returns.push_back(0.3 * day - 0.0001);
            cell.equal_returns.push_back(0.8 * day + 0.0002);
          }
          finish(cell, market,
                 made_run(market, days, cell.k, 0.0002 * static_cast<double>(m), random));
          out.cells.push_back(std::move(cell));
        }
      }
    out.markets.push_back(std::move(market));
  }
  return out;
}

inline report::Summary summary_of(const study::Results& results) {
  return report::summarize(results, {.replications = 100}, Threads(1));
}

}  // namespace sharpen::testing
