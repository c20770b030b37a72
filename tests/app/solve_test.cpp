// The answers of `sharpen solve`: known ones, ones recomputed here, and their form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sharpen/market/moments.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;

json solve(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"solve", "--json"});
  const Finished run = run_program(flags);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.err, "");
  return json::parse(run.out, nullptr, false);
}

std::vector<Index> support_of(const json& answer) {
  std::vector<Index> support;
  for (const json& holding : answer["holdings"]) support.push_back(holding["index"]);
  return support;
}

// mu^T w / sqrt(w^T Sigma w) from the printed weights.
double sharpe_of(const json& answer, const Eigen::VectorXd& mu, const Eigen::MatrixXd& Sigma) {
  Eigen::VectorXd w = Eigen::VectorXd::Zero(mu.size());
  for (const json& holding : answer["holdings"])
    w[holding["index"].get<Index>()] = holding["weight"].get<double>();
  return mu.dot(w) / std::sqrt(w.dot(Sigma * w));
}

struct KnownAnswer {
  const char* data;
  int k;
  double full;
  double best;
  std::vector<Index> best_support;
  double oscar;
  std::vector<Index> oscar_support;
};

class KnownAnswers : public ::testing::TestWithParam<KnownAnswer> {
 protected:
  void SetUp() override {
    if (testing::data_folder().empty())
      GTEST_SKIP() << "the test data are not here; set SHARPEN_TEST_DATA to their folder";
  }
  static bool moments() { return std::string(GetParam().data).starts_with("port"); }
  static std::string file() { return testing::data_folder() + "/" + GetParam().data; }
  static json answer_of(const std::string& optimizer) {
    std::vector<std::string> flags = {"-k", std::to_string(GetParam().k), "--optimizer", optimizer};
    if (moments()) {
      flags.insert(flags.end(), {"--moments", file(), "--format", "orlib"});
    } else {
      flags.insert(flags.end(), {"--returns", file(), "--gross", "--lookback", "all", "--shrinkage",
                                 "0", "--periods-per-year", "12"});
    }
    return solve(flags);
  }
  // Read and estimated apart from the program.
  static std::pair<Eigen::VectorXd, Eigen::MatrixXd> moments_of_file() {
    using Rows = Eigen::Matrix<double, -1, -1, Eigen::RowMajor>;
    if (moments()) {
      const market::Moments m = market::read_orlib(file());
      return {Eigen::Map<const Eigen::VectorXd>(m.mean.data(), m.n()),
              Eigen::Map<const Rows>(m.covariance.data(), m.n(), m.n())};
    }
    const market::Panel panel = market::read_panel(file(), market::PanelKind::gross_returns);
    const Eigen::MatrixXd r =
        Eigen::Map<const Rows>(panel.values.data(), panel.rows(), panel.n()).array() - 1.0;
    const Eigen::VectorXd mu = r.colwise().mean();
    const Eigen::MatrixXd centred = r.rowwise() - mu.transpose();
    return {mu, centred.transpose() * centred / static_cast<double>(panel.rows() - 1)};
  }
};

TEST_P(KnownAnswers, AreReached) {
  const KnownAnswer& known = GetParam();
  const auto [mu, Sigma] = moments_of_file();
  const double root_periods = std::sqrt(moments() ? 252.0 : 12.0);
  for (const char* optimizer : {"oscar", "swap"}) {
    const json answer = answer_of(optimizer);
    const bool oscar = std::string(optimizer) == "oscar";
    const double sharpe = answer["sharpe"];
    EXPECT_NEAR(sharpe, oscar ? known.oscar : known.best, 6e-10) << optimizer;
    EXPECT_EQ(support_of(answer), oscar ? known.oscar_support : known.best_support) << optimizer;
    EXPECT_NEAR(answer["full_sharpe"].get<double>(), known.full, 6e-10);
    EXPECT_EQ(answer["status"], "ok");
    EXPECT_EQ(answer["cardinality"], known.k);
    EXPECT_NEAR(sharpe_of(answer, mu, Sigma), sharpe, 1e-11);
    EXPECT_DOUBLE_EQ(answer["sharpe_annualized"].get<double>(), sharpe * root_periods);
    EXPECT_DOUBLE_EQ(answer["share_of_full"].get<double>(),
                     sharpe / answer["full_sharpe"].get<double>());
  }
}

