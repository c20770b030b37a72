// Moment files: OR-Library and CSV, with the exact message for what is refused.
#include "sharpen/market/moments.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <random>

#include "input_files.hpp"

namespace sharpen::market {
namespace {

using std::string_view_literals::operator""sv;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// ---- OR-Library

std::string orlib_error(std::string_view text) {
  return error_of([&] { return parse_orlib(text, "o.txt"); });
}

// Two assets; line 6 is the last.
const std::string kTwo = "2\n .01 .1\n .02 .2\n 1 1 1.0\n 1 2 .5\n 2 2 1.0\n";

std::string orlib_with(std::string_view line, std::string_view replacement) {
  std::string text = kTwo;
  text.replace(text.find(line), line.size(), replacement);
  return orlib_error(text);
}

TEST(OrlibReader, BuildsTheCovariance) {
  for (const std::string& text : {kTwo, "\xef\xbb\xbf" + kTwo + "\n\n",
                                  std::string("2\r\n.01\t.1\r\n.02 .2 \r\n1 1 1\r\n2 1 "
                                              ".5\r\n2 2 1")}) {
    const Moments moments = parse_orlib(text, "o.txt");
    EXPECT_THAT(moments.tickers, ElementsAre("asset1", "asset2"));
    EXPECT_THAT(moments.mean, ElementsAre(0.01, 0.02));
    EXPECT_THAT(moments.covariance,
                ElementsAre(DoubleEq(0.01), DoubleEq(0.01), DoubleEq(0.01), DoubleEq(0.04)));
    EXPECT_EQ(moments.covariance_matrix()(0, 1), moments.covariance_matrix()(1, 0));
  }
}

TEST(OrlibReader, TakesAnAssetWithoutRisk) {
  EXPECT_THAT(parse_orlib("1\n.01 0\n1 1 1\n", "o.txt").covariance, ElementsAre(0.0));
}

TEST(OrlibReader, RefusesEmptyAndAbsurdCounts) {
  EXPECT_EQ(orlib_error(" \n"),
            "o.txt: is empty; an OR-Library portfolio file starts with the number of assets");
  for (const char* count : {"0", "-3", "2.5", "x", "1000001", "99999999999999999999999", "+2"})
    EXPECT_EQ(orlib_error(std::string(count) + "\n"),
              fmt::format("o.txt:1:1: \"{}\" is not a number of assets, at line 1, column 1; write "
                          "a whole number from 1 to 1000000",
                          count));
  EXPECT_EQ(orlib_error("1000000\n.1 .1\n"),
            "o.txt:1:1: the file is too short for 1000000 assets and 500000500000 lines of "
            "correlations, at line 1; correct the number of assets");
  EXPECT_EQ(orlib_error("1\n"),
            "o.txt:1:1: the file is too short for 1 asset and 1 line of correlations, at line 1; "
            "correct the number of assets");
  // Junk as long as the pairs are many takes no memory of their square.
  EXPECT_THAT(orlib_error("4000\n" + std::string(20'000'000, 'x')),
              HasSubstr("the file is too short for 4000 assets"));
  EXPECT_EQ(parse_orlib("2\n0 1\n0 1\n1 1 1\n1 2 0\n2 2 1", "o.txt").n(), 2) << "the shortest";
}

TEST(OrlibReader, CountsTheFieldsOfEveryLine) {
  const std::string tail = "; is this an OR-Library portfolio file?";
  EXPECT_EQ(orlib_error(".01 .1\n"),
            "o.txt:1: line 1 has 2 fields where 1 is expected (the number of assets)" + tail);
  EXPECT_EQ(orlib_with(" .02 .2\n", " .02\n"),
            "o.txt:3: line 3 has 1 field where 2 are expected (mean and standard deviation of "
            "asset 2)" +
                tail);
  EXPECT_EQ(
      orlib_with(" 1 2 .5\n", " 1 2 .5 7\n"),
      "o.txt:5: line 5 has 4 fields where 3 are expected (i, j and their correlation)" + tail);
  EXPECT_THAT(orlib_with(" .02 .2\n", "\n .02 .2\n"), StartsWith("o.txt:3: line 3 has 0 fields"));
  EXPECT_EQ(orlib_error("2\n.01 .1\n"),
            "o.txt:2: the file ends after line 2, where mean and standard deviation of asset 2 "
            "should follow; give the whole OR-Library file");
}

TEST(OrlibReader, NamesTheNumberThatIsNone) {
  EXPECT_EQ(orlib_with(".02 .2", "abc .2"),
            "o.txt:3:1: \"abc\" is not a number, at line 3, column 1 (mean of asset 2); write a "
            "plain decimal number such as 101.25");
  EXPECT_THAT(orlib_with(".02 .2", ".02 nan"),
              StartsWith("o.txt:3:2: \"nan\" stands for a missing value, at line 3, column 2 "
                         "(standard deviation of asset 2)"));
  EXPECT_THAT(orlib_with("1 2 .5", "1 2 inf"),
              StartsWith("o.txt:5:3: \"inf\" is not a finite number, at line 5, column 3 "
                         "(correlation of assets 1 and 2)"));
  EXPECT_THAT(orlib_error("1\n.01 .1\0\n1 1 1\n"sv),
              StartsWith("o.txt:2:2: \".1\\x00\" holds a NUL"));
}

TEST(OrlibReader, RefusesImpossibleRisk) {
  EXPECT_EQ(orlib_with(".02 .2", ".02 -.2"),
            "o.txt:3:2: the standard deviation -.2 of asset 2 is negative, at line 3, column 2; "
            "correct it");
  EXPECT_THAT(orlib_with(".02 .2", ".02 1e200"),
              StartsWith("o.txt:3:2: the standard deviation 1e200 of asset 2 is too large"));
  EXPECT_EQ(orlib_with("1 2 .5", "1 2 -1.01"),
            "o.txt:5:3: the correlation -1.01 of assets 1 and 2 is outside [-1, 1], at line 5, "
            "column 3; correct it");
  EXPECT_EQ(orlib_with("1 1 1.0", "1 1 .9"),
            "o.txt:4:3: the correlation .9 of asset 1 with itself is not 1, at line 4, column 3; "
            "correct it");
}

TEST(OrlibReader, WantsEveryPairOnce) {
  EXPECT_EQ(
      orlib_with(" 1 2 .5\n", ""),
      "o.txt:5: the pair 1 2 is missing, at the end of the file after line 5; give all 3 pairs "
      "of 2 assets, the diagonal included");
  EXPECT_THAT(orlib_with(" 2 2 1.0\n", ""), StartsWith("o.txt:5: the pair 2 2 is missing"));
  EXPECT_EQ(orlib_with(" 1 2 .5\n", " 1 2 .5\n 2 1 .5\n"),
            "o.txt:6: the pair 2 1 is repeated, at line 6; give every pair once");
  EXPECT_THAT(orlib_error(kTwo + "2 2 1\n"), StartsWith("o.txt:7: the pair 2 2 is repeated"));
  EXPECT_EQ(orlib_with("1 2 .5", "1 3 .5"),
            "o.txt:5:2: \"3\" is not an asset number, at line 5, column 2; write a whole number "
            "from 1 to 2");
  EXPECT_THAT(orlib_with("1 2 .5", "0 2 .5"),
              StartsWith("o.txt:5:1: \"0\" is not an asset number"));
  EXPECT_THAT(orlib_error(kTwo + "the end\n"), StartsWith("o.txt:7: line 7 has 2 fields"));
}

TEST(OrlibReader, ReadsTheLibrarysFiles) {
  const struct {
    const char* file;
    Index n;
    double first_mean, last_sd;
  } known[] = {
      {"port1.txt", 31, 0.001309, 0.039827}, {"port2.txt", 85, 0, 0}, {"port3.txt", 89, 0, 0}};
  for (const auto& [file, n, first_mean, last_sd] : known) {
    SHARPEN_SKIP_WITHOUT(real_data(file));
    const Moments moments = read_orlib(real_data(file));
    EXPECT_EQ(moments.n(), n);
    EXPECT_EQ(moments.mean.size(), static_cast<std::size_t>(n));
    EXPECT_EQ(moments.covariance.size(), static_cast<std::size_t>(n * n));
    for (const double value : moments.covariance) EXPECT_TRUE(std::isfinite(value));
    if (last_sd == 0) continue;
    EXPECT_EQ(moments.mean.front(), first_mean);
    EXPECT_DOUBLE_EQ(moments.covariance.back(), last_sd * last_sd);
    EXPECT_DOUBLE_EQ(moments.covariance[1], 0.562289 * 0.043208 * 0.040258);
  }
}

TEST(OrlibReader, TellsAFrontierFileFromMoments) {
  SHARPEN_SKIP_WITHOUT(real_data("portef1.txt"));
  EXPECT_THAT(error_of([] { return read_orlib(real_data("portef1.txt")); }),
              HasSubstr("portef1.txt:1: line 1 has 2 fields where 1 is expected"));
}

// ---- CSV

const std::string kMean = "asset,mean\nA,0.01\nB,0.02\n";
const std::string kCov = ",B,A\nA,0.1,0.5\nB,0.4,0.1\n";

Moments moments_of(std::string_view mean, std::string_view covariance) {
  return parse_moments_csv(mean, "m.csv", covariance, "c.csv");
}

std::string mean_error(std::string_view mean) {
  return error_of([&] { return moments_of(mean, kCov); });
}

std::string cov_error(std::string_view covariance) {
  return error_of([&] { return moments_of(kMean, covariance); });
}

TEST(MomentsCsv, PutsTheCovarianceInTheMeansOrder) {
  const Moments moments = moments_of(kMean, kCov);
  EXPECT_THAT(moments.tickers, ElementsAre("A", "B"));
  EXPECT_THAT(moments.mean, ElementsAre(0.01, 0.02));
  EXPECT_THAT(moments.covariance, ElementsAre(0.5, 0.1, 0.1, 0.4));
  EXPECT_THAT(moments_of("B,0.02\nA,0.01\n", kCov).covariance, ElementsAre(0.4, 0.1, 0.1, 0.5));
}

TEST(MomentsCsv, TakesTheMeansWithOrWithoutAHeader) {
  const Moments plain = moments_of("A,0.01\nB,0.02\n", kCov);
  for (const char* header :
       {"asset,mean", "Ticker,Return", ",0", "\"Symbol\",\"MU\"", ",mean", "stock,mean",
        "\xef\xbb\xbf"
        "asset,mean"})
    EXPECT_EQ(moments_of(std::string(header) + "\r\nA,0.01\r\nB,0.02", kCov), plain) << header;
}

TEST(MomentsCsv, DoesNotTakeAMisspeltNumberForAHeader) {
  EXPECT_EQ(mean_error("A,O.01\nB,0.02\n"),
            "m.csv:1:2: \"O.01\" is not a number, at line 1, column 2 (mean of ticker A); write a "
            "plain decimal number such as 101.25");
}

TEST(MomentsCsv, NamesWhatIsWrongWithTheMeans) {
  EXPECT_EQ(mean_error(""), "m.csv: is empty; a header line and rows are expected");
  EXPECT_EQ(mean_error("asset,mean\n"),
            "m.csv: has a header but no rows; one row per asset is expected");
  EXPECT_EQ(mean_error("asset,mean\nA,0.01,7\n"),
            "m.csv:2:3: line 2 has 3 fields where 2 are expected (ticker and mean); give every row "
            "one field per column");
  EXPECT_THAT(mean_error("A,0.01\nB\n"), StartsWith("m.csv:2:1: line 2 has 1 field where 2"));
  EXPECT_EQ(mean_error("A;0.01\nB;0.02\n"), "");
  EXPECT_THAT(mean_error("A;0,01\nB;0,02\n"),
              StartsWith("m.csv:1:2: \"0,01\" has a comma inside the number"));
  EXPECT_EQ(mean_error("asset,mean\nA,0.01\nB,0.02\nA,0.03\n"),
            "m.csv:4:1: the ticker \"A\" is repeated, at line 2 and line 4; give every ticker "
            "once");
  EXPECT_EQ(mean_error("A,0.01\n,0.02\n"),
            "m.csv:2:1: the ticker is empty, at line 2, column 1; name it or delete it");
  EXPECT_EQ(mean_error("A,0.01\nB,\n"),
            "m.csv:2:2: the value is missing, at line 2, column 2 (mean of ticker B); fill it or "
            "drop the ticker");
  EXPECT_THAT(mean_error("A,0.01\nB,NaN\n"),
              StartsWith("m.csv:2:2: \"NaN\" stands for a missing value, at line 2, column 2"));
  EXPECT_EQ(mean_error("A,0.01\n\nB,0.02\n"), "m.csv:2: line 2 is blank; delete it");
}

TEST(MomentsCsv, WantsTheSameTickersInBothFiles) {
  EXPECT_EQ(mean_error(kMean + "C,0.03\n"),
            "m.csv:4:1: the ticker \"C\" has a mean, at line 4, but no covariance in c.csv; name "
            "the same tickers in both files");
  EXPECT_EQ(mean_error("A,0.01\n"),
            "c.csv:1:2: the ticker \"B\" has a covariance, at line 1, column 2, but no mean in "
            "m.csv; name the same tickers in both files");
}

TEST(MomentsCsv, WantsARowForEveryColumn) {
  EXPECT_EQ(cov_error(",A,B\nA,1,0\n"),
            "c.csv: the ticker \"B\" has a column (line 1, column 3) but no row; give one row per "
            "column");
  EXPECT_EQ(cov_error(",A,B\nA,1,0\nC,0,1\n"),
            "c.csv:3:1: the ticker \"C\" has a row but no column, at line 3, column 1; give one "
            "column per row");
  EXPECT_EQ(cov_error(",A,B\nA,1,0\nB,0,1\nA,1,0\n"),
            "c.csv:4:1: the ticker \"A\" is repeated, at line 2 and line 4; give one row per "
            "ticker");
  EXPECT_EQ(cov_error(",A,B\nA,1\nB,0,1\n"),
            "c.csv:2:2: line 2 has 2 fields where 3 are expected (a ticker and one covariance per "
            "column); give every row one field per column");
  EXPECT_THAT(cov_error(",A,A\n"), StartsWith("c.csv:1:3: the ticker \"A\" is repeated"));
  EXPECT_THAT(cov_error("A\n"), StartsWith("c.csv:1:1: the header names no tickers"));
}

TEST(MomentsCsv, NamesTheCellOfTheCovariance) {
  EXPECT_EQ(cov_error(",A,B\nA,1,x\nB,0,1\n"),
            "c.csv:2:3: \"x\" is not a number, at line 2, column 3 (covariance of A and B); write "
            "a plain decimal number such as 101.25");
  EXPECT_THAT(cov_error(",A,B\nA,1,\nB,0,1\n"), StartsWith("c.csv:2:3: the value is missing"));
  EXPECT_THAT(cov_error(",A,B\nA,nan,0\nB,0,1\n"), StartsWith("c.csv:2:2: \"nan\" stands for"));
  EXPECT_EQ(cov_error(",A,B\nA,1,0\nB,0,-2\n"),
            "c.csv:3:3: the variance -2 of B is negative, at line 3, column 3; correct it");
}

TEST(MomentsCsv, NamesTheTwoCellsThatBreakSymmetry) {
  EXPECT_EQ(cov_error(",B,A\nA,0.1,0.5\nB,0.4,0.2\n"),
            "c.csv:2:2: the covariance is not symmetric: A and B have 0.1 at line 2, column 2 but "
            "0.2 at line 3, column 3; correct one of the two");
}

TEST(MomentsCsv, AveragesRoundingErrors) {
  const Moments moments = moments_of(kMean, ",A,B\nA,1,0.25\nB,0.250000004,1\n");
  EXPECT_EQ(moments.covariance[1], moments.covariance[2]);
  EXPECT_DOUBLE_EQ(moments.covariance[1], 0.250000002);
  EXPECT_NE(cov_error(",A,B\nA,1,0.25\nB,0.25000004,1\n"), "");
  EXPECT_EQ(cov_error(",A,B\nA,1,1e-20\nB,-3e-20,1\n"), "");
}

TEST(MomentsCsv, ReadsFiles) {
  const ScratchFile mean(kMean);
  const ScratchFile covariance(kCov);
  EXPECT_EQ(read_moments_csv(mean.path(), covariance.path()), moments_of(kMean, kCov));
  EXPECT_THAT(error_of([&] { return read_moments_csv(mean.path(), "no/such.csv"); }),
              StartsWith("no/such.csv: cannot be read"));
}

// ---- properties

RC_GTEST_PROP(MomentsCsv, ReadsBackTheBitsThatWereWritten, ()) {
  const auto n = static_cast<std::size_t>(*rc::gen::inRange(1, 6));
  const int seed = *rc::gen::arbitrary<int>();
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal;
  Moments moments;
  moments.covariance.resize(n * n);
  for (std::size_t i = 0; i < n; ++i) {
    moments.tickers.push_back(fmt::format("T{}", i));
    moments.mean.push_back(normal(random));
    for (std::size_t j = 0; j <= i; ++j)
      moments.covariance[i * n + j] = moments.covariance[j * n + i] =
          i == j ? std::abs(normal(random)) : normal(random);
  }
  std::string mean;
  std::string covariance = "ticker";
  for (std::size_t i = 0; i < n; ++i) {
    mean += fmt::format("{},{}\n", moments.tickers[i], moments.mean[i]);
    covariance += "," + moments.tickers[n - 1 - i];  // columns in another order
  }
  for (std::size_t i = 0; i < n; ++i) {
    covariance += "\n" + moments.tickers[i];
    for (std::size_t j = 0; j < n; ++j)
      covariance += fmt::format(",{}", moments.covariance[i * n + n - 1 - j]);
  }
  RC_ASSERT(moments_of(mean, covariance) == moments);
}

// Damage is either harmless or an InputError, never a crash or another exception.
TEST(Moments, SurviveDamagedFiles) {
  constexpr std::string_view interesting = "\0\r\n,;\".-+e0123 \xff nNaAB"sv;
  std::mt19937 random(11);
  const auto below = [&](std::size_t bound) { return random() % bound; };
  const auto damaged = [&](std::string text) {
    for (std::size_t edits = below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size());
      switch (below(3)) {
        case 0: text[at] = interesting[below(interesting.size())]; break;
        case 1: text.insert(at, 1, interesting[below(interesting.size())]); break;
        default: text.erase(at, 1 + below(4));
      }
    }
    return text;
  };
  int accepted = 0;
  int refused = 0;
  const auto attempt = [&](const auto& parse) {
    try {
      const Moments moments = parse();
      ++accepted;
      const auto n = static_cast<std::size_t>(moments.n());
      ASSERT_EQ(moments.covariance.size(), n * n);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          ASSERT_EQ(moments.covariance[i * n + j], moments.covariance[j * n + i]);  // no NaN either
    } catch (const InputError&) {
      ++refused;
    }
  };
  for (int round = 0; round < 10'000; ++round) {
    attempt([&] { return parse_orlib(damaged(kTwo), "o.txt"); });
    attempt([&] { return moments_of(damaged(kMean), damaged(kCov)); });
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace sharpen::market
