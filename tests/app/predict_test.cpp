// `sharpen predict`: a model, the latest prices, a portfolio.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>

#include "app/desk.hpp"
#include "sharpen/backtest/backtest.hpp"
#include "sharpen/learn/ensemble.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Desk;
using testing::Finished;
using ::testing::HasSubstr;
using testing::kAssets;
using testing::kLastDate;
using testing::kLookback;
using ::testing::Not;
using testing::run_program;
using testing::text_of;
using testing::weights;

TEST(Predict, HoldsWhatTheLibraryChoosesForWhatTheModelExpects) {
  const Desk desk;
  const learn::Model model = desk.model(
      "m.sharpen", {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}, {1e-3, 2e-3, 1e-3, 2e-3, 0, 1e-3}});
  const json answer = desk.predict({});

  const market::Panel returns = market::simple_returns(desk.prices());
  const Index end = returns.rows();
  const auto risk = risk::from_windows(returns.matrix(), kLookback, std::span(&end, 1),
                                       {.shrinkage = 0.1, .parts = {}}, Threads(1));
  std::vector<double> members(2 * kAssets), signal(kAssets);
  const Mat mu(members.data(), 2, kAssets);
  std::vector<Index> assets = {0, 1, 2, 3, 4, 5};
  for (Index m = 0; m < 2; ++m)
    learn::expected_returns(model, m, returns.matrix(), std::span(&end, 1), assets,
                            mu.middle_rows(m, 1), Threads(1));
  const double agreement = learn::Combiner(*risk).run(*risk, 0, mu, signal);
  const select::SelectSettings settings = {{.k = 2}};
  select::Portfolio portfolio;
  select::Selector(settings, *risk).run(*risk, 0, signal, portfolio);

  ASSERT_EQ(answer["holdings"].size(), portfolio.support.size());
  for (std::size_t h = 0; h < portfolio.support.size(); ++h) {
    const auto i = static_cast<std::size_t>(portfolio.support[h]);
    EXPECT_EQ(answer["holdings"][h]["asset"], desk.prices().tickers[i]);
    EXPECT_EQ(answer["holdings"][h]["index"], portfolio.support[h]);
    EXPECT_NEAR(answer["holdings"][h]["weight"], portfolio.weights[i], 1e-12);
  }
  EXPECT_EQ(answer["status"], name(portfolio.outcome.status));
  EXPECT_NEAR(answer["sharpe"], portfolio.sharpe, 1e-12);
  EXPECT_NEAR(answer["agreement"], agreement, 1e-12);
  EXPECT_EQ(answer["members"], 2);
  EXPECT_NEAR(answer["gross_exposure"], 1.0, 1e-12);
  EXPECT_EQ(answer["k"], 2);
  EXPECT_EQ(answer["n"], kAssets);
  EXPECT_EQ(answer["optimizer"], "swap");
  EXPECT_EQ(answer["sizing"], "gross");
  EXPECT_EQ(answer["date"], kLastDate);
  EXPECT_EQ(answer["window"]["to"], kLastDate);
  EXPECT_EQ(answer["window"]["rows"], kLookback);
  EXPECT_EQ(answer["window"]["from"], returns.dates[static_cast<std::size_t>(end - kLookback)]);
}

// A benchmark is something to compare with: no account is asked for, and nothing else changes.
TEST(Predict, ComparesWithABenchmarkAndIsNoAccountForThat) {
  const Desk desk;
  const json alone = desk.predict({}), beside = desk.predict({"--benchmark", "S002"});
  EXPECT_EQ(beside["holdings"], alone["holdings"]);
  EXPECT_FALSE(beside.contains("orders"));
  const market::Panel returns = market::simple_returns(desk.prices());
  const auto own = std::ranges::find(returns.tickers, "S002") - returns.tickers.begin();
  double pb = 0, bb = 0, sum_p = 0, sum_b = 0;
  for (Index t = returns.rows() - kLookback; t < returns.rows(); ++t) {
    double p = 0;
    for (const json& holding : beside["holdings"])
      p += holding["weight"].get<double>() * returns.matrix()(t, holding["index"].get<Index>());
    const double b = returns.matrix()(t, own);
    pb += p * b, bb += b * b, sum_p += p, sum_b += b;
  }
  EXPECT_EQ(beside["benchmark"]["ticker"], "S002");
  EXPECT_NEAR(beside["benchmark"]["beta"],
              (pb - sum_p * sum_b / kLookback) / (bb - sum_b * sum_b / kLookback), 1e-10);
}

