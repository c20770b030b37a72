// Single exchanges while S(K) grows (`swap`).
//
// With H = Sigma_KK^-1, W = H Sigma_K,:, alpha = H m_K, eta = H 1 and gamma = alpha - t eta at the
// best t of K, taking i out and j in gives
//   C(t) = S - gamma_i^2/H_ii + (rm_j - t r1_j + W_ij gamma_i/H_ii)^2 / (rv_j + W_ij^2/H_ii),
// an upper bound of the new S(K) that is screened for all pairs without a division; only pairs
// that pass are valued exactly. An exchange is applied to W in the pass that screens for the
// next one. Rank-one updates drift, so everything is rebuilt from a fresh factorisation every so
// often, and before the search may stop.
#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/vec.hpp"
#include "risk/factor.hpp"
#include "select/search.hpp"

namespace sharpen::select {

namespace {

constexpr double kGrowth = 1e-12;  // an exchange must lift S(K) by this share at least
constexpr int kRefreshEvery = 40;

}  // namespace

bool Search::exchange(const Stop& stop) {
  if (W_.rows < 2 || W_.rows >= n_) return true;
  take_factor_from_forward(stop);
  double confirmed_value = value_;
  int refresh_every = kRefreshEvery, since_refresh = 0;

  for (Index exchanges = 0, most = 1000 + 100 * k_; exchanges <= most;) {
    ask(stop);
    Candidate best;
    const bool found = find_exchange(best);
    if (!found && since_refresh == 0) return true;
    if (found) {
      prepare(best);
      ++since_refresh;
      ++exchanges;
      if (since_refresh < refresh_every) continue;
    }
    // A fresh factorisation decides whether the exchanges since the last one were worth it.
    const bool grew = refresh(stop) && value_ > confirmed_value * (1.0 + kTie);
    if (!grew) {
      return_to_confirmed();
      if (refresh_every == 1 || !refresh(stop)) return true;
      refresh_every = 1;
    }
    confirmed_value = value_;
    confirmed_.assign(K_.begin(), K_.end());
    since_refresh = 0;
  }
  K_.assign(confirmed_.begin(), confirmed_.end());
  return false;
}

// forward() leaves G = L^-1 Sigma_K,: and the residuals; L is G at the columns of K.
void Search::take_factor_from_forward(const Stop& stop) {
  const Index rows = W_.rows;
  for (Index r = 0; r < rows; ++r)
    for (Index s = 0; s <= r; ++s) U_[at(s * rows + r)] = W_(s, K_[at(r)]);
  confirmed_.assign(K_.begin(), K_.end());
  set_small_state(stop);
  backward(stop);
}

// Where k is large each block takes a while.
void Search::backward(const Stop& stop) {
  for (Index b = 0; b < blocks_; ++b) {
    ask(stop);
    kernels_.backward(W_.only(b), U_.data());
  }
}

// Everything about K from scratch. False if Sigma_KK is not positive definite by the pivot rule.
bool Search::refresh(const Stop& stop) {
  load_support(stop);
  const Index rows = W_.rows;
  // LAPACK's lower triangle by columns is our upper one by rows.
  for (Index s = 0; s < rows; ++s)
    for (Index r = s; r < rows; ++r) U_[at(s * rows + r)] = W_(s, K_[at(r)]);
  for (Index r = 0; r < rows; ++r) diagonal_[at(r)] = U_[at(r * rows + r)];
  ask(stop);
  if (!risk::cholesky_in_place(U_.data(), rows, {diagonal_.data(), at(rows)})) return false;
  set_small_state(stop);
  transpose_factor();
  for (Index b = 0; b < blocks_; ++b) {
    ask(stop);
    kernels_.forward(W_.only(b), U_.data(), z_.data(), u_.data(), residuals_.from(b * kWidth));
  }
  transpose_factor();
  backward(stop);
  return true;
}

void Search::transpose_factor() {
  const auto rows = at(W_.rows);
  for (std::size_t r = 1; r < rows; ++r)
    for (std::size_t s = 0; s < r; ++s) std::swap(U_[r * rows + s], U_[s * rows + r]);
}

// W = Sigma_K,: and the residuals of an empty support.
void Search::load_support(const Stop& stop) {
  const ConstVec D = risk_->diagonal(sample_);
  std::copy(signal_->m.begin(), signal_->m.end(), residuals_.rm);
  std::copy(D.begin(), D.end(), residuals_.rv);
  std::fill(residuals_.r1, residuals_.r1 + n_, 1.0);
  std::fill(bar_, bar_ + n_, 0.0);
  for (const Index i : K_) bar_[i] = kBarred;
  has_pending_ = false;
  if (!columns_.empty()) {
    for (Index b = 0; b < blocks_; ++b) std::copy_n(Sigma_.block(b), W_.rows * kWidth, W_.block(b));
    return;
  }
  for (Index s = 0; s < W_.rows; ++s) {
    ask(stop);
    read_column(K_[at(s)], s);
    put_column(W_, s);
  }
}

void Search::return_to_confirmed() {
  for (std::size_t s = 0; s < K_.size(); ++s) {
    if (K_[s] == confirmed_[s]) continue;
    K_[s] = confirmed_[s];
    if (!columns_.empty()) read_column(K_[s], static_cast<Index>(s));
  }
}

// From U, its upper triangle: H, z = L^-1 m_K, u = L^-1 1, alpha, eta and the scalars.
void Search::set_small_state(const Stop& stop) {
  ask(stop);
  const Index rows = W_.rows;
  const auto size = static_cast<int>(rows);
  for (Index s = 0; s < rows; ++s) {
    for (Index r = 0; r < s; ++r) U_[at(s * rows + r)] = 0.0;
    z_[at(s)] = signal_->m[at(K_[at(s)])];
    u_[at(s)] = 1.0;
  }
  std::copy(U_.begin(), U_.begin() + rows * rows, H_.begin());
  LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', size, H_.data(), size);
  for (Index s = 0; s < rows; ++s)
    for (Index r = 0; r < s; ++r) H_[at(s * rows + r)] = H_[at(r * rows + s)];
  for (std::vector<double>* x : {&z_, &u_})
    cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, size, U_.data(), size,
                x->data(), 1);
  alpha_ = z_;
  eta_ = u_;
  for (std::vector<double>* x : {&alpha_, &eta_})
    cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, size, U_.data(), size,
                x->data(), 1);
  const ConstVec u = {u_.data(), at(rows)}, z = {z_.data(), at(rows)};
  A_ = dot_in_order(u, u);
  Bm_ = dot_in_order(z, u);
  set_level();
  value_ = 0.0;
  for (std::size_t s = 0; s < at(rows); ++s) {
    const double zt = z_[s] - t_ * u_[s];
    value_ += zt * zt;
  }
  has_pending_ = false;
}

