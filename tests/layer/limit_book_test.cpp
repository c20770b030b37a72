// Rules that meet a panel: names, dates, subsets, betas, the net position.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "sharpen/base/error.hpp"
#include "sharpen/layer/limit_rules.hpp"

namespace sharpen::layer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kTickers = {"A", "B", "C", "D"};
const std::vector<Index> kAll = {0, 1, 2, 3};

std::shared_ptr<const LimitRules> rules_of(std::string_view text) {
  return std::make_shared<const LimitRules>(read_limits(text, "limits.toml"));
}

LimitBook book_of(std::string_view text, Objective objective = Objective::expected_return,
                  Net net = Net::any, std::vector<std::string> known = {}) {
  return LimitBook(rules_of(text), kTickers, known, net, objective);
}

Limits limits_of(std::string_view text, Objective objective = Objective::expected_return,
                 Net net = Net::any) {
  return book_of(text, objective, net).at(kAll, "", {}, {});
}

std::string book_error(std::string_view text, Objective objective = Objective::expected_return,
                       std::vector<std::string> known = {}) {
  try {
    book_of(text, objective, Net::any, std::move(known));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> row_names(const Limits& limits) {
  std::vector<std::string> out;
  for (const LimitRow& row : limits.rows) out.push_back(row.name);
  return out;
}

TEST(LimitBook, BindsEveryKindOfName) {
  const Limits limits = limits_of(R"(
min_weight = -0.5
max_weight = 0.4
min_held = 0.02
max_gross = 1.5
groups = {A = "x", B = ["x", "y"], C = "y"}
coefficients = """
asset,size
A,1
B,2
C,3
D,4
"""
rows = ["x - 0.5 y <= 0.3", "size + A <= 2", "2 * net - D >= 0.1"]
[weights.B]
max = 0.9
min_held = 0.1
[names]
y = {min = 1, max = 1}
)");
  EXPECT_THAT(limits.lower, ElementsAre(-0.5, -0.5, -0.5, -0.5));
  EXPECT_THAT(limits.upper, ElementsAre(0.4, 0.9, 0.4, 0.4));
  EXPECT_THAT(limits.least_if_held, ElementsAre(0.02, 0.1, 0.02, 0.02));
  EXPECT_EQ(limits.gross, 1.5);
  EXPECT_EQ(limits.turnover, kUnlimited);
  ASSERT_EQ(limits.rows.size(), 3U);
  EXPECT_THAT(limits.rows[0].coefficients, ElementsAre(1.0, 0.5, -0.5, 0.0));
  EXPECT_THAT(limits.rows[1].coefficients, ElementsAre(2.0, 2.0, 3.0, 4.0));
  EXPECT_THAT(limits.rows[2].coefficients, ElementsAre(2.0, 2.0, 2.0, 1.0));
  EXPECT_EQ(limits.rows[0].name, "x - 0.5 y <= 0.3");
  EXPECT_EQ(limits.rows[0].upper, 0.3);
  ASSERT_EQ(limits.names.size(), 1U);
  EXPECT_THAT(limits.names[0].members, ElementsAre(1, 2));
  EXPECT_EQ(limits.names[0].least, 1);
}

TEST(LimitBook, PermutesAndDropsColumns) {
  const LimitBook book = book_of(R"(
groups = {A = "x", B = ["x", "y"], C = "y"}
holdings = {A = 0.1, C = 0.3}
max_turnover = 0.2
rows = ["x - 0.5 y <= 0.3", "A <= 0.1"]
[names]
x = 1
[weights.A]
max = 0.7
)");
  const std::vector<Index> columns = {2, 0, 3};
  const Limits limits = book.at(columns, "", {}, {});
  EXPECT_THAT(limits.upper, ElementsAre(kUnlimited, 0.7, kUnlimited));
  EXPECT_THAT(limits.rows[0].coefficients, ElementsAre(-0.5, 1.0, 0.0));
  EXPECT_THAT(limits.rows[1].coefficients, ElementsAre(0.0, 1.0, 0.0));
  EXPECT_THAT(limits.holdings, ElementsAre(0.3, 0.1, 0.0));
  EXPECT_EQ(limits.turnover, 0.2);
  EXPECT_THAT(limits.names[0].members, ElementsAre(1));
  const std::vector<Index> last = {3};
  const Limits one = book.at(last, "", {}, {});
  EXPECT_EQ(one.rows.size(), 2U);  // a row stays where it is
  EXPECT_THAT(one.rows[1].coefficients, ElementsAre(0.0));
  EXPECT_NO_THROW(one.validate(1));
}

TEST(LimitBook, AColumnWithoutNumbersIsNamed) {
  for (const char* name : {"size", "beta"})
    EXPECT_EQ(book_error(std::string("rows = [\"") + name +
                         " <= 1\"]\ncoefficients = \"\"\"\nasset," + name + ",value\nA,,1\n\"\"\""),
              std::string("row \"") + name + " <= 1\": asset \"A\" has no \"" + name +
                  "\": add it to the table of coefficients");
}

TEST(LimitBook, LinesThatSayNothingOfAColumnLeaveItAsItWas) {
  const LimitBook book = book_of(R"(
coefficients = """
asset,size,date,value
D,1,2020-01-01,1
A,1,2020-01-01,1
A,,2021-01-01,3
A,5,2020-06-01,
B,1,2020-01-01,1
C,1,2020-01-01,1
"""
rows = ["size <= 2", "value <= 2"]
)");
  const auto of_A = [&](std::string_view date) {
    const Limits limits = book.at(kAll, date, {}, {});
    return std::pair(limits.rows[0].coefficients[0], limits.rows[1].coefficients[0]);
  };
  EXPECT_EQ(of_A("2020-03-01"), std::pair(1.0, 1.0));
  EXPECT_EQ(of_A("2020-06-01"), std::pair(5.0, 1.0));
  EXPECT_EQ(of_A("2021-02-01"), std::pair(5.0, 3.0));
  EXPECT_EQ(of_A(""), std::pair(5.0, 3.0));
}

TEST(LimitBook, TakesTheLatestEntryThatIsNotAfterTheDate) {
  const LimitBook book = book_of(R"(
groups = """
asset,group,date
B,y,2021-06-01
A,x,
A,y,2020-01-31
A,z,2020-01-31
A,,2022-01-01
"""
coefficients = """
asset,size,date
A,1,2020-01-01
B,1,2020-01-01
C,1,2020-01-01
D,1,2020-01-01
D,7,2021-01
"""
rows = ["x <= 0.5", "y <= 0.5", "z <= 0.5", "size <= 2"]
)");
  EXPECT_TRUE(book.changes());
  EXPECT_FALSE(book.needs_returns());
  const auto first_two = [&](std::string_view date) {
    const Limits limits = book.at(kAll, date, {}, {});
    std::string out;
    for (int r = 0; r < 3; ++r)
      for (int i = 0; i < 2; ++i) out += limits.rows[r].coefficients[i] == 1.0 ? '1' : '0';
    return out + std::to_string(static_cast<int>(limits.rows[3].coefficients[3]));
  };
  EXPECT_EQ(first_two("2020-01-30"), "1000001");
  EXPECT_EQ(first_two("2020-01-31"), "0010101");
  EXPECT_EQ(first_two("2020-12-31"), "0010101");
  EXPECT_EQ(first_two("2021-01-01"), "0010107");
  EXPECT_EQ(first_two("2021-06-01"), "0011107");
  EXPECT_EQ(first_two("2022-01-01"), "0001007");
  EXPECT_EQ(first_two(""), "0001007");
  try {
    book.at(kAll, "2019-12-31", {}, {});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"A\" has no \"size\" on 2019-12-31"));
  }
  EXPECT_FALSE(book_of("groups = \"\"\"\nasset,group,date\nA,x,2020-01-01\n\"\"\"").changes());
}

