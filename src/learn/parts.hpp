// Samples whose days had different names: runs of consecutive samples with the same ones, each with
// a risk model of its own, and all of them together as a risk model over the n names of the panel.
//
// With A the names of sample s, its Sigma is that of A alone. A vector of n is read on A only, and
// written with 0 elsewhere: solve gives Sigma_AA^-1 m_A, ones_solution Sigma_AA^-1 1_A, diagonal
// diag Sigma_AA. A name that was not there is neither expected, held nor in anybody's way.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "sharpen/layer/limits.hpp"
#include "sharpen/risk/risk.hpp"

namespace sharpen::learn {

// A run of samples with the same names.
struct SamplePart {
  Index first = 0, count = 0;                  // samples
  std::vector<Index> assets;                   // (m), ascending; empty: nobody was there
  std::vector<double> returns = {};            // (rows, m) that the risk may refer to
  std::unique_ptr<risk::Risk> risk = nullptr;  // of `count` samples; null without assets
  std::shared_ptr<const layer::LimitSchedule> limits = {};  // of its samples; null: none

  Index m() const { return static_cast<Index>(assets.size()); }
};

class PartedRisk : public risk::Risk {
 public:
  // Sample s has the window of `lookback` rows before ends[s], ascending by one, and the names with
  // eligible (S, n) not 0, whose windows are complete. Throws Interrupted.
  PartedRisk(ConstMat returns, Index lookback, std::span<const Index> ends,
             std::span<const char> eligible, const risk::RiskSettings& settings,
             const Threads& threads, const Control& control);

  std::vector<SamplePart>& parts_of_samples() { return parts_; }
  const std::vector<SamplePart>& parts_of_samples() const { return parts_; }
  // The part of a sample, and the sample's number in it.
  const SamplePart& part(Index s) const { return parts_[at(part_of_[at(s)])]; }
  Index part_number(Index s) const { return part_of_[at(s)]; }
  Index local(Index s) const { return s - part(s).first; }

  risk::Form form() const override;
  Index n() const override { return n_; }
  Index samples() const override { return static_cast<Index>(part_of_.size()); }
  Index scratch_size() const override { return scratch_; }
  risk::Parts parts() const override { return prepared_; }
  std::size_t bytes() const override;
  Status status(Index s) const override;
  double jitter(Index s) const override;
  ConstVec ones_solution(Index s) const override { return whole(ones_, s); }
  double ones_norm2(Index s) const override;
  ConstVec diagonal(Index s) const override { return whole(diagonal_, s); }
  double solve(Index s, ConstVec m, Vec out, Vec scratch) const override;
  void lower_solve(Index s, ConstVec m, Vec out, Vec scratch) const override;
  void lower_solve_t(Index s, ConstVec g, Vec out, Vec scratch) const override;
  void root_solve(Index s, ConstVec m, Vec out, Vec scratch) const override;
  void apply(Index s, ConstVec w, Vec out, Vec scratch) const override;
  void column(Index s, Index j, Vec out, Vec scratch) const override;
  void submatrix(Index s, std::span<const Index> K, Mat out, Vec scratch) const override;
  Index restriction_size() const override;
  bool restrict_to(Index s, ConstVec p, Vec factor, Vec scratch) const override;
  void restricted_solve(Index s, ConstVec p, ConstVec factor, ConstVec v, Vec out,
                        Vec scratch) const override;

 private:
  ConstVec whole(const std::vector<double>& all, Index s) const {
    return ConstVec(all).subspan(at(s * n_), at(n_));
  }
  // An action on the names of sample s: act(risk, its sample, in (m), out (m), scratch).
  template <class Act>
  auto on_names(Index s, ConstVec in, Vec out, Vec scratch, const Act& act) const;

  Index n_, scratch_ = 0;
  risk::Parts prepared_;
  std::vector<SamplePart> parts_;
  std::vector<Index> part_of_;           // (S)
  std::vector<double> ones_, diagonal_;  // (S, n)
};

// v (n) on the names, and back with 0 elsewhere.
void gather_names(ConstVec v, std::span<const Index> assets, Vec out);
void scatter_names(ConstVec some, std::span<const Index> assets, Vec out);

}  // namespace sharpen::learn
