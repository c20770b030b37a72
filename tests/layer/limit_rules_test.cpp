// Limits as people write them: rows, files, settings, and what is wrong with them.
#include "sharpen/layer/limit_rules.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "sharpen/base/error.hpp"
#include "support/files.hpp"

namespace sharpen::layer {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string written(const RowRule& row) {
  std::string out;
  for (const RowTerm& term : row.terms)
    out += std::to_string(term.factor).substr(0, 5) + "*" + term.name + " ";
  return out;
}

std::string row_error(std::string_view text) {
  try {
    parse_row(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string file_error(std::string_view text) {
  try {
    read_limits(text, "limits.toml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(LimitRow, MovesEverythingToItsSide) {
  struct Case {
    const char* text;
    const char* terms;
    double lower, upper;
  };
  const double inf = kUnlimited;
  const std::vector<Case> cases = {
      {"Energy <= 0.3", "1.000*Energy ", -inf, 0.3},
      {"0.1 <= Tech <= 0.4", "1.000*Tech ", 0.1, 0.4},
      {"0.4 >= Tech >= 0.1", "1.000*Tech ", 0.1, 0.4},
      {"AAPL + MSFT <= 8%", "1.000*AAPL 1.000*MSFT ", -inf, 0.08},
      {"0.5 A - 2 * B >= 0", "0.500*A -2.00*B ", 0.0, inf},
      {"net = 1", "1.000*net ", 1.0, 1.0},
      {"net == 1", "1.000*net ", 1.0, 1.0},
      {"Energy >= 0.5 * Tech", "1.000*Energy -0.50*Tech ", 0.0, inf},
      {"'Health Care' <= 0.2", "1.000*Health Care ", -inf, 0.2},
      {"\"Health Care\" <= 0.2", "1.000*Health Care ", -inf, 0.2},
      {"'O''Neill' <= .2", "1.000*O'Neill ", -inf, 0.2},
      {"BRK.B+AT&T<=1e-1", "1.000*BRK.B 1.000*AT&T ", -inf, 0.1},
      {"'0700.HK' + A/B <= 0.5", "1.000*0700.HK 1.000*A/B ", -inf, 0.5},
      {"A + 0.25 <= 1", "1.000*A ", -inf, 0.75},
      {"0.3 >= A", "-1.00*A ", -0.3, inf},
      {"-A <= -0.25", "-1.00*A ", -inf, -0.25},
      {"A - -2 B <= 0", "1.000*A 2.000*B ", -inf, 0.0},
      {"A + A <= 1", "2.000*A ", -inf, 1.0},
      {"A * 2 * 3 <= 1", "6.000*A ", -inf, 1.0},
      {"A ≤ 0.5", "1.000*A ", -inf, 0.5},
      {"Größe≥0.5", "1.000*Größe ", 0.5, inf},
      {"50% A <= 10 %", "0.500*A ", -inf, 0.1},
  };
  for (const Case& c : cases) {
    const RowRule row = parse_row(c.text);
    EXPECT_EQ(written(row), c.terms) << c.text;
    EXPECT_EQ(row.lower, c.lower) << c.text;
    EXPECT_EQ(row.upper, c.upper) << c.text;
    EXPECT_EQ(row.text, c.text);
  }
}

TEST(LimitRow, SaysWhatIsWrongAndWhere) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "empty"},
      {"   ", "empty"},
      {"Energy", "no limit"},
      {"Energy <=", "at character 10"},
      {"<= 0.3", "missing"},
      {"Energy < 0.3", "write <= instead of <"},
      {"Energy > 0.3", "write >= instead of >"},
      {"0.4 <= Tech <= 0.1", "nothing does"},
      {"0.1 <= Tech >= 0.4", "same way"},
      {"0.1 = Tech = 0.4", "same way"},
      {"0.1 <= A <= 0.2 <= 0.3", "at most two"},
      {"A <= 0.1 <= B", "between two limits"},
      {"A <= B <= 0.2", "between two limits"},
      {"0.1 <= 0.2", "names nothing"},
      {"A - A <= 0.2", "names nothing"},
      {"A * B <= 0.2", "two names are multiplied"},
      {"A / 2 <= 0.2", "no division"},
      {"2 (A + B) <= 0.2", "multiply it out"},
      {"Health Care <= 0.2", "put a name of several words in quotes"},
      {"'Health Care <= 0.2", "not closed"},
      {"'' <= 0.2", "no name between the quotes"},
      {"0700.HK <= 0.2", "'0700.HK'"},
      {"3M <= 0.2", "'3M'"},
      {"A <= 0.2 0.3", "missing"},
      {"A, B <= 0.2", "\",\" has no meaning"},
      {"A <= 1e999", "too large"},
      {"0 * A <= 1", "factor of 0"},
      {"A ++ + B <= 1", "missing"},
      {"A <= .", "neither a number nor a name"},
      {"A <= %", "\"%\" has no meaning"},
      {"\x01 <= 0.2", "has no meaning"},
  };
  for (const auto& [text, words] : cases)
    EXPECT_THAT(row_error(text), AllOf(HasSubstr(words), HasSubstr("row \""))) << text;
  EXPECT_THAT(row_error("Größe <= "), HasSubstr("at character 10"));
}

TEST(LimitFile, HasEveryKey) {
  const LimitRules rules = read_limits(R"(
long_only = true
min_weight = 0
max_weight = "5%"
min_held = 0.01
max_gross = 1.5
min_net = -0.5
max_net = 1
max_turnover = "20 %"
beta_against = "SPY"
rows = ["Energy <= 0.3",
        "beta <= 1.1"]
groups = {AAPL = "Tech", "BRK.B" = ["Tech", "Value"]}
[names]
Tech = 3
Value = {min = 1, max = 2}
[weights.AAPL]
max = 0.1
min = 0.02
[weights."BRK.B"]
min_held = "3%"
[holdings]
AAPL = 0.5
)",
                                       "limits.toml");
  EXPECT_TRUE(rules.long_only);
  EXPECT_EQ(rules.every.least, 0.0);
  EXPECT_EQ(rules.every.most, 0.05);
  EXPECT_EQ(rules.every.least_if_held, 0.01);
  EXPECT_EQ(rules.max_gross, 1.5);
  EXPECT_EQ(rules.min_net, -0.5);
  EXPECT_EQ(rules.max_net, 1.0);
  EXPECT_EQ(rules.max_turnover, 0.2);
  EXPECT_EQ(rules.beta_against, "SPY");
  ASSERT_EQ(rules.rows.size(), 2U);
  EXPECT_EQ(rules.rows[1].text, "beta <= 1.1");
  ASSERT_EQ(rules.groups.size(), 3U);
  EXPECT_EQ(rules.groups[2].group, "Value");
  EXPECT_EQ(rules.groups[2].where, "limits.toml:13");
  ASSERT_EQ(rules.names.size(), 2U);
  EXPECT_EQ(rules.names[0].most, 3);
  EXPECT_EQ(rules.names[1].least, 1);
  EXPECT_EQ(rules.assets.at("AAPL").least, 0.02);
  EXPECT_EQ(rules.assets.at("BRK.B").least_if_held, 0.03);
  EXPECT_EQ(rules.holdings.at("AAPL"), 0.5);
}

TEST(LimitFile, SaysWhatIsWrongWhereAndWhatToDo) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"long_only = 1", "limits.toml:1: long_only = 1 must be true or false"},
      {"\nlong_only = \"yes\"", "limits.toml:2: "},
      {"max_wieght = 0.1", "did you mean max_weight?"},
      {"max-weight = 0.1", "did you mean max_weight?"},
      {"objective = \"sharpe\"", "give --objective instead"},
      {"risk_aversion = 1", "give --risk-aversion instead"},
      {"max_weight = \"0.05\"", "must be a number such as 0.05"},
      {"max_weight = \"five\"", "must be a number"},
      {"max_weight = \"five%\"", "must be a number"},
      {"max_weight = true", "must be a number"},
      {"max_weight = [0.1]", "must be a number"},
      {"max_weight = 2020-01-01", "must be a number"},
      {"max_weight = nan", "must be finite"},
      {"max_weight = inf", "must be finite"},
      {"min_weight = -inf", "leave the key out"},
      {"min_weight = 0.2\nmax_weight = 0.1", "limits.toml:2: min_weight = 0.2 is more than"},
      {"min_net = 1\nmax_net = 0", "min_net = 1 is more than max_net = 0"},
      {"max_gross = -1", "must be 0 or more"},
      {"max_turnover = -0.1", "must be 0 or more"},
      {"min_held = -0.1", "must be 0 or more"},
      {"rows = \"A <= 1\"", "must be a list"},
      {"rows = [1]", "1 in rows must be a text"},
      {"rows = [\n\"A <= 1\",\n\"A <\"]", "limits.toml:3: row \"A <\""},
      {"groups = 3", "groups = 3 must be a text"},
      {"groups = \"\"", "must be a text"},
      {"groups = \"nowhere.csv\"", "nowhere.csv"},
      {"groups = \"nowhere.csv\"", "(which limits.toml:1 names)"},
      {"groups = {A = 3}", "A = 3 must be a text"},
      {"groups = {A = []}", "names no group"},
      {"groups = {A = [\"x\", \"x\"]}", "in group \"x\" twice"},
      {"groups = {\"\" = \"x\"}", "must be a plain name"},
      {"groups = \"\"\"\nasset,sector\nA,x\n\"\"\"", "asset, group and perhaps date"},
      {"groups = \"\"\"\nticker,group\nA,x\n\"\"\"", "no column called asset"},
      {"groups = \"\"\"\nasset,group\nA,x\nA,x\n\"\"\"", "twice, at line 2 and line 3"},
      {"groups = \"\"\"\nasset,group\nA\n\"\"\"", "(groups):2: 1 field where the header has 2"},
      {"groups = \"\"\"\nasset,group\nA,\n\"\"\"", "the group of asset A is missing"},
      {"groups = \"\"\"\nasset,group\n,x\n\"\"\"", "the name of the asset is missing"},
      {"groups = \"\"\"\nasset,group,date\nA,x,soon\n\"\"\"", "write dates as YYYY-MM-DD"},
      {"groups = \"\"\"\nasset,group,date\nA,x,2020-02-30\n\"\"\"", "not in the calendar"},
      {"groups = \"\"\"\nasset,group,date\nA,x,2020-01-01\nA,,2020-01-01\n\"\"\"", "in none"},
      {"groups = \"\"\"\nasset,group,group\nA,x,y\n\"\"\"", "two columns are called \"group\""},
      {"groups = \"\"\"\n\n\"\"\"", "empty"},
      {"coefficients = \"\"\"\nasset\nA\n\"\"\"", "no column of coefficients"},
      {"coefficients = \"\"\"\nasset,date\nA,2020-01-01\n\"\"\"", "no column of coefficients"},
      {"coefficients = \"\"\"\nasset,x\nA,nan\n\"\"\"", "missing value"},
      {"coefficients = \"\"\"\nasset,x\nA,inf\n\"\"\"", "not a finite number"},
      {"coefficients = \"\"\"\nasset,x\nA,1e999\n\"\"\"", "too large"},
      {"coefficients = \"\"\"\nasset,x\nA,1e200\n\"\"\"",
       "(coefficients):2: \"x\" of asset \"A\" is 1e+200, beyond 1e+70: write it in another unit"},
      {"coefficients = \"\"\"\nasset,x\\u0001\nA,1\n\"\"\"", "is not plain UTF-8 text"},
      {"coefficients = \"\"\"\nasset,x\nA,y\n\"\"\"", "(x of asset A)"},
      {"coefficients = \"\"\"\nasset,x\nA,1\nA,2\n\"\"\"", "twice, at line 2 and line 3"},
      {"coefficients = \"\"\"\nasset,\nA,1\n\"\"\"", "column 2 of the header has no name"},
      {"coefficients = {A = 1}", "must be a text"},
      {"holdings = \"\"\"\nasset,share\nA,1\n\"\"\"", "asset and weight"},
      {"holdings = \"\"\"\nasset,weight\nA,1\nA,2\n\"\"\"", "twice"},
      {"holdings = {A = \"x\"}", "A = 'x' must be a number"},
      {"names = 3", "must be a table such as"},
      {"names = {Tech = -1}", "whole number, 0 or more"},
      {"names = {Tech = 1.5}", "whole number, 0 or more"},
      {"names = {Tech = {min = 3, max = 2}}", "min = 3 is more than max = 2"},
      {"names = {Tech = {least = 3}}", "neither min nor max"},
      {"names = {Tech = {}}", "says nothing"},
      {"weights = 3", "must be a table"},
      {"weights = {A = 3}", "such as [weights.A]"},
      {"[weights.BRK.B]\nmax = 0.1", "[weights.\"BRK.B\"]"},
      {"[weights.A]\nmaximum = 0.1", "min, max and min_held are"},
      {"[weights.A]\nmin = 0.3\nmax = 0.1", "min = 0.3 is more than max = 0.1"},
      {"beta_against = 3", "must be a text"},
      {"beta_against = \"\"", "must be a text"},
      {"long_only = true\nlong_only = true", "not valid TOML"},
      {"= 3", "not valid TOML"},
      {"a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = 1", "more than 8 parts"},
  };
  for (const auto& [text, words] : cases) EXPECT_THAT(file_error(text), HasSubstr(words)) << text;
}

