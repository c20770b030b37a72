#include "sharpen/study/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/study/checksum.hpp"
#include "study/small_study.hpp"

namespace sharpen::study {
namespace {

using ::testing::HasSubstr;

// Two small markets, every kind of method, seconds of work in all.
const std::string kStudy =
    "k = [2, \"50%\"]\nseeds = 2\nlookback = 15\nhidden = [\"4\"]\nepochs = 2\nbatch = 32\n"
    "[[market]]\nname = \"a\"\nsimulate = { assets = 5, days = 140, seed = 1 }\n"
    "[[market]]\nname = \"b\"\nsimulate = { assets = 6, days = 120, seed = 2 }\nrisk-free = 0.02\n"
    "[[method]]\nframework = \"historic\"\noptimizer = \"oscar\"\n"
    "[[method]]\nframework = \"pfl\"\noptimizer = \"oscar\"\ntraining = \"paper\"\n"
    "[[method]]\nframework = \"pfl\"\noptimizer = \"mssrm\"\ntraining = \"paper\"\n"
    "[[method]]\nname = \"stops\"\nframework = \"pfl\"\noptimizer = \"swap\"\nensemble = 2\n"
    "validation = 0.2\n"
    "[[method]]\nframework = \"dfl\"\noptimizer = \"oscar\"\ntraining = \"paper\"\n"
    "[[method]]\nname = \"dear\"\nframework = \"dfl\"\noptimizer = \"oscar\"\n"
    "training = \"paper\"\ncost-bps = 10\n"
    "[[method]]\noptimizer = \"equal\"\n";

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y) ||
           (std::isnan(x) && std::isnan(y)) || (x == 0.0 && y == 0.0);
  });
}

void expect_same(const backtest::Run& a, const backtest::Run& b, const std::string& what) {
  EXPECT_EQ(a.dates, b.dates) << what;
  EXPECT_TRUE(same_bits(a.returns, b.returns)) << what;
  EXPECT_TRUE(same_bits(a.turnover, b.turnover)) << what;
  ASSERT_EQ(a.weights.size(), b.weights.size()) << what;
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    EXPECT_EQ(a.weights[i].asset, b.weights[i].asset) << what;
    EXPECT_EQ(a.weights[i].weight, b.weights[i].weight) << what;
  }
}

void expect_same(const Results& a, const Results& b) {
  ASSERT_EQ(a.cells.size(), b.cells.size());
  for (std::size_t i = 0; i < a.cells.size(); ++i) {
    EXPECT_EQ(a.cells[i].state, b.cells[i].state);
    expect_same(a.cells[i].run, b.cells[i].run, "cell " + std::to_string(i));
    ASSERT_EQ(a.cells[i].regret.has_value(), b.cells[i].regret.has_value());
    if (a.cells[i].regret) {
      EXPECT_EQ(a.cells[i].regret->mean, b.cells[i].regret->mean);
      EXPECT_EQ(a.cells[i].regret->oracle, b.cells[i].regret->oracle);
    }
  }
}

TEST(StudyPlan, HasOneCellPerSeedOnlyWhereSomethingIsRandom) {
  const Plan plan = plan_of(kStudy);
  EXPECT_EQ(plan.results.cells.size(), 2u * 2u * (5u * 2u + 2u));
  for (const Cell& cell : plan.results.cells) {
    const Method& method = plan.results.methods[static_cast<std::size_t>(cell.method)];
    EXPECT_EQ(cell.seed.has_value(), !method.training.empty());
  }
  EXPECT_EQ(plan.results.cells.back().k, 3);  // 50% of 6
}

TEST(StudyPlan, SharesOneTrainingAmongWhatCanUseIt) {
  const Plan plan = plan_of(kStudy);
  std::set<std::string> keys, foresight;
  std::map<std::string, std::set<std::string>> by_method;
  for (Index cell = 0; cell < static_cast<Index>(plan.results.cells.size()); ++cell) {
    const std::string key = training_key(plan, cell);
    const Cell& at = plan.results.cells[static_cast<std::size_t>(cell)];
    const std::string& method = plan.results.methods[static_cast<std::size_t>(at.method)].name;
    EXPECT_EQ(key.empty(), !at.seed.has_value());
    if (key.empty()) continue;
    by_method[method].insert(key);
    foresight.insert(oracle_key(plan, cell));
  }
  // Two markets and two seeds; without validation a prediction knows of no k and no optimizer.
  EXPECT_EQ(by_method["pfl-oscar"].size(), 4u);
  EXPECT_EQ(by_method["pfl-oscar"], by_method["pfl-mssrm"]);
  EXPECT_EQ(by_method["stops"].size(), 8u);
  EXPECT_EQ(by_method["dfl-oscar"].size(), 8u);
  EXPECT_EQ(by_method["dfl-oscar"], by_method["dear"]);
  // Markets x k x {oscar, oscar with costs, mssrm, swap}.
  EXPECT_EQ(foresight.size(), 2u * 2u * 4u);
}

