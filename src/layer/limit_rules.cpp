// Files of limits (docs/limits.md), and what the settings of a command say besides.
#include "sharpen/layer/limit_rules.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>

#include "base/input_file.hpp"
#include "base/settings_toml.hpp"
#include "layer/limit_files.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"

namespace sharpen::layer {

namespace {

// Tables may be part of the text.
constexpr std::size_t kLargestLimits = std::size_t{64} << 20;

constexpr std::array<std::string_view, 15> kLimitKeys = {
    "long_only", "min_weight", "max_weight",   "min_held",     "max_gross",
    "min_net",   "max_net",    "max_turnover", "groups",       "coefficients",
    "rows",      "names",      "weights",      "beta_against", "holdings"};

// Throws InputError about a place in a file of limits.
class LimitReader {
 public:
  LimitReader(std::string_view text, const std::filesystem::path& file)
      : name_(printable(file.string(), 400)),
        folder_(file.parent_path()),
        table_(settings::parse_toml(text, name_, kLargestLimits)) {}

  LimitRules read();

 private:
  [[noreturn]] void fail(const toml::node& node, const std::string& what) const;
  std::string where(const toml::node& node) const;

  bool flag(std::string_view key, const toml::node& node) const;
  double number(std::string_view key, const toml::node& node) const;
  double total(std::string_view key, const toml::node& node) const;
  std::string text(std::string_view key, const toml::node& node) const;
  std::string asset(std::string_view key, const toml::node& node) const;
  template <class Parse>
  auto table_of(std::string_view key, const toml::node& node, const Parse& parse) const;
  const toml::table& entries(std::string_view key, const toml::node& node,
                             std::string_view example) const;

  void read_key(std::string_view key, const toml::node& node, LimitRules& rules) const;
  void read_scalar(std::string_view key, const toml::node& node, LimitRules& rules) const;
  void read_groups(const toml::node& node, LimitRules& rules) const;
  void read_holdings(const toml::node& node, LimitRules& rules) const;
  void read_rows(const toml::node& node, LimitRules& rules) const;
  void read_names(const toml::node& node, LimitRules& rules) const;
  void read_weights(const toml::node& node, LimitRules& rules) const;
  void check_crossed(const LimitRules& rules) const;

