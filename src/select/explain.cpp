#include "sharpen/select/explain.hpp"

#include <cblas.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/vec.hpp"
#include "risk/factor.hpp"
#include "select/ties.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/layer/tangent.hpp"

namespace sharpen::select {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index kBlock = 64;  // columns that one solve takes

// B = L^-1 B for the lower triangle of the last rows and columns of L, as many as B has rows.
void solve_lower(const MatrixXd& L, Eigen::Ref<MatrixXd> B) {
  const Index skipped = L.rows() - B.rows();
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit,
              static_cast<int>(B.rows()), static_cast<int>(B.cols()), 1.0,
              &L.coeffRef(skipped, skipped), static_cast<int>(L.rows()), B.data(),
              static_cast<int>(B.outerStride()));
}

// Everything follows from one factor of the support, Sigma_KK = L L^T, with z = L^-1 mu_K and
// o = L^-1 1: C = |z|^2, B = z^T o and A = |o|^2.
class Explainer {
 public:
  Explainer(const SelectSettings& settings, const risk::Risk& risk, Index sample, ConstVec mu,
            const Portfolio& portfolio, const Stop& stop)
      : settings_(settings),
        risk_(risk),
        sample_(sample),
        mu_(mu),
        portfolio_(portfolio),
        stop_(stop),
        k_(static_cast<Index>(portfolio.support.size())),
        scratch_(at(risk.scratch_size())) {
    for (const double m : mu) largest_ = std::max(largest_, std::abs(m));
  }

  Explanation run() {
    factor_support();
    Explanation result;
    if (k_ > 0) result.reasons = reasons();
    if (k_ < risk_.n()) result.best_left_out = best_left_out();
    return result;
  }

 private:
  void factor_support() {
    if (k_ == 0) return;
    ask(stop_);
    MatrixXd Sigma(k_, k_);
    risk_.submatrix(sample_, portfolio_.support, {Sigma.data(), k_, k_}, scratch_);
    ask(stop_);
    L_.resize(k_, k_);
    factored_ =
        risk::cholesky_with_jitter({Sigma.data(), k_, k_}, L_.data(), false, stop_).has_value();
    z_ = scaled_mu()(portfolio_.support);
    o_ = VectorXd::Ones(k_);
    if (!factored_) return;
    solve_lower(L_, z_);
    solve_lower(L_, o_);
  }

  // mu scaled to max |mu| = 1, so that no square under- or overflows.
  VectorXd scaled_mu() const {
    const VectorXd mu = Eigen::Map<const VectorXd>(mu_.data(), risk_.n());
    return largest_ > 0.0 ? VectorXd(mu / largest_) : mu;
  }

  std::vector<double> scores() {
    VectorXd m = scaled_mu();
    const ConstVec b = risk_.ones_solution(sample_);
    const double B = m.dot(Eigen::Map<const VectorXd>(b.data(), risk_.n()));
    if (settings_.net == layer::Net::positive && B <= 0.0)
      m.array() -= B / risk_.ones_norm2(sample_);
    std::vector<double> z(at(risk_.n()));
    const ConstVec input(m.data(), at(risk_.n()));
    if (settings_.optimizer == Optimizer::oscar) {
      risk_.lower_solve(sample_, input, z, scratch_);
    } else {
      risk_.root_solve(sample_, input, z, scratch_);
    }
    const double norm = Eigen::Map<const VectorXd>(z.data(), risk_.n()).stableNorm();
    for (double& s : z) s = norm > 0.0 ? std::abs(s) / norm : 0.0;
    return z;
  }

