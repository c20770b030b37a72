// Missing values: which assets stay for all of them, and over which the last price is carried.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "market/cleaner.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::market {

// Every asset that leaves may take the reason for a day with it, and days that come back make gaps
// longer: again, until none leaves. The bound is for panels made to be slow.
void Cleaner::settle() {
  constexpr int kMostTimes = 20;
  for (int times = 0; times < kMostTimes; ++times) {
    settle_days();
    if (!drop_by_gaps(priced_rows())) break;
  }
  // What the universe drops anyway is no loss of a choice.
  const std::vector<Index> rows = priced_rows();
  for (Dropped& each : out_.dropped)
    each.by_choice = each.by_choice && (rows.empty() || would_stay_raw(each.column, rows));
  std::stable_sort(out_.dropped.begin(), out_.dropped.end(),
                   [](const Dropped& a, const Dropped& b) { return a.column < b.column; });
}

std::vector<Index> Cleaner::priced_rows() const {
  std::vector<Index> rows;
  for (Index t = 0; t < raw_.rows(); ++t)
    if (row_[at(t)] != Fate::without_prices) rows.push_back(t);
  return rows;
}

template <class Missing>
Cleaner::AssetGaps Cleaner::gaps_of(const std::vector<Index>& rows, const Missing& missing) const {
  AssetGaps out;
  out.end = rows.size();
  while (out.start < out.end && missing(rows[out.start])) ++out.start;
  while (out.end > out.start && missing(rows[out.end - 1])) --out.end;
  // A row without returns gives a price to carry and a move to take out, but is not in the result.
  const auto kept = [&](Index t) { return row_[at(t)] == Fate::kept; };
  const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(out.start);
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(out.end);
  out.unseen = std::none_of(begin, end, kept) && std::any_of(rows.begin(), rows.end(), kept);
  for (std::size_t i = out.start; i < out.end; ++i) {
    if (!missing(rows[i])) continue;
    const std::size_t from = i;
    while (missing(rows[i])) ++i;
    out.inside.push_back({from, i});
  }
  return out;
}

Cleaner::AssetGaps Cleaner::gaps_of(Index j, const std::vector<Index>& rows) {
  return gaps_of(rows, [&](Index t) { return is_missing(t, j); });
}

// Empty for one that stays.
std::string Cleaner::reason_to_drop(const AssetGaps& gaps, const std::vector<Index>& rows) const {
  const auto day = [&](std::size_t i) { return raw_.dates[at(rows[i])]; };
  if (gaps.start == rows.size() || gaps.unseen) return "no value in these dates";
  const bool complete = settings_.universe == Universe::complete;
  if (complete && static_cast<Index>(gaps.start) > settings_.max_gap)
    return "starts on " + day(gaps.start);
  for (const Gap& gap : gaps.inside)
    if (complete && gap.rows() > settings_.max_gap)
      return fmt::format("gap of {} from {}", counted(gap.rows(), "row"), day(gap.from));
  if (complete && static_cast<Index>(rows.size() - gaps.end) > settings_.max_gap)
    return "ends on " + day(gaps.end - 1);
  return "";
}

bool Cleaner::would_stay_raw(Index j, const std::vector<Index>& rows) const {
  const ConstMat raw = raw_.matrix();
  return reason_to_drop(gaps_of(rows, [&](Index t) { return std::isnan(raw(t, j)); }), rows)
      .empty();
}

// Whether an asset left.
bool Cleaner::drop_by_gaps(const std::vector<Index>& rows) {
  if (rows.empty()) return false;
  const bool by_rows = std::ranges::find(missing_row_, 1) != missing_row_.end();
  bool any = false;
  for (Index j = 0; j < raw_.n(); ++j) {
    if (keep_asset_[at(j)] == 0 || (has_gaps_[at(j)] == 0 && !by_rows)) continue;
    const std::string reason = reason_to_drop(gaps_of(j, rows), rows);
    if (reason.empty()) continue;
    drop_asset(j, reason, made_missing_[at(j)] != 0 || by_rows);
    any = true;
  }
  return any;
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
  const std::vector<Index> rows = priced_rows();
  for (Index t = 0; t < raw_.rows(); ++t)
    if (missing_row_[at(t)] != 0)
      for (Index j = 0; j < raw_.n(); ++j) value(t, j) = kNaN;
  const bool by_rows = std::ranges::find(missing_row_, 1) != missing_row_.end();
  if (!rows.empty())
    for (Index j = 0; j < raw_.n(); ++j)
      if (has_gaps_[at(j)] != 0 || by_rows || keep_asset_[at(j)] == 0) handle_gaps_of(j, rows);
  std::stable_sort(
      out_.findings.begin(), out_.findings.end(), [](const Finding& a, const Finding& b) {
        const auto place = [](const Finding& f) {
          const bool missing = !is_suspect(f.rule);
          return std::tuple(f.column < 0, f.column, missing, missing ? f.first_row : 0);
        };
        return place(a) < place(b);
      });
}

