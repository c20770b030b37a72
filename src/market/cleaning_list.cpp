// What cleaning found, listed and counted, and the panel that it leaves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "market/cleaner.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

namespace {

constexpr std::size_t kMostUndecided = 100;

// By which the worst of a rule is chosen.
double weight(Rule rule, double size, Index rows) {
  switch (rule) {
    case Rule::print:
    case Rule::split:
    case Rule::jump: return std::abs(std::log(size));
    case Rule::holiday: return -size;
    case Rule::nonpositive: return static_cast<double>(rows);
    default: return size;
  }
}

double weight(const Finding& finding) {
  return weight(finding.rule, finding.size, finding.last_row - finding.first_row + 1);
}

}  // namespace

// Missing values: one after the other, by column.
void Cleaner::keep(Finding finding) {
  RuleCount& count = out_.found[index_of(finding.rule)];
  count.rows += finding.last_row - finding.first_row + 1;
  if (std::exchange(last_column_[index_of(finding.rule)], finding.column) != finding.column)
    ++count.assets;
  if (count.found++ == 0 || weight(finding) > weight(count.worst)) count.worst = finding;
  if (count.found <= kMostFindings) out_.findings.push_back(std::move(finding));
}

void Cleaner::list() {
  out_.suspects_of.assign(at(raw_.n()), 0);
  for (std::size_t i = 0; i < handled_.size(); ++i) list_mark(evidence_.marks[i], handled_[i]);
  for (std::size_t i = 0; i < holidays_.size(); ++i) list_mark(holidays_[i], holidays_handled_[i]);
  std::ranges::stable_sort(out_.runs, [](const FindingRun& a, const FindingRun& b) {
    return std::pair(a.first.rule, a.first.first_row) < std::pair(b.first.rule, b.first.first_row);
  });
}

Finding Cleaner::in_words_with(const Mark& mark, Handling handled) const {
  const bool stays = mark.column < 0 || keep_asset_[at(Index{mark.column})] != 0;
  Finding finding = in_words(mark, raw_, settings_.kind);
  finding.how = handled.how;
  finding.decided = handled.decided;
  if (handled.made_before)
    finding.done = fmt::format("nothing: {} seems to be divided out already", handled.ratio);
  else if (!stays && handled.how != OnSuspect::drop_asset)
    finding.done = "nothing: the asset is left out";
  else if (handled.ratio != 0.0 && handled.how == OnSuspect::adjust)
    finding.done = prices() ? fmt::format("divides earlier prices by {}", handled.ratio)
                            : fmt::format("multiplies the gross return by {}", handled.ratio);
  else
    finding.done = would_do(finding, handled.how, settings_);
  return finding;
}

void Cleaner::note(DecisionDoubt doubt, const Decision& d, Index j, Index t, double move) {
  const auto moves = [](double g) {
    return g < 1.0 ? fmt::format("/ {:.4g}", 1.0 / g) : fmt::format("x {:.4g}", g);
  };
  std::string words = fmt::format("{} ({} {}, ratio {}: the price moves {}", book_.where(d),
                                  shortened(raw_.tickers[at(j)]), raw_.dates[at(t)],
                                  shortest(d.ratio), moves(move));
  if (doubt == DecisionDoubt::larger)
    words += fmt::format(" and would move {}; is the ratio {}?", moves(move * d.ratio),
                         shortest(1.0 / d.ratio));
  spoken_of_.insert(&d);
  out_.notes.push_back({doubt, words + ")"});
}

// Decisions about assets and days of this panel that found nothing there.
void Cleaner::note_idle() {
  for (const std::string& words : book_.absent())
    out_.notes.push_back({DecisionDoubt::absent, words});
  for (const Decision* d : book_.idle())
    if (!spoken_of_.contains(d))
      out_.notes.push_back(
          {DecisionDoubt::idle, fmt::format("{} ({})", book_.where(*d), words_of(*d))});
}

// Words only for those that are shown: there may be as many suspects as cells.
void Cleaner::list_mark(const Mark& mark, Handling handled) {
  const bool stays = mark.column < 0 || keep_asset_[at(Index{mark.column})] != 0;
  RuleCount& count = out_.found[index_of(mark.rule)];
  if (mark.column >= 0) ++out_.suspects_of[at(Index{mark.column})];
  if (stays || handled.how == OnSuspect::drop_asset)
    ++count.handled[static_cast<std::size_t>(handled.how)];
  if (book_.given() && !handled.decided && stays) {
    ++count.undecided;
    if (out_.undecided.size() < kMostUndecided)
      out_.undecided.push_back(in_words_with(mark, handled));
  }
  count.rows += mark.last - mark.first + 1;
  if (std::exchange(last_column_[index_of(mark.rule)], Index{mark.column}) != mark.column)
    ++count.assets;
  const Index rows = mark.last - mark.first + 1;
  if (count.found++ == 0 || weight(mark.rule, mark.size, rows) > weight(count.worst))
    count.worst = in_words_with(mark, handled);
  if (count.found <= kMostFindings) out_.findings.push_back(in_words_with(mark, handled));
  add_to_runs(mark, handled);
}

