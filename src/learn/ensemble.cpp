#include "sharpen/learn/ensemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "learn/samples.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/layer/tangent.hpp"
#include "sharpen/learn/model.hpp"

namespace sharpen::learn {

namespace {

void check_shapes(const risk::Risk& risk, Index sample, ConstMat mu) {
  if (mu.rows < 1 || mu.cols != risk.n())
    throw InputError(fmt::format(
        "expectations of {} members for {} assets do not fit a risk model of {} assets; give one "
        "row for each member",
        mu.rows, mu.cols, risk.n()));
  if (sample < 0 || sample >= risk.samples())
    throw InputError(fmt::format("sample = {} is outside [0, {}]", sample, risk.samples() - 1));
}

void check(const Model& model, Index member, ConstMat returns, std::span<const Index> ends,
           std::span<const Index> assets, Mat mu) {
  const auto m = static_cast<Index>(assets.size());
  if (member < 0 || member >= static_cast<Index>(model.members.size()))
    throw InputError(fmt::format("member = {} is outside [0, {}]", member,
                                 static_cast<Index>(model.members.size()) - 1));
  if (returns.cols != m || mu.cols != m || mu.rows != static_cast<Index>(ends.size()))
    throw InputError(fmt::format("returns are {} x {} and mu {} x {}, for {} windows of {} assets",
                                 returns.rows, returns.cols, mu.rows, mu.cols, ends.size(), m));
  for (const Index end : ends)
    if (end < model.settings.lookback || end > returns.rows)
      throw InputError(fmt::format("a window that ends before row {} is outside [{}, {}]", end,
                                   model.settings.lookback, returns.rows));
  for (const Index asset : assets)
    if (asset < 0 || asset >= model.n())
      throw InputError(
          fmt::format("asset = {} is outside [0, {}] of the model", asset, model.n() - 1));
  if (model.settings.network == NetworkKind::joint)
    for (Index j = 0; j < std::max(m, model.n()); ++j)
      if (j >= m || j >= model.n() || assets[at(j)] != j)
        throw InputError("a joint network needs all assets of the model, in its order");
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

// signal: the mean of the members' directions; scale: the mean of sqrt(C_m). Returns the agreement.
double Combiner::mean(const risk::Risk& risk, Index sample, ConstMat mu, Vec signal,
                      double& scale) {
  check_shapes(risk, sample, mu);
  if (risk.n() != n_ || signal.size() != at(n_) || scratch_.size() < at(risk.scratch_size()))
    throw InputError("a combiner was given a risk model or a signal of another size");
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
  scale = sharpe / members;
  return std::isnan(sharpe) ? kNaN : std::min(1.0, agreement);
}

double Combiner::run(const risk::Risk& risk, Index sample, ConstMat mu, Vec signal) {
  if (mu.rows == 1) {
    check_shapes(risk, sample, mu);
    const ConstVec only = mu.row(0);
    if (signal.size() != only.size())
      throw InputError("a combiner was given a signal of another size");
    std::copy(only.begin(), only.end(), signal.begin());
    const double scale = layer::signal_scale(only);
    return scale > 0.0 ? 1.0 : scale;
  }
  double scale = kNaN;
  const double agreement = mean(risk, sample, mu, signal, scale);
  for (double& value : signal) value *= scale / static_cast<double>(mu.rows);
  return agreement;
}

double Combiner::run_unscaled(const risk::Risk& risk, Index sample, ConstMat mu, Vec signal) {
  double scale = kNaN;
  const double agreement = mean(risk, sample, mu, signal, scale);
  for (double& value : signal) value /= static_cast<double>(mu.rows);
  return agreement;
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

void expected_returns(const Model& model, Index member, ConstMat returns,
                      std::span<const Index> ends, std::span<const Index> assets, Mat mu,
                      const Threads& threads) {
  check(model, member, returns, ends, assets, mu);
  if (ends.empty() || assets.empty()) return;
  const Features<float> features(model.settings.network, model.settings.inputs,
                                 model.settings.lookback, returns, model.scaling, assets);
  const Network<float>& network = model.members[at(member)].network;
  // Always so many windows at once, if need be the last one again: BLAS may round a row differently
  // among fewer rows, and a panel that ends earlier must change nothing.
  constexpr Index most = 32;
  const Index per_window = features.rows_per_window(), rows = most * per_window;
  Pass<float> pass(network.shape, rows, threads.count());
  std::vector<float> X(at(rows * features.inputs())), out(at(most * mu.cols));
  const BasicMat<float> inputs(X.data(), rows, features.inputs());
  std::vector<Index> some;
  const double unit = model.scaling.unit();
  for (Index first = 0; first < mu.rows; first += most) {
    const Index count = std::min(most, mu.rows - first);
    some.assign(ends.begin() + first, ends.begin() + first + count);
    some.resize(at(most), some.back());
    features.gather(some, inputs);
    pass.forward(network, inputs, BasicMat<float>(out.data(), rows, network.shape.outputs),
                 threads);
    for (Index w = 0; w < count; ++w)
      for (Index j = 0; j < mu.cols; ++j)
        mu(first + w, j) = unit * static_cast<double>(out[at(w * mu.cols + j)]);
  }
}

}  // namespace sharpen::learn
