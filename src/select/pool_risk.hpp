// A few of many assets as a risk model of their own.
#pragma once

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

#include "sharpen/risk/risk.hpp"

namespace sharpen::select {

// Sigma on the names of the pool, for the kernel: its columns and its diagonal.
class PoolRisk final : public risk::Risk {
 public:
  // All of it at once.
  void set(const risk::Risk& all, Index sample, std::span<const Index> names, Vec scratch) {
    begin(all, sample, names);
    all.submatrix(sample, names, {Sigma_.data(), n_, n_}, scratch);
    std::ranges::fill(known_, char{1});
  }
  // Columns as they are asked for, where few are: the risk model must live as long. `scratch` is
  // one of its own, followed by n of its assets.
  void set_lazily(const risk::Risk& all, Index sample, std::span<const Index> names, Vec scratch) {
    begin(all, sample, names);
    all_ = &all;
    sample_ = sample;
    names_ = names;
    scratch_ = scratch;
  }

  risk::Form form() const override { return risk::Form::dense; }
  Index n() const override { return n_; }
  Index samples() const override { return 1; }
  Index scratch_size() const override { return 0; }
  risk::Parts parts() const override { return {.lower = false, .root = false}; }
  std::size_t bytes() const override { return Sigma_.size() * sizeof(double); }
  Status status(Index) const override { return Status::ok; }
  double jitter(Index) const override { return 0.0; }
  ConstVec diagonal(Index) const override { return diagonal_; }
  void column(Index, Index j, Vec out, Vec) const override {
    if (!known_[at(j)]) find(j);
    std::copy_n(Sigma_.begin() + j * n_, n_, out.begin());
  }

  ConstVec ones_solution(Index) const override { return none(); }
  double ones_norm2(Index) const override { return none(), 0.0; }
  double solve(Index, ConstVec, Vec, Vec) const override { return none(), 0.0; }
  void lower_solve(Index, ConstVec, Vec, Vec) const override { none(); }
  void lower_solve_t(Index, ConstVec, Vec, Vec) const override { none(); }
  void root_solve(Index, ConstVec, Vec, Vec) const override { none(); }
  void apply(Index, ConstVec, Vec, Vec) const override { none(); }
  void submatrix(Index, std::span<const Index>, Mat, Vec) const override { none(); }
  Index restriction_size() const override { return none(), 0; }
  bool restrict_to(Index, ConstVec, Vec, Vec) const override { return none(), false; }
  void restricted_solve(Index, ConstVec, ConstVec, ConstVec, Vec, Vec) const override { none(); }

 private:
  static ConstVec none() { throw std::logic_error("a pool of assets has no factor"); }

  void begin(const risk::Risk& all, Index sample, std::span<const Index> names) {
    n_ = static_cast<Index>(names.size());
    Sigma_.resize(at(n_ * n_));
    diagonal_.clear();
    for (const Index i : names) diagonal_.push_back(all.diagonal(sample)[at(i)]);
    known_.assign(names.size(), char{0});
  }

  void find(Index j) const {
    const std::size_t own = at(all_->scratch_size());
    const Vec whole = scratch_.subspan(own, at(all_->n()));
    all_->column(sample_, names_[at(j)], whole, scratch_.first(own));
    for (Index a = 0; a < n_; ++a) Sigma_[at(j * n_ + a)] = whole[at(names_[at(a)])];
    known_[at(j)] = 1;
  }

  Index n_ = 0;
  mutable std::vector<double> Sigma_;  // rows, of which some are known
  mutable std::vector<char> known_;
  std::vector<double> diagonal_;
  const risk::Risk* all_ = nullptr;
  Index sample_ = 0;
  std::span<const Index> names_;
  Vec scratch_;
};

}  // namespace sharpen::select
