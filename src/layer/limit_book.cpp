#include "layer/limit_book.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "base/vec.hpp"
#include "layer/feasibility.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::layer {

namespace {

// The entries of `all` at `assets`.
std::vector<double> picked(const std::vector<double>& all, std::span<const Index> assets) {
  std::vector<double> out;
  for (const Index asset : assets) out.push_back(all[at(asset)]);
  return out;
}

// cov(r_i, m) / var(m) over the window (T, n), m being column `against` or (-1) the mean of all.
// Zero where m never moves.
std::vector<double> betas_of(ConstMat window, Index against) {
  const Index T = window.rows, n = window.cols;
  const auto scale = 1.0 / static_cast<double>(n);
  std::vector<double> m(at(T)), betas(at(n)), mean(at(n));
  for (Index t = 0; t < T; ++t)
    m[at(t)] = against >= 0 ? window(t, against) : scale * sum(window.row(t));
  const double middle = sum(m) / static_cast<double>(T);
  for (double& x : m) x -= middle;
  const double variance = dot(m, m);
  for (Index t = 0; t < T; ++t)
    for (Index i = 0; i < n; ++i) mean[at(i)] += window(t, i);
  for (double& x : mean) x /= static_cast<double>(T);
  for (Index t = 0; t < T; ++t)
    for (Index i = 0; i < n; ++i) betas[at(i)] += m[at(t)] * (window(t, i) - mean[at(i)]);
  for (double& beta : betas) {
    beta /= variance;
    if (!std::isfinite(beta)) beta = 0.0;
  }
  return betas;
}

}  // namespace

LimitBook::LimitBook(std::shared_ptr<const LimitRules> rules, std::vector<std::string> tickers,
                     std::span<const std::string> known, Net net, Objective objective,
                     std::string_view first, std::string_view last)
    : bound_(std::make_shared<const BoundLimits>(std::move(rules), std::move(tickers), known, net,
                                                 objective)) {
  bound_->check_conflicts(first, last);
}

bool LimitBook::changes() const { return needs_returns() || !bound_->dates.empty(); }

Index LimitBook::rows() const { return std::ssize(bound_->rows); }

bool LimitBook::needs_returns() const {
  return std::ranges::any_of(
      bound_->rows, [](const BoundLimits::Row& row) { return row.uses(BoundLimits::Kind::beta); });
}

const std::string& LimitBook::beta_against() const { return bound_->rules->beta_against; }

Limits LimitBook::at(std::span<const Index> columns, std::string_view date, ConstMat window,
                     ConstVec holdings) const {
  if (!needs_returns()) return with_betas(columns, date, {}, holdings);
  if (window.rows < 2 || window.cols != static_cast<Index>(columns.size()))
    throw InputError(
        "rows of limits name beta, for which there are no returns: give betas as a "
        "column of coefficients");
  Index against = -1;
  if (!beta_against().empty()) {
    const auto found = std::ranges::find(columns, bound_->asset_ids.at(beta_against()));
    if (found == columns.end())
      throw InputError(
          fmt::format("beta_against: asset {} is not among those to choose from{}: "
                      "keep it, or leave the key out",
                      shown(beta_against()), date.empty() ? "" : fmt::format(" on {}", date)));
    against = found - columns.begin();
  }
  return with_betas(columns, date, betas_of(window, against), holdings);
}

Limits LimitBook::with_betas(std::span<const Index> columns, std::string_view date, ConstVec betas,
                             ConstVec holdings) const {
  if (const auto fault = bound_->missing(columns, date)) throw InputError(*fault);
  return bound_->limits(columns, date, betas, holdings);
}

// A line that is not after the date counts until the next one; of "", the latest does.
Index BoundLimits::line_of(Index column, Index asset, std::string_view date) const {
  const std::vector<Index>& own = lines[at(column)][at(asset)];
  const auto from = [&](Index l) -> std::string_view {
    return rules->coefficients.lines[at(l)].from;
  };
  const auto after = date.empty() ? own.end() : std::ranges::upper_bound(own, date, {}, from);
  return after == own.begin() ? -1 : *std::prev(after);
}

std::optional<std::string> BoundLimits::missing(std::span<const Index> assets,
                                                std::string_view date) const {
  for (const Row& row : rows)
    for (const Term& term : row.terms) {
      if (term.kind != Kind::coefficient) continue;
      for (const Index asset : assets) {
        if (line_of(term.id, asset, date) >= 0) continue;
        const Index first = lines[at(term.id)][at(asset)].front();
        return fmt::format(
            "row {}: asset {} has no {} on {}, the first is of {}: add an earlier line",
            shown(row.name), shown(tickers[at(asset)]),
            shown(rules->coefficients.names[at(term.id)]), date,
            rules->coefficients.lines[at(first)].from);
      }
    }
  return std::nullopt;
}

