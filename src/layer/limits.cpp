#include "sharpen/layer/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "layer/limit_table.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::layer {

namespace {

void check_size(std::string_view what, const std::vector<double>& values, Index n) {
  if (static_cast<Index>(values.size()) != n)
    throw InputError(fmt::format("limits: {} has {} entries for {} assets: give one each", what,
                                 values.size(), n));
}

void check_finite(std::string_view what, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      throw InputError(
          fmt::format("limits: {} of asset {} is {}: it must be finite", what, i + 1, values[i]));
}

// An interval that is not empty, whose ends may be infinite on their own side. `what` is put into
// words only where it is needed: limits are checked at every decision.
template <class What>
void check_interval(const What& what, double lower, double upper) {
  if (lower <= upper && lower < kUnlimited && upper > -kUnlimited) return;
  throw InputError(fmt::format(
      "limits: {} must lie between {} and {}, and nothing does: make the first the smaller one",
      what(), lower, upper));
}

void check_total(std::string_view what, double limit) {
  if (!(limit >= 0.0))
    throw InputError(fmt::format("limits: {} is at most {}: it must be 0 or more", what, limit));
}

}  // namespace

void Limits::validate(Index n) const {
  if (!lower.empty()) check_size("lower", lower, n);
  if (!upper.empty()) check_size("upper", upper, n);
  for (Index i = 0; i < n; ++i)
    check_interval([&] { return fmt::format("the weight of asset {}", i + 1); },
                   lower.empty() ? -kUnlimited : lower[at(i)],
                   upper.empty() ? kUnlimited : upper[at(i)]);
  for (const LimitRow& row : rows) {
    check_size("row '" + row.name + "'", row.coefficients, n);
    check_finite("row '" + row.name + "'", row.coefficients);
    check_interval([&] { return "row '" + row.name + "'"; }, row.lower, row.upper);
  }
  if (!least_if_held.empty()) check_size("least_if_held", least_if_held, n);
  check_finite("least_if_held", least_if_held);
  for (const NamesLimit& group : names)
    for (const Index member : group.members)
      if (member < 0 || member >= n)
        throw InputError(fmt::format("limits: names of '{}': there is no asset {} of {}",
                                     group.name, member + 1, n));
  check_total("gross", gross);
  check_total("turnover", turnover);
  if (holdings.empty() && (turnover < kUnlimited || !costs.empty()))
    throw InputError("limits: turnover and costs count from what is held: give holdings");
  if (!holdings.empty()) check_size("holdings", holdings, n);
  check_finite("holdings", holdings);
  if (!costs.empty()) check_size("costs", costs, n);
  check_finite("costs", costs);
  for (std::size_t i = 0; i < costs.size(); ++i)
    if (costs[i] < 0.0)
      throw InputError(
          fmt::format("limits: the cost of asset {} is {}: it must be 0 or more", i + 1, costs[i]));
}

LimitTable::LimitTable(const Limits& limits, Index n_, Index rows_)
    : n(n_),
      rows(std::max(static_cast<Index>(limits.rows.size()), rows_) + 2),
      lower(limits.lower),
      upper(limits.upper),
      holdings(limits.holdings),
      costs(limits.costs),
      zero_is_knot(limits.gross < kUnlimited),
      trades_count(!limits.holdings.empty()) {
  lower.resize(at(n), -kUnlimited);
  upper.resize(at(n), kUnlimited);
  holdings.resize(at(n));
  costs.resize(at(n));
  std::vector<double> both;
  for (const LimitRow& row : limits.rows) {
    both.insert(both.end(), row.coefficients.begin(), row.coefficients.end());
    row_lower.push_back(row.lower);
    row_upper.push_back(row.upper);
    double largest = 0.0;
    for (const double a : row.coefficients) largest = std::max(largest, std::abs(a));
    row_size.push_back(largest);
    const bool counts_all =
        std::ranges::all_of(row.coefficients, [](double a) { return a == 1.0; });
    if (net < 0 && counts_all && row.lower == 0.0 && row.upper > 0.0)
      net = static_cast<Index>(row_size.size()) - 1;
  }
  const std::size_t size = at(plain() * n);
  both.resize(2 * size);
  for (Index r = 0; r < plain(); ++r)
    for (Index i = 0; i < n; ++i) both[size + at(i * plain() + r)] = both[at(r * n + i)];
  coefficients = std::make_shared<const std::vector<double>>(std::move(both));
  A = ConstVec(*coefficients).first(size);
  by_asset = ConstVec(*coefficients).subspan(size);
  row_lower.resize(at(rows), -kUnlimited);
  row_upper.resize(at(plain()), kUnlimited);
  row_size.resize(at(rows), 1.0);
  row_upper.push_back(limits.gross);
  row_upper.push_back(trades_count ? limits.turnover : kUnlimited);
}

double LimitTable::part(Index r, Index i, double w) const {
  if (r < plain()) return A[at(r * n + i)] * w;
  return r == gross() ? std::abs(w) : std::abs(w - holdings[at(i)]);
}

double LimitTable::next_above(Index i, double w) const {
  double knot = upper[at(i)];
  if (zero_is_knot && w < 0.0) knot = std::min(knot, 0.0);
  if (holding_is_knot(i) && w < holdings[at(i)]) knot = std::min(knot, holdings[at(i)]);
  return knot;
}

double LimitTable::next_below(Index i, double w) const {
  double knot = lower[at(i)];
  if (zero_is_knot && w > 0.0) knot = std::max(knot, 0.0);
  if (holding_is_knot(i) && w > holdings[at(i)]) knot = std::max(knot, holdings[at(i)]);
  return knot;
}

bool LimitTable::is_knot(Index i, double w) const {
  return w <= lower[at(i)] || w >= upper[at(i)] || (zero_is_knot && w == 0.0) ||
         (holding_is_knot(i) && w == holdings[at(i)]);
}

}  // namespace sharpen::layer