// Two ways to the same decision: the walk of a backtest, and the day by itself.
TEST(Predict, HoldsWhatABacktestOfTheModelHolds) {
  const Desk desk;
  learn::Model model = testing::made_model({.tickers = desk.prices().tickers,
                                            .network = learn::NetworkKind::joint,
                                            .lookback = kLookback,
                                            .hidden = {5},
                                            .members = 3});
  model.first_date = "2010-01-04";
  model.last_date = "2014-12-31";
  model.settings.mandate.k = {.count = 2, .percent = 0.0};
  model.settings.mandate.sizing.kind = layer::Sizing::gross;
  model.settings.rules = {.rule = trade::Rule::none, .memory = 1};
  learn::write_model(model, desk.path("m.sharpen"));
  backtest::BacktestSettings settings;
  settings.framework = backtest::Framework::dfl;
  settings.training = model.settings;
  settings.k = model.settings.mandate.k;
  settings.lookback = {.count = kLookback, .all = false};
  settings.sizing.kind = layer::Sizing::gross;
  settings.rules = model.settings.rules;
  const backtest::BacktestResult walked = backtest::backtest(
      market::simple_returns(desk.prices()), settings, Threads(1), nullptr, {}, &model);
  for (Index period : {walked.run.periods() - 1, walked.run.periods() - 40}) {
    std::map<std::string, double> held;
    for (const backtest::Position& position : walked.run.weights_of(period))
      held[walked.tickers[static_cast<std::size_t>(position.asset)]] = position.weight;
    const std::string day = walked.run.dates[static_cast<std::size_t>(period - 1)];
    EXPECT_EQ(weights(desk.predict({"--asof", day})), held);
  }
}

TEST(Predict, TakesFromTheModelWhatIsNotGiven) {
  const Desk desk;
  learn::Model model = desk.model("m.sharpen", {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}});
  model.settings.mandate.k = {.count = 0, .percent = 50.0};
  model.settings.shrinkage = 0.3;
  model.settings.mandate.net = layer::Net::any;
  model.settings.mandate.sizing = {.kind = layer::Sizing::volatility, .target_volatility = 0.02};
  model.periods_per_year = 52.0;
  learn::write_model(model, desk.path("m.sharpen"));
  const json own = desk.predict({});
  EXPECT_EQ(own["k"], 3);
  EXPECT_EQ(own["shrinkage"], 0.3);
  EXPECT_EQ(own["net"], "any");
  EXPECT_EQ(own["periods_per_year"], 52.0);
  EXPECT_EQ(own["sizing"], "volatility");
  EXPECT_NEAR(own["volatility"], 0.02, 1e-12);
  const json given = desk.predict(
      {"-k", "1", "--shrinkage", "0.2", "--net", "positive", "--periods-per-year", "12"});
  EXPECT_EQ(given["k"], 1);
  EXPECT_EQ(given["cardinality"], 1);
  EXPECT_EQ(given["shrinkage"], 0.2);
  EXPECT_EQ(given["net"], "positive");
  EXPECT_EQ(given["periods_per_year"], 12.0);
  EXPECT_NEAR(given["volatility_annualized"], own["volatility_annualized"], 1e-12);
  desk.expect_refusal({"-k", "7"}, "k = 7 is outside [1, 6]; there are 6 assets");
}

TEST(Predict, SizesAsAsked) {
  const Desk desk;
  const json answer = desk.predict({"--sizing", "volatility", "--target-volatility", "0.2"});
  EXPECT_NEAR(answer["volatility_annualized"], 0.2, 1e-12);
  for (const char* optimizer : {"oscar", "symmetric", "greedy"})
    EXPECT_EQ(desk.predict({"--optimizer", optimizer, "--explain"})["optimizer"], optimizer);
  desk.expect_refusal({"--optimizer", "equal"},
                      "optimizer = equal cannot decide for a model; use oscar, symmetric, greedy, "
                      "swap, pairs or exact");
}

