// Set-up of the low-rank form: Gram matrices from one band, their inverses or eigenvectors,
// and the semiseparable triangular factor.
#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>

#include "risk/factor.hpp"
#include "risk/kernels.hpp"
#include "risk/low_rank.hpp"
#include "sharpen/base/threads.hpp"

namespace sharpen::risk {

// band(t, d) = R_t . R_(t-d) for every pair of rows that shares a window. Each entry is summed
// in an order of its own, so a window's Gram matrix has the same bits in every batch.
struct LowRankRisk::Gram {
  Gram(ConstMat returns, Index T, std::span<const Index> ends, const Kernels& kernels,
       const Threads& threads, Conductor& conductor)
      : lookback(T), first(returns.rows), band() {
    std::vector<Index> sorted(ends.begin(), ends.end());
    std::sort(sorted.begin(), sorted.end());
    if (sorted.empty()) return;
    first = sorted.front() - T;
    const Index rows = sorted.back() - first;
    band.resize(static_cast<std::size_t>(rows * T));
    threads.for_each(rows, [&](Index i, int) {
      conductor.ask();
      const Index t = first + i;
      // The earliest window that contains row t reaches furthest back.
      const auto end = std::upper_bound(sorted.begin(), sorted.end(), t);
      const Index from = *end - T;
      if (from > t) return;  // between windows
      const double* r = returns.data + from * returns.stride;
      double* out = band.data() + i * T + (T - 1 - (t - from));
      kernels.rows_dot(r, t - from + 1, returns.cols, returns.stride, returns.row(t).data(), out);
    });
  }

  // R_a . R_b, a >= b.
  double at(Index a, Index b) const {
    return band[static_cast<std::size_t>((a - first) * lookback + (lookback - 1 - (a - b)))];
  }

