// Times the semidefinite relaxation on one core: to 1e-6 for 31 assets, 1e-3 for 100, and for the
// Nikkei's windows of 100 days 1e-2 afresh and 3e-2 from the day before; and the perspective bound
// beside it. Every result is checked first: the value against the known one, and the certificate by
// recomputing both points. Real data where there is any, otherwise simulated of the same size.
#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "measure.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/baseline/bounds.hpp"
#include "sharpen/baseline/sdr.hpp"
#include "sharpen/market/cleaning.hpp"
#include "sharpen/market/moments.hpp"
#include "sharpen/market/panel.hpp"

namespace {

using namespace sharpen;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Problem {
  std::string name;
  RowMatrix Sigma;
  VectorXd mu;
  double k = 1.0;
  double known = 0.0;  // sqrt of the optimal value; 0 if nobody knows it

  Index n() const { return mu.size(); }
};

std::string data_file(const std::string& name) {
  const char* given = std::getenv("SHARPEN_TEST_DATA");
  const std::filesystem::path folder = given != nullptr ? given : "../shared/data";
  std::error_code ignored;
  return std::filesystem::exists(folder / name, ignored) ? (folder / name).string() : "";
}

// Returns of ten factors and noise of unequal size.
RowMatrix simulated_returns(Index rows, Index n) {
  std::mt19937_64 engine(1);
  std::normal_distribution<double> normal;
  const auto draw = [&] { return normal(engine); };
  RowMatrix returns =
      0.004 * RowMatrix::NullaryExpr(rows, 10, draw) * RowMatrix::NullaryExpr(10, n, draw);
  for (Index j = 0; j < n; ++j)
    for (Index t = 0; t < rows; ++t)
      returns(t, j) += 0.008 * (1.0 + static_cast<double>(j % 5) / 2.0) * draw() + 1e-4 * draw();
  return returns;
}

Problem from_returns(const std::string& name, const RowMatrix& window, double lambda, double k) {
  const RowMatrix centred = window.rowwise() - window.colwise().mean();
  RowMatrix Sigma = centred.transpose() * centred / static_cast<double>(window.rows() - 1);
  const double ridge = lambda * Sigma.trace() / static_cast<double>(Sigma.rows());
  Sigma = (1.0 - lambda) * (0.5 * (Sigma + RowMatrix(Sigma.transpose())));
  Sigma.diagonal().array() += ridge;
  return {name, Sigma, window.colwise().mean().transpose(), k, 0.0};
}

RowMatrix returns_of(const market::Panel& panel) {
  return Eigen::Map<const RowMatrix>(panel.values.data(), panel.rows(), panel.n());
}

Problem monthly(const std::string& file, Index n, double k, double known) {
  const std::string path = data_file(file);
  if (path.empty())
    return from_returns(fmt::format("simulated-n{}-k{}", n, k), simulated_returns(600, n), 0.0, k);
  constexpr auto kind = market::PanelKind::gross_returns;
  Problem problem = from_returns(
      fmt::format("ff{}-k{}", n, k),
      returns_of(market::simple_returns(market::read_panel(path, kind), kind)), 0.0, k);
  problem.known = known;
  return problem;
}

Problem port1(double k, double known) {
  const std::string path = data_file("port1.txt");
  if (path.empty())
    return from_returns(fmt::format("simulated-n31-k{}", k), simulated_returns(300, 31), 0.0, k);
  const market::Moments m = market::read_orlib(path);
  return {fmt::format("port1-k{}", k),
          Eigen::Map<const RowMatrix>(m.covariance.data(), m.n(), m.n()),
          Eigen::Map<const VectorXd>(m.mean.data(), m.n()), k, known};
}

// Daily returns of the assets that are there throughout, as `sharpen solve` takes them.
RowMatrix nikkei() {
  const std::string path = data_file("nikkei225_2014_2025.csv");
  if (path.empty()) return simulated_returns(2600, 208);
  const auto raw = market::read_panel(path, market::PanelKind::prices, market::Cells::raw);
  return returns_of(market::simple_returns(market::clean(raw, {}).panel));
}

// Both points, from the problem alone.
void check(const Problem& p, const baseline::Relaxation& r,
           const baseline::RelaxationPoints& points, double gap) {
  const Index n = p.n();
  bench::require(r.status == Status::ok && r.gap <= gap, p.name + " reaches its gap");
  const MatrixXd Y = Eigen::Map<const MatrixXd>(points.Y.data(), n, n);
  const MatrixXd V = Eigen::Map<const MatrixXd>(points.V.data(), n, n);
  bench::require(std::abs(Y.cwiseProduct(p.Sigma).sum() - 1.0) < 1e-9 &&
                     Y.cwiseAbs().sum() <= r.kappa * Y.trace() * (1.0 + 1e-12) &&
                     std::abs(p.mu.dot(Y * p.mu) / r.primal - 1.0) < 1e-9,
                 p.name + ": Y is feasible");
  const MatrixXd I = MatrixXd::Identity(n, n);
  bench::require(Eigen::LLT<MatrixXd>(Y + 1e-11 * Y.trace() * I).info() == Eigen::Success,
                 p.name + ": Y is PSD");
  const MatrixXd S = r.dual * p.Sigma - p.mu * p.mu.transpose() - points.nu * r.kappa * I - V;
  bench::require(
      V.cwiseAbs().maxCoeff() <= points.nu &&
          Eigen::LLT<MatrixXd>(S + 1e-12 * r.dual * p.Sigma.trace() * I).info() == Eigen::Success,
      p.name + ": the dual point is feasible");
  if (p.known > 0.0)
    bench::require(std::abs(std::sqrt(r.dual) - p.known) <= 0.6 * gap * p.known + 1e-6 * p.known,
                   p.name + ": the value is the known one");
}

// Seconds of one solve, checked.
double timed(baseline::Sdr& sdr, const Problem& p, double gap, Index& iterations) {
  baseline::Relaxation r;
  const double start = bench::now(bench::Clock::cpu);
  sdr.solve({p.Sigma.data(), p.n(), p.n()}, {p.mu.data(), static_cast<std::size_t>(p.n())}, p.k, r);
  const double seconds = bench::now(bench::Clock::cpu) - start;
  check(p, r, sdr.points(), gap);
  iterations = r.iterations;
  return seconds;
}

void bench_cold(const Problem& p, double gap, double bound) {
  std::vector<double> times;
  Index iterations = 0;
  for (int round = 0; round < 3; ++round) {
    baseline::Sdr sdr({.gap = gap}, p.n());
    times.push_back(timed(sdr, p, gap, iterations));
  }
  std::sort(times.begin(), times.end());
  fmt::print("{}: n = {}, gap {:g}, {} iterations\n", p.name, p.n(), gap, iterations);
  bench::at_most("sdr-" + p.name, times[1], bound);
}

// The last window, and others spread over the years, each after the day before.
void bench_windows() {
  constexpr Index kLookback = 100;
  const RowMatrix returns = nikkei();
  const Index n = returns.cols(), k = static_cast<Index>(std::round(0.1 * static_cast<double>(n)));
  double worst_cold = 0.0, worst_warm = 0.0;
  for (int i = 0; i < 5; ++i) {
    const Index end = returns.rows() - i * ((returns.rows() - kLookback - 2) / 5);
    const auto problem = [&](Index last) {
      return from_returns(fmt::format("window-to-row-{}", last),
                          returns.middleRows(last - kLookback, kLookback), 0.1,
                          static_cast<double>(k));
    };
    const Problem before = problem(end - 1), now = problem(end);
    Index cold_iterations = 0, warm_iterations = 0, ignored = 0;
    baseline::Sdr cold({.gap = 1e-2}, n);
    const double cold_time = timed(cold, now, 1e-2, cold_iterations);
    baseline::Sdr warm({.gap = 3e-2}, n);
    timed(warm, before, 3e-2, ignored);
    const double warm_time = timed(warm, now, 3e-2, warm_iterations);
    fmt::print(
        "{}: n = {}, k = {}, cold to 1e-2 {:.2f} s ({} iterations), warm to 3e-2 {:.2f} s ({})\n",
        now.name, n, k, cold_time, cold_iterations, warm_time, warm_iterations);
    worst_cold = std::max(worst_cold, cold_time);
    worst_warm = std::max(worst_warm, warm_time);
  }
  bench::at_most("sdr-daily-windows-cold", worst_cold, 10.0);
  bench::at_most("sdr-daily-windows-warm", worst_warm, 2.0);
}

// The two bounds on the same problem: which is smaller, and what it costs.
void compare_bounds(const Problem& p) {
  risk::RiskSettings settings;
  settings.shrinkage = 0.0;
  const auto risk = risk::from_covariance({p.Sigma.data(), p.n(), p.n()}, settings);
  for (const baseline::Bound kind : {baseline::Bound::sdp, baseline::Bound::perspective}) {
    baseline::BoundSettings bound;
    bound.k = static_cast<Index>(p.k);
    bound.bound = kind;
    const double start = bench::now(bench::Clock::cpu);
    const baseline::SharpeBound answer = baseline::sharpe_upper_bound(
        *risk, 0, {p.mu.data(), static_cast<std::size_t>(p.n())}, bound);
    const double seconds = bench::now(bench::Clock::cpu) - start;
    fmt::print("{}: {} bound {:.6f} in {:.4f} s\n", p.name, name(kind), answer.sharpe, seconds);
  }
}

}  // namespace

int main() {
  const Threads one_thread(1);
  const Problem three = port1(3.0, 0.2511778), five = port1(5.0, 0.2851190);
  const Problem ff25 = monthly("ff25_monthly_gross.csv", 25, 3.0, 0.3150734);
  const Problem ff100 = monthly("ff100_monthly_gross.csv", 100, 10.0, 0.0);
  bench_cold(three, 1e-6, 0.5);
  bench_cold(five, 1e-6, 0.5);
  bench_cold(ff25, 1e-6, 0.5);
  bench_cold(ff100, 1e-3, 2.0);
  bench_windows();
  for (const Problem* problem : {&three, &ff25, &ff100}) compare_bounds(*problem);
}
