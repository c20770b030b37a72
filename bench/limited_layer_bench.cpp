// The layer under a manager's limits (long-only, no more than a tenth in a name, ten groups, a
// target volatility) against the layer without: from the solutions of the last epoch, whose signal
// was another by 1 %, and from nothing.
#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <string>

#include "measure.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/sparse_tangent.hpp"

namespace {

using namespace sharpen;
using namespace sharpen::layer;
using bench::require;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr Index n = 200, T = 100, B = 64;
constexpr double kVolatility = 0.0033;
constexpr double kMost = 0.1;

RowMatrix normals(Index rows, Index cols, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  return RowMatrix::NullaryExpr(rows, cols, [&] { return normal(engine); });
}

RowMatrix simulated_returns(Index rows, unsigned seed) {
  const RowMatrix loadings = normals(5, n, seed);
  return 0.005 * normals(rows, 5, seed + 1) * loadings + 0.01 * normals(rows, n, seed + 2);
}

Limits managers_limits() {
  Limits limits;
  limits.lower.assign(at(n), 0.0);
  limits.upper.assign(at(n), kMost);
  limits.rows.push_back({"net", std::vector<double>(at(n), 1.0), 0.0, 1.0});
  for (Index group = 0; group < 10; ++group) {
    LimitRow row{"group", std::vector<double>(at(n)), -kUnlimited,
                 0.131 + 0.007 * static_cast<double>(group)};
    for (Index i = group; i < n; i += 10) row.coefficients[at(i)] = 1.0;
    limits.rows.push_back(row);
  }
  return limits;
}

LayerSettings mode(Reoptimization reoptimization, bool limited) {
  LayerSettings out;
  out.k = n / 10;
  out.reoptimization = reoptimization;
  out.sizing = {.kind = Sizing::volatility, .target_volatility = kVolatility};
  out.objective = {.kind = Objective::expected_return, .volatility = kVolatility};
  if (limited)
    out.limits = std::make_shared<const LimitSchedule>(LimitSchedule{{managers_limits()}, {}});
  return out;
}

// B windows, and epochs whose signals differ by 1 %.
struct Market {
  RowMatrix returns = simulated_returns(T + B, 7);
  std::vector<RowMatrix> epochs;
  RowMatrix dL_dw = normals(B, n, 9);
  std::vector<Index> ends, samples;
  std::unique_ptr<risk::Risk> risk;
  Threads one{1};

  Market() {
    for (Index i = 0; i < B; ++i) {
      ends.push_back(T + i);
      samples.push_back(i);
    }
    risk = risk::from_windows({returns.data(), returns.rows(), n}, T, ends,
                              {.form = risk::Form::dense, .parts = {}}, one);
    epochs.push_back(0.1 * simulated_returns(B, 8));
    for (unsigned epoch = 1; epoch < 8; ++epoch)
      epochs.push_back(epochs[0] + 0.01 * epochs[0].cwiseProduct(normals(B, n, 100 + epoch)));
  }
};

struct Run {
  Run(Market& market_, const LayerSettings& settings)
      : market(market_),
        layer(settings, *market.risk),
        cache(layer, B, 1),
        starts(B),
        w(B, n),
        dL_dmu(B, n),
        outcomes(at(B)) {}

  void epoch(bool warm) {
    const RowMatrix& mu = market.epochs[turn++ % market.epochs.size()];
    BatchLimits own;
    if (warm) own = {.starts = &starts, .places = market.samples};
    layer.forward(market.samples, {mu.data(), B, n}, cache, {w.data(), B, n}, outcomes, market.one,
                  own);
    layer.vjp(cache, {market.dL_dw.data(), B, n}, {dL_dmu.data(), B, n}, market.one);
  }

