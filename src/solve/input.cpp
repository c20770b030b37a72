// From a panel of returns, or from given moments, to a signal and a risk model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "risk/factor.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::solve {

namespace {

using settings::Values;

// Beyond these the sum of squared returns over- or underflows.
constexpr double kLargestReturn = 1e140;
constexpr double kSmallestReturn = 1e-140;

// One sample that is factored once: the low-rank form pays as early as where it is restricted.
risk::RiskSettings risk_settings(const Values& values, double shrinkage, Index n, Index T) {
  return risk_settings_for(optimizer_named(values.text("optimizer")), shrinkage,
                           optimizer_settings(values).form, true, values.flag("explain"), n, T);
}

// "FILE: "
std::string in_file(const SolveInput& input) {
  return input.file.empty() ? std::string() : printable(input.file, 400) + ": ";
}

// The last `lookback` returns of the panel.
Index window_rows(const Values& values, const SolveInput& input) {
  const market::Panel& returns = input.returns;
  const settings::CountOrAll lookback = values.count_or_all("lookback");
  const Index rows = returns.rows();
  const auto range = [&] {
    return rows == 0 ? std::string("none")
                     : fmt::format("{} to {}", returns.dates.front(), returns.dates.back());
  };
  if (rows < 2)
    throw InputError(fmt::format(
        "{}the panel has {} return{} ({}); a covariance needs at least 2: give more rows",
        in_file(input), rows, rows == 1 ? "" : "s", range()));
  if (lookback.all) return rows;
  if (lookback.count > rows)
    throw InputError(
        fmt::format("{}lookback = {} is more than the {} returns of the panel ({}); give "
                    "‹--lookback all›, ‹--lookback {}› or less, or more rows",
                    in_file(input), lookback.count, rows, range(), rows));
  return static_cast<Index>(lookback.count);
}

std::vector<double> column_means(ConstMat rows) {
  std::vector<double> mean(static_cast<std::size_t>(rows.cols));
  for (Index t = 0; t < rows.rows; ++t)
    for (Index j = 0; j < rows.cols; ++j) mean[static_cast<std::size_t>(j)] += rows(t, j);
  for (double& value : mean) value /= static_cast<double>(rows.rows);
  return mean;
}

// Those without variance for the risk model: the rounding of prices is none. Where squares vanish
// there is no telling.
std::vector<std::string> constant_columns(ConstMat rows, const std::vector<std::string>& tickers) {
  std::vector<double> mean(tickers.size()), variance(tickers.size());
  risk::window_moments(rows, mean, variance);
  std::vector<std::string> constant;
  for (std::size_t j = 0; j < tickers.size(); ++j) {
    const auto column = static_cast<Index>(j);
    bool moves = false;
    for (Index t = 1; t < rows.rows && !moves; ++t) moves = rows(t, column) != rows(0, column);
    if (variance[j] == 0.0 && std::abs(mean[j]) > kSmallestReturn) moves = false;
    if (!moves) constant.push_back(tickers[j]);
  }
  return constant;
}

// "A, B and 3 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i)
    text.append(i == 0 ? "" : ", ").append(printable(names[i], 24));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

// With universe available, an asset without returns throughout the window has no moments there.
void leave_out_absent(SolveInput& input, Index rows) {
  const ConstMat window = input.returns.matrix().middle_rows(input.returns.rows() - rows, rows);
  std::vector<std::string> present, absent;
  for (Index j = 0; j < window.cols; ++j) {
    bool whole = true;
    for (Index t = 0; t < rows && whole; ++t) whole = !std::isnan(window(t, j));
    (whole ? present : absent).push_back(input.returns.tickers[static_cast<std::size_t>(j)]);
  }
  if (absent.empty()) return;
  if (present.empty())
    throw InputError(fmt::format(
        "{}no asset has returns throughout the window of {} rows; give a shorter ‹--lookback›",
        in_file(input), rows));
  input.returns = market::select_tickers(input.returns, present);
  input.warnings.push_back(
      fmt::format("without returns throughout the window: {}; left out", some_of(absent)));
}

// Assets without variance: nothing to measure if they are all like that, else a warning.
void report_constant(const std::vector<std::string>& constant, SolveInput& input) {
  if (constant.empty()) return;
  if (static_cast<Index>(constant.size()) == input.n())
    throw InputError(in_file(input) +
                     (input.window
                          ? fmt::format("no asset moves between {} and {}: there is no risk to "
                                        "measure; choose other dates, assets or ‹--lookback›",
                                        input.window->from, input.window->to)
                          : "every variance is zero: there is no risk to measure; give the "
                            "variances, or other assets by ‹--tickers›"));
  const std::string_view remedy =
      input.shrinkage > 0.0
          ? "shrinkage lends it a share of the average variance"
          : "without ‹--shrinkage› its weight means little; leave it out by ‹--tickers›";
  input.warnings.push_back(fmt::format("zero variance{}: {}; {}",
                                       input.window ? " in the window (constant price?)" : "",
                                       some_of(constant), remedy));
}

// Returns whose squares leave the range of numbers: the largest is a wrong price, most likely.
void refuse_absurd_returns(const SolveInput& input) {
  const ConstMat window = input.window_returns();
  const auto largest =
      std::max_element(window.data, window.data + window.rows * window.cols,
                       [](double a, double b) { return std::abs(a) < std::abs(b); });
  const Index at = largest - window.data;
  const auto row = static_cast<std::size_t>(input.returns.rows() - window.rows + at / window.cols);
  const std::string which = fmt::format(
      "{} on {}", printable(input.tickers[static_cast<std::size_t>(at % window.cols)], 24),
      input.returns.dates[row]);
  if (std::abs(*largest) > kLargestReturn)
    throw InputError(
        fmt::format("{}the return {:.3g} of {} cannot be true, and its square overflows; correct "
                    "the file, or leave the asset or the date out",
                    in_file(input), *largest, which));
  if (std::abs(*largest) < kSmallestReturn)
    throw InputError(
        fmt::format("{}no return is larger than the {:.3g} of {}: their squares vanish; give them "
                    "in larger units",
                    in_file(input), *largest, which));
}

void check_risk(const SolveInput& input) {
  if (input.risk->status(0) == Status::ok) return;
  if (input.window) refuse_absurd_returns(input);
  throw Failure(fmt::format(
      "{}the covariance cannot be used: it overflows, or is not positive definite even with jitter "
      "on its diagonal; {}",
      in_file(input),
      input.shrinkage < risk::kWindowShrinkage ? "try ‹--shrinkage 0.1›, or rescale the input"
                                               : "rescale the input"));
}

// The risk of given moments; what is wrong with the covariance is said with its file.
std::unique_ptr<risk::Risk> given_risk(const SolveInput& input, ConstMat Sigma,
                                       const risk::RiskSettings& settings) {
  settings.validate();
  try {
    return risk::from_covariance(Sigma, settings);
  } catch (const InputError& error) {
    throw InputError(in_file(input) + error.marked());
  }
}

// The named assets, in the order given.
market::Moments chosen(const market::Moments& all, const std::vector<std::string>& tickers) {
  std::vector<Index> columns;
  for (const std::string& ticker : tickers) {
    const auto found = std::ranges::find(all.tickers, ticker);
    if (found == all.tickers.end()) {
      const std::vector<std::string_view> known(all.tickers.begin(), all.tickers.end());
      throw InputError(fmt::format("tickers: there is no asset {}{}", printable(ticker),
                                   did_you_mean(ticker, known)));
    }
    const Index column = found - all.tickers.begin();
    if (std::ranges::find(columns, column) != columns.end())
      throw InputError(fmt::format("tickers: {} is named twice", printable(ticker)));
    columns.push_back(column);
  }
  market::Moments some;
  some.tickers = tickers;
  for (const Index i : columns) {
    some.mean.push_back(all.mean[static_cast<std::size_t>(i)]);
    for (const Index j : columns) some.covariance.push_back(all.covariance_matrix()(i, j));
  }
  return some;
}

}  // namespace

