#include "select/proof_search.hpp"

#include <lapacke.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/vec.hpp"
#include "sharpen/base/random.hpp"

namespace sharpen::select {

namespace {

constexpr double kGrown = 1.0 + 1e-12;
constexpr double kMostPairs = 3e7;  // of exchanges two for two, to look for one
constexpr int kMostExchanges = 1000;
constexpr double kNear = 0.995;  // of the best value: worth exchanges two for two

}  // namespace

ProofSearch::ProofSearch(const ProofProblem& problem, bool net_positive)
    : problem_(problem), net_positive_(net_positive), kernels_(kernels()) {
  const Index n = problem.n;
  ones_ = net_positive ? ProofVector(-problem.G.col(0)) : ProofVector::Ones(n);
  for (ProofVector* x : {&rm_, &r1_, &rv_}) x->resize(n);
  taken_.resize(at(n));
  outside_.reserve(at(n));
  for (std::vector<double>* x : {&c_, &mu_, &v_, &gain_}) x->resize(at(n));
}

double ProofSearch::worth(const Scalars& of) const {
  if (!net_positive_ || of.B > 0.0) return of.C;
  return std::max(of.C - of.B * of.B / of.A, 0.0);
}

// H = Sigma_KK^-1, W = H Sigma_K,: and what is left of mu, of ones and of the variances.
bool ProofSearch::load(std::span<const Index> K) {
  const Index n = problem_.n;
  k_ = static_cast<Index>(K.size());
  const auto k = static_cast<int>(k_);
  if (H_.rows() != k_) {
    H_.resize(k_, k_);
    W_.resize(k_, n);
    alpha_.resize(k_);
    eta_.resize(k_);
  }
  std::fill(taken_.begin(), taken_.end(), 0);
  for (Index b = 0; b < k_; ++b) {
    taken_[at(K[at(b)])] = 1;
    for (Index a = 0; a < k_; ++a) H_(a, b) = problem_.Sigma(K[at(a)], K[at(b)]);
  }
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', k, H_.data(), k) != 0 ||
      LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', k, H_.data(), k) != 0)
    return false;
  for (Index b = 0; b < k_; ++b)
    for (Index a = b + 1; a < k_; ++a) H_(b, a) = H_(a, b);
  of_ = {};
  for (Index a = 0; a < k_; ++a) {
    double alpha = 0.0, eta = 0.0;
    for (Index b = 0; b < k_; ++b) {
      alpha += H_(b, a) * problem_.mu[K[at(b)]];
      eta += H_(b, a) * ones_[K[at(b)]];
    }
    alpha_[a] = alpha;
    eta_[a] = eta;
    of_.A += eta * ones_[K[at(a)]];
    of_.B += alpha * ones_[K[at(a)]];
    of_.C += alpha * problem_.mu[K[at(a)]];
  }
  for (Index j = 0; j < n; ++j) {
    const double* column = &problem_.Sigma(0, j);
    double rm = problem_.mu[j], r1 = ones_[j], rv = column[j];
    for (Index a = 0; a < k_; ++a) {
      double w = 0.0;
      for (Index b = 0; b < k_; ++b) w += H_(b, a) * column[K[at(b)]];
      W_(a, j) = w;
      rm -= column[K[at(a)]] * alpha_[a];
      r1 -= column[K[at(a)]] * eta_[a];
      rv -= column[K[at(a)]] * w;
    }
    rm_[j] = rm, r1_[j] = r1, rv_[j] = rv;
  }
  return true;
}

double ProofSearch::value(std::span<const Index> K) {
  const auto k = static_cast<int>(K.size());
  L_.resize(k, k);
  ProofMatrix sides(k, 2);
  for (Index b = 0; b < k; ++b) {
    for (Index a = b; a < k; ++a) L_(a, b) = problem_.Sigma(K[at(a)], K[at(b)]);
    sides(b, 0) = problem_.mu[K[at(b)]];
    sides(b, 1) = ones_[K[at(b)]];
  }
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', k, L_.data(), k) != 0 ||
      LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'L', 'N', 'N', k, 2, L_.data(), k, sides.data(), k) !=
          0)
    return 0.0;
  return worth(
      {sides.col(1).squaredNorm(), sides.col(0).dot(sides.col(1)), sides.col(0).squaredNorm()});
}