void expect_plain_backtest(const Plan& plan, const Results& found, Index cell,
                           const settings::Values& values) {
  const Cell& at = found.cells[static_cast<std::size_t>(cell)];
  const backtest::BacktestResult plain =
      backtest::backtest(plan.returns[static_cast<std::size_t>(at.market)],
                         backtest::backtest_settings(values), Threads(1));
  expect_same(at.run, plain.run, "cell " + std::to_string(cell));
  EXPECT_TRUE(same_bits({at.metrics.sharpe}, {plain.metrics.sharpe}));
  ASSERT_EQ(at.regret.has_value(), plain.regret.has_value());
  if (at.regret) {
    EXPECT_EQ(at.regret->mean, plain.regret->mean);
  }
}

TEST(Study, EveryCellIsThePlainBacktestOfItsSettings) {
  const Folder folder;
  const Plan plan = plan_of(kStudy);
  {
    Store store(folder / "study.db", plan.results);
    const Tally tally = run_study(plan, store, {.threads = 2}, Log());
    EXPECT_EQ(tally.done, static_cast<Index>(plan.results.cells.size()));
    EXPECT_EQ(tally.trained, 4 + 8 + 8);
    EXPECT_FALSE(tally.interrupted);
  }
  const Results found = read_store(folder / "study.db");
  for (Index cell = 0; cell < static_cast<Index>(found.cells.size()); ++cell) {
    expect_plain_backtest(plan, found, cell, plan.values_of(cell));
    const Cell& at = found.cells[static_cast<std::size_t>(cell)];
    EXPECT_EQ(at.run.dates.front(), found.markets[static_cast<std::size_t>(at.market)].dates[0]);
  }
}

// As the commands that a user has for a method: what its study keeps, and the flags that say so.
settings::Values kept_values(const Results& found, Index cell) {
  const Cell& at = found.cells[static_cast<std::size_t>(cell)];
  settings::Values values(settings::backtest);
  values.read_toml(found.methods[static_cast<std::size_t>(at.method)].settings, "method.toml");
  values.set_default("split", backtest::kTrainingSplit);
  values.set_flag("k", at.k_given);
  if (at.seed) values.set_flag("seed", std::to_string(*at.seed));
  return values;
}

TEST(Study, SizingBesideLimitsIsThatOfTheBacktest) {
  const std::string market =
      "k = 2\nseeds = 1\nlookback = 15\nhidden = [\"4\"]\nepochs = 1\nbatch = 32\n"
      "long-only = true\n[[market]]\nsimulate = { assets = 5, days = 100, seed = 1 }\n";
  const Plan plan = plan_of(market +
                            "[[method]]\nname = \"usual\"\n"
                            "[[method]]\nname = \"scaled\"\nsizing = \"gross\"\n"
                            "[[method]]\nname = \"best\"\nobjective = \"sharpe\"\n"
                            "[[method]]\nframework = \"pfl\"\ntraining = \"paper\"\n"
                            "max-weight = 0.7\n");
  const Folder folder;
  {
    Store store(folder / "study.db", plan.results);
    EXPECT_EQ(run_study(plan, store, {.threads = 1}, Log()).failed, 0);
  }
  const Results found = read_store(folder / "study.db");
  ASSERT_EQ(found.cells.size(), 4u);
  for (Index cell = 0; cell < 4; ++cell) {
    SCOPED_TRACE(cell);
    expect_plain_backtest(plan, found, cell, plan.values_of(cell));
    expect_plain_backtest(plan, found, cell, kept_values(found, cell));
  }
  settings::Values flags = kept_values(found, 0);
  flags.set_flag("sizing", "gross");
  expect_plain_backtest(plan, found, 1, flags);
  EXPECT_FALSE(same_bits(found.cells[0].run.returns, found.cells[1].run.returns));
  EXPECT_TRUE(same_bits(found.cells[1].run.returns, found.cells[2].run.returns));
}

