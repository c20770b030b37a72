#include "sharpen/market/cleaning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/input_file.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::market {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A panel on its way from raw to clean. Rows are numbered as in the raw panel throughout.
class Cleaner {
 public:
  Cleaner(const Panel& raw, const CleaningSettings& settings)
      : raw_(raw),
        settings_(settings),
        values_(raw.values),
        keep_asset_(at(raw.n()), 1),
        row_(at(raw.rows()), Fate::kept),
        moves_(at(raw.rows()), 0) {}

  Cleaned run() {
    find_suspects(raw_, settings_.kind, [this](Finding finding) {
      handle(finding);
      finding.done = would_do(finding, settings_.on_suspect, settings_);
      keep(std::move(finding));
    });
    refuse_suspects();
    adjust_splits();
    pass_on_moves();
    handle_gaps();
    assemble();
    return std::move(out_);
  }

 private:
  // A row can be taken out with its prices (the next return then spans it), or with its returns
  // (the prices before it are rescaled, so that the move of that day is in no return).
  enum class Fate { kept, without_prices, without_returns };

  bool prices() const { return settings_.kind == PanelKind::prices; }
  double& value(Index t, Index j) { return values_[at(t * raw_.n() + j)]; }
  // A return over which the price stands still.
  double no_return() const { return settings_.kind == PanelKind::returns ? 0.0 : 1.0; }

  void refuse_suspects() const;
  void handle(const Finding& finding);
  void keep(Finding finding);
  void adjust(const Finding& finding);
  void adjust_split(const Finding& finding);
  void adjust_splits();
  void carry_over_print(const Finding& finding);
  void drop_asset(Index j, const std::string& reason);
  void drop_days(const Finding& finding);
  void pass_on_moves();
  Index next_value(Index t, Index j) const;

  void handle_gaps();
  void handle_gaps_of(Index j, const std::vector<Index>& rows);
  void fill(Index j, const std::vector<Index>& rows, std::size_t first, std::size_t last);
  void add(Rule rule, Index j, Index first, Index last, Index size, std::string done);
  void assemble();
  void append_row(Index t, const std::vector<Index>& columns, const std::vector<double>& factor);

  const Panel& raw_;
  const CleaningSettings& settings_;
  std::vector<double> values_;
  std::vector<char> keep_asset_;
  std::vector<Fate> row_;
  std::vector<char> moves_;  // (rows): a split or jump whose move shall be in no return
  struct Split {
    Index column, row;
    double ratio;
    bool fell;
  };
  std::vector<Split> splits_;  // of prices, to be adjusted; by column, then by row
  Cleaned out_;
};

void Cleaner::refuse_suspects() const {
  if (settings_.on_suspect != OnSuspect::error || out_.findings.empty()) return;
  const Finding& first = out_.findings.front();
  const std::string who =
      first.ticker.empty() ? std::string() : fmt::format("ticker {}, ", shortened(first.ticker));
  throw InputError(
      fmt::format("the panel has {}, the first of them: {}{}, {} ({}); look at the list of sharpen "
                  "doctor, then "
                  "choose another ‹--on-suspect›, or leave out tickers or dates",
                  counted(out_.suspects(), "suspect"), who, first.first_date, name(first.rule),
                  first.question));
}

void Cleaner::keep(Finding finding) {
  if (++out_.found[static_cast<std::size_t>(finding.rule)] <= kMostFindings)
    out_.findings.push_back(std::move(finding));
}

void Cleaner::handle(const Finding& finding) {
  switch (settings_.on_suspect) {
    case OnSuspect::adjust: return adjust(finding);
    case OnSuspect::drop_asset:
      if (finding.column >= 0)
        drop_asset(finding.column, fmt::format("{} on {}", name(finding.rule), finding.first_date));
      return;
    case OnSuspect::drop_day: return drop_days(finding);
    case OnSuspect::report:
    case OnSuspect::error: return;
  }
}