TEST(LimitBook, SetsTheNetPositionAsTheObjectiveNeedsIt) {
  const auto names = [](std::string_view text, Objective objective, Net net) {
    return row_names(limits_of(text, objective, net));
  };
  constexpr auto kReturn = Objective::expected_return;
  constexpr auto kSharpe = Objective::sharpe;
  EXPECT_THAT(names("max_gross = 2", kReturn, Net::any), IsEmpty());
  EXPECT_THAT(names("max_gross = 2", kReturn, Net::positive), ElementsAre("net >= 0"));
  EXPECT_THAT(names("min_weight = 0", kReturn, Net::positive), IsEmpty());
  EXPECT_THAT(names("long_only = true", kReturn, Net::positive), ElementsAre("net <= 1"));
  EXPECT_THAT(names("long_only = true", Objective::utility, Net::any), ElementsAre("net <= 1"));
  EXPECT_THAT(names("long_only = true\nmax_net = 1.5", kReturn, Net::any),
              ElementsAre("net <= 1.5"));
  EXPECT_THAT(names("min_net = -0.5", kReturn, Net::positive), ElementsAre("net >= -0.5"));
  EXPECT_THAT(names("min_net = 0.5\nmax_net = 0.5", kReturn, Net::positive),
              ElementsAre("net = 0.5"));
  EXPECT_THAT(names("rows = [\"-net >= -0.1\"]", kReturn, Net::positive),
              ElementsAre("net >= 0", "-net >= -0.1"));
  EXPECT_THAT(names("rows = [\"net = 0\"]\nlong_only = true", kReturn, Net::positive),
              ElementsAre("net = 0"));
  EXPECT_THAT(names("rows = [\"net = 1\", \"A <= 0.5\"]\nmin_net = 0.5\nlong_only = true", kSharpe,
                    Net::positive),
              ElementsAre("A <= 0.5"));
  for (const char* wrong : {"min_net = 1.5", "max_net = 0.5", "rows = [\"net <= 0.5\"]",
                            "rows = [\"-net >= 0\"]", "rows = [\"2 net >= 2.5\"]"})
    EXPECT_THAT(book_error(wrong, kSharpe), HasSubstr("weights that add up to 1")) << wrong;
}

