#include "sharpen/study/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/csv.hpp"
#include "base/settings_toml.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/framework.hpp"
#include "sharpen/solve/registry.hpp"
#include "study/grid_tables.hpp"
#include "study/kept_files.hpp"

namespace sharpen::study {

namespace {

using settings::Origin;
using settings::Setting;
using settings::Values;

constexpr std::size_t kMostSeeds = 10000;

bool given(const Values& values, std::string_view name) {
  return values.origin(name) == Origin::file || values.origin(name) == Origin::flag;
}

// Settings that a study hands on to all its backtests.
std::vector<Given> common_settings(const Values& values) {
  std::vector<Given> out;
  for (const Setting& setting : settings::table()) {
    const bool both = setting.taken_by(settings::study) && setting.taken_by(settings::backtest);
    if (!both || setting.is(settings::of_run | settings::of_cell) || !given(values, setting.name))
      continue;
    out.push_back(
        {std::string(setting.name), values.written(setting.name), values.file_line(setting.name)});
  }
  return out;
}

// A study takes a list of them, and beside tables of methods one number for all.
bool one_ensemble(const Values& values) {
  return given(values, "ensemble") && values.list("ensemble").size() == 1;
}

[[noreturn]] void refuse(const Values& values, std::string_view name, const std::string& what) {
  throw InputError(fmt::format("{}: {}", values.given_as(name), what));
}

std::vector<std::string> list_or(const Values& values, std::string_view name,
                                 std::vector<std::string> preset) {
  return values.has(name) ? values.list(name) : std::move(preset);
}

// Items as another row of the table reads and writes them; none twice.
std::vector<std::string> checked_list(const Values& values, std::string_view name,
                                      std::string_view row, std::vector<std::string> preset) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  const Setting& found = *settings::find_for(row, settings::backtest);
  for (const std::string& item : list_or(values, name, std::move(preset))) {
    std::optional<Setting> own;
    if (row == "framework") offer_no_files(own.emplace(found), item);
    const Setting& setting = own ? *own : found;
    std::string text;
    try {
      text = settings::write(setting, settings::parse(setting, item));
    } catch (const InputError& error) {
      refuse(values, name, error.marked());
    }
    if (!seen.insert(text).second)
      refuse(values, name, fmt::format("{} is given twice; leave one out", printable(text)));
    out.push_back(std::move(text));
  }
  return out;
}

std::uint64_t seed_of(const Values& values, std::string_view text) {
  const std::optional<std::uint64_t> seed = number_from<std::uint64_t>(text);
  if (!seed || !settings::find("seed").bounds.hold(static_cast<double>(*seed)))
    refuse(values, "seeds",
           fmt::format("{} is neither a number of seeds such as 5, nor seeds such as 3,7 or 1-5",
                       printable(text)));
  return *seed;
}

[[noreturn]] void refuse_seeds(const Values& values, std::uint64_t count) {
  refuse(values, "seeds",
         fmt::format("{} seeds are more than {}, the most that a study may have; give fewer", count,
                     kMostSeeds));
}

// 5: five seeds from the one after --seed; 3,7: these; 1-5: from one to the other.
std::vector<std::uint64_t> seeds_of(const Values& values, std::uint64_t preset) {
  const auto first = static_cast<std::uint64_t>(values.integer("seed"));
  std::vector<std::uint64_t> out;
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    if (to < from)
      refuse(values, "seeds", fmt::format("{}-{} runs backwards; write {}-{}", from, to, to, from));
    if (to - from >= kMostSeeds) refuse_seeds(values, to - from + 1);
    for (std::uint64_t seed = from; seed <= to; ++seed) {
      if (std::find(out.begin(), out.end(), seed) != out.end())
        refuse(values, "seeds", fmt::format("{} is given twice; leave one out", seed));
      out.push_back(seed);
    }
  };
  const std::vector<std::string> items = list_or(values, "seeds", {fmt::format("{}", preset)});
  for (const std::string& item : items) {
    const auto dash = item.find('-');
    if (dash != std::string::npos && dash > 0) {
      add(seed_of(values, item.substr(0, dash)), seed_of(values, item.substr(dash + 1)));
    } else if (items.size() > 1) {
      const std::uint64_t seed = seed_of(values, item);
      add(seed, seed);
    } else {
      const std::uint64_t count = seed_of(values, item);
      if (count == 0) refuse(values, "seeds", "0 leaves nothing to do; give 1 or more");
      add(first + 1, first + count);
    }
    if (out.size() > kMostSeeds) refuse_seeds(values, out.size());
  }
  return out;
}