TEST(LimitFile, FindsItsTablesBesideIt) {
  const testing::Folder folder;
  folder.file("sectors.csv", "group;asset;date\nTech;A;2020-01-31\nOil;B;\n");
  folder.file("style.csv", "asset,size,value\nA,1.5,\nB,50%,-2\n");
  folder.file("held.csv", "asset,weight\nA,0.25\n");
  const LimitRules rules =
      read_limits("groups = \"sectors.csv\"\ncoefficients = \"style.csv\"\nholdings = \"held.csv\"",
                  folder.path("limits.toml"));
  ASSERT_EQ(rules.groups.size(), 2U);
  EXPECT_EQ(rules.groups[0].asset, "A");
  EXPECT_EQ(rules.groups[0].from, "2020-01-31");
  EXPECT_THAT(rules.groups[1].where, ::testing::EndsWith("sectors.csv:3"));
  EXPECT_THAT(rules.coefficients.names, ElementsAre("size", "value"));
  ASSERT_EQ(rules.coefficients.lines.size(), 2U);
  EXPECT_EQ(rules.coefficients.lines[1].asset, "B");
  EXPECT_THAT(rules.coefficients.values, ElementsAre(1.5, ::testing::IsNan(), 0.5, -2.0));
  EXPECT_EQ(rules.holdings.at("A"), 0.25);
}

