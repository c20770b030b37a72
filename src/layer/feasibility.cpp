#include "layer/feasibility.hpp"

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "sharpen/layer/limited.hpp"

namespace sharpen::layer {

namespace {

constexpr double kNoSlope = 1e-9;  // relative: rounding in a sum of rows

// Sigma = I, of which nothing need be kept.
class UnitRisk final : public risk::Risk {
 public:
  explicit UnitRisk(Index n) : ones_(at(n), 1.0) {}

  risk::Form form() const override { return risk::Form::dense; }
  Index n() const override { return static_cast<Index>(ones_.size()); }
  Index samples() const override { return 1; }
  Index scratch_size() const override { return 0; }
  risk::Parts parts() const override { return {.lower = true, .root = true, .restriction = false}; }
  std::size_t bytes() const override { return ones_.size() * sizeof(double); }
  Status status(Index) const override { return Status::ok; }
  double jitter(Index) const override { return 0.0; }
  ConstVec ones_solution(Index) const override { return ones_; }
  double ones_norm2(Index) const override { return static_cast<double>(n()); }
  ConstVec diagonal(Index) const override { return ones_; }
  double solve(Index, ConstVec m, Vec out, Vec) const override {
    copy(m, out);
    return dot(m, m);
  }
  void lower_solve(Index, ConstVec m, Vec out, Vec) const override { copy(m, out); }
  void lower_solve_t(Index, ConstVec g, Vec out, Vec) const override { copy(g, out); }
  void root_solve(Index, ConstVec m, Vec out, Vec) const override { copy(m, out); }
  void apply(Index, ConstVec w, Vec out, Vec) const override { copy(w, out); }
  void column(Index, Index j, Vec out, Vec) const override {
    std::fill(out.begin(), out.end(), 0.0);
    out[at(j)] = 1.0;
  }
  void submatrix(Index, std::span<const Index> K, Mat out, Vec) const override {
    for (std::size_t a = 0; a < K.size(); ++a)
      for (std::size_t b = 0; b < K.size(); ++b)
        out(static_cast<Index>(a), static_cast<Index>(b)) = a == b ? 1.0 : 0.0;
  }
  Index restriction_size() const override { return 0; }
  bool restrict_to(Index, ConstVec, Vec, Vec) const override { return true; }
  void restricted_solve(Index, ConstVec, ConstVec, ConstVec v, Vec out, Vec) const override {
    copy(v, out);  // P P + I - P^2 = I
  }

 private:
  static void copy(ConstVec from, Vec to) { std::ranges::copy(from, to.begin()); }
  std::vector<double> ones_;
};

// phi of one asset.
struct Tilt {
  double slope, gross, turnover, holding;
  double operator()(double w) const {
    return slope * w + gross * std::abs(w) + turnover * std::abs(w - holding);
  }
  double right_slope(double w) const {
    return slope + (w >= 0.0 ? gross : -gross) + (w >= holding ? turnover : -turnover);
  }
  double left_slope(double w) const {
    return slope + (w > 0.0 ? gross : -gross) + (w > holding ? turnover : -turnover);
  }
};

// About as large as weights are, all different: most names then end at a bound, and few are free on
// the way.
std::vector<double> spread_signal(Index n) {
  constexpr double kGolden = 0.6180339887498949;
  std::vector<double> mu(at(n));
  for (std::size_t i = 0; i < mu.size(); ++i) {
    const double turns = kGolden * static_cast<double>(i + 1);
    mu[i] = 2.0 * (turns - std::floor(turns)) - 1.0;
  }
  return mu;
}

}  // namespace

std::vector<double> even_weights(const Limits& limits, Index n, double net) {
  constexpr int kHalvings = 120;
  std::vector<double> w(at(n));
  const auto sum_at = [&](double level) {
    double sum = 0.0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] = level;
      if (!limits.lower.empty()) w[i] = std::max(w[i], limits.lower[i]);
      if (!limits.upper.empty()) w[i] = std::min(w[i], limits.upper[i]);
      sum += w[i];
    }
    return sum;
  };
  // Beyond these every weight that has a bound is at it, and one that has none makes up for all.
  double high = 1.0 + std::abs(net);
  for (const auto* bounds : {&limits.lower, &limits.upper})
    for (const double bound : *bounds)
      if (std::isfinite(bound)) high += std::abs(bound);
  double low = -high;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = 0.5 * low + 0.5 * high;
    (sum_at(middle) < net ? low : high) = middle;
  }
  sum_at(high);
  return w;
}