bool learns(const std::string& framework) { return learn::framework_named(framework).learns; }
bool decides(const std::string& framework) { return learn::framework_named(framework).decides; }
bool needs_file(const std::string& framework) {
  return learn::framework_named(framework).needs_file;
}
bool needs_signal(const std::string& optimizer) {
  return solve::optimizer_named(optimizer).needs.signal;
}

void check_count(double methods) {
  if (methods > static_cast<double>(kMostMethods))
    throw InputError(fmt::format("the study has up to {:.0f} methods, more than {}; leave some out",
                                 methods, kMostMethods));
}

void add_common_ensemble(const Values& values, std::vector<Given>& common) {
  if (one_ensemble(values))
    common.push_back({"ensemble", checked_list(values, "ensemble", "ensemble", {}).front(),
                      values.file_line("ensemble")});
}

// What a method is where nobody says so.
std::string default_of(std::string_view setting) {
  return std::string(settings::find_for(setting, settings::backtest)->preset);
}

// All that train, so that they are tested on the same periods.
std::vector<std::string> default_frameworks() {
  std::vector<std::string> out;
  for (const learn::FrameworkInfo& row : learn::frameworks())
    if (row.trains()) out.emplace_back(row.name);
  return out;
}

// What a grid of lists makes of itself: every framework with every optimizer, and so on.
class Lists {
 public:
  explicit Lists(const Values& values)
      : frameworks_(checked_list(values, "frameworks", "framework", default_frameworks())),
        optimizers_(checked_list(values, "optimizers", "optimizer", {default_of("optimizer")})),
        trainings_(checked_list(values, "trainings", "preset", {"default"})),
        alphas_(checked_list(values, "alphas", "alpha", {})),
        ensembles_(checked_list(values, "ensemble", "ensemble", {})) {
    if (std::ranges::any_of(frameworks_, needs_file))
      refuse(values, "frameworks",
             "signal needs a file of predictions, which a study has no place for; use rolling, "
             "historic, pfl, dfl");
    for (const std::string& framework : frameworks_)
      if (std::ranges::none_of(optimizers_, needs_signal) && learns(framework) &&
          values.has("frameworks"))
        refuse(values, "optimizers",
               fmt::format("framework {} has no use for {}, which asks for no expectations; leave "
                           "one of them out",
                           framework, fmt::join(optimizers_, ", ")));
    if (std::ranges::none_of(frameworks_, decides) && values.has("alphas"))
      refuse(values, "alphas", "goes with framework dfl only, which is not among the frameworks");
    const bool any = std::any_of(frameworks_.begin(), frameworks_.end(), learns);
    if (!any && values.has("ensemble"))
      refuse(values, "ensemble", "goes with frameworks pfl and dfl, and neither is asked for");
    check_count(static_cast<double>(frameworks_.size() * optimizers_.size()) *
                static_cast<double>(trainings_.size()) *
                static_cast<double>(std::max<std::size_t>(1, alphas_.size())) *
                static_cast<double>(std::max<std::size_t>(1, ensembles_.size())));
  }

  std::vector<MethodGrid> methods() const {
    std::vector<MethodGrid> out;
    for (const std::string& framework : frameworks_)
      for (const std::string& optimizer : optimizers_)
        if (needs_signal(optimizer)) add(framework, optimizer, out);
    // What asks for no expectations is a method by itself.
    for (const std::string& optimizer : optimizers_)
      if (!needs_signal(optimizer))
        out.push_back(
            plain_method(default_of("framework"), optimizer, Role::paper, trainings_.front()));
    return out;
  }

 private:
  void add(const std::string& framework, const std::string& optimizer,
           std::vector<MethodGrid>& out) const {
    if (!learns(framework)) {
      out.push_back(plain_method(framework, optimizer, Role::paper, trainings_.front()));
      return;
    }
    const std::vector<std::string> none = {""};
    const auto& alphas = decides(framework) && !alphas_.empty() ? alphas_ : none;
    for (const std::string& training : trainings_)
      for (const std::string& alpha : alphas)
        for (const std::string& ensemble : ensembles_.empty() ? none : ensembles_) {
          MethodGrid method = plain_method(framework, optimizer, Role::paper, training);
          const auto extend = [&](bool needed, const std::string& name, const std::string& label) {
            if (!needed) return;
            method.name += "-" + name;
            method.label += " " + label;
          };
          extend(trainings_.size() > 1, training, training);
          extend(alphas.size() > 1, "a" + alpha, "α = " + alpha);
          extend(ensembles_.size() > 1, "e" + ensemble, "of " + ensemble);
          // Beside other frameworks they compete; alone they are a sweep.
          if (alphas.size() > 1 && frameworks_.size() == 1) method.role = Role::sweep;
          if (!alpha.empty()) method.settings.push_back({"alpha", alpha});
          if (!ensemble.empty()) method.settings.push_back({"ensemble", ensemble});
          out.push_back(std::move(method));
        }
  }

