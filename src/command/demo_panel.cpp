#include "command/demo_panel.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "sharpen/base/random.hpp"

namespace sharpen::command {

namespace {

struct Company {
  const char* name;
  int sector;
  double beta;        // to the market
  double drift;       // a day, beyond the factors
  double volatility;  // a day, of its own
};

constexpr std::array<Company, 12> kCompanies = {{
    {"ALDER", 0, 0.8, 2e-4, 0.009},
    {"BIRCH", 0, 1.1, 6e-4, 0.012},
    {"CEDAR", 0, 1.3, -3e-4, 0.015},
    {"DELTA", 1, 0.7, 4e-4, 0.008},
    {"EMBER", 1, 1.0, 1e-4, 0.011},
    {"FJORD", 1, 1.2, -2e-4, 0.013},
    {"GRANITE", 2, 0.9, 5e-4, 0.010},
    {"HARBOR", 2, 1.0, 0.0, 0.012},
    {"INDIGO", 2, 1.4, 8e-4, 0.018},
    {"JUNIPER", 0, 0.6, 1e-4, 0.007},
    {"KESTREL", 1, 1.1, 3e-4, 0.014},
    {"LANTERN", 2, 0.8, -4e-4, 0.009},
}};

std::vector<std::string> weekdays_of_2024() {
  using namespace std::chrono;
  std::vector<std::string> dates;
  for (sys_days day = 2024y / January / 2; day <= sys_days(2024y / December / 31); day += days{1}) {
    if (const weekday wd(day); wd == Saturday || wd == Sunday) continue;
    const year_month_day date(day);
    dates.push_back(fmt::format("{}-{:02}-{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()),
                                static_cast<unsigned>(date.day())));
  }
  return dates;
}

}  // namespace

market::Panel demo_returns(std::uint64_t seed) {
  market::Panel panel;
  panel.dates = weekdays_of_2024();
  for (const Company& company : kCompanies) panel.tickers.emplace_back(company.name);
  Random random(seed);
  for (std::size_t t = 0; t < panel.dates.size(); ++t) {
    const double market = 4e-4 + 0.008 * random.normal();
    std::array<double, 3> sectors;
    for (double& sector : sectors) sector = 0.005 * random.normal();
    for (const Company& company : kCompanies) {
      const double own = company.drift + company.volatility * random.normal();
      panel.values.push_back(company.beta * market +
                             sectors[static_cast<std::size_t>(company.sector)] + own);
    }
  }
  return panel;
}

}  // namespace sharpen::command
