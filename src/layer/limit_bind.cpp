// Rules meet the assets of a panel: every name is looked up, and what cannot be is refused.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "layer/limit_book.hpp"
#include "market/asset_table.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::layer {

namespace {

using Kind = BoundLimits::Kind;

bool among(std::span<const std::string> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

template <class Ids>
std::vector<std::string_view> keys_of(const Ids& ids) {
  std::vector<std::string_view> keys;
  for (const auto& [key, value] : ids) keys.push_back(key);
  return keys;
}

// The entries of a table in the order of their dates, the order of the file among equals.
template <class Entry>
std::vector<const Entry*> by_date(const std::vector<Entry>& entries) {
  std::vector<const Entry*> sorted;
  for (const Entry& entry : entries) sorted.push_back(&entry);
  std::ranges::stable_sort(sorted, {}, [](const Entry* entry) { return entry->from; });
  return sorted;
}

Index id_of(std::map<std::string, Index, std::less<>>& ids, const std::string& name) {
  return ids.try_emplace(name, static_cast<Index>(ids.size())).first->second;
}

// "0 <= net <= 1".
std::string interval_text(std::string_view name, double lower, double upper) {
  if (lower == upper) return fmt::format("{} = {}", name, shortest(lower));
  std::string out(name);
  if (lower > -kUnlimited && upper == kUnlimited)
    return fmt::format("{} >= {}", name, shortest(lower));
  if (lower > -kUnlimited) out = fmt::format("{} <= {}", shortest(lower), name);
  return fmt::format("{} <= {}", out, shortest(upper));
}

}  // namespace

bool BoundLimits::Row::uses(Kind kind) const {
  return std::ranges::any_of(terms, [&](const Term& term) { return term.kind == kind; });
}

BoundLimits::BoundLimits(std::shared_ptr<const LimitRules> rules_,
                         std::vector<std::string> tickers_, std::span<const std::string> known,
                         Net net_, Objective objective_)
    : rules(std::move(rules_)), tickers(std::move(tickers_)), net(net_), objective(objective_) {
  // The full portfolio under limits is where searches begin, and may hold every asset.
  constexpr std::size_t kMostAssets = 10'000;
  if (tickers.size() > kMostAssets)
    throw InputError(fmt::format(
        "limits: {} assets are more than the {} that can be chosen from under limits: leave some "
        "out by ‹--tickers› or ‹--exclude›, or choose without limits",
        tickers.size(), kMostAssets));
  for (const std::string& ticker : tickers) id_of(asset_ids, ticker);
  bind_weights(known);
  bind_groups(known);
  bind_coefficients(known);
  if (!rules->beta_against.empty() && !asset_ids.contains(rules->beta_against))
    market::fail_unknown_asset("beta_against", rules->beta_against, keys_of(asset_ids));
  bind_rows(known);
  bind_names();
  bind_net();
  note_dates();
}

void BoundLimits::bind_groups(std::span<const std::string> known) {
  groups.resize(tickers.size());
  for (const GroupMember& member : rules->groups) {
    if (!member.group.empty()) id_of(group_ids, member.group);
    if (!asset_ids.contains(member.asset) && !among(known, member.asset))
      market::fail_unknown_asset(member.where.empty() ? "groups" : member.where, member.asset,
                                 keys_of(asset_ids));
  }
  for (const GroupMember* member : by_date(rules->groups)) {
    const auto asset = asset_ids.find(member->asset);
    if (asset == asset_ids.end()) continue;
    std::vector<Index>& joined = groups[at(asset->second)].from(member->from);
    if (!member->group.empty()) joined.push_back(group_ids.at(member->group));
  }
}

void BoundLimits::bind_coefficients(std::span<const std::string> known) {
  const CoefficientTable& table = rules->coefficients;
  for (const std::string& name : table.names) id_of(column_ids, name);
  if (column_ids.size() != table.names.size() ||
      table.values.size() != table.lines.size() * table.names.size())
    throw InputError(
        "coefficients: two columns have one name, or a line has not as many numbers as there are "
        "columns: give each column a name of its own");
  for (const auto& [ticker, from, where] : table.lines)
    if (!asset_ids.contains(ticker) && !among(known, ticker))
      market::fail_unknown_asset(where.empty() ? "coefficients" : where, ticker,
                                 keys_of(asset_ids));
  lines.resize(table.names.size());
}

void BoundLimits::find_lines(Index column) {
  std::vector<std::vector<Index>>& of = lines[at(column)];
  if (!of.empty()) return;
  of.resize(tickers.size());
  const std::vector<CoefficientTable::Line>& all = rules->coefficients.lines;
  for (Index l = 0; l < std::ssize(all); ++l)
    if (const auto asset = asset_ids.find(all[at(l)].asset);
        asset != asset_ids.end() && !std::isnan(coefficient(column, l)))
      of[at(asset->second)].push_back(l);
  for (std::vector<Index>& own : of)
    std::ranges::stable_sort(own, {},
                             [&](Index l) -> const std::string& { return all[at(l)].from; });
}

void BoundLimits::bind_weights(std::span<const std::string> known) {
  for (const auto& [asset, rule] : rules->assets)
    if (!asset_ids.contains(asset) && !among(known, asset))
      market::fail_unknown_asset("weights", asset, keys_of(asset_ids));
  for (const auto& [asset, weight] : rules->holdings)
    if (!asset_ids.contains(asset) && !among(known, asset))
      market::fail_unknown_asset("holdings", asset, keys_of(asset_ids));
  for (std::size_t i = 0; i < tickers.size(); ++i) {
    WeightRule rule = rules->every;
    if (const auto own = rules->assets.find(tickers[i]); own != rules->assets.end()) {
      if (own->second.least) rule.least = own->second.least;
      if (own->second.most) rule.most = own->second.most;
      if (own->second.least_if_held) rule.least_if_held = own->second.least_if_held;
    }
    const double least = rule.least.value_or(-kUnlimited);
    lower.push_back(rules->long_only ? std::max(least, 0.0) : least);
    upper.push_back(rule.most.value_or(kUnlimited));
    least_if_held.push_back(rule.least_if_held.value_or(0.0));
    check_bounds(static_cast<Index>(i));
    bounded_below = bounded_below || lower.back() > -kUnlimited;
    bounded_above = bounded_above || upper.back() < kUnlimited;
    any_least = any_least || least_if_held.back() > 0.0;
    if (rules->holdings.empty()) continue;
    const auto held = rules->holdings.find(tickers[i]);
    holdings.push_back(held == rules->holdings.end() ? 0.0 : held->second);
  }
}

void BoundLimits::check_bounds(Index asset) const {
  const double low = lower[at(asset)], high = upper[at(asset)];
  if (!(low <= high))
    throw InputError(fmt::format(
        "the weight of {} must be {} or more{} and {} or less, and none is: change one of them",
        printable(tickers[at(asset)]), shortest(low),
        rules->long_only && low == 0.0 ? " (long_only)" : "", shortest(high)));
  const double largest = std::max(high, -low);
  if (largest > 0.0 && least_if_held[at(asset)] > largest)
    throw InputError(fmt::format(
        "{} is to be held with {} at least (min_held) and {} at most: change one of them, or set "
        "its max to 0",
        printable(tickers[at(asset)]), shortest(least_if_held[at(asset)]), shortest(largest)));
}

BoundLimits::Term BoundLimits::term_of(const RowRule& row, const RowTerm& term,
                                       std::span<const std::string> known) const {
  std::vector<Term> meanings;
  std::string words;
  const auto offer = [&](Kind kind, Index id, std::string_view what) {
    words += (words.empty() ? "" : " and ") + std::string(what);
    meanings.push_back({kind, id, term.factor});
  };
  if (const auto id = asset_ids.find(term.name); id != asset_ids.end())
    offer(Kind::asset, id->second, "an asset");
  else if (among(known, term.name))
    offer(Kind::asset, -1, "an asset");
  if (const auto id = group_ids.find(term.name); id != group_ids.end())
    offer(Kind::group, id->second, "a group");
  if (const auto id = column_ids.find(term.name); id != column_ids.end())
    offer(Kind::coefficient, id->second, "a column of coefficients");
  // Betas from a file take the place of those from returns.
  if (term.name == "net") offer(Kind::net, 0, "the net position");
  if (term.name == "beta" && !column_ids.contains(term.name)) offer(Kind::beta, 0, "beta");
  if (meanings.size() == 1) return meanings[0];
  const std::string where = fmt::format("row {}: {}", shown(row.text), shown(term.name));
  if (meanings.size() > 1)
    throw InputError(fmt::format("{} is {}: give one of them another name", where, words));
  std::vector<std::string_view> said = keys_of(asset_ids);
  for (const auto* more : {&group_ids, &column_ids})
    for (const std::string_view name : keys_of(*more)) said.push_back(name);
  for (const std::string_view name : said)
    if (name.size() > term.name.size() && name.find(term.name) != std::string_view::npos &&
        row.text.find(name) != std::string::npos)
      throw InputError(fmt::format("{} is nothing that is known here: put '{}' in quotes", where,
                                   printable(name)));
  throw InputError(fmt::format(
      "{} is neither an asset nor a group nor a column of coefficients here{}{} correct the name, "
      "or take the row out",
      where, did_you_mean(term.name, said), nearest(term.name, said).empty() ? ";" : ""));
}

void BoundLimits::bind_rows(std::span<const std::string> known) {
  // Rows become rows of a matrix, of which solvers have several.
  constexpr std::size_t kMostEntries = 2'000'000;
  if (rules->rows.size() * tickers.size() > kMostEntries)
    throw InputError(fmt::format(
        "limits: {} rows for {} assets are more than can be kept, which is {} for as many assets: "
        "leave some out, and write bounds of single assets under [weights]",
        rules->rows.size(), tickers.size(), kMostEntries / tickers.size()));
  std::set<Index> inhabited;
  for (const auto& group : groups)
    for (const std::vector<Index>& ids : group.values()) inhabited.insert(ids.begin(), ids.end());
  for (const RowRule& rule : rules->rows) {
    Row row{.name = rule.text, .terms = {}, .lower = rule.lower, .upper = rule.upper};
    bool names_something = false;
    for (const RowTerm& written : rule.terms) {
      const Term term = term_of(rule, written, known);
      if (term.kind == Kind::asset && term.id < 0) continue;
      if (term.kind == Kind::group && !inhabited.contains(term.id))
        throw InputError(fmt::format(
            "row {}: nobody here is in the group {}: add its assets, or take the row out",
            shown(rule.text), shown(written.name)));
      if (term.kind == Kind::coefficient) {
        find_lines(term.id);
        for (std::size_t i = 0; i < tickers.size(); ++i)
          if (lines[at(term.id)][i].empty())
            throw InputError(
                fmt::format("row {}: asset {} has no {}: add it to the table of coefficients",
                            shown(rule.text), shown(tickers[i]), shown(written.name)));
      }
      names_something = true;
      row.terms.push_back(term);
    }
    if (!names_something)
      throw InputError(fmt::format("row {}: none of its assets is left here: take the row out",
                                   shown(rule.text)));
    rows.push_back(std::move(row));
  }
}

void BoundLimits::bind_names() {
  for (const NamesRule& rule : rules->names) {
    const auto id = group_ids.find(rule.group);
    if (id == group_ids.end())
      throw InputError(
          fmt::format("names: there is no group {} here{}{} correct the name, or take "
                      "it out",
                      shown(rule.group), did_you_mean(rule.group, keys_of(group_ids)),
                      nearest(rule.group, keys_of(group_ids)).empty() ? ";" : ""));
    Index ever = 0;
    for (const auto& group : groups)
      ever += std::ranges::any_of(group.values(), [&](const std::vector<Index>& ids) {
        return std::ranges::find(ids, id->second) != ids.end();
      });
    if (rule.least > ever)
      throw InputError(fmt::format(
          "names: at least {} of the group {} are to be held, which has {} here: lower its min",
          rule.least, shown(rule.group), ever));
    if (rule.least > rule.most)
      throw InputError(fmt::format("names of {}: min = {} is more than max = {}", shown(rule.group),
                                   rule.least, rule.most));
    names.push_back({id->second, rule});
  }
}

// The net position has limits of its own that nobody writes, and a row that speaks of it alone
// takes their place. The Sharpe ratio is that of weights that add up to 1, to the kernel: there a
// row of the net position says nothing new, or something wrong.
void BoundLimits::bind_net() {
  const auto alone = [](const Row& row) {
    return row.terms.size() == 1 && row.terms[0].kind == Kind::net;
  };
  const auto refuse_not_one = [](const std::string& text, double least, double most) {
    if (least > 1.0 || most < 1.0)
      throw InputError(fmt::format(
          "{}: ‹--objective sharpe› is about weights that add up to 1; take it out, or give "
          "‹--objective return›",
          text));
  };
  double least = rules->min_net.value_or(-kUnlimited), most = rules->max_net.value_or(kUnlimited);
  if (!(least <= most))
    throw InputError(fmt::format("min_net = {} is more than max_net = {}: make it the smaller one",
                                 shortest(least), shortest(most)));
  if (objective == Objective::sharpe) {
    refuse_not_one("min_net = " + shortest(least), least, 1.0);
    refuse_not_one("max_net = " + shortest(most), 1.0, most);
    for (const Row& row : rows) {
      if (!alone(row)) continue;
      const double factor = row.terms[0].factor;
      const double a = row.lower / factor, b = row.upper / factor;
      refuse_not_one("row " + shown(row.name), std::min(a, b), std::max(a, b));
    }
    std::erase_if(rows, alone);
    return;
  }
  bool says_least = rules->min_net.has_value(), says_most = rules->max_net.has_value();
  for (const Row& row : rows) {
    if (!alone(row)) continue;
    const bool turned = row.terms[0].factor < 0.0;
    says_least = says_least || (turned ? row.upper < kUnlimited : row.lower > -kUnlimited);
    says_most = says_most || (turned ? row.lower > -kUnlimited : row.upper < kUnlimited);
  }
  const bool implied = std::ranges::all_of(lower, [](double x) { return x >= 0.0; });
  if (!says_least && net == Net::positive && !implied) least = 0.0;
  if (!says_most && rules->long_only) most = 1.0;
  if (least == -kUnlimited && most == kUnlimited) return;
  rows.insert(rows.begin(), {.name = interval_text("net", least, most),
                             .terms = {{.kind = Kind::net}},
                             .lower = least,
                             .upper = most});
}

void BoundLimits::note_dates() {
  std::set<std::string> found;
  const auto used = [&](Kind kind) {
    return std::ranges::any_of(rows, [&](const Row& row) { return row.uses(kind); });
  };
  if (used(Kind::group) || !names.empty())
    for (const auto& group : groups) found.insert(group.dates().begin(), group.dates().end());
  for (const Row& row : rows)
    for (const Term& term : row.terms)
      if (term.kind == Kind::coefficient)
        for (const std::vector<Index>& own : lines[at(term.id)])
          for (const Index l : own) found.insert(rules->coefficients.lines[at(l)].from);
  found.erase("");
  dates.assign(found.begin(), found.end());
}

}  // namespace sharpen::layer
