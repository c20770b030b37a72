#include "sharpen/market/panel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/input_file.hpp"
#include "market/calendar.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

// At most three of `names` within a few typing errors of `name`, nearest first; letter case counts
// as no error. Earlier names win ties.
std::vector<std::string> close_names(std::string_view name, std::span<const std::string> names) {
  constexpr std::size_t kLongestName = 64, kMostNames = 3;
  if (name.empty() || name.size() > kLongestName) return {};
  const std::size_t most = std::max<std::size_t>(1, name.size() / 3);
  std::vector<std::pair<std::size_t, std::size_t>> found;  // distance, position
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].size() > name.size() + most || name.size() > names[i].size() + most) continue;
    const std::size_t d = edit_distance(name, names[i]);
    if (d <= most && (d == 0 || d < name.size())) found.emplace_back(d, i);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(found.size(), kMostNames); ++i)
    out.push_back(names[found[i].second]);
  return out;
}

// p(t)/p(t - 1) - 1.
double return_of(const Panel& prices, Index t, Index j) {
  const double before = prices.matrix()(t - 1, j);
  const double after = prices.matrix()(t, j);
  // The difference of near prices is exact, so this keeps the digits p(t)/p(t-1) - 1 loses.
  const double r = (after - before) / before;
  // Written so that NaN, the return where a price is missing, passes.
  if (!(before <= 0.0 || after <= 0.0 || std::isinf(r))) return r;
  const bool at_before = before <= 0.0;
  const std::string_view ticker = prices.tickers[at(j)];
  const std::string& date = prices.dates[at(at_before ? t - 1 : t)];
  if (at_before || after <= 0.0)
    throw InputError(fmt::format(
        "the price {} of ticker {} on {} is not positive and has no return; correct it, or give "
        "‹--on-suspect adjust›, drop-asset or drop-day",
        at_before ? before : after, shortened(ticker), date));
  throw InputError(fmt::format(
      "the return of ticker {} on {} is not finite (price {} after {}); correct the prices",
      shortened(ticker), date, after, before));
}

Panel returns_of_prices(const Panel& prices) {
  if (prices.rows() < 2)
    throw InputError(fmt::format(
        "returns need at least 2 rows of prices and the panel has {}; give a longer history",
        prices.rows()));
  const Index n = prices.n();
  const ConstMat p = prices.matrix();
  Panel out{{prices.dates.begin() + 1, prices.dates.end()}, prices.tickers, {}, prices.left_out};
  out.values.resize(prices.values.size() - prices.tickers.size());
  for (Index t = 0; t + 1 < p.rows; ++t) {
    for (Index j = 0; j < n; ++j) {
      out.values[at(t * n + j)] = return_of(prices, t + 1, j);
    }
  }
  return out;
}

// A bound in the form of Panel::dates, perhaps a year only.
std::string checked_bound(std::string_view field, const std::string& text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() == 4 && std::all_of(text.begin(), text.end(), is_digit)) return text;
  ParsedDate date = parse_date(text);
  if (date.format == DateFormat::none)
    throw InputError(fmt::format("{} = {} {}; write YYYY-MM-DD, YYYY-MM or YYYY", field,
                                 shown(text), date.fault));
  return std::move(date.iso);
}

}  // namespace

Panel simple_returns(const Panel& panel, PanelKind kind) {
  if (kind == PanelKind::prices) return returns_of_prices(panel);
  Panel out = panel;
  if (kind == PanelKind::gross_returns)
    for (double& value : out.values) value -= 1.0;
  return out;
}

void check_dates(const std::optional<std::string>& from, const std::optional<std::string>& to) {
  const std::string first = from ? checked_bound("from", *from) : std::string();
  const std::string last = to ? checked_bound("to", *to) : std::string();
  if (from && to && compare_dates(first, last) > 0)
    throw InputError(fmt::format("from = {} is after to = {}; exchange them", first, last));
}

Panel select_dates(const Panel& panel, const std::optional<std::string>& from,
                   const std::optional<std::string>& to) {
  check_dates(from, to);
  const std::string first = from ? checked_bound("from", *from) : std::string();
  const std::string last = to ? checked_bound("to", *to) : std::string();
  const auto begin =
      std::partition_point(panel.dates.begin(), panel.dates.end(),
                           [&](const std::string& date) { return compare_dates(date, first) < 0; });
  const auto end = std::partition_point(begin, panel.dates.end(), [&](const std::string& date) {
    return compare_dates(date, last) <= 0;
  });
  if (begin == end)
    throw InputError(panel.dates.empty()
                         ? std::string("the panel has no rows to select from")
                         : fmt::format("no rows from {} to {}; the panel runs from {} to {}",
                                       from ? first : "its start", to ? last : "its end",
                                       panel.dates.front(), panel.dates.back()));
  const auto row = [&](auto date) {
    return panel.values.begin() + (date - panel.dates.begin()) * panel.n();
  };
  return {{begin, end}, panel.tickers, {row(begin), row(end)}, panel.left_out};
}

