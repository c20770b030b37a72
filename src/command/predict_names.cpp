#include "command/predict_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backtest/benchmark.hpp"
#include "backtest/tradable.hpp"
#include "command/predict_input.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/members.hpp"

namespace sharpen::command {

namespace {

using settings::Origin;
using settings::Values;

// The first row of the window without a return; -1: it is complete.
Index first_gap(const PredictInput& input, Index column) {
  const Index first = input.returns.rows() - input.window.rows;
  for (Index t = first; t < input.returns.rows(); ++t)
    if (!std::isfinite(input.returns.matrix()(t, column))) return t;
  return -1;
}

void refuse_gaps(const PredictInput& input) {
  std::vector<std::string> gaps;
  for (Index j = 0; j < input.returns.n(); ++j)
    if (const Index row = first_gap(input, j); row >= 0)
      gaps.push_back(fmt::format("{} (on {})", printable(input.returns.tickers[at(j)], 24),
                                 input.returns.dates[at(row)]));
  if (gaps.empty()) return;
  const bool shared = input.model.settings.network == learn::NetworkKind::shared;
  throw InputError(fmt::format(
      "{}: {} of the {} assets that the model needs lack a return in its window, {} to {}: {}; "
      "complete the file{}",
      shown_file(input.file), gaps.size(), input.model.n(), input.window.from, input.window.to,
      some_names(gaps, kMostNames),
      shared ? ", or give ‹--universe available› to decide without them" : ""));
}

}  // namespace

bool names_may_lack(const Values& values, const learn::Model& model) {
  if (model.settings.network != learn::NetworkKind::shared) return false;
  const Origin origin = values.origin("universe");
  const bool said = origin == Origin::flag || origin == Origin::file;
  return values.has("members") || (said && values.text("universe") == "available");
}

market::Panel with_columns(const market::Panel& panel, const std::vector<std::string>& tickers) {
  market::Panel out{panel.dates, tickers, {}, panel.left_out};
  std::vector<Index> columns;
  for (const std::string& ticker : tickers) {
    const auto found = std::ranges::find(panel.tickers, ticker);
    columns.push_back(found == panel.tickers.end() ? -1 : found - panel.tickers.begin());
    std::erase(out.left_out, ticker);
  }
  for (Index t = 0; t < panel.rows(); ++t)
    for (const Index column : columns)
      out.values.push_back(column < 0 ? std::numeric_limits<double>::quiet_NaN()
                                      : panel.matrix()(t, column));
  return out;
}

void choose_names(const Values& values, PredictInput& input) {
  const learn::Model& model = input.model;
  if (values.has("members") && model.settings.network != learn::NetworkKind::shared)
    throw InputError(
        "members cannot go with a model of network = joint, which needs every asset throughout; "
        "train one with network shared, or leave the members out");
  if (!names_may_lack(values, model)) refuse_gaps(input);
  if (values.has("members")) {
    const market::MemberBook book(values.text("members"));
    input.members = book.states(input.returns.dates, model.tickers, input.returns.left_out);
    const std::span<const char> today = std::span(input.members).last(at(model.n()));
    book.check_first(input.window.to, today);
    for (std::string& warning :
         book.warnings(input.returns.dates, model.tickers, input.returns.left_out))
      input.warnings.push_back(std::move(warning));
  }
  std::vector<std::string> tickers, gaps;
  for (Index j = 0; j < model.n(); ++j) {
    const bool member =
        input.members.empty() || input.members[at(input.returns.rows() * model.n() + j)] != 0;
    if (!member) continue;
    if (first_gap(input, j) >= 0) {
      gaps.push_back(model.tickers[at(j)]);
      continue;
    }
    input.assets.push_back(j);
    tickers.push_back(model.tickers[at(j)]);
  }
  if (tickers.empty())
    throw InputError(fmt::format(
        "{}: none of the {} assets of the model could be held on {}: each lacks a return in the "
        "window from {}{}; complete the file",
        shown_file(input.file), model.n(), input.window.to, input.window.from,
        input.members.empty() ? "" : ", or is no member"));
  if (!gaps.empty())
    input.warnings.push_back(fmt::format("without {} in the window, and not held: {}",
                                         gaps.size() == 1 ? "a return" : "returns",
                                         some_names(gaps, kMostNames)));
  input.today = static_cast<Index>(tickers.size()) == model.n()
                    ? input.returns
                    : market::select_tickers(input.returns, tickers);
}

void read_frozen(const Values& values, PredictInput& input) {
  if (!values.has("tradable")) return;
  const std::vector<char> frozen =
      backtest::frozen_at(values.text("tradable"), input.returns, input.returns.rows() - 1);
  for (std::size_t j = 0; j < frozen.size(); ++j)
    if (frozen[j] != 0) input.frozen.push_back(input.returns.tickers[j]);
}

void read_benchmark(const Values& values, const market::RawPanel& raw, PredictInput& input) {
  if (!values.has("benchmark")) return;
  const std::string& asked = values.text("benchmark");
  // A column of the panel, whether the model knows it or not.
  if (std::ranges::find(raw.panel.tickers, asked) != raw.panel.tickers.end()) {
    const market::Panel own =
        market::simple_returns(market::select_tickers(raw.panel, std::span(&asked, 1)), raw.kind);
    input.benchmark = {.ticker = asked, .dates = own.dates, .returns = own.values};
    return;
  }
  // Of a file only the dates count, whatever the prices of others are.
  market::Panel dates{raw.panel.dates, raw.panel.tickers, {}, raw.panel.left_out};
  if (raw.kind == market::PanelKind::prices && !dates.dates.empty())
    dates.dates.erase(dates.dates.begin());
  backtest::Benchmark found = backtest::take_benchmark(asked, dates);
  input.benchmark = {
      .ticker = found.name, .dates = dates.dates, .returns = std::move(found.returns)};
}

std::optional<Prediction::Against> Prediction::against() const {
  const market::Panel& today = input.today;
  if (input.benchmark.ticker.empty()) return std::nullopt;
  double count = 0, sum_p = 0, sum_b = 0, pp = 0, bb = 0, pb = 0;
  for (Index t = today.rows() - input.window.rows; t < today.rows(); ++t) {
    const auto& dates = input.benchmark.dates;
    const auto found = std::ranges::lower_bound(dates, today.dates[at(t)]);
    if (found == dates.end() || *found != today.dates[at(t)]) continue;
    const double b = input.benchmark.returns[at(found - dates.begin())];
    if (!std::isfinite(b)) continue;
    double p = 0.0;
    for (Index j = 0; j < today.n(); ++j) p += weight(j) * today.matrix()(t, j);
    count += 1;
    sum_p += p;
    sum_b += b;
    pp += p * p;
    bb += b * b;
    pb += p * b;
  }
  if (count < 2) return std::nullopt;
  const double var_p = pp - sum_p * sum_p / count, var_b = bb - sum_b * sum_b / count;
  const double cov = pb - sum_p * sum_b / count;
  if (!(var_b > 0.0)) return std::nullopt;
  return Against{.beta = cov / var_b,
                 .correlation = var_p > 0.0 ? cov / std::sqrt(var_p * var_b) : 0.0,
                 .periods = static_cast<Index>(count)};
}

}  // namespace sharpen::command