void Cleaner::adjust(const Finding& finding) {
  if (finding.rule == Rule::split) adjust_split(finding);
  if (finding.rule == Rule::nonpositive && prices())
    value(finding.first_row, finding.column) = kNone;
  if (finding.rule == Rule::print) carry_over_print(finding);
}

void Cleaner::adjust_split(const Finding& finding) {
  const auto m = static_cast<double>(finding.ratio);
  const bool fell = finding.size < 1.0;
  if (prices()) return splits_.push_back({finding.column, finding.first_row, m, fell});
  double& r = value(finding.first_row, finding.column);
  const double shift = settings_.kind == PanelKind::returns ? 1.0 : 0.0;
  r = (fell ? (r + shift) * m : (r + shift) / m) - shift;
}

// Earlier prices are divided or multiplied, so that the latest ones are what they are today. From
// the last split of an asset to its first, by all the ratios behind a row at once: whole numbers,
// whose products are exact as long as they have 53 bits.
void Cleaner::adjust_splits() {
  constexpr double kExact = 0x1p53;
  double up = 1.0, down = 1.0;
  for (std::size_t i = splits_.size(); i-- > 0;) {
    const auto [j, row, m, fell] = splits_[i];
    if (i + 1 == splits_.size() || splits_[i + 1].column != j) up = down = 1.0;
    double& more = fell ? down : up;
    double& less = fell ? up : down;
    if (std::fmod(less, m) == 0.0)
      less /= m;
    else
      more *= m;
    if (up != 1.0 && down != 1.0 && std::max(up, down) > kExact) {
      up /= down;
      down = 1.0;
    }
    const Index from = i > 0 && splits_[i - 1].column == j ? splits_[i - 1].row : 0;
    for (Index t = from; t < row; ++t) value(t, j) = value(t, j) * up / down;
  }
}

// The next row after t where the asset has a value; the number of rows if there is none.
Index Cleaner::next_value(Index t, Index j) const {
  do ++t;
  while (t < raw_.rows() && std::isnan(raw_.matrix()(t, j)));
  return t;
}

void Cleaner::carry_over_print(const Finding& finding) {
  const Index j = finding.column;
  if (prices()) {
    // Not left to the gaps: a print is known to come back, and no --max-gap drops the asset.
    Index before = finding.first_row - 1;
    while (before > 0 && !(value(before, j) > 0.0)) --before;
    for (Index t = finding.first_row; t <= finding.last_row; ++t)
      if (!std::isnan(value(t, j))) value(t, j) = value(before, j);
    return;
  }
  // The way there and back is one return, on the day back.
  const double shift = settings_.kind == PanelKind::returns ? 1.0 : 0.0;
  const Index back = next_value(finding.last_row, j);
  double gross = 1.0;
  for (Index t = finding.first_row; t <= back && t < raw_.rows(); ++t) {
    if (std::isnan(value(t, j))) continue;
    gross *= value(t, j) + shift;
    value(t, j) = no_return();
  }
  if (back < raw_.rows()) value(back, j) = gross - shift;
}

void Cleaner::drop_asset(Index j, const std::string& reason) {
  char& keep = keep_asset_[at(j)];
  if (keep != 0) out_.dropped.push_back({j, raw_.tickers[at(j)], reason});
  keep = 0;
}

void Cleaner::drop_days(const Finding& finding) {
  const bool of_level =
      finding.rule == Rule::split || finding.rule == Rule::jump || finding.rule == Rule::frozen;
  Index last = finding.last_row;
  // A print in returns is a way there and a way back.
  if (finding.rule == Rule::print && !prices())
    last = std::min(next_value(last, finding.column), raw_.rows() - 1);
  if (prices() && (finding.rule == Rule::split || finding.rule == Rule::jump))
    moves_[at(finding.first_row)] = 1;
  for (Index t = finding.first_row; t <= last; ++t) {
    Fate& fate = row_[at(t)];
    if (!of_level || !prices()) {
      fate = Fate::without_prices;
    } else if (fate == Fate::kept) {
      fate = Fate::without_returns;
    }
  }
}