// The naive formula, and what comes after the window does not count: it is not there.
TEST(LimitBook, HasBetasOfTheWindow) {
  std::mt19937_64 engine(7);
  std::normal_distribution<double> normal;
  std::vector<double> returns(40 * 3);
  for (double& r : returns) r = normal(engine);
  const ConstMat window(returns.data(), 40, 3);
  const std::vector<Index> columns = {3, 0, 1};
  const auto naive = [&](auto market) {
    std::vector<double> out(3);
    for (Index i = 0; i < 3; ++i) {
      double mr = 0, mm = 0, cov = 0, var = 0;
      for (Index t = 0; t < 40; ++t) {
        mr += window(t, i) / 40;
        mm += market(t) / 40;
      }
      for (Index t = 0; t < 40; ++t) {
        cov += (window(t, i) - mr) * (market(t) - mm);
        var += (market(t) - mm) * (market(t) - mm);
      }
      out[i] = cov / var;
    }
    return out;
  };
  const auto mean =
      naive([&](Index t) { return (window(t, 0) + window(t, 1) + window(t, 2)) / 3; });
  const auto first = naive([&](Index t) { return window(t, 1); });
  const LimitBook equal = book_of("rows = [\"beta <= 1.1\"]");
  const LimitBook against = book_of("rows = [\"2 beta <= 1.1\"]\nbeta_against = \"A\"");
  EXPECT_TRUE(equal.needs_returns());
  EXPECT_TRUE(equal.changes());
  const Limits a = equal.at(columns, "", window, {}), b = against.at(columns, "", window, {});
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(a.rows[0].coefficients[i], mean[i], 1e-13);
    EXPECT_NEAR(b.rows[0].coefficients[i], 2 * first[i], 1e-13);
  }
  EXPECT_THROW(equal.at(columns, "", {}, {}), InputError);
  const std::vector<Index> without = {3, 1, 2};
  EXPECT_THROW(against.at(without, "", window, {}), InputError);
  const std::vector<double> betas = {1, 2, 3};
  EXPECT_THAT(equal.with_betas(columns, "", betas, {}).rows[0].coefficients, ElementsAre(1, 2, 3));
  const LimitBook own = book_of(
      "rows = [\"beta <= 1.1\"]\ncoefficients = \"\"\"\nasset,beta\nA,1\nB,2\nC,3\nD,4\n\"\"\"");
  EXPECT_FALSE(own.needs_returns());
  EXPECT_THAT(own.at(columns, "", {}, {}).rows[0].coefficients, ElementsAre(4, 1, 2));
}

TEST(LimitBook, LetsTheFirstPurchaseBeAsLargeAsItIs) {
  const LimitBook book = book_of("max_turnover = 0.2");
  EXPECT_THAT(book.at(kAll, "", {}, {}).holdings, IsEmpty());
  const std::vector<double> cash(4), held = {0.0, 0.5, 0.0, 0.0};
  EXPECT_EQ(book.at(kAll, "", {}, cash).turnover, kUnlimited);
  EXPECT_EQ(book.at(kAll, "", {}, held).turnover, 0.2);
  EXPECT_THAT(book.at(kAll, "", {}, held).holdings, ElementsAre(0.0, 0.5, 0.0, 0.0));
}

