// `sharpen predict`: a model, the latest prices, a portfolio and the trades to get there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "sharpen/backtest/backtest.hpp"
#include "sharpen/backtest/run_files.hpp"
#include "sharpen/learn/ensemble.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;
using ::testing::StartsWith;
using testing::text_of;

constexpr Index kAssets = 6, kDays = 320, kLookback = 20;
constexpr const char* kLastDate = "2016-03-23";

// Six assets and models for them. A model is linear without inputs: member m expects its views,
// whatever the returns are.
class Desk {
 public:
  Desk() : prices_(market::simulate({.assets = kAssets, .days = kDays, .seed = 3})) {
    EXPECT_EQ(prices_.dates.back(), kLastDate);
    prices("prices.csv", prices_);
    model("m.sharpen", {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}});
  }

  const market::Panel& prices() const { return prices_; }
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string file(const std::string& name, const std::string& text) const {
    return folder_.file(name, text);
  }
  std::string prices(const std::string& name, const market::Panel& panel) const {
    market::write_panel(panel, path(name));
    return path(name);
  }
  learn::Model model(const std::string& name, const std::vector<std::vector<double>>& views) const {
    learn::Model model = testing::made_model({.tickers = prices_.tickers,
                                              .network = learn::NetworkKind::joint,
                                              .lookback = kLookback,
                                              .hidden = {},
                                              .members = static_cast<Index>(views.size())});
    model.first_date = "2010-01-04";
    model.last_date = "2014-12-31";
    model.validation_from = "2014-01-02";
    model.settings.k = {.count = 2, .percent = 0.0};
    for (std::size_t m = 0; m < views.size(); ++m) {
      std::vector<float>& parameters = model.members[m].network.parameters;
      std::fill(parameters.begin(), parameters.end(), 0.0f);
      for (std::size_t i = 0; i < views[m].size(); ++i)
        parameters[parameters.size() - views[m].size() + i] = static_cast<float>(views[m][i]);
    }
    learn::write_model(model, path(name));
    return model;
  }

  std::vector<std::string> arguments(const std::vector<std::string>& more,
                                     const std::string& panel = "prices.csv") const {
    std::vector<std::string> all = {"predict", "--model", path("m.sharpen"), "--prices",
                                    path(panel)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  json predict(const std::vector<std::string>& more,
               const std::string& panel = "prices.csv") const {
    std::vector<std::string> all = arguments(more, panel);
    all.push_back("--json");
    const Finished run = run_program(all);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(run.err, "");
    return json::parse(run.out, nullptr, false);
  }
  void expect_refusal(const std::vector<std::string>& more, const std::string& message,
                      const std::string& panel = "prices.csv") const {
    const Finished run = run_program(arguments(more, panel));
    EXPECT_EQ(run.exit_code, 2) << message;
    EXPECT_EQ(run.out, "") << message;
    EXPECT_EQ(run.err, "sharpen: error: " + message + "\n");
  }

 private:
  Folder folder_;
  market::Panel prices_;
};

std::map<std::string, double> weights(const json& answer) {
  std::map<std::string, double> out;
  for (const json& holding : answer["holdings"]) out[holding["asset"]] = holding["weight"];
  return out;
}

market::Panel without_rows(market::Panel panel, Index last) {
  panel.dates.resize(static_cast<std::size_t>(panel.rows() - last));
  panel.values.resize(panel.dates.size() * panel.tickers.size());
  return panel;
}

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
  const select::SelectSettings settings = {.k = 2, .sizing = {}};
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
  model.settings.k = {.count = 2, .percent = 0.0};
  learn::write_model(model, desk.path("m.sharpen"));
  backtest::BacktestSettings settings;
  settings.framework = backtest::Framework::dfl;
  settings.training = model.settings;
  settings.k = model.settings.k;
  settings.lookback = {.count = kLookback, .all = false};
  settings.sizing.kind = layer::Sizing::gross;
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
  model.settings.k = {.count = 0, .percent = 50.0};
  model.settings.shrinkage = 0.3;
  model.settings.layer.net = layer::Net::any;
  model.periods_per_year = 52.0;
  learn::write_model(model, desk.path("m.sharpen"));
  const json own = desk.predict({});
  EXPECT_EQ(own["k"], 3);
  EXPECT_EQ(own["shrinkage"], 0.3);
  EXPECT_EQ(own["net"], "any");
  EXPECT_EQ(own["periods_per_year"], 52.0);
  const json given = desk.predict(
      {"-k", "1", "--shrinkage", "0.2", "--net", "positive", "--periods-per-year", "12"});
  EXPECT_EQ(given["k"], 1);
  EXPECT_EQ(given["cardinality"], 1);
  EXPECT_EQ(given["shrinkage"], 0.2);
  EXPECT_EQ(given["net"], "positive");
  EXPECT_EQ(given["periods_per_year"], 12.0);
  desk.expect_refusal({"-k", "7"}, "k = 7 is outside [1, 6]; there are 6 assets");
}

