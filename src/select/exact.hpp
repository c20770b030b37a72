// The tangent problem on a given support, closed form, and its sizing.
#pragma once

#include <vector>

#include "sharpen/select/select.hpp"

namespace sharpen::select {

// The exponent e for which max|values| 2^-e lies in [1, 2), or kSilent if that maximum is so small
// that its square has no digits left: such a signal counts as zero. Values must be finite.
constexpr int kSilent = -100000;
int exponent_of(ConstVec values);

class ExactSolver {
 public:
  // For supports of at most k of n assets; k == n is also served, through Risk::solve.
  ExactSolver(Index n, Index k, layer::Net net, const layer::SizingSettings& sizing);

  // Completes `out`: K must be ascending, mu finite, the sample usable, out.weights (n) zero,
  // out.outcome.jitter that of the sample. Cash where no direction exists. Throws Interrupted.
  void run(const risk::Risk& risk, Index sample, ConstVec mu, std::span<const Index> K, Vec scratch,
           Portfolio& out, const Stop& stop);

 private:
  // What a solve finds: C and t of unit-risk y_. Nothing is solved if Sigma_KK cannot be factored
  // or C is not finite; what is solved may still be no direction.
  struct Direction {
    double C = 0.0;
    double t = 0.0;
    bool neutral = false;
    bool solved = false;
    bool exists = false;
  };
  Direction solve_full(const risk::Risk& risk, Index sample, Vec scratch);
  Direction solve_support(const risk::Risk& risk, Index sample, std::span<const Index> K,
                          Vec scratch, Outcome& outcome, const Stop& stop);
  void choose_face(double A, double B, Direction& direction);
  void finish(ConstVec b, double A, double B, double C, Direction& direction);
  double variance(const risk::Risk& risk, Index sample, std::span<const Index> K, Vec scratch);

  const Index n_;
  const layer::Net net_;
  const layer::SizingSettings sizing_;
  // Over the support: the scaled signal, what is solved for, Sigma^-1 1, direction, weights.
  std::vector<double> mu_, m_, b_, y_, w_;
  std::vector<double> Sigma_, L_;  // (|K|, |K|)
};

}  // namespace sharpen::select