void Cleaner::fill(Index j, const std::vector<Index>& rows, const Gap& gap, double with) {
  for (std::size_t i = gap.from; i < gap.to; ++i) value(rows[i], j) = with;
  still_.push_back({j, rows[gap.from], rows[gap.to - 1], no_price});
  out_.carried_cells += gap.rows();
  if (out_.carried.empty() || out_.carried.back() != raw_.tickers[at(j)])
    out_.carried.push_back(raw_.tickers[at(j)]);
}

// One finding for the short gaps of an asset together, one for each end, one for the first gap
// that is too long.
void Cleaner::handle_gaps_of(Index j, const std::vector<Index>& rows) {
  const AssetGaps gaps = gaps_of(j, rows);
  if (gaps.start == rows.size() || gaps.unseen)
    return add(Rule::no_value, j, rows.front(), rows.back(), static_cast<Index>(rows.size()),
               "drops the asset");
  const bool stays = keep_asset_[at(j)] != 0;
  Index count = 0, cells = 0;
  const Gap *first = nullptr, *last = nullptr, *too_long = nullptr;
  for (const Gap& gap : gaps.inside) {
    if (gap.rows() > settings_.max_gap) {
      if (too_long == nullptr) too_long = &gap;
      if (stays) leave(j, rows, gap);
      continue;
    }
    if (first == nullptr) first = &gap;
    last = &gap;
    ++count;
    cells += gap.rows();
    if (stays) fill(j, rows, gap, prices() ? value(rows[gap.from - 1], j) : no_return());
  }
  handle_edges(j, rows, gaps);
  if (too_long != nullptr)
    add(Rule::gap, j, rows[too_long->from], rows[too_long->to - 1], too_long->rows(),
        settings_.universe == Universe::complete
            ? "drops the asset"
            : fmt::format("leaves after {}, returns on {}",
                          raw_.dates[at(rows[too_long->from - 1])],
                          raw_.dates[at(rows[too_long->to])]));
  if (count > 0)
    add(Rule::gap, j, rows[first->from], rows[last->to - 1], cells,
        stays ? fmt::format("carries the last price over {}", counted(count, "gap"))
              : std::string("nothing: the asset is left out"));
}

// Up to the longest gap, an end is a gap as well: a last cell that is not there yet is no end. Of
// an asset that only starts within the panel the first price is carried back, with returns of 0
// that nobody can trade on.
void Cleaner::handle_edges(Index j, const std::vector<Index>& rows, const AssetGaps& gaps) {
  const bool complete = settings_.universe == Universe::complete;
  const bool stays = keep_asset_[at(j)] != 0;
  const auto day = [&](std::size_t i) { return raw_.dates[at(rows[i])]; };
  const Gap before{0, gaps.start}, after{gaps.end, rows.size()};
  if (before.rows() > 0) {
    const bool carried = complete && before.rows() <= settings_.max_gap;
    add(Rule::starts, j, rows.front(), rows[before.to - 1], before.rows(),
        !complete  ? "enters on " + day(gaps.start)
        : !carried ? "drops the asset"
        : stays    ? "carries the first price back"
                   : "nothing: the asset is left out");
    if (carried && stays) fill(j, rows, before, prices() ? value(rows[before.to], j) : no_return());
  }
  if (after.rows() > 0) {
    const bool carried = after.rows() <= settings_.max_gap;
    add(Rule::ends, j, rows[after.from], rows.back(), after.rows(),
        carried    ? (stays ? "carries the last price" : "nothing: the asset is left out")
        : complete ? "drops the asset"
                   : "leaves after " + day(gaps.end - 1));
    if (carried && stays)
      fill(j, rows, after, prices() ? value(rows[after.from - 1], j) : no_return());
    else if (stays)
      leave(j, rows, after);
  }
}

// While nobody can know that it is more than a gap, it is one: whoever holds the asset keeps it at
// its last price that long. Then it has left.
void Cleaner::leave(Index j, const std::vector<Index>& rows, const Gap& gap) {
  if (settings_.max_gap > 0)
    fill(j, rows, {gap.from, gap.from + at(settings_.max_gap)},
         prices() ? value(rows[gap.from - 1], j) : no_return());
}

}  // namespace sharpen::market
