#include "select/proof_problem.hpp"

#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/vec.hpp"

namespace sharpen::select {

namespace {

// Elimination of n columns errs by less than this share of the diagonal (Higham 2002, theorem
// 10.3, with room for the substitutions that go with it); the low-rank form besides forms entries
// from windows of any length.
double rounding_margin(Index n, risk::Form form) {
  const auto size = static_cast<double>(n);
  const double entries = form == risk::Form::dense ? 0.0 : 16.0 * size + 1e4;
  return 2.0 * kEps * size * (size + 8.0 + entries);
}

int power_of(double value) { return value > 0.0 && std::isfinite(value) ? std::ilogb(value) : 0; }

bool is_zero(const ProofVector& a) { return (a.array() == 0.0).all(); }

class RowBook {
 public:
  RowBook(Index n, ProofRows& out) : n_(n), out_(out) {}

  // a^T y <= g, or = g.
  void add(ProofVector a, double g, bool equality = false) {
    for (Index i = 0; i < n_; ++i)
      if (!out_.absent.empty() && out_.absent[at(i)]) a[i] = 0.0;
    if (is_zero(a) && (equality ? g == 0.0 : g >= 0.0)) return;
    columns_.push_back(std::move(a));
    values_.push_back(g);
    out_.equality.push_back(equality);
  }

  void finish() {
    out_.G.resize(n_, static_cast<Index>(columns_.size()));
    out_.g.resize(static_cast<Index>(columns_.size()));
    for (std::size_t r = 0; r < columns_.size(); ++r) {
      out_.G.col(static_cast<Index>(r)) = columns_[r];
      out_.g[static_cast<Index>(r)] = values_[r];
    }
  }

