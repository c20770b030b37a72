// Panels after reading: returns, selections, round trips and damaged files.
#include "sharpen/market/panel.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>

#include "input_files.hpp"

namespace sharpen::market {
namespace {

using std::string_view_literals::operator""sv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Panel sample() {
  return {{"2024-01-30", "2024-01-31", "2024-02-01", "2024-03-01"},
          {"AAPL", "MSFT", "GOOG"},
          {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
}

Panel monthly() { return {{"2023-11", "2023-12", "2024-01"}, {"A"}, {1, 2, 3}}; }

std::string select_error(const std::optional<std::string>& from,
                         const std::optional<std::string>& to) {
  return error_of([&] { return select_dates(sample(), from, to); });
}

std::string ticker_error(const std::vector<std::string>& tickers) {
  return error_of([&] { return select_tickers(sample(), tickers); });
}

// ---- returns

TEST(SimpleReturns, AreDatedByTheLaterDay) {
  const Panel prices{{"2024-01-02", "2024-01-03", "2024-01-04"}, {"A", "B"}, {1, 8, 2, 4, 3, 4}};
  const Panel returns = simple_returns(prices);
  EXPECT_THAT(returns.dates, ElementsAre("2024-01-03", "2024-01-04"));
  EXPECT_EQ(returns.tickers, prices.tickers);
  EXPECT_THAT(returns.values, ElementsAre(1.0, -0.5, 0.5, 0.0));
}

TEST(SimpleReturns, KeepTheDigitsOfSmallMoves) {
  const double step = std::ldexp(1.0, -50);
  const Panel prices{{"2024-01-02", "2024-01-03"}, {"A"}, {3.0, 3.0 * (1.0 + step)}};
  const double expected = (prices.values[1] - 3.0) / 3.0;
  EXPECT_NEAR(simple_returns(prices).values[0] / expected, 1.0, 1e-15);
}

TEST(SimpleReturns, OfGrossReturnsSubtractOne) {
  const Panel gross{{"2024-01", "2024-02"}, {"A"}, {1.25, 0.0}};
  EXPECT_THAT(simple_returns(gross, PanelKind::gross_returns).values, ElementsAre(0.25, -1.0));
  EXPECT_EQ(simple_returns(gross, PanelKind::gross_returns).dates, gross.dates);
  EXPECT_EQ(simple_returns(gross, PanelKind::returns), gross);
}

TEST(SimpleReturns, RefuseTooFewRowsAndOverflow) {
  EXPECT_EQ(error_of([] {
              return simple_returns({{"2024-01-02"}, {"A"}, {1.0}});
            }),
            "returns need at least 2 rows of prices and the panel has 1; give a longer history");
  EXPECT_EQ(error_of([] { return simple_returns({}); }),
            "returns need at least 2 rows of prices and the panel has 0; give a longer history");
  EXPECT_EQ(
      error_of([] {
        return simple_returns({{"2024-01-02", "2024-01-03"}, {"A", "B"}, {1, 1e-300, 1, 1e300}});
      }),
      "the return of ticker B on 2024-01-03 is not finite (price 1e+300 after 1e-300); correct the "
      "prices");
}

// ---- dates

TEST(SelectDates, KeepsBothEnds) {
  const Panel part = select_dates(sample(), "2024-01-31", "2024-02-01");
  EXPECT_THAT(part.dates, ElementsAre("2024-01-31", "2024-02-01"));
  EXPECT_THAT(part.values, ElementsAre(4, 5, 6, 7, 8, 9));
  EXPECT_EQ(part.tickers, sample().tickers);
}

TEST(SelectDates, LeavesAnOpenEndOpen) {
  EXPECT_EQ(select_dates(sample(), std::nullopt, std::nullopt), sample());
  EXPECT_THAT(select_dates(sample(), "2024-02-15", std::nullopt).dates, ElementsAre("2024-03-01"));
  EXPECT_THAT(select_dates(sample(), std::nullopt, "20240130").dates, ElementsAre("2024-01-30"));
}

TEST(SelectDates, ComparesToThePrecisionOfBothSides) {
  EXPECT_EQ(select_dates(sample(), "2024-01", "2024-02").rows(), 3);
  EXPECT_EQ(select_dates(sample(), "202402", std::nullopt).rows(), 2);
  EXPECT_EQ(select_dates(sample(), "2024", "2024").rows(), 4);
  EXPECT_THAT(select_dates(monthly(), "2023-12-15", "2024-01-15").dates,
              ElementsAre("2023-12", "2024-01"));
  EXPECT_THAT(select_dates(monthly(), "2024", std::nullopt).dates, ElementsAre("2024-01"));
}

TEST(SelectDates, NamesThePanelsRangeWhenNothingIsLeft) {
  EXPECT_EQ(select_error("2024-02-02", "2024-02-28"),
            "no rows from 2024-02-02 to 2024-02-28; the panel runs from 2024-01-30 to 2024-03-01");
  EXPECT_EQ(select_error("2025", std::nullopt),
            "no rows from 2025 to its end; the panel runs from 2024-01-30 to 2024-03-01");
  EXPECT_EQ(select_error(std::nullopt, "2023-12"),
            "no rows from its start to 2023-12; the panel runs from 2024-01-30 to 2024-03-01");
  EXPECT_EQ(error_of([] { return select_dates({}, "2024", "2025"); }),
            "the panel has no rows to select from");
}

TEST(SelectDates, RefusesBoundsThatAreNoDatesOrCross) {
  EXPECT_EQ(select_error("2024-02-30", std::nullopt),
            "from = \"2024-02-30\" is not in the calendar; write YYYY-MM-DD, YYYY-MM or YYYY");
  EXPECT_EQ(select_error(std::nullopt, "soon"),
            "to = \"soon\" is not a date; write YYYY-MM-DD, YYYY-MM or YYYY");
  EXPECT_THAT(select_error("", std::nullopt), StartsWith("from = \"\" is not a date"));
  EXPECT_EQ(select_error("2024-03-01", "2024-01-31"),
            "from = 2024-03-01 is after to = 2024-01-31; exchange them");
}

// ---- tickers

TEST(SelectTickers, KeepsTheOrderGiven) {
  const std::vector<std::string> wanted{"GOOG", "AAPL"};
  const Panel part = select_tickers(sample(), wanted);
  EXPECT_EQ(part.tickers, wanted);
  EXPECT_EQ(part.dates, sample().dates);
  EXPECT_THAT(part.values, ElementsAre(3, 1, 6, 4, 9, 7, 12, 10));
}

TEST(SelectTickers, NamesTheUnknownOneAndCloseOnes) {
  EXPECT_EQ(ticker_error({"AAPL", "msft"}), "the panel has no ticker \"msft\"; did you mean MSFT?");
  EXPECT_EQ(ticker_error({"GOGO"}), "the panel has no ticker \"GOGO\"; did you mean GOOG?");
  EXPECT_EQ(ticker_error({"XYZW"}),
            "the panel has no ticker \"XYZW\"; the panel's header lists what there is");
  EXPECT_EQ(ticker_error({""}),
            "the panel has no ticker \"\"; the panel's header lists what there is");
  const Panel near{{"2024-01"}, {"AB1", "AB2", "AB3", "AB4", "ab"}, {1, 2, 3, 4, 5}};
  const std::vector<std::string> wanted{"AB"};
  EXPECT_EQ(error_of([&] { return select_tickers(near, wanted); }),
            "the panel has no ticker \"AB\"; did you mean ab, AB1 or AB2?");
}

TEST(SelectTickers, RefusesRepeatedAndNone) {
  EXPECT_EQ(ticker_error({"AAPL", "GOOG", "AAPL"}),
            "the ticker \"AAPL\" is named twice; name it once");
  EXPECT_EQ(ticker_error({}), "no tickers are named; name at least one");
}

// ---- properties

std::string written(const Panel& panel) {
  std::string text = "date";
  for (const std::string& ticker : panel.tickers) text += "," + ticker;
  for (Index t = 0; t < panel.rows(); ++t) {
    text += "\n" + panel.dates[static_cast<std::size_t>(t)];
    for (const double value : panel.matrix().row(t)) text += fmt::format(",{}", value);
  }
  return text + "\n";
}

// Any positive finite double, drawn by its bits.
rc::Gen<double> positive_double() {
  return rc::gen::map(rc::gen::inRange<std::uint64_t>(1, 0x7ff0000000000000),
                      [](std::uint64_t bits) { return std::bit_cast<double>(bits); });
}

RC_GTEST_PROP(CsvReader, ReadsBackTheBitsThatWereWritten, ()) {
  Panel panel;
  const int n = *rc::gen::inRange(1, 6);
  const int rows = *rc::gen::inRange(1, 30);
  for (int j = 0; j < n; ++j) panel.tickers.push_back(fmt::format("T{}", j));
  for (int t = 0; t < rows; ++t)
    panel.dates.push_back(fmt::format("{:04}-{:02}-{:02}", 1990 + t / 7, 1 + t % 7, 1 + t % 28));
  panel.values = *rc::gen::container<std::vector<double>>(static_cast<std::size_t>(n * rows),
                                                          positive_double());
  RC_ASSERT(parse_panel(written(panel), "p.csv", PanelKind::prices) == panel);
}

// Random damage either leaves a panel that keeps every promise or is an InputError; anything else
// (another exception, a crash, a sanitizer's report) fails.
TEST(CsvReader, SurvivesDamagedFiles) {
  // Values that prices, returns and gross returns may all have.
  const std::string good =
      "date,AAA,\"B\"\"B\",C\r\n2024-01-02,0.15,2e-1,\"0.3\"\r\n2024-01-03,0.4, 0.5 ,0.6\r\n"
      "2024-01-04,.07,0.08,+0.09\r\n";
  constexpr std::string_view interesting = "\0\r\n,;\"'.-+eE0019 \t\xff\xef\x1a:xnNaAiI"sv;
  std::mt19937 random(7);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    std::string text = good;
    for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      const char c =
          below(4) == 0 ? static_cast<char>(below(256)) : interesting[below(interesting.size())];
      switch (below(4)) {
        case 0: text[at] = c; break;
        case 1: text.insert(at, 1, c); break;
        case 2: text.erase(at, 1 + below(5)); break;
        default: text.insert(at, text.substr(below(text.size()), below(20)));
      }
    }
    const auto kind = static_cast<PanelKind>(round % 3);
    try {
      const Panel panel = parse_panel(text, "p.csv", kind);
      ++accepted;
      ASSERT_GE(panel.rows(), 1);
      ASSERT_GE(panel.n(), 1);
      ASSERT_EQ(panel.values.size(), panel.dates.size() * panel.tickers.size());
      for (const double value : panel.values) ASSERT_TRUE(std::isfinite(value));
      for (std::size_t t = 1; t < panel.dates.size(); ++t)
        ASSERT_LT(panel.dates[t - 1], panel.dates[t]);
    } catch (const InputError& error) {
      ++refused;
      ASSERT_THAT(error.what(), StartsWith("p.csv:"));
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

// ---- real data

struct RealPanel {
  const char* file;
  PanelKind kind;
  Index rows, n;
  const char *first, *last;
};

class RealPanels : public ::testing::TestWithParam<RealPanel> {};

TEST_P(RealPanels, HaveTheirKnownShapes) {
  const RealPanel& known = GetParam();
  SHARPEN_SKIP_WITHOUT(real_data(known.file));
  const Panel panel = read_panel(real_data(known.file), known.kind);
  EXPECT_EQ(panel.rows(), known.rows);
  EXPECT_EQ(panel.n(), known.n);
  EXPECT_EQ(panel.dates.front(), known.first);
  EXPECT_EQ(panel.dates.back(), known.last);
}

constexpr PanelKind kGross = PanelKind::gross_returns;
INSTANTIATE_TEST_SUITE_P(Files, RealPanels,
                         ::testing::Values(RealPanel{"sp500_20_1990_2022.csv", PanelKind::prices,
                                                     8313, 20, "1990-01-02", "2022-12-28"},
                                           RealPanel{"us_liquid_2016_2025.csv", PanelKind::prices,
                                                     2514, 262, "2016-01-04", "2025-12-31"},
                                           RealPanel{"ff25_monthly_gross.csv", kGross, 623, 25,
                                                     "1971-07-31", "2023-05-31"},
                                           RealPanel{"ff49_monthly_gross.csv", kGross, 623, 49,
                                                     "1971-07-31", "2023-05-31"},
                                           RealPanel{"ff100_monthly_gross.csv", kGross, 623, 100,
                                                     "1971-07-31", "2023-05-31"}));

std::string real_error(const char* file, PanelKind kind) {
  const std::filesystem::path path = real_data(file);
  const std::string error = error_of([&] { return read_panel(path, kind); });
  return error.starts_with(path.string()) ? error.substr(path.string().size()) : error;
}

TEST(RealPanel, NamesItsFirstMissingCell) {
  SHARPEN_SKIP_WITHOUT(real_data("ftse100_2000_2023.csv"));
  EXPECT_THAT(real_error("ftse100_2000_2023.csv", PanelKind::prices),
              StartsWith(":5459:10: the value is missing, at line 5459, column 10 (ticker BATS.L, "
                         "2021-05-28); "));
  SHARPEN_SKIP_WITHOUT(real_data("nikkei225_2014_2025.csv"));
  EXPECT_THAT(real_error("nikkei225_2014_2025.csv", PanelKind::prices),
              StartsWith(":2:24: the value is missing, at line 2, column 24 (ticker 285A, "
                         "2014-03-26); "));
}

TEST(RealPanel, OfAnotherKindIsRecognised) {
  SHARPEN_SKIP_WITHOUT(real_data("ff25_monthly_gross.csv"));
  EXPECT_THAT(real_error("ff25_monthly_gross.csv", PanelKind::returns), HasSubstr("add --gross"));
  SHARPEN_SKIP_WITHOUT(real_data("sp500_20_1990_2022.csv"));
  EXPECT_THAT(real_error("sp500_20_1990_2022.csv", PanelKind::returns), HasSubstr("as --prices"));
  EXPECT_THAT(real_error("sp500_20_1990_2022.csv", kGross), HasSubstr("as --prices"));
}

}  // namespace
}  // namespace sharpen::market
