#include "sharpen/study/grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharpen/base/error.hpp"

namespace sharpen::study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Grid grid(const std::string& toml) {
  settings::Values values(settings::study);
  values.read_toml(toml, "s.toml");
  return grid_of(values, toml, "s.toml");
}

std::string error_of(const std::string& toml) {
  try {
    grid(toml);
  } catch (const InputError& error) {
    return error.what();
  }
  return "(no error)";
}

std::vector<std::string> method_names(const Grid& of) {
  std::vector<std::string> names;
  for (const MethodGrid& method : of.methods) names.push_back(method.name);
  return names;
}

std::string text_of(const MethodGrid& method, std::string_view name) {
  const Given* given = find_given(method.settings, name);
  return given != nullptr ? given->text : "(none)";
}

const std::string kMarket = "[[market]]\nsimulate = { assets = 5, days = 200 }\n";

// A list of all numbers: refused in the time that it takes to read it.
TEST(StudyGrid, AListOfTooManyIsRefused) {
  std::string list;
  for (int k = 1; k <= 120'000; ++k) list += (k == 1 ? "" : ",") + std::to_string(k);
  EXPECT_THAT(error_of("prices = [\"a.csv\"]\nk = [" + list + "]\n"),
              HasSubstr("cells, more than"));
}

TEST(StudyGrid, PaperHasItsSevenMethodsAndOurs) {
  const Grid paper = grid("preset = \"paper\"\nprices = [\"a/n.csv\", \"f.csv.gz\"]\n");
  EXPECT_THAT(method_names(paper), ElementsAre("historic-oscar", "historic-sdr", "historic-mssrm",
                                               "pfl-oscar", "pfl-sdr", "pfl-mssrm", "dfl-oscar",
                                               "dfl-swap", "rolling-mssrm-long", "equal"));
  EXPECT_THAT(paper.ks, ElementsAre("10%", "15%", "20%"));
  EXPECT_THAT(paper.seeds, ElementsAre(1, 2, 3, 4, 5));
  ASSERT_EQ(paper.markets.size(), 2u);
  EXPECT_EQ(paper.markets[0].name, "n");
  EXPECT_EQ(paper.markets[1].name, "f");
  for (std::size_t i = 0; i < paper.methods.size(); ++i) {
    const MethodGrid& method = paper.methods[i];
    EXPECT_EQ(method.role, i < 7 ? Role::paper : Role::own) << method.name;
    EXPECT_EQ(method.training, i < 7 ? "paper" : "default") << method.name;
    const bool sdr = text_of(method, "optimizer") == "sdr";
    EXPECT_EQ(text_of(method, "sdr-recovery"), sdr ? "match" : "(none)") << method.name;
    EXPECT_EQ(text_of(method, "sdr-match"), sdr ? "monthly" : "(none)") << method.name;
  }
}

TEST(StudyGrid, DemoHasThePapersMethodsOnASimulatedMarket) {
  const Grid demo = grid("preset = \"demo\"\n");
  EXPECT_EQ(method_names(demo), method_names(grid("preset = \"paper\"\nprices = \"a.csv\"\n")));
  EXPECT_THAT(demo.seeds, ElementsAre(1, 2, 3));
  ASSERT_EQ(demo.markets.size(), 1u);
  EXPECT_TRUE(demo.markets[0].simulation.has_value());
}

TEST(StudyGrid, AlphaSweepsFromPredictionToDecision) {
  const Grid alpha = grid("preset = \"alpha\"\nprices = \"a.csv\"\n");
  EXPECT_THAT(method_names(alpha),
              ElementsAre("alpha-0", "alpha-0.1", "alpha-0.5", "alpha-0.9", "alpha-1"));
  for (const MethodGrid& method : alpha.methods) {
    EXPECT_EQ(method.role, Role::sweep);
    EXPECT_EQ(method.training, "paper");
    EXPECT_EQ(text_of(method, "optimizer"), "oscar");
    EXPECT_EQ(text_of(method, "framework"), method.name == "alpha-0" ? "pfl" : "dfl");
  }
  EXPECT_THAT(method_names(grid("preset = \"alpha\"\nprices = \"a.csv\"\nalphas = [0.25]\n")),
              ElementsAre("alpha-0.25"));
}

TEST(StudyGrid, ListsMakeEveryCombination) {
  const Grid lists = grid(
      "prices = \"a.csv\"\nframeworks = [\"historic\", \"pfl\", \"dfl\"]\n"
      "optimizers = [\"oscar\", \"equal\"]\ntrainings = [\"default\", \"paper\"]\n"
      "alphas = [0.5, 1]\ncosts = [0, 10]\nk = [3, \"10%\"]\nseeds = [7, 3]\n");
  EXPECT_THAT(method_names(lists),
              ElementsAre("historic-oscar-0bp", "pfl-oscar-default-0bp", "pfl-oscar-paper-0bp",
                          "dfl-oscar-default-a0.5-0bp", "dfl-oscar-default-a1-0bp",
                          "dfl-oscar-paper-a0.5-0bp", "dfl-oscar-paper-a1-0bp", "equal-0bp",
                          "historic-oscar-10bp", "pfl-oscar-default-10bp", "pfl-oscar-paper-10bp",
                          "dfl-oscar-default-a0.5-10bp", "dfl-oscar-default-a1-10bp",
                          "dfl-oscar-paper-a0.5-10bp", "dfl-oscar-paper-a1-10bp", "equal-10bp"));
  for (const MethodGrid& method : lists.methods) EXPECT_EQ(method.role, Role::paper) << method.name;
  EXPECT_THAT(lists.ks, ElementsAre("3", "10%"));
  EXPECT_THAT(lists.seeds, ElementsAre(7, 3));
}

TEST(StudyGrid, SeedsAreACountOrAListOrARange) {
  const auto seeds = [](const std::string& text) {
    return grid("seeds = " + text + "\n" + kMarket).seeds;
  };
  EXPECT_THAT(seeds("3"), ElementsAre(1, 2, 3));
  EXPECT_THAT(seeds("\"4-6\""), ElementsAre(4, 5, 6));
  EXPECT_THAT(seeds("[9, \"2-3\"]"), ElementsAre(9, 2, 3));
  EXPECT_THAT(grid("seeds = 2\nseed = 10\n" + kMarket).seeds, ElementsAre(11, 12));
}

TEST(StudyGrid, IsWrittenBackToTheSameGrid) {
  for (const std::string& toml :
       {std::string("preset = \"paper\"\nprices = [\"a.csv\", \"b, c.csv\"]\nepochs = 3\n"),
        "k = [5, \"10%\"]\nseeds = 2\nlookback = 20\n[[market]]\nname = \"α \\\"x\\\"\"\n"
        "returns = \"r.csv\"\ngross = true\nfrom = 2010-01-01\n" +
            kMarket +
            "[[method]]\nframework = \"dfl\"\nhidden = [\"4\"]\n[[method]]\nname = \"n\"\n"
            "optimizer = \"equal\"\n"}) {
    const Grid first = grid(toml), again = grid(first.toml);
    EXPECT_EQ(again.toml, first.toml);
    EXPECT_EQ(method_names(again), method_names(first));
    ASSERT_EQ(again.markets.size(), first.markets.size());
    for (std::size_t i = 0; i < again.markets.size(); ++i)
      EXPECT_EQ(again.markets[i].name, first.markets[i].name);
    ASSERT_EQ(again.common.size(), first.common.size());
  }
}

TEST(StudyGrid, HowItRunsIsNoPartOfIt) {
  const std::string plain = grid("seeds = 1\n" + kMarket).toml;
  EXPECT_EQ(
      grid("seeds = 1\nthreads = 7\nmax-memory = 2\nout = \"x\"\njson = true\n" + kMarket).toml,
      plain);
}

TEST(StudyGrid, RefusesWithPlaceAndRemedy) {
  const std::string method = "[[method]]\n";
  EXPECT_THAT(error_of(""), HasSubstr("needs a market; give --prices FILE"));
  EXPECT_THAT(error_of("preset = \"paper\"\n"), HasSubstr("needs a market"));
  for (const char* shared :
       {"split = \"70%\"", "stats-from = \"9\"", "risk-free = 0.05", "periods-per-year = 52"})
    EXPECT_THAT(error_of(kMarket + method + shared + "\n"),
                HasSubstr("it belongs to a market, whose methods share it"))
        << shared;
  EXPECT_THAT(error_of("presett = \"demo\"\n"), HasSubstr("s.toml:1: presett is not a setting"));
  EXPECT_THAT(error_of("[market]\nname = \"x\"\n"),
              HasSubstr("s.toml:1: market is a list of tables; begin each with [[market]]"));
  EXPECT_THAT(error_of("[[market]]\nname = \"x\"\n"),
              HasSubstr("s.toml:1: a market needs one of prices, returns and simulate"));
  EXPECT_THAT(error_of("[[market]]\nprices = \"a\"\nreturns = \"b\"\n"),
              HasSubstr("only one of prices, returns and simulate"));
  EXPECT_THAT(error_of("[[market]]\nprices = 5\n"), HasSubstr("s.toml:2: prices = 5 must be"));
  EXPECT_THAT(error_of("[[market]]\nprises = \"a\"\n"),
              HasSubstr("s.toml:2: prises is not a setting of a market; did you mean prices?"));
  EXPECT_THAT(error_of("[[market]]\nsimulate = { asets = 5 }\n"),
              HasSubstr("s.toml:2: asets is not a setting of a simulation; did you mean assets?"));
  EXPECT_THAT(error_of("[[market]]\nsimulate = 5\n"), HasSubstr("simulate must be a table"));
  EXPECT_THAT(error_of("[[market]]\nsimulate = { assets = 0 }\n"),
              HasSubstr("s.toml:2: assets = 0 is outside"));
  EXPECT_THAT(error_of(kMarket + kMarket), HasSubstr("two markets are called simulated"));
  EXPECT_THAT(error_of(kMarket + method + method), HasSubstr("two methods are called"));
  EXPECT_THAT(error_of(kMarket + method + "k = 5\n"),
              HasSubstr("s.toml:4: k is not a setting of a method; the study has it"));
  EXPECT_THAT(error_of(kMarket + method + "preset = \"paper\"\n"), HasSubstr("called training"));
  EXPECT_THAT(error_of(kMarket + method + "training = \"best\"\n"),
              HasSubstr("s.toml:4: training = best is not one of default, paper"));
  EXPECT_THAT(error_of(kMarket + method + "framework = \"dfl\"\noptimizer = \"equal\"\n"),
              HasSubstr("framework = dfl has no use for optimizer = equal"));
  EXPECT_THAT(error_of(kMarket + method + "framework = \"signal\"\n"),
              HasSubstr("s.toml:3: framework = signal needs a file"));
  EXPECT_THAT(error_of(kMarket + method + "framework = \"historic\"\nepochs = 3\n"),
              HasSubstr("s.toml:5: epochs has no meaning here"));
  EXPECT_THAT(error_of("preset = \"paper\"\n" + kMarket + method), HasSubstr("[[method]] cannot"));
  EXPECT_THAT(error_of("prices = \"a.csv\"\n" + kMarket), HasSubstr("[[market]] tables"));
  EXPECT_THAT(error_of("preset = \"paper\"\noptimizers = \"swap\"\n" + kMarket),
              HasSubstr("optimizers (s.toml:2): --preset paper has its own methods"));
  EXPECT_THAT(error_of("k = [\"10%\", \"10.0%\"]\n" + kMarket), HasSubstr("10% is given twice"));
  EXPECT_THAT(error_of("k = [\"0%\"]\n" + kMarket), HasSubstr("outside (0%, 100%]"));
  EXPECT_THAT(error_of("seeds = 0\n" + kMarket), HasSubstr("0 leaves nothing to do"));
  EXPECT_THAT(error_of("seeds = \"x\"\n" + kMarket), HasSubstr("neither a number of seeds"));
  EXPECT_THAT(error_of("seeds = \"5-3\"\n" + kMarket), HasSubstr("runs backwards"));
  EXPECT_THAT(error_of("seeds = [3, 3]\n" + kMarket), HasSubstr("3 is given twice"));
  EXPECT_THAT(error_of("seeds = 10001\n" + kMarket), HasSubstr("more than 10000"));
  EXPECT_THAT(error_of("frameworks = \"dfl\"\noptimizers = \"equal\"\n" + kMarket),
              HasSubstr("framework dfl has no use for equal"));
  EXPECT_THAT(error_of("frameworks = \"historic\"\nalphas = [0.5]\n" + kMarket),
              HasSubstr("goes with framework dfl only"));
  EXPECT_THAT(error_of("frameworks = \"dffl\"\n" + kMarket), HasSubstr("did you mean dfl?"));
}

}  // namespace
}  // namespace sharpen::study