[[noreturn]] static void refuse_ticker(const std::string& ticker,
                                       std::span<const std::string> known) {
  const auto close = close_names(ticker, known);
  std::string remedy = "the panel's header lists what there is";
  for (std::size_t i = 0; i < close.size(); ++i)
    remedy = (i == 0 ? "did you mean " : remedy + (i + 1 < close.size() ? ", " : " or ")) +
             shortened(close[i]);
  throw InputError(fmt::format("the panel has no ticker {}; {}{}", shown(ticker), remedy,
                               close.empty() ? "" : "?"));
}

Panel select_tickers(const Panel& panel, std::span<const std::string> tickers) {
  if (tickers.empty()) throw InputError("no tickers are named; name at least one");
  std::unordered_map<std::string_view, Index> column_of;
  for (Index j = 0; j < panel.n(); ++j) column_of.emplace(panel.tickers[at(j)], j);

  std::vector<Index> columns;
  std::unordered_set<std::string_view> seen;
  for (const std::string& ticker : tickers) {
    const auto found = column_of.find(ticker);
    if (found == column_of.end()) refuse_ticker(ticker, panel.tickers);
    if (!seen.insert(ticker).second)
      throw InputError(fmt::format("the ticker {} is named twice; name it once", shown(ticker)));
    columns.push_back(found->second);
  }

  Panel out{panel.dates, {tickers.begin(), tickers.end()}, {}, panel.left_out};
  for (const std::string& ticker : panel.tickers)
    if (!seen.contains(ticker)) out.left_out.push_back(ticker);
  out.values.reserve(panel.dates.size() * columns.size());
  const ConstMat from = panel.matrix();
  for (Index t = 0; t < from.rows; ++t)
    for (const Index j : columns) out.values.push_back(from(t, j));
  return out;
}

Panel exclude_tickers(const Panel& panel, std::span<const std::string> tickers) {
  const std::unordered_set<std::string_view> there(panel.tickers.begin(), panel.tickers.end());
  const std::unordered_set<std::string_view> gone(panel.left_out.begin(), panel.left_out.end());
  const std::unordered_set<std::string_view> excluded(tickers.begin(), tickers.end());
  for (const std::string& ticker : tickers)
    if (!there.contains(ticker) && !gone.contains(ticker)) refuse_ticker(ticker, panel.tickers);
  std::vector<std::string> rest;
  for (const std::string& ticker : panel.tickers)
    if (!excluded.contains(ticker)) rest.push_back(ticker);
  if (rest.empty()) throw InputError("all tickers are excluded; leave some of ‹--exclude› out");
  return rest.size() == panel.tickers.size() ? panel : select_tickers(panel, rest);
}

double least_value(PanelKind kind, Cells cells) {
  switch (kind) {
    case PanelKind::prices:
      return cells == Cells::raw ? std::numeric_limits<double>::lowest()
                                 : std::numeric_limits<double>::denorm_min();
    case PanelKind::returns: return -1.0;
    case PanelKind::gross_returns: return 0.0;
  }
  return std::numeric_limits<double>::lowest();
}

KindFault below_least(PanelKind kind) {
  switch (kind) {
    case PanelKind::prices:
      return {"is not a price: prices are positive", "correct it, or give returns as ‹--returns›"};
    case PanelKind::returns:
      return {"is not a simple return: no asset loses more than all of its value (-1)",
              "write 0.01 for 1 %, or did you mean ‹--prices› or ‹--returns› with ‹--gross›?"};
    case PanelKind::gross_returns:
      return {"is not a gross return 1 + r: no asset loses more than all of its value (0)",
              "leave out ‹--gross› if these are simple returns r"};
  }
  return {};
}

void check_kind(std::span<const double> values, PanelKind kind, std::string_view file) {
  if (kind == PanelKind::prices) return;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double sum = 0.0;
  std::size_t count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value / static_cast<double>(values.size());
    ++count;
  }
  if (count == 0 || low <= 0.0) return;
  const double mean = sum * (static_cast<double>(values.size()) / static_cast<double>(count));
  const auto refuse = [&](std::string_view what, std::string_view remedy) {
    fail_at({file}, fmt::format("the values look like {} (all between {:.4g} and {:.4g}, mean "
                                "{:.4g}); {}",
                                what, low, high, mean, remedy));
  };
  if (kind == PanelKind::returns && mean > 1.5) refuse("prices", "give the file as ‹--prices›");
  if (kind == PanelKind::returns && low >= 0.2 && mean >= 0.75)
    refuse("gross returns 1 + r", "add ‹--gross›");
  if (kind == PanelKind::gross_returns && mean > 3.0)
    refuse("prices", "give the file as ‹--prices›, without ‹--gross›");
}

}  // namespace sharpen::market
