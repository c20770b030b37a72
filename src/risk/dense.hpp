// The dense form: Sigma as a matrix, solved through its packed inverse factor.
//
// Per sample: P = L^-1 packed by rows, so that Sigma^-1 m = P^T (P m) is one pass over n^2/2
// doubles; Sigma packed; and, for the symmetric score, Sigma^(-1/2) packed. Explicit inverses
// cost nothing in accuracy that matters here: the error of P m is of the order cond(L) * eps,
// as that of substitution is, and shrinkage keeps cond(Sigma) near n / lambda at most.
#pragma once

#include <vector>

#include "sharpen/base/threads.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::risk {

struct Kernels;

class DenseRisk final : public Risk {
 public:
  DenseRisk(Index n, Index samples, Parts parts);

  // Memory that one call of set() needs; one per thread.
  struct Work {
    explicit Work(Index n);
    std::vector<double> Sigma;        // (n, n), filled by the caller, both triangles
    std::vector<double> L;            // (n, n)
    std::vector<double> eigenvalues;  // (n)
    std::vector<double> one;          // (np) ones, zero-padded
  };
  // Takes over work.Sigma as sample s, adding jitter where the factorisation needs it.
  // `singular`: known to need it. Throws Interrupted between its steps.
  void set(Index s, Work& work, const Stop& stop, bool singular = false);
  // Marks sample s as unusable.
  void set_invalid(Index s);

  Form form() const override { return Form::dense; }
  Index n() const override { return n_; }
  Index samples() const override { return static_cast<Index>(facts_.size()); }
  Index scratch_size() const override { return 2 * np_; }
  Parts parts() const override { return parts_; }
  std::size_t bytes() const override { return store_.size() * sizeof(double); }
  Status status(Index s) const override { return fact(s).status; }
  double jitter(Index s) const override { return fact(s).jitter; }
  ConstVec ones_solution(Index s) const override { return {ones(s), size()}; }
  double ones_norm2(Index s) const override { return fact(s).A; }
  ConstVec diagonal(Index s) const override { return {ones(s) + np_, size()}; }

  double solve(Index s, ConstVec m, Vec out, Vec scratch) const override;
  void lower_solve(Index s, ConstVec m, Vec out, Vec scratch) const override;
  void lower_solve_t(Index s, ConstVec g, Vec out, Vec scratch) const override;
  void root_solve(Index s, ConstVec m, Vec out, Vec scratch) const override;
  void apply(Index s, ConstVec w, Vec out, Vec scratch) const override;
  void column(Index s, Index j, Vec out, Vec scratch) const override;
  void submatrix(Index s, std::span<const Index> K, Mat out, Vec scratch) const override;

  Index restriction_size() const override { return n_ * n_; }
  bool restrict_to(Index s, ConstVec p, Vec factor, Vec scratch) const override;
  void restricted_solve(Index s, ConstVec p, ConstVec factor, ConstVec v, Vec out,
                        Vec scratch) const override;

 private:
  struct Fact {
    Status status = Status::invalid_input;
    double jitter = 0.0;
    double A = 0.0;
  };

  std::size_t size() const { return at(n_); }
  const Fact& fact(Index s) const { return facts_[at(s)]; }
  // Sample s lies in one piece: P, Sigma, [root], b, D.
  const double* inverse(Index s) const { return store_.data() + s * per_sample_; }
  const double* sigma(Index s) const { return inverse(s) + packed_; }
  const double* root(Index s) const { return sigma(s) + packed_; }
  const double* ones(Index s) const { return inverse(s) + per_sample_ - 2 * np_; }
  double sigma_entry(Index s, Index i, Index j) const;
  bool set_root(Index s, Work& work, const Stop& stop);
  bool graded_eigenvectors(Index s, Work& work) const;

  Index n_, np_, packed_, per_sample_;
  Parts parts_;
  const Kernels& kernels_;
  std::vector<double> store_;
  std::vector<Fact> facts_;
  const Threads one_thread_{1};  // BLAS calls stay on one thread while there is a risk model
};

}  // namespace sharpen::risk