TEST(LimitBook, RefusesNamesThatNobodyKnows) {
  const std::string groups = "groups = \"\"\"\nasset,group\nA,Tech\nB,Tech\nBB,Oil\n\"\"\"\n";
  EXPECT_THAT(book_error(groups), HasSubstr("(groups):4: there is no asset \"BB\" here; correct"));
  EXPECT_EQ(book_error(groups, Objective::sharpe, {"BB"}), "");
  EXPECT_THAT(book_error(groups + "rows = [\"Oil <= 0.1\"]", Objective::sharpe, {"BB"}),
              HasSubstr("nobody here is in the group \"Oil\""));
  EXPECT_THAT(book_error("rows = [\"BB <= 0.1\"]", Objective::sharpe, {"BB"}),
              HasSubstr("none of its assets is left"));
  EXPECT_EQ(book_error("rows = [\"BB + A <= 0.1\"]", Objective::sharpe, {"BB"}), "");
  EXPECT_THAT(book_error("rows = [\"Tec <= 0.1\"]\ngroups = {A = \"Tech\"}"),
              HasSubstr("did you mean Tech?"));
  EXPECT_THAT(book_error("rows = [\"zzzz <= 0.1\"]"), HasSubstr("; correct the name"));
  EXPECT_THAT(book_error("rows = [\"BRK-B <= 0.1\"]\ngroups = {A = \"BRK-B\"}"),
              HasSubstr("put 'BRK-B' in quotes"));
  EXPECT_THAT(book_error("rows = [\"A <= 0.1\"]\ngroups = {B = \"A\"}"),
              HasSubstr("an asset and a group"));
  EXPECT_THAT(book_error("rows = [\"net <= 0.1\"]\ngroups = {B = \"net\"}"),
              HasSubstr("a group and the net position"));
  EXPECT_THAT(book_error("[weights.E]\nmax = 1"), HasSubstr("weights: there is no asset \"E\""));
  EXPECT_THAT(book_error("[holdings]\nE = 1"), HasSubstr("holdings: there is no asset \"E\""));
  EXPECT_THAT(book_error("beta_against = \"E\""), HasSubstr("beta_against: there is no asset"));
  EXPECT_THAT(book_error("names = {x = 1}"), HasSubstr("there is no group \"x\""));
  EXPECT_THAT(book_error("names = {x = {min = 2}}\ngroups = {A = \"x\"}"),
              HasSubstr("which has 1 here"));
  EXPECT_THAT(book_error("rows = [\"s <= 1\"]\ncoefficients = \"\"\"\nasset,s\nA,1\n\"\"\""),
              HasSubstr("asset \"B\" has no \"s\""));
  EXPECT_THAT(book_error("coefficients = \"\"\"\nasset,s\nE,1\n\"\"\""),
              HasSubstr("(coefficients):2: there is no asset \"E\""));
}

TEST(LimitBook, RefusesMoreRowsThanCanBeKept) {
  LimitRules rules;
  rules.rows.assign(2001, parse_row("A <= 0.5"));
  std::vector<std::string> tickers = {"A"};
  for (int i = 1; i < 1000; ++i) tickers.push_back("N" + std::to_string(i));
  try {
    const LimitBook book(std::make_shared<const LimitRules>(rules), tickers, {}, Net::positive,
                         Objective::sharpe);
    ADD_FAILURE() << "rows times assets have no bound";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("2001 rows for 1000 assets are more than can be kept, "
                                        "which is 2000 for as many assets"));
  }
}

TEST(LimitBook, RefusesMoreAssetsThanCanBeHeld) {
  const auto rules = std::make_shared<const LimitRules>();
  std::vector<std::string> tickers;
  for (int i = 0; i < 10001; ++i) tickers.push_back("N" + std::to_string(i));
  try {
    const LimitBook book(rules, tickers, {}, Net::positive, Objective::sharpe);
    ADD_FAILURE() << "any number of assets is taken";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("10001 assets are more than the 10000"));
  }
}

TEST(LimitBook, RefusesBoundsThatCross) {
  EXPECT_THAT(book_error("long_only = true\nmax_weight = -0.1"), HasSubstr("(long_only)"));
  EXPECT_THAT(book_error("min_weight = 0.2\n[weights.B]\nmax = 0.1"),
              HasSubstr("the weight of B must be 0.2 or more and 0.1 or less"));
  EXPECT_THAT(book_error("min_held = 0.2\nmax_weight = 0.1\nlong_only = true"),
              HasSubstr("(min_held)"));
  EXPECT_EQ(book_error("min_held = 0.2\nlong_only = true\n[weights.B]\nmax = 0"), "");
}

}  // namespace
}  // namespace sharpen::layer