  std::vector<std::string> frameworks_, optimizers_, trainings_, alphas_, ensembles_;
};

// What a cost adds to a method's name or label: "5bp", or the name of a file.
std::string cost_words(const std::string& cost, std::string_view unit) {
  return number_from<double>(cost) ? cost + std::string(unit) : market_name(cost);
}

// Every method at every cost.
std::vector<MethodGrid> with_costs(std::vector<MethodGrid> methods, const Values& values,
                                   std::vector<std::string> preset) {
  const std::vector<std::string> costs =
      checked_list(values, "costs", "cost-bps", std::move(preset));
  if (costs.empty()) return methods;
  check_count(static_cast<double>(costs.size()) * static_cast<double>(methods.size()));
  std::vector<MethodGrid> out;
  for (const std::string& cost : costs)
    for (MethodGrid method : methods) {
      if (const Given* own = find_given(method.settings, "cost-bps"))
        throw InputError(fmt::format("{}: ‹cost-bps› cannot go with {}; leave one of them out",
                                     own->file_line, values.given_as("costs")));
      method.settings.push_back({"cost-bps", cost});
      if (costs.size() > 1) {
        method.name += "-" + cost_words(cost, "bp");
        method.label += " " + cost_words(cost, " bp");
      }
      out.push_back(std::move(method));
    }
  return out;
}

// Studies of the paper charge what it does: nothing.
bool trades_freely(const Values& values, const std::string& preset) {
  return (preset == "paper" || preset == "alpha") && !given(values, "costs");
}

std::vector<MethodGrid> methods_of(const Values& values, const std::string& preset,
                                   std::vector<MethodGrid> tables) {
  for (const Setting& setting : settings::table()) {
    const std::string_view name = setting.name;
    if (!setting.taken_by(settings::study) || !setting.is(settings::of_methods) ||
        !given(values, name))
      continue;
    if (!preset.empty() && !(preset == "alpha" && name == "alphas"))
      refuse(values, name,
             fmt::format("‹--preset {}› has its own methods; leave one of them out", preset));
    if (!tables.empty() && name == "ensemble" && !one_ensemble(values))
      refuse(values, name,
             "a list cannot go with [[method]] tables; give one number, or ensemble in the tables");
    if (!tables.empty() && name != "ensemble")
      refuse(values, name, "cannot go with [[method]] tables; leave one of them out");
  }
  if (!preset.empty() && !tables.empty())
    throw InputError(
        fmt::format("{}: [[method]] cannot go with ‹--preset {}›, which has its own methods; leave "
                    "one of them out",
                    tables.front().file_line, preset));
  if (preset == "paper") tables = paper_methods();
  if (preset == "demo") tables = demo_methods();
  if (preset == "alpha")
    tables =
        alpha_methods(checked_list(values, "alphas", "alpha", {"0", "0.1", "0.5", "0.9", "1"}));
  if (tables.empty()) tables = Lists(values).methods();
  return with_costs(
      std::move(tables), values,
      trades_freely(values, preset) ? std::vector<std::string>{"0"} : std::vector<std::string>());
}

std::vector<MarketGrid> markets_of(const Values& values, const std::string& preset,
                                   std::vector<MarketGrid> tables) {
  for (const Setting& setting : settings::table()) {
    const std::string_view kind = setting.name;
    if (setting.commands != settings::study || !setting.is(settings::of_panel) ||
        !given(values, kind))
      continue;
    if (!tables.empty() && !tables.front().file_line.empty())
      refuse(values, kind, "cannot go with [[market]] tables; leave one of them out");
    for (const std::string& file : values.list(kind))
      tables.push_back({.name = market_name(file),
                        .settings = {{std::string(kind), file, values.file_line(kind)}}});
  }
  if (tables.empty() && preset == "demo") tables.push_back(demo_market());
  if (tables.empty())
    throw InputError(
        "a study needs a market; give ‹--prices FILE›, or [[market]] tables in ‹--config FILE›");
  return tables;
}