bool ProofSearch::best_exchange(double value, Index& out, Index& in) const {
  double best = value * kGrown + problem_.smallest;
  out = -1;
  for (Index j = 0; j < problem_.n; ++j) {
    if (taken_[at(j)]) continue;
    for (Index i = 0; i < k_; ++i) {
      const double inverse = 1.0 / H_(i, i), w = W_(i, j) * inverse;
      const double m = rm_[j] + w * alpha_[i], one = r1_[j] + w * eta_[i];
      const double v = 1.0 / (rv_[j] + w * W_(i, j));
      const Scalars then{of_.A - eta_[i] * eta_[i] * inverse + one * one * v,
                         of_.B - alpha_[i] * eta_[i] * inverse + m * one * v,
                         of_.C - alpha_[i] * alpha_[i] * inverse + m * m * v};
      if (const double worth_then = worth(then); worth_then > best) {
        best = worth_then;
        out = i;
        in = j;
      }
    }
  }
  return out >= 0;
}

double ProofSearch::exchange(std::vector<Index>& K, const Stop& stop) {
  double now = value(K);
  for (int i = 0; i < kMostExchanges; ++i) {
    ask(stop);
    Index out = -1, in = -1;
    if (!load(K) || !best_exchange(now, out, in)) return now;
    const Index before = K[at(out)];
    K[at(out)] = in;
    const double then = value(K);
    if (!(then > now * kGrown)) {
      K[at(out)] = before;
      return now;
    }
    now = then;
  }
  return now;
}

// The residual problem of the names outside K, for the signal mu + nu 1.
void ProofSearch::load_outside() {
  const Index n = problem_.n;
  outside_.clear();
  for (Index j = 0; j < n; ++j)
    if (!taken_[at(j)]) outside_.push_back(j);
  const auto m = static_cast<Index>(outside_.size());
  shift_ = net_positive_ && !(of_.B > 0.0) ? -of_.B / of_.A : 0.0;
  if (R_.rows() != m) R_.resize(m, m);
  if (W_outside_.rows() != m || W_outside_.cols() != k_) W_outside_.resize(m, k_);
  if (m_outside_.size() != m) {
    m_outside_.resize(m);
    v_outside_.resize(m);
  }
  for (Index a = 0; a < m; ++a) {
    const Index j = outside_[at(a)];
    m_outside_[a] = rm_[j] + shift_ * r1_[j];
    for (Index i = 0; i < k_; ++i) W_outside_(a, i) = W_(i, j);
  }
  for (Index a = 0; a < m; ++a) {
    for (Index b = a; b < m; ++b) R_(b, a) = problem_.Sigma(outside_[at(b)], outside_[at(a)]);
    for (Index i = 0; i < k_; ++i) {
      const double slope = problem_.Sigma(K_[at(i)], outside_[at(a)]);
      const double* w = &W_outside_(0, i);
      for (Index b = a; b < m; ++b) R_(b, a) -= slope * w[b];
    }
  }
}

