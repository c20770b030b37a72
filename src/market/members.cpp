#include "sharpen/market/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/csv.hpp"
#include "market/calendar.hpp"
#include "market/file_or_text.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {

namespace {

constexpr std::string_view kJoins = "in", kLeaves = "out";

// Columns of a file of changes.
struct ChangeColumns {
  std::size_t date = 0, ticker = 1, state = 2;
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

bool is_change(std::string_view text) {
  const std::string word = lower(text);
  return word == kJoins || word == kLeaves;
}

std::vector<std::string> fields_of(CsvCursor& cursor) {
  std::vector<std::string> out;
  do out.emplace_back(cursor.field());
  while (cursor.comma());
  cursor.end_line();
  return out;
}

bool is_ticker_title(std::string_view title) {
  constexpr std::array<std::string_view, 4> kTitles = {"ticker", "asset", "symbol", "name"};
  return std::ranges::find(kTitles, title) != kTitles.end();
}

// The columns by their titles; without a header they are date, ticker, in or out.
ChangeColumns columns_of(const std::vector<std::string>& header) {
  ChangeColumns out;
  if (is_change(header[2])) return out;
  for (std::size_t c = 0; c < header.size(); ++c) {
    const std::string title = lower(header[c]);
    if (title == "date") out.date = c;
    if (is_ticker_title(title)) out.ticker = c;
  }
  if (out.ticker == out.date) out.ticker = out.date == 0 ? 1 : 0;
  out.state = 3 - out.date - out.ticker;  // the third of 0, 1 and 2
  return out;
}

// Whether the text holds changes: three columns, and in or out in the first line of them.
bool holds_changes(std::string_view text, std::string_view name) {
  CsvCursor cursor(text, name);
  static_cast<void>(cursor.finished());  // refuses a blank first line
  if (cursor.count_fields() != 3) return false;
  const std::vector<std::string> first = fields_of(cursor);
  // A column may be called IN or OUT, which are tickers.
  const bool is_header =
      std::ranges::any_of(first, [](const std::string& title) { return lower(title) == "date"; });
  if (!is_header && std::ranges::any_of(first, is_change)) return true;
  // A line of changes with another word in the place of in or out is told so.
  const auto is_odd_change = [](const std::vector<std::string>& line) {
    return parse_date(line[0]).format != DateFormat::none && !number_from<double>(line[2]);
  };
  if (is_odd_change(first)) return true;
  if (cursor.finished() || cursor.count_fields() != 3) return false;
  const std::vector<std::string> second = fields_of(cursor);
  const bool titled = std::ranges::any_of(
      first, [](const std::string& title) { return is_ticker_title(lower(title)); });
  return std::ranges::any_of(second, is_change) ||
         (titled && is_odd_change(second) && !second[2].empty());
}

std::string some_of(const std::vector<std::string_view>& names) {
  constexpr std::size_t kMost = 5;
  std::string out;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i)
    out.append(i == 0 ? "" : ", ").append(printable(names[i], 24));
  return names.size() > kMost ? fmt::format("{} and {} more", out, names.size() - kMost) : out;
}

bool contains(std::span<const std::string> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

MemberBook::MemberBook(const std::string& file) : name_(name_of_file(file, "members")) {
  const FileOrText content(file, "members");
  if (holds_changes(content.text(), name_))
    read_changes(content.text());
  else
    read_states(content.text());
}

void MemberBook::read_changes(std::string_view text) {
  CsvCursor cursor(text, name_);
  static_cast<void>(cursor.finished());
  ChangeColumns columns;
  DateFormat format = DateFormat::none;
  for (bool first_line = true; !cursor.finished(); first_line = false) {
    const Index line = cursor.line();
    const auto fail = [&](const std::string& what) { fail_at({name_, line}, what); };
    const std::vector<std::string> fields = fields_of(cursor);
    if (fields.size() != 3)
      fail(fmt::format("{} where a change has 3: write date,ticker,in or date,ticker,out",
                       counted(static_cast<Index>(fields.size()), "field")));
    if (first_line) {
      columns = columns_of(fields);
      const bool dated = parse_date(fields[columns.date]).format != DateFormat::none;
      if (!is_change(fields[columns.state]) && !dated) continue;
    }
    const std::string& ticker = fields[columns.ticker];
    if (ticker.empty() || !is_plain_text(ticker))
      fail(fmt::format("the ticker {} is empty or not plain UTF-8 text: write its name",
                       shown(ticker)));
    if (!is_change(fields[columns.state]))
      fail(fmt::format("{} says neither that {} joins nor that it leaves: write in or out",
                       shown(fields[columns.state]), shortened(ticker)));
    ParsedDate date = parse_date(fields[columns.date]);
    if (date.format == DateFormat::none)
      fail(
          fmt::format("{} {}; write dates as YYYY-MM-DD", shown(fields[columns.date]), date.fault));
    if (format != DateFormat::none && format != date.format)
      fail(fmt::format("{} is written {}, and dates before it {}: write all alike",
                       shown(fields[columns.date]), pattern(date.format), pattern(format)));
    format = date.format;
    if (first_.empty() || date.iso < first_) first_ = date.iso;
    changes_.push_back({ticker, std::move(date.iso), lower(fields[columns.state]) == kJoins});
    where_.push_back(fmt::format("{}:{}", shown_file(name_), line));
  }
  check_order();
}

// By ticker and date; each in turn joins and leaves.
void MemberBook::check_order() {
  std::vector<std::size_t> order(changes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const MemberChange &x = changes_[a], &y = changes_[b];
    return std::tie(x.ticker, x.from) < std::tie(y.ticker, y.from);
  });
  std::vector<MemberChange> sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const MemberChange& now = changes_[order[i]];
    const bool first = i == 0 || changes_[order[i - 1]].ticker != now.ticker;
    const auto fail = [&](const std::string& what) {
      throw InputError(fmt::format("{}: {}", where_[order[i]], what));
    };
    if (first && !now.joins)
      fail(
          fmt::format("{} leaves on {} and has not joined before: add a line with the date from "
                      "which on it was a member, or take this one out",
                      shown(now.ticker), now.from));
    if (!first) {
      const MemberChange& before = changes_[order[i - 1]];
      const std::string& there = where_[order[i - 1]];
      if (before.from == now.from)
        fail(fmt::format("{} has two lines on {}, this one and {}: keep one", shown(now.ticker),
                         now.from, there));
      if (before.joins && now.joins)
        fail(
            fmt::format("{} joins on {} and is a member since {} ({}): memberships overlap; add "
                        "the line on which it left in between, or take one out",
                        shown(now.ticker), now.from, before.from, there));
      if (!before.joins && !now.joins)
        fail(
            fmt::format("{} leaves on {} and has left on {} ({}): memberships cross; add the line "
                        "on which it joined in between, or take one out",
                        shown(now.ticker), now.from, before.from, there));
    }
    sorted.push_back(now);
  }
  changes_ = std::move(sorted);
}

