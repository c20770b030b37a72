#include "learn/samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sharpen/base/error.hpp"

namespace sharpen::learn {

namespace {

constexpr Index kSingle = 5;        // returns that are inputs by themselves
constexpr Index kRecent = 20;       // returns that the newer volatility is of
constexpr Index kFacts = 3;         // volatilities and the scale
constexpr double kQuietest = 1e-3;  // a volatility below this share of the scale counts as this
constexpr std::array<Index, 4> kStretches = {10, 20, 40, 70};  // ends of sums

// Ends of the stretches of a window of T returns.
std::vector<Index> stretches(Index lookback) {
  std::vector<Index> out;
  for (const Index end : kStretches)
    if (end < lookback) out.push_back(end);
  if (lookback > kSingle) out.push_back(lookback);
  return out;
}

}  // namespace

Index count_of_sums(Index lookback) {
  return std::min(lookback, kSingle) + static_cast<Index>(stretches(lookback).size()) + kFacts;
}

SampleSplit split_samples(Index rows, const TrainSettings& settings) {
  const Index T = settings.lookback, h = settings.horizon;
  SampleSplit split{.lookback = T, .horizon = h};
  if (rows <= T)
    throw InputError(
        fmt::format("lookback = {} needs {} rows of training returns at least, and there are {}; "
                    "use a shorter ‹--lookback› or more data",
                    T, T + 1, rows));
  const Index all = rows - T;  // samples with a next period
  split.validation =
      static_cast<Index>(std::llround(settings.validation * static_cast<double>(all)));
  if (settings.validation > 0.0 && split.validation < 2)
    throw InputError(
        fmt::format("validation = {}: of {} samples that leaves {} to validate on, and a decision "
                    "needs 2 at least to be judged; use a larger ‹--validation› or more data, or "
                    "‹--validation 0› for none",
                    settings.validation, all, split.validation));
  split.validation_first = all - split.validation;
  // No training target may reach into the validation. A target of several periods stays clear of
  // it by its whole length.
  const Index left_out = h == 1 ? 0 : split.validation > 0 ? h : h - 1;
  split.training = split.validation_first - left_out;
  if (split.training < settings.batch)
    throw InputError(fmt::format(
        "{} rows of training returns make {} training samples (lookback {}, validation {}, horizon "
        "{}), fewer than one batch of {}; use a smaller ‹--batch›, a shorter ‹--lookback› or "
        "‹--horizon›, or more data",
        rows, std::max<Index>(0, split.training), T, split.validation, h, settings.batch));
  if (settings.in_blocks() && split.training < settings.train_block)
    throw InputError(fmt::format(
        "‹train-block› = {} is longer than the training part of {} samples ({} rows, lookback {}, "
        "validation {}, horizon {}); use a smaller ‹--train-block› than that, but more than the {} "
        "that only feed the memory, or more data",
        settings.train_block, split.training, rows, T, split.validation, h,
        settings.memory_rows()));
  return split;
}

std::vector<SampleBlock> draw_blocks(Index training, Index days, Index warm, Random& random) {
  const Index longest = days - warm;
  std::vector<SampleBlock> blocks;
  Index first = warm;  // of the samples in the loss
  Index count = 1 + static_cast<Index>(random.below(static_cast<std::uint64_t>(longest)));
  for (; first < training; first += count, count = longest) {
    count = std::min(count, training - first);
    blocks.push_back({.first = first - warm, .warm = warm, .scored = count});
  }
  random.shuffle(std::span(blocks));
  return blocks;
}

Scaling learn_scaling(ConstMat returns, const SampleSplit& split) {
  const Index rows = split.training_rows(), n = returns.cols;
  Scaling scaling{std::vector<double>(at(n), 0.0), std::vector<double>(at(n), 0.0)};
  std::vector<Index> count(at(n), 0);
  for (Index t = 0; t < rows; ++t)
    for (Index i = 0; i < n; ++i) {
      if (!std::isfinite(returns(t, i))) continue;
      scaling.mean[at(i)] += returns(t, i);
      ++count[at(i)];
    }
  const Index least = std::min(rows, split.lookback);
  const auto known = [&](std::size_t i) { return count[i] >= least; };
  for (std::size_t i = 0; i < count.size(); ++i)
    scaling.mean[i] = known(i) ? scaling.mean[i] / static_cast<double>(count[i]) : 0.0;
  for (Index t = 0; t < rows; ++t)
    for (Index i = 0; i < n; ++i) {
      const double centred = returns(t, i) - scaling.mean[at(i)];
      if (std::isfinite(centred)) scaling.scale[at(i)] += centred * centred;
    }
  double pooled = 0.0, assets = 0.0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (!known(i)) continue;
    scaling.scale[i] = std::sqrt(scaling.scale[i] / static_cast<double>(count[i] - 1));
    pooled += scaling.scale[i];
    assets += 1.0;
  }
  pooled /= assets;
  // An asset that never moved has no scale of its own.
  double squares = 0.0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (!known(i)) continue;
    if (!(scaling.scale[i] > 1e-6 * pooled)) scaling.scale[i] = pooled > 0.0 ? pooled : 1.0;
    squares += scaling.scale[i] * scaling.scale[i];
  }
  // Nor has one that was hardly there; the unit stays that of the others.
  for (std::size_t i = 0; i < count.size(); ++i)
    if (!known(i)) scaling.scale[i] = assets > 0.0 ? std::sqrt(squares / assets) : 1.0;
  return scaling;
}

