// Every baseline on a market whose covariance is nearly singular: 2016 to 2025, where QQQ, TQQQ and
// nine other funds hold what the stocks beside them are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "sharpen/baseline/bounds.hpp"
#include "sharpen/baseline/mssrm.hpp"
#include "sharpen/market/panel.hpp"
#include "support/files.hpp"
#include "support/problems.hpp"

namespace sharpen::baseline {
namespace {

using Eigen::VectorXd;
using testing::RowMatrix;
using testing::view;

constexpr Index kRows = 250;

// The last returns of the funds and of the largest stocks in them.
RowMatrix funds_and_stocks(const std::string& file) {
  const std::set<std::string> names = {"DIA",  "IVV",  "IWM",  "QQQ",  "SCHD", "SPY",  "TQQQ",
                                       "VGT",  "VOO",  "VTI",  "XLK",  "AAPL", "MSFT", "NVDA",
                                       "AMZN", "META", "GOOG", "AVGO", "TSLA", "JPM",  "GOOGL"};
  constexpr auto kind = market::PanelKind::prices;
  const market::Panel panel = market::simple_returns(market::read_panel(file, kind), kind);
  std::vector<Index> columns;
  for (Index j = 0; j < panel.n(); ++j)
    if (names.count(panel.tickers[static_cast<std::size_t>(j)]) != 0) columns.push_back(j);
  const Eigen::Map<const RowMatrix> all(panel.values.data(), panel.rows(), panel.n());
  return all.bottomRows(kRows)(Eigen::all, columns);
}

class NearlySingular : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string file = testing::data_folder() + "/us_liquid_2016_2025.csv";
    if (testing::data_folder().empty() || !std::filesystem::exists(file)) return;
    window_ = funds_and_stocks(file);
  }

  void SetUp() override {
    if (window_.size() == 0) GTEST_SKIP() << "there is no us_liquid in the test data";
    risk::RiskSettings settings;
    settings.shrinkage = 0.0;
    mu_ = window_.colwise().mean().transpose();
    Sigma_ = testing::naive_covariance(window_, 0.0);
    risk_ = risk::from_covariance(view(Sigma_), settings);
    ASSERT_EQ(risk_->status(0), Status::ok);
  }

  Index n() const { return window_.cols(); }

  static void expect_at_most(Index k, const select::Portfolio& portfolio) {
    EXPECT_LE(static_cast<Index>(portfolio.support.size()), k);
    for (const double w : portfolio.weights) EXPECT_TRUE(std::isfinite(w));
    EXPECT_TRUE(std::isfinite(portfolio.sharpe));
  }

  select::Portfolio swapped(Index k) const {
    select::Selector swap({{.k = k, .net = layer::Net::any}}, *risk_);
    select::Portfolio out;
    swap.run(*risk_, 0, view(mu_), out);
    return out;
  }

  static inline RowMatrix window_;
  RowMatrix Sigma_;
  VectorXd mu_;
  std::unique_ptr<risk::Risk> risk_;
};

TEST_F(NearlySingular, IsWhatItSays) {
  ASSERT_EQ(n(), 21);
  const VectorXd sd = Sigma_.diagonal().cwiseSqrt();
  double closest = 0.0;
  for (Index i = 0; i < n(); ++i)
    for (Index j = 0; j < i; ++j) closest = std::max(closest, Sigma_(i, j) / (sd[i] * sd[j]));
  EXPECT_GT(closest, 0.999);
}

TEST_F(NearlySingular, BothFormsOfMssrmGiveAPortfolio) {
  for (const Index k : {1, 3, 10}) {
    MssrmLong published({.k = k}, n());
    MssrmLongResult plain;
    published.run_on_window(view(window_), view(mu_), plain);
    EXPECT_EQ(plain.portfolio.outcome.status, Status::ok);
    expect_at_most(k, plain.portfolio);
    double total = 0.0;
    for (const double w : plain.portfolio.weights) {
      EXPECT_GE(w, 0.0);
      total += w;
    }
    EXPECT_NEAR(total, 1.0, 1e-12);

    Mssrm ascent({{.k = k, .net = layer::Net::any}}, *risk_);
    MssrmResult shorts;
    ascent.run(*risk_, 0, view(mu_), shorts);
    EXPECT_TRUE(shorts.portfolio.outcome.status == Status::ok ||
                shorts.portfolio.outcome.status == Status::not_converged);
    expect_at_most(k, shorts.portfolio);
    EXPECT_GT(shorts.portfolio.sharpe, 0.0);
  }
}

TEST_F(NearlySingular, NothingExceedsTheBoundsAndTheRelaxationHoldsWhatItSays) {
  for (const Index k : {2, 5}) {
    const double reached = swapped(k).sharpe;
    ASSERT_GT(reached, 0.0);
    for (const Recovery recovery : {Recovery::top_k, Recovery::match}) {
      SdrSelector sdr({{.k = k, .net = layer::Net::any}, recovery}, *risk_);
      SdrPortfolio out;
      sdr.run(*risk_, 0, view(mu_), out);
      EXPECT_TRUE(out.portfolio.outcome.status == Status::ok ||
                  out.portfolio.outcome.status == Status::not_converged);
      expect_at_most(k, out.portfolio);
      EXPECT_LE(out.relaxation.primal, out.relaxation.dual);
      EXPECT_GE(root_above(out.relaxation.dual), reached);
      EXPECT_GE(root_above(out.relaxation.dual), out.portfolio.sharpe);
    }
    for (const Bound kind : {Bound::sdp, Bound::perspective, Bound::best}) {
      const SharpeBound bound =
          sharpe_upper_bound(*risk_, 0, view(mu_), {.k = k, .bound = kind, .sdr = {}});
      EXPECT_TRUE(bound.status == Status::ok || bound.status == Status::not_converged);
      EXPECT_GE(bound.sharpe, reached) << name(kind);
    }
    // The tangent portfolio of all assets bounds every other, and the best bound is below it.
    EXPECT_LE(sharpe_upper_bound(*risk_, 0, view(mu_), {.k = k, .sdr = {}}).sharpe,
              select::full_sharpe(*risk_, 0, view(mu_), layer::Net::any) * (1.0 + 1e-3));
  }
}

}  // namespace
}  // namespace sharpen::baseline
