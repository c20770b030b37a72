#include "command/predict_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "command/trading.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/trade/memory.hpp"

namespace sharpen::command {

namespace {

using namespace std::chrono;
using settings::Values;

// How old a panel may be: calendar days from its last row to the day it is used for.
struct AgeLimit {
  std::string file;                 // for messages
  std::optional<std::string> asof;  // the day it is used for; none: today
  std::optional<long> most;         // days; none: any age, with a warning for an old one
};

// First and last day of a date; a month or a year has more than one.
struct Span {
  sys_days first, last;
};

std::optional<Span> span_of(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = text[i] == '-' && (i == 4 || (i == 7 && text[4] == '-'));
    if (dash) continue;
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    digits += text[i];
  }
  const std::size_t dashes = text.size() - digits.size();
  const bool known = (digits.size() == 8 && (dashes == 0 || dashes == 2)) ||
                     (digits.size() == 6 && dashes <= 1) || (digits.size() == 4 && dashes == 0);
  if (!known) return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t size) {
    return static_cast<unsigned>(std::stoul(digits.substr(at, size)));
  };
  const year y(static_cast<int>(number(0, 4)));
  if (y == year(0)) return std::nullopt;
  if (digits.size() == 4) return Span{sys_days(y / January / 1), sys_days(y / December / 31)};
  const month m(number(4, 2));
  if (!m.ok()) return std::nullopt;
  if (digits.size() == 6) return Span{sys_days(y / m / 1), sys_days(y / m / std::chrono::last)};
  const year_month_day day(y, m, std::chrono::day(number(6, 2)));
  if (!day.ok()) return std::nullopt;
  return Span{sys_days(day), sys_days(day)};
}

std::string text_of(sys_days date) {
  const year_month_day ymd(date);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(ymd.year()),
                     static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()));
}

// Somewhere on earth it may be tomorrow already.
constexpr days kTimeZones = days(1);
// Prices older than this, or than two periods, are worth a word.
constexpr long kFresh = 7;

void refuse_future(const AgeLimit& limit, const Span& end, sys_days today) {
  if (end.first <= today + kTimeZones) return;
  throw InputError(
      fmt::format("{}: its last date, {}, is in the future (today is {}); correct the dates, or "
                  "give ‹--asof DATE›, the day of the decision",
                  shown_file(limit.file), text_of(end.last), text_of(today)));
}

void check_asof(const std::string& text) {
  if (!span_of(text))
    throw InputError(fmt::format("asof = {} is not a date; write YYYY-MM-DD, YYYY-MM or YYYY",
                                 text.empty() ? "''" : printable(text)));
}

// The age in days of a panel that ends with the date `last`, one before it being `before` ("" if
// none). A month ends with its last day. Throws InputError for an older panel than allowed, and for
// one that ends after today although no --asof says so. Dates of another form have no age.
std::optional<long> checked_age(const AgeLimit& limit, const std::string& before,
                                const std::string& last, std::vector<std::string>& warnings) {
  const std::optional<Span> end = span_of(last), previous = span_of(before);
  if (!end) return std::nullopt;
  const sys_days today = floor<days>(system_clock::now());
  if (!limit.asof) refuse_future(limit, *end, today);
  const sys_days day = limit.asof ? span_of(*limit.asof)->last : today;
  const long age = std::max<long>(0, static_cast<long>((day - end->last).count()));
  const std::string when = fmt::format("{} ({})", limit.asof ? "‹--asof›" : "today", text_of(day));
  if (limit.most && age > *limit.most)
    throw InputError(fmt::format(
        "{}: is stale: its last date, {}, is {} before {}, and ‹--max-age› allows {}; give a newer "
        "file, or a larger ‹--max-age›",
        shown_file(limit.file), last, counted(age, "day"), when, *limit.most));
  const long period = previous ? static_cast<long>((end->last - previous->last).count()) : 1;
  if (!limit.most && age > std::max(kFresh, 2 * period))
    warnings.push_back(
        fmt::format("the last date, {}, is {} before {}; ‹--max-age DAYS› refuses what is too old",
                    last, counted(age, "day"), when));
  return age;
}

// Rows before the window that cleaning looks at: enough to tell a split from a restless asset.
// What is further back cannot change today's portfolio.
constexpr Index kContext = 250;
constexpr std::size_t kMostMissing = 50;

// The model's columns in its order. More columns are ignored, with a word.
void match_tickers(market::RawPanel& raw, PredictInput& input) {
  const learn::Model& model = input.model;
  const std::unordered_set<std::string_view> there(raw.panel.tickers.begin(),
                                                   raw.panel.tickers.end());
  std::vector<std::string> missing;
  std::vector<std::string>& extra = input.others;
  for (const std::string& ticker : model.tickers)
    if (!there.contains(ticker)) missing.push_back(ticker);
  if (!missing.empty())
    throw InputError(fmt::format(
        "{}: lacks {} of the {} tickers of the model: {}; add their columns, or train a model "
        "without them",
        shown_file(raw.file), missing.size(), model.n(), some_names(missing, kMostMissing)));
  const std::unordered_set<std::string_view> known(model.tickers.begin(), model.tickers.end());
  for (const std::string& ticker : raw.panel.tickers)
    if (!known.contains(ticker)) extra.push_back(ticker);
  if (!extra.empty())
    input.warnings.push_back(
        fmt::format("the model does not know {}; ignored", some_names(extra, kMostNames)));
  raw.panel = market::select_tickers(raw.panel, model.tickers);
}

void keep_last_rows(market::Panel& panel, Index rows) {
  const Index drop = panel.rows() - rows;
  if (drop <= 0) return;
  panel.dates.erase(panel.dates.begin(), panel.dates.begin() + drop);
  panel.values.erase(panel.values.begin(), panel.values.begin() + drop * panel.n());
}