TEST_P(KnownAnswers, AreNotBeatenByTheOtherOptimizers) {
  const double best = answer_of("swap")["sharpe"];
  for (const char* optimizer : {"symmetric", "greedy"}) {
    const json answer = answer_of(optimizer);
    EXPECT_LE(answer["sharpe"].get<double>(), best * (1 + 1e-12)) << optimizer;
    EXPECT_GT(answer["sharpe"].get<double>(), 0) << optimizer;
    EXPECT_EQ(answer["optimizer"], optimizer);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Design, KnownAnswers,
    ::testing::Values(
        KnownAnswer{"port1.txt", 3, .334686597, .231408710, {2, 4, 28}, .206307644, {4, 25, 28}},
        KnownAnswer{"port1.txt",
                    5,
                    .334686597,
                    .260939244,
                    {2, 4, 8, 17, 28},
                    .212732505,
                    {1, 3, 4, 25, 28}},
        KnownAnswer{"ff25_monthly_gross.csv",
                    3,
                    .396524971,
                    .307542142,
                    {6, 14, 17},
                    .244864425,
                    {0, 14, 20}},
        KnownAnswer{"ff25_monthly_gross.csv",
                    5,
                    .396524971,
                    .347594105,
                    {6, 14, 17, 20, 24},
                    .286586319,
                    {0, 1, 14, 20, 24}},
        KnownAnswer{"ff100_monthly_gross.csv",
                    3,
                    .731103579,
                    .447786414,
                    {0, 8, 70},
                    .307958014,
                    {1, 2, 8}}));

TEST(Solve, TheDemoIsTheSameOnEveryRunAndThreadCount) {
  const std::string first = run_program({"solve", "--demo", "--explain"}).out;
  EXPECT_EQ(run_program({"solve", "--demo", "--explain"}).out, first);
  EXPECT_EQ(run_program({"solve", "--demo", "--explain", "--threads", "2"}).out, first);
  EXPECT_NE(run_program({"solve", "--demo", "--explain", "--seed", "1"}).out, first);
}

TEST(Solve, PricesAndTheirReturnsGiveTheSameAnswer) {
  const Folder folder;
  std::string prices = "date,A,B,C\n", returns = prices, gross = prices;
  double p[3] = {64, 32, 16};
  const double steps[5][3] = {
      {.5, 0, .25}, {-.25, .5, 0}, {.125, -.25, .5}, {0, .25, -.5}, {.5, .125, .25}};
  const auto row = [](int day, double a, double b, double c) {
    std::stringstream text;
    text.precision(17);
    text << "2024-01-0" << day << "," << a << "," << b << "," << c << "\n";
    return text.str();
  };
  prices += row(1, p[0], p[1], p[2]);
  for (int t = 0; t < 5; ++t) {
    for (int j = 0; j < 3; ++j) p[j] *= 1 + steps[t][j];
    prices += row(t + 2, p[0], p[1], p[2]);
    returns += row(t + 2, steps[t][0], steps[t][1], steps[t][2]);
    gross += row(t + 2, 1 + steps[t][0], 1 + steps[t][1], 1 + steps[t][2]);
  }
  const std::vector<std::string> common = {"--lookback", "4", "-k", "2"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), common.begin(), common.end());
    return solve(flags);
  };
  const json from_prices = with({"--prices", folder.file("p.csv", prices)});
  EXPECT_EQ(from_prices, with({"--returns", folder.file("r.csv", returns)}));
  EXPECT_EQ(from_prices, with({"--returns", folder.file("g.csv", gross), "--gross"}));
  EXPECT_EQ(from_prices["window"]["from"], "2024-01-03");
  EXPECT_EQ(from_prices["window"]["to"], "2024-01-06");
  EXPECT_EQ(from_prices["window"]["rows"], 4);
  EXPECT_EQ(from_prices["shrinkage"], 0.1);
}

TEST(Solve, DatesOutsideTheRangeAreNotRead) {
  const json cut =
      solve({"--demo", "--from", "2024-02-01", "--to", "2024-06-28", "--lookback", "all"});
  EXPECT_EQ(cut["window"]["from"], "2024-02-01");
  EXPECT_EQ(cut["window"]["to"], "2024-06-28");
  const json counted = solve({"--demo", "--to", "2024-06-28", "--lookback",
                              std::to_string(cut["window"]["rows"].get<int>())});
  EXPECT_EQ(cut, counted);
}

TEST(Solve, TickersChooseAndOrderTheColumns) {
  const json answer = solve({"--demo", "--tickers", "GRANITE,ALDER,FJORD", "-k", "3"});
  EXPECT_EQ(answer["n"], 3);
  const json other = solve({"--demo", "--tickers", "ALDER,FJORD,GRANITE", "-k", "3"});
  EXPECT_EQ(answer["holdings"][0]["asset"], "GRANITE");
  EXPECT_EQ(other["holdings"][2]["asset"], "GRANITE");
  EXPECT_NEAR(answer["sharpe"].get<double>(), other["sharpe"].get<double>(), 1e-12);
}

