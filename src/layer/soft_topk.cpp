#include "sharpen/layer/soft_topk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/vec.hpp"
#include "layer/kernels.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::layer {

namespace {

constexpr int kMostBisections = 200;
constexpr int kMostNewton = 200;  // never reached: Newton needs a handful, kept in a bracket
constexpr int kMostCounts = 48;
constexpr double kTolerance = 1e-10;     // of |sum(p) - k| / k
constexpr double kSaturated = 1e-290;    // a sum of v below this has lost its digits
constexpr double kLogTolerance = 1e-13;  // of |log S_out - log S_in|

struct Range {
  double least, most;
};

Range range_of(ConstVec x) {
  const auto [least, most] = std::minmax_element(x.begin(), x.end());
  return {*least, *most};
}

// A threshold with exactly k entries above it, if halving the range finds one; none where
// the k-th and the next largest are too close, or tied.
std::optional<double> counted_threshold(ConstVec x, Index k, Range range, const Kernels& kernels) {
  double low = range.least, high = range.most;
  for (int i = 0; i < kMostCounts; ++i) {
    const double middle = low + 0.5 * (high - low);
    if (!(middle > low && middle < high)) break;
    const Index above = kernels.count_above(x.data(), static_cast<Index>(x.size()), middle);
    if (above == k) return middle;
    (above > k ? low : high) = middle;
  }
  return std::nullopt;
}

// The two sides of the k-th largest: scratch holds d_i = beta (x_i - c) of the entries outside K in
// front, and -d_i of those inside K behind them.
struct Sides {
  double c;
  double* out;
  double* in;
};

Sides sides_of(ConstVec x, Index k, double beta, Range range, Vec scratch, const Kernels& kernels) {
  const auto n = static_cast<Index>(x.size());
  const std::optional<double> counted = counted_threshold(x, k, range, kernels);
  double threshold = counted.value_or(0.0);
  Index tied = 0;  // how many entries equal to the threshold belong to K
  if (!counted) {
    const Vec order = scratch.first(x.size());  // the caller's may be longer
    std::copy(x.begin(), x.end(), order.begin());
    const auto kth = order.begin() + (k - 1);
    std::nth_element(order.begin(), kth, order.end(), std::greater<>());
    threshold = *kth;
    tied = k - kernels.count_above(x.data(), n, threshold);
  }
  double least_in = std::numeric_limits<double>::infinity(), most_out = -least_in;
  double* front = scratch.data();
  double* back = scratch.data() + n;
  for (const double xi : x) {
    const bool inside = xi > threshold || (xi == threshold && tied-- > 0);
    if (inside) {
      *--back = xi;
      least_in = std::min(least_in, xi);
    } else {
      *front++ = xi;
      most_out = std::max(most_out, xi);
    }
  }
  const double c = most_out + 0.5 * (least_in - most_out);
  for (double* d = scratch.data(); d != back; ++d) *d = beta * (*d - c);
  for (double* d = back; d != scratch.data() + n; ++d) *d = beta * (c - *d);
  return {c, scratch.data(), back};
}

struct Root {
  double c, u;
  int iterations;
};

Root newton_root(const TopKSettings& settings, ConstVec x, Vec scratch, const Kernels& kernels) {
  const auto n = static_cast<Index>(x.size());
  const Index k = settings.k;
  const double beta = settings.beta;
  const Range range = range_of(x);
  const Sides sides = sides_of(x, k, beta, range, scratch, kernels);
  const double logit = std::log(static_cast<double>(k) / static_cast<double>(n - k));
  double low = logit + beta * (sides.c - range.most);
  double high = logit + beta * (sides.c - range.least);
  // For small beta every p is near k/n; for large beta the root is midway, at u = 0.
  double u = 0.0;
  if (beta * (range.most - range.least) < 4.0)
    u = logit + beta * (sides.c - sum(x) / static_cast<double>(n));
  u = std::clamp(u, std::min(low, high), std::max(low, high));

  int i = 1;
  for (; i <= kMostNewton; ++i) {
    const TailSums out = kernels.tail_sums(sides.out, n - k, u);
    const TailSums in = kernels.tail_sums(sides.in, k, -u);
    if (out.value <= 0.0 && in.value <= 0.0) break;  // saturated to the last bit
    const double G = std::log(out.value) - std::log(in.value);
    if (std::abs(G) <= kLogTolerance) break;
    (G > 0.0 ? high : low) = u;
    double next = u - G / (out.slope / out.value + in.slope / in.value);
    if (!(next > low && next < high)) next = low + 0.5 * (high - low);
    if (next == u || !(high > low)) break;
    const bool settled = std::abs(next - u) <= 1e-8;  // quadratic: the next error is rounding
    u = next;
    if (settled) break;
  }
  return {sides.c, u, i};
}

Root bisection_root(const TopKSettings& settings, ConstVec x, Vec p, Vec v,
                    const Kernels& kernels) {
  const auto n = static_cast<Index>(x.size());
  const auto k = static_cast<double>(settings.k);
  const Range range = range_of(x);
  const double c = 0.5 * (range.least + range.most);
  const double logit = std::log(k / (static_cast<double>(n) - k));
  double low = logit + settings.beta * (c - range.most);
  double high = logit + settings.beta * (c - range.least);
  double u = 0.5 * (low + high);
  for (int i = 0; i < settings.bisections; ++i) {
    u = 0.5 * (low + high);
    const double total = kernels.sigmoids(x.data(), n, settings.beta, c, u, p.data(), v.data());
    (total > k ? high : low) = u;
  }
  return {c, u, settings.bisections};
}

}  // namespace

void TopKSettings::validate(Index n) const {
  settings::check_count("k", k, n);
  settings::check(*this);
  if (bisections < 1 || bisections > kMostBisections)
    throw InputError(
        fmt::format("bisections = {} is outside [1, {}]", bisections, kMostBisections));
}

TopKResult soft_topk_forward(const TopKSettings& settings, ConstVec x, Vec p, Vec v, Vec scratch) {
  const auto n = static_cast<Index>(x.size());
  if (settings.k == n) {
    std::fill(p.begin(), p.end(), 1.0);
    std::fill(v.begin(), v.end(), 0.0);
    return {std::numeric_limits<double>::infinity(), 0, true};
  }
  const Kernels& set = kernels();
  const Root root = settings.solver == TopKSolver::newton ? newton_root(settings, x, scratch, set)
                                                          : bisection_root(settings, x, p, v, set);
  const double total = set.sigmoids(x.data(), n, settings.beta, root.c, root.u, p.data(), v.data());
  const auto k = static_cast<double>(settings.k);
  return {root.u / settings.beta - root.c, root.iterations + 1,
          std::abs(total - k) <= kTolerance * k};
}

void soft_topk_vjp(ConstVec v, ConstVec dL_dp, Vec dL_dx) {
  const double total = sum(v);
  if (!(total > kSaturated)) {
    std::fill(dL_dx.begin(), dL_dx.end(), 0.0);
    return;
  }
  const double mean = dot(dL_dp, v) / total;
  for (std::size_t i = 0; i < v.size(); ++i) dL_dx[i] = (dL_dp[i] - mean) * v[i];
}

}  // namespace sharpen::layer
