// What is done about suspects of each kind, as settings say it.
#include <fmt/format.h>

#include <algorithm>

#include "base/csv.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/cleaning.hpp"

namespace sharpen::market {

namespace {

using settings::Misfit;

constexpr std::string_view kCareful = "careful";

std::string joined_names(auto all, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out.append(i == 0 ? "" : ", ").append(all[i]);
  return out;
}

std::string ways() { return joined_names(names(OnSuspect()), names(OnSuspect()).size()); }
std::string kinds() { return joined_names(names(Rule()), kSuspectRules); }

OnSuspect way_named(std::string_view text, const std::string& whole) {
  if (const auto way = value_named<OnSuspect>(text)) return *way;
  const auto all = names(OnSuspect());
  throw Misfit{whole, fmt::format("{} is not one of {}, {}{}", printable(text), kCareful, ways(),
                                  did_you_mean(text, std::span<const std::string_view>(all)))};
}

std::string ways_for(Rule rule) {
  std::string out;
  for (std::size_t i = 0; i < names(OnSuspect()).size(); ++i)
    if (const auto way = static_cast<OnSuspect>(i); handles(way, rule))
      out.append(out.empty() ? "" : ", ").append(name(way));
  return out;
}

// "split=adjust"
void read_kind(const std::string& word, SuspectRules& rules) {
  const auto sign = word.find('=');
  const std::string kind = word.substr(0, sign), way = word.substr(sign + 1);
  const auto rule = value_named<Rule>(kind);
  if (!rule || !is_suspect(*rule)) {
    const auto all = names(Rule());
    throw Misfit{word, fmt::format("{} is not a kind of suspects: {}{}", printable(kind), kinds(),
                                   did_you_mean(kind, std::span(all).first(kSuspectRules)))};
  }
  rules.said[index_of(*rule)].reset();
  if (way == kCareful) return;
  const OnSuspect how = way_named(way, word);
  if (!handles(how, *rule))
    throw Misfit{word, fmt::format("{} has no meaning for kind {}; give one of {}", name(how),
                                   name(*rule), ways_for(*rule))};
  rules.said[index_of(*rule)] = how;
}

}  // namespace

bool is_suspect(Rule rule) { return rule < Rule::gap; }

bool handles(OnSuspect how, Rule rule) {
  switch (how) {
    case OnSuspect::report:
    case OnSuspect::error:
    case OnSuspect::drop_day: return true;
    case OnSuspect::drop_asset: return rule != Rule::holiday;
    case OnSuspect::adjust:
      return rule == Rule::nonpositive || rule == Rule::print || rule == Rule::split;
    case OnSuspect::missing: return rule != Rule::split;
    case OnSuspect::halt: return true;  // of a split, while it is fresh
  }
  return false;
}

OnSuspect carefully(Rule rule, bool may_be_real, bool fresh, PanelKind kind) {
  if (fresh) return OnSuspect::halt;
  const bool prices = kind == PanelKind::prices;
  switch (rule) {
    case Rule::nonpositive: return prices ? OnSuspect::missing : OnSuspect::report;
    case Rule::print: return OnSuspect::adjust;
    case Rule::split: return may_be_real ? OnSuspect::report : OnSuspect::adjust;
    case Rule::frozen: return prices ? OnSuspect::halt : OnSuspect::report;
    case Rule::holiday: return prices ? OnSuspect::drop_day : OnSuspect::report;
    default: return OnSuspect::report;
  }
}

SuspectRules::SuspectRules(OnSuspect all) {
  for (std::size_t i = 0; i < kSuspectRules; ++i)
    said[i] = handles(all, static_cast<Rule>(i)) ? all : OnSuspect::report;
}

OnSuspect SuspectRules::of(Rule rule, bool may_be_real, bool fresh, PanelKind kind) const {
  return said[index_of(rule)].value_or(carefully(rule, may_be_real, fresh, kind));
}

std::vector<std::string> SuspectRules::words() const {
  if (*this == SuspectRules()) return {std::string(kCareful)};
  for (std::size_t i = 0; i < names(OnSuspect()).size(); ++i)
    if (const auto way = static_cast<OnSuspect>(i); *this == SuspectRules(way))
      return {std::string(name(way))};
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kSuspectRules; ++i)
    if (said[i]) out.push_back(fmt::format("{}={}", name(static_cast<Rule>(i)), name(*said[i])));
  return out;
}

SuspectRules SuspectRules::read(const std::vector<std::string>& words) {
  SuspectRules rules;
  std::vector<std::string> kinds_seen;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto sign = words[i].find('=');
    if (sign == std::string::npos) {
      if (i > 0)
        throw Misfit{words[i],
                     "a word for all kinds comes first; write report,split=adjust for one that "
                     "differs"};
      if (words[i] != kCareful) rules = SuspectRules(way_named(words[i], words[i]));
      continue;
    }
    const std::string kind = words[i].substr(0, sign);
    if (std::ranges::find(kinds_seen, kind) != kinds_seen.end())
      throw Misfit{words[i], fmt::format("{} is said twice; leave one out", printable(kind))};
    kinds_seen.push_back(kind);
    read_kind(words[i], rules);
  }
  return rules;
}

std::string name(const SuspectRules& rules) {
  std::string out;
  for (const std::string& word : rules.words()) out.append(out.empty() ? "" : ",").append(word);
  return out;
}

}  // namespace sharpen::market

namespace sharpen::settings {

std::optional<Value> Held<market::Loss>::show(const market::Loss& held) {
  return shortest(held.percent) + "%";
}

void Held<market::Loss>::read(const Value& value, market::Loss& out) {
  const auto& text = std::get<std::string>(value);
  const auto percent = number_from<double>(
      text.ends_with('%') ? std::string_view(text).substr(0, text.size() - 1) : std::string_view());
  if (!percent || !(*percent >= 0.0 && *percent <= 100.0))
    throw Misfit{text, "write a share from 0% to 100%, such as 10%"};
  out.percent = *percent;
}

}  // namespace sharpen::settings