TEST(LimitSettings, AreNothingOrComeBeforeTheFile) {
  EXPECT_EQ(limit_rules({}), nullptr);
  LimitSettings settings;
  settings.objective = Objective::utility;
  EXPECT_NE(limit_rules(settings), nullptr);
  settings.limits = "max_weight = 0.1\nmin_weight = 0.01\nlong_only = false\n";
  settings.groups = "asset,group\nA,x\n";
  settings.max_weight = 0.2;
  settings.long_only = true;
  const auto rules = limit_rules(settings);
  EXPECT_EQ(rules->every.most, 0.2);
  EXPECT_EQ(rules->every.least, 0.01);
  EXPECT_TRUE(rules->long_only);
  EXPECT_EQ(rules->groups[0].where, "groups:2");
  settings.limits = "nowhere.toml";
  EXPECT_THROW(limit_rules(settings), InputError);
}

bool same(const LimitRules& a, const LimitRules& b) {
  const auto same_weights = [](const WeightRule& x, const WeightRule& y) {
    return x.least == y.least && x.most == y.most && x.least_if_held == y.least_if_held;
  };
  const auto all = [](const auto& x, const auto& y, const auto& equal) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), equal);
  };
  return a.long_only == b.long_only && same_weights(a.every, b.every) &&
         a.max_gross == b.max_gross && a.min_net == b.min_net && a.max_net == b.max_net &&
         a.max_turnover == b.max_turnover && a.beta_against == b.beta_against &&
         a.holdings == b.holdings &&
         all(a.assets, b.assets,
             [&](const auto& x, const auto& y) {
               return x.first == y.first && same_weights(x.second, y.second);
             }) &&
         all(a.groups, b.groups,
             [](const auto& x, const auto& y) {
               return x.asset == y.asset && x.group == y.group && x.from == y.from;
             }) &&
         a.coefficients.names == b.coefficients.names &&
         all(a.coefficients.lines, b.coefficients.lines,
             [](const auto& x, const auto& y) { return x.asset == y.asset && x.from == y.from; }) &&
         all(a.coefficients.values, b.coefficients.values,
             [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }) &&
         all(a.names, b.names,
             [](const auto& x, const auto& y) {
               return x.group == y.group && x.least == y.least && x.most == y.most;
             }) &&
         all(a.rows, b.rows, [](const auto& x, const auto& y) {
           return x.text == y.text && x.lower == y.lower && x.upper == y.upper &&
                  written(x) == written(y);
         });
}

