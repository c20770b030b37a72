#include "sharpen/market/simulate.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {
namespace {

using ::testing::StartsWith;

std::uint64_t digest(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return value;
}

double mean(ConstVec x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

double covariance(ConstVec x, ConstVec y) {
  const double mx = mean(x), my = mean(y);
  double sum = 0;
  for (std::size_t t = 0; t < x.size(); ++t) sum += (x[t] - mx) * (y[t] - my);
  return sum / static_cast<double>(x.size() - 1);
}

double correlation(ConstVec x, ConstVec y) {
  return covariance(x, y) / std::sqrt(covariance(x, x) * covariance(y, y));
}

double annual_sharpe(ConstVec x) {
  return mean(x) / std::sqrt(covariance(x, x)) * std::sqrt(252.0);
}

std::vector<double> column(ConstMat m, Index j) {
  std::vector<double> out;
  for (Index t = 0; t < m.rows; ++t) out.push_back(m(t, j));
  return out;
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

// The default market, made once.
struct Market {
  SimulatedMarket simulated = simulate_market({.seed = 1});
  Panel returns = simple_returns(simulated.prices);
  ConstMat r = returns.matrix();
  ConstMat m = simulated.expected_matrix();
};

const Market& market() {
  static const Market made;
  return made;
}

// These bytes are a promise to every machine.
TEST(Simulate, HasTheSameBytesOnEveryMachine) {
  const std::string csv = panel_csv(simulate({.assets = 5, .days = 40, .seed = 1}));
  EXPECT_THAT(csv, StartsWith("date,S001,S002,S003,S004,S005\n2015-01-01,"));
  EXPECT_EQ(digest(csv), 0x75ecce0a5768e8d0u) << csv.substr(0, 200);
  EXPECT_EQ(digest(panel_csv(simulate({.assets = 30, .days = 600, .seed = 2026, .factors = 7}))),
            0x53ddf71f418f904cu);
}

TEST(Simulate, ASignalLifeHasTheSameBytesOnEveryMachine) {
  EXPECT_EQ(digest(panel_csv(simulate({.assets = 5, .days = 40, .seed = 1, .signal_life = 10.0}))),
            0x38711e639957f05u);
}

TEST(Simulate, StopsWhenItIsTold) {
  EXPECT_THROW(simulate({.assets = 2, .days = 3}, [] { return true; }), Interrupted);
}

TEST(Simulate, IsTheDefaultMarketOfTheProduct) {
  const Market& it = market();
  EXPECT_EQ(it.simulated.prices.n(), 50);
  EXPECT_EQ(it.simulated.prices.rows(), 2500);
  EXPECT_EQ(it.m.rows, it.r.rows);
  EXPECT_EQ(it.m.cols, it.r.cols);
}

TEST(Simulate, DependsOnTheSeedAndMoreDaysOnlyAddRows) {
  const SimulatedMarket small = simulate_market({.assets = 6, .days = 60, .seed = 4});
  const SimulatedMarket longer = simulate_market({.assets = 6, .days = 90, .seed = 4});
  EXPECT_TRUE(std::equal(small.prices.values.begin(), small.prices.values.end(),
                         longer.prices.values.begin()));
  EXPECT_TRUE(std::equal(small.expected_returns.begin(), small.expected_returns.end(),
                         longer.expected_returns.begin()));
  EXPECT_NE(simulate({.assets = 6, .days = 60, .seed = 5}).values, small.prices.values);
}

TEST(Simulate, FileReadsBackToTheSamePanel) {
  const Panel prices = simulate({.assets = 40, .days = 300, .seed = 3});
  EXPECT_EQ(parse_panel(panel_csv(prices), "simulated", PanelKind::prices), prices);
}

TEST(Simulate, DatesAreWeekdaysFromTheStartOn) {
  using namespace std::chrono;
  const Panel prices = simulate({.assets = 1, .days = 600, .start_date = "2023-12-30"});
  EXPECT_EQ(prices.dates[0], "2024-01-01");  // the 30th was a Saturday
  EXPECT_EQ(prices.dates[4], "2024-01-05");
  EXPECT_EQ(prices.dates[5], "2024-01-08");
  EXPECT_EQ(prices.dates[43], "2024-02-29");
  EXPECT_EQ(prices.dates[44], "2024-03-01");
  EXPECT_TRUE(std::is_sorted(prices.dates.begin(), prices.dates.end()));
}

TEST(Simulate, LooksLikeAMarket) {
  const Market& it = market();
  std::vector<double> volatilities, kurtoses, clustering, correlations;
  for (Index j = 0; j < it.r.cols; ++j) {
    const std::vector<double> x = column(it.r, j);
    const double variance = covariance(x, x), centre = mean(x);
    volatilities.push_back(std::sqrt(252 * variance));
    double fourth = 0;
    std::vector<double> size;
    for (const double value : x) {
      fourth += std::pow(value - centre, 4) / static_cast<double>(x.size());
      size.push_back(std::abs(value));
    }
    kurtoses.push_back(fourth / (variance * variance));
    const ConstVec all = size;
    clustering.push_back(correlation(all.subspan(1), all.first(size.size() - 1)));
    for (Index i = 0; i < j; ++i) correlations.push_back(correlation(column(it.r, i), x));
  }
  std::sort(volatilities.begin(), volatilities.end());
  EXPECT_GT(volatilities.front(), 0.08);
  EXPECT_LT(volatilities.front(), 0.16);
  EXPECT_GT(volatilities.back(), 0.40);
  EXPECT_LT(volatilities.back(), 0.60);
  EXPECT_GT(median(kurtoses), 4.0);
  EXPECT_GT(mean(clustering), 0.05);
  EXPECT_GT(mean(correlations), 0.2);
  EXPECT_LT(mean(correlations), 0.45);
  const auto [least, most] =
      std::minmax_element(it.simulated.prices.values.begin(), it.simulated.prices.values.end());
  EXPECT_GT(*least, 0.01);
  EXPECT_LT(*most, 1e5);
}

TEST(Simulate, OwnVolatilitiesDifferByAFactorOfFive) {
  for (const Index n : {2, 7, 50}) {
    const SimulatedMarket it = simulate_market({.assets = n, .days = 2});
    const auto [quiet, loud] = std::minmax_element(it.volatilities.begin(), it.volatilities.end());
    EXPECT_NEAR(*loud / *quiet, 5.0, 1e-12);
    EXPECT_NEAR(*quiet * std::sqrt(252.0), 0.08, 1e-12);
  }
}

// Realised on expected returns: slope 1, for every asset's own scale.
TEST(Simulate, RealisedReturnsFollowTheExpectedOnes) {
  const Market& it = market();
  double together = 0, squares = 0, noise = 0;
  for (Index j = 0; j < it.r.cols; ++j) {
    const std::vector<double> r = column(it.r, j), m = column(it.m, j);
    const double variance = covariance(r, r);
    for (std::size_t t = 0; t < r.size(); ++t) {
      together += r[t] * m[t] / variance;
      squares += m[t] * m[t] / variance;
    }
  }
  noise = std::sqrt(1 / squares);  // if assets were independent; they are not quite
  EXPECT_NEAR(together / squares, 1.0, 5 * noise);
  EXPECT_LT(noise, 0.06);
}

TEST(Simulate, PredictabilityIsTheSizeOfTheSignalInTheQuietestAsset) {
  for (const double predictability : {0.05, 0.15}) {
    const SimulatedMarket it =
        simulate_market({.assets = 20, .days = 1000, .predictability = predictability});
    double squares = 0;
    for (const double m : it.expected_returns) squares += m * m;
    const double size = std::sqrt(squares / static_cast<double>(it.expected_returns.size()));
    EXPECT_NEAR(size / (0.08 / std::sqrt(252.0)), predictability, 0.06 * predictability);
  }
}

// Autocorrelation of the expected returns at a lag, over all assets.
double persistence(ConstMat m, Index lag) {
  double together = 0, squares = 0;
  for (Index t = 0; t + lag < m.rows; ++t)
    for (Index j = 0; j < m.cols; ++j) {
      together += m(t, j) * m(t + lag, j);
      squares += (m(t, j) * m(t, j) + m(t + lag, j) * m(t + lag, j)) / 2;
    }
  return together / squares;
}

TEST(Simulate, ASignalLifeIsWhenExpectedReturnsAreHalfForgotten) {
  for (const double life : {2.0, 10.0, 60.0}) {
    const SimulatedMarket it =
        simulate_market({.assets = 50, .days = 3000, .seed = 3, .signal_life = life});
    const ConstMat m = it.expected_matrix();
    const auto lag = static_cast<Index>(life);
    const double half_life = life * std::log(0.5) / std::log(persistence(m, lag));
    EXPECT_NEAR(half_life / life, 1.0, 0.1) << life;
    double squares = 0;
    for (const double each : it.expected_returns) squares += each * each;
    const double size = std::sqrt(squares / static_cast<double>(it.expected_returns.size()));
    EXPECT_NEAR(size / (0.08 / std::sqrt(252.0)), 0.15, 0.05 * 0.15) << life;
    // Also on the first day: nothing has to settle.
    double first = 0;
    for (const double each : m.row(0)) first += each * each / 50;
    EXPECT_NEAR(std::sqrt(first) / size, 1.0, 0.35) << life;
  }
}

// Slope 1 of realised on expected returns, and what was expected follows from returns alone.
TEST(Simulate, ASignalLifeKeepsExpectedReturnsTrue) {
  const SimulatedMarket it = simulate_market({.days = 4000, .seed = 5, .signal_life = 20.0});
  const Panel returns = simple_returns(it.prices);
  const ConstMat r = returns.matrix(), m = it.expected_matrix();
  double together = 0, squares = 0;
  for (Index j = 0; j < r.cols; ++j) {
    const std::vector<double> own = column(r, j);
    const double variance = covariance(own, own);
    for (Index t = 0; t < r.rows; ++t) {
      together += r(t, j) * m(t, j) / variance;
      squares += m(t, j) * m(t, j) / variance;
    }
  }
  EXPECT_NEAR(together / squares, 1.0, 5 / std::sqrt(squares));
  EXPECT_LT(1 / std::sqrt(squares), 0.06);
  // m_(t+1) - d m_t = -c phi((r_t - m_t) / sd): one c and one sd for all days of an asset.
  const double d = std::exp2(-1 / 20.0),
               c = 0.15 * 0.08 / std::sqrt(252.0) * std::sqrt(1 - d * d) / 0.74;
  for (const Index j : {0, 7, 49}) {
    double sd = 0;
    for (Index t = 0; t + 1 < r.rows; ++t) {
      const double y = -(m(t + 1, j) - d * m(t, j)) / c;  // 2x/(1 + x^2)
      const double surprise = r(t, j) - m(t, j);
      if (std::abs(y) > 0.9 || std::abs(surprise) < 1e-4) continue;
      const double x = (1 - std::sqrt(1 - y * y)) / y;  // or its inverse, beyond the peak
      const double found = std::abs(surprise / x);
      if (sd == 0) sd = found;
      const double other = std::abs(surprise * x);
      EXPECT_TRUE(std::abs(found / sd - 1) < 1e-6 || std::abs(other / sd - 1) < 1e-6) << t;
    }
  }
}

TEST(Simulate, AnyAllowedSignalLifeGivesAMarket) {
  for (const double life : {1e-300, 1e-4, 0.5, 1.0, 1000.0}) {
    const SimulatedMarket it = simulate_market({.assets = 4, .days = 300, .signal_life = life});
    for (const double price : it.prices.values) ASSERT_TRUE(price > 0.0 && std::isfinite(price));
    const ConstMat m = it.expected_matrix();
    const double after_a_day = persistence(m, 1);
    EXPECT_TRUE(life > 1e-3 || std::abs(after_a_day) < 0.15) << after_a_day;
    EXPECT_TRUE(life < 1000.0 || after_a_day > 0.98) << after_a_day;
  }
  EXPECT_EQ(simulate({.days = 100, .predictability = 0.0, .signal_life = 5.0}).values,
            simulate({.days = 100, .predictability = 0.0}).values);
}

TEST(Simulate, QuietAssetsArePredictedBest) {
  const Market& it = market();
  double quiet = 0, loud = 0;
  int quiets = 0, louds = 0;
  for (Index j = 0; j < it.r.cols; ++j) {
    const double share = it.simulated.volatilities[static_cast<std::size_t>(j)] * std::sqrt(252.0);
    const std::vector<double> r = column(it.r, j), m = column(it.m, j);
    const double found = std::sqrt(covariance(m, m) / covariance(r, r));
    if (share < 0.12) {
      quiet += found;
      ++quiets;
    } else if (share > 0.25) {
      loud += found;
      ++louds;
    }
  }
  EXPECT_GT(quiet / quiets, 0.07);
  EXPECT_LT(loud / louds, 0.5 * quiet / quiets);
}

// Knowing the expected returns, the simplest of portfolios earns a lot: m over own variance, net
// zero.
TEST(Simulate, AnOracleEarnsALot) {
  const Market& it = market();
  std::vector<double> earned;
  for (Index t = 0; t < it.r.rows; ++t) {
    double sum = 0, weights = 0, average = 0, result = 0;
    for (Index j = 0; j < it.r.cols; ++j) {
      const double s = it.simulated.volatilities[static_cast<std::size_t>(j)];
      sum += it.m(t, j) / (s * s);
      weights += 1 / (s * s);
    }
    average = sum / weights;
    for (Index j = 0; j < it.r.cols; ++j) {
      const double s = it.simulated.volatilities[static_cast<std::size_t>(j)];
      result += (it.m(t, j) - average) / (s * s) * it.r(t, j);
    }
    earned.push_back(result);
  }
  EXPECT_GT(annual_sharpe(earned), 3.0);
  EXPECT_LT(annual_sharpe(earned), 12.0);
}

TEST(Simulate, NullMarketExpectsNothing) {
  std::vector<double> sharpes, shorts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const SimulatedMarket it =
        simulate_market({.assets = 15, .days = 500, .seed = seed, .predictability = 0.0});
    EXPECT_TRUE(std::all_of(it.expected_returns.begin(), it.expected_returns.end(),
                            [](double m) { return m == 0.0; }));
    const Panel returns = simple_returns(it.prices);
    const ConstMat r = returns.matrix();
    std::vector<double> equal, reversal;  // and what the last five days would have earned
    for (Index t = 0; t < r.rows; ++t) {
      equal.push_back(mean(r.row(t)));
      if (t < 5) continue;
      double bet = 0;
      for (Index j = 0; j < r.cols; ++j) {
        double last = 0;
        for (Index d = 1; d <= 5; ++d) last += r(t - d, j);
        bet -= last * r(t, j);
      }
      reversal.push_back(bet);
    }
    sharpes.push_back(annual_sharpe(equal));
    shorts.push_back(annual_sharpe(reversal));
  }
  for (const std::vector<double>& over_seeds : {sharpes, shorts}) {
    const double error = std::sqrt(covariance(over_seeds, over_seeds) / 20);
    EXPECT_LT(std::abs(mean(over_seeds)), 2.5 * error);
    EXPECT_LT(error, 0.3);
  }
}

TEST(Simulate, GivesTheSmallestMarkets) {
  const SimulatedMarket one = simulate_market({.assets = 1, .days = 2, .factors = 1});
  EXPECT_EQ(one.prices.rows(), 2);
  EXPECT_EQ(one.prices.n(), 1);
  EXPECT_EQ(one.expected_returns.size(), 1u);
  EXPECT_GT(one.prices.values[1], 0.0);
}

TEST(Simulate, KeepsReturnsWithinBoundsInLongSamples) {
  const Panel prices = simulate({.assets = 3, .days = 25000, .seed = 9, .predictability = 1.0});
  for (const double price : prices.values) ASSERT_TRUE(price > 0.0 && std::isfinite(price));
  const Panel returns = simple_returns(prices);
  for (const double r : returns.values) ASSERT_LT(std::abs(r), 0.5);
}

void refuse(const SimulationSettings& settings, const std::string& message) {
  try {
    simulate(settings);
    ADD_FAILURE() << "accepted: " << message;
  } catch (const InputError& error) {
    EXPECT_EQ(error.what(), message);
  }
}

TEST(Simulate, RefusesWhatIsOutOfBounds) {
  refuse({.assets = 0}, "assets = 0 is outside [1, 100000]");
  refuse({.assets = 100001}, "assets = 100001 is outside [1, 100000]");
  refuse({.days = 1}, "days = 1 is outside [2, 25000]");
  refuse({.days = 25001}, "days = 25001 is outside [2, 25000]");
  refuse({.assets = 100000, .days = 25000},
         "assets = 100000 and days = 25000 make 2500000000 prices, more than 50000000; ask for "
         "fewer of either");
  refuse({.predictability = -0.1}, "predictability = -0.1 is outside [0, 1]");
  refuse({.predictability = 1.5}, "predictability = 1.5 is outside [0, 1]");
  refuse({.predictability = std::nan("")}, "predictability = nan is outside [0, 1]");
  refuse({.signal_life = 0.0}, "signal-life = 0 is outside (0, 1000]");
  refuse({.signal_life = 1000.5}, "signal-life = 1000.5 is outside (0, 1000]");
  refuse({.factors = 0}, "factors = 0 is outside [1, 64]");
  refuse({.start_date = "2015-02-30"},
         "start-date = 2015-02-30 is not in the calendar; give "
         "YYYY-MM-DD");
  refuse({.start_date = "tomorrow"}, "start-date = tomorrow is not a date; give YYYY-MM-DD");
  refuse({.start_date = "2015-01"}, "start-date = 2015-01 has no day; give YYYY-MM-DD");
  refuse({.days = 300, .start_date = "9999-06-01"},
         "start-date = 9999-06-01 with days = 300 goes beyond the year 9999; start earlier");
}

TEST(SimulatedPrice, HasSixSignificantDigits) {
  const auto text = [](double price) { return shortest(rounded_price(price)); };
  EXPECT_EQ(text(100.0), "100");
  EXPECT_EQ(text(104.25), "104.25");
  EXPECT_EQ(text(123.4567), "123.457");
  EXPECT_EQ(text(0.00123456789), "0.00123457");
  EXPECT_EQ(text(1234567.0), "1234570");
  EXPECT_EQ(text(999999.6), "1e+06");
  EXPECT_EQ(text(0.9999996), "1");
  EXPECT_EQ(text(10.5), "10.5");
  EXPECT_EQ(text(0.1), "0.1");
  EXPECT_EQ(rounded_price(1e-20), 1e-16);
  EXPECT_EQ(rounded_price(1e30), 1e16);
}

// As the C library rounds to six digits and reads them back.
TEST(SimulatedPrice, IsTheDoubleThatItsDigitsReadBackTo) {
  for (double price = 1.2345678e-16; price < 9e15; price *= 1.0371) {
    const double rounded = rounded_price(price);
    ASSERT_EQ(rounded, std::strtod(fmt::format("{:.6g}", price).c_str(), nullptr)) << price;
    ASSERT_EQ(rounded_price(rounded), rounded);
  }
}

}  // namespace
}  // namespace sharpen::market