TEST(StudyPlan, SizingByFlagMeansWhatItMeansInTheDescription) {
  const auto described = [](const std::vector<std::pair<std::string, std::string>>& flags) {
    settings::Values values(settings::study);
    const std::string toml =
        "k = 2\nlookback = 15\nframeworks = [\"rolling\"]\n"
        "[[market]]\nsimulate = { assets = 5, days = 100, seed = 1 }\n";
    values.read_toml(toml, "s.toml");
    for (const auto& [name, text] : flags) values.set_flag(name, text);
    return grid_of(values, toml, "s.toml");
  };
  const Grid flags = described({{"sizing", "gross"}, {"long-only", "true"}});
  const Plan first = plan_study(flags, Log()), again = plan_of(flags.toml);
  EXPECT_EQ(first.settings_of(0).objective.kind, layer::Objective::sharpe);
  EXPECT_EQ(again.settings_of(0).objective.kind, layer::Objective::sharpe);
  EXPECT_EQ(first.results.methods[0].settings, again.results.methods[0].settings);
  // What flags would be refused for, a description is, before any cell is computed.
  const Grid wrong = described({{"sizing", "gross"}, {"max-weight", "0.5"}});
  EXPECT_THROW(plan_study(wrong, Log()), InputError);
  EXPECT_THROW(plan_of(wrong.toml), InputError);
}

TEST(Study, HasTheSameBitsForAnyThreadsAndInterruptions) {
  const Folder folder;
  const Plan plan = plan_of(kStudy);
  {
    Store store(folder / "one.db", plan.results);
    run_study(plan, store, {.threads = 1}, Log());
  }
  {
    Store store(folder / "four.db", plan.results);
    run_study(plan, store, {.threads = 4, .gigabytes = 1e-6}, Log());
  }
  const Results one = read_store(folder / "one.db");
  expect_same(one, read_store(folder / "four.db"));
  // Stopped after every few questions, and gone on with; a few more each time, as two jobs side by
  // side may ask so often that neither is ever done.
  Index runs = 0;
  for (bool done = false; !done; ++runs) {
    ASSERT_LT(runs, 300);
    Store store(folder / "parts.db", plan.results);
    std::atomic<int> asked = 0;
    const Tally tally = run_study(plan, store, {.threads = 2}, Log(),
                                  {.stop = [&] { return ++asked > 500 + 50 * runs; }});
    done = !tally.interrupted;
  }
  EXPECT_GT(runs, 3);
  expect_same(one, read_store(folder / "parts.db"));
}

TEST(Study, AFailingCellStopsNoOther) {
  const Folder folder;
  const Plan plan = plan_of(
      "seeds = 1\nlookback = 15\nhidden = [\"4\"]\nepochs = 3\n"
      "[[market]]\nsimulate = { assets = 5, days = 140 }\n"
      "[[method]]\nname = \"wild\"\nframework = \"pfl\"\nlearning-rate = 1e30\n"
      "[[method]]\noptimizer = \"equal\"\n");
  {
    Store store(folder / "study.db", plan.results);
    const Tally tally = run_study(plan, store, {}, Log());
    EXPECT_EQ(tally.done, 1);
    EXPECT_EQ(tally.failed, 1);
    EXPECT_FALSE(tally.interrupted);
  }
  Results found = read_store(folder / "study.db");
  EXPECT_EQ(found.cells[0].state, CellState::failed);
  EXPECT_FALSE(found.cells[0].reason.empty());
  EXPECT_EQ(found.cells[1].state, CellState::done);
  Store store(folder / "study.db", plan.results);
  EXPECT_EQ(run_study(plan, store, {}, Log()).computed, 0);
  EXPECT_EQ(run_study(plan, store, {.retry = true}, Log()).computed, 1);
}

TEST(Study, AFinishedOneIsNotDoneAgain) {
  const Folder folder;
  const Plan plan = plan_of(kStudy);
  Store store(folder / "study.db", plan.results);
  const Tally first = run_study(plan, store, {}, Log());
  EXPECT_EQ(first.computed, first.cells);
  const Tally second = run_study(plan, store, {}, Log());
  EXPECT_EQ(second.computed, 0);
  EXPECT_EQ(second.trained, 0);
  EXPECT_EQ(second.done, second.cells);
  for (Index cell = 0; cell < static_cast<Index>(plan.results.cells.size()); ++cell) {
    const std::string key = training_key(plan, cell);
    if (!key.empty()) {
      EXPECT_FALSE(store.expectations(key).has_value());  // nobody needs them any more
    }
  }
}