TEST(Predict, SizesAsAsked) {
  const Desk desk;
  const json answer = desk.predict({"--sizing", "volatility", "--target-volatility", "0.2"});
  EXPECT_NEAR(answer["volatility_annualized"], 0.2, 1e-12);
  for (const char* optimizer : {"oscar", "symmetric", "greedy"})
    EXPECT_EQ(desk.predict({"--optimizer", optimizer, "--explain"})["optimizer"], optimizer);
  desk.expect_refusal({"--optimizer", "equal"},
                      "optimizer = equal cannot decide for a model; use oscar, symmetric, greedy "
                      "or swap");
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

TEST(Predict, AsofSeesNothingAfterThatDay) {
  const Desk desk;
  const std::string day = desk.prices().dates[kDays - 31];
  const market::Panel early = without_rows(desk.prices(), 30);
  ASSERT_EQ(early.dates.back(), day);
  desk.prices("early.csv", early);
  const json short_file = desk.predict({"--asof", day}, "early.csv");
  EXPECT_EQ(desk.predict({"--asof", day}), short_file);
  EXPECT_EQ(short_file["date"], day);
  EXPECT_EQ(short_file["age_days"], 0);
  EXPECT_NE(weights(desk.predict({})), weights(short_file));

  market::Panel altered = desk.prices();
  for (std::size_t i = early.values.size(); i < altered.values.size(); ++i)
    altered.values[i] *= 1.0 + 0.3 * static_cast<double>(i % 3);
  desk.prices("altered.csv", altered);
  EXPECT_EQ(desk.predict({"--asof", day}, "altered.csv"), short_file);
}

TEST(Predict, AsofIsADateAndHasRows) {
  const Desk desk;
  desk.expect_refusal({"--asof", "soon"},
                      "asof = soon is not a date; write YYYY-MM-DD, YYYY-MM or YYYY");
  desk.expect_refusal({"--asof", "2016-02-30"},
                      "asof = 2016-02-30 is not a date; write YYYY-MM-DD, YYYY-MM or YYYY");
  EXPECT_EQ(run_program(desk.arguments({"--asof", "2001-01-01"})).exit_code, 2);
  EXPECT_EQ(desk.predict({"--asof", "2016-02"})["date"], "2016-02-29");
  EXPECT_EQ(desk.predict({"--asof", "20160229"})["date"], "2016-02-29");
  EXPECT_EQ(desk.predict({"--asof", "2015"})["date"], "2015-12-31");
}

TEST(Predict, WhatIsFurtherBackThanCleaningLooksChangesNothing) {
  const Desk desk;
  market::Panel altered = desk.prices();
  for (std::size_t i = 0; i < 40 * static_cast<std::size_t>(kAssets); ++i)
    altered.values[i] = i % 5 == 0 ? std::nan("") : 1e6;
  desk.prices("altered.csv", altered);
  EXPECT_EQ(desk.predict({}, "altered.csv"), desk.predict({}));
}

TEST(Predict, RefusesAStaleFile) {
  const Desk desk;
  desk.expect_refusal(
      {"--asof", "2016-04-02", "--max-age", "9"},
      fmt::format("{}: is stale: its last date, {}, is 10 days before --asof (2016-04-02), and "
                  "--max-age allows 9; give a newer file, or a larger --max-age",
                  desk.path("prices.csv"), kLastDate));
  const json answer = desk.predict({"--asof", "2016-04-02", "--max-age", "10"});
  EXPECT_EQ(answer["age_days"], 10);
  EXPECT_EQ(answer["warnings"], json::array());
  // Today is later than 2016 by more than a year, whenever this runs.
  const Finished run = run_program(desk.arguments({"--max-age", "365"}));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("is stale: its last date, 2016-03-23, is "));
  EXPECT_THAT(run.err, HasSubstr(" days before today ("));
}

