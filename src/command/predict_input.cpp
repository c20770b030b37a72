#include "command/predict_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "command/predict_names.hpp"
#include "command/trading.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/framework.hpp"
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
// So is a model that has not seen the last year.
constexpr long kYear = 366;

void refuse_future(const AgeLimit& limit, const Span& end, sys_days today) {
  if (end.first <= today + kTimeZones) return;
  throw InputError(
      fmt::format("{}: its last date, {}, is in the future (today is {}); correct the dates, or "
                  "give ‹--asof DATE›, the day of the decision",
                  shown_file(limit.file), text_of(end.last), text_of(today)));
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

// Who asks for one framework and gives a model of the other has taken the wrong file.
void refuse_other_framework(const Values& values, const learn::Model& model) {
  const std::string_view trained = learn::framework_of(model.settings.alpha).name;
  if (values.origin("framework") == settings::Origin::flag && values.text("framework") != trained)
    throw InputError(
        fmt::format("framework = {}, and the model was trained as {}; leave ‹--framework› out, or "
                    "give another model",
                    values.text("framework"), trained));
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

// Cleaned returns up to the decision.
void take_returns(const Values& values, market::RawPanel& raw, PredictInput& input) {
  const bool prices = raw.kind == market::PanelKind::prices;
  if (prices) keep_prices(raw.panel, input.prices);
  read_benchmark(values, raw, input);
  match_tickers(raw, input);
  const trade::Memory memory(ruling_of_model(values, input.model).memory);
  keep_last_rows(raw.panel,
                 input.model.settings.lookback + memory.rows() - 1 + kContext + (prices ? 1 : 0));
  market::CleaningSettings settings = market::cleaning_settings(values, raw.kind);
  if (!values.has("universe")) settings.universe = market::Universe::available;
  const market::Cleaned cleaning = market::cleaned(raw, settings);
  for (std::string& warning : market::summary(cleaning, settings))
    input.warnings.push_back(std::move(warning));
  const bool lacking = names_may_lack(values, input.model);
  if (!lacking) refuse_dropped(raw.file, input.model, cleaning);
  // Nobody trades what has no price.
  for (Index j = 0; j < raw.panel.n(); ++j)
    if (std::isnan(raw.panel.matrix()(raw.panel.rows() - 1, j)))
      input.frozen.push_back(raw.panel.tickers[at(j)]);
  for (const market::Halt& halt : cleaning.halts.runs)
    if (halt.last + 1 == cleaning.panel.rows())
      input.frozen.push_back(cleaning.panel.tickers[at(halt.asset)]);
  try {
    market::refuse_loss(cleaning, settings);
    input.returns = market::simple_returns(cleaning.panel, raw.kind);
    if (lacking) input.returns = with_columns(input.returns, input.model.tickers);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", shown_file(raw.file), error.marked()));
  }
  // After a last day that was dropped, the day before it is the last.
  if (prices) keep_prices(cleaning.panel, input.prices);
}

}  // namespace

trade::Ruling ruling_of_model(const Values& values, const learn::Model& model) {
  return ruling_of(values, model.settings.rules, solve::optimizer_named(values.text("optimizer")));
}

void check_asof(const Values& values) {
  if (!values.has("asof") || span_of(values.text("asof"))) return;
  const std::string& text = values.text("asof");
  throw InputError(fmt::format("asof = {} is not a date; write YYYY-MM-DD, YYYY-MM or YYYY",
                               text.empty() ? "''" : printable(text)));
}

bool ends_before(const std::string& a, const std::string& b) {
  const std::optional<Span> x = span_of(a), y = span_of(b);
  return x && y && x->last < y->last;
}

std::optional<long> age_of_positions(const std::string& date, const std::vector<std::string>& dates,
                                     std::vector<std::string>& warnings) {
  const std::optional<Span> then = span_of(date), end = span_of(dates.back());
  if (!then || !end) return std::nullopt;
  const std::optional<Span> before = dates.size() > 1 ? span_of(dates[dates.size() - 2]) : then;
  const long age = std::max<long>(0, static_cast<long>((end->last - then->last).count()));
  const long period = before ? static_cast<long>((end->last - before->last).count()) : 1;
  if (age > std::max(kFresh, 2 * period))
    warnings.push_back(fmt::format(
        "what is held is of {}, {} before the last date, {}; give the broker's list of today", date,
        counted(age, "day"), dates.back()));
  return age;
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
    throw InputError(
        "no model given; give ‹--model FILE›, as ‹sharpen train› wrote it, or a ‹--framework› that "
        "needs none, such as rolling");
  check_asof(values);
  PredictInput input;
  input.model = model ? std::move(*model) : learn::read_model(values.text("model"));
  refuse_other_framework(values, input.model);
  log.info(fmt::format("model of {} assets and {} members, trained on {} to {}", input.model.n(),
                       input.model.members.size(), input.model.first_date, input.model.last_date));
  market::RawPanel raw = market::raw_panel(values, std::move(panel), log);
  input.file = raw.file;
  if (values.has("asof"))
    raw.panel = market::select_dates(raw.panel, std::nullopt, values.text("asof"));
  take_returns(values, raw, input);
  input.window = window_of(input);
  choose_names(values, input);
  read_frozen(values, input);
  input.age = age_of_prices(values, input.file, input.returns.dates, input.warnings);
  input.model_age = age_of_model(values, input.model, input.window.to, input.warnings);
  return input;
}

std::optional<long> age_of_prices(const Values& values, const std::string& file,
                                  const std::vector<std::string>& dates,
                                  std::vector<std::string>& warnings) {
  AgeLimit limit{.file = file, .asof = values.optional_text("asof"), .most = {}};
  if (values.has("max-age")) limit.most = static_cast<long>(values.integer("max-age"));
  return checked_age(limit, dates.size() > 1 ? dates[dates.size() - 2] : std::string(),
                     dates.back(), warnings);
}

std::optional<long> age_of_model(const Values& values, const learn::Model& model,
                                 const std::string& date, std::vector<std::string>& warnings) {
  if (date < model.last_date)
    warnings.push_back(fmt::format(
        "the portfolio begins after {}, and the model was trained on dates up to {}: it knows what "
        "came next",
        date, printable(model.last_date)));
  const std::optional<Span> end = span_of(model.last_date);
  if (!end) return std::nullopt;
  const bool asof = values.has("asof");
  const sys_days day = asof ? span_of(values.text("asof"))->last : floor<days>(system_clock::now());
  const long age = std::max<long>(0, static_cast<long>((day - end->last).count()));
  const std::string when = fmt::format("{} ({})", asof ? "‹--asof›" : "today", text_of(day));
  if (values.has("max-model-age") && age > values.integer("max-model-age"))
    throw InputError(fmt::format(
        "the model was trained on dates up to {}, {} before {}, and ‹--max-model-age› allows {}; "
        "train it anew, or give a larger ‹--max-model-age›",
        printable(model.last_date), counted(age, "day"), when, values.integer("max-model-age")));
  if (!values.has("max-model-age") && age > kYear)
    warnings.push_back(fmt::format(
        "the model was trained on dates up to {}, {} before {}; train it anew, or say by "
        "‹--max-model-age DAYS› what is too old",
        printable(model.last_date), counted(age, "day"), when));
  return age;
}

}  // namespace sharpen::command
