#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "sharpen/backtest/policies.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::backtest {

namespace {

std::string and_more(std::size_t missing) {
  return missing > 1 ? fmt::format(" (and {} more)", missing - 1) : std::string();
}

// The signal's column for each of the panel's tickers.
std::vector<Index> matched_columns(const market::Panel& signal, const market::Panel& returns) {
  std::unordered_map<std::string_view, Index> column_of;
  for (Index j = 0; j < signal.n(); ++j) column_of.emplace(signal.tickers[at(j)], j);
  std::vector<Index> columns;
  std::vector<std::string_view> missing;
  for (const std::string& ticker : returns.tickers) {
    const auto found = column_of.find(ticker);
    if (found == column_of.end())
      missing.push_back(ticker);
    else
      columns.push_back(found->second);
  }
  if (!missing.empty()) {
    throw InputError(fmt::format(
        "the signal has no column for ticker {}{}; add it, or leave the asset out by ‹--tickers›",
        printable(missing.front()), and_more(missing.size())));
  }
  return columns;
}

// The signal's row for each decision.
std::vector<Index> matched_rows(const market::Panel& signal, const market::Panel& returns,
                                std::span<const Index> rows) {
  std::vector<Index> matched;
  std::vector<std::string_view> missing;
  for (const Index row : rows) {
    if (row < 0)
      throw InputError(
          "the signal cannot have a row before the first return; give ‹min-history› >= 2");
    const std::string& date = returns.dates[at(row)];
    const auto found = std::lower_bound(signal.dates.begin(), signal.dates.end(), date);
    if (found == signal.dates.end() || *found != date)
      missing.push_back(date);
    else
      matched.push_back(found - signal.dates.begin());
  }
  if (!missing.empty()) {
    const std::string range =
        signal.dates.empty() ? "nothing"
                             : fmt::format("{} to {}", signal.dates.front(), signal.dates.back());
    throw InputError(
        fmt::format("the signal has no row for {}{}, where a decision is due (it covers {}); add "
                    "the rows, or choose the periods to trade by ‹--split DATE› and ‹--to DATE›",
                    missing.front(), and_more(missing.size()), range));
  }
  return matched;
}

}  // namespace

GivenSignal::GivenSignal(const market::Panel& signal, const market::Panel& returns,
                         std::span<const Index> rows,
                         const std::function<bool(Index row, Index asset)>& may_lack,
                         std::span<const Index> optional)
    : n_(returns.n()), slot_(at(returns.rows()), -1) {
  const std::vector<Index> columns = matched_columns(signal, returns);
  const std::vector<Index> from = matched_rows(signal, returns, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ConstVec values = signal.matrix().row(from[i]);
    for (std::size_t j = 0; j < columns.size(); ++j)
      if (!std::isfinite(values[at(columns[j])]) && !may_lack(rows[i], static_cast<Index>(j)))
        throw InputError(fmt::format(
            "the signal has no value for ticker {} on {}; fill it, or use ‹--universe available›",
            printable(returns.tickers[j]), signal.dates[at(from[i])]));
    take(rows[i], values, columns);
  }
  for (const Index panel_row : optional) {
    const std::string& date = returns.dates[at(panel_row)];
    const auto found = std::ranges::lower_bound(signal.dates, date);
    if (slot_[at(panel_row)] < 0 && found != signal.dates.end() && *found == date)
      take(panel_row, signal.matrix().row(found - signal.dates.begin()), columns);
  }
}

void GivenSignal::take(Index panel_row, ConstVec signal, std::span<const Index> columns) {
  slot_[at(panel_row)] = static_cast<Index>(values_.size()) / n_;
  for (const Index column : columns) {
    const double value = signal[at(column)];
    values_.push_back(std::isfinite(value) ? Expectation(value) : Expectation());
  }
}

GivenSignal::GivenSignal(const market::Panel& returns, std::span<const Index> rows,
                         std::vector<Expectation> values)
    : n_(returns.n()), slot_(at(returns.rows()), -1), values_(std::move(values)) {
  for (std::size_t i = 0; i < rows.size(); ++i) slot_[at(rows[i])] = static_cast<Index>(i);
}

const Expectation* GivenSignal::row(Index panel_row) const {
  const Index slot = panel_row < 0 ? -1 : slot_[at(panel_row)];
  return slot < 0 ? nullptr : values_.data() + slot * n_;
}

void GivenSignal::expected_returns(const WindowBatch& batch, Index i, Vec mu) const {
  const Expectation* expected = row(batch.decision_row(i));
  for (std::size_t j = 0; j < mu.size(); ++j)
    mu[j] = (expected == nullptr ? Expectation() : expected[batch.assets[j]]).value();
}

bool GivenSignal::has(Index panel_row, Index asset) const {
  const Expectation* expected = row(panel_row);
  return expected != nullptr && expected[asset].holdable();
}

}  // namespace sharpen::backtest
