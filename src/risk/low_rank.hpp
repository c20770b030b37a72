// The low-rank form: Sigma = delta I + U U^T from a window of T returns.
//
// U = c Xc^T (n, T), Xc the centred window, c = sqrt((1 - lambda) / (T - 1)) and
// delta = lambda tr(Sigma_hat) / n. U is never stored: its products are products with rows of
// the return matrix, which all samples share, and a correction for the means. Solves go through
// M = delta I + U^T U (T, T):
//   Sigma^-1 m = (m - U v) / delta,  v = M^-1 U^T m,  and U^T Sigma^-1 m = v,
// so that C = m^T Sigma^-1 m = delta |a|^2 + |v|^2 is a sum of squares. Roots need
// U^T U = V diag(s2) V^T, which M^-1 = V diag(1 / (s2 + delta)) V^T then is taken from:
//   Sigma^(-1/2) m = m / sqrt(delta) - U V diag(f) V^T U^T m,
//   f = 1 / (sqrt(delta) sqrt(s2 + delta) (sqrt(delta) + sqrt(s2 + delta))).
// The triangular factor is semiseparable. Over blocks J of assets, from P = I (T, T):
//   delta I + U_J P U_J^T = L_JJ L_JJ^T,  W_J = L_JJ^-1 U_J P,  P -= W_J^T W_J,
// and L_IJ = U_I W_J^T for I > J. Stored are W and the inverses of the diagonal blocks. The last
// block takes the last T assets: nothing comes after it, so it needs no W, and its triangle is
// half as large as the W of T assets.
#pragma once

#include <algorithm>
#include <vector>

#include "sharpen/base/threads.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::risk {

struct Kernels;

class LowRankRisk final : public Risk {
 public:
  LowRankRisk(ConstMat returns, Index lookback, std::span<const Index> ends, double shrinkage,
              Parts parts, const Threads& threads, Conductor& conductor);

  Form form() const override { return Form::low_rank; }
  Index n() const override { return returns_.cols; }
  Index samples() const override { return static_cast<Index>(facts_.size()); }
  Index scratch_size() const override;
  Parts parts() const override { return parts_; }
  std::size_t bytes() const override { return store_.size() * sizeof(double); }
  Status status(Index s) const override { return fact(s).status; }
  double jitter(Index) const override { return 0.0; }
  ConstVec ones_solution(Index s) const override { return {mean(s) + n(), size()}; }
  double ones_norm2(Index s) const override { return fact(s).A; }
  ConstVec diagonal(Index s) const override { return {mean(s) + 2 * n(), size()}; }

  double solve(Index s, ConstVec m, Vec out, Vec scratch) const override;
  void lower_solve(Index s, ConstVec m, Vec out, Vec scratch) const override;
  void lower_solve_t(Index s, ConstVec g, Vec out, Vec scratch) const override;
  void root_solve(Index s, ConstVec m, Vec out, Vec scratch) const override;
  void apply(Index s, ConstVec w, Vec out, Vec scratch) const override;
  void column(Index s, Index j, Vec out, Vec scratch) const override;
  Index column_work() const override { return T_; }
  void submatrix(Index s, std::span<const Index> K, Mat out, Vec scratch) const override;

  Index restriction_size() const override { return n() + T_ * T_; }
  bool restrict_to(Index s, ConstVec p, Vec factor, Vec scratch) const override;
  void restricted_solve(Index s, ConstVec p, ConstVec factor, ConstVec v, Vec out,
                        Vec scratch) const override;

 private:
  struct Fact {
    Status status = Status::invalid_input;
    Index end = 0;
    double delta = 0.0;
    double A = 0.0;
  };
  static constexpr Index kBlock = 32;  // assets per block of L but the last
  struct Gram;  // the band of returns * returns^T that all windows are cut from
  struct Work;

  std::size_t size() const { return at(n()); }
  const Fact& fact(Index s) const { return facts_[at(s)]; }
  const double* window(Index s) const {
    return returns_.data + (fact(s).end - T_) * returns_.stride;
  }
  // Sample s lies in one piece: mean, b, D (n each); M^-1 packed, or with roots V^T (T, T), f and
  // 1 / (s2 + delta) (T each); [W (head, Tp), then L_JJ^-1 packed, block by block].
  const double* mean(Index s) const { return store_.data() + s * per_sample_; }
  const double* inverse(Index s) const { return mean(s) + 3 * n(); }
  const double* eigenvectors(Index s) const { return inverse(s); }
  const double* root_factors(Index s) const { return eigenvectors(s) + T_ * T_; }
  const double* inverse_factors(Index s) const { return root_factors(s) + T_; }
  const double* W(Index s) const { return inverse(s) + inverse_size_; }
  // A block of the triangular factor: assets first .. first + count - 1.
  struct Block {
    Index first, count;
    const double* inverse;  // L_JJ^-1, packed
    bool last;
  };
  Index head() const { return std::max<Index>(0, n() - T_); }  // assets before the last block
  Index blocks() const { return (head() + kBlock - 1) / kBlock + 1; }
  Block block(Index s, Index i) const;
  double* writable(const double* p) { return store_.data() + (p - store_.data()); }

  void set(Index s, const Gram& gram, Work& work);
  bool invert_gram(Index s, Work& work);
  bool set_lower(Index s, Work& work);

  // q (T) = U_J^T m and out = U_J v, J the assets from `first` on that m or out has entries for.
  void project(Index s, ConstVec m, double* q, Index first = 0) const;
  void expand(Index s, const double* v, Vec out, Index first = 0) const;
  void woodbury(Index s, ConstVec m, Vec out, double* q, double* v) const;
  // v = V diag(factors) V^T q, which is used up.
  void mul_spectral(Index s, const double* factors, double* q, double* v) const;
  void gather(Index s, Index j, double* u) const;  // u (T) = row j of U

  ConstMat returns_;
  Index T_, Tp_;
  double shrinkage_, c_;
  Parts parts_;
  Index inverse_size_, lower_size_, per_sample_;
  const Kernels& kernels_;
  std::vector<double> store_;
  std::vector<Fact> facts_;
  const Threads one_thread_{1};  // BLAS calls stay on one thread while there is a risk model
};

}  // namespace sharpen::risk
