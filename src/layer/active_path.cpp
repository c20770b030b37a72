#include "layer/active_path.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/vec.hpp"

namespace sharpen::layer {

namespace {

// Of a combination of rows, what is rounding.
constexpr double kNoPart = 1e-9;
constexpr double kNoRate = 1e-12;    // in what e gains along it
constexpr double kMetLimit = 1e-11;  // in what it lacks of its limits

}  // namespace

void Curvature::column(Index j, Vec out, Vec scratch) const {
  risk->column(sample, j, out, scratch);
  if (!more.empty()) out[at(j)] += more[at(j)];
}

ActivePath::ActivePath(LimitTable limits)
    : limits_(std::move(limits)),
      n_(limits_.n),
      rows_(limits_.rows),
      factor_(n_, rows_),
      w_(at(n_)),
      e_(at(n_)),
      lambda_(at(rows_)),
      gap_above_(at(rows_)),
      gap_below_(at(rows_)),
      side_(at(rows_)),
      low_(at(n_)),
      high_(at(n_)),
      gross_sign_(at(n_)),
      trade_sign_(at(n_)),
      H_rest_(at(n_)),
      row_rest_(at(rows_)),
      ray_(at(rows_)),
      end_left_(at(n_)),
      end_right_(at(n_)),
      left_(at(n_)),
      right_(at(n_)),
      pull_(at(n_)),
      by_asset_(at(n_)),
      by_row_(at(rows_)) {
  for (State* state : {&to_, &along_}) {
    for (auto* column : {&state->w, &state->Hw, &state->e}) column->resize(at(n_));
    for (auto* column : {&state->lambda, &state->value}) column->resize(at(rows_));
  }
}

// The kinks of phi_i are at 0 and at the holding: left of one its slope falls, right of it it
// grows.
double ActivePath::slope(Index i, double w, bool right, ConstVec multipliers, double theta) const {
  double slope = 0.0;
  if (limits_.zero_is_knot)
    slope += multipliers[at(limits_.gross())] * upwards(right ? w >= 0.0 : w > 0.0);
  if (limits_.holding_is_knot(i)) {
    const double h = limits_.holdings[at(i)];
    slope += (theta * limits_.costs[at(i)] + multipliers[at(limits_.turnover())]) *
             upwards(right ? w >= h : w > h);
  }
  return slope;
}

double ActivePath::right_slope(Index i, double w, ConstVec multipliers, double theta) const {
  return w >= limits_.upper[at(i)] ? kInfinity : slope(i, w, true, multipliers, theta);
}

double ActivePath::left_slope(Index i, double w, ConstVec multipliers, double theta) const {
  return w <= limits_.lower[at(i)] ? -kInfinity : slope(i, w, false, multipliers, theta);
}

// left (n) and right (n): between which e may be, of the assets at rest; anything for free ones.
void ActivePath::slopes(ConstVec multipliers, double theta, Vec left, Vec right) const {
  std::copy(end_left_.begin(), end_left_.end(), left.begin());
  std::copy(end_right_.begin(), end_right_.end(), right.begin());
  if (!limits_.zero_is_knot && !limits_.trades_count) return;
  for (Index i = 0; i < n_; ++i) {
    if (factor_.is_free(i)) continue;
    left[at(i)] += slope(i, w_[at(i)], false, multipliers, theta);
    right[at(i)] += slope(i, w_[at(i)], true, multipliers, theta);
  }
}

// Of a free asset.
double ActivePath::coefficient(Index r, Index i) const {
  if (r < limits_.plain()) return limits_.A[at(r * n_ + i)];
  return r == limits_.gross() ? gross_sign_[at(i)] : trade_sign_[at(i)];
}

double ActivePath::row_value(Index r) const {
  double value = row_rest_[at(r)];
  for (const Index i : factor_.assets()) value += limits_.part(r, i, w_[at(i)]);
  return value;
}

// ---- The state: what rests, what is free, what is active.

void ActivePath::clear(const Curvature& H, ConstVec mu, double theta) {
  H_ = H;
  mu_ = mu;
  theta_ = theta;
  steps_ = shakes_ = 0;
  entered_ = theta;
  tidy_ = false;
  size_rest_ = largest_signal_ = 0.0;
  for (const double x : mu) largest_signal_ = std::max(largest_signal_, std::abs(x));
  scratch_.resize(at(H.risk->scratch_size()));
  factor_.clear();
  std::fill(side_.begin(), side_.end(), std::int8_t{0});
  std::fill(lambda_.begin(), lambda_.end(), 0.0);
  std::fill(H_rest_.begin(), H_rest_.end(), 0.0);
  std::fill(row_rest_.begin(), row_rest_.end(), 0.0);
}

// Takes asset i at rest into what those at rest add up to (sign 1), or out of it (-1).
void ActivePath::rest(Index i, double sign) {
  const double w = w_[at(i)];
  if (w != 0.0) {
    H_.column(i, by_asset_, scratch_);
    cblas_daxpy(static_cast<int>(n_), sign * w, by_asset_.data(), 1, H_rest_.data(), 1);
    for (Index r = 0; r < limits_.turnover(); ++r) row_rest_[at(r)] += sign * limits_.part(r, i, w);
  }
  row_rest_[at(limits_.turnover())] += sign * limits_.part(limits_.turnover(), i, w);
  size_rest_ = std::max(size_rest_, std::abs(w) * H_.risk->diagonal(H_.sample)[at(i)]);
  end_left_[at(i)] = w <= limits_.lower[at(i)] ? -kInfinity : 0.0;
  end_right_[at(i)] = w >= limits_.upper[at(i)] ? kInfinity : 0.0;
}

void ActivePath::set_piece(Index i, int direction) {
  const double w = w_[at(i)];
  const bool knot = limits_.is_knot(i, w);
  low_[at(i)] = knot && direction > 0 ? w : limits_.next_below(i, w);
  high_[at(i)] = knot && direction < 0 ? w : limits_.next_above(i, w);
  gross_sign_[at(i)] = upwards(low_[at(i)] >= 0.0);
  trade_sign_[at(i)] = upwards(low_[at(i)] >= limits_.holdings[at(i)]);
}

void ActivePath::free(Index i) {
  end_left_[at(i)] = -kInfinity;
  end_right_[at(i)] = kInfinity;
  H_.column(i, factor_.next_column(), scratch_);
  const std::span<const Index> active = factor_.active();
  for (std::size_t q = 0; q < active.size(); ++q) by_row_[q] = coefficient(active[q], i);
  factor_.append(i, by_row_);
}

void ActivePath::release(Index i, int direction) {
  rest(i, -1.0);
  set_piece(i, direction);
  free(i);
}

ConstVec ActivePath::coefficients(Index r) {
  const std::span<const Index> assets = factor_.assets();
  for (std::size_t a = 0; a < assets.size(); ++a) by_asset_[a] = coefficient(r, assets[a]);
  return {by_asset_.data(), assets.size()};
}

// A free asset goes on into the next piece, past a knot at which phi has no kink now.
void ActivePath::pass(Index i, int direction) {
  set_piece(i, direction);
  for (const Index r : factor_.active())
    if (r >= limits_.plain()) factor_.set_row(r, coefficients(r));
}

void ActivePath::activate(Index r, int side) {
  side_[at(r)] = static_cast<std::int8_t>(side);
  factor_.add_row(r, coefficients(r));
}

void ActivePath::deactivate(Index r) {
  factor_.remove_row(r);
  const double range = limits_.row_upper[at(r)] - limits_.row_lower[at(r)];
  gap_above_[at(r)] = side_[at(r)] > 0 ? 0.0 : range;
  gap_below_[at(r)] = side_[at(r)] > 0 ? range : 0.0;
  side_[at(r)] = 0;
  lambda_[at(r)] = 0.0;
}

// How much a combination of active rows that is zero on the free assets lacks of its limits; 0 if
// that is rounding.
double ActivePath::missing(ConstVec combination) const {
  double lacks = 0.0, size = 0.0;
  for (const Index r : factor_.active()) {
    const double share = combination[at(r)];
    const double limit = side_[at(r)] > 0 ? limits_.row_upper[at(r)] : limits_.row_lower[at(r)];
    double fixed = row_rest_[at(r)];
    if (r == limits_.turnover())
      for (const Index i : factor_.assets()) fixed -= trade_sign_[at(i)] * limits_.holdings[at(i)];
    lacks += share * (limit - fixed);
    size += std::abs(share) * std::max({std::abs(limit), std::abs(fixed), limits_.row_size[at(r)]});
  }
  return std::abs(lacks) <= kMetLimit * size ? 0.0 : lacks;
}

bool ActivePath::start_equalities() {
  for (Index r = 0; r < rows_; ++r) {
    if (!limits_.equality(r) || side_[at(r)] != 0) continue;
    tidy_ = false;
    activate(r, row_value(r) <= limits_.row_upper[at(r)] ? -1 : 1);
    if (!settle(r, -1, 0)) return false;
  }
  return true;
}

// A name at rest is as far from being freed as its signal is from the largest, so that names come
// in one after the other; one without a kink where it rests is free from the start.
void ActivePath::begin(const Curvature& H, ConstVec mu, double theta) {
  clear(H, mu, theta);
  double largest = 0.0;
  for (Index i = 0; i < n_; ++i)
    largest = std::max(largest, theta * (std::abs(mu[at(i)]) + limits_.costs[at(i)]));
  for (Index i = 0; i < n_; ++i) {
    const double start = limits_.holding_is_knot(i) ? limits_.holdings[at(i)] : 0.0;
    const double w = std::clamp(start, limits_.lower[at(i)], limits_.upper[at(i)]);
    w_[at(i)] = w;
    const double left = left_slope(i, w, lambda_, theta), right = right_slope(i, w, lambda_, theta);
    const double wanted = theta * mu[at(i)];
    if (left < right) {
      if (std::isinf(left) || std::isinf(right))
        e_[at(i)] = std::isinf(right) ? wanted + largest : wanted - largest;
      else
        e_[at(i)] = std::clamp(wanted, left, right);
      if (std::isinf(left) && std::isinf(right)) e_[at(i)] = wanted;
      rest(i, 1.0);
    } else {
      set_piece(i, wanted >= 0.0 ? 1 : -1);
      free(i);
    }
  }
  for (Index r = 0; r < rows_; ++r) {
    const double value = row_value(r);
    gap_above_[at(r)] = std::max(0.0, limits_.row_upper[at(r)] - value);
    gap_below_[at(r)] = std::max(0.0, value - limits_.row_lower[at(r)]);
  }
}

void ActivePath::resume(const Curvature& H, ConstVec mu, const ActiveSet& start) {
  clear(H, mu, start.theta);
  for (Index i = 0; i < n_; ++i)
    w_[at(i)] = std::clamp(start.w[at(i)], limits_.lower[at(i)], limits_.upper[at(i)]);
  for (Index r = 0; r < rows_; ++r)
    lambda_[at(r)] = start.side[at(r)] == 0 ? 0.0 : start.multipliers[at(r)];
  for (Index i = 0; i < n_; ++i) {
    const double w = w_[at(i)];
    const double left = left_slope(i, w, lambda_, theta_),
                 right = right_slope(i, w, lambda_, theta_);
    const bool fixed = limits_.lower[at(i)] == limits_.upper[at(i)];
    if (fixed || (start.piece[at(i)] == 0 && limits_.is_knot(i, w) && left < right)) {
      e_[at(i)] = std::clamp(start.e[at(i)], left, right);
      rest(i, 1.0);
    } else {
      const int piece = w >= limits_.upper[at(i)] ? -1 : w <= limits_.lower[at(i)] ? 1 : 0;
      set_piece(i, piece != 0 ? piece : start.piece[at(i)] >= 0 ? 1 : -1);
      free(i);
    }
  }
  for (Index r = 0; r < rows_; ++r) {
    const double value = row_value(r);
    gap_above_[at(r)] = std::max(0.0, limits_.row_upper[at(r)] - value);
    gap_below_[at(r)] = std::max(0.0, value - limits_.row_lower[at(r)]);
    if (start.side[at(r)] != 0) activate(r, start.side[at(r)]);
  }
  if (factor_.factor_rows() >= 0)
    begin(H, mu, start.theta);
  else
    tidy_ = true;
}

void ActivePath::keep(ActiveSet& out) const {
  out.w = w_;
  out.e = e_;
  out.multipliers = lambda_;
  out.side = side_;
  out.theta = theta_;
  out.piece.assign(at(n_), 0);
  for (const Index i : factor_.assets())
    out.piece[at(i)] = w_[at(i)] >= high_[at(i)] ? std::int8_t{-1} : std::int8_t{1};
}

void ActivePath::reset(ConstVec lower, ConstVec upper) {
  std::copy(lower.begin(), lower.end(), limits_.lower.begin());
  std::copy(upper.begin(), upper.end(), limits_.upper.begin());
}
void ActivePath::reset(const LimitTable& limits) { limits_ = limits; }

bool ActivePath::set_bounds(Index i, double lower, double upper) {
  limits_.lower[at(i)] = lower;
  limits_.upper[at(i)] = upper;
  tidy_ = false;
  const double w = w_[at(i)];
  const double within = std::clamp(w, lower, upper);
  if (factor_.is_free(i)) {
    if (within == w && lower < upper) {
      pass(i, w >= upper ? -1 : 1);
      return settle(-1, i, 1);
    }
    factor_.remove(i);
  } else {
    rest(i, -1.0);
  }
  w_[at(i)] = within;
  rest(i, 1.0);
  const double left = left_slope(i, within, lambda_, theta_);
  const double right = right_slope(i, within, lambda_, theta_);
  if (left >= right || !limits_.is_knot(i, within)) {
    release(i, 1);
    return settle(-1, i, 1);
  }
  e_[at(i)] = std::clamp(e_[at(i)], left, right);
  return settle(-1, -1, 0);
}

// ---- Rows that depend on each other.

// Sets ray_ to the combination of active rows, up to the q-th, that is zero on the free assets, and
// pull_ to what e gains along it; `row`, `asset` and `direction` as for exchange().
void ActivePath::point_ray(Index q, Index row, Index asset, int direction) {
  const std::span<const Index> active = factor_.active();
  factor_.dependence(q, {by_row_.data(), active.size()});
  std::fill(ray_.begin(), ray_.end(), 0.0);
  for (std::size_t a = 0; a < active.size(); ++a) ray_[at(active[a])] = by_row_[a];
  std::fill(pull_.begin(), pull_.end(), 0.0);  // of e
  for (const Index r : active)
    if (r < limits_.plain())
      cblas_daxpy(static_cast<int>(n_), -ray_[at(r)], limits_.A.data() + r * n_, 1, pull_.data(),
                  1);
  slopes(ray_, 0.0, left_, right_);
  const auto slope_at_rest = [&](bool right) {
    return slope(asset, w_[at(asset)], right, ray_, 0.0);
  };
  const bool backwards = row >= 0        ? ray_[at(row)] * side_[at(row)] < 0.0
                         : direction > 0 ? pull_[at(asset)] < slope_at_rest(false)
                         : direction < 0 ? pull_[at(asset)] > slope_at_rest(true)
                                         : missing(ray_) > 0.0;
  if (backwards) {
    for (auto* all : {&ray_, &pull_})
      for (double& x : *all) x = -x;
    slopes(ray_, 0.0, left_, right_);
  }
}

// Row q of the active ones depends on those before it, because `row` became active, or `asset` came
// to rest on its way in `direction`, or (direction 0) an asset was put elsewhere. Moves the
// multipliers along the combination that is zero on the free assets, until a row or an asset lets
// go. False if none does.
bool ActivePath::exchange(Index q, Index row, Index asset, int direction) {
  point_ray(q, row, asset, direction);
  const std::span<const Index> active = factor_.active();
  double shortest = kInfinity, fastest = 0.0, size = 0.0;
  for (const Index r : active)
    size = std::max(size, std::abs(ray_[at(r)]) * limits_.row_size[at(r)]);
  Block out;
  const auto offer = [&](double now, double rate, const Block& what) {
    if (!(rate > kNoRate * size)) return;
    const double length = std::max(now, 0.0) / rate;
    if (length > shortest || (length == shortest && rate <= fastest)) return;
    shortest = length;
    fastest = rate;
    out = what;
  };
  for (const Index r : active)
    if (!limits_.equality(r) && r != row)
      offer(lambda_[at(r)] * side_[at(r)], -ray_[at(r)] * side_[at(r)], {.row = r});
  for (Index i = 0; i < n_; ++i) {
    const double w = w_[at(i)];
    if (pull_[at(i)] > right_[at(i)])
      offer(right_slope(i, w, lambda_, theta_) - e_[at(i)], pull_[at(i)] - right_[at(i)],
            {.asset = i, .direction = 1});
    if (pull_[at(i)] < left_[at(i)])
      offer(e_[at(i)] - left_slope(i, w, lambda_, theta_), left_[at(i)] - pull_[at(i)],
            {.asset = i, .direction = -1});
  }
  if (out.none()) {
    double largest = 0.0;
    for (const double x : ray_) largest = std::max(largest, std::abs(x));
    for (double& x : ray_)
      if (std::abs(x) < kNoPart * largest) x = 0.0;
    return false;
  }
  for (const Index r : active) lambda_[at(r)] += shortest * ray_[at(r)];
  cblas_daxpy(static_cast<int>(n_), shortest, pull_.data(), 1, e_.data(), 1);
  if (out.row >= 0)
    deactivate(out.row);
  else
    release(out.asset, out.direction);
  return true;
}

bool ActivePath::settle(Index row, Index asset, int direction) {
  for (int tries = 0; tries < 8; ++tries) {
    const Index q = factor_.factor_rows();
    if (q < 0) return true;
    if (exchange(q, row, asset, direction)) continue;
    if (missing(ray_) != 0.0) return false;
    deactivate(factor_.active()[at(q)]);  // it says what others say
  }
  return factor_.factor_rows() < 0;
}

}  // namespace sharpen::layer