  std::string name_;
  std::filesystem::path folder_;
  toml::table table_;
};

std::string LimitReader::where(const toml::node& node) const {
  return fmt::format("{}:{}", name_, node.source().begin.line);
}

void LimitReader::fail(const toml::node& node, const std::string& what) const {
  throw InputError(where(node) + ": " + what);
}

bool LimitReader::flag(std::string_view key, const toml::node& node) const {
  if (const auto on = node.value_exact<bool>()) return *on;
  fail(node, fmt::format("{} = {} must be true or false", key, settings::toml_shown(node)));
}

double LimitReader::number(std::string_view key, const toml::node& node) const {
  std::optional<double> value;
  if (const auto text = node.value_exact<std::string>()) {
    if (text->ends_with('%')) value = parse_share(*text);
  } else if (node.is_number()) {
    value = node.value<double>();
  }
  if (!value)
    fail(node, fmt::format("{} = {} must be a number such as 0.05, or a percentage in quotes such "
                           "as \"5%\"",
                           key, settings::toml_shown(node)));
  if (!std::isfinite(*value))
    fail(node, fmt::format("{} = {} must be finite: leave the key out where there is no limit", key,
                           settings::toml_shown(node)));
  return *value + 0.0;  // no negative zero
}

double LimitReader::total(std::string_view key, const toml::node& node) const {
  const double value = number(key, node);
  if (value < 0.0)
    fail(node, fmt::format("{} = {} must be 0 or more", key, settings::toml_shown(node)));
  return value;
}

std::string LimitReader::text(std::string_view key, const toml::node& node) const {
  auto value = node.value_exact<std::string>();
  if (!value || value->empty() || value->find('\0') != std::string::npos)
    fail(node, fmt::format("{} = {} must be a text in quotes", key, settings::toml_shown(node)));
  return *std::move(value);
}

std::string LimitReader::asset(std::string_view key, const toml::node& node) const {
  std::string value = text(key, node);
  if (!is_plain_text(value))
    fail(node, fmt::format("{} = {} must be a plain name", key, settings::toml_shown(node)));
  return value;
}

const toml::table& LimitReader::entries(std::string_view key, const toml::node& node,
                                        std::string_view example) const {
  const toml::table* table = node.as_table();
  if (table == nullptr)
    fail(node, fmt::format("{} = {} must be a table such as {}", key, settings::toml_shown(node),
                           example));
  for (const auto& [name, value] : *table)
    if (name.str().empty() || !is_plain_text(name.str()))
      fail(value, fmt::format("{} in {} must be a plain name", shown(name.str()), key));
  return *table;
}

// The file that a key names, beside this one; a text of several lines is its own file.
template <class Parse>
auto LimitReader::table_of(std::string_view key, const toml::node& node, const Parse& parse) const {
  const std::string value = text(key, node);
  if (value.find('\n') != std::string::npos)
    return parse(value, fmt::format("{} ({})", name_, key));
  if (name_.empty()) fail(node, fmt::format("{} is a file, and here its lines must be", key));
  try {
    const std::filesystem::path file = folder_ / value;
    return parse(TextFile(file).text(), file.string());
  } catch (const InputError& error) {
    throw InputError(fmt::format("{} (which {} names)", error.marked(), where(node)));
  }
}

void LimitReader::read_groups(const toml::node& node, LimitRules& rules) const {
  if (!node.is_table()) {
    rules.groups = table_of("groups", node, parse_groups);
    return;
  }
  for (const auto& line : settings::toml_lines(entries("groups", node, ""))) {
    const std::string key(line.key);
    std::set<std::string> joined;
    const auto join = [&](const toml::node& group) {
      std::string name = asset(key, group);
      if (!joined.insert(name).second)
        fail(group, fmt::format("asset {} is in group {} twice: keep one", key, shown(name)));
      rules.groups.push_back({key, std::move(name), "", where(group)});
    };
    if (const toml::array* several = line.node->as_array()) {
      if (several->empty()) fail(*line.node, key + " = [] names no group: leave it out");
      for (const toml::node& group : *several) join(group);
    } else {
      join(*line.node);
    }
  }
}

void LimitReader::read_holdings(const toml::node& node, LimitRules& rules) const {
  if (!node.is_table()) {
    rules.holdings = table_of("holdings", node, parse_holdings);
    return;
  }
  for (const auto& line : settings::toml_lines(entries("holdings", node, "")))
    rules.holdings.emplace(line.key, number(line.key, *line.node));
}

void LimitReader::read_rows(const toml::node& node, LimitRules& rules) const {
  const toml::array* list = node.as_array();
  if (list == nullptr)
    fail(node, fmt::format("rows = {} must be a list such as [\"Energy <= 0.3\"]",
                           settings::toml_shown(node)));
  for (const toml::node& row : *list) {
    const auto written = row.value_exact<std::string>();
    if (!written)
      fail(row, fmt::format("{} in rows must be a text in quotes such as \"Energy <= 0.3\"",
                            settings::toml_shown(row)));
    try {
      rules.rows.push_back(parse_row(*written));
    } catch (const InputError& error) {
      fail(row, error.marked());
    }
  }
}

void LimitReader::read_names(const toml::node& node, LimitRules& rules) const {
  constexpr std::string_view kExample = "Energy = 3 or Energy = {min = 1, max = 3}";
  const auto count = [&](std::string_view key, const toml::node& value) {
    const auto whole = value.value_exact<std::int64_t>();
    if (!whole || *whole < 0)
      fail(value, fmt::format("{} = {} must be a whole number, 0 or more", key,
                              settings::toml_shown(value)));
    return static_cast<Index>(*whole);
  };
  for (const auto& line : settings::toml_lines(entries("names", node, kExample))) {
    NamesRule rule;
    rule.group = line.key;
    if (const toml::table* ends = line.node->as_table()) {
      for (const auto& end : settings::toml_lines(*ends)) {
        if (end.key != "min" && end.key != "max")
          fail(*end.node, fmt::format("{} in names is neither min nor max: write {}",
                                      shown(end.key), kExample));
        (end.key == "min" ? rule.least : rule.most) = count(end.key, *end.node);
      }
      if (ends->empty())
        fail(*line.node,
             fmt::format("{} = {{}} says nothing: write {}", shown(line.key), kExample));
    } else {
      rule.most = count(line.key, *line.node);
    }
    if (rule.least > rule.most)
      fail(*line.node, fmt::format("names of {}: min = {} is more than max = {}", shown(rule.group),
                                   rule.least, rule.most));
    rules.names.push_back(std::move(rule));
  }
}

void LimitReader::read_weights(const toml::node& node, LimitRules& rules) const {
  constexpr std::array<std::string_view, 3> kEnds = {"min", "max", "min_held"};
  for (const auto& line :
       settings::toml_lines(entries("weights", node, "[weights.AAPL] and below it max = 0.1"))) {
    const toml::table* ends = line.node->as_table();
    if (ends == nullptr)
      fail(*line.node, fmt::format("{0} = {1} in weights must be a table such as [weights.{0}] and "
                                   "below it max = 0.1",
                                   printable(line.key), settings::toml_shown(*line.node)));
    WeightRule rule;
    for (const auto& end : settings::toml_lines(*ends)) {
      if (end.node->is_table())
        fail(*end.node, fmt::format("a ticker with a dot needs quotes: [weights.\"{}.{}\"]",
                                    printable(line.key), printable(end.key)));
      if (end.key == "min")
        rule.least = number("min", *end.node);
      else if (end.key == "max")
        rule.most = number("max", *end.node);
      else if (end.key == "min_held")
        rule.least_if_held = total("min_held", *end.node);
      else
        fail(*end.node, fmt::format("{} is not a limit of one weight: min, max and min_held are{}",
                                    shown(end.key), did_you_mean(end.key, kEnds)));
    }
    if (rule.least && rule.most && *rule.least > *rule.most)
      fail(*line.node,
           fmt::format("weights of {}: min = {} is more than max = {}", printable(line.key),
                       shortest(*rule.least), shortest(*rule.most)));
    rules.assets.emplace(line.key, rule);
  }
}

void LimitReader::read_scalar(std::string_view key, const toml::node& node,
                              LimitRules& rules) const {
  if (key == "min_weight")
    rules.every.least = number(key, node);
  else if (key == "max_weight")
    rules.every.most = number(key, node);
  else if (key == "min_held")
    rules.every.least_if_held = total(key, node);
  else if (key == "max_gross")
    rules.max_gross = total(key, node);
  else if (key == "min_net")
    rules.min_net = number(key, node);
  else if (key == "max_net")
    rules.max_net = number(key, node);
  else if (key == "max_turnover")
    rules.max_turnover = total(key, node);
  else if (key == "objective" || key == "risk_aversion")
    fail(node, fmt::format("{} is no limit: give {} instead", key,
                           reference(key == "objective" ? "--objective" : "--risk-aversion")));
  else
    fail(node, fmt::format("{} is not a limit{}", shown(key), did_you_mean(key, kLimitKeys)));
}

void LimitReader::read_key(std::string_view key, const toml::node& node, LimitRules& rules) const {
  if (key == "long_only")
    rules.long_only = flag(key, node);
  else if (key == "groups")
    read_groups(node, rules);
  else if (key == "coefficients")
    rules.coefficients = table_of(key, node, parse_coefficients);
  else if (key == "holdings")
    read_holdings(node, rules);
  else if (key == "rows")
    read_rows(node, rules);
  else if (key == "names")
    read_names(node, rules);
  else if (key == "weights")
    read_weights(node, rules);
  else if (key == "beta_against")
    rules.beta_against = asset(key, node);
  else
    read_scalar(key, node, rules);
}

void LimitReader::check_crossed(const LimitRules& rules) const {
  const auto check = [&](const auto& low, const auto& high, const char* least, const char* most) {
    if (low && high && *low > *high)
      fail(*table_.get(most), fmt::format("{} = {} is more than {} = {}: make it the smaller one",
                                          least, shortest(*low), most, shortest(*high)));
  };
  check(rules.every.least, rules.every.most, "min_weight", "max_weight");
  check(rules.min_net, rules.max_net, "min_net", "max_net");
}

LimitRules LimitReader::read() {
  LimitRules rules;
  for (const auto& line : settings::toml_lines(table_)) read_key(line.key, *line.node, rules);
  check_crossed(rules);
  return rules;
}

// A setting that is a file, or its text.
template <class Read>
auto file_or_text(const std::string& setting, const char* name, const Read& read) {
  if (setting.find('\n') != std::string::npos) return read(setting, name);
  return read(TextFile(setting).text(), setting);
}

}  // namespace

void refuse_holdings(const LimitRules& rules, std::string_view who) {
  if (!rules.max_turnover && rules.holdings.empty()) return;
  throw InputError(fmt::format(
      "limits: {} is about what is held, which {} does not know; leave it out, or use it "
      "in ‹sharpen solve› and ‹sharpen predict›",
      rules.max_turnover ? "max_turnover" : "holdings", who));
}

LimitRules read_limits(std::string_view text, const std::filesystem::path& file) {
  return LimitReader(text, file).read();
}

std::shared_ptr<const LimitRules> limit_rules(const LimitSettings& settings,
                                              const LimitRules* base) {
  if (!settings.say_anything()) return nullptr;
  LimitRules rules = base != nullptr ? *base : LimitRules{};
  if (!settings.limits.empty()) rules = file_or_text(settings.limits, "limits", read_limits);
  if (!settings.groups.empty())
    rules.groups = file_or_text(settings.groups, "groups", parse_groups);
  if (settings.long_only) rules.long_only = true;
  if (settings.min_weight) rules.every.least = settings.min_weight;
  if (settings.max_weight) rules.every.most = settings.max_weight;
  if (settings.max_gross) rules.max_gross = settings.max_gross;
  return std::make_shared<const LimitRules>(std::move(rules));
}

}  // namespace sharpen::layer
