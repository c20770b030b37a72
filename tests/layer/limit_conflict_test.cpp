// Limits that cannot hold together: why, and by how little they have to give way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "layer/feasibility.hpp"
#include "layer/limited_instances.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/layer/least_violation.hpp"
#include "sharpen/layer/limit_rules.hpp"

namespace sharpen::layer {
namespace {

const ObjectiveSettings kSharpe{.kind = Objective::sharpe};
const ObjectiveSettings kUtility{.kind = Objective::utility};

std::vector<std::string> tickers_of(Index n) {
  std::vector<std::string> out;
  for (Index i = 0; i < n; ++i) out.push_back("S" + std::to_string(i));
  return out;
}

std::string conflict(std::string_view text, Index n, Objective objective = Objective::sharpe) {
  try {
    LimitBook(std::make_shared<const LimitRules>(read_limits(text, "limits.toml")), tickers_of(n),
              {}, Net::any, objective);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(EvenWeights, AddUpToTheNetPositionOrComeAsNearAsTheirBoundsAllow) {
  sharpen::testing::Problems random(11);
  int reached = 0;
  for (int round = 0; round < 200; ++round) {
    const Index n = 1 + random.below(30);
    Limits limits;
    double least = 0.0, most = 0.0;
    for (Index i = 0; i < n; ++i) {
      const double low = 0.2 * random.vector(1)[0];
      limits.lower.push_back(low);
      limits.upper.push_back(low + 0.2 * std::abs(random.vector(1)[0]));
      if (round % 5 == 0 && i % 3 == 0) limits.upper.back() = kUnlimited;
      if (round % 7 == 0 && i % 3 == 1) limits.lower.back() = -kUnlimited;
      least += limits.lower.back();
      most += limits.upper.back();
    }
    const double net = round % 2 == 0 ? 1.0 : 0.0;
    const std::vector<double> w = even_weights(limits, n, net);
    EXPECT_TRUE(holds(limits, w));
    const double sum = std::accumulate(w.begin(), w.end(), 0.0);
    EXPECT_NEAR(sum, std::clamp(net, least, most), 1e-13 * static_cast<double>(n));
    reached += least < net && net < most ? 1 : 0;
  }
  EXPECT_GT(reached, 40);
  EXPECT_EQ(even_weights({}, 4, 1.0), std::vector<double>(4, 0.25));
}

TEST(LimitConflict, SaysWhyInWords) {
  EXPECT_EQ(conflict("long_only = true\nmax_weight = 0.1", 5),
            "every weight <= 10 % (5 assets) cannot hold with weights that add up to 1: relax it");
  EXPECT_EQ(conflict("long_only = true\nmax_weight = 0.1", 10), "");
  EXPECT_EQ(conflict(R"(max_weight = 0.1
groups = {S0 = "Energy", S1 = "Energy", S2 = "Energy", S3 = "Energy", S4 = "Tech", S5 = "Tech"}
rows = ["Energy <= 0.3", "Tech <= 0.1", "S7 <= 0.9"])",
                     8),
            "Energy <= 0.3, Tech <= 0.1 and every weight <= 10 % (8 assets) cannot hold together "
            "with weights that add up to 1: relax one of them");
  EXPECT_EQ(conflict("rows = [\"S0 + S1 <= 0.1\"]\n[weights.S0]\nmin = 0.07\n[weights.S1]\nmin = "
                     "0.07\n[weights.S2]\nmin = 0.07",
                     6),
            "S0 + S1 <= 0.1 and the weights of S0 and S1 >= 7 % cannot hold together: relax one of "
            "them");
  EXPECT_EQ(conflict("max_gross = 0.5", 3),
            "gross <= 0.5 cannot hold with weights that add up to 1: relax it");
  EXPECT_EQ(conflict("max_gross = 0.5", 3, Objective::utility), "");
  EXPECT_EQ(conflict("rows = [\"S0 - S1 >= 1\", \"S1 - S2 >= 1\", \"S2 - S0 >= 1\", \"S0 <= 3\"]",
                     4, Objective::utility),
            "S0 - S1 >= 1, S1 - S2 >= 1 and S2 - S0 >= 1 cannot hold together: relax one of them");
  EXPECT_EQ(conflict("min_weight = 0.3\nmax_gross = 1", 4, Objective::utility),
            "every weight >= 30 % (4 assets) and gross <= 1 cannot hold together: relax one of "
            "them");
}

TEST(LimitConflict, SeesWhatIsHeldAlready) {
  const std::string drifted =
      "max_weight = 0.4\nmax_turnover = 0.1\n[holdings]\nS0 = 0.6\nS1 = 0.4\n";
  EXPECT_EQ(conflict(drifted, 3, Objective::utility),
            "the weight of S0 <= 40 % and turnover <= 0.1 from what is held cannot hold together: "
            "relax one of them");
  EXPECT_EQ(conflict(drifted, 3),
            "the weight of S0 <= 40 % and turnover <= 0.1 from what is held cannot hold together: "
            "relax one of them");
}

TEST(LimitConflict, LooksAtEveryDateOfThePanel) {
  const auto rules = std::make_shared<const LimitRules>(read_limits(R"(max_weight = 0.3
groups = """
asset,group,date
S0,x,2020-01-01
S0,,2021-01-01
"""
rows = ["x >= 0.1"]
)",
                                                                    "limits.toml"));
  const std::vector<std::string> tickers = tickers_of(4);
  const auto make = [&](const char* first, const char* last) {
    LimitBook(rules, tickers, {}, Net::any, Objective::sharpe, first, last);
  };
  EXPECT_NO_THROW(make("2020-01-01", "2020-12-31"));
  EXPECT_THROW(make("2019-12-31", "2020-12-31"), InputError);
  try {
    make("2020-03-01", "2021-12-31");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "x >= 0.1 cannot hold: relax it (2021-01-01)");
  }
}

// A random system; about half of them cannot hold together.
struct System {
  explicit System(std::uint64_t seed) : random(seed, 8) {
    n = random.n;
    limits = random.limits;
    limits.costs.clear();
    for (LimitRow& row : limits.rows) {
      const double move = 0.6 * random.normal();
      row.lower += move;
      row.upper += move;
    }
    for (double& x : limits.upper) x *= random.chance(0.5) ? 0.3 : 1.0;
    if (limits.turnover < kUnlimited && random.chance(0.5)) limits.turnover = 0.01;
    if (limits.gross < kUnlimited && random.chance(0.3)) limits.gross = 0.4;
  }
  limited::Instance random;
  Index n;
  Limits limits;
};

TEST(LimitConflict, IsIrreducible) {
  int conflicts = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    System system(seed);
    for (std::size_t r = 0; r < system.limits.rows.size(); ++r)
      system.limits.rows[r].name = "row" + std::to_string(r);
    const ObjectiveSettings objective = seed % 2 == 0 ? kSharpe : kUtility;
    const std::string words = conflict_in_words(system.limits, tickers_of(system.n), objective);
    const Limits all = with_net_row(system.limits, system.n, objective.kind);
    const Feasibility found = feasibility(all, system.n);
    ASSERT_NE(found.answer, Feasibility::Answer::unknown) << seed;
    EXPECT_EQ(words.empty(), found.answer == Feasibility::Answer::yes) << seed << words;
    if (words.empty()) continue;
    ++conflicts;
    EXPECT_GT(parts_of(all, system.n, found.proof).gap, 0.0) << seed;
    // Without any one row that is named, the others can hold together or another conflict is there
    // that does not name it.
    for (std::size_t r = 0; r < system.limits.rows.size(); ++r) {
      if (words.find("row" + std::to_string(r) + " ") == std::string::npos) continue;
      Limits fewer = system.limits;
      fewer.rows.erase(fewer.rows.begin() + static_cast<std::ptrdiff_t>(r));
      const std::string others = conflict_in_words(fewer, tickers_of(system.n), objective);
      EXPECT_NE(others, words) << seed;
    }
  }
  EXPECT_GT(conflicts, 50);
}