// What remains of K without each of its assets.
void Search::set_removals() {
  const double room = signal_->t_max - t_;
  for (std::size_t s = 0; s < at(W_.rows); ++s) {
    const double h = 1.0 / H_[s * at(W_.rows) + s];
    const double gamma = alpha_[s] - t_ * eta_[s];
    h_[s] = h;
    g_[s] = gamma * h;
    gm_[s] = alpha_[s] * h;
    g1_[s] = eta_[s] * h;
    kept_[s] = value_ - gamma * gamma * h;
    const double A = std::max(0.0, A_ - eta_[s] * eta_[s] * h);
    const double Bt = Bt_ - gamma * eta_[s] * h;
    SupportValue& rest = without_[s];
    rest.A = A;
    rest.B = Bt - room * A;
    rest.C = std::max(0.0, kept_[s] - 2.0 * room * Bt + room * room * A);
    rest.face = A > 0.0 ? std::max(0.0, kept_[s] - Bt * Bt / A) : 0.0;
    rest.t = A > 0.0 ? t_ + Bt / A : t_;
  }
}

// p^2 / d must exceed bound_s for the pair to be worth `value`.
void Search::set_bounds(double value) {
  for (std::size_t s = 0; s < at(W_.rows); ++s)
    bound_[s] = std::max(value - kept_[s], std::numeric_limits<double>::min());
}

bool Search::find_exchange(Candidate& best) {
  set_removals();
  const double room = signal_->t_max - t_;
  const double noise = std::pow(64.0 * static_cast<double>(n_) * kEps, 2);
  best.value = value_ * (1.0 + kGrowth) + noise * (value_ + room * room * A_);
  set_bounds(best.value);
  const Screen screen{bar_, g_.data(), h_.data(), bound_.data(), t_};
  const Exchange* pending = has_pending_ ? &pending_ : nullptr;
  for (Index b = -1;;) {
    b = kernels_.sweep(W_, residuals_, pending, screen, b + 1);
    if (b == blocks_) break;
    inspect(b, best);
    set_bounds(best.value);
  }
  finish_pending();
  return best.row >= 0;
}