LimitRow BoundLimits::row_of(const Row& row, std::span<const Index> assets, std::string_view date,
                             ConstVec betas, const std::vector<std::vector<Index>>& members) const {
  LimitRow out{row.name, std::vector<double>(assets.size()), row.lower, row.upper};
  std::vector<double>& a = out.coefficients;
  for (const Term& term : row.terms) {
    if (term.kind == Kind::group) {
      for (const Index i : members[at(term.id)]) a[at(i)] += term.factor;
      continue;
    }
    for (std::size_t i = 0; i < assets.size(); ++i) {
      if (term.kind == Kind::net) a[i] += term.factor;
      if (term.kind == Kind::asset && assets[i] == term.id) a[i] += term.factor;
      if (term.kind == Kind::beta) a[i] += term.factor * betas[i];
      if (term.kind == Kind::coefficient)
        a[i] += term.factor * coefficient(term.id, line_of(term.id, assets[i], date));
    }
  }
  return out;
}

// Rows that name beta are left out: they are different every day. Most dates change little, and
// what held on one of them mostly holds on the next.
void BoundLimits::check_conflicts(std::string_view first, std::string_view last) const {
  std::vector<Index> assets(tickers.size());
  std::iota(assets.begin(), assets.end(), Index{0});
  std::vector<std::string> when = {std::string(first)};
  for (const std::string& date : dates)
    if (!first.empty() && date > first && date <= last) when.push_back(date);
  const ObjectiveSettings settings{.kind = objective};
  std::vector<double> w;
  for (const std::string& date : when) {
    if (const auto fault = missing(assets, date)) throw InputError(*fault);
    const Limits all = limits(assets, date, {}, {});
    const Limits with_net = with_net_row(all, std::ssize(assets), objective);
    if (w.empty())
      w = even_weights(all, std::ssize(assets), objective == Objective::sharpe ? 1.0 : 0.0);
    if (holds(with_net, w)) continue;
    Feasibility found = feasibility(with_net, std::ssize(assets));
    w.clear();
    if (found.answer == Feasibility::Answer::yes) w = std::move(found.w);
    if (found.answer != Feasibility::Answer::no) continue;
    const std::string fault = conflict_in_words(all, tickers, settings);
    throw InputError(date.empty() || dates.empty() ? fault : fmt::format("{} ({})", fault, date));
  }
}

// Rows stay where they are, whichever assets there are, so that one solution can start another.
Limits BoundLimits::limits(std::span<const Index> assets, std::string_view date, ConstVec betas,
                           ConstVec held) const {
  Limits out;
  if (bounded_below) out.lower = picked(lower, assets);
  if (bounded_above) out.upper = picked(upper, assets);
  if (any_least) out.least_if_held = picked(least_if_held, assets);
  std::vector<std::vector<Index>> members(group_ids.size());  // of each group, ascending
  for (std::size_t i = 0; i < assets.size(); ++i)
    if (const std::vector<Index>* joined = groups[at(assets[i])].as_of(date))
      for (const Index id : *joined) members[at(id)].push_back(static_cast<Index>(i));
  for (const Row& row : rows)
    if (!row.uses(Kind::beta) || !betas.empty())
      out.rows.push_back(row_of(row, assets, date, betas, members));
  for (const Names& of : names)
    out.names.push_back({of.rule.group, members[at(of.group)], of.rule.least, of.rule.most});
  out.gross = rules->max_gross.value_or(kUnlimited);
  if (objective == Objective::sharpe && out.gross == 1.0) {  // with a net position of 1: long only
    out.gross = kUnlimited;
    out.lower.resize(assets.size(), 0.0);
    for (double& low : out.lower) low = std::max(low, 0.0);
  }
  if (!held.empty())
    out.holdings.assign(held.begin(), held.end());
  else if (!holdings.empty())
    out.holdings = picked(holdings, assets);
  // The first purchase is exempt from turnover: from cash there is no other way to begin.
  if (std::ranges::any_of(out.holdings, [](double h) { return h != 0.0; }))
    out.turnover = rules->max_turnover.value_or(kUnlimited);
  return out;
}

}  // namespace sharpen::layer
