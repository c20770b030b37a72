// How a path goes on: where the present assets and rows lead, what stands in the way, and the step.
#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "layer/active_path.hpp"

namespace sharpen::layer {

namespace {

// What rounding may leave of a condition, relative to what it is made of.
constexpr double kOfResidual = 1e-12;
constexpr double kOfWeight = 2e-11;
constexpr double kOfRow = 2e-11;
// A step this short of the way is none; so many of them in a row are a tie.
constexpr double kNoStep = 1e-13;
constexpr int kTie = 8;
// Of |w1|^2, what is rounding, relative to what it would be without rows.
constexpr double kFlat = 1e-22;

}  // namespace

// theta times what the signal gives plus `fixed` times what limits and assets at rest do: the
// optimum of the present assets and rows is the sum with fixed = 1, its derivative that with 0.
void ActivePath::solve(double theta, double fixed, State& out) {
  const std::span<const Index> assets = factor_.assets(), active = factor_.active();
  for (std::size_t a = 0; a < assets.size(); ++a) {
    const std::size_t i = at(assets[a]);
    const double paid =
        limits_.holding_is_knot(assets[a]) ? limits_.costs[i] * trade_sign_[i] : 0.0;
    by_asset_[a] = theta * (mu_[i] - paid) - fixed * H_rest_[i];
  }
  double held = 0.0;  // |w - h| of the free assets is their signs times w, less this
  for (const Index i : assets) held += trade_sign_[at(i)] * limits_.holdings[at(i)];
  for (std::size_t q = 0; q < active.size(); ++q) {
    const std::size_t r = at(active[q]);
    const double limit = side_[r] > 0 ? limits_.row_upper[r] : limits_.row_lower[r];
    by_row_[q] = fixed * (limit - row_rest_[r] + (active[q] == limits_.turnover() ? held : 0.0));
  }
  factor_.solve({by_asset_.data(), assets.size()}, {by_row_.data(), active.size()});
  spread(theta, fixed, held, out);
  if (refine_) refine(theta, fixed, held, out);
}

// Once more for what rounding has left: rows that nearly depend on each other cost digits.
void ActivePath::refine(double theta, double fixed, double held, State& out) {
  const std::span<const Index> assets = factor_.assets(), active = factor_.active();
  for (std::size_t a = 0; a < assets.size(); ++a) {
    const std::size_t i = at(assets[a]);
    const double paid =
        limits_.holding_is_knot(assets[a]) ? limits_.costs[i] * trade_sign_[i] : 0.0;
    by_asset_[a] = out.e[i] - theta * paid;
    for (const Index r : active)
      if (r >= limits_.plain()) by_asset_[a] -= out.lambda[at(r)] * coefficient(r, assets[a]);
  }
  for (std::size_t q = 0; q < active.size(); ++q) {
    const std::size_t r = at(active[q]);
    const double limit = side_[r] > 0 ? limits_.row_upper[r] : limits_.row_lower[r];
    by_row_[q] = fixed * limit - out.value[r];
  }
  factor_.solve({by_asset_.data(), assets.size()}, {by_row_.data(), active.size()});
  for (std::size_t a = 0; a < assets.size(); ++a) by_asset_[a] += out.w[at(assets[a])];
  for (std::size_t q = 0; q < active.size(); ++q) by_row_[q] += out.lambda[at(active[q])];
  spread(theta, fixed, held, out);
}

// What the weights of the free assets (by_asset_) and the multipliers of the active rows (by_row_)
// come to; `held` as in solve().
void ActivePath::spread(double theta, double fixed, double held, State& out) {
  const std::span<const Index> assets = factor_.assets(), active = factor_.active();
  const auto n = static_cast<int>(n_);
  for (std::size_t i = 0; i < at(n_); ++i) {
    out.w[i] = fixed * w_[i];
    out.Hw[i] = fixed * H_rest_[i];
  }
  if (!assets.empty())
    cblas_dgemv(CblasRowMajor, CblasTrans, static_cast<int>(assets.size()), n, 1.0,
                factor_.columns(), n, by_asset_.data(), 1, 1.0, out.Hw.data(), 1);
  for (std::size_t a = 0; a < assets.size(); ++a) out.w[at(assets[a])] = by_asset_[a];
  for (std::size_t i = 0; i < at(n_); ++i) out.e[i] = theta * mu_[i] - out.Hw[i];
  std::fill(out.lambda.begin(), out.lambda.end(), 0.0);
  for (std::size_t q = 0; q < active.size(); ++q) {
    out.lambda[at(active[q])] = by_row_[q];
    if (active[q] < limits_.plain())
      cblas_daxpy(n, -by_row_[q], limits_.A.data() + active[q] * n_, 1, out.e.data(), 1);
  }
  for (std::size_t r = 0; r < at(rows_); ++r) out.value[r] = fixed * row_rest_[r];
  out.value[at(limits_.turnover())] -= fixed * held;
  for (std::size_t a = 0; a < assets.size(); ++a) {
    const double* by_row = limits_.by_asset.data() + assets[a] * limits_.plain();
    for (Index r = 0; r < limits_.plain(); ++r) out.value[at(r)] += by_row[r] * by_asset_[a];
    out.value[at(limits_.gross())] += gross_sign_[at(assets[a])] * by_asset_[a];
    out.value[at(limits_.turnover())] += trade_sign_[at(assets[a])] * by_asset_[a];
  }
}

void ActivePath::Block::offer(double now, double then, double tolerance, const Block& what) {
  if (then >= -tolerance) return;
  const double left = std::max(now, 0.0);
  const double way = left / (left - then);
  if (way > alpha + kNoStep || (way > alpha - kNoStep && left - then <= fall)) return;
  *this = what;
  alpha = std::min(way, 1.0);
  fall = left - then;
}

// The size of what e is made of.
double ActivePath::scale(double theta, ConstVec w) const {
  const ConstVec variance = H_.risk->diagonal(H_.sample);
  double largest = std::max(theta * largest_signal_, size_rest_);
  for (const Index i : factor_.assets())
    largest = std::max(largest, std::abs(w[at(i)]) * variance[at(i)]);
  return largest;
}

// What stands in the way to to_, which is at theta.
ActivePath::Block ActivePath::first_block(double theta) {
  const double of_residual = kOfResidual * scale(theta, to_.w);
  double gross = 1.0 + row_rest_[at(limits_.gross())];
  for (const Index i : factor_.assets()) gross += std::abs(to_.w[at(i)]);
  Block block;
  for (const Index i : factor_.assets()) {
    const double w = w_[at(i)], then = to_.w[at(i)];
    const double high = high_[at(i)], low = low_[at(i)];
    const double tolerance = kOfWeight * std::max(1.0, std::abs(then));
    block.offer(high - w, high - then, tolerance, {.asset = i, .direction = 1});
    block.offer(w - low, then - low, tolerance, {.asset = i, .direction = -1});
  }
  slopes(to_.lambda, theta, left_, right_);
  for (Index i = 0; i < n_; ++i) {
    const double above = to_.e[at(i)] - right_[at(i)], below = left_[at(i)] - to_.e[at(i)];
    if (!(std::max(above, below) > of_residual)) continue;
    const double w = w_[at(i)];
    if (above > below)
      block.offer(right_slope(i, w, lambda_, theta_) - e_[at(i)], -above, of_residual,
                  {.asset = i, .direction = 1});
    else
      block.offer(e_[at(i)] - left_slope(i, w, lambda_, theta_), -below, of_residual,
                  {.asset = i, .direction = -1});
  }
  for (Index r = 0; r < rows_; ++r) {
    const double upper = limits_.row_upper[at(r)], lower = limits_.row_lower[at(r)];
    const double value = to_.value[at(r)];
    const double side = side_[at(r)];
    const double tolerance = kOfRow * gross * limits_.row_size[at(r)];
    if (side != 0.0) {
      if (!limits_.equality(r))
        block.offer(lambda_[at(r)] * side, to_.lambda[at(r)] * side, 0.0, {.row = r});
    } else {
      if (upper < kInfinity)
        block.offer(gap_above_[at(r)], upper - value, tolerance, {.row = r, .direction = 1});
      if (lower > -kInfinity)
        block.offer(gap_below_[at(r)], value - lower, tolerance, {.row = r, .direction = -1});
    }
  }
  return block;
}

void ActivePath::advance(double alpha, double theta) {
  ++steps_;
  const auto move = [alpha](double& now, double then) {
    now = alpha == 1.0 ? then : now + alpha * (then - now);
  };
  for (const Index i : factor_.assets()) {
    move(w_[at(i)], to_.w[at(i)]);
    w_[at(i)] = std::clamp(w_[at(i)], low_[at(i)], high_[at(i)]);
  }
  for (std::size_t i = 0; i < at(n_); ++i) move(e_[i], to_.e[i]);
  for (std::size_t r = 0; r < at(rows_); ++r) {
    move(lambda_[r], to_.lambda[r]);
    if (side_[r] != 0) continue;
    if (limits_.row_upper[r] < kInfinity) move(gap_above_[r], limits_.row_upper[r] - to_.value[r]);
    if (limits_.row_lower[r] > -kInfinity) move(gap_below_[r], to_.value[r] - limits_.row_lower[r]);
  }
  move(theta_, theta);
}

// The asset or row that was in the way changes sides. False if the limits cannot hold together.
bool ActivePath::change(const Block& block) {
  if (block.row >= 0) {
    if (side_[at(block.row)] != 0)
      deactivate(block.row);
    else
      activate(block.row, block.direction);
    return settle(block.row, -1, 0);
  }
  const Index i = block.asset;
  if (!factor_.is_free(i)) {
    release(i, block.direction);
    return settle(-1, i, block.direction);
  }
  const double knot = block.direction > 0 ? high_[at(i)] : low_[at(i)];
  const double right = right_slope(i, knot, lambda_, theta_);
  const double left = left_slope(i, knot, lambda_, theta_);
  w_[at(i)] = knot;
  if (left >= right) {
    pass(i, block.direction);
    return settle(-1, i, block.direction);
  }
  factor_.remove(i);
  rest(i, 1.0);
  e_[at(i)] = block.direction > 0 ? left : right;
  return settle(-1, i, block.direction);
}

// Into the pieces, the slopes, the gaps and the signs, each by another length.
void ActivePath::shake(double size) {
  std::uint64_t bits = 0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(++shakes_);
  const auto length = [&] {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    return size * (0.5 + static_cast<double>(bits >> 12) * 0x1p-53);
  };
  const double size_of_e = scale(theta_, w_);
  for (Index r = 0; r < rows_; ++r) {
    if (side_[at(r)] == 0) {
      gap_above_[at(r)] += length();
      gap_below_[at(r)] += length();
    } else if (!limits_.equality(r)) {
      lambda_[at(r)] += side_[at(r)] * size_of_e * length();
    }
  }
  for (Index i = 0; i < n_; ++i) {
    const bool is_free = factor_.is_free(i);
    double& x = is_free ? w_[at(i)] : e_[at(i)];
    const double low = is_free ? low_[at(i)] : left_slope(i, w_[at(i)], lambda_, theta_);
    const double high = is_free ? high_[at(i)] : right_slope(i, w_[at(i)], lambda_, theta_);
    const double inwards = length() * std::min(high - low, is_free ? 1.0 : size_of_e);
    if (low + inwards <= high - inwards) x = std::clamp(x, low + inwards, high - inwards);
  }
}

// Assets and rows in their order, and nothing summed up along the way: the answer depends on which
// are free and active, not on how they came to be.
void ActivePath::tidy() {
  if (tidy_) return;
  tidy_ = true;
  order_.assign(factor_.assets().begin(), factor_.assets().end());
  std::sort(order_.begin(), order_.end());
  factor_.clear();
  std::fill(H_rest_.begin(), H_rest_.end(), 0.0);
  std::fill(row_rest_.begin(), row_rest_.end(), 0.0);
  for (const Index i : order_) free(i);
  for (Index i = 0; i < n_; ++i)
    if (!factor_.is_free(i)) rest(i, 1.0);
  for (Index r = 0; r < rows_; ++r)
    if (side_[at(r)] != 0) factor_.add_row(r, coefficients(r));
}

// Adds theta times along_ to to_.
void ActivePath::aim_at(double theta) {
  const auto add = [theta](std::vector<double>& x, const std::vector<double>& along) {
    cblas_daxpy(static_cast<int>(x.size()), theta, along.data(), 1, x.data(), 1);
  };
  add(to_.w, along_.w);
  add(to_.Hw, along_.Hw);
  add(to_.e, along_.e);
  add(to_.lambda, along_.lambda);
  add(to_.value, along_.value);
}

// `aim` sets to_ and theta for the present assets and rows, and says whether the way ends there.
template <class Aim>
ActivePath::End ActivePath::walk(const Aim& aim) {
  const Index most = steps_ + 50 * (n_ + rows_) + 500;
  int ties = 0;
  double size = 1e-7;
  while (steps_ < most) {
    double theta = theta_;
    const bool last = aim(theta);
    const Block block = first_block(theta);
    advance(block.alpha, theta);
    if (!std::isfinite(theta_)) return End::stuck;
    if (block.none() && last) return End::reached;
    if (block.none()) continue;
    if (!change(block)) return End::infeasible;
    entered_ = theta_;
    tidy_ = false;
    ties = block.alpha < kNoStep ? ties + 1 : 0;
    if (ties <= kTie) continue;
    shake(size);
    size = std::min(10.0 * size, 1e-2);
    ties = 0;
  }
  return End::stuck;
}

ActivePath::End ActivePath::follow(double theta) {
  if (!start_equalities()) return End::infeasible;
  return walk([&](double& then) {
    then = theta;
    solve(theta, 1.0, to_);
    return true;
  });
}

ActivePath::End ActivePath::follow(Wanted wanted, double target, int direction) {
  const double most = kMostTheta * theta_;
  entered_ = theta_;
  return walk([&](double& then) {
    const std::optional<double> root = wanted(segment(), target);
    then = root.value_or(direction > 0 ? 16.0 * theta_ : 0.0);
    then = direction > 0 ? std::clamp(then, theta_, most) : std::clamp(then, 0.0, theta_);
    aim_at(then);
    return root.has_value() || then == 0.0 || then == most;
  });
}

// What was summed up along the way may have chosen wrongly: then the way goes on.
ActivePath::End ActivePath::finish(double theta, Wanted wanted, double target) {
  for (int tries = 0; tries < 3; ++tries) {
    tidy();
    if (factor_.factor_rows() >= 0) return End::stuck;
    refine_ = true;
    const Segment present = segment();
    refine_ = false;
    if (wanted != nullptr) theta = wanted(present, target).value_or(theta_);
    aim_at(theta);
    if (first_block(theta).none()) {
      advance(1.0, theta);
      return End::reached;
    }
    if (const End end = follow(theta); end != End::reached) return end;
  }
  return End::stuck;
}

ActivePath::Segment ActivePath::segment() {
  solve(0.0, 1.0, to_);
  solve(1.0, 0.0, along_);
  Segment out;
  double unlimited = 0.0;  // return1, were there no rows
  for (Index i = 0; i < n_; ++i) {
    const double w0 = to_.w[at(i)], w1 = along_.w[at(i)];
    if (w0 == 0.0 && w1 == 0.0 && !limits_.trades_count) continue;
    const double more = H_.more.empty() ? 0.0 : H_.more[at(i)];
    const double Hw0 = to_.Hw[at(i)];
    out.curved0 += w0 * Hw0;
    out.risk0 += w0 * (Hw0 - more * w0);
    out.risk01 += w1 * (Hw0 - more * w0);
    out.risk1 += w1 * (along_.Hw[at(i)] - more * w1);
    const double cost = limits_.holding_is_knot(i) ? limits_.costs[at(i)] : 0.0;
    const double h = limits_.holdings[at(i)];
    const double sign = factor_.is_free(i) ? trade_sign_[at(i)] : upwards(w0 >= h);
    out.return0 += mu_[at(i)] * w0 - cost * sign * (w0 - h);
    out.return0_size += std::abs(mu_[at(i)] * w0) + cost * std::abs(w0 - h);
    const double earned = mu_[at(i)] - cost * sign;
    out.return1 += earned * w1;
    if (factor_.is_free(i)) unlimited += earned * earned / H_.risk->diagonal(H_.sample)[at(i)];
  }
  // Where rows leave no way to follow the signal, only rounding does, and theta may grow a lot.
  if (factor_.assets().size() == factor_.active().size() || out.risk1 <= kFlat * unlimited) {
    std::fill(along_.w.begin(), along_.w.end(), 0.0);
    std::fill(along_.Hw.begin(), along_.Hw.end(), 0.0);
    std::fill(along_.value.begin(), along_.value.end(), 0.0);
    out.risk01 = out.risk1 = out.return1 = 0.0;
  }
  return out;
}

void ActivePath::project(Vec g) {
  const std::span<const Index> assets = factor_.assets();
  for (std::size_t a = 0; a < assets.size(); ++a) by_asset_[a] = g[at(assets[a])];
  std::fill(by_row_.begin(), by_row_.end(), 0.0);
  factor_.solve({by_asset_.data(), assets.size()}, {by_row_.data(), factor_.active().size()});
  std::fill(g.begin(), g.end(), 0.0);
  for (std::size_t a = 0; a < assets.size(); ++a) g[at(assets[a])] = by_asset_[a];
}

void ActivePath::pull_of_knots(Vec g) {
  const std::span<const Index> assets = factor_.assets(), active = factor_.active();
  const auto n = static_cast<int>(n_);
  for (std::size_t a = 0; a < assets.size(); ++a) by_asset_[a] = g[at(assets[a])];
  std::fill(by_row_.begin(), by_row_.end(), 0.0);
  factor_.solve({by_asset_.data(), assets.size()}, {by_row_.data(), active.size()});
  if (!assets.empty())
    cblas_dgemv(CblasRowMajor, CblasTrans, static_cast<int>(assets.size()), n, -1.0,
                factor_.columns(), n, by_asset_.data(), 1, 1.0, g.data(), 1);
  for (std::size_t q = 0; q < active.size(); ++q) {
    const Index r = active[q];
    if (r < limits_.plain()) {
      cblas_daxpy(n, -by_row_[q], limits_.A.data() + r * n_, 1, g.data(), 1);
      continue;
    }
    for (Index i = 0; i < n_; ++i) {
      const double from = r == limits_.gross() ? 0.0 : limits_.holdings[at(i)];
      g[at(i)] -= by_row_[q] * upwards(w_[at(i)] >= from);
    }
  }
  for (const Index i : assets) g[at(i)] = 0.0;
}

}  // namespace sharpen::layer
