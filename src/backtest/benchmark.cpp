#include "backtest/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/vec.hpp"
#include "market/file_or_text.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::backtest {

namespace {

std::vector<double> take_column(market::Panel& returns, Index column) {
  const std::string ticker = returns.tickers[at(column)];
  if (returns.n() == 1)
    throw InputError(fmt::format(
        "benchmark = {} is the only asset, and nothing would be left to hold", printable(ticker)));
  const ConstMat all = returns.matrix();
  std::vector<double> own, others;
  for (Index t = 0; t < all.rows; ++t)
    for (Index j = 0; j < all.cols; ++j) (j == column ? own : others).push_back(all(t, j));
  returns.left_out.push_back(ticker);
  returns.tickers.erase(returns.tickers.begin() + column);
  returns.values = std::move(others);
  return own;
}

[[noreturn]] void refuse_unknown(const std::string& asked, const market::Panel& returns) {
  const std::vector<std::string_view> known(returns.tickers.begin(), returns.tickers.end());
  const std::string guess = did_you_mean(asked, known);
  throw InputError(fmt::format(
      "benchmark = {}: the panel has no such ticker, and no such file is there{}", printable(asked),
      guess.empty() ? "; name one of its columns, or a CSV of date,price" : guess));
}

// The line of a row, behind the header and the lines without anything.
std::size_t line_of(std::string_view text, std::size_t row) {
  std::size_t line = 1, rows = 0;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const bool blank =
        text.substr(at, end - at).find_first_not_of(" \t\r") == std::string_view::npos;
    if (!blank && rows++ == row + 1) return line;
    at = end + 1;
  }
  return line;
}

// What the numbers of a benchmark are, by all of them: simple returns are not positive often, or
// all small; gross returns jump about 1; else they are prices.
market::PanelKind kind_of(const market::RawPanel& raw, std::vector<std::string>& warnings) {
  constexpr double kOften = 0.1, kSmall = 0.2;
  double not_positive = 0.0, largest = 0.0, least = kInfinity;
  for (const double value : raw.panel.values) {
    if (std::isnan(value)) continue;
    not_positive += value <= 0.0 ? 1.0 : 0.0;
    largest = std::max(largest, std::abs(value));
    least = std::min(least, value);
  }
  const auto count = static_cast<double>(raw.panel.values.size());
  if (not_positive > kOften * count) return market::PanelKind::returns;
  if (largest < kSmall) {
    if (not_positive == 0.0)
      warnings.push_back(fmt::format(
          "{}: the values, from {:.3g} to {:.3g}, are taken as returns; if they are prices, "
          "multiply them by 1000",
          shown_file(raw.file), least, largest));
    return market::PanelKind::returns;
  }
  if (not_positive == 0.0 && !market::doubt_of_kind(raw).empty())
    return market::PanelKind::gross_returns;
  return market::PanelKind::prices;
}

// A benchmark is taken as it is: what looks like no return is said.
void doubt_moves(const market::Panel& panel, market::PanelKind kind, const std::string& name,
                 std::vector<std::string>& warnings) {
  using market::Rule;
  const market::Cleaned looked =
      market::clean(panel, {.kind = kind, .on_suspect = market::OnSuspect::report});
  for (const market::Finding& finding : looked.findings)
    if (finding.rule == Rule::print || finding.rule == Rule::split || finding.rule == Rule::jump)
      warnings.push_back(fmt::format(
          "{}: {} {} by {:.4g} on {} ({}), and is taken as it is: {} Correct the file if it is no "
          "return",
          shown_file(name), printable(panel.tickers.front(), 24),
          finding.size < 1.0 ? "is divided" : "is multiplied",
          finding.size < 1.0 ? 1.0 / finding.size : finding.size, finding.first_date,
          market::name(finding.rule), finding.question));
}

