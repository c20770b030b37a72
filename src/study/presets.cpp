#include <fmt/format.h>

#include "sharpen/learn/framework.hpp"
#include "sharpen/solve/registry.hpp"
#include "study/grid_tables.hpp"

namespace sharpen::study {

namespace {

MethodGrid method(std::string_view framework, std::string_view optimizer, Role role,
                  std::string_view training) {
  MethodGrid out = plain_method(framework, optimizer, role, training);
  if (training == "paper") out.settings.push_back({"held-sizing", "volatility"});
  return out;
}

}  // namespace

// The paper trains with budgets, and so do its methods here; nobody could hold them: on days whose
// net position is nearly zero they hold thousands of times the wealth, and the first bad one of
// them is ruin. All are held at one volatility instead, which leaves each day's choice as it is.
std::vector<MethodGrid> paper_methods() {
  std::vector<MethodGrid> all;
  for (const std::string_view framework : {"historic", "pfl"})
    for (const std::string_view optimizer : {"oscar", "sdr", "mssrm"}) {
      all.push_back(method(framework, optimizer, Role::paper, "paper"));
      if (!solve::optimizer_named(optimizer).owns("sdr-match")) continue;
      all.back().settings.push_back({"sdr-recovery", "match"});
      all.back().settings.push_back({"sdr-match", "monthly"});
    }
  all.push_back(method("dfl", "oscar", Role::paper, "paper"));
  all.back().label = "DFL";
  // Ours. mssrm-long as published: the means of the rolling window, whatever is learned.
  all.push_back(method("dfl", "swap", Role::own, "default"));
  all.back().label = "DFL default swap";
  all.push_back(method("rolling", "mssrm-long", Role::own, "default"));
  all.back().label = "mSSRM long-only";
  all.push_back(method("rolling", "equal", Role::own, "default"));
  return all;
}

std::vector<MethodGrid> demo_methods() {
  std::vector<MethodGrid> all = paper_methods();
  for (MethodGrid& each : all) {
    const std::string& framework = find_given(each.settings, "framework")->text;
    if (!learn::framework_named(framework).learns) continue;
    each.settings.push_back({"epochs", "10"});
    if (each.training == "paper") each.settings.push_back({"hidden", "64,32"});
    if (each.training == "default") each.settings.push_back({"ensemble", "4"});
  }
  return all;
}

std::vector<MethodGrid> alpha_methods(const std::vector<std::string>& alphas) {
  std::vector<MethodGrid> all;
  for (const std::string& alpha : alphas) {
    const learn::FrameworkInfo& framework =
        learn::framework_of(std::get<double>(settings::parse(settings::find("alpha"), alpha)));
    all.push_back(method(framework.name, "oscar", Role::sweep, "paper"));
    all.back().name = fmt::format("alpha-{}", alpha);
    all.back().label = fmt::format("α = {}", alpha);
    if (framework.decides) all.back().settings.push_back({"alpha", alpha});
  }
  return all;
}

MarketGrid demo_market() {
  MarketGrid market;
  market.name = "simulated";
  market.simulation = {.assets = 20, .days = 2000, .seed = 1, .predictability = 0.3};
  return market;
}

}  // namespace sharpen::study
