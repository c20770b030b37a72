// Times proofs of the best portfolio of k names, on one core: to the end for up to 213 names, and
// the gap that is left after ten seconds where there is no end. Every result is checked first: the
// portfolio against the known optimum, its bound against the portfolio. Real data where there is
// any, otherwise simulated of the same size.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "measure.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/market/cleaning.hpp"
#include "sharpen/market/moments.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/simulate.hpp"
#include "sharpen/select/proof.hpp"

namespace {

using namespace sharpen;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Market {
  std::string name;
  RowMatrix Sigma;
  std::vector<double> mu;
  bool real = true;

  Index n() const { return static_cast<Index>(mu.size()); }
  std::unique_ptr<risk::Risk> risk() const {
    risk::RiskSettings settings;
    settings.shrinkage = 0.0;
    settings.parts = {.lower = false, .root = false, .restriction = false};
    return risk::from_covariance({Sigma.data(), n(), n()}, settings);
  }
};

std::string data_file(const std::string& name) {
  const char* given = std::getenv("SHARPEN_TEST_DATA");
  const std::filesystem::path folder = given != nullptr ? given : "../shared/data";
  std::error_code ignored;
  return std::filesystem::exists(folder / name, ignored) ? (folder / name).string() : "";
}

// Moments of the last `rows` returns, shrunk by lambda.
Market of_window(const std::string& name, const market::Panel& panel, Index rows, double lambda) {
  const Eigen::Map<const RowMatrix> all(panel.values.data(), panel.rows(), panel.n());
  const RowMatrix window = all.bottomRows(std::min(rows, panel.rows()));
  const RowMatrix centred = window.rowwise() - window.colwise().mean();
  RowMatrix Sigma = centred.transpose() * centred / static_cast<double>(window.rows() - 1);
  const double ridge = lambda * Sigma.trace() / static_cast<double>(Sigma.rows());
  Sigma = (1.0 - lambda) * 0.5 * (Sigma + RowMatrix(Sigma.transpose()));
  Sigma.diagonal().array() += ridge;
  const Eigen::VectorXd mean = window.colwise().mean();
  return {name, Sigma, {mean.begin(), mean.end()}, true};
}

Market simulated(const std::string& name, Index n, Index rows, double lambda) {
  const market::Panel prices =
      market::simulate({.assets = n, .days = std::max<Index>(rows + 1, 400), .seed = 7});
  Market out = of_window(name, market::simple_returns(prices), rows, lambda);
  out.real = false;
  return out;
}

Market monthly(Index n, Index rows, double lambda, const std::string& name) {
  const std::string path = data_file(fmt::format("ff{}_monthly_gross.csv", n));
  if (path.empty()) return simulated(name, n, std::min<Index>(rows, 600), lambda);
  constexpr auto kind = market::PanelKind::gross_returns;
  return of_window(name, market::simple_returns(market::read_panel(path, kind), kind), rows,
                   lambda);
}

Market or_library(int which, Index n) {
  const std::string name = fmt::format("port{}", which), path = data_file(name + ".txt");
  if (path.empty()) return simulated(name, n, 300, 0.0);
  const market::Moments m = market::read_orlib(path);
  return {name, Eigen::Map<const RowMatrix>(m.covariance.data(), m.n(), m.n()), m.mean, true};
}

Market nikkei() {
  const std::string path = data_file("nikkei225_2014_2025.csv");
  if (path.empty()) return simulated("nikkei", 213, 100, 0.1);
  const auto raw = market::read_panel(path, market::PanelKind::prices, market::Cells::raw);
  return of_window("nikkei", market::simple_returns(market::clean(raw, {}).panel), 100, 0.1);
}

struct Proved {
  select::Portfolio portfolio;
  select::Proof proof;
  double cpu = 0.0, wall = 0.0;
};

Proved prove(const Market& market, Index k, double seconds, int threads = 1,
             const layer::Limits* limits = nullptr) {
  select::SelectSettings settings;
  settings.k = k;
  settings.net = layer::Net::any;
  settings.sizing.kind = layer::Sizing::gross;
  settings.objective.kind = layer::Objective::sharpe;
  const auto risk = market.risk();
  const Threads team(threads);
  Proved out;
  const double cpu = bench::now(bench::Clock::cpu), wall = bench::now(bench::Clock::wall);
  select::ExactSelector(settings, {.gap = 0.0, .seconds = seconds}, market.n())
      .run(*risk, 0, market.mu, limits, {}, team, out.portfolio, out.proof);
  out.cpu = bench::now(bench::Clock::cpu) - cpu;
  out.wall = bench::now(bench::Clock::wall) - wall;
  bench::require(out.portfolio.outcome.solved() && out.proof.bound >= out.portfolio.sharpe,
                 market.name + ": the bound is not below what is reached");
  return out;
}

void say(const std::string& name, const Proved& p) {
  fmt::print("{}: Sharpe {:.6f}, bound {:.6f}, gap {:.3g} %, {} nodes, {:.3f} s ({})\n", name,
             p.portfolio.sharpe, p.proof.bound, 100.0 * p.proof.gap(), p.proof.nodes, p.cpu,
             name_of(p.proof.end));
}

// To the end, against what is known.
void bench_proof(const Market& market, Index k, double known, double bound) {
  const Proved p = prove(market, k, 300.0);
  const std::string name = fmt::format("exact-{}-k{}-seconds", market.name, k);
  say(name, p);
  if (market.real && known > 0.0)
    bench::require(std::abs(p.portfolio.sharpe - known) < 6e-7, name + ": the known optimum");
  const bool proved = p.proof.end == select::ProofEnd::optimal;
  bench::at_most(name, proved ? p.cpu : 300.0, bound);
}

void bench_gap(const Market& market, Index k, double bound) {
  const Proved p = prove(market, k, 10.0);
  const std::string name = fmt::format("exact-{}-k{}-gap-after-10s", market.name, k);
  say(name, p);
  bench::at_most(name, p.proof.gap(), bound);
}

void bench_long_only(const std::vector<Market>& markets) {
  double longest = 0.0;
  for (const Market& market : markets)
    for (const Index k : {5, 10, 20}) {
      layer::Limits limits;
      limits.lower.assign(market.mu.size(), 0.0);
      const Proved p = prove(market, k, 300.0, 1, &limits);
      say(fmt::format("{}, long only, k = {}", market.name, k), p);
      const bool proved = p.proof.end == select::ProofEnd::optimal;
      longest = std::max(longest, proved ? p.cpu : 300.0);
    }
  bench::at_most("exact-long-only-seconds", longest, 2.0);
}

void bench_threads(const Market& market) {
  const Proved one = prove(market, 20, 300.0, 1), two = prove(market, 20, 300.0, 2);
  bench::require(one.portfolio.weights == two.portfolio.weights &&
                     one.proof.bound == two.proof.bound && one.proof.nodes == two.proof.nodes,
                 "one thread and two have the same bits");
  fmt::print("{}: {:.2f} s by one thread, {:.2f} s by two\n", market.name, one.wall, two.wall);
  bench::at_least("exact-two-threads-speedup", one.wall / two.wall, 1.6);
}

}  // namespace

