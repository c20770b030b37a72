#include "sharpen/layer/covariance_gradient.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/vec.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::layer {

namespace {

// out = R^T g.
void unwhiten(Score kind, const risk::Risk& risk, Index s, ConstVec g, Vec out, Vec scratch) {
  if (kind == Score::cholesky)
    risk.lower_solve_t(s, g, out, scratch);
  else
    risk.root_solve(s, g, out, scratch);
}

bool all_zero(ConstVec x) {
  return std::ranges::all_of(x, [](double xi) { return xi == 0.0; });
}

// X (n, n) += weight x y^T.
void add_outer(double weight, ConstVec x, ConstVec y, std::vector<double>& X) {
  const auto n = static_cast<int>(x.size());
  cblas_dger(CblasRowMajor, n, n, weight, x.data(), 1, y.data(), 1, X.data(), n);
}

void transpose(Mat X) {
  for (Index i = 0; i < X.rows; ++i)
    for (Index j = 0; j < i; ++j) std::swap(X(i, j), X(j, i));
}

}  // namespace

CovarianceSums::CovarianceSums(Score score, const risk::Risk& risk)
    : score_(score), risk_(&risk), n_(risk.n()), direct_(at(n_ * n_)), scored_(at(n_ * n_)) {
  turned_.resize(at(n_ * n_));
  Index work = n_ + risk.scratch_size();
  if (score == Score::symmetric) {
    Q_.resize(at(n_ * n_));
    rho_.resize(at(n_));
    by_basis_.resize(at(2 * n_));
    work = std::max(work, 1 + 6 * n_ + 2 * n_ * n_);  // of dsyevd
    integer_work_.resize(at(3 + 5 * n_));
  }
  work_.resize(at(work));
}

void CovarianceSums::begin(Index s) {
  sample_ = s;
  any_ = any_score_ = false;
}

void CovarianceSums::add(double weight, ConstVec x, ConstVec y) {
  if (!any_) std::fill(direct_.begin(), direct_.end(), 0.0);
  any_ = true;
  add_outer(weight, x, y, direct_);
}

void CovarianceSums::add_diagonal(double weight, ConstVec x, ConstVec y) {
  if (!any_) std::fill(direct_.begin(), direct_.end(), 0.0);
  any_ = true;
  for (Index i = 0; i < n_; ++i) direct_[at(i * n_ + i)] += weight * x[at(i)] * y[at(i)];
}

// The eigenvectors of R, whose condition is the root of Sigma's: small eigenvalues of Sigma, which
// matter most, are as good as they were when R was made.
bool CovarianceSums::find_basis() {
  const Vec unit = Vec(work_).first(at(n_)), scratch = Vec(work_).subspan(at(n_));
  std::fill(unit.begin(), unit.end(), 0.0);
  for (Index j = 0; j < n_; ++j) {
    unit[at(j)] = 1.0;
    risk_->root_solve(sample_, unit, Vec(Q_).subspan(at(j * n_), at(n_)), scratch);
    unit[at(j)] = 0.0;
  }
  const auto n = static_cast<lapack_int>(n_);
  const lapack_int info =
      LAPACKE_dsyevd_work(LAPACK_COL_MAJOR, 'V', 'L', n, Q_.data(), n, rho_.data(), work_.data(),
                          static_cast<lapack_int>(work_.size()), integer_work_.data(),
                          static_cast<lapack_int>(integer_work_.size()));
  return info == 0 && rho_.front() > 0.0;  // ascending
}

void CovarianceSums::add_score(ConstVec g, ConstVec z) {
  const bool first = !any_score_;
  if (first) std::fill(scored_.begin(), scored_.end(), 0.0);
  any_score_ = true;
  if (score_ == Score::cholesky) return add_outer(1.0, g, z, scored_);
  if (first && !find_basis()) std::fill(rho_.begin(), rho_.end(), kNaN);  // no gradient is known
  const Vec in_g = Vec(by_basis_).first(at(n_)), in_z = Vec(by_basis_).subspan(at(n_));
  const auto n = static_cast<int>(n_);
  cblas_dgemv(CblasColMajor, CblasTrans, n, n, 1.0, Q_.data(), n, g.data(), 1, 0.0, in_g.data(), 1);
  cblas_dgemv(CblasColMajor, CblasTrans, n, n, 1.0, Q_.data(), n, z.data(), 1, 0.0, in_z.data(), 1);
  for (std::size_t i = 0; i < in_g.size(); ++i) in_g[i] *= rho_[i];
  add_outer(1.0, in_g, in_z, scored_);
}

// += Q M Q^T.
void CovarianceSums::turn_back_symmetric(Mat dL_dSigma) {
  const Mat M{scored_.data(), n_, n_};
  for (Index i = 0; i < n_; ++i)
    for (Index j = 0; j <= i; ++j) {
      const double rho_i = rho_[at(i)], rho_j = rho_[at(j)];
      // rho of a small market may be large: first the quotient, which is at most the smaller one.
      M(i, j) = M(j, i) = -0.5 * rho_i * (rho_j / (rho_i + rho_j)) * (M(i, j) + M(j, i));
    }
  const auto n = static_cast<int>(n_);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, Q_.data(), n, M.data, n, 0.0,
              turned_.data(), n);
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, n, n, n, 1.0, turned_.data(), n, Q_.data(),
              n, 0.0, M.data, n);
  for (Index i = 0; i < n_; ++i)
    for (Index j = 0; j < n_; ++j) dL_dSigma(i, j) += 0.5 * (M(i, j) + M(j, i));
}