double some_number() {
  return *rc::gen::map(rc::gen::arbitrary<double>(),
                       [](double x) { return std::isfinite(x) ? x + 0.0 : 0.25; });
}

std::optional<double> perhaps(bool positive) {
  if (!*rc::gen::arbitrary<bool>()) return std::nullopt;
  const double x = some_number();
  return positive ? std::abs(x) : x;
}

std::string some_name() {
  return *rc::gen::elementOf(std::vector<std::string>{"A", "BRK.B", "Health Care", "0700.HK",
                                                      "O'Neill", "\"x\"", "a,b", "Größe", "x\\y",
                                                      "#1", " lead", "1", "net;", "[x]"});
}

RC_GTEST_PROP(LimitFile, ReadsBackWhatItWrote, ()) {
  LimitRules rules;
  rules.long_only = *rc::gen::arbitrary<bool>();
  rules.every = {perhaps(false), std::nullopt, perhaps(true)};
  rules.max_gross = perhaps(true);
  rules.max_turnover = perhaps(true);
  rules.min_net = perhaps(false);
  if (*rc::gen::arbitrary<bool>()) rules.beta_against = some_name();
  CoefficientTable& table = rules.coefficients;
  const int count = *rc::gen::inRange(0, 6);
  if (count > 0) table.names = {"c" + some_name(), "d" + some_name()};
  for (int i = 0; i < count; ++i) {
    const std::string from =
        *rc::gen::elementOf(std::vector<std::string>{"", "2020-01-01", "2021-03", "2019-12-31"});
    const GroupMember member{some_name(), some_name(), from, ""};
    const auto is_there = [&](const GroupMember& other) {
      return other.asset == member.asset && other.group == member.group && other.from == from;
    };
    if (std::ranges::none_of(rules.groups, is_there)) rules.groups.push_back(member);
    const CoefficientTable::Line line{some_name(), from, ""};
    if (std::ranges::none_of(table.lines, [&](const CoefficientTable::Line& other) {
          return other.asset == line.asset && other.from == line.from;
        })) {
      table.lines.push_back(line);
      table.values.push_back(some_number());
      table.values.push_back(*rc::gen::arbitrary<bool>() ? some_number() : std::nan(""));
    }
    rules.holdings[some_name()] = some_number();
    rules.assets[some_name()] = {perhaps(false), std::nullopt, perhaps(true)};
    const NamesRule names{some_name() + std::to_string(i), i, i + 2};
    rules.names.push_back(names);
  }
  rules.rows = {parse_row("0.1 <= 'Health Care' + \"it's\" <= 40%")};
  const std::string text = rules.to_toml();
  const LimitRules again = read_limits(text, "again.toml");
  RC_ASSERT(same(rules, again));
  RC_ASSERT(again.to_toml() == text);
}

TEST(LimitFile, WritesRowsThatNobodyWrote) {
  LimitRules rules;
  rules.rows = {{.text = "", .terms = {{-0.5, "it's"}, {2.0, "B"}}, .lower = -1.0, .upper = 0.25}};
  const LimitRules again = read_limits(rules.to_toml(), "again.toml");
  ASSERT_EQ(again.rows.size(), 1U);
  EXPECT_EQ(written(again.rows[0]), written(rules.rows[0]));
  EXPECT_EQ(again.rows[0].lower, -1.0);
  EXPECT_EQ(again.rows[0].upper, 0.25);
}

}  // namespace
}  // namespace sharpen::layer