TEST(Solve, SizingScalesTheWeightsAndNotTheSharpeRatio) {
  const std::vector<std::string> demo = {"--demo", "-k", "4"};
  const auto with = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), demo.begin(), demo.end());
    return solve(flags);
  };
  const json gross = with({"--sizing", "gross"});
  double sum = 0;
  for (const json& holding : gross["holdings"]) sum += std::abs(holding["weight"].get<double>());
  EXPECT_NEAR(sum, 1, 1e-14);
  // Twice the target volatility is twice the weights; so is a quarter of the periods a year.
  const auto first_weight = [](const json& answer) {
    return answer["holdings"][0]["weight"].get<double>();
  };
  const json volatility = with({"--sizing", "volatility", "--target-volatility", "0.1"});
  EXPECT_NEAR(first_weight(with({"--sizing", "volatility", "--target-volatility", "0.2"})) /
                  first_weight(volatility),
              2, 1e-12);
  EXPECT_NEAR(first_weight(with({"--sizing", "volatility", "--periods-per-year", "63"})) /
                  first_weight(volatility),
              2, 1e-12);
  EXPECT_NEAR(volatility["sharpe"].get<double>(), gross["sharpe"].get<double>(), 1e-13);
  const json budget = with({"--sizing", "budget", "--offset", "1e-9"});
  double net = 0;
  for (const json& holding : budget["holdings"]) net += holding["weight"].get<double>();
  EXPECT_NEAR(net, 1, 1e-6);
}

TEST(Solve, BothFormsOfTheRiskGiveTheSameAnswer) {
  json dense = solve({"--demo", "--form", "dense", "--explain"});
  json low_rank = solve({"--demo", "--form", "low-rank", "--explain"});
  EXPECT_EQ(dense["form"], "dense");
  EXPECT_EQ(low_rank["form"], "low-rank");
  EXPECT_EQ(support_of(dense), support_of(low_rank));
  for (const char* key : {"sharpe", "full_sharpe"})
    EXPECT_NEAR(dense[key].get<double>(), low_rank[key].get<double>(), 1e-9) << key;
  for (std::size_t i = 0; i < dense["holdings"].size(); ++i)
    for (const char* key : {"weight", "score", "risk_contribution", "sharpe_lost_if_removed"})
      EXPECT_NEAR(dense["holdings"][i][key].get<double>(),
                  low_rank["holdings"][i][key].get<double>(), 1e-9)
          << key;
}

TEST(Solve, AShareOfTheAssetsIsRounded) {
  EXPECT_EQ(solve({"--demo", "-k", "10%"})["k"], 1);    // 1.2
  EXPECT_EQ(solve({"--demo", "-k", "12.5%"})["k"], 2);  // 1.5
  EXPECT_EQ(solve({"--demo", "-k", "1%"})["k"], 1);
  EXPECT_EQ(solve({"--demo", "-k", "100%"})["k"], 12);
}

// Solving again without each of 2400 names would take minutes.
TEST(Solve, SlowExplainsThousandsOfNamesInSeconds) {
  const Folder folder;
  const std::string file = folder.path("wide.csv");
  market::write_panel(market::simulate({.assets = 2400, .days = 62}), file);
  const auto started = std::chrono::steady_clock::now();
  const json answer = solve({"--prices", file, "--lookback", "60", "-k", "2400", "--explain"});
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(30));
  EXPECT_EQ(answer["holdings"].size(), 2400U);
  for (const json& holding : answer["holdings"])
    EXPECT_GE(holding["sharpe_lost_if_removed"].get<double>(), 0.0);
}

TEST(Solve, WithEveryNameTheFullSharpeIsKept) {
  const json answer = solve({"--demo", "-k", "12"});
  EXPECT_NEAR(answer["share_of_full"].get<double>(), 1, 1e-12);
  EXPECT_TRUE(solve({"--demo", "-k", "12", "--explain"})["best_left_out"].is_null());
}

