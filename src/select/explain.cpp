#include "sharpen/select/explain.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "select/ties.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::select {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// One question to the risk model and the selector at a time, with their memory.
class Explainer {
 public:
  Explainer(const SelectSettings& settings, const risk::Risk& risk, Index sample, ConstVec mu,
            const Portfolio& portfolio)
      : settings_(settings),
        risk_(risk),
        sample_(sample),
        mu_(mu),
        portfolio_(portfolio),
        scratch_(at(risk.scratch_size())),
        selector_(one_name_more(), risk) {}

  Explanation run() {
    Explanation result;
    if (!portfolio_.support.empty()) result.reasons = reasons();
    result.best_left_out = best_left_out();
    return result;
  }

 private:
  using Support = std::vector<Index>;

  SelectSettings one_name_more() const {
    SelectSettings more = settings_;
    more.k = std::min<Index>(risk_.n(), static_cast<Index>(portfolio_.support.size()) + 1);
    return more;
  }

  double sharpe_on(const Support& K) {
    if (K.empty()) return 0.0;
    selector_.run_on(risk_, sample_, mu_, K, solved_);
    return solved_.sharpe;
  }

  // mu scaled to max |mu| = 1, so that no square under- or overflows.
  VectorXd scaled_mu() const {
    const VectorXd mu = Eigen::Map<const VectorXd>(mu_.data(), risk_.n());
    const double largest = mu.cwiseAbs().maxCoeff();
    return largest > 0.0 ? VectorXd(mu / largest) : mu;
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

    std::vector<Reason> result;
    for (const Index i : portfolio_.support) {
      Support others;
      std::ranges::copy_if(portfolio_.support, std::back_inserter(others),
                           [i](Index j) { return j != i; });
      result.push_back({.asset = i,
                        .mu = mu_[at(i)],
                        .score = score[at(i)],
                        .score_rank = rank[at(i)],
                        .risk_contribution = w[at(i)] * Sigma_w[at(i)] / variance,
                        .sharpe_lost_if_removed = portfolio_.sharpe - sharpe_on(others)});
    }
    return result;
  }

  std::optional<LeftOut> best_left_out() {
    const Index j = best_addition();
    if (j < 0) return std::nullopt;
    Support more = portfolio_.support;
    more.insert(std::ranges::upper_bound(more, j), j);
    const double gain = sharpe_on(more) - portfolio_.sharpe;
    if (!(gain > 0.0)) return std::nullopt;
    return LeftOut{.asset = j, .sharpe_gain = gain};
  }

  // The j outside K with the largest S(K + j), or -1. Adding j changes C, B and A by rm^2/rv,
  // rm r1/rv and r1^2/rv, with rm, r1, rv the residuals of its signal, its one and its variance
  // given K. On the t = 0 face, with c = B/A and q = rm - c r1, the new value is
  // C(mu - c 1) + q^2 A / (A rv + r1^2): C - B^2/A without its cancellation.
  Index best_addition() {
    const Index n = risk_.n();
    const auto& K = portfolio_.support;
    const Index k = static_cast<Index>(K.size());
    const VectorXd mu = scaled_mu();
    MatrixXd Z(k, n);  // first Sigma_K,: and then L_K^-1 Sigma_K,:
    std::vector<double> column(at(n));
    for (Index r = 0; r < k; ++r) {
      risk_.column(sample_, K[at(r)], column, scratch_);
      Z.row(r) = Eigen::Map<const Eigen::RowVectorXd>(column.data(), n);
    }
    VectorXd z_mu(k), z_one = VectorXd::Ones(k);
    if (k > 0) {
      MatrixXd Sigma_KK(k, k);
      for (Index r = 0; r < k; ++r) {
        Sigma_KK.col(r) = Z.col(K[at(r)]);
        z_mu[r] = mu[K[at(r)]];
      }
      // The portfolio's own jitter, if it needed one, makes this factor exist.
      Sigma_KK.diagonal().array() +=
          std::max(0.0, portfolio_.outcome.jitter - risk_.jitter(sample_));
      const Eigen::LLT<MatrixXd> factor(Sigma_KK);
      if (factor.info() != Eigen::Success) return -1;
      factor.matrixL().solveInPlace(Z);
      factor.matrixL().solveInPlace(z_mu);
      factor.matrixL().solveInPlace(z_one);
    }
    return largest_value(mu, Z, z_mu, z_one);
  }

  Index largest_value(const VectorXd& mu, const MatrixXd& Z, const VectorXd& z_mu,
                      const VectorXd& z_one) const {
    const double A = z_one.squaredNorm(), B = z_mu.dot(z_one), C = z_mu.squaredNorm();
    const double c = A > 0.0 ? B / A : 0.0;
    const double face = (z_mu - c * z_one).squaredNorm();
    const VectorXd rm = mu - Z.transpose() * z_mu;
    const VectorXd r1 = VectorXd::Ones(risk_.n()) - Z.transpose() * z_one;
    const ConstVec D = risk_.diagonal(sample_);
    const double dependent =
        static_cast<double>(risk_.n()) * std::numeric_limits<double>::epsilon();
    Index best = -1;
    double best_value = 0.0;
    for (Index j = 0; j < risk_.n(); ++j) {
      if (std::ranges::binary_search(portfolio_.support, j)) continue;
      const double rv = D[at(j)] - Z.col(j).squaredNorm();
      if (!(rv > dependent * D[at(j)])) continue;  // spanned by K: adds nothing
      const double q = rm[j] - c * r1[j];
      const bool net_free = settings_.net == layer::Net::any || B + rm[j] * r1[j] / rv > 0.0;
      const double value =
          net_free ? C + rm[j] * rm[j] / rv : face + q * q * A / (A * rv + r1[j] * r1[j]);
      if (value > best_value) {
        best = j;
        best_value = value;
      }
    }
    return best;
  }

  const SelectSettings& settings_;
  const risk::Risk& risk_;
  const Index sample_;
  const ConstVec mu_;
  const Portfolio& portfolio_;
  std::vector<double> scratch_;
  Selector selector_;
  Portfolio solved_;
};

}  // namespace

Explanation explain(const SelectSettings& settings, const risk::Risk& risk, Index sample,
                    ConstVec mu, const Portfolio& portfolio) {
  if (portfolio.outcome.status == Status::invalid_input) return {};
  const bool oscar = settings.optimizer == Optimizer::oscar;
  if (oscar ? !risk.parts().lower : !risk.parts().root)
    throw InputError(
        std::string("explaining optimizer = ") + std::string(name(settings.optimizer)) +
        " needs a risk model set up with parts." + (oscar ? "lower" : "root") + " = true");
  if (sample < 0 || sample >= risk.samples() || static_cast<Index>(mu.size()) != risk.n())
    throw InputError("explain was given a sample or a signal that does not fit the risk model");
  return Explainer(settings, risk, sample, mu, portfolio).run();
}

}  // namespace sharpen::select