void MemberBook::read_states(std::string_view text) {
  const Panel panel = parse_panel(text, name_, PanelKind::prices, Cells::raw);
  const ConstMat cells = panel.matrix();
  for (Index j = 0; j < panel.n(); ++j) {
    bool member = false;
    for (Index t = 0; t < cells.rows; ++t) {
      const double value = cells(t, j);
      if (value != 0.0 && value != 1.0)
        throw InputError(fmt::format(
            "{}: {} for ticker {} on {}; write 1 where it is a member, 0 where not (or lines "
            "date,ticker,in and date,ticker,out)",
            shown_file(name_), std::isnan(value) ? "no value" : shortest(value),
            printable(panel.tickers[at(j)]), panel.dates[at(t)]));
      if (t > 0 && (value == 1.0) == member) continue;
      member = value == 1.0;
      changes_.push_back({panel.tickers[at(j)], panel.dates[at(t)], member});
    }
  }
  first_ = panel.dates.front();
  last_ = panel.dates.back();
}

std::vector<char> MemberBook::states(std::span<const std::string> dates,
                                     std::span<const std::string> tickers,
                                     std::span<const std::string> known) const {
  std::unordered_map<std::string_view, std::size_t> columns;
  for (std::size_t j = 0; j < tickers.size(); ++j) columns.emplace(tickers[j], j);
  std::vector<char> out((dates.size() + 1) * tickers.size(), 0);
  // The row from which on a change counts: after the row of its date, and before the first date if
  // it is older than that. Of a month among days nobody knows the day: it counts when it is over.
  const auto first_row = [&](const MemberChange& change) -> std::size_t {
    if (dates.empty()) return 1;
    if (compare_dates(dates.front(), change.from) > 0) return 0;
    const bool is_coarse = change.from.size() < dates.front().size();
    const auto found = std::ranges::partition_point(dates, [&](const std::string& date) {
      const auto order = compare_dates(date, change.from);
      return order < 0 || (is_coarse && order == 0);
    });
    return static_cast<std::size_t>(found - dates.begin()) + 1;
  };
  bool any = false;
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    const MemberChange& change = changes_[i];
    const auto column = columns.find(change.ticker);
    any = any || column != columns.end() || contains(known, change.ticker);
    if (column == columns.end() || !change.joins) continue;
    const bool leaves = i + 1 < changes_.size() && changes_[i + 1].ticker == change.ticker;
    const std::size_t end =
        leaves ? std::min(first_row(changes_[i + 1]), dates.size() + 1) : dates.size() + 1;
    for (std::size_t row = first_row(change); row < end; ++row)
      out[row * tickers.size() + column->second] = 1;
  }
  if (!any)
    throw InputError(fmt::format(
        "{} is about other tickers: none of its own, such as {}, is in the panel, whose names are "
        "{}; give the members of this panel",
        shown_file(name_), shown(changes_.empty() ? "" : changes_.front().ticker),
        some_of({tickers.begin(), tickers.end()})));
  return out;
}

