// Point-in-time universes, names that cannot be traded, benchmarks of one's own, and the volatility
// that was aimed at.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backtest/benchmark.hpp"
#include "backtest/panels.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/members.hpp"
#include "support/problems.hpp"

namespace sharpen::backtest::testing {
namespace {

using sharpen::testing::kNaN;
using ::testing::AllOf;
using ::testing::HasSubstr;

BacktestSettings member_walk() {
  BacktestSettings s;
  s.k = {.count = 3, .percent = 0.0};
  s.lookback = {.count = 20, .all = false};
  s.bootstrap.replications = 10;
  return s;
}

// Everybody joins on the first day; then each name changes with one chance in `rarity` a day, from
// row `from` on. The lines of other rows depend on `seed` only.
std::string random_members(const market::Panel& panel, unsigned seed, Index from, Index to,
                           unsigned other_seed, unsigned rarity = 12) {
  std::mt19937 random(seed), other(other_seed);
  std::string text = "date,ticker,member\n";
  std::vector<bool> member(static_cast<std::size_t>(panel.n()), true);
  for (const std::string& ticker : panel.tickers)
    text += fmt::format("{},{},in\n", panel.dates[0], ticker);
  for (Index t = from; t < panel.rows(); ++t)
    for (Index j = 0; j < panel.n(); ++j) {
      const bool changes = (t < to ? random : other)() % rarity == 0;
      if (!changes) continue;
      const auto i = static_cast<std::size_t>(j);
      member[i] = !member[i];
      text += fmt::format("{},{},{}\n", panel.dates[static_cast<std::size_t>(t)], panel.tickers[i],
                          member[i] ? "in" : "out");
    }
  return text;
}

void expect_same_until(const backtest::Run& a, const backtest::Run& b, Index last_row) {
  const Index last = last_row - a.first_row;
  ASSERT_GT(last, 0);
  for (Index p = 0; p <= last; ++p) {
    const auto x = a.weights_of(p), y = b.weights_of(p);
    ASSERT_TRUE(std::equal(x.begin(), x.end(), y.begin(), y.end())) << "period " << p;
  }
}

// One decision, on a panel of the names that may be held, in plain words.
std::vector<std::pair<std::string, double>> decided(const market::Panel& panel,
                                                    const std::vector<std::string>& names,
                                                    Index row, BacktestSettings s) {
  market::Panel some = market::select_tickers(panel, names);
  some.dates.resize(static_cast<std::size_t>(row + 2));
  some.values.resize(static_cast<std::size_t>((row + 2) * some.n()));
  s.members.clear();
  s.split = panel.dates[static_cast<std::size_t>(row + 1)];
  s.k.count = std::min<std::int64_t>(s.k.count, some.n());
  const BacktestResult found = backtest(some, s, Threads(1));
  std::vector<std::pair<std::string, double>> out;
  for (const Position& p : found.run.weights_of(0))
    out.emplace_back(names[static_cast<std::size_t>(p.asset)], p.weight);
  return out;
}

TEST(PointInTime, DecisionsAreThoseOfAPanelOfTheMembers) {
  const market::Panel panel = random_panel(90, 9, 3);
  for (const char* optimizer : {"swap", "oscar", "equal", "mssrm-long"}) {
    BacktestSettings s = member_walk();
    s.optimizer = optimizer;
    s.rules.rule = trade::Rule::none;
    s.rules.memory = 1;
    s.account.cost_bps.number = 0.0;
    s.members = random_members(panel, 17, 10, 90, 0);
    const BacktestResult whole = backtest(panel, s, Threads(2));
    const std::vector<char> members =
        market::MemberBook(s.members).states(panel.dates, panel.tickers, {});
    for (Index p = 0; p < whole.run.periods(); p += 5) {
      const Index row = whole.run.first_row + p - 1;
      std::vector<std::string> names;
      for (Index j = 0; j < panel.n(); ++j)
        if (members[static_cast<std::size_t>((row + 1) * panel.n() + j)] != 0)
          names.push_back(panel.tickers[static_cast<std::size_t>(j)]);
      ASSERT_FALSE(names.empty());
      const auto expected = decided(panel, names, row, s);
      const auto held = whole.run.weights_of(p);
      ASSERT_EQ(held.size(), expected.size()) << optimizer << " " << p;
      for (std::size_t i = 0; i < held.size(); ++i) {
        EXPECT_EQ(panel.tickers[static_cast<std::size_t>(held[i].asset)], expected[i].first);
        EXPECT_EQ(held[i].weight, expected[i].second) << optimizer << " " << p;
      }
    }
  }
}

// A decision that is filled two days later may be about a name that has left meanwhile.
TEST(PointInTime, LateTradesHoldMembersOfTheirDay) {
  const market::Panel panel = random_panel(90, 9, 3);
  BacktestSettings s = member_walk();
  s.account.delay = 2;
  s.rules.rule = trade::Rule::none;
  s.members = random_members(panel, 17, 10, 90, 0, 6);
  const std::vector<char> members =
      market::MemberBook(s.members).states(panel.dates, panel.tickers, {});
  const backtest::Run run = backtest(panel, s, Threads(1)).run;
  std::size_t held = 0;
  for (Index p = 0; p < run.periods(); ++p)
    for (const Position& position : run.weights_of(p)) {
      ++held;
      const Index row = run.first_row + p - 1;
      ASSERT_NE(members[static_cast<std::size_t>((row + 1) * panel.n() + position.asset)], 0)
          << "period " << p;
    }
  EXPECT_GT(held, 100u);
}

TEST(PointInTime, AUniverseOfCompleteAssetsSaysWhichMembersItLeavesOut) {
  market::Panel panel = random_panel(60, 5, 3);
  panel.left_out = {"GONE"};
  BacktestSettings s = member_walk();
  s.members = random_members(panel, 1, 60, 60, 0) + panel.dates[0] + ",GONE,in\n";
  const auto says = [&] {
    return plain(::testing::PrintToString(backtest(panel, s, Threads(1)).warnings));
  };
  EXPECT_THAT(says(), HasSubstr("(GONE): --universe complete has no place for members that ended"));
  s.gaps = true;
  EXPECT_THAT(says(), ::testing::Not(HasSubstr("GONE")));
}

// What a file of a benchmark holds is told by all of it.
TEST(BenchmarkNumbers, AreToldByAllOfThem) {
  const market::Panel panel = random_panel(60, 5, 3);
  BacktestSettings s = member_walk();
  const auto file = [&](const auto& value) {
    std::string text = "date,I\n";
    for (Index t = 0; t < panel.rows(); ++t)
      text += fmt::format("{},{}\n", panel.dates[static_cast<std::size_t>(t)], value(t));
    return text;
  };
  const auto wave = [](Index t) { return 0.01 * std::sin(3.0 * static_cast<double>(t)); };
  const auto price = [&](Index t) { return 100.0 * (1.0 + wave(t)); };
  s.benchmark = file([&](Index t) { return t == 40 ? 0.0 : price(t); });
  try {
    backtest(panel, s, Threads(1));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              fmt::format("benchmark:42: 0 on {} is no price, and the others look like prices; "
                          "correct it, or leave the cell empty",
                          panel.dates[40]));
  }
  // Cash earns a little every day, and is no price.
  s.benchmark = file([](Index t) { return 1e-4 * (1.0 + 0.1 * std::cos(static_cast<double>(t))); });
  const BacktestResult cash = backtest(panel, s, Threads(1));
  EXPECT_NEAR(cash.run.benchmark[5], 1e-4, 1.1e-5);
  EXPECT_THAT(cash.warnings, ::testing::Contains(HasSubstr("are taken as returns")));
  s.benchmark = file([&](Index t) { return 1.0 + wave(t); });
  EXPECT_NEAR(backtest(panel, s, Threads(1)).run.benchmark[5],
              wave(backtest(panel, s, Threads(1)).run.first_row + 5), 1e-12)
      << "gross returns";
  s.benchmark = file([&](Index t) { return t < 45 ? price(t) : price(t) / 4; });
  EXPECT_THAT(backtest(panel, s, Threads(1)).warnings,
              ::testing::Contains(AllOf(HasSubstr("benchmark: I is divided by"),
                                        HasSubstr(panel.dates[45] + " (split)"))));
  s.benchmark = file(price);
  EXPECT_THAT(::testing::PrintToString(backtest(panel, s, Threads(1)).warnings),
              ::testing::Not(HasSubstr("benchmark")));
}

TEST(PointInTime, FixedCovariancesAreThoseOfTheMembers) {
  const market::Panel panel = random_panel(80, 7, 9);
  BacktestSettings s = member_walk();
  s.framework = Framework::historic;
  s.historic_risk = HistoricRisk::train;
  s.rules.rule = trade::Rule::none;
  s.rules.memory = 1;
  s.split = "50%";
  s.members = random_members(panel, 4, 40, 80, 0, 6);
  const BacktestResult whole = backtest(panel, s, Threads(1));
  const std::vector<char> members =
      market::MemberBook(s.members).states(panel.dates, panel.tickers, {});
  for (Index p = 0; p < whole.run.periods(); p += 3) {
    const Index row = whole.run.first_row + p - 1;
    std::vector<std::string> names;
    for (Index j = 0; j < panel.n(); ++j)
      if (members[static_cast<std::size_t>((row + 1) * panel.n() + j)] != 0)
        names.push_back(panel.tickers[static_cast<std::size_t>(j)]);
    if (names.empty()) {
      EXPECT_TRUE(whole.run.weights_of(p).empty()) << p;
      continue;
    }
    // The same training part, and the weights of its first day, which never change.
    BacktestSettings own = s;
    own.members.clear();
    own.k.count = std::min<std::int64_t>(3, static_cast<std::int64_t>(names.size()));
    const BacktestResult some = backtest(market::select_tickers(panel, names), own, Threads(1));
    const auto held = whole.run.weights_of(p), expected = some.run.weights_of(0);
    ASSERT_EQ(held.size(), expected.size()) << p;
    for (std::size_t i = 0; i < held.size(); ++i) {
      EXPECT_EQ(panel.tickers[static_cast<std::size_t>(held[i].asset)],
                names[static_cast<std::size_t>(expected[i].asset)]);
      EXPECT_NEAR(held[i].weight, expected[i].weight, 1e-12);
    }
  }
}

TEST(PointInTime, HistoricGoesByTheReturnsThatAnAssetHas) {
  market::Panel panel = random_panel(100, 6, 13);
  for (Index t = 0; t < 25; ++t) at(panel, t, 1) = kNaN;   // starts late
  for (Index t = 0; t < 100; ++t) at(panel, t, 2) = kNaN;  // never there
  for (Index t = 0; t < 45; ++t) at(panel, t, 3) = kNaN;   // too late for a mean
  BacktestSettings s = member_walk();
  s.framework = Framework::historic;
  s.gaps = true;
  s.k.count = 6;
  s.split = "50%";
  const backtest::Run run = backtest(panel, s, Threads(1)).run;
  std::vector<bool> held(6, false);
  for (const Position& p : run.weights) held[static_cast<std::size_t>(p.asset)] = true;
  EXPECT_EQ(held, (std::vector<bool>{true, true, false, false, true, true}));
}

class NoLookAhead : public ::testing::TestWithParam<Framework> {};

TEST_P(NoLookAhead, ThroughMembersAndMasks) {
  market::Panel panel = random_panel(110, 8, 31);
  for (Index t = 0; t < 35; ++t) at(panel, t, 6) = kNaN;
  const market::Panel signal = random_panel(110, 8, 32);
  BacktestSettings s = member_walk();
  s.framework = GetParam();
  s.gaps = true;
  if (s.framework == Framework::historic || learns(s.framework)) s.split = "45%";
  s.training.hidden = {6};
  s.training.lookback = 20;
  s.training.batch = 8;
  s.training.train_block = 18;
  s.training.epochs = 2;
  s.training.ensemble = 2;
  s.training.network = learn::NetworkKind::shared;
  const auto tradable = [&](unsigned seed, Index row, unsigned other_seed) {
    std::mt19937 random(seed), other(other_seed);
    market::Panel mask = panel;
    for (Index t = 0; t < mask.rows(); ++t)
      for (Index j = 0; j < mask.n(); ++j)
        at(mask, t, j) = (t <= row ? random : other)() % 5 == 0 ? 0.0 : 1.0;
    return market::panel_csv(mask);
  };
  for (const Index row : {Index{70}, Index{95}}) {
    const auto run = [&](unsigned other) {
      s.members = random_members(panel, 5, 15, row + 1, other);
      s.account.tradable = tradable(6, row, other);
      return backtest(panel, s, Threads(1), s.framework == Framework::signal ? &signal : nullptr);
    };
    const BacktestResult a = run(100), b = run(200);
    // Weights over row + 1 were decided and traded at the end of `row`.
    expect_same_until(a.run, b.run, row + 1);
    EXPECT_NE(a.run.weights, b.run.weights) << "the change must be felt";
  }
}

INSTANTIATE_TEST_SUITE_P(Frameworks, NoLookAhead,
                         ::testing::Values(Framework::rolling, Framework::historic,
                                           Framework::signal, Framework::pfl, Framework::dfl),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST(Halts, HaveNoTradesIn200RandomMasks) {
  std::size_t trades = 0, halted = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const market::Panel panel = random_panel(46, 6, seed % 7);
    BacktestSettings s = member_walk();
    s.optimizer = seed % 3 == 0 ? "equal" : "swap";
    s.rules.rule = s.optimizer == "equal" ? trade::Rule::none
                   : seed % 3 == 1        ? trade::Rule::cost
                                          : trade::Rule::none;
    s.account.delay = seed % 4 == 3 ? 2 : 0;
    s.rebalance = 1 + seed % 2;
    const unsigned often = 2 + random() % 8;
    std::vector<char> mask(panel.values.size());
    market::Panel file = panel;
    for (Index t = 0; t < panel.rows(); ++t)
      for (Index j = 0; j < panel.n(); ++j) {
        const auto cell = static_cast<std::size_t>(t * panel.n() + j);
        mask[cell] = random() % often == 0;
        // Half of them by the file, half by cleaning.
        const bool by_file = random() % 2 == 0;
        file.values[cell] = mask[cell] != 0 && by_file ? 0.0 : 1.0;
        if (mask[cell] != 0 && !by_file) {
          const std::string& date = panel.dates[static_cast<std::size_t>(t)];
          s.standstills.push_back({panel.tickers[static_cast<std::size_t>(j)], date, date});
        }
      }
    s.account.tradable = market::panel_csv(file);
    const backtest::Run run = backtest(panel, s, Threads(1)).run;
    for (Index p = 0; p < run.periods(); ++p)
      for (const Trade& trade : run.trades_of(p)) {
        const Index row = run.first_row + p - 1;  // traded at its end
        ASSERT_EQ(mask[static_cast<std::size_t>(row * panel.n() + trade.asset)], 0)
            << "seed " << seed << ", period " << p;
      }
    trades += run.trades.size();
    halted += static_cast<std::size_t>(std::count(mask.begin(), mask.end(), 1));
  }
  EXPECT_GT(trades, 5000u);
  EXPECT_GT(halted, 5000u);
}

TEST(Halts, OfOtherNamesAndDatesChangeNothing) {
  const market::Panel panel = random_panel(60, 5, 2);
  BacktestSettings s = member_walk();
  const BacktestResult plain = backtest(panel, s, Threads(1));
  s.standstills = {{"GONE", panel.dates[0], panel.dates[59]}, {"A1", "2019-01-01", "2019-12-31"}};
  EXPECT_EQ(backtest(panel, s, Threads(1)).run.returns, plain.run.returns);
}

class BenchmarkFile : public ::testing::Test {
 protected:
  // Six days; the panel's returns begin with the second.
  market::Panel returns_ = {
      {"2020-01-03", "2020-01-06", "2020-01-08"}, {"A", "B"}, std::vector<double>(6)};

