#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/vec.hpp"
#include "baseline/columns.hpp"
#include "baseline/screen.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/baseline/mssrm.hpp"
#include "sharpen/layer/tangent.hpp"

namespace sharpen::baseline {

namespace {

constexpr double kShorten = 0.999;  // the published step, as a share of 1 / lambda_max(Q)

}  // namespace

void MssrmLongSettings::validate() const {
  if (k < 1) throw InputError(fmt::format("k = {} is outside [1, inf)", k));
  if (!(epsilon > 0.0 && std::isfinite(epsilon)))
    throw InputError(fmt::format("epsilon = {} is outside (0, inf)", epsilon));
  if (!(tolerance > 0.0 && tolerance < 1.0))
    throw InputError(fmt::format("tolerance = {} is outside (0, 1)", tolerance));
  if (max_iterations < 1)
    throw InputError(fmt::format("max_iterations = {} is outside [1, inf)", max_iterations));
}

struct MssrmLong::Work {
  Work(const MssrmLongSettings& s, Index size)
      : settings(s), n(size), k(std::min(s.k, size)), columns(size) {
    for (std::vector<double>* x : {&m, &v, &next, &order, &mean, &diagonal}) x->resize(at(n));
    support.reserve(at(n));
    active.reserve(at(n));
    coefficients.reserve(at(n));
  }

  void set_matrix(ConstMat given);
  void set_window(ConstMat window);
  bool begin(ConstVec signal, MssrmLongResult& out);
  double largest_eigenvalue();
  void solve(MssrmLongResult& out, const Stop& stop);
  enum class End { converged, out_of_steps, out_of_range };
  End iterate(double alpha, Index& iterations, const Stop& stop);
  void first_step(double alpha);
  void step(double alpha);
  bool project();
  double kth_largest();
  bool step_on_candidates(double alpha);
  bool step_on_all(double alpha, Index iteration);
  // All, or those that are not known to be zero, in ascending order.
  template <class Body>
  void for_entries(const Body& body) const {
    if (screen.ready())
      for (const Index i : screen.candidates()) body(static_cast<std::size_t>(i));
    else
      for (std::size_t i = 0; i < v.size(); ++i) body(i);
  }
  void take_support();
  const double* column(Index j);
  void gradient(Vec g);
  bool certify();
  void give(bool converged, MssrmLongResult& out);
  bool screened() const { return T > 0 && n >= Screen::kFrom; }

