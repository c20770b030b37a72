// The samples of a training part of R rows: windows of T rows, targets of h, and which of them
// train and which validate (train.hpp).
#pragma once

#include <vector>

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

// Mean and standard deviation of each asset over the rows that the training samples touch.
Scaling learn_scaling(ConstMat returns, const SampleSplit& split);

// The scaled returns of a panel as network inputs. joint: rows of time, so that a window is one
// piece; shared: rows of assets, so that an asset's window is one piece.
template <class Real>
class Features {
 public:
  // assets: column j of `returns` is scaled as asset assets[j].
  Features(NetworkKind kind, Index lookback, ConstMat returns, const Scaling& scaling,
           std::span<const Index> assets);

  Index rows_per_window() const { return kind_ == NetworkKind::joint ? 1 : n_; }
  Index inputs() const { return kind_ == NetworkKind::joint ? lookback_ * n_ : lookback_; }
  // The inputs of the windows that end before ends[i], one after the other, into X.
  void gather(std::span<const Index> ends, BasicMat<Real> X) const;

 private:
  NetworkKind kind_;
  Index lookback_, n_, rows_;
  std::vector<Real> values_;
};

extern template class Features<float>;
extern template class Features<double>;

// target (n): the mean of the h rows of returns from `row` on.
void mean_target(ConstMat returns, Index row, Index horizon, Vec target);

}  // namespace sharpen::learn
