#include "sharpen/baseline/mssrm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/vec.hpp"
#include "baseline/columns.hpp"
#include "select/ties.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/layer/tangent.hpp"

namespace sharpen::baseline {

namespace {

// A step this short moves nothing: the point is stationary.
constexpr double kShortest = 0x1p-60;

// Solves on supports that are given to it.
select::SelectSettings exact_settings(const MssrmSettings& settings) {
  return {settings, select::Optimizer::greedy};
}

}  // namespace

void MssrmSettings::validate(Index n) const {
  exact_settings(*this).validate(n);
  if (!(tolerance > 0.0 && tolerance < 1.0))
    throw InputError(fmt::format("tolerance = {} is outside (0, 1)", tolerance));
  if (max_iterations < 1)
    throw InputError(fmt::format("max_iterations = {} is outside [1, inf)", max_iterations));
}

struct Mssrm::Work {
  Work(const MssrmSettings& s, const risk::Risk& risk)
      : settings(s), n(risk.n()), exact(exact_settings(s), risk), columns(n) {
    for (std::vector<double>* x : {&m, &y, &g, &product, &magnitude, &order})
      x->resize(static_cast<std::size_t>(n));
    scratch.resize(static_cast<std::size_t>(risk.scratch_size()));
    for (Point* point : {&at, &trial}) {
      point->w.resize(static_cast<std::size_t>(n));
      point->K.reserve(static_cast<std::size_t>(s.k));
      point->columns.reserve(static_cast<std::size_t>(s.k));
      point->weights.reserve(static_cast<std::size_t>(s.k));
    }
  }

  // A sparse portfolio of unit risk.
  struct Point {
    std::vector<double> w;               // (n)
    std::vector<Index> K;                // ascending
    std::vector<const double*> columns;  // of Sigma, on K
    std::vector<double> weights;         // w on K
    double sharpe = 0.0;                 // m^T w
  };

  bool begin(const risk::Risk& risk, Index sample, ConstVec mu);
  bool project_and_value(const risk::Risk& risk, Index sample, Point& point);
  void keep_largest(Point& point);
  bool ascend(const risk::Risk& risk, Index sample, Index& iterations, const Stop& stop);
  bool direction(const risk::Risk& risk, Index sample);
  bool climb(const risk::Risk& risk, Index sample);