// Unless every one has a name of its own.
template <class T>
void check_names(const std::vector<T>& items, std::string_view what) {
  std::set<std::string_view> names;
  for (const T& item : items)
    if (!names.insert(item.name).second)
      throw InputError(fmt::format(
          "{}two {}s are called {}; give each a name of its own{}",
          item.file_line.empty() ? "" : item.file_line + ": ", what, printable(item.name),
          item.file_line.empty() && what == "market" ? " in [[market]] tables of ‹--config FILE›"
                                                     : ""));
}

// What cannot go together, whatever the market.
void check_method(const MethodGrid& method) {
  const std::string& framework = find_given(method.settings, "framework")->text;
  const std::string& optimizer = find_given(method.settings, "optimizer")->text;
  const std::string file_line = method.file_line.empty() ? "" : method.file_line + ": ";
  if (needs_file(framework))
    throw InputError(file_line +
                     "framework = signal needs a file of predictions, which a study has no place "
                     "for; use rolling, historic, pfl or dfl");
  if (learns(framework) && !needs_signal(optimizer))
    throw InputError(
        fmt::format("{}framework = {} has no use for optimizer = {}, which asks for no "
                    "expectations; use framework rolling",
                    file_line, framework, optimizer));
  if (learns(framework)) return;
  for (const Given& each : method.settings) {
    const Setting& setting = *settings::find_for(each.name, settings::backtest);
    if (setting.group == settings::Group::learning && !setting.is(settings::after_training) &&
        find_given(method.settings, "decision") == nullptr)
      throw InputError(fmt::format("{}: {} has no meaning here; it goes with framework pfl or dfl",
                                   each.file_line.empty() ? method.name : each.file_line,
                                   reference(each.name)));
  }
}

// Everything that was given, in the order of the table; then the tables.
std::string description(const Values& values, const Tables& tables) {
  std::string out = "# Settings of `sharpen study`.\n";
  for (const Setting& setting : settings::table()) {
    if (!setting.taken_by(settings::study) || setting.is(settings::of_run) ||
        !given(values, setting.name))
      continue;
    out += fmt::format(
        "{} = {}\n", setting.name,
        settings::toml_text(setting, settings::parse(setting, values.written(setting.name))));
  }
  return out + tables_toml(tables);
}

std::string name_of(const Values& values, const std::string& preset) {
  if (!preset.empty()) return preset;
  if (!values.has("config")) return "study";
  return market_name(values.text("config"));
}

}  // namespace

Grid grid_of(const Values& given_values, std::string_view toml, std::string_view file_name) {
  const Values values = with_market_files(given_values);
  Tables tables = read_tables(toml, file_name);
  for (MarketGrid& market : tables.markets)
    for (Given& each : market.settings) each.text = kept_text(each.name, each.text);
  const std::string preset = values.has("preset") ? values.text("preset") : "";
  Grid out;
  out.name = name_of(values, preset);
  out.common = common_settings(values);
  if (!tables.methods.empty()) add_common_ensemble(values, out.common);
  out.markets = markets_of(values, preset, tables.markets);
  out.ks = checked_list(values, "k", "k",
                        preset.empty() ? std::vector<std::string>{"10%"}
                                       : std::vector<std::string>{"10%", "15%", "20%"});
  if (given(values, "k")) out.ks_given_as = values.given_as("k");
  out.methods = methods_of(values, preset, tables.methods);
  out.trades_freely = trades_freely(values, preset);
  check_count(static_cast<double>(out.methods.size()));
  out.seeds = seeds_of(values, preset == "demo" ? 3 : 5);
  check_names(out.markets, "market");
  check_names(out.methods, "method");
  for (const MethodGrid& method : out.methods) check_method(method);
  const double cells = static_cast<double>(out.markets.size() * out.ks.size()) *
                       static_cast<double>(out.methods.size() * out.seeds.size());
  if (cells > static_cast<double>(kMostCells))
    throw InputError(fmt::format("the study has up to {:.0f} cells, more than {}; leave some out",
                                 cells, kMostCells));
  out.toml = description(values, tables);
  return out;
}

Grid grid_of(const Values& values) {
  if (!values.has("config")) return grid_of(values, "", "");
  const std::string& file = values.text("config");
  return grid_of(values, settings::read_configuration(file), printable(file, 400));
}

}  // namespace sharpen::study
