#include "sharpen/learn/ensemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/vec.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/layer/tangent.hpp"

namespace sharpen::learn {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void check_shapes(const risk::Risk& risk, Index sample, ConstMat mu) {
  if (mu.rows < 1 || mu.cols != risk.n())
    throw InputError(fmt::format(
        "expectations of {} members for {} assets do not fit a risk model of {} assets; give one "
        "row for each member",
        mu.rows, mu.cols, risk.n()));
  if (sample < 0 || sample >= risk.samples())
    throw InputError(fmt::format("sample = {} is outside [0, {}]", sample, risk.samples() - 1));
}

}  // namespace

Combiner::Combiner(const risk::Risk& risk)
    : n_(risk.n()),
      scaled_(at(n_)),
      solved_(at(n_)),
      direction_(at(n_)),
      scratch_(at(risk.scratch_size())) {}

// Leaves c mu in scaled_ and c Sigma^-1 mu in solved_, with c = 1/sqrt(C); returns sqrt(C). 0 and
// zeros for a member without direction; NaN for one that is not finite.
double Combiner::direction(const risk::Risk& risk, Index sample, ConstVec mu) {
  const double scale = layer::signal_scale(mu);  // a power of two: no square leaves the range
  if (!(scale > 0.0)) {
    std::fill(scaled_.begin(), scaled_.end(), scale);
    std::fill(solved_.begin(), solved_.end(), scale);
    return scale;
  }
  for (std::size_t i = 0; i < mu.size(); ++i) scaled_[i] = scale * mu[i];
  const double root_C = std::sqrt(risk.solve(sample, scaled_, solved_, scratch_));
  for (std::size_t i = 0; i < mu.size(); ++i) {
    scaled_[i] /= root_C;
    solved_[i] /= root_C;
  }
  return root_C / scale;
}

double Combiner::run(const risk::Risk& risk, Index sample, ConstMat mu, Vec signal) {
  check_shapes(risk, sample, mu);
  if (risk.n() != n_ || signal.size() != at(n_) || scratch_.size() < at(risk.scratch_size()))
    throw InputError("a combiner was given a risk model or a signal of another size");
  if (mu.rows == 1) {
    const ConstVec only = mu.row(0);
    std::copy(only.begin(), only.end(), signal.begin());
    const double scale = layer::signal_scale(only);
    return scale > 0.0 ? 1.0 : scale;
  }
  std::fill(signal.begin(), signal.end(), risk.status(sample) == Status::ok ? 0.0 : kNaN);
  if (risk.status(sample) != Status::ok) return kNaN;

  std::fill(direction_.begin(), direction_.end(), 0.0);
  double sharpe = 0.0;
  for (Index m = 0; m < mu.rows; ++m) {
    sharpe += direction(risk, sample, mu.row(m));
    for (std::size_t i = 0; i < signal.size(); ++i) {
      signal[i] += scaled_[i];
      direction_[i] += solved_[i];
    }
  }
  const auto members = static_cast<double>(mu.rows);
  const double agreement = std::sqrt(std::max(0.0, dot(ConstVec(signal), direction_))) / members;
  for (double& value : signal) value *= sharpe / members / members;
  return std::isnan(sharpe) ? kNaN : std::min(1.0, agreement);
}

MemberSpread member_spread(std::span<const select::Portfolio> own) {
  if (own.empty()) throw InputError("an ensemble has one member at least");
  const auto members = static_cast<double>(own.size());
  const std::size_t n = own.front().weights.size();
  MemberSpread spread{
      .held = std::vector<double>(n), .mean = std::vector<double>(n), .sd = std::vector<double>(n)};
  for (const select::Portfolio& portfolio : own) {
    for (const Index i : portfolio.support)
      if (portfolio.weights[at(i)] != 0.0) spread.held[at(i)] += 1.0;
    for (std::size_t i = 0; i < n; ++i) spread.mean[i] += portfolio.weights[i];
  }
  for (double& value : spread.held) value /= members;
  for (double& value : spread.mean) value /= members;
  for (const select::Portfolio& portfolio : own)
    for (std::size_t i = 0; i < n; ++i) {
      const double off = portfolio.weights[i] - spread.mean[i];
      spread.sd[i] += off * off;
    }
  // 0/0 for one member.
  for (double& value : spread.sd) value = std::sqrt(value / (members - 1.0));
  return spread;
}

}  // namespace sharpen::learn