TEST(Study, AKilledOneDoesNotTrainAgain) {
  const Folder folder;
  const Plan plan = plan_of(kStudy);
  Index trained = 0;
  for (bool done = false; !done;) {
    Store store(folder / "study.db", plan.results);
    Index cells = -1;
    bool stop = false;
    // As soon as a cell is done that was not.
    const Tally tally = run_study(plan, store, {.threads = 1}, Log(),
                                  {.stop = [&] { return stop; }}, [&](const StudyProgress& now) {
                                    if (cells < 0) cells = now.cells_done;
                                    stop = now.cells_done > cells + 5;
                                  });
    trained += tally.trained;
    done = !tally.interrupted;
  }
  EXPECT_EQ(trained, 4 + 8 + 8);
}

TEST(Study, WhatAKilledOneHasTrainedIsNotLeftToDo) {
  const Folder folder;
  const auto file = folder / "study.db";
  const Plan plan = plan_of(kStudy);
  Index trained = 0;
  bool stop = false;
  {
    Store store(file, plan.results);
    // After a few cells of the trainings that many share.
    trained = run_study(plan, store, {.threads = 1}, Log(), {.stop = [&] { return stop; }},
                        [&](const StudyProgress& now) { stop = now.cells_done >= 3; })
                  .trained;
  }
  const auto [states, kept] = kept_in(file, plan.results);
  ASSERT_FALSE(kept.empty());
  const Estimate left = estimate_study(plan, states, {.threads = 1}, kept);
  EXPECT_EQ(left.trainings, 20 - trained);
  const Estimate unaware = estimate_study(plan, states, {.threads = 1});
  EXPECT_EQ(unaware.trainings + unaware.oracles,
            left.trainings + left.oracles + static_cast<Index>(kept.size()));
  Store store(file, plan.results);
  EXPECT_EQ(run_study(plan, store, {}, Log()).trained, left.trainings);
}

TEST(Study, IsStoppedWhileItsWorkIsListed) {
  const Plan plan = plan_of(kStudy);
  int asked = 0;
  const Stop at_once = [&] { return ++asked > 3; };
  const std::vector<CellState> states(plan.results.cells.size(), CellState::missing);
  EXPECT_THROW(estimate_study(plan, states, {.threads = 1}, {}, at_once), Interrupted);
  EXPECT_LE(asked, 5);  // not a training was timed
  const Folder folder;
  Store store(folder / "study.db", plan.results);
  asked = 0;
  const Tally tally = run_study(plan, store, {.threads = 1}, Log(), {.stop = at_once});
  EXPECT_TRUE(tally.interrupted);
  EXPECT_EQ(tally.cells, static_cast<Index>(plan.results.cells.size()));
  EXPECT_EQ(tally.done + tally.computed + tally.trained, 0);
}

// Of trainings that are alike a dozen are timed, but a large one among them is not like them.
TEST(Study, IsStoppedWhileItsTrainingsAreTimed) {
  const Plan plan = plan_of(kStudy);
  const auto cells = static_cast<int>(plan.results.cells.size());
  int asked = 0;
  const Stop within = [&] {
    return ++asked > cells + 20;
  };  // each is listed, then the first is timed
  const std::vector<CellState> states(plan.results.cells.size(), CellState::missing);
  EXPECT_THROW(estimate_study(plan, states, {.threads = 1}, {}, within), Interrupted);
  EXPECT_EQ(asked, cells + 21);
}

TEST(Study, SaysWhatALargeNetworkAmongManySmallOnesTakes) {
  const auto gigabytes = [](int small, const std::string& last) {
    std::string text =
        "k = [2]\nseeds = 1\nlookback = 15\nepochs = 1\nbatch = 32\n"
        "[[market]]\nsimulate = { assets = 5, days = 140, seed = 1 }\n";
    for (int i = 0; i <= small; ++i)
      text += "[[method]]\nname = \"m" + std::to_string(i) +
              "\"\nframework = \"pfl\"\noptimizer = \"swap\"\nnetwork = \"joint\"\nhidden = \"" +
              (i == small ? last : "4") + "\"\nlearning-rate = 0.00" + std::to_string(i + 1) + "\n";
    const Plan plan = plan_of(text);
    const std::vector<CellState> states(plan.results.cells.size(), CellState::missing);
    return estimate_study(plan, states, {.threads = 1}).gigabytes;
  };
  const double alone = gigabytes(0, "2000");
  EXPECT_GT(alone, 2.0 * gigabytes(14, "4"));
  EXPECT_NEAR(gigabytes(14, "2000"), alone, 0.01 * alone);
}

