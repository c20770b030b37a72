// An irreducible set of limits that cannot hold together, in words. The multipliers of a proof say
// which limits it rests on; each of these is left out in turn, and stays out if the others cannot
// hold together either.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "layer/feasibility.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/layer/limit_rules.hpp"

namespace sharpen::layer {

namespace {

bool cannot_hold(const Feasibility& found) { return found.answer == Feasibility::Answer::no; }

// The limits that a proof rests on, and no others.
Limits resting_on(const Limits& limits, Index n, ConstVec proof) {
  const ProofParts parts = parts_of(limits, n, proof);
  if (!(parts.gap > 0.0)) return limits;
  Limits out = limits;
  for (std::size_t r = 0; r < out.rows.size(); ++r) {
    LimitRow& row = out.rows[r];
    if (proof[r] <= 0.0) row.upper = kUnlimited;
    if (proof[r] >= 0.0) row.lower = -kUnlimited;
  }
  for (std::size_t i = 0; i < out.lower.size(); ++i)
    if (parts.lower[i] == 0.0) out.lower[i] = -kUnlimited;
  for (std::size_t i = 0; i < out.upper.size(); ++i)
    if (parts.upper[i] == 0.0) out.upper[i] = kUnlimited;
  if (parts.rows[out.rows.size()] == 0.0) out.gross = kUnlimited;
  if (parts.rows[out.rows.size() + 1] == 0.0) out.turnover = kUnlimited;
  return cannot_hold(feasibility(out, n)) ? out : limits;
}

std::string percent(double x) { return fmt::format("{:.6g} %", 100.0 * x); }

// "A, B and C".
std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return out;
}

class Conflict {
 public:
  Conflict(Limits limits, std::span<const std::string> tickers, bool of_sharpe)
      : all_(std::move(limits)),
        left_(all_),
        tickers_(tickers),
        n_(static_cast<Index>(tickers.size())),
        of_sharpe_(of_sharpe) {}

  std::string words();

 private:
  // Whether the rest cannot hold together without it.
  bool drop(const auto& change) {
    Limits fewer = left_;
    change(fewer);
    const Feasibility found = feasibility(fewer, n_);
    if (!cannot_hold(found)) return false;
    left_ = resting_on(fewer, n_, found.proof);
    return true;
  }
  void reduce();
  void reduce_bounds(std::vector<double> Limits::*bounds, double none);
  void say_row(const LimitRow& row);
  void say_bounds(const std::vector<double>& all, const std::vector<double>& left, bool lower);

  Limits all_;
  Limits left_;
  std::span<const std::string> tickers_;
  Index n_;
  bool of_sharpe_;
  std::vector<std::string> said_;
};

// Bounds of the same size go together: they are one limit to whoever wrote them.
void Conflict::reduce_bounds(std::vector<double> Limits::*bounds, double none) {
  std::vector<double> sizes = left_.*bounds;
  std::ranges::sort(sizes);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  for (const double size : sizes)
    if (size != none)
      drop([&](Limits& limits) { std::ranges::replace(limits.*bounds, size, none); });
}

void Conflict::reduce() {
  if (left_.turnover < kUnlimited) drop([](Limits& limits) { limits.turnover = kUnlimited; });
  if (left_.gross < kUnlimited) drop([](Limits& limits) { limits.gross = kUnlimited; });
  reduce_bounds(&Limits::lower, -kUnlimited);
  reduce_bounds(&Limits::upper, kUnlimited);
  // Weights that add up to 1 come last: they are only left out to learn whether they matter.
  for (std::size_t r = 0; r < left_.rows.size(); ++r) {
    if (left_.rows[r].lower == -kUnlimited && left_.rows[r].upper == kUnlimited) continue;
    drop([&](Limits& limits) {
      limits.rows[r].lower = -kUnlimited;
      limits.rows[r].upper = kUnlimited;
    });
  }
}

// A row of rules is called by its text, others have a name only.
void Conflict::say_row(const LimitRow& row) {
  if (row.lower == -kUnlimited && row.upper == kUnlimited) return;
  if (row.name.find_first_of("<>=") != std::string::npos)
    said_.push_back(printable(row.name));
  else if (row.upper < kUnlimited)
    said_.push_back(fmt::format("{} <= {}", printable(row.name), shortest(row.upper)));
  else
    said_.push_back(fmt::format("{} >= {}", printable(row.name), shortest(row.lower)));
}

void Conflict::say_bounds(const std::vector<double>& all, const std::vector<double>& left,
                          bool lower) {
  std::map<double, std::vector<std::size_t>> members;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (std::isfinite(left[i])) members[left[i]].push_back(i);
  for (const auto& [bound, assets] : members) {
    const std::string limit = fmt::format("{} {}", lower ? ">=" : "<=", percent(bound));
    if (std::ranges::count(all, bound) == n_ && assets.size() > 1) {
      said_.push_back(fmt::format("every weight {} ({} assets)", limit, n_));
      continue;
    }
    constexpr std::size_t kMost = 3;
    std::vector<std::string> names;
    for (std::size_t a = 0; a < std::min(assets.size(), kMost); ++a)
      names.push_back(printable(tickers_[assets[a]]));
    if (assets.size() > kMost) names.push_back(fmt::format("{} more", assets.size() - kMost));
    said_.push_back(
        fmt::format("the weight{} of {} {}", names.size() > 1 ? "s" : "", listed(names), limit));
  }
}

std::string Conflict::words() {
  const Feasibility found = feasibility(left_, n_);
  if (!cannot_hold(found)) return {};
  left_ = resting_on(left_, n_, found.proof);
  reduce();
  const std::size_t rows = left_.rows.size() - (of_sharpe_ ? 1 : 0);
  for (std::size_t r = 0; r < rows; ++r) say_row(left_.rows[r]);
  say_bounds(all_.lower, left_.lower, true);
  say_bounds(all_.upper, left_.upper, false);
  if (left_.gross < kUnlimited) said_.push_back("gross <= " + shortest(left_.gross));
  if (left_.turnover < kUnlimited)
    said_.push_back(fmt::format("turnover <= {} from what is held", shortest(left_.turnover)));
  const bool add_up =
      of_sharpe_ && (left_.rows.back().lower > -kUnlimited || left_.rows.back().upper < kUnlimited);
  const bool one = said_.size() == 1;
  return fmt::format("{} cannot hold{}{}: relax {}", listed(said_), one ? "" : " together",
                     add_up ? " with weights that add up to 1" : "", one ? "it" : "one of them");
}

}  // namespace

std::string conflict_in_words(const Limits& limits, std::span<const std::string> tickers,
                              const ObjectiveSettings& objective) {
  const auto n = static_cast<Index>(tickers.size());
  const bool of_sharpe = objective.kind == Objective::sharpe;
  return Conflict(with_net_row(limits, n, objective.kind), tickers, of_sharpe).words();
}

}  // namespace sharpen::layer