TEST(Predict, WarnsOfAnOldFileWhereNoAgeIsGiven) {
  const Desk desk;
  EXPECT_THAT(desk.predict({})["warnings"].dump(), HasSubstr("the last date, 2016-03-23, is "));
  EXPECT_THAT(desk.predict({"--asof", "2016-04-02"})["warnings"].dump(),
              HasSubstr("is 10 days before --asof (2016-04-02); --max-age DAYS refuses"));
  EXPECT_EQ(desk.predict({"--asof", "2016-03-28"})["warnings"], json::array());
}

TEST(Predict, RefusesAFileFromTheFuture) {
  const Desk desk;
  market::Panel future = desk.prices();
  for (std::string& date : future.dates) date.replace(0, 2, "29");
  desk.prices("future.csv", future);
  const Finished run = run_program(desk.arguments({}, "future.csv"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("future.csv: its last date, 2916-03-23, is in the future (today "
                                 "is "));
  EXPECT_EQ(desk.predict({"--asof", "2916-03-24"}, "future.csv")["age_days"], 1);
}

TEST(Predict, WarnsOfADayTheModelWasTrainedOn) {
  const Desk desk;
  learn::Model model = desk.model("m.sharpen", {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}});
  model.last_date = "2016-03-01";
  learn::write_model(model, desk.path("m.sharpen"));
  EXPECT_EQ(desk.predict({"--asof", "2016-03-01"})["warnings"], json::array());
  EXPECT_THAT(
      desk.predict({"--asof", "2016-02-29"})["warnings"].dump(),
      HasSubstr("the model was trained on dates up to 2016-03-01: it knows what came next"));
}

TEST(Predict, TradesFromWhatIsHeldNow) {
  const Desk desk;
  const json fresh = desk.predict({});
  const auto wanted = weights(fresh);
  ASSERT_EQ(wanted.size(), 2u);
  EXPECT_EQ(fresh["previous"], nullptr);
  ASSERT_EQ(fresh["trades"].size(), 2u);
  for (const json& trade : fresh["trades"]) {
    EXPECT_EQ(trade["from"], 0.0);
    EXPECT_EQ(trade["to"], wanted.at(trade["asset"]));
    EXPECT_EQ(trade["trade"], trade["to"]);
  }
  EXPECT_NEAR(fresh["turnover"], 1.0, 1e-12);

  const std::string first = wanted.begin()->first, second = wanted.rbegin()->first;
  std::string other;
  for (const std::string& ticker : desk.prices().tickers)
    if (!wanted.contains(ticker)) other = ticker;
  const std::string held =
      desk.file("held.csv",
                fmt::format("asset,weight\nGONE,0.125\n{},0.25\n{},-0.5\nNULL,0\n", first, other));
  const json answer = desk.predict({"--previous", held});
  EXPECT_EQ(answer["previous"], held);
  std::map<std::string, json> trades;
  for (const json& trade : answer["trades"]) trades[trade["asset"]] = trade;
  ASSERT_EQ(trades.size(), 4u);
  EXPECT_EQ(trades[first]["from"], 0.25);
  EXPECT_EQ(trades[first]["trade"].get<double>(), wanted.at(first) - 0.25);
  EXPECT_EQ(trades[second]["from"], 0.0);
  EXPECT_EQ(trades[other]["to"], 0.0);
  EXPECT_EQ(trades[other]["trade"], 0.5);
  EXPECT_EQ(trades["GONE"]["trade"], -0.125);
  EXPECT_THAT(answer["warnings"].dump(), HasSubstr("the model does not know GONE; held now, and"));
  EXPECT_THAT(answer["warnings"].dump(), Not(HasSubstr("NULL")));
}