market::Panel returns_in(const std::string& asked, const std::string& name,
                         std::vector<std::string>& warnings) {
  using market::PanelKind;
  const market::FileOrText content(asked, "benchmark");
  market::RawPanel raw{
      .file = name,
      .kind = PanelKind::prices,
      .panel = market::parse_panel(content.text(), name, PanelKind::prices, market::Cells::raw)};
  if (raw.panel.n() != 1)
    throw InputError(
        fmt::format("{}: a benchmark is one column beside the dates, and there are {} ({}, {}{}); "
                    "keep one",
                    shown_file(name), raw.panel.n(), printable(raw.panel.tickers[0], 24),
                    printable(raw.panel.tickers[1], 24), raw.panel.n() > 2 ? ", …" : ""));
  raw.kind = kind_of(raw, warnings);
  for (std::size_t t = 0; t < raw.panel.dates.size(); ++t) {
    const double value = raw.panel.values[t];
    if (raw.kind == PanelKind::returns && value < -1.0)
      throw InputError(fmt::format(
          "{}: {} is neither a price nor a return: prices are positive, and nothing loses more "
          "than all of its value (-1); correct it",
          shown_file(name), shortest(value)));
    if (raw.kind == PanelKind::prices && value <= 0.0)
      throw InputError(fmt::format(
          "{}:{}: {} on {} is no price, and the others look like prices; correct it, or leave the "
          "cell empty",
          shown_file(name), line_of(content.text(), t), shortest(value), raw.panel.dates[t]));
  }
  // A cell without a value is as a row that is not there.
  market::Panel kept;
  kept.tickers = raw.panel.tickers;
  for (std::size_t t = 0; t < raw.panel.dates.size(); ++t)
    if (std::isfinite(raw.panel.values[t])) {
      kept.dates.push_back(raw.panel.dates[t]);
      kept.values.push_back(raw.panel.values[t]);
    }
  doubt_moves(kept, raw.kind, name, warnings);
  return market::simple_returns(kept, raw.kind);
}

// Of the rows of the panel: what the file's rows after the date before come to.
std::vector<double> matched(const market::Panel& own, const market::Panel& returns) {
  std::vector<double> out;
  std::size_t next = 0;
  for (std::size_t t = 0; t < returns.dates.size(); ++t) {
    // Before the first row of the panel nothing says how far back it reaches: one row.
    const auto reached = static_cast<std::size_t>(
        std::ranges::upper_bound(own.dates, returns.dates[t]) - own.dates.begin());
    if (t == 0) next = reached == 0 ? 0 : reached - 1;
    const bool there = reached > 0 && own.dates[reached - 1] == returns.dates[t];
    if (!there) {
      out.push_back(kNaN);
      continue;  // what it did meanwhile is in the next row that is there
    }
    double growth = 1.0;
    for (; next < reached; ++next) growth *= 1.0 + own.values[next];
    out.push_back(growth - 1.0);
  }
  return out;
}

}  // namespace

std::vector<double> Benchmark::over(const Run& run) const {
  const auto first = returns.begin() + run.first_row;
  std::vector<double> some(first, first + run.periods());
  for (std::size_t t = 0; t < some.size(); ++t)
    if (!std::isfinite(some[t]))
      throw InputError(fmt::format(
          "benchmark = {} has no return on {}; choose another one, or dates where it is complete",
          printable(name), run.dates[t]));
  return some;
}

Benchmark take_benchmark(const std::string& asked, market::Panel& returns) {
  if (asked.empty()) return {};
  const auto found = std::ranges::find(returns.tickers, asked);
  if (found != returns.tickers.end()) {
    std::vector<double> own = take_column(returns, found - returns.tickers.begin());
    return {asked, std::move(own), {}};
  }
  std::error_code ignored;
  if (!market::is_text(asked) && !std::filesystem::is_regular_file(asked, ignored))
    refuse_unknown(asked, returns);
  std::vector<std::string> warnings;
  const market::Panel own = returns_in(asked, market::name_of_file(asked, "benchmark"), warnings);
  return {own.tickers.front(), matched(own, returns), std::move(warnings)};
}

}  // namespace sharpen::backtest