bool holds(const Limits& limits, ConstVec w) {
  constexpr double kRounding = 1e-12;
  const auto between = [](double low, double x, double high) {
    return x >= low - kRounding && x <= high + kRounding;
  };
  for (std::size_t i = 0; i < w.size(); ++i)
    if (!between(limits.lower.empty() ? -kUnlimited : limits.lower[i], w[i],
                 limits.upper.empty() ? kUnlimited : limits.upper[i]))
      return false;
  for (const LimitRow& row : limits.rows)
    if (!between(row.lower, dot(row.coefficients, w), row.upper)) return false;
  double traded = 0.0;
  for (std::size_t i = 0; i < limits.holdings.size(); ++i)
    traded += std::abs(w[i] - limits.holdings[i]);
  return abs_sum(w) <= limits.gross + kRounding && traded <= limits.turnover + kRounding;
}

Limits with_net_row(Limits limits, Index n, Objective objective) {
  if (objective == Objective::sharpe)
    limits.rows.push_back({"net = 1", std::vector<double>(at(n), 1.0), 1.0, 1.0});
  return limits;
}

Feasibility feasibility(const Limits& limits, Index n) {
  Limits free_of_costs = limits;
  free_of_costs.costs.clear();
  const ObjectiveSettings least{.kind = Objective::utility};
  LimitedSolver solver(least, free_of_costs, n);
  const UnitRisk risk(n);
  const std::vector<double> mu =
      limits.holdings.empty() ? spread_signal(n) : limits.holdings;  // near to what is held
  Feasibility out;
  out.w.resize(at(n));
  LimitedState state;
  const LimitedEnd end = solver.forward(risk, 0, mu, {}, state, out.w);
  if (is_solved(end)) {
    out.answer = Feasibility::Answer::yes;
  } else if (end == LimitedEnd::infeasible) {
    out.answer = Feasibility::Answer::no;
    const ConstVec proof = solver.proof();
    out.proof.assign(proof.begin(), proof.end());
  }
  return out;
}

ProofParts parts_of(const Limits& limits, Index n, ConstVec proof) {
  const std::size_t rows = limits.rows.size();
  ProofParts out;
  out.lower.resize(at(n));
  out.upper.resize(at(n));
  out.rows.resize(rows + 2);
  std::vector<double> sum(at(n)), size(at(n));
  for (std::size_t r = 0; r < rows; ++r) {
    const LimitRow& row = limits.rows[r];
    const double y = proof[r];
    out.rows[r] = std::abs(y);
    if (y != 0.0) out.gap -= y * (y > 0.0 ? row.upper : row.lower);
    for (std::size_t i = 0; i < at(n); ++i) {
      sum[i] += y * row.coefficients[i];
      size[i] += std::abs(y * row.coefficients[i]);
    }
  }
  const double gross = std::max(0.0, proof[rows]), turnover = std::max(0.0, proof[rows + 1]);
  out.rows[rows] = gross;
  out.rows[rows + 1] = turnover;
  if (gross > 0.0) out.gap -= gross * limits.gross;
  if (turnover > 0.0) out.gap -= turnover * limits.turnover;
  for (std::size_t i = 0; i < at(n); ++i) {
    const double low = limits.lower.empty() ? -kUnlimited : limits.lower[i];
    const double high = limits.upper.empty() ? kUnlimited : limits.upper[i];
    const double held = limits.holdings.empty() ? 0.0 : limits.holdings[i];
    const Tilt phi{sum[i], gross, turnover, held};
    double w = std::clamp(0.0, low, high);
    for (const double candidate : {low, high, std::clamp(held, low, high)})
      if (std::isfinite(candidate) && phi(candidate) < phi(w)) w = candidate;
    out.gap += phi(w);
    const double rounding = kNoSlope * (size[i] + gross + turnover);
    if (w == low && phi.left_slope(w) > rounding) out.lower[i] = phi.left_slope(w);
    if (w == high && -phi.right_slope(w) > rounding) out.upper[i] = -phi.right_slope(w);
  }
  return out;
}

}  // namespace sharpen::layer