// Values the pairs of one block that pass the screen.
void Search::inspect(Index block, Candidate& best) const {
  const auto [rm, r1, rv] = residuals_;
  for (Index s = 0; s < W_.rows; ++s) {
    const auto i = at(s);
    const double* w = W_.block(block) + s * kWidth;
    for (Index l = 0; l < kWidth; ++l) {
      const Index j = block * kWidth + l;
      const double p = rm[j] - t_ * r1[j] + w[l] * g_[i];
      const double v = rv[j] + w[l] * w[l] * h_[i];
      if (!(p * p > bound_[i] * (v + bar_[j]))) continue;
      if (bar_[j] != 0.0 || !(v > dependent_[at(j)])) continue;
      const double value =
          without_[i].value_with(*signal_, rm[j] + w[l] * gm_[i], r1[j] + w[l] * g1_[i], v);
      const double margin = kTie * best.value;
      const bool lower = best.row >= 0 && (j < best.j || (j == best.j && K_[i] < K_[at(best.row)]));
      if (value > best.value + margin || (lower && value >= best.value - margin))
        best = {value, s, j};
    }
  }
}

// Describes the exchange for the next sweep, which applies it to W, and moves all else to the
// new support at once.
void Search::prepare(const Candidate& chosen) {
  const Index row = chosen.row, j = chosen.j;
  const auto i = at(row), rows = at(W_.rows);
  const double Wij = W_(row, j), h = h_[i];
  read_column(j, row);
  for (std::size_t s = 0; s < rows; ++s) {
    cross_[s] = column_[K_[s]];
    drop_[s] = s == i ? 1.0 : H_[i * rows + s] * h;
    load_[s] = s == i ? -1.0 : W_(static_cast<Index>(s), j) - drop_[s] * Wij;
  }
  pending_ = {.row = row,
              .column = column_,
              .cross = cross_.data(),
              .drop = drop_.data(),
              .load = load_.data(),
              .lift = Wij * h,
              .h = h,
              .gm = gm_[i],
              .g1 = g1_[i],
              .q = residuals_.rm[j] + Wij * gm_[i],
              .o = residuals_.r1[j] + Wij * g1_[i],
              .v = residuals_.rv[j] + Wij * Wij * h};
  move_small_state(chosen.value);
  bar_[K_[i]] = 0.0;
  bar_[j] = kBarred;
  K_[i] = j;
  entering_ = j;
  has_pending_ = true;
}

// H, alpha and eta by the two rank-one updates of the pending exchange.
void Search::move_small_state(double value) {
  const Exchange& x = pending_;
  const auto i = at(x.row), rows = at(W_.rows);
  const double Hii = H_[i * rows + i], alpha_i = alpha_[i], eta_i = eta_[i];
  for (std::size_t r = 0; r < rows; ++r) {
    double* Hr = H_.data() + r * rows;
    const double dropped = drop_[r] * Hii, loaded = load_[r] / x.v;
    for (std::size_t s = 0; s < rows; ++s) Hr[s] = Hr[s] - dropped * drop_[s] + loaded * load_[s];
    alpha_[r] -= drop_[r] * alpha_i + loaded * x.q;
    eta_[r] -= drop_[r] * eta_i + loaded * x.o;
  }
  A_ = without_[i].A + x.o * x.o / x.v;
  Bm_ += x.q * x.o / x.v - alpha_i * eta_i * x.h;
  value_ = value;
  set_level();
}

// The best t of K, from A and B, and what is left of B there.
void Search::set_level() {
  const double t_face = Bm_ / A_;
  const bool on_face = !signal_->any_net && t_face <= signal_->t_max;
  t_ = on_face ? t_face : signal_->t_max;
  Bt_ = on_face ? 0.0 : Bm_ - t_ * A_;
}

// The column of the asset that entered is known exactly: a unit vector, nothing left over.
void Search::finish_pending() {
  if (!has_pending_) return;
  for (Index s = 0; s < W_.rows; ++s) W_(s, entering_) = s == pending_.row ? 1.0 : 0.0;
  residuals_.rm[entering_] = residuals_.r1[entering_] = residuals_.rv[entering_] = 0.0;
  has_pending_ = false;
}

}  // namespace sharpen::select