// The best two names in the place of rows `first` and `second` of K: a bound on the value then.
double ProofSearch::best_pair(Index first, Index second, double to_beat, Index& a, Index& b) {
  const auto m = static_cast<Index>(outside_.size());
  const double h11 = H_(first, first), h22 = H_(second, second), h12 = H_(first, second);
  const double scale = 1.0 / (h11 * h22 - h12 * h12);
  const double i11 = h22 * scale, i22 = h11 * scale, i12 = -h12 * scale;
  const double a1 = alpha_[first] + shift_ * eta_[first],
               a2 = alpha_[second] + shift_ * eta_[second];
  const double g1 = i11 * a1 + i12 * a2, g2 = i12 * a1 + i22 * a2;
  const double C = of_.C + shift_ * (2.0 * of_.B + shift_ * of_.A);
  const double base = C - a1 * g1 - a2 * g2;
  const double *w1 = &W_outside_(0, first), *w2 = &W_outside_(0, second);
  for (Index j = 0; j < m; ++j) {
    mu_[at(j)] = m_outside_[j] + w1[j] * g1 + w2[j] * g2;
    v_[at(j)] = R_(j, j) + i11 * w1[j] * w1[j] + 2.0 * i12 * w1[j] * w2[j] + i22 * w2[j] * w2[j];
  }
  for (Index j = 0; j + 1 < m; ++j) {
    const double p1 = i11 * w1[j] + i12 * w2[j], p2 = i12 * w1[j] + i22 * w2[j];
    const double inverse = 1.0 / v_[at(j)], with = base + mu_[at(j)] * mu_[at(j)] * inverse;
    const Index count = m - j - 1;
    const double* r = &R_(0, j);
    for (Index i = j + 1; i < m; ++i) c_[at(i)] = r[i] + p1 * w1[i] + p2 * w2[i];
    const double most = kernels_.pairs(c_.data() + j + 1, mu_.data() + j + 1, v_.data() + j + 1,
                                       inverse, mu_[at(j)], count, gain_.data());
    if (!(with + most > to_beat)) continue;
    to_beat = with + most;
    a = j;
    b = j + 1 + (std::max_element(gain_.begin(), gain_.begin() + count) - gain_.begin());
  }
  return to_beat;
}

bool ProofSearch::exchange_two(std::vector<Index>& K, double now) {
  const auto m = static_cast<double>(problem_.n - static_cast<Index>(K.size()));
  const auto k = static_cast<double>(K.size());
  if (K.size() < 2 || m < 2.0 || 0.25 * k * k * m * m > kMostPairs || !load(K)) return false;
  K_ = K;
  load_outside();
  double best = now * kGrown + problem_.smallest;
  bool found = false;
  for (Index second = 1; second < k_; ++second)
    for (Index first = 0; first < second; ++first) {
      Index a = -1, b = -1;
      if (!(best_pair(first, second, best, a, b) > best)) continue;
      std::vector<Index>& then = trial_;
      then = K_;
      then[at(first)] = outside_[at(a)];
      then[at(second)] = outside_[at(b)];
      const double worth_then = value(then);
      if (!(worth_then > best)) continue;
      best = worth_then;
      K = then;
      found = true;
    }
  return found;
}

double ProofSearch::run(std::vector<Index>& K, int starts, const Stop& stop) {
  const Index n = problem_.n;
  double best = exchange(K, stop);
  const auto improve = [&](std::vector<Index>& support, double now) {
    ask(stop);
    while (exchange_two(support, now)) {
      ask(stop);
      now = exchange(support, stop);
    }
    return now;
  };
  best = improve(K, best);
  const auto k = static_cast<Index>(K.size());
  if (k == n) return best;
  Random random(1);
  std::vector<Index> disturbed;
  for (int i = 0; i < starts; ++i) {
    ask(stop);
    disturbed = K;
    // Small disturbances find what is near, larger ones what is not.
    const auto sizes = static_cast<std::uint64_t>(std::max<Index>(k / 3 - 1, 1));
    const Index changed = std::min(2 + static_cast<Index>(random.below(sizes)), std::min(k, n - k));
    for (Index c = 0; c < changed; ++c) {
      const auto in = static_cast<Index>(random.below(static_cast<std::uint64_t>(n)));
      const auto out = static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(k)));
      if (std::find(disturbed.begin(), disturbed.end(), in) == disturbed.end()) disturbed[out] = in;
    }
    double now = exchange(disturbed, stop);
    const bool back = std::abs(now - best) <= (kGrown - 1.0) * best;  // at what it came from
    if (now > kNear * best && !back) now = improve(disturbed, now);
    if (now > best * kGrown) {
      best = now;
      K = disturbed;
    }
  }
  std::sort(K.begin(), K.end());
  return best;
}

}  // namespace sharpen::select