  Index lookback, first;
  std::vector<double> band;
};

struct LowRankRisk::Work {
  explicit Work(Index n, Index T, Index scratch_size)
      : K(static_cast<std::size_t>(T * T)),
        M(static_cast<std::size_t>(T * T)),
        means(static_cast<std::size_t>(T)),
        U(static_cast<std::size_t>(std::max(T, kBlock) * T)),
        L(static_cast<std::size_t>(std::max(T, kBlock) * std::max(T, kBlock))),
        one(static_cast<std::size_t>(n), 1.0),
        scratch(static_cast<std::size_t>(scratch_size)) {}
  std::vector<double> K;      // (T, T): U^T U, then its eigenvectors
  std::vector<double> M;      // (T, T): delta I + U^T U to invert, then P of the triangular factor
  std::vector<double> means;  // (T): row means of the Gram matrix, then eigenvalues
  std::vector<double> U;      // (count, T): the rows of a block
  std::vector<double> L;      // (count, count): its diagonal block
  std::vector<double> one;    // (n)
  std::vector<double> scratch;
};

LowRankRisk::LowRankRisk(ConstMat returns, Index lookback, std::span<const Index> ends,
                         double shrinkage, Parts parts, const Threads& threads,
                         Conductor& conductor)
    : returns_(returns),
      T_(lookback),
      Tp_(padded(lookback)),
      shrinkage_(shrinkage),
      c_(std::sqrt((1.0 - shrinkage) / static_cast<double>(lookback - 1))),
      parts_(parts),
      inverse_size_(parts.root ? lookback * (lookback + 2) : packed_size(lookback)),
      lower_size_(parts.lower ? head() * Tp_ + (blocks() - 1) * packed_size(kBlock) +
                                    packed_size(returns.cols - head())
                              : 0),
      per_sample_(3 * returns.cols + inverse_size_ + lower_size_),
      kernels_(kernels()),
      store_(static_cast<std::size_t>(per_sample_) * ends.size()),
      facts_(ends.size()) {
  for (std::size_t s = 0; s < ends.size(); ++s) facts_[s].end = ends[s];
  const Gram gram(returns_, T_, ends, kernels_, threads, conductor);
  std::vector<Work> work;
  work.reserve(static_cast<std::size_t>(threads.count()));
  for (int i = 0; i < threads.count(); ++i) work.emplace_back(n(), T_, scratch_size());
  threads.for_each(samples(), [&](Index s, int slot) {
    conductor.ask();
    set(s, gram, work[static_cast<std::size_t>(slot)]);
    conductor.done();
  });
}

void LowRankRisk::set(Index s, const Gram& gram, Work& work) {
  Fact& fact = facts_[static_cast<std::size_t>(s)];
  double* mu = writable(mean(s));
  double* b = mu + n();
  double* D = b + n();
  const ConstMat window_rows = returns_.middle_rows(fact.end - T_, T_);
  const std::optional<double> trace = window_moments(window_rows, {mu, size()}, {D, size()});
  if (!trace) return;
  fact.delta = shrinkage_ * *trace / static_cast<double>(n());
  for (Index j = 0; j < n(); ++j) D[j] = (1.0 - shrinkage_) * D[j] + fact.delta;

  // K = U^T U: the window's Gram matrix, centred in both directions.
  double* K = work.K.data();
  double* means = work.means.data();
  const Index start = fact.end - T_;
  double grand = 0.0;
  for (Index a = 0; a < T_; ++a) {
    double sum = 0.0;
    for (Index b2 = 0; b2 < T_; ++b2)
      sum += gram.at(start + std::max(a, b2), start + std::min(a, b2));
    means[a] = sum / static_cast<double>(T_);
    grand += means[a];
  }
  grand /= static_cast<double>(T_);
  const double c2 = c_ * c_;
  for (Index a = 0; a < T_; ++a)
    for (Index b2 = 0; b2 <= a; ++b2)
      K[a * T_ + b2] = K[b2 * T_ + a] =
          c2 * (gram.at(start + a, start + b2) - means[a] - means[b2] + grand);

  if (!invert_gram(s, work)) return;
  if (parts_.lower && !set_lower(s, work)) return;
  fact.A = solve(s, work.one, {b, size()}, work.scratch);
  if (std::isfinite(fact.A) && fact.A > 0.0) fact.status = Status::ok;
}

// M^-1, packed or by its spectrum.
bool LowRankRisk::invert_gram(Index s, Work& work) {
  const double delta = fact(s).delta;
  const auto T = static_cast<lapack_int>(T_);
  if (parts_.root) {
    double* s2 = work.means.data();
    if (LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'L', T, work.K.data(), T, s2) != 0) return false;
    std::copy(work.K.begin(), work.K.end(), writable(eigenvectors(s)));
    double* f = writable(root_factors(s));
    const double root_delta = std::sqrt(delta);
    for (Index t = 0; t < T_; ++t) {
      const double total = std::max(0.0, s2[t]) + delta, root = std::sqrt(total);
      f[t] = 1.0 / (root_delta * root * (root_delta + root));
      f[T_ + t] = 1.0 / total;
    }
    return true;
  }
  double* M = work.M.data();
  std::copy(work.K.begin(), work.K.end(), work.M.begin());
  for (Index t = 0; t < T_; ++t) M[t * T_ + t] += delta;
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', T, M, T) != 0) return false;
  if (LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', T, M, T) != 0) return false;
  double* packed = writable(inverse(s));
  for (Index i = 0; i < T_; ++i) {
    double* row = packed + packed_row(i);
    for (Index j = 0; j <= i; ++j) row[j] = M[j * T_ + i];
    row[i] *= 0.5;
  }
  return true;
}

// The recursion over blocks. Row-major lower triangles are LAPACK's column-major upper ones.
bool LowRankRisk::set_lower(Index s, Work& work) {
  double* P = work.M.data();
  double* U = work.U.data();
  double* L = work.L.data();
  std::fill(work.M.begin(), work.M.end(), 0.0);
  for (Index t = 0; t < T_; ++t) P[t * T_ + t] = 1.0;
  const auto T = static_cast<int>(T_), Tp = static_cast<int>(Tp_);
  for (Index i = 0; i < blocks(); ++i) {
    const Block J = block(s, i);
    const auto count = static_cast<int>(J.count);
    for (Index j = 0; j < J.count; ++j) gather(s, J.first + j, U + j * T_);
    // U_J P, which becomes W_J where it stands; of the last block it is used up here.
    double* W_J = J.last ? work.K.data() : writable(W(s)) + J.first * Tp_;
    const int stride = J.last ? T : Tp;
    cblas_dsymm(CblasRowMajor, CblasRight, CblasLower, count, T, 1.0, P, T, U, T, 0.0, W_J, stride);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, count, count, T, 1.0, U, T, W_J, stride,
                0.0, L, count);
    for (Index j = 0; j < J.count; ++j) L[j * J.count + j] += fact(s).delta;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', count, L, count) != 0) return false;
    if (!J.last) {
      cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, count, T, 1.0,
                  L, count, W_J, stride);
      cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, T, count, -1.0, W_J, stride, 1.0, P, T);
    }
    if (LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'U', 'N', count, L, count) != 0) return false;
    for (Index j = 0; j < J.count; ++j)
      std::copy_n(L + j * J.count, j + 1, writable(J.inverse) + packed_row(j));
  }
  return true;
}

}  // namespace sharpen::risk
