// Limits as text again.
#include <fmt/format.h>

#include "base/settings_toml.hpp"
#include "layer/limit_files.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/layer/limit_rules.hpp"

namespace sharpen::layer {

namespace {

// With a point or an exponent: TOML's whole numbers end at 2^63.
std::string toml_number(double value) {
  const std::string text = shortest(value);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

void write_number(std::string& out, std::string_view key, const std::optional<double>& value) {
  if (value) out += fmt::format("{} = {}\n", key, toml_number(*value));
}

std::string toml_key(std::string_view name) { return settings::toml_string("limits", name); }

// A table over as many lines as it has.
std::string toml_lines_of(std::string_view csv) {
  std::string out = "\"\"\"\n";
  for (std::size_t from = 0; from < csv.size();) {
    const std::size_t end = csv.find('\n', from);
    const std::string line = toml_key(csv.substr(from, end - from));
    out += line.substr(1, line.size() - 2) + '\n';
    from = end + 1;
  }
  return out + "\"\"\"\n";
}

std::string quoted_name(std::string_view name) {
  std::string out = "'";
  for (const char c : name) out.append(c == '\'' ? 2 : 1, c);
  return out + '\'';
}

// A row that nobody wrote.
std::string text_of(const RowRule& row) {
  std::string sum;
  for (const RowTerm& term : row.terms)
    sum += fmt::format("{}{} * {}", sum.empty() ? "" : " + ", shortest(term.factor),
                       quoted_name(term.name));
  if (row.lower == row.upper) return fmt::format("{} = {}", sum, shortest(row.lower));
  std::string out = sum;
  if (row.lower > -kUnlimited && row.upper < kUnlimited)
    out = fmt::format("{} <= {}", shortest(row.lower), sum);
  else if (row.lower > -kUnlimited)
    return fmt::format("{} >= {}", sum, shortest(row.lower));
  return fmt::format("{} <= {}", out, shortest(row.upper));
}

std::string names_text(const NamesRule& rule) {
  const bool open = rule.most == std::numeric_limits<Index>::max();
  return fmt::format("{} = {{min = {}{}}}\n", toml_key(rule.group), rule.least,
                     open ? "" : fmt::format(", max = {}", rule.most));
}

}  // namespace

std::string LimitRules::to_toml() const {
  std::string out = fmt::format("long_only = {}\n", long_only);
  write_number(out, "min_weight", every.least);
  write_number(out, "max_weight", every.most);
  write_number(out, "min_held", every.least_if_held);
  write_number(out, "max_gross", max_gross);
  write_number(out, "min_net", min_net);
  write_number(out, "max_net", max_net);
  write_number(out, "max_turnover", max_turnover);
  if (!beta_against.empty()) out += fmt::format("beta_against = {}\n", toml_key(beta_against));
  if (!rows.empty()) out += "rows = [\n";
  for (const RowRule& row : rows)
    out += fmt::format("  {},\n", toml_key(row.text.empty() ? text_of(row) : row.text));
  if (!rows.empty()) out += "]\n";
  if (!groups.empty()) out += "groups = " + toml_lines_of(write_groups(groups));
  if (!coefficients.empty())
    out += "coefficients = " + toml_lines_of(write_coefficients(coefficients));
  if (!holdings.empty()) out += "[holdings]\n";
  for (const auto& [asset, weight] : holdings) write_number(out, toml_key(asset), weight);
  if (!names.empty()) out += "[names]\n";
  for (const NamesRule& rule : names) out += names_text(rule);
  for (const auto& [asset, rule] : assets) {
    out += fmt::format("[weights.{}]\n", toml_key(asset));
    write_number(out, "min", rule.least);
    write_number(out, "max", rule.most);
    write_number(out, "min_held", rule.least_if_held);
  }
  return out;
}

}  // namespace sharpen::layer
