#include "study/grid_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/settings_toml.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::study {

namespace {

using settings::Setting;
using settings::TomlLine;

using settings::find_for;

constexpr unsigned kOfMarket = settings::of_panel | settings::of_market;
// What the study says for all its cells, or what has no meaning in one.
constexpr unsigned kNotOfMethod = kOfMarket | settings::of_run | settings::of_answer |
                                  settings::of_cell | settings::of_one_run | settings::shorthand;

bool taken_by_market(std::string_view name) {
  const Setting* setting = find_for(name, settings::backtest);
  return setting != nullptr && setting->is(kOfMarket);
}

bool taken_by_method(std::string_view name) {
  const Setting* setting = find_for(name, settings::backtest);
  return setting != nullptr && setting->in_file && !setting->is(kNotOfMethod);
}

// Names of settings of a command for which that holds, in the order of the table.
template <class Wanted>
std::vector<std::string_view> names_of(settings::Command command, const Wanted& wanted) {
  std::vector<std::string_view> out;
  for (const Setting& setting : settings::table())
    if (setting.taken_by(command) && wanted(setting)) out.push_back(setting.name);
  return out;
}

std::vector<std::string_view> names_of_market() {
  return names_of(settings::backtest,
                  [](const Setting& setting) { return taken_by_market(setting.name); });
}

std::string unknown_key(std::string_view key, std::string_view table,
                        std::vector<std::string_view> known) {
  for (const Setting& setting : settings::table())
    if (table == "method" && taken_by_method(setting.name)) known.push_back(setting.name);
  std::string_view instead;
  if (table == "method" && (key == "k" || key == "seed" || key == "seeds"))
    instead = "; the study has it for all its methods, above the tables";
  else if (table == "method" && key == "preset")
    instead = "; the preset of a training is called training";
  else if (table == "method" && taken_by_market(key))
    instead = "; it belongs to a market, whose methods share it, or above the tables to all";
  else if (table == "market" && taken_by_method(key))
    instead = "; it belongs to a method, or above the tables to all of them";
  std::string guess = did_you_mean(key, known);
  if (guess.empty())
    guess = table == "method"
                ? "; name, label, training and the settings of `sharpen backtest --help` are"
                : fmt::format("; name, simulate, {} are", fmt::join(names_of_market(), ", "));
  return fmt::format("{} is not a setting of a {}{}", printable(key), table,
                     instead.empty() ? std::string_view(guess) : instead);
}

std::string text_of(const TomlLine& line) {
  const auto text = line.node->value_exact<std::string>();
  if (!text)
    throw InputError(fmt::format("{} = {} must be a text in quotes", line.key,
                                 settings::toml_shown(*line.node)));
  if (text->empty())
    throw InputError(
        fmt::format("{} = \"\" is empty; write a text, or leave the line out", line.key));
  if (text->find('\0') != std::string::npos)
    throw InputError(fmt::format("{} = {} has a NUL character in it; leave it out", line.key,
                                 settings::toml_shown(*line.node)));
  return *text;
}

Given given(Setting setting, const TomlLine& line, const std::string& file_line) {
  if (setting.name == "framework") offer_no_files(setting, line.node->value_or(std::string()));
  return {std::string(setting.name),
          settings::write(setting, settings::toml_value(setting, *line.node)), file_line};
}

market::SimulationSettings simulation_of(const TomlLine& line) {
  const toml::table* table = line.node->as_table();
  if (table == nullptr)
    throw InputError("simulate must be a table, such as { assets = 30, days = 1500, seed = 1 }");
  market::SimulationSettings out;
  const std::vector<std::string_view> known =
      names_of(settings::simulate,
               [](const Setting& setting) { return setting.fills<market::SimulationSettings>(); });
  settings::Values values(settings::simulate);
  for (const TomlLine& each : settings::toml_lines(*table)) {
    if (std::ranges::find(known, each.key) == known.end())
      throw InputError(fmt::format("{} is not a setting of a simulation{}", printable(each.key),
                                   did_you_mean(each.key, known)));
    const Setting& setting = *find_for(each.key, settings::simulate);
    values.set_flag(each.key, settings::write(setting, settings::toml_value(setting, *each.node)));
  }
  settings::fill(values, out);
  out.validate();
  return out;
}

// Which of prices, returns and simulate a market comes from: one of them.
void check_source(MarketGrid& market) {
  const Given* prices = find_given(market.settings, "prices");
  const Given* returns = find_given(market.settings, "returns");
  const int sources = (prices != nullptr) + (returns != nullptr) + market.simulation.has_value();
  if (sources != 1)
    throw InputError(fmt::format("{}: a market needs {} of prices, returns and simulate",
                                 market.file_line, sources == 0 ? "one" : "only one"));
  if (market.name.empty())
    market.name =
        market.simulation ? "simulated" : market_name((prices != nullptr ? prices : returns)->text);
}

// `take(line, file_line)` every line of the table; what it throws gets to know where.
template <class Take>
void for_each_line(const toml::table& table, std::string_view file, const Take& take) {
  for (const TomlLine& line : settings::toml_lines(table)) {
    const std::string file_line = fmt::format("{}:{}", file, line.number);
    try {
      take(line, file_line);
    } catch (const InputError& error) {
      throw InputError(file_line + ": " + error.marked());
    }
  }
}

MarketGrid market_of(const toml::table& table, std::string_view file, std::size_t line_of_table) {
  MarketGrid out;
  out.file_line = fmt::format("{}:{}", file, line_of_table);
  for_each_line(table, file, [&](const TomlLine& line, const std::string& file_line) {
    if (line.key == "name")
      out.name = text_of(line);
    else if (line.key == "simulate")
      out.simulation = simulation_of(line);
    else if (taken_by_market(line.key))
      out.settings.push_back(given(*find_for(line.key, settings::backtest), line, file_line));
    else
      throw InputError(unknown_key(line.key, "market", names_of_market()));
  });
  check_source(out);
  return out;
}

// The setting is called preset elsewhere.
std::string training_of(const TomlLine& line) {
  Setting setting = *find_for("preset", settings::backtest);
  setting.name = "training";
  return settings::write(setting, settings::toml_value(setting, *line.node));
}

MethodGrid method_of(const toml::table& table, std::string_view file, std::size_t line_of_table) {
  MethodGrid out;
  out.file_line = fmt::format("{}:{}", file, line_of_table);
  for_each_line(table, file, [&](const TomlLine& line, const std::string& file_line) {
    if (line.key == "name")
      out.name = text_of(line);
    else if (line.key == "label")
      out.label = text_of(line);
    else if (line.key == "training")
      out.training = training_of(line);
    else if (taken_by_method(line.key))
      out.settings.push_back(given(*find_for(line.key, settings::backtest), line, file_line));
    else
      throw InputError(unknown_key(line.key, "method", {"name", "label", "training"}));
  });
  const auto given_or_default = [&out](std::string_view name) {
    if (const Given* found = find_given(out.settings, name)) return found->text;
    const Setting& row = *find_for(name, settings::backtest);
    const bool paper = out.training == "paper" && !row.paper.empty();
    const std::string text(paper ? row.paper : row.preset);
    out.settings.push_back({std::string(name), text, out.file_line});
    return text;
  };
  const std::string optimizer = given_or_default("optimizer");
  const std::string framework = given_or_default("framework");
  const MethodGrid plain = plain_method(framework, optimizer, out.role, out.training);
  if (out.name.empty()) out.name = plain.name;
  if (out.label.empty()) out.label = out.name == plain.name ? plain.label : out.name;
  return out;
}

std::string toml_lines_of(const std::vector<Given>& settings) {
  std::string out;
  for (const Given& each : settings) {
    const Setting& setting = *find_for(each.name, settings::backtest);
    out += fmt::format("{} = {}\n", each.name,
                       settings::toml_text(setting, settings::parse(setting, each.text)));
  }
  return out;
}

std::string simulation_toml(const market::SimulationSettings& s) {
  return fmt::format(
      "simulate = {{ assets = {}, days = {}, seed = {}, predictability = {},{} factors = {}, "
      "start-date = {} }}\n",
      s.assets, s.days, s.seed, shortest(s.predictability),
      s.signal_life ? fmt::format(" signal-life = {},", shortest(*s.signal_life)) : "", s.factors,
      settings::toml_string("start-date", s.start_date));
}

}  // namespace