TEST(Study, SaysWhatItWouldTake) {
  const Plan plan = plan_of(kStudy);
  std::vector<CellState> states(plan.results.cells.size(), CellState::missing);
  states[0] = CellState::done;
  states[11] = CellState::failed;
  const Estimate found = estimate_study(plan, states, {.threads = 2});
  EXPECT_EQ(found.cells, 48);
  EXPECT_EQ(found.done, 1);
  EXPECT_EQ(found.failed, 1);
  EXPECT_EQ(found.missing, 46);
  EXPECT_EQ(found.trainings, 20);
  EXPECT_GT(found.minutes, 0.0);
  EXPECT_LT(found.minutes, 10.0);
  EXPECT_GT(found.gigabytes, 0.0);
  EXPECT_LT(found.gigabytes, 1.0);
}

std::string plan_error_of(const std::string& toml) {
  try {
    plan_of(toml);
  } catch (const InputError& error) {
    return error.what();
  }
  return "(no error)";
}

const std::string kOneMarket =
    "[[market]]\nname = \"m\"\nsimulate = { assets = 5, days = 140, seed = 4 }\n";

TEST(StudyPlan, WhatIsAMatterOfLearningIsForTheMethodsThatLearn) {
  const Plan plan = plan_of(
      "lookback = 15\nretrain = 7\ndecision = \"soft\"\nframeworks = \"historic,rolling,pfl\"\n"
      "optimizers = \"oscar,sdr,mssrm,mssrm-long,equal,swap\"\n" +
      kOneMarket);
  Index retrained = 0, soft = 0;
  for (std::size_t at = 0; at < plan.values.size(); ++at) {
    const Method& method = plan.results.methods[at];
    SCOPED_TRACE(method.name);
    const settings::Values& values = plan.values[at];
    EXPECT_EQ(values.has("retrain"), method.framework == "pfl");
    const bool layered = method.optimizer == "oscar" || method.optimizer == "swap";
    EXPECT_EQ(values.text("decision"), layered ? "soft" : "exact");
    EXPECT_EQ(method.settings.find("retrain") != std::string::npos, method.framework == "pfl");
    EXPECT_THAT(method.settings, HasSubstr(layered ? "decision = \"soft\"" : "\"exact\""));
    retrained += values.has("retrain") ? 1 : 0;
    soft += layered ? 1 : 0;
  }
  EXPECT_EQ(retrained, 5);
  EXPECT_EQ(soft, 6);
}

TEST(StudyPlan, ASettingThatNoMethodHeedsIsRefused) {
  EXPECT_THAT(plan_error_of("lookback = 15\nretrain = 7\nframeworks = \"historic\"\n" + kOneMarket),
              HasSubstr("s.toml:2: retrain has no meaning for any method of this study; it goes "
                        "with frameworks pfl and dfl"));
  EXPECT_THAT(
      plan_error_of("lookback = 15\ndecision = \"soft\"\noptimizers = \"sdr\"\n" + kOneMarket),
      HasSubstr("s.toml:2: decision has no meaning for any method of this study; it goes "
                "with optimizers oscar, symmetric, greedy and swap"));
  EXPECT_EQ(
      plan_error_of("lookback = 15\ndecision = \"exact\"\noptimizers = \"sdr\"\n" + kOneMarket),
      "(no error)");
}