  const Threads one_thread{1};  // BLAS calls stay on one thread
  const MssrmLongSettings settings;
  const Index n, k;
  ConstMat Sigma;         // given, or
  std::vector<double> X;  // (T, n) centred window divided by sqrt(T - 1): Sigma = X^T X
  Index T = 0;
  Columns columns;  // of Q
  double scale = 1.0;
  std::vector<double> m, v, next, order, mean, diagonal;  // (n)
  std::vector<Index> support;                             // v > 0, ascending
  std::vector<const double*> active;                      // columns of Q on the support
  std::vector<double> coefficients;                       // (|support|)
  std::vector<double> gram, eigenvalues, workspace, rows;
  Screen screen;  // for windows of many assets
};

void MssrmLong::Work::set_matrix(ConstMat given) {
  Sigma = given;
  T = 0;
  for (Index j = 0; j < n; ++j) diagonal[at(j)] = given(j, j);
}

void MssrmLong::Work::set_window(ConstMat window) {
  Sigma = {};
  T = window.rows;
  X.resize(at(T * n));
  std::fill(mean.begin(), mean.end(), 0.0);
  for (Index t = 0; t < T; ++t)
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += window.row(t)[j];
  for (double& x : mean) x /= static_cast<double>(T);
  const double divisor = std::sqrt(static_cast<double>(T - 1));
  std::fill(diagonal.begin(), diagonal.end(), 0.0);
  for (Index t = 0; t < T; ++t) {
    double* x = X.data() + t * n;
    for (std::size_t j = 0; j < mean.size(); ++j) {
      x[j] = (window.row(t)[j] - mean[j]) / divisor;
      diagonal[j] += x[j] * x[j];
    }
  }
}

// A portfolio of nothing. False if there is nothing to iterate on.
bool MssrmLong::Work::begin(ConstVec signal, MssrmLongResult& out) {
  out.iterations = 0;
  out.certified = false;
  out.portfolio.outcome = {};
  out.portfolio.support.clear();
  scale = layer::signal_scale(signal);
  // A covariance whose diagonal is finite is finite: |Sigma_ij|^2 <= Sigma_ii Sigma_jj.
  bool valid = std::isfinite(scale) && all_finite(diagonal);
  for (Index i = 0; i < n && valid && T == 0; ++i) valid = all_finite(Sigma.row(i));
  const double nothing = valid ? 0.0 : kNaN;
  out.portfolio.weights.assign(at(n), nothing);
  out.v.assign(at(n), nothing);
  out.portfolio.value.reset();
  out.portfolio.sharpe = nothing;
  if (!valid) return false;
  out.portfolio.outcome.status = Status::no_signal;
  // Where no entry is positive v = 0 is optimal, for any k.
  const bool cash = scale == 0.0 || std::ranges::none_of(signal, [](double x) { return x > 0.0; });
  out.certified = cash;
  if (cash) return false;
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = scale * signal[i];
  columns.clear();
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = diagonal[i] + settings.epsilon;
  screen.forget();
  if (screened()) screen.begin(order);
  return true;
}

// Of Sigma; from X X^T where that is smaller.
double MssrmLong::Work::largest_eigenvalue() {
  const bool by_rows = T > 0 && T < n;
  const Index size = by_rows ? T : n;
  const auto order_of = static_cast<int>(size), cols = static_cast<int>(n);
  gram.resize(at(size * size));
  eigenvalues.resize(at(size));
  workspace.resize(at(2 * size + 1));
  if (T == 0) {
    for (Index i = 0; i < n; ++i)
      std::copy(Sigma.row(i).begin(), Sigma.row(i).end(), gram.begin() + i * n);
  } else {
    // X is (T, n) by rows, so (n, T) by columns.
    cblas_dsyrk(CblasColMajor, CblasLower, by_rows ? CblasTrans : CblasNoTrans, order_of,
                by_rows ? cols : static_cast<int>(T), 1.0, X.data(), cols, 0.0, gram.data(),
                order_of);
  }
  lapack_int integers = 0;
  const auto failed = LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'N', 'L', order_of, gram.data(),
                                          order_of, eigenvalues.data(), workspace.data(),
                                          static_cast<lapack_int>(workspace.size()), &integers, 1);
  return failed == 0 ? eigenvalues.back() : kNaN;
}

const double* MssrmLong::Work::column(Index j) {
  return columns.get(j, [this](Index i, Vec out) {
    if (T == 0) {
      std::copy(Sigma.row(i).begin(), Sigma.row(i).end(), out.begin());
    } else {
      const auto size = static_cast<int>(n);
      cblas_dgemv(CblasColMajor, CblasNoTrans, size, static_cast<int>(T), 1.0, X.data(), size,
                  X.data() + i, size, 0.0, out.data(), 1);
    }
    out[at(i)] += settings.epsilon;
  });
}

// next = v - alpha (Q v - m) for the dense start v = m.
void MssrmLong::Work::first_step(double alpha) {
  const auto size = static_cast<int>(n);
  for (std::size_t i = 0; i < v.size(); ++i)
    next[i] = v[i] + alpha * (m[i] - settings.epsilon * v[i]);
  if (T == 0) {
    cblas_dgemv(CblasRowMajor, CblasNoTrans, size, size, -alpha, Sigma.data,
                static_cast<int>(Sigma.stride), v.data(), 1, 1.0, next.data(), 1);
    return;
  }
  rows.resize(at(T));
  cblas_dgemv(CblasColMajor, CblasTrans, size, static_cast<int>(T), 1.0, X.data(), size, v.data(),
              1, 0.0, rows.data(), 1);
  cblas_dgemv(CblasColMajor, CblasNoTrans, size, static_cast<int>(T), -alpha, X.data(), size,
              rows.data(), 1, 1.0, next.data(), 1);
}

void MssrmLong::Work::step(double alpha) {
  for (std::size_t s = 0; s < support.size(); ++s) coefficients[s] = -alpha * v[at(support[s])];
  for (std::size_t i = 0; i < v.size(); ++i) next[i] = v[i] + alpha * m[i];
  add_columns(active, coefficients, next);
}