TEST(Predict, WritesWeightsThatItReadsBackAsHeld) {
  const Desk desk;
  const std::string out = desk.path("weights.csv"), trades = desk.path("trades.csv");
  const json answer = desk.predict({"--out", out, "--trades", trades});
  std::map<std::string, double> written;
  for (const auto& [asset, weight] : backtest::read_portfolio(out)) written[asset] = weight;
  EXPECT_EQ(written, weights(answer));
  std::string expected = "asset,from,to,trade\n";
  for (const json& holding : answer["holdings"])
    expected += fmt::format("{0},0,{1},{1}\n", holding["asset"].get<std::string>(),
                            holding["weight"].get<double>());
  EXPECT_EQ(text_of(trades), expected);
  const json again = desk.predict({"--previous", out, "--trades", trades});
  EXPECT_EQ(again["trades"], json::array());
  EXPECT_EQ(again["turnover"], 0.0);
  EXPECT_EQ(text_of(trades), "asset,from,to,trade\n");
}

TEST(Predict, NeedsTwoNamesForTwoFiles) {
  const Desk desk;
  const std::string file = desk.path("both.csv");
  desk.expect_refusal({"--out", file, "--trades", file},
                      "--out and --trades name the same file; give each its own");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(Predict, RefusesWeightsItCannotRead) {
  const Desk desk;
  const std::string held = desk.file("held.csv", "asset,weight\nA,x\n");
  const Finished run = run_program(desk.arguments({"--previous", held}));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, StartsWith("sharpen: error: " + held + ":2:2: "));
}

TEST(Predict, CountsSharesInWholeLots) {
  const Desk desk;
  const std::string held =
      desk.file("held.csv", "asset,weight\n" + desk.prices().tickers[0] + ",0.2\nGONE,0.1\n");
  const double capital = 1e6;
  for (const double lot : {1.0, 100.0}) {
    const json answer =
        desk.predict({"--previous", held, "--capital", "1e6", "--lot", fmt::format("{}", lot)});
    EXPECT_EQ(answer["capital"], capital);
    EXPECT_EQ(answer["lot"], lot);
    double invested = 0.0;
    for (const json& holding : answer["holdings"]) {
      const double price = holding["price"], weight = holding["weight"];
      const std::int64_t shares = holding["shares"];
      const auto index = holding["index"].get<Index>();
      EXPECT_EQ(price, desk.prices().matrix()(kDays - 1, index));
      EXPECT_TRUE(holding["shares"].is_number_integer());
      EXPECT_EQ(shares % static_cast<std::int64_t>(lot), 0);
      EXPECT_LE(std::abs(static_cast<double>(shares) * price - weight * capital),
                0.5 * lot * price * (1.0 + 1e-12));
      invested += static_cast<double>(shares) * price;
    }
    EXPECT_NEAR(answer["cash"], capital - invested, 1e-6);
    for (const json& trade : answer["trades"]) {
      if (trade["asset"] == "GONE") {
        EXPECT_EQ(trade["price"], nullptr);
        EXPECT_EQ(trade["shares"], nullptr);
        continue;
      }
      const std::int64_t from = trade["shares_from"], to = trade["shares_to"];
      EXPECT_EQ(trade["shares"], to - from);
      EXPECT_EQ(from % static_cast<std::int64_t>(lot), 0);
    }
    EXPECT_THAT(answer["warnings"].dump(), HasSubstr("the file has no last price of GONE"));
  }
}