void keep_prices(const market::Panel& panel, std::unordered_map<std::string, double>& prices) {
  for (Index j = 0; j < panel.n(); ++j) {
    const double price = panel.matrix()(panel.rows() - 1, j);
    if (price > 0.0) prices[panel.tickers[at(j)]] = price;
  }
}

// Every asset of the model is needed.
void refuse_dropped(const std::string& file, const learn::Model& model,
                    const market::Cleaned& cleaning) {
  if (cleaning.dropped.empty()) return;
  std::vector<std::string> why;
  for (const market::Dropped& dropped : cleaning.dropped)
    why.push_back(fmt::format("{} ({})", printable(dropped.ticker, 24), dropped.reason));
  throw InputError(fmt::format(
      "{}: cleaning leaves out {} of the {} assets that the model needs: {}; complete the file, or "
      "give another ‹--max-gap›, ‹--universe› or ‹--on-suspect›",
      shown_file(file), why.size(), model.n(), some_names(why, kMostNames)));
}

Window window_of(const PredictInput& input) {
  const Index rows = input.model.settings.lookback, have = input.returns.rows();
  if (have < rows)
    throw InputError(fmt::format(
        "{}: has {} return{}{}, and the model looks back over {}; give more rows",
        shown_file(input.file), have, have == 1 ? "" : "s",
        have == 0 ? std::string() : fmt::format(" up to {}", input.returns.dates.back()), rows));
  return {input.returns.dates[at(have - rows)], input.returns.dates.back(), rows};
}

void refuse_gaps(const PredictInput& input) {
  const ConstMat window = input.window_returns();
  std::vector<std::string> gaps;
  for (Index j = 0; j < window.cols; ++j)
    for (Index t = 0; t < window.rows; ++t) {
      if (!std::isnan(window(t, j))) continue;
      const auto row = static_cast<std::size_t>(input.returns.rows() - window.rows + t);
      gaps.push_back(fmt::format("{} (on {})", printable(input.returns.tickers[at(j)], 24),
                                 input.returns.dates[row]));
      break;
    }
  if (!gaps.empty())
    throw InputError(fmt::format(
        "{}: {} of the {} assets that the model needs lack a return in its window, {} to {}: {}; "
        "complete the file",
        shown_file(input.file), gaps.size(), input.model.n(), input.window.from, input.window.to,
        some_names(gaps, kMostNames)));
}

// Cleaned returns up to the decision.
void take_returns(const Values& values, market::RawPanel& raw, PredictInput& input) {
  const bool prices = raw.kind == market::PanelKind::prices;
  if (prices) keep_prices(raw.panel, input.prices);
  match_tickers(raw, input);
  const trade::Memory memory(ruling_of_model(values, input.model).memory);
  keep_last_rows(raw.panel,
                 input.model.settings.lookback + memory.rows() - 1 + kContext + (prices ? 1 : 0));
  const market::CleaningSettings settings = market::cleaning_settings(values, raw.kind);
  const market::Cleaned cleaning = market::cleaned(raw, settings);
  for (std::string& warning : market::summary(cleaning, settings))
    input.warnings.push_back(std::move(warning));
  refuse_dropped(raw.file, input.model, cleaning);
  try {
    input.returns = market::simple_returns(cleaning.panel, raw.kind);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", shown_file(raw.file), error.marked()));
  }
  // After a last day that was dropped, the day before it is the last.
  if (prices) keep_prices(cleaning.panel, input.prices);
}

void check_age(const Values& values, PredictInput& input) {
  AgeLimit limit{.file = input.file, .asof = values.optional_text("asof"), .most = {}};
  if (values.has("max-age")) limit.most = static_cast<long>(values.integer("max-age"));
  const auto& dates = input.returns.dates;
  input.age = checked_age(limit, dates.size() > 1 ? dates[dates.size() - 2] : std::string(),
                          dates.back(), input.warnings);
}

void warn_of_training_dates(PredictInput& input) {
  if (input.window.to < input.model.last_date)
    input.warnings.push_back(fmt::format(
        "the portfolio begins after {}, and the model was trained on dates up to {}: it knows what "
        "came next",
        input.window.to, printable(input.model.last_date)));
}

}  // namespace

trade::Ruling ruling_of_model(const Values& values, const learn::Model& model) {
  return ruling_of(values, model.settings.rules, solve::optimizer_named(values.text("optimizer")));
}

std::string some_names(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text.append(i == 0 ? "" : ", ").append(printable(names[i], 200));
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

PredictInput read_predict_input(const Values& values, std::optional<learn::Model> model,
                                std::optional<market::MemoryPanel> panel, const Log& log) {
  if (!values.has("model") && !model)
    throw InputError("no model given; give ‹--model FILE›, as ‹sharpen train› wrote it");
  if (values.has("asof")) check_asof(values.text("asof"));
  PredictInput input;
  input.model = model ? std::move(*model) : learn::read_model(values.text("model"));
  log.info(fmt::format("model of {} assets and {} members, trained on {} to {}", input.model.n(),
                       input.model.members.size(), input.model.first_date, input.model.last_date));
  market::RawPanel raw = market::raw_panel(values, std::move(panel), log);
  input.file = raw.file;
  if (values.has("asof"))
    raw.panel = market::select_dates(raw.panel, std::nullopt, values.text("asof"));
  take_returns(values, raw, input);
  input.window = window_of(input);
  refuse_gaps(input);
  check_age(values, input);
  warn_of_training_dates(input);
  return input;
}

}  // namespace sharpen::command