// Zeroes the negative entries of `next` and keeps the k largest; ties go to the lower column. False
// if an entry was not finite: a zero would hide it.
bool MssrmLong::Work::project() {
  Index positive = 0;
  bool in_range = true;
  for (double& x : next) {
    in_range &= std::isfinite(x);
    x = x > 0.0 ? x : 0.0;
    positive += x > 0.0;
  }
  if (positive <= k) return in_range;
  const double last = kth_largest();
  Index ties = k;
  for (const double x : next) ties -= x > last;
  for (double& x : next) {
    if (x > last || (x == last && ties-- > 0)) continue;
    x = 0.0;
  }
  return in_range;
}

// Of `next`. The largest so far are a heap whose least is on top: where k is small beside n, nearly
// all entries are passed over by one comparison.
double MssrmLong::Work::kth_largest() {
  if (k > n / 16) {
    std::copy(next.begin(), next.end(), order.begin());
    std::nth_element(order.begin(), order.begin() + (k - 1), order.end(), std::greater<>());
    return order[at(k - 1)];
  }
  const auto first = order.begin(), end = first + k;
  std::copy(next.begin(), next.begin() + k, first);
  std::make_heap(first, end, std::greater<>());
  for (auto x = next.begin() + k; x != next.end(); ++x) {
    if (!(*x > *first)) continue;
    std::pop_heap(first, end, std::greater<>());
    *(end - 1) = *x;
    std::push_heap(first, end, std::greater<>());
  }
  return *first;
}

void MssrmLong::Work::take_support() {
  support.clear();
  active.clear();
  for_entries([&](std::size_t i) {
    if (v[i] == 0.0) return;
    support.push_back(static_cast<Index>(i));
    active.push_back(column(support.back()));
  });
  coefficients.resize(support.size());
}

// step() and project(), to the bit. False if entries outside might matter, or leave their range.
bool MssrmLong::Work::step_on_candidates(double alpha) {
  for (std::size_t s = 0; s < support.size(); ++s)
    coefficients[s] = -alpha * v[static_cast<std::size_t>(support[s])];
  std::size_t positive = 0;
  bool in_range = true;
  for_entries([&](std::size_t i) {
    next[i] = with_columns(active, coefficients, i, v[i] + alpha * m[i]);
    in_range &= std::isfinite(next[i]);
    next[i] = next[i] > 0.0 ? next[i] : 0.0;
    if (next[i] > 0.0) order[positive++] = next[i];
  });
  const auto most = static_cast<std::size_t>(k);
  double last = 0.0;  // nothing else may be positive where fewer than k are
  if (positive >= most) {
    std::nth_element(order.begin(), order.begin() + (k - 1),
                     order.begin() + static_cast<std::ptrdiff_t>(positive), std::greater<>());
    last = order[most - 1];
    Index ties = k;
    for_entries([&](std::size_t i) { ties -= next[i] > last; });
    for_entries([&](std::size_t i) {
      if (!(next[i] > last || (next[i] == last && ties-- > 0))) next[i] = 0.0;
    });
  }
  return in_range && last > screen.outside();
}

// False if an entry was not finite.
bool MssrmLong::Work::step_on_all(double alpha, Index iteration) {
  screen.forget();
  if (iteration == 1)
    first_step(alpha);
  else
    step(alpha);
  const bool look = screened() && iteration > 1 && screen.is_time();
  if (look) screen.note(v, next);
  const bool in_range = project();
  if (look && in_range) screen.look_ahead(alpha, m, next, k);
  return in_range;
}

// What leaves the range of numbers never reads as converged.
MssrmLong::Work::End MssrmLong::Work::iterate(double alpha, Index& iterations, const Stop& stop) {
  v = m;
  for (iterations = 1; iterations <= settings.max_iterations; ++iterations) {
    ask(stop);
    const bool few = screen.ready() && screen.holds_at(alpha, v) && step_on_candidates(alpha);
    if (!few && !step_on_all(alpha, iterations)) return End::out_of_range;
    double moved = 0.0, length = 0.0;
    for_entries([&](std::size_t i) {
      moved += (next[i] - v[i]) * (next[i] - v[i]);
      length += v[i] * v[i];
    });
    if (!std::isfinite(moved)) return End::out_of_range;
    const bool settled = std::sqrt(moved) <= settings.tolerance * std::sqrt(length);
    std::swap(v, next);
    take_support();
    if (settled) return End::converged;
  }
  iterations = settings.max_iterations;
  return End::out_of_steps;
}