TEST(Predict, WarnsOfNamesTooDearForTheAccount) {
  const Desk desk;
  const json answer = desk.predict({"--capital", "1"});
  for (const json& holding : answer["holdings"]) EXPECT_EQ(holding["shares"], 0);
  EXPECT_EQ(answer["cash"], 1.0);
  EXPECT_THAT(answer["warnings"].dump(), HasSubstr("the capital is too small for a lot of "));
}

TEST(Predict, WritesShareCountsInFull) {
  const Desk desk;
  const std::string trades = desk.path("trades.csv");
  const json answer = desk.predict({"--capital", "1e9", "--lot", "1000", "--trades", trades});
  std::string expected = "asset,from,to,trade,price,shares\n";
  for (const json& t : answer["trades"])
    expected += fmt::format("{},0,{},{},{},{}\n", t["asset"].get<std::string>(),
                            t["to"].get<double>(), t["trade"].get<double>(),
                            t["price"].get<double>(), t["shares"].get<std::int64_t>());
  EXPECT_EQ(text_of(trades), expected);
}

TEST(Predict, NeedsPricesAndAnAccountToCountShares) {
  const Desk desk;
  desk.expect_refusal({"--lot", "100"}, "--lot has no meaning here; it goes with --capital");
  desk.expect_refusal({"--capital", "0"}, "capital = 0 is outside (0, inf)");
  const Finished absurd = run_program(desk.arguments({"--capital", "1e300"}));
  EXPECT_EQ(absurd.exit_code, 2);
  EXPECT_THAT(absurd.err, HasSubstr("capital = 1e+300 makes more shares of "));
  market::Panel returns = market::simple_returns(desk.prices());
  const std::string file = desk.prices("returns.csv", returns);
  const Finished run = run_program(
      {"predict", "--model", desk.path("m.sharpen"), "--returns", file, "--capital", "1e6"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err,
            "sharpen: error: --capital needs prices to count shares by; give --prices FILE\n");
}

TEST(Predict, TakesReturnsToo) {
  const Desk desk;
  const std::string file = desk.prices("returns.csv", market::simple_returns(desk.prices()));
  const Finished run =
      run_program({"predict", "--json", "--model", desk.path("m.sharpen"), "--returns", file});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["holdings"], desk.predict({})["holdings"]);
}

TEST(Predict, SaysHowFarTheMembersAgree) {
  const Desk desk;
  const std::vector<double> a = {5e-3, 0, 0, 0, 0, 0}, b = {0, 5e-3, 0, 0, 0, 0};
  desk.model("m.sharpen", {a, a, a, b});
  const json answer = desk.predict({"-k", "1"});
  const std::vector<std::string>& tickers = desk.prices().tickers;
  ASSERT_EQ(answer["holdings"].size(), 1u);
  const json& held = answer["holdings"][0];
  EXPECT_EQ(held["asset"], tickers[0]);
  EXPECT_EQ(held["held_by"], 0.75);
  EXPECT_NEAR(held["member_mean"], 0.75, 1e-12);
  EXPECT_NEAR(held["member_sd"], 0.5, 1e-12);
  ASSERT_EQ(answer["held_by_members_only"].size(), 1u);
  EXPECT_EQ(answer["held_by_members_only"][0]["asset"], tickers[1]);
  EXPECT_EQ(answer["held_by_members_only"][0]["held_by"], 0.25);
  EXPECT_GT(answer["agreement"], 0.5);
  EXPECT_LT(answer["agreement"], 1.0);
  desk.model("m.sharpen", {a});
  const json single = desk.predict({"-k", "1"});
  EXPECT_EQ(single["agreement"], 1.0);
  EXPECT_EQ(single["holdings"][0]["member_sd"], nullptr);
}

