#include "market/decision_book.hpp"

#include <algorithm>
#include <string_view>

#include "market/calendar.hpp"

namespace sharpen::market {

DecisionBook::DecisionBook(const Decisions& decisions, const Panel& raw)
    : decisions_(decisions),
      rows_(raw.rows()),
      spans_(decisions.all.size()),
      used_(decisions.all.size(), 0) {
  if (decisions.empty()) return;
  std::unordered_map<std::string_view, Index> column_of;
  for (Index j = 0; j < raw.n(); ++j) column_of.emplace(raw.tickers[at(j)], j);
  for (std::size_t i = 0; i < decisions.all.size(); ++i) {
    const Decision& d = decisions.all[i];
    const auto begin = raw.dates.begin();
    const auto first = std::partition_point(begin, raw.dates.end(), [&](const std::string& date) {
      return !d.from.empty() && compare_dates(date, d.from) < 0;
    });
    const auto end = std::partition_point(first, raw.dates.end(), [&](const std::string& date) {
      return d.to.empty() || compare_dates(date, d.to) <= 0;
    });
    spans_[i] = {first - begin, end - begin - 1};
    if (d.tickers.empty()) {
      paint(i, for_all_);
      gaps_of_all_ = gaps_of_all_ || d.rule == Rule::gap;
    }
    for (const std::string& ticker : d.tickers)
      if (const auto found = column_of.find(ticker); found != column_of.end())
        of_column_[found->second].push_back(i);
  }
}

void DecisionBook::paint(std::size_t decision, Painted& out) const {
  const Decision& d = decisions_.all[decision];
  std::vector<std::int32_t>& rows = out[d.rule ? index_of(*d.rule) : kAnyRule];
  if (rows.empty()) rows.assign(at(rows_), -1);
  for (Index t = spans_[decision].first; t <= spans_[decision].last; ++t)
    rows[at(t)] = static_cast<std::int32_t>(decision);
}

const Decision* DecisionBook::painted(const Painted& on, Rule rule, Index t) const {
  for (const std::size_t bucket : {index_of(rule), kAnyRule})
    if (!on[bucket].empty() && on[bucket][at(t)] >= 0)
      return &decisions_.all[static_cast<std::size_t>(on[bucket][at(t)])];
  return nullptr;
}

const Decision* DecisionBook::about(Rule rule, Index column, Index t) {
  if (empty()) return nullptr;
  if (column >= 0 && column != column_) {
    for (auto& rows : for_column_) rows.clear();
    column_ = column;
    if (const auto found = of_column_.find(column); found != of_column_.end())
      for (const std::size_t decision : found->second) paint(decision, for_column_);
  }
  const Decision* found = column >= 0 ? painted(for_column_, rule, t) : nullptr;
  if (found == nullptr) found = painted(for_all_, rule, t);
  return found;
}

bool DecisionBook::about_gaps(Index column) const {
  if (gaps_of_all_) return true;
  const auto found = of_column_.find(column);
  return found != of_column_.end() && std::ranges::any_of(found->second, [&](std::size_t decision) {
           return decisions_.all[decision].rule == Rule::gap;
         });
}

std::vector<DecisionBook::Direct> DecisionBook::direct() {
  std::vector<std::vector<Index>> columns(decisions_.all.size());
  for (const auto& [column, those] : of_column_)
    for (const std::size_t decision : those) columns[decision].push_back(column);
  std::vector<Direct> out;
  for (std::size_t i = 0; i < decisions_.all.size(); ++i) {
    const Decision& d = decisions_.all[i];
    if (d.rule || spans_[i].first > spans_[i].last) continue;
    if (!d.tickers.empty() && columns[i].empty()) continue;
    std::ranges::sort(columns[i]);
    columns[i].erase(std::unique(columns[i].begin(), columns[i].end()), columns[i].end());
    out.push_back({&d, std::move(columns[i]), spans_[i].first, spans_[i].last});
  }
  return out;
}

std::vector<Index> DecisionBook::unused() const {
  std::vector<Index> out;
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (used_[i] == 0) out.push_back(static_cast<Index>(i));
  return out;
}

std::vector<const Decision*> DecisionBook::idle() const {
  std::vector<char> here(used_.size(), 0);
  for (const auto& [column, those] : of_column_)
    for (const std::size_t decision : those) here[decision] = 1;
  std::vector<const Decision*> out;
  for (std::size_t i = 0; i < used_.size(); ++i)
    if (used_[i] == 0 && spans_[i].first <= spans_[i].last &&
        (here[i] != 0 || decisions_.all[i].tickers.empty()))
      out.push_back(&decisions_.all[i]);
  return out;
}

}  // namespace sharpen::market