std::vector<char> eligible_names(ConstMat returns, Index lookback, std::span<const Index> ends,
                                 std::span<const char> members) {
  const Index n = returns.cols;
  std::vector<char> out(ends.size() * at(n), 0);
  std::vector<Index> gap(at(n), -1);  // the last row without a return
  Index seen = 0;
  for (std::size_t s = 0; s < ends.size(); ++s) {
    for (; seen < ends[s]; ++seen)
      for (Index i = 0; i < n; ++i)
        if (!std::isfinite(returns(seen, i))) gap[at(i)] = seen;
    for (Index i = 0; i < n; ++i)
      out[s * at(n) + at(i)] =
          gap[at(i)] < ends[s] - lookback && (members.empty() || members[at(ends[s] * n + i)] != 0);
  }
  return out;
}

std::optional<double> Member::yearly_sharpe(double periods_per_year) const {
  if (!validation_sharpe) return std::nullopt;
  return *validation_sharpe * std::sqrt(periods_per_year);
}

double Scaling::unit() const {
  double sum = 0.0;
  for (const double s : scale) sum += s * s;
  return std::sqrt(sum / static_cast<double>(scale.size()));
}

template <class Real>
Features<Real>::Features(NetworkKind kind, Inputs inputs, Index lookback, ConstMat returns,
                         const Scaling& scaling, std::span<const Index> assets)
    : kind_(kind),
      inputs_(kind == NetworkKind::joint ? Inputs::returns : inputs),
      lookback_(lookback),
      n_(returns.cols),
      rows_(returns.rows),
      values_(at(returns.rows * returns.cols)),
      stretches_(stretches(lookback)) {
  const double unit = scaling.unit();
  for (const Index asset : assets) loudness_.push_back(std::log(scaling.scale[at(asset)] / unit));
  for (Index t = 0; t < rows_; ++t)
    for (Index j = 0; j < n_; ++j) {
      const std::size_t asset = at(assets[at(j)]);
      const double x = (returns(t, j) - scaling.mean[asset]) / scaling.scale[asset];
      values_[at(kind == NetworkKind::joint ? t * n_ + j : j * rows_ + t)] = static_cast<Real>(x);
    }
}

template <class Real>
Index Features<Real>::inputs() const {
  if (kind_ == NetworkKind::joint) return lookback_ * n_;
  return inputs_ == Inputs::sums ? count_of_sums(lookback_) : lookback_;
}

// after: of the window's asset, the return after its last.
template <class Real>
void Features<Real>::sum(const Real* after, Index asset, std::span<Real> out) const {
  std::size_t at_input = 0;
  double squares = 0.0, recent = 0.0;
  for (Index lag = 1; lag <= lookback_; ++lag) {
    const auto x = static_cast<double>(after[-lag]);
    squares += x * x;
    if (lag == std::min(kRecent, lookback_)) recent = squares;
    if (lag <= kSingle) out[at_input++] = after[-lag];
  }
  Index begin = kSingle;
  for (const Index end : stretches_) {
    double total = 0.0;
    for (Index lag = begin + 1; lag <= end; ++lag) total += static_cast<double>(after[-lag]);
    out[at_input++] = static_cast<Real>(total / std::sqrt(static_cast<double>(end - begin)));
    begin = end;
  }
  const auto volatility = [](double sum, Index count) {
    const double mean = std::sqrt(sum / static_cast<double>(count));
    return static_cast<Real>(std::log(mean < kQuietest ? kQuietest : mean));  // NaN stays
  };
  out[at_input++] = volatility(recent, std::min(kRecent, lookback_));
  out[at_input++] = volatility(squares, lookback_);
  out[at_input] = static_cast<Real>(loudness_[at(asset)]);
}

template <class Real>
void Features<Real>::gather(std::span<const Index> ends, BasicMat<Real> X) const {
  Index row = 0;
  for (const Index end : ends) {
    if (kind_ == NetworkKind::joint) {
      std::copy_n(values_.data() + (end - lookback_) * n_, lookback_ * n_, X.row(row++).data());
    } else if (inputs_ == Inputs::sums) {
      for (Index j = 0; j < n_; ++j) sum(values_.data() + j * rows_ + end, j, X.row(row++));
    } else {
      for (Index j = 0; j < n_; ++j)
        std::copy_n(values_.data() + j * rows_ + end - lookback_, lookback_, X.row(row++).data());
    }
  }
}

template class Features<float>;
template class Features<double>;

void mean_target(ConstMat returns, Index row, Index horizon, Vec target) {
  const ConstVec first = returns.row(row);
  std::copy(first.begin(), first.end(), target.begin());
  if (horizon == 1) return;
  for (Index t = 1; t < horizon; ++t)
    for (std::size_t i = 0; i < target.size(); ++i) target[i] += returns.row(row + t)[i];
  for (double& r : target) r /= static_cast<double>(horizon);
}

}  // namespace sharpen::learn