void Cleaner::add_to_runs(const Mark& mark, Handling handled) {
  const bool of_rows = mark.column < 0;
  if (of_rows && !out_.runs.empty()) {
    // Rows of the whole panel come one after the other.
    FindingRun& run = out_.runs.back();
    if (run.first.column < 0 && run.first.last_row + 1 == mark.first &&
        run.first.how == handled.how && run.first.decided == handled.decided) {
      run.first.last_row = mark.last;
      run.first.last_date = raw_.dates[at(Index{mark.last})];
      ++run.count;
      return;
    }
  }
  const Index ratio = mark.rule == Rule::split ? (mark.size < 1.0 ? mark.ratio : -mark.ratio) : 0;
  const Likeness likeness{mark.rule, mark.first, mark.last, ratio, handled.how, handled.decided};
  const auto known = of_rows ? run_of_.end() : run_of_.find(likeness);
  if (known != run_of_.end()) {
    FindingRun& run = out_.runs[known->second];
    ++run.count;
    run.columns.push_back(mark.column);
    return;
  }
  if (runs_of_rule_[index_of(mark.rule)]++ >= kMostFindings) return;
  if (!of_rows) run_of_.emplace(likeness, out_.runs.size());
  out_.runs.push_back({in_words_with(mark, handled), 1, {}});
  if (!of_rows) out_.runs.back().columns.push_back(mark.column);
}

// ---- the panel

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
  const std::vector<Index> rows = priced_rows();
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
  assemble_halts(columns);
}

// By the rows and columns of the panel that is left. Where an asset is halted and has no price
// either, it is halted.
void Cleaner::assemble_halts(const std::vector<Index>& columns) {
  std::vector<char> closed(at(raw_.rows()), traded);
  bool any_closed = false;
  for (std::size_t i = 0; i < holidays_.size(); ++i)
    if (holidays_handled_[i].how == OnSuspect::halt) {
      closed[at(Index{holidays_[i].first})] = halted;
      any_closed = true;
    }
  std::stable_sort(still_.begin(), still_.end(),
                   [](const Stillness& a, const Stillness& b) { return a.column < b.column; });
  std::vector<char> why;
  auto next = still_.begin();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    while (next != still_.end() && next->column < columns[c]) ++next;
    if (!any_closed && (next == still_.end() || next->column != columns[c])) continue;
    why = closed;
    for (; next != still_.end() && next->column == columns[c]; ++next)
      for (Index t = next->first; t <= next->last; ++t)
        why[at(t)] = std::max<char>(why[at(t)], next->why);
    Index row = 0;
    char before = traded;
    for (Index t = 0; t < raw_.rows(); ++t) {
      if (row_[at(t)] != Fate::kept) continue;
      const char now = why[at(t)];
      if (now != traded && now == before)
        out_.halts.runs.back().last = row;
      else if (now != traded)
        out_.halts.runs.push_back({static_cast<Index>(c), row, row, now == no_price});
      before = now;
      ++row;
    }
  }
}

Panel as_written(const Cleaned& cleaned) {
  Panel out = cleaned.panel;
  const auto value = [&](Index t, Index j) -> double& { return out.values[at(t * out.n() + j)]; };
  for (const Halt& halt : cleaned.halts.runs)
    if (halt.without_price && halt.last + 1 < out.rows() &&
        std::isnan(value(halt.last + 1, halt.asset)))
      for (Index t = halt.first; t <= halt.last; ++t) value(t, halt.asset) = kNaN;
  return out;
}

Index Cleaned::suspects() const {
  return std::accumulate(found.begin(), found.begin() + kSuspectRules, Index{0},
                         [](Index sum, const RuleCount& count) { return sum + count.found; });
}

std::vector<std::pair<std::string_view, Index>> Cleaned::left_out() const {
  std::vector<std::pair<std::string_view, Index>> out;
  for (std::size_t rule = 0; rule < found.size(); ++rule)
    if (found[rule].found > kMostFindings)
      out.emplace_back(name(static_cast<Rule>(rule)), found[rule].found - kMostFindings);
  return out;
}

}  // namespace sharpen::market