 private:
  Index n_;
  ProofRows& out_;
  std::vector<ProofVector> columns_;
  std::vector<double> values_;
};

// lower <= a^T w <= upper in terms of y: y = t w with t = 1^T y for sharpe, y = gamma w otherwise.
void add_row(const ProofVector& a, double lower, double upper, bool homogeneous, double gamma,
             RowBook& book) {
  const auto shifted = [&](double limit) {
    return ProofVector(homogeneous ? ProofVector(a.array() - limit) : a);
  };
  const auto scaled = [&](double limit) { return homogeneous ? 0.0 : gamma * limit; };
  if (lower == upper) return book.add(shifted(upper), scaled(upper), true);
  if (std::isfinite(upper)) book.add(shifted(upper), scaled(upper));
  if (std::isfinite(lower)) book.add(-shifted(lower), -scaled(lower));
}

void add_bounds(const layer::Limits& limits, Index n, bool homogeneous, double gamma, RowBook& book,
                ProofRows& out) {
  for (Index i = 0; i < n; ++i) {
    double lower = limits.lower.empty() ? -kInfinity : limits.lower[at(i)];
    double upper = limits.upper.empty() ? kInfinity : limits.upper[at(i)];
    if (lower == 0.0 && upper > 0.0) {
      out.sign[at(i)] = 1;
      lower = -kInfinity;
    } else if (upper == 0.0 && lower < 0.0) {
      out.sign[at(i)] = -1;
      upper = kInfinity;
    }
    if ((std::isinf(lower) && std::isinf(upper)) || out.absent[at(i)]) continue;
    add_row(ProofVector::Unit(n, i), lower, upper, homogeneous, gamma, book);
  }
}

// Names without room for a weight: by their bounds, or by rows that nothing else can make up for.
void find_absent(const layer::Limits& limits, Index n, ProofRows& out) {
  const auto lower = [&](Index i) {
    return limits.lower.empty() ? -kInfinity : limits.lower[at(i)];
  };
  const auto upper = [&](Index i) {
    return limits.upper.empty() ? kInfinity : limits.upper[at(i)];
  };
  out.absent.assign(at(n), 0);
  for (Index i = 0; i < n; ++i) out.absent[at(i)] = lower(i) == 0.0 && upper(i) == 0.0;
  for (const layer::LimitRow& row : limits.rows) {
    // Terms of one sign whose sum may not have it.
    bool not_below = row.upper == 0.0, not_above = row.lower == 0.0;
    Index terms = 0;
    for (Index i = 0; i < n; ++i) {
      const double a = row.coefficients[at(i)];
      if (a == 0.0 || out.absent[at(i)]) continue;
      ++terms;
      not_below &= a > 0.0 ? lower(i) >= 0.0 : upper(i) <= 0.0;
      not_above &= a > 0.0 ? upper(i) <= 0.0 : lower(i) >= 0.0;
    }
    const bool alone = terms == 1 && row.lower == 0.0 && row.upper == 0.0;
    if (!not_below && !not_above && !alone) continue;
    for (Index i = 0; i < n; ++i) out.absent[at(i)] |= row.coefficients[at(i)] != 0.0;
  }
}

// Whether k - 1 names cannot have more than 1, the sum of all weights: the k-th cannot be short.
bool others_cannot_do_all(const layer::Limits& limits, Index n, Index k) {
  if (limits.upper.empty()) return false;
  std::vector<double> upper = limits.upper;
  const Index others = std::min(k, n) - 1;
  std::partial_sort(upper.begin(), upper.begin() + others, upper.end(), std::greater<>());
  double sum = 0.0;
  for (Index i = 0; i < others; ++i) sum += std::max(upper[at(i)], 0.0);
  return sum <= 1.0;
}

void name_dropped(const layer::Limits& limits, ProofRows& out) {
  if (limits.gross != layer::kUnlimited) out.dropped.emplace_back("gross");
  if (limits.turnover != layer::kUnlimited) out.dropped.emplace_back("turnover");
  const auto positive = [](double x) { return x > 0.0; };
  if (std::any_of(limits.costs.begin(), limits.costs.end(), positive))
    out.dropped.emplace_back("costs");
  if (std::any_of(limits.least_if_held.begin(), limits.least_if_held.end(), positive))
    out.dropped.emplace_back("if held, at least");
  for (const layer::NamesLimit& group : limits.names)
    out.dropped.push_back("names of " + group.name);
}

}  // namespace

ProofRows rows_of_net(Index n, bool net_positive) {
  ProofRows out;
  RowBook book(n, out);
  if (net_positive) book.add(ProofVector::Constant(n, -1.0), 0.0);
  book.finish();
  return out;
}

ProofRows rows_of_limits(const layer::Limits& limits, layer::Objective objective, double gamma,
                         Index n, Index k) {
  const bool homogeneous = objective == layer::Objective::sharpe;
  ProofRows out;
  out.sign.assign(at(n), 0);
  find_absent(limits, n, out);
  RowBook book(n, out);
  layer::Limits signed_limits;
  signed_limits.lower = limits.lower;
  signed_limits.upper = limits.upper;
  if (homogeneous && others_cannot_do_all(limits, n, k)) {
    signed_limits.lower.resize(at(n), -kInfinity);
    for (double& lower : signed_limits.lower) lower = std::max(lower, 0.0);
  }
  add_bounds(signed_limits, n, homogeneous, gamma, book, out);
  bool long_only = true;
  for (Index i = 0; i < n; ++i) long_only &= out.sign[at(i)] > 0 || out.absent[at(i)];
  if (homogeneous && !long_only) book.add(ProofVector::Constant(n, -1.0), 0.0);
  for (const layer::LimitRow& row : limits.rows)
    add_row(Eigen::Map<const ProofVector>(row.coefficients.data(), n), row.lower, row.upper,
            homogeneous, gamma, book);
  book.finish();
  name_dropped(limits, out);
  return out;
}

double least_eigenvalue(const ProofMatrix& Sigma) {
  const auto n = static_cast<int>(Sigma.rows());
  ProofVector values(n);
  ProofMatrix work = Sigma;
  if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'L', n, work.data(), n, values.data()) != 0) return 0.0;
  const double error = 8.0 * kEps * static_cast<double>(n) * std::max(values[n - 1], 0.0);
  return values[0] - error;
}