TEST(Predict, RequiresOkIfAsked) {
  const Desk desk;
  const std::string out = desk.file("weights.csv", "what was there");
  const std::vector<std::string> require = {"--json", "--require-ok", "--out", out};
  desk.model("m.sharpen", {{3e-3, 1e-3, 2e-3, 2e-3, 1e-3, 2e-3}});
  EXPECT_EQ(run_program(desk.arguments(require)).exit_code, 0);
  EXPECT_THAT(text_of(out), StartsWith("asset,weight\n"));

  desk.file("weights.csv", "what was there");
  desk.model("m.sharpen", {{0, 0, 0, 0, 0, 0}});
  const Finished cash = run_program(desk.arguments(require));
  EXPECT_EQ(cash.exit_code, 1);
  EXPECT_EQ(cash.err,
            "sharpen: error: the status is no_signal, and --require-ok wants ok; no file was "
            "written\n");
  EXPECT_EQ(json::parse(cash.out)["status"], "no_signal");
  EXPECT_EQ(json::parse(cash.out)["holdings"], json::array());
  EXPECT_EQ(text_of(out), "what was there");

  desk.model("m.sharpen", {{-1e-3, -2e-3, -3e-3, -4e-3, -5e-3, -6e-3}});
  const Finished face = run_program(desk.arguments({"--json", "--require-ok"}));
  EXPECT_EQ(face.exit_code, 1);
  EXPECT_EQ(json::parse(face.out)["status"], "neutral_face");
  EXPECT_EQ(desk.predict({})["status"], "neutral_face");
  EXPECT_EQ(desk.predict({"--net", "any", "--require-ok"})["status"], "ok");
}

TEST(Predict, ExplainsEachName) {
  const Desk desk;
  const json answer = desk.predict({"--explain"});
  double risk = 0.0;
  for (const json& holding : answer["holdings"]) {
    EXPECT_GT(holding["sharpe_lost_if_removed"], 0.0);
    EXPECT_GE(holding["score_rank"], 1);
    EXPECT_TRUE(holding["mu"].is_number());
    risk += holding["risk_contribution"].get<double>();
  }
  EXPECT_NEAR(risk, 1.0, 1e-12);
  EXPECT_TRUE(answer.contains("best_left_out"));
  EXPECT_FALSE(desk.predict({})["holdings"][0].contains("mu"));
}

