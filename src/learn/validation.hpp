// What an ensemble is judged by: what it would have earned on the validation part.
//
// Every member expects; the mean of their directions, with the memory of the days before, is the
// signal; decisions are made day by day, by the rule, from what is held, and the account pays for
// them. With the rule none and no memory the decision is the k best by the layer's score.
// Neither beta nor the mode of re-optimisation has a say, and it is the same for every alpha.
#pragma once

#include <vector>

#include "learn/member.hpp"
#include "sharpen/trade/settings.hpp"

namespace sharpen::learn {

class Validation {
 public:
  // data and settings must outlive it.
  Validation(const Dataset& data, const TrainSettings& settings, double periods_per_year);

  Index first() const { return first_; }  // sample that it needs expectations of
  // What a member expects of the samples from first() on: (days, n), to be filled.
  Mat expectations(Index member);
  // Once all have been filled.
  Verdict judge(const Threads& threads);

 private:
  Index days() const { return last_ - first_; }
  void find_signals(const Threads& threads);
  std::vector<solve::Answer> ideal_answers(const Threads& threads) const;
  // Over the names of the day; mu: memory for their signals.
  solve::Problem problem(Index day, std::vector<double>& mu) const;
  std::span<const Index> names_of(Index day) const;

  const Dataset* data_;
  const TrainSettings* settings_;
  double periods_per_year_;
  trade::Ruling ruling_;
  const solve::OptimizerInfo* optimizer_;
  solve::OptimizerSettings decision_;
  Index first_, last_;          // samples [first_, last_)
  std::vector<Index> all_;      // (n) every asset
  std::vector<double> mu_;      // (days, members, n)
  std::vector<double> signal_;  // (days, n)
};

}  // namespace sharpen::learn