  std::vector<Index> ranks(const std::vector<double>& scores) const {
    std::vector<Index> order(scores.size()), rank(scores.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return scores[at(a)] > scores[at(b)]; });
    // Scores that the selection calls tied rank by column, as it takes them.
    const double margin = order.empty() ? 0.0 : kTiedScores * scores[at(order.front())];
    for (auto first = order.begin(); first != order.end();) {
      const auto last = std::find_if(
          first, order.end(), [&](Index j) { return scores[at(j)] < scores[at(*first)] - margin; });
      std::sort(first, last);
      first = last;
    }
    for (std::size_t i = 0; i < order.size(); ++i) rank[at(order[i])] = static_cast<Index>(i) + 1;
    return rank;
  }

  std::vector<Reason> reasons() {
    const std::vector<double> score = scores();
    const std::vector<Index> rank = ranks(score);
    const std::vector<double>& w = portfolio_.weights;
    std::vector<double> Sigma_w(w.size());
    risk_.apply(sample_, w, Sigma_w, scratch_);
    double variance = 0.0;
    for (const Index i : portfolio_.support) variance += w[at(i)] * Sigma_w[at(i)];

    const std::vector<double> without = sharpe_without();
    std::vector<Reason> result;
    for (Index s = 0; s < k_; ++s) {
      const Index i = portfolio_.support[at(s)];
      result.push_back({.asset = i,
                        .mu = mu_[at(i)],
                        .score = score[at(i)],
                        .score_rank = rank[at(i)],
                        .risk_contribution = w[at(i)] * Sigma_w[at(i)] / variance,
                        .sharpe_lost_if_removed = portfolio_.sharpe - without[at(s)]});
    }
    return result;
  }

  // Of the best portfolio on the other names, for each name of the support. With u the column of
  // L^-1 that belongs to it, Sigma_KK^-1 without its row and column is L^-T (I - u u^T / |u|^2)
  // L^-1: z and o lose their parts along u, and C - alpha_i^2 / H_ii is a sum of squares.
  std::vector<double> sharpe_without() {
    std::vector<double> out(at(k_), kNaN);
    if (!factored_) return out;
    for (Index first = 0; first < k_; first += kBlock) {
      ask(stop_);
      // Rows above `first` of these columns are zero.
      const Index count = std::min(kBlock, k_ - first);
      MatrixXd U = MatrixXd::Identity(k_ - first, count);
      solve_lower(L_, U);
      for (Index s = 0; s < count; ++s) out[at(first + s)] = sharpe_off(U.col(s));
    }
    return out;
  }

  // The Sharpe ratio when what lies along u, in the last rows, is gone.
  double sharpe_off(Eigen::Ref<const VectorXd> u) const {
    const double length2 = u.squaredNorm();
    const auto off = [&](const VectorXd& x) {
      VectorXd out = x;
      out.tail(u.size()) -= x.tail(u.size()).dot(u) / length2 * u;
      return out;
    };
    if (k_ == 1) return 0.0;
    VectorXd z = off(z_);
    const VectorXd o = off(o_);
    const double A = o.squaredNorm(), B = z.dot(o);
    const layer::Face face{settings_.net == layer::Net::positive && !(B > 0.0), A, B};
    if (face.neutral) z -= B / A * o;
    const double C = z.squaredNorm();
    return layer::has_direction(face, C, k_ - 1) ? largest_ * std::sqrt(C) : 0.0;
  }

  std::optional<LeftOut> best_left_out() {
    const Index j = best_addition();
    if (j < 0) return std::nullopt;
    std::vector<Index> more = portfolio_.support;
    more.insert(std::ranges::upper_bound(more, j), j);
    SelectSettings one_more = settings_;
    one_more.k = k_ + 1;
    Portfolio solved;
    Selector(one_more, risk_).run_on(risk_, sample_, mu_, more, solved, stop_);
    const double gain = solved.sharpe - portfolio_.sharpe;
    constexpr double kRounding = 1e-12;
    if (!(gain > kRounding * portfolio_.sharpe)) return std::nullopt;
    return LeftOut{.asset = j, .sharpe_gain = gain};
  }

  // The j outside K with the largest S(K + j), or -1. Adding j changes C, B and A by rm^2/rv,
  // rm r1/rv and r1^2/rv, with rm, r1, rv the residuals of its signal, its one and its variance
  // given K: what is left after the column L^-1 Sigma_Kj. On the t = 0 face, with c = B/A and
  // q = rm - c r1, the new value is C(mu - c 1) + q^2 A / (A rv + r1^2): C - B^2/A without its
  // cancellation.
  Index best_addition() {
    if (k_ > 0 && !factored_) return -1;
    const Index n = risk_.n();
    const double A = o_.squaredNorm(), B = z_.dot(o_), C = z_.squaredNorm();
    const double c = A > 0.0 ? B / A : 0.0;
    const double face = (z_ - c * o_).squaredNorm();
    const VectorXd mu = scaled_mu();
    const ConstVec D = risk_.diagonal(sample_);
    const double dependent = static_cast<double>(n) * kEps;
    const std::vector<Index> outside = left_out();
    MatrixXd Z = rows_of_support(outside);
    Index best = -1;
    double best_value = 0.0;
    for (Index s = 0; s < Z.cols(); ++s) {
      if (s % kBlock == 0) {
        ask(stop_);
        if (k_ > 0) solve_lower(L_, Z.middleCols(s, std::min(kBlock, Z.cols() - s)));
      }
      const Index j = outside[at(s)];
      const double rv = D[at(j)] - Z.col(s).squaredNorm();
      if (!(rv > dependent * D[at(j)])) continue;  // spanned by K: adds nothing
      const double rm = mu[j] - Z.col(s).dot(z_), r1 = 1.0 - Z.col(s).dot(o_), q = rm - c * r1;
      const bool net_free = settings_.net == layer::Net::any || B + rm * r1 / rv > 0.0;
      const double value = net_free ? C + rm * rm / rv : face + q * q * A / (A * rv + r1 * r1);
      if (!(value > best_value)) continue;
      best = j;
      best_value = value;
    }
    return best;
  }

  std::vector<Index> left_out() const {
    std::vector<Index> out(at(risk_.n()));
    std::iota(out.begin(), out.end(), Index{0});
    std::erase_if(out, [&](Index j) { return std::ranges::binary_search(portfolio_.support, j); });
    return out;
  }

  // Sigma_K,J, (k, |J|).
  MatrixXd rows_of_support(const std::vector<Index>& J) {
    MatrixXd out(k_, static_cast<Index>(J.size()));
    VectorXd column(risk_.n());
    for (Index r = 0; r < k_; ++r) {
      ask(stop_);
      risk_.column(sample_, portfolio_.support[at(r)], {column.data(), at(risk_.n())}, scratch_);
      out.row(r) = column(J).transpose();
    }
    return out;
  }

  const Threads one_thread_{1};  // BLAS calls stay on one thread
  const SelectSettings& settings_;
  const risk::Risk& risk_;
  const Index sample_;
  const ConstVec mu_;
  const Portfolio& portfolio_;
  const Stop& stop_;
  const Index k_;
  double largest_ = 0.0;  // |mu_i|
  std::vector<double> scratch_;
  MatrixXd L_;
  VectorXd z_, o_;
  bool factored_ = false;
};

}  // namespace

Explanation explain(const SelectSettings& settings, const risk::Risk& risk, Index sample,
                    ConstVec mu, const Portfolio& portfolio, const Stop& stop) {
  if (portfolio.outcome.status == Status::invalid_input) return {};
  const bool oscar = settings.optimizer == Optimizer::oscar;
  if (oscar ? !risk.parts().lower : !risk.parts().root)
    throw InputError(
        std::string("explaining optimizer = ") + std::string(name(settings.optimizer)) +
        " needs a risk model set up with parts." + (oscar ? "lower" : "root") + " = true");
  if (sample < 0 || sample >= risk.samples() || static_cast<Index>(mu.size()) != risk.n())
    throw InputError("explain was given a sample or a signal that does not fit the risk model");
  return Explainer(settings, risk, sample, mu, portfolio, stop).run();
}

}  // namespace sharpen::select