TEST(Predict, RefusesAWindowWithGaps) {
  const Desk desk;
  const auto with_gap = [&](Index first, Index rows) {
    market::Panel panel = desk.prices();
    for (Index t = first; t < first + rows; ++t)
      panel.values[static_cast<std::size_t>(t * kAssets + 2)] = std::nan("");
    desk.prices("gap.csv", panel);
  };
  const std::string ticker = desk.prices().tickers[2];
  with_gap(kDays - 1, 1);  // no last price
  desk.expect_refusal(
      {},
      fmt::format("{}: 1 of the 6 assets that the model needs lack a return in its window, {} to "
                  "{}: {} (on {}); complete the file",
                  desk.path("gap.csv"), desk.prices().dates[kDays - kLookback], kLastDate, ticker,
                  kLastDate),
      "gap.csv");
  with_gap(kDays - 12, 8);
  const Finished run = run_program(desk.arguments({}, "gap.csv"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(
      run.err,
      HasSubstr("cleaning leaves out 1 of the 6 assets that the model needs: " + ticker + " ("));
  EXPECT_EQ(run_program(desk.arguments({"--max-gap", "8"}, "gap.csv")).exit_code, 0);
  with_gap(kDays - 12, 3);  // carried over
  EXPECT_EQ(run_program(desk.arguments({}, "gap.csv")).exit_code, 0);
  with_gap(0, kDays - kLookback - 1);  // listed just in time
  EXPECT_EQ(weights(desk.predict({}, "gap.csv")), weights(desk.predict({})));
  with_gap(0, kDays - kLookback);
  EXPECT_EQ(run_program(desk.arguments({}, "gap.csv")).exit_code, 2);
}

TEST(Predict, NeedsAWholeWindow) {
  const Desk desk;
  desk.prices("short.csv", without_rows(desk.prices(), kDays - kLookback));
  desk.expect_refusal({},
                      fmt::format("{}: has 19 returns up to {}, and the model looks back over 20; "
                                  "give more rows",
                                  desk.path("short.csv"), desk.prices().dates[kLookback - 1]),
                      "short.csv");
  desk.prices("enough.csv", without_rows(desk.prices(), kDays - kLookback - 1));
  EXPECT_EQ(desk.predict({}, "enough.csv")["window"]["from"], desk.prices().dates[1]);
}

TEST(Predict, RefusesPricesThatNeverMove) {
  const Desk desk;
  market::Panel still = desk.prices();
  std::fill(still.values.begin(), still.values.end(), 5.0);
  desk.prices("still.csv", still);
  const Finished run = run_program(desk.arguments({}, "still.csv"));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("have no covariance: no asset moves"));
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
            "sharpen: error: no model given; give --model FILE, as sharpen train wrote it\n");
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

TEST(Predict, TellsPeopleWhatToDo) {
  const Desk desk;
  desk.model("m.sharpen",
             {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}, {1e-3, 2e-3, 1e-3, 2e-3, 0, 1e-3}});
  const Finished plain = run_program(desk.arguments({}));
  EXPECT_THAT(plain.out, StartsWith("2 of 6 assets by swap (at most 2), for the period after " +
                                    std::string(kLastDate) + "\n\n  asset "));
  EXPECT_THAT(plain.out, HasSubstr("\nmembers    2, agreement 0."));
  EXPECT_THAT(plain.out, HasSubstr("\nstatus     ok: "));
  EXPECT_THAT(plain.out, Not(HasSubstr("turnover")));
  const Finished account = run_program(desk.arguments({"--capital", "1e6", "--explain"}));
  EXPECT_THAT(account.out, HasSubstr("  trade "));
  EXPECT_THAT(account.out, HasSubstr("\nturnover   1.0000\n"));
  EXPECT_THAT(account.out, HasSubstr("Sharpe lost without it"));
}

void add_keys(const json& value, const std::string& prefix, std::vector<std::string>& keys) {
  if (value.is_array()) {
    for (const json& item : value) add_keys(item, prefix + "[]", keys);
  } else if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) {
      const std::string path = prefix.empty() ? key : prefix + "." + key;
      if (!inner.is_object()) keys.push_back(path);
      add_keys(inner, path, keys);
    }
  }
}

TEST(Predict, DocumentsEveryKey) {
  const Desk desk;
  desk.model("m.sharpen",
             {{3e-3, 1e-3, -1e-3, 2e-3, 0.5e-3, -2e-3}, {1e-3, 2e-3, 1e-3, 2e-3, 0, 1e-3}});
  const std::string page = text_of(SHARPEN_SOURCE_DIR "/docs/json.md");
  const auto start = page.find("\n## sharpen predict --json\n");
  ASSERT_NE(start, std::string::npos);
  const std::string section = page.substr(start, page.find("\n## ", start + 1) - start);
  std::vector<std::string> keys;
  const json answer = desk.predict({"--explain", "--capital", "1e6", "-k", "1"});
  EXPECT_FALSE(answer["held_by_members_only"].empty());
  add_keys(answer, "", keys);
  ASSERT_GT(keys.size(), 50u);
  for (const std::string& key : keys) EXPECT_THAT(section, HasSubstr("`" + key + "`"));
}

}  // namespace
}  // namespace sharpen
