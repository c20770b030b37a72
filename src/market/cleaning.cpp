#include "sharpen/market/cleaning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/input_file.hpp"
#include "market/cleaner.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/settings.hpp"

namespace sharpen::market {

Cleaner::Cleaner(const Panel& raw, const Evidence& evidence, const CleaningSettings& settings,
                 const Decisions& decisions)
    : raw_(raw),
      evidence_(evidence),
      settings_(settings),
      book_(decisions, raw),
      values_(raw.values),
      keep_asset_(at(raw.n()), 1),
      made_missing_(at(raw.n()), 0),
      has_gaps_(at(raw.n()), 0),
      missing_row_(at(raw.rows()), 0),
      fixed_(at(raw.rows()), Fate::kept),
      moves_(at(raw.rows()), 0) {
  last_column_.fill(-2);
  for (std::size_t i = 0; i < values_.size();)
    for (std::size_t j = 0; j < raw.tickers.size(); ++j, ++i)
      if (std::isnan(values_[i])) has_gaps_[j] = 1;
}

Cleaned Cleaner::run() {
  decide();
  settle();
  refuse_suspects();
  list();
  handle_gaps();
  assemble();
  out_.unused = book_.unused();
  note_idle();
  return std::move(out_);
}

std::pair<Index, Index> Cleaner::count() {
  decide();
  settle();
  return {std::ranges::count(keep_asset_, 1), std::ranges::count(row_, Fate::kept)};
}

// ---- decisions and suspects

void Cleaner::decide() {
  for (const DecisionBook::Direct& direct : book_.direct()) apply_direct(direct);
  handled_.reserve(evidence_.marks.size());
  for (const Mark& mark : evidence_.marks) handled_.push_back(handling(mark));
  if (!book_.empty())
    for (Index j = 0; j < raw_.n(); ++j)
      if (has_gaps_[at(j)] != 0 && book_.about_gaps(j)) decide_gaps(j);
  adjust_splits();
}

void Cleaner::apply_direct(const DecisionBook::Direct& direct) {
  const Decision& d = *direct.decision;
  const auto each = [&](const auto& act) {
    if (d.action != OnSuspect::adjust) book_.use(d);
    if (direct.columns.empty())
      for (Index j = 0; j < raw_.n(); ++j) act(j);
    for (const Index j : direct.columns) act(j);
  };
  switch (d.action) {
    case OnSuspect::missing:
      return each([&](Index j) { take_as_missing(direct.first, direct.last, j); });
    case OnSuspect::halt: return each([&](Index j) { halt_cells(j, direct.first, direct.last); });
    case OnSuspect::drop_asset:
      return each([&](Index j) {
        drop_asset(j, d.reason.empty() ? "decided" : "decided: " + d.reason, true);
      });
    case OnSuspect::drop_day:
      book_.use(d);
      std::fill(fixed_.begin() + direct.first, fixed_.begin() + direct.last + 1,
                Fate::without_prices);
      return;
    case OnSuspect::adjust:
      return each([&](Index j) {
        divided_.push_back({j, direct.first, divide_by(j, direct.first, d)});
      });
    default: return;
  }
}

// The asset cannot be traded there: its price stands still where it has none.
void Cleaner::halt_cells(Index j, Index first, Index last) {
  still_.push_back({j, first, last, halted});
  Index before = first - 1;
  while (before >= 0 && !(prices() ? value(before, j) > 0.0 : !std::isnan(value(before, j))))
    --before;
  for (Index t = first; t <= last; ++t) {
    const double now = value(t, j);
    if (prices() ? now > 0.0 : !std::isnan(now))
      before = t;
    else if (before >= 0)
      value(t, j) = prices() ? value(before, j) : no_return();
    else if (!std::isnan(now))
      take_as_missing(t, t, j);
  }
}

void Cleaner::decide_gaps(Index j) {
  for (Index t = 0; t < raw_.rows(); ++t) {
    if (!std::isnan(value(t, j))) continue;
    const Index first = t;
    while (t + 1 < raw_.rows() && std::isnan(value(t + 1, j))) ++t;
    const Decision* d = nullptr;
    // Its first row may be a day that is left out, and the decision name the one after it.
    for (Index row = first; row <= t && (d == nullptr || !d->rule); ++row)
      d = book_.about(Rule::gap, j, row);
    if (d == nullptr || !d->rule) continue;
    // Before it was listed, and after it left, an asset has no gap, unless it is spoken of by name.
    if ((first == 0 || t + 1 == raw_.rows()) && d->tickers.empty()) continue;
    book_.use(*d);
    if (d->action == OnSuspect::halt && first > 0) halt_cells(j, first, t);
    if (d->action == OnSuspect::drop_asset)
      drop_asset(j, fmt::format("decided: gap from {}", raw_.dates[at(first)]), true);
    if (d->action == OnSuspect::drop_day)
      std::fill(fixed_.begin() + first, fixed_.begin() + t + 1, Fate::without_prices);
  }
}

Cleaner::Handling Cleaner::handling(const Mark& mark) {
  const Decision* d = book_.about(mark.rule, mark.column, mark.first);
  // Halted until it is known what it is: then it is decided on anew.
  const bool is_split = mark.rule == Rule::split;
  if (d != nullptr && d->rule && is_split && d->action == OnSuspect::halt && !mark.fresh)
    d = nullptr;
  if (d != nullptr) {
    const Handling decided = handle_decided(mark, *d);
    if (decided.decided) return decided;
  }
  OnSuspect how = settings_.on_suspect.of(mark.rule, may_be_real(mark), mark.fresh, settings_.kind);
  if (is_split && how == OnSuspect::halt && !mark.fresh) how = OnSuspect::report;
  handle(mark, how);
  return {.how = how};
}

// One without a rule has been applied already; its ratio is about the first of its days only.
Cleaner::Handling Cleaner::handle_decided(const Mark& mark, const Decision& d) {
  Handling out{.how = d.action, .decided = true, .ratio = d.ratio};
  if (d.ratio == 0.0) {
    // Cells that are taken out, or not traded, leave a split between what was before and after.
    const bool left_open = !d.rule && ((mark.rule == Rule::split && d.action != OnSuspect::report &&
                                        d.action != OnSuspect::drop_asset) ||
                                       (mark.rule == Rule::print && d.action == OnSuspect::halt));
    if (left_open) return {};
    book_.use(d);
    if (d.rule) handle(mark, d.action);
    if (mark.rule == Rule::nonpositive && d.action == OnSuspect::report &&
        out_.keeps_nonpositive.empty())
      out_.keeps_nonpositive = book_.where(d);
    return out;
  }
  Division division = Division::none;
  if (d.rule) {
    division = divide_by(mark.column, mark.first, d);
  } else {
    const auto found = std::ranges::find_if(divided_, [&](const Divided& each) {
      return each.column == mark.column && each.row == mark.first;
    });
    if (found == divided_.end()) return {};
    division = found->how;
  }
  if (division != Division::made) out.how = OnSuspect::report;
  out.made_before = division == Division::made_before;
  return out;
}

void Cleaner::handle(const Mark& mark, OnSuspect how) {
  const Index j = mark.column;
  switch (how) {
    case OnSuspect::adjust:
      if (mark.rule == Rule::split) {
        const bool fell = mark.size < 1.0;
        if (prices())
          splits_.push_back({j, mark.first, static_cast<double>(mark.ratio), fell});
        else
          adjust_return(mark.first, j, static_cast<double>(mark.ratio), fell);
      }
      if (mark.rule == Rule::nonpositive && prices()) take_as_missing(mark.first, mark.last, j);
      if (mark.rule == Rule::print) carry_over_print(mark);
      return;
    case OnSuspect::missing:
      // In returns a print is a way there and a way back, which belong together.
      return mark.rule == Rule::print && !prices() ? carry_over_print(mark)
                                                   : take_as_missing(mark.first, mark.last, j);
    case OnSuspect::halt:
      if (mark.fresh) return wait_for(mark);
      if (mark.rule == Rule::print) carry_over_print(mark);
      if (mark.rule == Rule::nonpositive && !prices()) take_as_missing(mark.first, mark.last, j);
      return halt_cells(j, mark.first, mark.last);
    case OnSuspect::drop_asset:
      return drop_asset(
          j, fmt::format("{} on {}", name(mark.rule), raw_.dates[at(Index{mark.first})]), true);
    case OnSuspect::drop_day: return note_days(mark);
    case OnSuspect::report:
    case OnSuspect::error: return;
  }
}

// Nobody trades a price of which it is not known yet whether it comes back. One that would be no
// return, were it a split or a wrong price, is not believed either.
void Cleaner::wait_for(const Mark& mark) {
  const Index j = mark.column, last = raw_.rows() - 1;
  still_.push_back({j, mark.first, last, is_no_return(mark) ? no_price : halted});
  if (!is_no_return(mark)) return;
  const Index before = priced_before(mark.first, j);
  for (Index t = mark.first; t <= last; ++t)
    if (!std::isnan(value(t, j))) value(t, j) = prices() ? value(before, j) : no_return();
}

void Cleaner::take_as_missing(Index first, Index last, Index j) {
  made_missing_[at(j)] = has_gaps_[at(j)] = 1;
  for (Index t = first; t <= last; ++t) value(t, j) = kNaN;
}

// The next row after t where the asset has a value; the number of rows if there is none.
Index Cleaner::next_value(Index t, Index j) const {
  do ++t;
  while (t < raw_.rows() && std::isnan(raw_.matrix()(t, j)));
  return t;
}

void Cleaner::carry_over_print(const Mark& mark) {
  const Index j = mark.column;
  still_.push_back({j, mark.first, mark.last, no_price});
  if (prices()) {
    // Not left to the gaps: a print is known to come back, and no --max-gap drops the asset.
    Index before = mark.first - 1;
    while (before > 0 && !(value(before, j) > 0.0)) --before;
    for (Index t = mark.first; t <= mark.last; ++t)
      if (!std::isnan(value(t, j))) value(t, j) = value(before, j);
    return;
  }
  // The way there and back is one return, on the day back.
  const Index back = next_value(mark.last, j);
  double gross = 1.0;
  for (Index t = mark.first; t <= back && t < raw_.rows(); ++t) {
    if (std::isnan(value(t, j))) continue;
    gross *= value(t, j) + shift();
    value(t, j) = no_return();
  }
  if (back < raw_.rows()) value(back, j) = gross - shift();
}

void Cleaner::drop_asset(Index j, const std::string& reason, bool by_choice) {
  char& keep = keep_asset_[at(j)];
  if (keep != 0) out_.dropped.push_back({j, raw_.tickers[at(j)], reason, by_choice});
  keep = 0;
}

// ---- days

void Cleaner::note_days(const Mark& mark) {
  const bool moves = mark.rule == Rule::split || mark.rule == Rule::jump;
  Index last = mark.last;
  // A print in returns is a way there and a way back.
  if (mark.rule == Rule::print && !prices())
    last = std::min(next_value(last, mark.column), raw_.rows() - 1);
  day_drops_.push_back(
      {mark.column, mark.first, last, moves || mark.rule == Rule::frozen, prices() && moves});
}

void Cleaner::mark_days(const DayDrop& drop) {
  if (drop.moves) moves_[at(drop.first)] = 1;
  for (Index t = drop.first; t <= drop.last; ++t) {
    Fate& fate = row_[at(t)];
    if (!drop.of_level || !prices()) {
      fate = Fate::without_prices;
    } else if (fate == Fate::kept) {
      fate = Fate::without_returns;
    }
  }
}

// Which rows stay, by the assets that do.
void Cleaner::settle_days() {
  row_ = fixed_;
  std::ranges::fill(moves_, 0);
  std::ranges::fill(missing_row_, 0);
  holidays_ = evidence_.moves.holidays(keep_asset_);
  holidays_handled_.clear();
  for (const Mark& holiday : holidays_) {
    const Decision* d = book_.about(Rule::holiday, -1, holiday.first);
    const OnSuspect how =
        d != nullptr ? d->action
                     : settings_.on_suspect.of(Rule::holiday, false, false, settings_.kind);
    if (d != nullptr) book_.use(*d);
    holidays_handled_.push_back({how, d != nullptr});
    if (how == OnSuspect::missing) missing_row_[at(Index{holiday.first})] = 1;
    if (how == OnSuspect::drop_day) row_[at(Index{holiday.first})] = Fate::without_prices;
  }
  for (const DayDrop& drop : day_drops_)
    if (keep_asset_[at(drop.column)] != 0) mark_days(drop);
  pass_on_moves();
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

void Cleaner::refuse_suspects() const {
  Index count = 0;
  const Mark* first = nullptr;
  const auto look = [&](const Mark& mark, Handling handled) {
    if (handled.how != OnSuspect::error || (mark.column >= 0 && keep_asset_[at(mark.column)] == 0))
      return;
    ++count;
    if (first == nullptr) first = &mark;
  };
  for (std::size_t i = 0; i < handled_.size(); ++i) look(evidence_.marks[i], handled_[i]);
  for (std::size_t i = 0; i < holidays_.size(); ++i) look(holidays_[i], holidays_handled_[i]);
  if (first == nullptr) return;
  const Finding found = in_words(*first, raw_, settings_.kind);
  const std::string who =
      found.ticker.empty() ? std::string() : fmt::format("ticker {}, ", shortened(found.ticker));
  throw InputError(fmt::format(
      "the panel has {}, the first of them: {}{}, {} ({}); look at the list of sharpen "
      "doctor, then "
      "choose another ‹--on-suspect›, or leave out tickers or dates",
      counted(count, "suspect"), who, found.first_date, name(found.rule), found.question));
}

// ---- the front

void CleaningSettings::validate() const { settings::check(*this); }

Cleaned clean(const Panel& raw, const CleaningSettings& settings) {
  return clean(raw, settings, read_decisions(settings.decisions));
}

Cleaned clean(const Panel& raw, const CleaningSettings& settings, const Decisions& decisions) {
  settings.validate();
  return Cleaner(raw, find_suspects(raw, settings.kind), settings, decisions).run();
}

}  // namespace sharpen::market
