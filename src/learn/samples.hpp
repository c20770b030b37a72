// The samples of a training part of R rows: windows of T rows, targets of h, and which of them
// train and which validate (train.hpp).
#pragma once

#include <span>
#include <vector>

#include "sharpen/base/random.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/learn/model.hpp"
#include "sharpen/learn/settings.hpp"

namespace sharpen::learn {

struct SampleSplit {
  Index lookback = 0, horizon = 1;
  Index training = 0;          // samples 0..training-1 train
  Index validation_first = 0;  // samples validation_first..validation_first+validation-1 validate
  Index validation = 0;

  // Window of sample s: rows [end(s) - lookback, end(s)); its next period is row end(s).
  Index end(Index s) const { return lookback + s; }
  // Rows that the training samples touch, targets included: 0..training_rows()-1.
  Index training_rows() const { return lookback + training + horizon - 1; }
};

// Throws InputError where the rows do not make one batch, or leave nothing to validate on.
SampleSplit split_samples(Index rows, const TrainSettings& settings);

// Consecutive samples: those that only feed the memory, then those that are in the loss.
struct SampleBlock {
  Index first = 0, warm = 0, scored = 0;

  Index days() const { return warm + scored; }
};

// The blocks of an epoch, in the order that they are walked in: every training sample but the first
// `warm` is in the loss of one of them. They are of `days` samples, but for those at both ends:
// where the first one ends is drawn.
std::vector<SampleBlock> draw_blocks(Index training, Index days, Index warm, Random& random);

// Mean and standard deviation of each asset over the rows that the training samples touch, as far
// as it has returns there (not NaN). One with fewer of them than a window has the root mean square
// of the others' scales, and mean 0.
Scaling learn_scaling(ConstMat returns, const SampleSplit& split);

// Of the samples that end before ends[s]: (S, n), not 0 where the asset's window is complete and
// members, (rows + 1, n) as market::MemberBook has them, say that it is one at its end. Nothing
// that comes later has a say.
std::vector<char> eligible_names(ConstMat returns, Index lookback, std::span<const Index> ends,
                                 std::span<const char> members);

// The inputs that `sums` are, for windows of so many returns.
Index count_of_sums(Index lookback);

// The scaled returns of a panel as network inputs. joint: rows of time, so that a window is one
// piece; shared: rows of assets, so that an asset's window is one piece. Of a window of T scaled
// returns x, the newest first, `sums` are
//   x_1 .. x_5;  sum of x_(a+1) .. x_b / sqrt(b - a) for (a, b) = (5, 10), (10, 20), (20, 40), (40,
//   70), (70, T), as far as they go;  log of the root mean square of x_1 .. x_20 and of all; log of
//   the asset's scale over the unit
// so that what has lasted long is as easy to see as yesterday's return.
template <class Real>
class Features {
 public:
  // assets: column j of `returns` is scaled as asset assets[j].
  Features(NetworkKind kind, Inputs inputs, Index lookback, ConstMat returns,
           const Scaling& scaling, std::span<const Index> assets);

  Index rows_per_window() const { return kind_ == NetworkKind::joint ? 1 : n_; }
  Index inputs() const;
  // The inputs of the windows that end before ends[i], one after the other, into X.
  void gather(std::span<const Index> ends, BasicMat<Real> X) const;

 private:
  void sum(const Real* after, Index asset, std::span<Real> out) const;

  NetworkKind kind_;
  Inputs inputs_;
  Index lookback_, n_, rows_;
  std::vector<Real> values_;
  std::vector<Index> stretches_;
  std::vector<double> loudness_;  // (n) log of scale over unit
};

extern template class Features<float>;
extern template class Features<double>;

// target (n): the mean of the h rows of returns from `row` on.
void mean_target(ConstMat returns, Index row, Index horizon, Vec target);

}  // namespace sharpen::learn