// No cell may be left to find out.
TEST(StudyPlan, RefusesWhatNoCellCouldDo) {
  EXPECT_THAT(plan_error_of("lookback = 15\nuniverse = \"available\"\nnetwork = \"joint\"\n"
                            "frameworks = \"pfl\"\n" +
                            kOneMarket),
              HasSubstr("market m, method pfl-swap: universe = available cannot go with network = "
                        "joint"));
  EXPECT_THAT(
      plan_error_of("lookback = 15\ndecision = \"soft\"\nhistoric-risk = \"train\"\n" + kOneMarket),
      HasSubstr("method historic-swap: decision = soft cannot go with historic-risk = "
                "train; use rolling"));
  EXPECT_THAT(
      plan_error_of("lookback = 15\n" + kOneMarket +
                    "[[method]]\noptimizer = \"sdr\"\ndecision = \"soft\"\n"),
      HasSubstr("method rolling-sdr: decision = soft cannot go with optimizer = sdr: the layer "
                "chooses its own weights; use optimizer oscar, symmetric, greedy or swap"));
  EXPECT_THAT(plan_error_of("lookback = 15\nmin-history = 1\n" + kOneMarket),
              HasSubstr("method historic-swap: min-history = 1 is too short"));
  EXPECT_THAT(plan_error_of("lookback = 15\nnet = \"any\"\nsizing = \"budget\"\n" + kOneMarket),
              HasSubstr("method historic-swap: net = any cannot go with sizing = budget"));
  EXPECT_THAT(plan_error_of("lookback = 15\nnet = \"any\"\nheld-sizing = \"volatility\"\n" +
                            kOneMarket + "[[method]]\nframework = \"pfl\"\ntraining = \"paper\"\n"),
              HasSubstr("method pfl-oscar: net = any cannot go with sizing = budget, which the "
                        "network would be trained with"));
}

TEST(StudyPlan, ASimulatedMarketIsKnownByItsPrices) {
  const std::string methods = "[[method]]\n";
  const Plan plan = plan_of("lookback = 15\n" + kOneMarket + methods);
  const Market& market = plan.results.markets[0];
  EXPECT_EQ(
      market.checksum,
      checksum_of_panel(market::simulate({.assets = 5, .days = 140, .seed = 4}), market.source));
  EXPECT_NE(market.checksum, checksum_of_text(market.source));
}

TEST(StudyPlan, SaysHowEveryMarketIsRead) {
  const auto read = [](const std::string& settings) {
    return plan_of("lookback = 15\n" + settings + kOneMarket + "[[method]]\n").results.markets[0];
  };
  const Market plain = read("");
  EXPECT_THAT(plain.reading,
              ::testing::Contains(std::pair<std::string, std::string>("on-suspect", "careful")));
  EXPECT_EQ(read("on-suspect = \"careful\"\nmax-gap = 5\nuniverse = \"complete\"\n").reading,
            plain.reading);
  const Market other = read("on-suspect = [\"split=adjust\", \"jump=halt\"]\n");
  EXPECT_THAT(other.reading, ::testing::Contains(std::pair<std::string, std::string>(
                                 "on-suspect", "split=adjust,jump=halt")));
  EXPECT_EQ(other.checksum, plain.checksum);
}

TEST(StudyPlan, SaysOnceWhatIsLikelyASlip) {
  const Plan plan = plan_of("k = [1, 2]\nlookback = 15\nrisk-free = 2\n" + kOneMarket +
                            "[[method]]\n[[method]]\noptimizer = \"equal\"\ncost-bps = 10000\n");
  EXPECT_THAT(plain(plan.warnings),
              ::testing::ElementsAre("risk-free = 2 is 200 % a year; write 0.02 for 2 %",
                                     "method equal: cost-bps = 10000 is 100 % of what is traded; "
                                     "write 10 for 0.1 %"));
  EXPECT_THAT(plan_of("lookback = 15\n" + kOneMarket + "[[method]]\n").warnings,
              ::testing::IsEmpty());
}

TEST(StudyPlan, NamesTheMarketThatDoesNotFit) {
  const std::string market = "[[market]]\nname = \"m\"\nsimulate = { assets = 5, days = 60 }\n";
  EXPECT_THAT(plan_error_of("k = 9\nlookback = 10\n" + market),
              HasSubstr("s.toml:3: market m: k = 9 is outside [1, 5]"));
  EXPECT_THAT(plan_error_of(market),
              HasSubstr("market m: 59 rows of returns leave no period to test"));
  EXPECT_THAT(plan_error_of("lookback = \"all\"\n" + market),
              HasSubstr("method pfl-swap: lookback (s.toml:1) = all has no meaning for a network"));
  EXPECT_THAT(plan_error_of("split = \"never\"\n" + market), HasSubstr("split"));
  EXPECT_THAT(plan_error_of("[[market]]\nprices = \"nowhere.csv\"\n"), HasSubstr("nowhere.csv"));
}

}  // namespace
}  // namespace sharpen::study
