// Forward selection: K grows by the asset that lifts S(K) most (`greedy`).
//
// G = L_K^-1 Sigma_K,: grows by one row per asset, so that rv_j = Sigma_jj - |G_:j|^2 and the
// residuals of m and of the ones vector follow in O(n); a row costs O(n |K|).
#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "select/search.hpp"

namespace sharpen::select {

namespace {

constexpr double kNoValue = -kInfinity;

}  // namespace

Search::Search(Index n, Index k, bool exchanges, bool keeps)
    : n_(n), k_(k), blocks_(block_count(n)), kernels_(kernels()) {
  const auto doubles = at(blocks_ * kWidth);
  const std::size_t lines = doubles / 8;
  const auto rows = at(k);
  K_.reserve(rows);
  matrix_.resize(lines * rows);
  vectors_.resize(lines * 6);
  W_ = {first_of(matrix_), k, 0, blocks_};
  double* next = first_of(vectors_);
  for (double** vector :
       {&residuals_.rm, &residuals_.r1, &residuals_.rv, &bar_, &column_, &values_}) {
    *vector = next;
    next += doubles;
  }
  dependent_.resize(at(n));
  z_.resize(rows);
  if (!exchanges) return;
  if (keeps) {
    columns_.resize(matrix_.size());
    Sigma_ = {first_of(columns_), k, 0, blocks_};
  }
  for (std::vector<double>* square : {&U_, &H_}) square->resize(rows * rows);
  for (std::vector<double>* vector : {&u_, &alpha_, &eta_, &g_, &gm_, &g1_, &h_, &kept_, &bound_,
                                      &cross_, &drop_, &load_, &diagonal_})
    vector->resize(rows);
  without_.resize(rows);
  confirmed_.reserve(rows);
}

void Search::forward(const Signal& signal, const risk::Risk& risk, Index sample, Vec scratch,
                     const Stop& stop) {
  signal_ = &signal;
  risk_ = &risk;
  sample_ = sample;
  scratch_ = scratch;
  start();
  while (W_.rows < k_) {
    ask(stop);
    const Index p = best_addition();
    if (p < 0) break;
    add(p);
  }
}

void Search::start() {
  const ConstVec D = risk_->diagonal(sample_);
  const Index end = blocks_ * kWidth;
  std::copy(signal_->m.begin(), signal_->m.end(), residuals_.rm);
  std::copy(D.begin(), D.end(), residuals_.rv);
  std::fill(residuals_.r1, residuals_.r1 + n_, 1.0);
  std::fill(bar_, bar_ + n_, 0.0);
  for (double* vector : {residuals_.rm, residuals_.rv, residuals_.r1, column_})
    std::fill(vector + n_, vector + end, 0.0);
  std::fill(bar_ + n_, bar_ + end, kBarred);
  const double share = static_cast<double>(n_) * kEps;
  for (std::size_t j = 0; j < D.size(); ++j) dependent_[j] = share * D[j];
  K_.clear();
  W_.rows = 0;
  support_ = {};
  Bm_ = 0.0;
}

// The asset whose addition gives the largest S, or -1 if none is independent of K. A singleton
// with mu <= 0 has S = 0; if all are like that, the largest mu / sigma starts.
Index Search::best_addition() {
  const auto [rm, r1, rv] = residuals_;
  double best = kNoValue;
  for (Index j = 0; j < n_; ++j) {
    const bool free = bar_[j] == 0.0 && rv[j] > dependent_[at(j)];
    values_[j] = free ? support_.value_with(*signal_, rm[j], r1[j], rv[j]) : kNoValue;
    best = std::max(best, values_[j]);
  }
  if (best == kNoValue) return -1;
  if (best > 0.0 || W_.rows > 0) return first_of_best(best, kTie * best);
  best = kNoValue;
  for (Index j = 0; j < n_; ++j) {
    if (values_[j] == kNoValue) continue;
    values_[j] = (rm[j] - signal_->t_max) / std::sqrt(rv[j]);
    best = std::max(best, values_[j]);
  }
  return first_of_best(best, kTie * std::abs(best));
}

Index Search::first_of_best(double best, double margin) const {
  for (Index j = 0; j < n_; ++j)
    if (values_[j] >= best - margin) return j;
  return -1;
}

// column_ = Sigma e_j, kept as row `row` of Sigma_K,: where that is.
void Search::read_column(Index j, Index row) {
  risk_->column(sample_, j, {column_, at(n_)}, scratch_);
  if (!columns_.empty()) put_column(Sigma_, row);
}

void Search::put_column(const Blocked& G, Index row) const {
  for (Index b = 0; b < blocks_; ++b)
    std::copy(column_ + b * kWidth, column_ + (b + 1) * kWidth, G.block(b) + row * kWidth);
}

void Search::add(Index p) {
  const auto [rm, r1, rv] = residuals_;
  const double x = rm[p], o = r1[p], v = rv[p];
  for (Index s = 0; s < W_.rows; ++s) z_[at(s)] = W_(s, p);
  const Index row = W_.rows;
  read_column(p, row);
  kernels_.project(W_, z_.data(), column_);

  ++W_.rows;
  const double pivot = std::sqrt(v);
  const double xz = x / pivot, oz = o / pivot;
  for (Index j = 0; j < n_; ++j) {
    const double l = column_[j] / pivot;
    W_(row, j) = l;
    rm[j] -= l * xz;
    r1[j] -= l * oz;
    rv[j] -= l * l;
  }
  for (Index j = n_; j < blocks_ * kWidth; ++j) W_(row, j) = column_[j] = 0.0;
  bar_[p] = kBarred;
  K_.push_back(p);

  const double q = x - signal_->t_max * o, qf = x - support_.t * o;
  support_.face += qf * qf * support_.A / (support_.A * v + o * o);
  support_.A += o * o / v;
  support_.B += q * o / v;
  support_.C += q * q / v;
  Bm_ += x * o / v;
  support_.t = support_.A > 0.0 ? Bm_ / support_.A : 0.0;
}

}  // namespace sharpen::select
