// Which entries of alpha (m - Q v) may be among the k largest, while v moves little: where n is
// large, an iteration that keeps k entries need not compute the others.
//
// Q is a Gram matrix, |Q_is|^2 <= Q_ii Q_ss: no entry i moves by more than sqrt(Q_ii) d when v
// drifts by d = alpha sum_s sqrt(Q_ss) |v_s - near_s| from a former v, `near`. After a step that
// was computed for all n, those that could reach the k-th largest within some drift are
// `candidates`; the others stay below `outside`.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen::baseline {

class Screen {
 public:
  static constexpr Index kFrom = 4096;  // assets from which it is worth it

  // Forgets the candidates. `diagonal`: of Q.
  void begin(ConstVec diagonal) {
    reach_.resize(diagonal.size());
    for (std::size_t i = 0; i < reach_.size(); ++i) reach_[i] = std::sqrt(diagonal[i]);
    candidates_.clear();
    candidates_.reserve(diagonal.size());
    pause_ = 0;
  }

  // Before a step from v for all n is projected: what it is.
  void note(const std::vector<double>& v, const std::vector<double>& step) {
    near_ = v;
    base_ = step;
  }
  // After it: `next` has at most k positive entries, and no others.
  void look_ahead(double alpha, ConstVec m, const std::vector<double>& next, Index k);

  // Whether candidates are known; now and then it is time to look for some.
  bool ready() const { return !candidates_.empty(); }
  bool is_time() { return pause_ == 0 || --pause_ == 0; }
  void forget() { candidates_.clear(); }
  // Ascending; all others are zero in v and in what comes next.
  const std::vector<Index>& candidates() const { return candidates_; }
  double outside() const { return outside_; }
  bool holds_at(double alpha, const std::vector<double>& v) const {
    double drift = 0.0;
    for (const Index i : candidates_) drift += reach_[at(i)] * std::abs(v[at(i)] - near_[at(i)]);
    return alpha * drift * (1.0 + kRounding) <= room_;
  }

 private:
  static constexpr double kRounding = 1e-9;  // of a sum of products, with room to spare
  static constexpr int kPause = 16;

  std::vector<double> near_, base_, reach_;  // (n)
  std::vector<Index> candidates_;
  double room_ = 0.0, outside_ = 0.0;
  int pause_ = 0;
};

inline void Screen::look_ahead(double alpha, ConstVec m, const std::vector<double>& next, Index k) {
  double moved = 0.0, weight = 0.0, widest = 0.0, last = std::numeric_limits<double>::infinity();
  Index positive = 0;
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (next[i] == 0.0 && near_[i] == 0.0) continue;
    moved += alpha * reach_[i] * std::abs(next[i] - near_[i]);
    weight += alpha * reach_[i] * near_[i];
    widest = std::max(widest, reach_[i]);
    if (next[i] == 0.0) continue;
    ++positive;
    last = std::min(last, next[i]);
  }
  if (positive < k) last = 0.0;
  const auto highest = [&](std::size_t i) {
    return base_[i] + reach_[i] * (room_ + kRounding * (room_ + weight)) +
           kRounding * alpha * std::abs(m[i]);
  };
  const auto matters = [&](std::size_t i) {
    return next[i] != 0.0 || near_[i] != 0.0 || !(highest(i) < last - widest * room_);
  };
  // As much room as leaves few of them.
  const std::size_t few = next.size() / 16;
  for (room_ = std::min(256.0 * moved, std::numeric_limits<double>::max()); room_ > moved;
       room_ *= 0.25) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < next.size(); ++i) count += matters(i) ? 1 : 0;
    if (count <= few) break;
  }
  pause_ = kPause;
  if (!(room_ > moved)) return;
  outside_ = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (matters(i))
      candidates_.push_back(static_cast<Index>(i));
    else
      outside_ = std::max(outside_, highest(i));
  }
  pause_ = 0;
}

}  // namespace sharpen::baseline