// += -1/2 L^-T T L^-1.
void CovarianceSums::turn_back_cholesky(Mat dL_dSigma) {
  const Mat T{scored_.data(), n_, n_}, X{turned_.data(), n_, n_};
  for (Index i = 0; i < n_; ++i)
    for (Index j = 0; j < i; ++j) T(j, i) = T(i, j);
  for (Index i = 0; i < n_; ++i) risk_->lower_solve_t(sample_, T.row(i), X.row(i), work_);
  transpose(X);  // its rows are the columns of T L^-1
  for (Index i = 0; i < n_; ++i) risk_->lower_solve_t(sample_, X.row(i), T.row(i), work_);
  for (Index i = 0; i < n_; ++i)
    for (Index j = 0; j < n_; ++j) dL_dSigma(i, j) -= 0.25 * (T(i, j) + T(j, i));
}

void CovarianceSums::finish(Mat dL_dSigma) {
  if (any_)
    for (Index i = 0; i < n_; ++i)
      for (Index j = 0; j < n_; ++j)
        dL_dSigma(i, j) += 0.5 * (direct_[at(i * n_ + j)] + direct_[at(j * n_ + i)]);
  if (!any_score_) return;
  if (score_ == Score::cholesky)
    turn_back_cholesky(dL_dSigma);
  else
    turn_back_symmetric(dL_dSigma);
}

void score_covariance_vjp(const ScoreSettings& settings, const risk::Risk& risk,
                          const ScoreCache& cache, ConstVec z, ConstVec dL_dx, CovarianceSums& sums,
                          Vec scratch) {
  if (all_zero(dL_dx)) return;  // a mask that is hard to the last digit
  const Index s = sums.sample();
  const std::size_t n = z.size();
  const Vec g = scratch.first(n), solved = scratch.subspan(n, n), rest = scratch.subspan(2 * n);
  score_vjp(settings, risk, s, cache, z, dL_dx, solved, g, rest);
  sums.add_score(g, z);

  double by_level = 0.0;  // what B / A, or B, is worth
  if (cache.face.neutral) {
    unwhiten(settings.kind, risk, s, g, solved, rest);
    by_level = sum(ConstVec(solved)) / cache.face.A;
  } else if (settings.raw) {
    double along = 0.0;  // dL_dx^T |z| = -q^2 dL_dq
    for (std::size_t i = 0; i < n; ++i) along += dL_dx[i] * std::abs(z[i]);
    by_level = along / cache.q / cache.q;
  }
  if (by_level == 0.0) return;
  unwhiten(settings.kind, risk, s, z, solved, rest);  // a = R^T R m
  sums.add(by_level, risk.ones_solution(s), solved);
}

void portfolio_covariance_vjp(const ScoreSettings& settings, const risk::Risk& risk, ConstVec z,
                              ConstVec g, ConstVec dL_dSigma_w, CovarianceSums& sums, Vec scratch) {
  if (all_zero(g)) return;
  const Vec w = scratch.first(z.size());
  unwhiten(settings.kind, risk, sums.sample(), z, w, scratch.subspan(z.size()));
  sums.add_score(g, z);
  sums.add(1.0, dL_dSigma_w, w);
}

CovarianceGradient::CovarianceGradient(const SparseTangent& layer, Index max_batch, int max_threads)
    : layer_(&layer),
      order_(at(max_batch)),
      starts_(at(max_batch) + 1),
      dL_dmu_(at(max_threads * layer.n())) {
  sums_.reserve(static_cast<std::size_t>(max_threads));
  for (int i = 0; i < max_threads; ++i) sums_.emplace_back(layer.settings().score, layer.risk());
}

void CovarianceGradient::add(LayerCache& cache, ConstMat dL_dw, Mat dL_dSigma,
                             const Threads& threads) {
  const Index n = layer_->n(), batch = cache.batch();
  if (batch > static_cast<Index>(order_.size()) || threads.count() > static_cast<int>(sums_.size()))
    throw InputError(
        fmt::format("a batch of {} on {} threads does not fit a gradient made for {} on {}", batch,
                    threads.count(), order_.size(), sums_.size()));
  if (dL_dSigma.rows != layer_->risk().samples() * n || dL_dSigma.cols != n)
    throw InputError(fmt::format("dL_dSigma is {} x {}; it must be {} x {}", dL_dSigma.rows,
                                 dL_dSigma.cols, layer_->risk().samples() * n, n));
  layer_->check_vjp(cache, dL_dw, threads);

  const std::span<Index> order = std::span(order_).first(at(batch));
  for (Index i = 0; i < batch; ++i) order[at(i)] = i;
  std::ranges::sort(order, [&](Index i, Index j) {
    return std::pair(cache.sample(i), i) < std::pair(cache.sample(j), j);
  });
  Index groups = 0;
  for (Index i = 0; i < batch; ++i)
    if (i == 0 || cache.sample(order[at(i)]) != cache.sample(order[at(i - 1)]))
      starts_[at(groups++)] = i;
  starts_[at(groups)] = batch;

  threads.for_each(groups, [&](Index group, int slot) {
    CovarianceSums& sums = sums_[static_cast<std::size_t>(slot)];
    const Vec dL_dmu = Vec(dL_dmu_).subspan(at(slot * n), at(n));
    const Index first = starts_[at(group)], last = starts_[at(group + 1)];
    sums.begin(cache.sample(order[at(first)]));
    for (Index i = first; i < last; ++i)
      layer_->vjp_of(order[at(i)], cache, dL_dw.row(order[at(i)]), dL_dmu, slot, &sums);
    sums.finish(dL_dSigma.middle_rows(sums.sample() * n, n));
  });
}

}  // namespace sharpen::layer