// Where a row loses its prices for one suspect, the next return spans it: a split or jump of the
// same row would come back in that return, which is therefore left out too.
void Cleaner::pass_on_moves() {
  bool move = false;
  for (std::size_t t = 0; t < row_.size(); ++t) {
    move = move || moves_[t] != 0;
    if (row_[t] == Fate::without_prices) continue;
    if (move) row_[t] = Fate::without_returns;
    move = false;
  }
}

void Cleaner::add(Rule rule, Index j, Index first, Index last, Index size, std::string done) {
  Finding finding;
  finding.rule = rule;
  finding.column = j;
  finding.ticker = raw_.tickers[at(j)];
  finding.first_row = first;
  finding.last_row = last;
  finding.first_date = raw_.dates[at(first)];
  finding.last_date = raw_.dates[at(last)];
  finding.size = static_cast<double>(size);
  finding.done = std::move(done);
  keep(std::move(finding));
}

void Cleaner::handle_gaps() {
  std::vector<Index> rows;
  for (Index t = 0; t < raw_.rows(); ++t)
    if (row_[at(t)] != Fate::without_prices) rows.push_back(t);
  if (rows.empty()) return;
  for (Index j = 0; j < raw_.n(); ++j) handle_gaps_of(j, rows);
  std::stable_sort(out_.findings.begin(), out_.findings.end(),
                   [](const Finding& a, const Finding& b) {
                     const bool of_row_a = a.column < 0, of_row_b = b.column < 0;
                     return of_row_a != of_row_b ? of_row_b : a.column < b.column;
                   });
  std::stable_sort(out_.dropped.begin(), out_.dropped.end(),
                   [](const Dropped& a, const Dropped& b) { return a.column < b.column; });
}

void Cleaner::fill(Index j, const std::vector<Index>& rows, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last; ++i)
    value(rows[i], j) = prices() ? value(rows[first - 1], j) : no_return();
}

// One finding for the short gaps of an asset together, one for each end, one for the first gap
// that is too long.
void Cleaner::handle_gaps_of(Index j, const std::vector<Index>& rows) {
  const auto missing = [&](std::size_t i) { return std::isnan(value(rows[i], j)); };
  std::size_t start = 0, end = rows.size();
  while (start < end && missing(start)) ++start;
  while (end > start && missing(end - 1)) --end;
  const auto count = [](std::size_t n) { return static_cast<Index>(n); };
  // A row without returns gives a price to carry and a move to take out, but is not in the result.
  const auto kept = [&](Index t) { return row_[at(t)] == Fate::kept; };
  const auto first_row = rows.begin() + static_cast<std::ptrdiff_t>(start);
  const auto last_row = rows.begin() + static_cast<std::ptrdiff_t>(end);
  const bool unseen =
      std::none_of(first_row, last_row, kept) && std::any_of(rows.begin(), rows.end(), kept);
  if (start == rows.size() || unseen) {
    add(Rule::no_value, j, rows.front(), rows.back(), count(rows.size()), "drops the asset");
    return drop_asset(j, "no value in these dates");
  }
  const bool complete = settings_.universe == Universe::complete;
  const auto day = [&](std::size_t i) { return raw_.dates[at(rows[i])]; };
  if (start > 0) {
    add(Rule::starts, j, rows.front(), rows[start - 1], count(start),
        complete ? "drops the asset" : "enters on " + day(start));
    if (complete) drop_asset(j, "starts on " + day(start));
  }
  std::size_t gaps = 0, cells = 0, first = 0, last = 0;
  bool too_long = false;
  for (std::size_t i = start; i < end;) {
    if (!missing(i)) {
      ++i;
      continue;
    }
    const std::size_t from = i;
    while (missing(i)) ++i;
    if (count(i - from) > settings_.max_gap) {
      if (!std::exchange(too_long, true)) {
        add(Rule::gap, j, rows[from], rows[i - 1], count(i - from), "drops the asset");
        drop_asset(j, fmt::format("gap of {} from {}", counted(count(i - from), "row"), day(from)));
      }
      continue;
    }
    if (gaps++ == 0) first = from;
    last = i - 1;
    cells += i - from;
    fill(j, rows, from, i);
  }
  if (gaps > 0) {
    add(Rule::gap, j, rows[first], rows[last], count(cells),
        fmt::format("carries the last price over {}", counted(count(gaps), "gap")));
    out_.carried.push_back(raw_.tickers[at(j)]);
    out_.carried_cells += count(cells);
  }
  if (end < rows.size()) {
    add(Rule::ends, j, rows[end], rows.back(), count(rows.size() - end),
        complete ? "drops the asset" : "leaves after " + day(end - 1));
    if (complete) drop_asset(j, "ends on " + day(end - 1));
  }
}