Problem SolveInput::problem(Index k) const {
  Problem out{.n = n(), .k = k, .mu = mu, .risk = risk.get()};
  if (window)
    out.window = window_returns();
  else
    out.covariance = ConstMat(covariance.data(), n(), n());
  return out;
}

SolveInput window_input(const Values& values, market::Panel returns, std::string file,
                        std::vector<std::string> warnings, const Threads& threads) {
  SolveInput input;
  input.file = std::move(file);
  input.returns = std::move(returns);
  input.warnings = std::move(warnings);

  const Index rows = window_rows(values, input);
  leave_out_absent(input, rows);
  const Index end = input.returns.rows();
  const ConstMat window = input.returns.matrix().middle_rows(end - rows, rows);
  input.tickers = input.returns.tickers;
  input.left_out = input.returns.left_out;
  input.window = {input.returns.dates[static_cast<std::size_t>(end - rows)],
                  input.returns.dates.back(), rows};
  input.mu = column_means(window);
  input.shrinkage = values.has("shrinkage") ? values.real("shrinkage") : risk::kWindowShrinkage;
  report_constant(constant_columns(window, input.tickers), input);
  input.risk =
      risk::from_windows(input.returns.matrix(), rows, std::span(&end, 1),
                         risk_settings(values, input.shrinkage, input.returns.n(), rows), threads);
  check_risk(input);
  return input;
}

SolveInput moments_input(const Values& values, market::Moments moments, std::string file) {
  SolveInput input;
  if (values.has("tickers")) {
    input.left_out = moments.tickers;  // all of them may be spoken of
    moments = chosen(moments, values.list("tickers"));
  }
  input.file = std::move(file);
  input.tickers = moments.tickers;
  input.mu = moments.mean;
  input.shrinkage = values.has("shrinkage") ? values.real("shrinkage") : 0.0;
  std::vector<std::string> constant;
  for (Index i = 0; i < moments.n(); ++i)
    if (moments.covariance_matrix()(i, i) == 0.0)
      constant.push_back(moments.tickers[static_cast<std::size_t>(i)]);
  report_constant(constant, input);
  input.risk = given_risk(input, moments.covariance_matrix(),
                          risk_settings(values, input.shrinkage, moments.n(), moments.n()));
  check_risk(input);
  input.covariance = std::move(moments.covariance);
  return input;
}

}  // namespace sharpen::solve