std::vector<std::string> MemberBook::warnings(std::span<const std::string> dates,
                                              std::span<const std::string> tickers,
                                              std::span<const std::string> known,
                                              bool complete) const {
  std::vector<std::string> out;
  std::unordered_set<std::string_view> named, columns(tickers.begin(), tickers.end());
  const std::unordered_set<std::string_view> others(known.begin(), known.end());
  std::vector<std::string_view> missing, never, incomplete;
  for (const MemberChange& change : changes_)
    if (change.joins && named.insert(change.ticker).second && !columns.contains(change.ticker))
      (others.contains(change.ticker) ? incomplete : missing).push_back(change.ticker);
  for (const std::string& ticker : tickers)
    if (!named.contains(ticker)) never.push_back(ticker);
  if (!missing.empty())
    out.push_back(fmt::format(
        "{} of the {} of {} {} no prices here ({}): figures leave them out, and flatter if those "
        "are the ones that failed",
        missing.size(), counted(static_cast<Index>(named.size()), "member"), shown_file(name_),
        missing.size() == 1 ? "has" : "have", some_of(missing)));
  if (complete && !incomplete.empty())
    out.push_back(fmt::format(
        "{} of the {} of {} {} left out ({}): ‹--universe complete› has no place for members that "
        "ended or came late, and figures flatter without them; give ‹--universe available›",
        incomplete.size(), counted(static_cast<Index>(named.size()), "member"), shown_file(name_),
        incomplete.size() == 1 ? "is" : "are", some_of(incomplete)));
  if (!never.empty())
    out.push_back(fmt::format("{} of {} {} never a member by {} and cannot be held: {}",
                              never.size(), counted(static_cast<Index>(tickers.size()), "asset"),
                              never.size() == 1 ? "is" : "are", shown_file(name_), some_of(never)));
  if (!last_.empty() && !dates.empty()) {
    const auto after = std::ranges::count_if(
        dates, [&](const std::string& date) { return compare_dates(date, last_) > 0; });
    constexpr std::ptrdiff_t kFresh = 70;  // trading days: a quarter, and some
    if (after > kFresh)
      out.push_back(fmt::format(
          "{} ends on {}, {} rows before the panel does: the members of that day are taken for the "
          "rest",
          shown_file(name_), last_, after));
  }
  return out;
}

void MemberBook::check_first(std::string_view date, std::span<const char> states_then) const {
  if (compare_dates(date, first_) < 0)
    throw InputError(fmt::format(
        "{} says nothing before {}, and the first decision is made at the end of {}: add who was a "
        "member by then, or begin later by ‹--split DATE› or ‹--from DATE›",
        shown_file(name_), first_, date));
  if (std::ranges::none_of(states_then, [](char state) { return state != 0; }))
    throw InputError(fmt::format(
        "{}: no asset of the panel is a member on {}, when the first decision is made; add who "
        "was, or begin later by ‹--split DATE› or ‹--from DATE›",
        shown_file(name_), date));
}

}  // namespace sharpen::market