  std::vector<double> read(const std::string& text) {
    market::Panel panel = returns_;
    const Benchmark found = take_benchmark(text, panel);
    EXPECT_EQ(panel, returns_) << "nothing leaves the universe";
    return found.returns;
  }
  std::string message(const std::string& text) {
    try {
      read(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(BenchmarkFile, IsCompoundedOverTheDatesOfThePanel) {
  const std::vector<double> prices = read(
      "date,INDEX\n2020-01-02,100\n2020-01-03,110\n2020-01-06,99\n2020-01-07,198\n2020-01-08,99\n");
  ASSERT_EQ(prices.size(), 3u);
  EXPECT_NEAR(prices[0], 0.1, 1e-15);
  EXPECT_NEAR(prices[1], -0.1, 1e-15);
  EXPECT_NEAR(prices[2], 0.0, 1e-15);
  const std::vector<double> returns =
      read("date,return\n2020-01-03,0.1\n2020-01-06,-0.1\n2020-01-07,1\n2020-01-08,-0.5\n");
  for (std::size_t t = 0; t < 3; ++t) EXPECT_NEAR(returns[t], prices[t], 1e-15);
}

TEST_F(BenchmarkFile, HasNoReturnWhereItHasNoRow) {
  const std::vector<double> found =
      read("date,INDEX\n2020-01-02,100\n2020-01-03,110\n2020-01-08,121\n");
  EXPECT_TRUE(std::isnan(found[1]));
  Benchmark benchmark{"INDEX", found};
  backtest::Run run;
  run.first_row = 1;
  run.dates = {"2020-01-06", "2020-01-08"};
  try {
    benchmark.over(run);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("benchmark = INDEX has no return on 2020-01-06"));
  }
}

TEST_F(BenchmarkFile, IsOneColumn) {
  EXPECT_THAT(message("date,X,Y\n2020-01-02,1,2\n"), HasSubstr("there are 2 (X, Y); keep one"));
  EXPECT_THAT(message("date,X\n2020-01-02,1\n2020-01-03,-2\n"),
              HasSubstr("-2 is neither a price nor a return"));
  EXPECT_THAT(message("no-such-file.csv"),
              HasSubstr("the panel has no such ticker, and no such file is there"));
}

TEST(VolatilityAim, SaysWhatWasAimedAtAndWhatCameOut) {
  const market::Panel panel = random_panel(120, 6, 5);
  BacktestSettings s = member_walk();
  s.rules.rule = trade::Rule::none;
  s.sizing =
      layer::per_period({.kind = layer::Sizing::volatility, .target_volatility = 0.12}, 252.0);
  const BacktestResult result = backtest(panel, s, Threads(1));
  ASSERT_TRUE(result.aim.has_value());
  EXPECT_NEAR(result.aim->target, 0.12, 1e-12);
  EXPECT_EQ(result.aim->realised, result.metrics.volatility_annualized);
  s.sizing.kind = layer::Sizing::gross;
  EXPECT_FALSE(backtest(panel, s, Threads(1)).aim.has_value());
  s.sizing.kind = layer::Sizing::volatility;
  s.optimizer = "equal";
  EXPECT_FALSE(backtest(panel, s, Threads(1)).aim.has_value()) << "it sizes nothing";
}

std::string warning_about(const BacktestResult& result) {
  for (const std::string& warning : result.warnings)
    if (warning.find("aimed at") != std::string::npos) return warning;
  return "";
}

TEST(VolatilityAim, WarnsBeyondAFactorAndSaysWhy) {
  BacktestSettings s = member_walk();
  s.rules.rule = trade::Rule::none;
  s.sizing =
      layer::per_period({.kind = layer::Sizing::volatility, .target_volatility = 0.10}, 252.0);
  s.account.cost_bps.number = 0.0;
  s.lookback.count = 60;
  const auto scaled = [](double growth) {
    market::Panel panel = random_panel(240, 6, 8);
    for (Index t = 0; t < 240; ++t)
      for (Index j = 0; j < 6; ++j)
        at(panel, t, j) *= 0.1 * std::exp(growth * static_cast<double>(growth > 0 ? t - 240 : t));
    return panel;
  };
  // Markets that become wilder with every window.
  const BacktestResult above = backtest(scaled(0.03), s, Threads(1));
  ASSERT_TRUE(above.aim.has_value());
  EXPECT_GT(above.aim->ratio(), 1.5);
  EXPECT_THAT(warning_about(above), HasSubstr("times as much"));
  EXPECT_THAT(warning_about(above), ::testing::Not(HasSubstr("shrinkage")));
  // Names that move together, by a covariance that does not know it.
  market::Panel alike = random_panel(240, 6, 8);
  for (Index t = 0; t < 240; ++t)
    for (Index j = 5; j >= 0; --j)
      at(alike, t, j) =
          0.002 + 0.01 * std::sin(7.0 * static_cast<double>(t * t % 97)) + 0.1 * at(alike, t, j);
  BacktestSettings shrunk = s;
  shrunk.shrinkage = 0.9;
  shrunk.k.count = 6;
  EXPECT_THAT(warning_about(backtest(alike, shrunk, Threads(1))),
              HasSubstr("shrinkage› = 0.9 takes most of what names have in common out"));
  // One day of dirt.
  market::Panel dirty = random_panel(150, 6, 8);
  double square = 0.0;
  for (const double r : dirty.values) square += r * r / static_cast<double>(dirty.values.size());
  for (Index j = 0; j < 6; ++j)
    at(dirty, 100, j) = (j % 2 == 0 ? 25.0 : -25.0) * std::min(0.02, std::sqrt(square));
  const BacktestResult print = backtest(dirty, s, Threads(1));
  EXPECT_THAT(warning_about(print), HasSubstr(dirty.dates[100]));
  EXPECT_THAT(warning_about(print), HasSubstr("sharpen doctor"));
  // Markets that calm down.
  const BacktestResult below = backtest(scaled(-0.03), s, Threads(1));
  ASSERT_TRUE(below.aim.has_value());
  EXPECT_LT(below.aim->ratio(), 1.0 / 1.5);
  EXPECT_THAT(warning_about(below), HasSubstr("of it: the risk was higher in the windows"));
  EXPECT_EQ(warning_about(backtest(random_panel(240, 6, 8), s, Threads(1))), "");
}

}  // namespace
}  // namespace sharpen::backtest::testing