int main() {
  const Market port1 = or_library(1, 31), port2 = or_library(2, 85), port3 = or_library(3, 89);
  const Index every = 1 << 20;
  const Market ff25 = monthly(25, every, 0.0, "ff25"), ff49 = monthly(49, every, 0.0, "ff49"),
               ff100 = monthly(100, every, 0.0, "ff100"),
               window = monthly(100, 100, 0.1, "ff100-window");
  for (const Index k : {5, 10, 20})
    bench_proof(port1, k, k == 5 ? .260939 : k == 10 ? .305903 : .330884, 0.1);
  for (const Index k : {5, 10}) bench_proof(ff25, k, k == 5 ? .347594 : .375358, 0.1);
  for (const Index k : {5, 10, 20})
    bench_proof(ff49, k, k == 5 ? .311229 : k == 10 ? .361797 : .398296, 0.1);
  struct Known {
    const Market& market;
    double five, ten, twenty;
  };
  for (const Known& known :
       {Known{port2, .375582, .441745, .530182}, Known{port3, .333880, .403295, .467770},
        Known{ff100, .494115, .555718, .624098}, Known{window, .495749, .665207, .847816}}) {
    bench_proof(known.market, 5, known.five, 0.3);
    bench_proof(known.market, 10, known.ten, 2.0);
    bench_proof(known.market, 20, known.twenty, 15.0);
  }
  const Market names213 = nikkei();
  bench_proof(names213, 5, 0.0, 15.0);
  bench_gap(names213, 10, 0.13);
  bench_gap(names213, 21, 0.09);
  bench_gap(simulated("simulated-n500", 500, 100, 0.1), 50, 0.06);
  bench_long_only({port1, port2, port3, ff100, window});
  bench_threads(port2);
  // Nothing is promised here: fewer returns than names, hardly shrunk.
  say("213 names, shrinkage 1e-6, k = 10",
      prove(of_window("nikkei",
                      market::simple_returns(market::simulate({.assets = 213, .days = 101})), 100,
                      1e-6),
            10, 10.0));
}