void read_problem(const risk::Risk& risk, Index sample, ConstVec mu, const ProofRows& rows, Index k,
                  ProofProblem& out) {
  const Index n = risk.n();
  out.n = n;
  out.k = k;
  out.Sigma.resize(n, n);
  std::vector<double> scratch(at(risk.scratch_size()));
  std::vector<Index> everything(at(n));
  std::iota(everything.begin(), everything.end(), Index{0});
  risk.submatrix(sample, everything, {out.Sigma.data(), n, n}, scratch);

  std::vector<int> exponent(at(n));  // of the standard deviations
  double largest = 0.0;
  for (Index i = 0; i < n; ++i) {
    exponent[at(i)] = power_of(std::sqrt(out.Sigma(i, i)));
    largest = std::max(largest, std::abs(std::ldexp(mu[at(i)], -exponent[at(i)])));
  }
  const int unit = power_of(largest);
  out.root_unit = std::ldexp(1.0, unit);
  out.value_unit = out.root_unit * out.root_unit;
  out.mu.resize(n);
  out.G.resize(n, rows.G.cols());
  out.g = rows.g * std::ldexp(1.0, -unit);
  out.equality = rows.equality;
  out.one_sided.assign(at(n), 0);
  out.any_one_sided = false;
  out.names.clear();
  for (Index i = 0; i < n; ++i)
    if (rows.absent.empty() || !rows.absent[at(i)]) out.names.push_back(i);
  const double theta = rounding_margin(n, risk.form());
  for (Index i = 0; i < n; ++i) {
    const int sign = rows.sign.empty() ? 0 : rows.sign[at(i)];
    const double flip = sign < 0 ? -1.0 : 1.0;
    out.one_sided[at(i)] = sign != 0;
    out.any_one_sided |= sign != 0;
    out.mu[i] = flip * std::ldexp(mu[at(i)], -exponent[at(i)] - unit);
    // y_i sigma_i is what is solved for.
    for (Index r = 0; r < rows.G.cols(); ++r)
      out.G(i, r) = flip * std::ldexp(rows.G(i, r), -exponent[at(i)]);
    for (Index j = 0; j < n; ++j)
      out.Sigma(j, i) = flip * (rows.sign.empty() || rows.sign[at(j)] >= 0 ? 1.0 : -1.0) *
                        std::ldexp(out.Sigma(j, i), -exponent[at(i)] - exponent[at(j)]);
    out.Sigma(i, i) *= 1.0 - theta;
  }
  // A row counts by its direction: units near 1 keep its multiplier near those of the others.
  for (Index r = 0; r < out.G.cols(); ++r) {
    const double size = std::ldexp(1.0, -power_of(out.G.col(r).cwiseAbs().maxCoeff()));
    out.G.col(r) *= size;
    out.g[r] *= size;
  }
  out.least_eigenvalue = least_eigenvalue(out.Sigma);
  out.smallest = 1e-14 * out.mu.cwiseAbs2().cwiseQuotient(out.Sigma.diagonal()).maxCoeff();
}

double ProofReading::offset() const {
  return objective == layer::Objective::expected_return ? gamma * gamma * sigma * sigma : 0.0;
}

double ProofReading::value_of(double V) const {
  if (objective == layer::Objective::sharpe)
    return std::sqrt(std::max(V, 0.0)) * root * (1.0 + 2.0 * kEps);
  const double value = (V * unit + offset()) / (2.0 * gamma);
  return value + 4.0 * kEps * std::abs(value);
}

double ProofReading::V_of(double value) const {
  if (objective == layer::Objective::sharpe)
    return value > 0.0 ? (value / root) * (value / root) : 0.0;
  return (2.0 * gamma * value - offset()) / unit;
}

double ProofReading::on_V(double gap, double value) const {
  if (objective == layer::Objective::sharpe) return gap * (2.0 + gap);
  const double V = V_of(value);
  return V > 0.0 ? gap * 2.0 * gamma * std::abs(value) / (V * unit) : gap;
}

}  // namespace sharpen::select