TEST(Solve, ExplanationsAddUp) {
  const json answer = solve({"--demo", "--explain", "--shrinkage", "0"});
  double risk = 0;
  for (const json& holding : answer["holdings"]) {
    risk += holding["risk_contribution"].get<double>();
    EXPECT_GT(holding["sharpe_lost_if_removed"].get<double>(), 0);
    EXPECT_GE(holding["score_rank"].get<int>(), 1);
  }
  EXPECT_NEAR(risk, 1, 1e-12);
  // The best name left out really adds that much: solve on exactly these names. All names are
  // read for the estimate of the risk only through its trace, so shrinkage must be off.
  std::string tickers = answer["best_left_out"]["asset"];
  for (const json& holding : answer["holdings"])
    tickers += "," + holding["asset"].get<std::string>();
  const json more = solve({"--demo", "--shrinkage", "0", "--tickers", tickers, "-k", "5"});
  EXPECT_NEAR(more["sharpe"].get<double>(),
              answer["sharpe"].get<double>() + answer["best_left_out"]["sharpe_gain"].get<double>(),
              1e-12);
}

TEST(SolveText, ShowsHoldingsSharpeShareAndStatus) {
  const Finished run = run_program({"solve", "--demo", "--explain"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* part :
       {"asset", "weight", "GRANITE", "per period", "annualised", "% of it is kept",
        "status     ok: solved: the portfolio is net long", "left out", "rank"})
    EXPECT_THAT(run.out, HasSubstr(part));
}

TEST(SolveText, ShowsWarnings) {
  const Folder folder;
  const std::string file = folder.file(
      "p.csv", "date,A,B\n2024-01-01,10,5\n2024-01-02,11,5\n2024-01-03,10,5\n2024-01-04,12,5\n");
  EXPECT_THAT(run_program({"solve", "--prices", file, "--lookback", "all"}).out,
              HasSubstr("warning    zero variance in the window (constant price?): B;"));
}

TEST(SolveText, SaysWhenExpectedReturnsAreRoundingErrors) {
  const Folder folder;
  const auto solved = [&](const char* last) {
    const std::string file = folder.file(
        "r.csv",
        std::string("date,A,B\n2024-01-01,0.1,0.2\n2024-01-02,0.2,0.1\n2024-01-03,") + last);
    return run_program({"solve", "--returns", file, "--lookback", "all"}).out;
  };
  const std::string warning = "expected returns are rounding errors";
  EXPECT_THAT(solved("-0.3,-0.3\n"), HasSubstr(warning)) << "0.1 + 0.2 - 0.3 is not quite zero";
  EXPECT_THAT(solved("-0.30000001,-0.3\n"), HasSubstr(warning)) << "centred, to eight decimals";
  EXPECT_THAT(solved("-0.2999,-0.3\n"), Not(HasSubstr(warning)));
}

TEST(SolveText, ATickerCannotSteerTheTerminal) {
  const Folder folder;
  const std::string file =
      folder.file("m.csv", "\"a\x1b[2J\",1\n" + std::string(500, 'x') + ",2\n");
  const std::string cov =
      folder.file("c.csv", ",\"a\x1b[2J\"," + std::string(500, 'x') + "\n\"a\x1b[2J\",1,0\n" +
                               std::string(500, 'x') + ",0,1\n");
  const Finished run = run_program({"solve", "--mean", file, "--cov", cov, "-k", "2"});
  EXPECT_THAT(run.out + run.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run.out + run.err, Not(HasSubstr(std::string(100, 'x'))));
}

// Every key of an answer, as docs/json.md writes it.
void collect_keys(const json& value, const std::string& prefix, std::set<std::string>& keys) {
  if (value.is_array())
    for (const json& item : value) collect_keys(item, prefix + "[]", keys);
  if (!value.is_object()) return;
  for (const auto& [key, item] : value.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    keys.insert(path);
    collect_keys(item, path, keys);
  }
}

TEST(JsonPage, ListsEveryKeyThatIsPrinted) {
  const std::string page = testing::text_of(SHARPEN_SOURCE_DIR "/docs/json.md");
  std::set<std::string> keys;
  collect_keys(solve({"--demo", "--explain"}), "", keys);
  collect_keys(json::parse(run_program({"--version", "--json"}).out), "", keys);
  ASSERT_GT(keys.size(), 30u);
  for (const std::string& key : keys)
    EXPECT_THAT(page, HasSubstr("`" + key + "`")) << "docs/json.md does not list " << key;
}

TEST(Json, HasTheKeysThatAreAlwaysPromised) {
  const json answer = solve({"--demo"});
  for (const char* key : {"schema_version", "status", "sharpe", "sharpe_annualized", "full_sharpe",
                          "cardinality", "optimizer", "holdings", "warnings", "window"})
    EXPECT_TRUE(answer.contains(key)) << key;
  EXPECT_EQ(answer["schema_version"], 1);
  EXPECT_FALSE(answer.contains("best_left_out"));
  EXPECT_FALSE(answer["holdings"][0].contains("mu"));
}

}  // namespace
}  // namespace sharpen