// g = Q v - m.
void MssrmLong::Work::gradient(Vec g) {
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = -m[i];
  for (std::size_t s = 0; s < support.size(); ++s) coefficients[s] = v[at(support[s])];
  add_columns(active, coefficients, g);
}

bool MssrmLong::Work::certify() {
  if (static_cast<Index>(support.size()) < k) return true;
  double smallest = kInfinity;
  for (const Index j : support) smallest = std::min(smallest, v[at(j)]);
  gradient(next);
  for (std::size_t i = 0; i < v.size(); ++i)
    if (v[i] == 0.0 && !(next[i] >= -settings.epsilon * smallest)) return false;
  return true;
}

// Weights and what they amount to.
void MssrmLong::Work::give(bool converged, MssrmLongResult& out) {
  double total = 0.0, expected = 0.0, variance = 0.0;
  for (const double x : v) total += x;
  out.portfolio.outcome.status = converged ? Status::ok : Status::not_converged;
  out.portfolio.support.assign(support.begin(), support.end());
  for (std::size_t i = 0; i < v.size(); ++i) {
    out.v[i] = v[i] / scale;
    out.portfolio.weights[i] = v[i] / total;
    expected += m[i] * out.portfolio.weights[i];
  }
  std::fill(next.begin(), next.end(), 0.0);
  for (std::size_t s = 0; s < support.size(); ++s)
    coefficients[s] = out.portfolio.weights[at(support[s])];
  add_columns(active, coefficients, next);
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double w = out.portfolio.weights[i];
    variance += w * (next[i] - settings.epsilon * w);
  }
  out.portfolio.sharpe = variance > 0.0 ? expected / std::sqrt(variance) / scale : kNaN;
}

void MssrmLong::Work::solve(MssrmLongResult& out, const Stop& stop) {
  const double lambda = largest_eigenvalue() + settings.epsilon;
  // Nothing that is positive semidefinite has lambda <= 0; NaN: LAPACK gave up.
  const End end = lambda > 0.0 && std::isfinite(lambda)
                      ? iterate(kShorten / lambda, out.iterations, stop)
                      : End::out_of_range;
  if (end == End::out_of_range) {
    out.portfolio.outcome.status = Status::invalid_input;
    for (std::vector<double>* x : {&out.portfolio.weights, &out.v})
      std::fill(x->begin(), x->end(), kNaN);
    out.portfolio.sharpe = kNaN;
    return;
  }
  const bool converged = end == End::converged;
  if (support.empty()) {
    out.portfolio.outcome.status = converged ? Status::no_signal : Status::not_converged;
    return;
  }
  out.certified = converged && certify();
  give(converged, out);
}

MssrmLong::MssrmLong(const MssrmLongSettings& settings, Index n) {
  settings.validate();
  if (n < 1) throw InputError(fmt::format("n = {} is outside [1, inf)", n));
  work_ = std::make_unique<Work>(settings, n);
}

MssrmLong::~MssrmLong() = default;
MssrmLong::MssrmLong(MssrmLong&&) noexcept = default;

void MssrmLong::run(ConstMat Sigma, ConstVec m, MssrmLongResult& out, const Stop& stop) {
  Work& work = *work_;
  if (Sigma.rows != work.n || Sigma.cols != work.n || static_cast<Index>(m.size()) != work.n)
    throw InputError(fmt::format(
        "Sigma is ({}, {}) and m has {} entries, but mssrm-long was set up for {} assets",
        Sigma.rows, Sigma.cols, m.size(), work.n));
  work.set_matrix(Sigma);
  if (work.begin(m, out)) work.solve(out, stop);
}

void MssrmLong::run_on_window(ConstMat window, ConstVec m, MssrmLongResult& out, const Stop& stop) {
  Work& work = *work_;
  if (window.cols != work.n || static_cast<Index>(m.size()) != work.n)
    throw InputError(fmt::format(
        "the window has {} columns and m {} entries, but mssrm-long was set up for {} assets",
        window.cols, m.size(), work.n));
  if (window.rows < 2)
    throw InputError(
        fmt::format("the window has {} rows, but a covariance needs 2 at least", window.rows));
  work.set_window(window);
  if (work.begin(m, out)) work.solve(out, stop);
}

}  // namespace sharpen::baseline
