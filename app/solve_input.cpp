#include "solve_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "demo_panel.hpp"
#include "output.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/moments.hpp"
#include "sharpen/market/panel_input.hpp"

namespace sharpen::app {

namespace {

using settings::Origin;
using settings::Values;

constexpr double kWindowShrinkage = 0.10;
// Beyond these the sum of squared returns over- or underflows.
constexpr double kLargestReturn = 1e140;
constexpr double kSmallestReturn = 1e-140;
constexpr std::string_view kSources =
    "--prices FILE, --returns FILE, --moments FILE, --mean FILE with --cov FILE, or --demo";

enum class Source { prices, returns, moments, mean_and_cov, demo };

bool on(const Values& values, std::string_view name) {
  const bool is_flag = settings::find(name).kind == settings::Kind::flag;
  return values.has(name) && (!is_flag || values.flag(name));
}

// Exactly one source of numbers, and nothing that belongs to another one.
Source find_source(const Values& values) {
  std::vector<std::pair<Source, std::string>> given;
  if (on(values, "prices")) given.emplace_back(Source::prices, values.given_as("prices"));
  if (on(values, "returns")) given.emplace_back(Source::returns, values.given_as("returns"));
  if (on(values, "moments")) given.emplace_back(Source::moments, values.given_as("moments"));
  for (const std::string_view name : {"mean", "cov"})
    if (on(values, name)) given.emplace_back(Source::mean_and_cov, values.given_as(name));
  if (on(values, "demo")) given.emplace_back(Source::demo, values.given_as("demo"));
  if (given.empty()) throw InputError(fmt::format("nothing to solve; give {}", kSources));
  for (const auto& [source, name] : given)
    if (source != given.front().first)
      throw InputError(fmt::format("{} and {} cannot go together; give one of {}",
                                   given.front().second, name, kSources));
  if (given.front().first == Source::mean_and_cov && given.size() == 1)
    throw InputError(fmt::format("{} alone is not enough; give --mean FILE and --cov FILE",
                                 given.front().second));
  return given.front().first;
}

// A setting that this source would ignore is a misunderstanding worth an error. Settings with a
// default count only as flags: --print-config writes them into every file.
void refuse_foreign_settings(const Values& values, Source source) {
  const bool panel =
      source == Source::prices || source == Source::returns || source == Source::demo;
  const auto refuse = [&](std::string_view name, std::string_view needs) {
    throw InputError(
        fmt::format("{} has no meaning here; it goes with {}", values.given_as(name), needs));
  };
  for (const std::string_view name : {"from", "to"})
    if (!panel && values.has(name)) refuse(name, "--prices or --returns");
  if (!panel && values.origin("lookback") == Origin::flag)
    refuse("lookback", "--prices or --returns");
  if (!panel && values.text("form") == "low-rank")
    throw InputError("form = low-rank needs a window of returns; given moments are dense");
  for (const std::string_view name : {"universe", "max-gap", "on-suspect"})
    if (source != Source::prices && source != Source::returns &&
        values.origin(name) == Origin::flag)
      refuse(name, "--prices or --returns");
  if (source != Source::returns && values.flag("gross")) refuse("gross", "--returns");
  if (source != Source::moments && values.origin("format") == Origin::flag)
    refuse("format", "--moments");
}

risk::Form form_of(const std::string& name) {
  if (name == "dense") return risk::Form::dense;
  return name == "low-rank" ? risk::Form::low_rank : risk::Form::automatic;
}

risk::RiskSettings risk_settings(const Values& values, double shrinkage) {
  const bool oscar = values.text("optimizer") == "oscar";
  const bool by_root = values.text("optimizer") == "symmetric" || values.flag("explain");
  return {.shrinkage = shrinkage,
          .form = form_of(values.text("form")),
          .parts = {.lower = oscar, .root = by_root && !oscar}};
}

std::optional<std::string> optional_text(const Values& values, std::string_view name) {
  if (!values.has(name)) return std::nullopt;
  return values.text(name);
}

// The built-in example, cut as a file would be.
market::Panel demo_panel(const Values& values) {
  market::Panel panel = demo_returns(static_cast<std::uint64_t>(values.integer("seed")));
  if (values.has("from") || values.has("to"))
    panel = market::select_dates(panel, optional_text(values, "from"), optional_text(values, "to"));
  if (values.has("tickers")) panel = market::select_tickers(panel, values.list("tickers"));
  return panel;
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
    throw InputError(
        fmt::format("{}the panel has {} return{} ({}); a covariance needs at least 2: give more "
                    "rows",
                    in_file(input), rows, rows == 1 ? "" : "s", range()));
  if (lookback.all) return rows;
  if (lookback.count > rows)
    throw InputError(fmt::format(
        "{}lookback = {} is more than the {} returns of the panel ({}); give --lookback all, "
        "--lookback {} or less, or more rows",
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

std::vector<std::string> constant_columns(ConstMat rows, const std::vector<std::string>& tickers) {
  std::vector<std::string> constant;
  for (Index j = 0; j < rows.cols; ++j) {
    bool moves = false;
    for (Index t = 1; t < rows.rows && !moves; ++t) moves = rows(t, j) != rows(0, j);
    if (!moves) constant.push_back(tickers[static_cast<std::size_t>(j)]);
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
        "{}no asset has returns throughout the window of {} rows; give a shorter --lookback",
        in_file(input), rows));
  input.returns = market::select_tickers(input.returns, present);
  input.warnings.push_back(
      fmt::format("without returns throughout the window: {}; left out", some_of(absent)));
}

// Assets without variance: nothing to measure if they are all like that, else a warning.
void report_constant(const std::vector<std::string>& constant, SolveInput& input) {
  if (constant.empty()) return;
  if (static_cast<Index>(constant.size()) == input.n())
    throw InputError(
        in_file(input) +
        (input.window
             ? fmt::format("no asset moves between {} and {}: there is no risk to measure; "
                           "choose other dates, assets or --lookback",
                           input.window->from, input.window->to)
             : "every variance is zero: there is no risk to measure; give the variances, "
               "or other assets by --tickers"));
  const std::string_view remedy =
      input.shrinkage > 0.0
          ? "shrinkage lends it a share of the average variance"
          : "without --shrinkage its weight means little; leave it out by --tickers";
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
    throw InputError(fmt::format(
        "{}the return {:.3g} of {} cannot be true, and its square overflows; correct the file, or "
        "leave the asset or the date out",
        in_file(input), *largest, which));
  if (std::abs(*largest) < kSmallestReturn)
    throw InputError(fmt::format(
        "{}no return is larger than the {:.3g} of {}: their squares vanish; give them in larger "
        "units",
        in_file(input), *largest, which));
}

void check_risk(const SolveInput& input) {
  if (input.risk->status(0) == Status::ok) return;
  if (input.window) refuse_absurd_returns(input);
  throw Failure(fmt::format(
      "{}the covariance cannot be used: it overflows, or is not positive definite even with "
      "jitter on its diagonal; {}",
      in_file(input),
      input.shrinkage < kWindowShrinkage ? "try --shrinkage 0.1, or rescale the input"
                                         : "rescale the input"));
}

// The risk of given moments; what is wrong with the covariance is said with its file.
std::unique_ptr<risk::Risk> given_risk(const SolveInput& input, ConstMat Sigma,
                                       const risk::RiskSettings& settings) {
  settings.validate();
  try {
    return risk::from_covariance(Sigma, settings);
  } catch (const InputError& error) {
    throw InputError(in_file(input) + error.what());
  }
}

SolveInput from_panel(const Values& values, Source source, const Threads& threads, const Log& log) {
  SolveInput input;
  if (source == Source::demo) {
    input.returns = demo_panel(values);
  } else {
    market::PanelInput panel = market::read_panel_input(values, log);
    input.file = std::move(panel.file);
    input.returns = std::move(panel.returns);
    input.warnings = std::move(panel.warnings);
  }

  const Index rows = window_rows(values, input);
  leave_out_absent(input, rows);
  const Index end = input.returns.rows();
  const ConstMat window = input.returns.matrix().middle_rows(end - rows, rows);
  input.tickers = input.returns.tickers;
  input.window = {input.returns.dates[static_cast<std::size_t>(end - rows)],
                  input.returns.dates.back(), rows};
  input.mu = column_means(window);
  input.shrinkage = values.has("shrinkage") ? values.real("shrinkage") : kWindowShrinkage;
  report_constant(constant_columns(window, input.tickers), input);
  input.risk = risk::from_windows(input.returns.matrix(), rows, std::span(&end, 1),
                                  risk_settings(values, input.shrinkage), threads);
  check_risk(input);
  return input;
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

SolveInput from_moments(const Values& values, Source source, const Log& log) {
  market::Moments moments = source == Source::moments
                                ? market::read_orlib(values.text("moments"))
                                : market::read_moments_csv(values.text("mean"), values.text("cov"));
  log.info(fmt::format("moments of {} assets", moments.n()));
  if (values.has("tickers")) moments = chosen(moments, values.list("tickers"));

  SolveInput input;
  input.file = values.text(source == Source::moments ? "moments" : "cov");
  input.tickers = moments.tickers;
  input.mu = moments.mean;
  input.shrinkage = values.has("shrinkage") ? values.real("shrinkage") : 0.0;
  std::vector<std::string> constant;
  for (Index i = 0; i < moments.n(); ++i)
    if (moments.covariance_matrix()(i, i) == 0.0)
      constant.push_back(moments.tickers[static_cast<std::size_t>(i)]);
  report_constant(constant, input);
  input.risk =
      given_risk(input, moments.covariance_matrix(), risk_settings(values, input.shrinkage));
  check_risk(input);
  input.covariance = std::move(moments.covariance);
  return input;
}

}  // namespace

void check_solve_settings(const Values& values) {
  const bool any = values.has("prices") || values.has("returns") || values.has("moments") ||
                   values.has("mean") || values.has("cov") || values.flag("demo");
  if (any) refuse_foreign_settings(values, find_source(values));
  market::check_dates(optional_text(values, "from"), optional_text(values, "to"));
}

SolveInput read_solve_input(const Values& values, const Threads& threads, const Log& log) {
  const Source source = find_source(values);
  refuse_foreign_settings(values, source);
  const bool given_moments = source == Source::moments || source == Source::mean_and_cov;
  return given_moments ? from_moments(values, source, log)
                       : from_panel(values, source, threads, log);
}

}  // namespace sharpen::app