  const MssrmSettings settings;
  const Index n;
  select::Selector exact;
  Columns columns;  // of Sigma
  Point at, trial;
  std::vector<double> m, y, g, product, magnitude, order;  // (n)
  std::vector<double> scratch;
};

// y = Sigma^-1 m, a multiple of the tangent direction of all n assets. False if there is none.
bool Mssrm::Work::begin(const risk::Risk& risk, Index sample, ConstVec mu) {
  const double scale = layer::signal_scale(mu);
  const double A = risk.ones_norm2(sample);
  const layer::Face face =
      layer::face_forward(risk.ones_solution(sample), A, mu, scale, settings.net, m);
  const double C = risk.solve(sample, m, y, scratch);
  if (!std::isfinite(C) || !layer::has_direction(face, C, n)) return false;
  if (face.neutral) layer::net_zero(risk.ones_solution(sample), A, y);
  columns.clear();
  return true;
}

// Zeroes all but the k largest of |w|. Magnitudes that differ by the rounding of a solve are
// ties, and ties go to the lower column.
void Mssrm::Work::keep_largest(Point& point) {
  point.K.clear();
  double largest = 0.0;
  for (std::size_t i = 0; i < magnitude.size(); ++i) {
    magnitude[i] = std::abs(point.w[i]);
    largest = std::max(largest, magnitude[i]);
  }
  std::copy(magnitude.begin(), magnitude.end(), order.begin());
  const auto kth = order.begin() + (settings.k - 1);
  std::nth_element(order.begin(), kth, order.end(), std::greater<>());
  const double margin = select::kTiedScores * largest, above = *kth + margin, below = *kth - margin;
  Index ties = settings.k;
  for (const double x : magnitude) ties -= x > above;
  for (Index i = 0; i < n; ++i) {
    double& w = point.w[static_cast<std::size_t>(i)];
    const double x = magnitude[static_cast<std::size_t>(i)];
    if (!(x > above || (x >= below && ties-- > 0))) w = 0.0;
    if (w != 0.0) point.K.push_back(i);
  }
}

// Projects point.w, scales it to unit risk and values it. False if nothing of it is left.
bool Mssrm::Work::project_and_value(const risk::Risk& risk, Index sample, Point& point) {
  keep_largest(point);
  point.columns.clear();
  point.weights.clear();
  for (const Index j : point.K) {
    point.columns.push_back(
        columns.get(j, [&](Index i, Vec out) { risk.column(sample, i, out, scratch); }));
    point.weights.push_back(point.w[static_cast<std::size_t>(j)]);
  }
  double variance = 0.0;
  point.sharpe = 0.0;
  for (std::size_t s = 0; s < point.K.size(); ++s) {
    double row = 0.0;
    for (std::size_t r = 0; r < point.K.size(); ++r)
      row += point.columns[s][point.K[r]] * point.weights[r];
    variance += point.weights[s] * row;
    point.sharpe += m[static_cast<std::size_t>(point.K[s])] * point.weights[s];
  }
  const double unit = 1.0 / std::sqrt(variance);
  if (!(variance > 0.0 && std::isfinite(unit))) return false;
  point.sharpe *= unit;
  for (std::size_t s = 0; s < point.K.size(); ++s)
    point.w[static_cast<std::size_t>(point.K[s])] = point.weights[s] *= unit;
  return true;
}

// g = m - S Sigma w, the gradient of S at unit risk, scaled to unit risk itself. False if it is
// zero.
bool Mssrm::Work::direction(const risk::Risk& risk, Index sample) {
  std::fill(product.begin(), product.end(), 0.0);
  add_columns(at.columns, at.weights, product);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = m[i] - at.sharpe * product[i];
  risk.apply(sample, g, product, scratch);
  const double unit = 1.0 / std::sqrt(dot_in_order(g, product));
  if (!std::isfinite(unit)) return false;
  for (double& x : g) x *= unit;
  return true;
}

// trial = the first of the steps 1, 1/2, 1/4, ... along g that raises S. False if none does.
bool Mssrm::Work::climb(const risk::Risk& risk, Index sample) {
  for (double eta = 1.0; eta >= kShortest; eta *= 0.5) {
    for (std::size_t i = 0; i < g.size(); ++i) trial.w[i] = at.w[i] + eta * g[i];
    if (project_and_value(risk, sample, trial) && trial.sharpe > at.sharpe) return true;
  }
  return false;
}

// False if it ran out of steps.
bool Mssrm::Work::ascend(const risk::Risk& risk, Index sample, Index& iterations,
                         const Stop& stop) {
  for (iterations = 0; iterations < settings.max_iterations;) {
    ask(stop);
    if (!direction(risk, sample) || !climb(risk, sample)) return true;
    ++iterations;
    double moved = 0.0;
    for (std::size_t i = 0; i < at.w.size(); ++i)
      moved += (trial.w[i] - at.w[i]) * (trial.w[i] - at.w[i]);
    const double size = dot_in_order(at.w, at.w);
    std::swap(at, trial);
    if (std::sqrt(moved) <= settings.tolerance * std::sqrt(size)) return true;
  }
  return false;
}

Mssrm::Mssrm(const MssrmSettings& settings, const risk::Risk& risk) {
  settings.validate(risk.n());
  work_ = std::make_unique<Work>(settings, risk);
}

Mssrm::~Mssrm() = default;
Mssrm::Mssrm(Mssrm&&) noexcept = default;

void Mssrm::run(const risk::Risk& risk, Index sample, ConstVec mu, MssrmResult& out,
                const Stop& stop) {
  Work& work = *work_;
  out.iterations = 0;
  // Checks shapes and values; the portfolio of no names is cash, or invalid input.
  work.exact.run_on(risk, sample, mu, {}, out.portfolio);
  if (out.portfolio.outcome.status == Status::invalid_input) return;
  if (work.scratch.size() < static_cast<std::size_t>(risk.scratch_size()))
    work.scratch.resize(static_cast<std::size_t>(risk.scratch_size()));
  if (layer::signal_scale(mu) == 0.0 || !work.begin(risk, sample, mu)) return;
  work.at.w = work.y;
  if (!work.project_and_value(risk, sample, work.at)) return;
  const bool converged = work.ascend(risk, sample, out.iterations, stop);
  work.exact.run_on(risk, sample, mu, work.at.K, out.portfolio);
  if (!converged && out.portfolio.outcome.solved())
    out.portfolio.outcome.status = Status::not_converged;
}

}  // namespace sharpen::baseline