void Cleaner::append_row(Index t, const std::vector<Index>& columns,
                         const std::vector<double>& factor) {
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const double v = value(t, columns[c]);
    out_.panel.values.push_back(factor[c] == 1.0 ? v : v * factor[c]);
  }
}

void Cleaner::assemble() {
  std::vector<Index> columns;
  for (Index j = 0; j < raw_.n(); ++j)
    if (keep_asset_[at(j)] != 0) columns.push_back(j);
  std::vector<Index> rows;  // with their prices
  for (Index t = 0; t < raw_.rows(); ++t)
    if (row_[at(t)] != Fate::without_prices) rows.push_back(t);
  for (Index t = 0; t < raw_.rows(); ++t)
    if (row_[at(t)] != Fate::kept) out_.dropped_days.push_back(raw_.dates[at(t)]);

  // Back from the last row: a move that is taken out scales all prices before it.
  std::vector<std::vector<double>> factors;  // at rows from which on they hold, latest first
  std::vector<Index> factor_of(rows.size());
  factors.emplace_back(columns.size(), 1.0);
  for (std::size_t i = rows.size(); i-- > 0;) {
    factor_of[i] = static_cast<Index>(factors.size()) - 1;
    if (i == 0 || row_[at(rows[i])] != Fate::without_returns) continue;
    std::vector<double> next = factors.back();
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const double move = value(rows[i], columns[c]) / value(rows[i - 1], columns[c]);
      if (std::isfinite(move) && move > 0.0) next[c] *= move;
    }
    factors.push_back(std::move(next));
  }
  out_.panel.left_out = raw_.left_out;
  for (Index j = 0; j < raw_.n(); ++j)
    (keep_asset_[at(j)] != 0 ? out_.panel.tickers : out_.panel.left_out)
        .push_back(raw_.tickers[at(j)]);
  out_.panel.values.reserve(rows.size() * columns.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto t = at(rows[i]);
    if (row_[t] != Fate::kept) continue;
    out_.panel.dates.push_back(raw_.dates[t]);
    append_row(rows[i], columns, factors[at(factor_of[i])]);
  }
}

}  // namespace

void CleaningSettings::validate() const { settings::check(*this); }

Index Cleaned::suspects() const {
  return std::accumulate(found.begin(), found.begin() + static_cast<std::size_t>(Rule::gap),
                         Index{0});
}

std::vector<std::pair<std::string_view, Index>> Cleaned::left_out() const {
  std::vector<std::pair<std::string_view, Index>> out;
  for (std::size_t rule = 0; rule < found.size(); ++rule)
    if (found[rule] > kMostFindings)
      out.emplace_back(name(static_cast<Rule>(rule)), found[rule] - kMostFindings);
  return out;
}

Cleaned clean(const Panel& raw, const CleaningSettings& settings) {
  settings.validate();
  return Cleaner(raw, settings).run();
}

}  // namespace sharpen::market