// s by halving, which asks the kernel only whether limits can hold together.
double naive_violation(const Limits& limits, Index n, const ObjectiveSettings& objective) {
  const auto can = [&](double s) {
    Limits wide = limits;
    for (Index i = 0; i < n; ++i) {
      const bool fixed = !limits.lower.empty() && !limits.upper.empty() &&
                         limits.lower[at(i)] == limits.upper[at(i)];
      if (fixed) continue;
      if (!limits.lower.empty() && limits.lower[at(i)] != 0.0) wide.lower[at(i)] -= s;
      if (!limits.upper.empty()) wide.upper[at(i)] += s;
    }
    for (LimitRow& row : wide.rows) {
      if (row.lower == row.upper) continue;
      double largest = 0.0;
      for (const double a : row.coefficients) largest = std::max(largest, std::abs(a));
      if (largest == 0.0) largest = 1.0;
      row.lower -= s * largest;
      row.upper += s * largest;
    }
    wide.gross += s;
    wide.turnover += s;
    return feasibility(with_net_row(wide, n, objective.kind), n).answer == Feasibility::Answer::yes;
  };
  if (can(0.0)) return 0.0;
  double low = 0.0, high = 1.0;
  while (!can(high)) high *= 2.0;
  for (int step = 0; step < 45; ++step) (can(0.5 * (low + high)) ? high : low) = 0.5 * (low + high);
  return high;
}

