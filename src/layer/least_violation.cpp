#include "sharpen/layer/least_violation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "layer/feasibility.hpp"

namespace sharpen::layer {

namespace {

constexpr double kHair = 1e-9;
constexpr int kMostCuts = 200;

double largest_of(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double x : values) largest = std::max(largest, std::abs(x));
  return largest > 0.0 ? largest : 1.0;
}

// Which limits give way, and by how much each of unit s.
class Widening {
 public:
  // The row that the kernel adds is its own, and never gives way.
  Widening(const Limits& limits, Index n, const ObjectiveSettings& objective, bool everything)
      : limits_(limits),
        n_(n),
        rows_(limits.rows.size() - (objective.kind == Objective::sharpe ? 1 : 0)),
        everything_(everything) {}

  Limits by(double s) const {
    Limits out = limits_;
    for (std::size_t i = 0; i < at(n_); ++i) {
      if (!out.lower.empty()) out.lower[i] -= s * of_lower(i);
      if (!out.upper.empty()) out.upper[i] += s * of_upper(i);
    }
    for (std::size_t r = 0; r < out.rows.size(); ++r) {
      out.rows[r].lower -= s * of_row(r);
      out.rows[r].upper += s * of_row(r);
    }
    out.gross += s;
    out.turnover += s;
    return out;
  }
  // The fall of a gap per unit of s.
  double fall(const ProofParts& parts) const {
    double sum = parts.rows[limits_.rows.size()] + parts.rows[limits_.rows.size() + 1];
    for (std::size_t r = 0; r < limits_.rows.size(); ++r) sum += parts.rows[r] * of_row(r);
    for (std::size_t i = 0; i < at(n_); ++i)
      sum += parts.lower[i] * of_lower(i) + parts.upper[i] * of_upper(i);
    return sum;
  }

 private:
  bool fixed(std::size_t i) const {
    return !limits_.lower.empty() && !limits_.upper.empty() && limits_.lower[i] == limits_.upper[i];
  }
  double of_lower(std::size_t i) const {
    return everything_ || (!fixed(i) && (limits_.lower.empty() || limits_.lower[i] != 0.0)) ? 1.0
                                                                                            : 0.0;
  }
  double of_upper(std::size_t i) const { return everything_ || !fixed(i) ? 1.0 : 0.0; }
  double of_row(std::size_t r) const {
    if (r >= rows_) return 0.0;
    const LimitRow& row = limits_.rows[r];
    return everything_ || row.lower < row.upper ? largest_of(row.coefficients) : 0.0;
  }

  const Limits& limits_;
  Index n_;
  std::size_t rows_;
  bool everything_;
};

// The least s that a proof leaves, from one that it excludes. The gap is convex and falls as s
// grows, a line from kink to kink: Newton's steps end at its root, or before it. None: no s is.
std::optional<double> cut(const Widening& widening, Index n, ConstVec proof, double s) {
  for (int step = 0; step < kMostCuts; ++step) {
    const ProofParts parts = parts_of(widening.by(s), n, proof);
    if (!(parts.gap > 0.0)) break;
    double size = 0.0;
    for (const double y : parts.rows) size = std::max(size, y);
    const double fall = widening.fall(parts);
    if (!(fall > kHair * size)) return std::nullopt;
    s += parts.gap / fall;
  }
  return s;
}

// None: what gives way is not enough.
std::optional<double> least_s(const Widening& widening, Index n) {
  double s = 0.0;
  for (int cuts = 0; cuts < kMostCuts; ++cuts) {
    const double hair = s > 0.0 ? kHair * (1.0 + s) : 0.0;
    const Feasibility found = feasibility(widening.by(s + hair), n);
    if (found.answer == Feasibility::Answer::yes) return s;
    std::optional<double> next = s;
    if (found.answer == Feasibility::Answer::no) next = cut(widening, n, found.proof, s);
    if (!next) return std::nullopt;
    // Where rounding stands in the way of a cut, s grows by itself.
    s = std::max(*next, s + 0.5 * kHair * (1.0 + s));
  }
  return std::nullopt;
}

}  // namespace

double least_violation(const Limits& limits, Index n, const ObjectiveSettings& objective,
                       Limits& relaxed) {
  relaxed = limits;
  const Limits all = with_net_row(limits, n, objective.kind);
  for (const bool everything : {false, true}) {
    const Widening widening(all, n, objective, everything);
    const std::optional<double> s = least_s(widening, n);
    if (!s) continue;
    if (*s == 0.0) return 0.0;
    relaxed = widening.by(*s + kHair * (1.0 + *s));
    relaxed.rows.resize(limits.rows.size());
    return *s;
  }
  return kUnlimited;
}

Limits widened(const Limits& limits, Index n, const ObjectiveSettings& objective, GivesWay what,
               double s) {
  const Limits all = with_net_row(limits, n, objective.kind);
  Limits out = Widening(all, n, objective, what == GivesWay::everything).by(s);
  out.rows.resize(limits.rows.size());
  return out;
}

}  // namespace sharpen::layer