  // Within the limits, at the target where nothing is said of it, the same from either start, and
  // the gradient that of a central difference.
  void validate(const std::string& what) {
    epoch(true);
    turn = 0;
    epoch(true);
    const RowMatrix warm_w = w, warm_gradient = dL_dmu;
    turn = 0;
    epoch(false);

    Index same = 0, free = 0, silent = 0, zero = 0, met = 0;
    std::vector<double> scratch(at(market.risk->scratch_size())), Sigma_w(at(n));
    for (Index b = 0; b < B; ++b) {
      const Outcome& outcome = outcomes[at(b)];
      require(outcome.solved(), what + ": an instance was not solved");
      same += w.row(b) == warm_w.row(b) && dL_dmu.row(b) == warm_gradient.row(b);
      require(w.row(b).minCoeff() >= 0.0 && w.row(b).maxCoeff() <= kMost, what + ": bounds");
      market.risk->apply(b, {w.row(b).data(), at(n)}, Sigma_w, scratch);
      const double taken =
          std::sqrt(w.row(b).dot(Eigen::Map<const Eigen::RowVectorXd>(Sigma_w.data(), n)));
      require(outcome.note != Note::none || std::abs(taken / kVolatility - 1.0) < 1e-8,
              what + ": not at the target volatility");
      met += outcome.note == Note::none;
      for (Index i = 0; i < n; ++i) {
        free += w(b, i) > 0.0 && w(b, i) < kMost;
        zero += w(b, i) == 0.0;
        silent += w(b, i) == 0.0 && dL_dmu(b, i) == 0.0;
      }
    }
    require(same == B, what + ": other bits from another start");
    require(met > B * 9 / 10, what + ": limits that leave no risk to choose");
    fmt::print(
        "{}: {:.1f} names between their bounds, {:.1f} at 0, of which {:.1f} have no "
        "gradient\n",
        what, double(free) / B, double(zero) / B, double(silent) / B);
    differentiate(what);
  }

  void differentiate(const std::string& what) {
    const RowMatrix direction = market.epochs[0].cwiseProduct(normals(B, n, 10)), base = dL_dmu;
    const RowMatrix at_mu = market.epochs[0];
    const double h = 1e-6;
    const auto weights = [&](double step) {
      market.epochs[0] = at_mu + step * direction;
      turn = 0;
      epoch(false);
      return w;
    };
    const RowMatrix up = weights(h), down = weights(-h);
    Index right = 0;
    for (Index b = 0; b < B; ++b) {
      const double numeric = market.dL_dw.row(b).dot(up.row(b) - down.row(b)) / (2.0 * h);
      const double analytic = base.row(b).dot(direction.row(b));
      const double size = base.row(b).cwiseProduct(direction.row(b)).norm() + 1e-6;
      right += std::abs(numeric - analytic) < 1e-3 * size;
    }
    weights(0.0);
    require(right > B * 9 / 10, what + ": the gradient is wrong");  // the rest have a kink nearby
  }

  Market& market;
  SparseTangent layer;
  LayerCache cache;
  LayerStarts starts;
  RowMatrix w, dL_dmu;
  std::vector<Outcome> outcomes;
  std::size_t turn = 0;
};

void against_no_limits() {
  Market market;
  Run unlimited(market, mode(Reoptimization::masked, false));
  Run masked(market, mode(Reoptimization::masked, true));
  Run restricted(market, mode(Reoptimization::restricted, true));
  masked.validate("masked under limits");
  restricted.validate("restricted under limits");
  const std::vector<double> t = bench::alternate(
      {[&] { unlimited.epoch(false); }, [&] { masked.epoch(true); }, [&] { masked.epoch(false); },
       [&] { restricted.epoch(true); }, [&] { restricted.epoch(false); }},
      41);
  const auto us = [](double seconds) { return 1e6 * seconds / double(B); };
  fmt::print("n = {}, B = {}, forward + backward, microseconds per instance:\n", n, B);
  fmt::print("  masked, no limits      {:8.1f}\n", us(t[0]));
  fmt::print("  masked, limits         {:8.1f}   from nothing {:.1f}\n", us(t[1]), us(t[2]));
  fmt::print("  restricted, limits     {:8.1f}   from nothing {:.1f}\n", us(t[3]), us(t[4]));
  bench::at_most("limited_layer_warm_over_unlimited", t[1] / t[0], 5.0);
  bench::at_most("limited_layer_cold_over_unlimited", t[2] / t[0], 20.0);
}

}  // namespace

int main() { against_no_limits(); }