TEST(LeastViolation, IsThatOfHalving) {
  int conflicts = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const System system(seed);
    const ObjectiveSettings objective = seed % 2 == 0 ? kSharpe : kUtility;
    Limits relaxed;
    const double s = least_violation(system.limits, system.n, objective, relaxed);
    EXPECT_NEAR(s, naive_violation(system.limits, system.n, objective), 2e-9 * (1.0 + s)) << seed;
    EXPECT_EQ(feasibility(with_net_row(relaxed, system.n, objective.kind), system.n).answer,
              Feasibility::Answer::yes)
        << seed;
    EXPECT_EQ(relaxed.rows.size(), system.limits.rows.size());
    conflicts += s > 0.0;
    Limits again;
    EXPECT_EQ(least_violation(system.limits, system.n, objective, again), s);
  }
  EXPECT_GT(conflicts, 50);
}

TEST(LeastViolation, IsWhatAPencilSays) {
  // A name has drifted over its cap, and selling the rest of it is not allowed today: x is sold and
  // bought elsewhere, 2 x <= 0.02 + s and 0.15 - x <= 0.10 + s.
  Limits limits;
  limits.lower.assign(10, 0.0);
  limits.upper.assign(10, 0.10);
  limits.holdings = {0.15, 0.10, 0.10, 0.10, 0.10, 0.09, 0.09, 0.09, 0.09, 0.09};
  limits.turnover = 0.02;
  Limits relaxed;
  EXPECT_NEAR(least_violation(limits, 10, kSharpe, relaxed), 0.08 / 3.0, 1e-9);
  EXPECT_NEAR(relaxed.upper[0], 0.10 + 0.08 / 3.0, 3e-9);
  EXPECT_EQ(relaxed.lower[0], 0.0);
  // Five names of 10 % cannot add up to 1.
  limits = {};
  limits.upper.assign(5, 0.10);
  EXPECT_NEAR(least_violation(limits, 5, kSharpe, relaxed), 0.10, 1e-9);
  EXPECT_EQ(least_violation(limits, 5, kUtility, relaxed), 0.0);
  // A name that cannot be sold, over its group's cap: the group gives way, the name does not.
  limits = {};
  limits.lower = {0.3, 0.0, 0.0};
  limits.upper = {0.3, 1.0, 1.0};
  limits.rows = {{"group", {2.0, 2.0, 0.0}, -kUnlimited, 0.4}};
  EXPECT_NEAR(least_violation(limits, 3, kSharpe, relaxed), 0.1, 1e-9);
  EXPECT_EQ(relaxed.upper[0], 0.3);
  EXPECT_NEAR(relaxed.rows[0].upper, 0.6, 3e-9);
  // Equalities that exclude each other give way in the end.
  limits = {};
  limits.rows = {{"a", {1.0, 1.0}, 0.2, 0.2}, {"b", {1.0, 1.0}, 0.4, 0.4}};
  EXPECT_NEAR(least_violation(limits, 2, kUtility, relaxed), 0.1, 1e-9);
  EXPECT_NEAR(least_violation(limits, 2, kSharpe, relaxed), 0.8, 1e-9);
}

}  // namespace
}  // namespace sharpen::layer