TEST(Predict, FindsTheColumnsByNameInAnyOrder) {
  const Desk desk;
  const json straight = desk.predict({});
  std::vector<std::string> order = desk.prices().tickers;
  std::reverse(order.begin(), order.end());
  market::Panel turned = market::select_tickers(desk.prices(), order);
  EXPECT_EQ(
      desk.predict({}, desk.prices("turned.csv", turned).substr(desk.path("").size()))["holdings"],
      straight["holdings"]);

  market::Panel more = desk.prices();
  more.tickers.push_back("EXTRA");
  more.values.clear();
  for (Index t = 0; t < desk.prices().rows(); ++t) {
    for (Index j = 0; j < kAssets; ++j) more.values.push_back(desk.prices().matrix()(t, j));
    more.values.push_back(1.0 + 0.01 * static_cast<double>(t % 7));
  }
  desk.prices("more.csv", more);
  const json answer = desk.predict({}, "more.csv");
  EXPECT_EQ(answer["holdings"], straight["holdings"]);
  EXPECT_THAT(answer["warnings"].dump(), HasSubstr("the model does not know EXTRA; ignored"));
  EXPECT_THAT(straight["warnings"].dump(), Not(HasSubstr("does not know")));
}

TEST(Predict, ListsTheTickersThatAreMissing) {
  const Desk desk;
  const std::vector<std::string>& all = desk.prices().tickers;
  const std::vector<std::string> some = {all[0], all[2], all[3], all[5]};
  desk.prices("some.csv", market::select_tickers(desk.prices(), some));
  desk.expect_refusal({},
                      fmt::format("{}: lacks 2 of the 6 tickers of the model: {}, {}; add their "
                                  "columns, or train a model without them",
                                  desk.path("some.csv"), all[1], all[4]),
                      "some.csv");
}

TEST(Predict, TakesReturnsToo) {
  const Desk desk;
  const std::string file = desk.prices("returns.csv", market::simple_returns(desk.prices()));
  const Finished run =
      run_program({"predict", "--json", "--model", desk.path("m.sharpen"), "--returns", file});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["holdings"], desk.predict({})["holdings"]);
}

TEST(Predict, NeedsAModel) {
  const Desk desk;
  const auto refusal = [&](const std::vector<std::string>& arguments) {
    const Finished run = run_program(arguments);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_EQ(run.out, "");
    return run.err;
  };
  EXPECT_EQ(refusal({"predict", "--prices", desk.path("prices.csv")}),
            "sharpen: error: no model given; give --model FILE, as sharpen train wrote it, or a "
            "--framework that needs none, such as rolling\n");
  EXPECT_EQ(refusal({"predict", "--model", desk.path("m.sharpen")}),
            "sharpen: error: no panel given; give --prices FILE or --returns FILE\n");
  EXPECT_EQ(
      refusal({"predict", "--model", desk.path("prices.csv"), "--prices", desk.path("prices.csv")}),
      "sharpen: error: " + desk.path("prices.csv") +
          ": is not a model of Sharpen: it starts with other bytes; name a file that is "
          "one\n");
  const std::string bytes = text_of(desk.path("m.sharpen"));
  desk.file("cut.sharpen", bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT(refusal({"predict", "--model", desk.path("cut.sharpen"), "--prices",
                       desk.path("prices.csv")}),
              HasSubstr("cut.sharpen: is a model cut short: "));
}

TEST(Predict, GivesTheSameBytesForAnyNumberOfThreads) {
  const Desk desk;
  desk.model("m.sharpen",
             {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}, {1e-3, 2e-3, 1e-3, 2e-3, 0, 1e-3}});
  const json one = desk.predict({"--threads", "1", "--explain", "--capital", "1e5"});
  EXPECT_EQ(desk.predict({"--threads", "2", "--explain", "--capital", "1e5"}), one);
  EXPECT_EQ(desk.predict({"--threads", "5", "--explain", "--capital", "1e5"}), one);
}

}  // namespace
}  // namespace sharpen