void offer_no_files(Setting& framework, std::string_view asked) {
  for (const learn::FrameworkInfo& row : learn::frameworks())
    if (row.needs_file && row.name != asked) framework.leave_out(row.name);
}

const Given* find_given(const std::vector<Given>& settings, std::string_view name) {
  for (const Given& given : settings)
    if (given.name == name) return &given;
  return nullptr;
}

std::string market_name(const std::string& file) {
  std::filesystem::path path(file);
  if (path.extension() == ".gz") path.replace_extension();
  const std::string stem = path.stem().string();
  return stem.empty() ? file : stem;
}

MethodGrid plain_method(std::string_view framework, std::string_view optimizer, Role role,
                        std::string_view training) {
  const solve::OptimizerInfo& row = solve::optimizer_named(optimizer);
  MethodGrid out;
  out.name = row.name;
  out.label = row.label;
  if (row.needs.signal) {
    out.name = fmt::format("{}-{}", framework, optimizer);
    out.label = fmt::format("{} {}", learn::framework_named(framework).label, row.label);
  }
  out.role = role;
  out.training = training;
  out.settings = {{"framework", std::string(framework)}, {"optimizer", std::string(optimizer)}};
  return out;
}

Tables read_tables(std::string_view toml, std::string_view file_name) {
  Tables out;
  const toml::table file = settings::parse_toml(toml, file_name);
  const auto each = [&](std::string_view name, const auto& take) {
    const toml::array* tables = file[name].as_array();
    if (tables == nullptr) return;
    for (const toml::node& node : *tables)
      if (const toml::table* table = node.as_table())
        take(*table, static_cast<std::size_t>(table->source().begin.line));
  };
  each("market", [&](const toml::table& table, std::size_t line) {
    out.markets.push_back(market_of(table, file_name, line));
  });
  each("method", [&](const toml::table& table, std::size_t line) {
    out.methods.push_back(method_of(table, file_name, line));
  });
  return out;
}

std::string tables_toml(const Tables& tables) {
  std::string out;
  for (const MarketGrid& market : tables.markets) {
    out += fmt::format("\n[[market]]\nname = {}\n", settings::toml_string("name", market.name));
    if (market.simulation) out += simulation_toml(*market.simulation);
    out += toml_lines_of(market.settings);
  }
  for (const MethodGrid& method : tables.methods) {
    out += fmt::format("\n[[method]]\nname = {}\nlabel = {}\n",
                       settings::toml_string("name", method.name),
                       settings::toml_string("label", method.label));
    if (!method.training.empty())
      out += fmt::format("training = {}\n", settings::toml_string("training", method.training));
    out += toml_lines_of(method.settings);
  }
  return out;
}

}  // namespace sharpen::study
