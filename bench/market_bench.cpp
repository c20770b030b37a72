// Reading a wide CSV of 4,000 tickers x 1,500 days, from the file to the panel, against a bare
// fast_float pass over the same bytes in memory; and the doctor's diagnosis of such a file with
// dirt of every kind in it.
#include <fast_float/fast_float.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>

#include "measure.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/random.hpp"
#include "sharpen/command/doctor.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen {
namespace {

constexpr Index kTickers = 4000;
constexpr Index kDays = 1500;
constexpr int kRounds = 5;

// Prices of random walks, with cents as closes have them.
market::Panel random_panel() {
  using namespace std::chrono;
  market::Panel panel;
  for (Index j = 0; j < kTickers; ++j) panel.tickers.push_back(fmt::format("T{:04}", j));
  Random random(1);
  std::vector<double> price(static_cast<std::size_t>(kTickers));
  for (double& p : price) p = 5.0 + 200.0 * random.uniform();
  for (Index t = 0; t < kDays; ++t) {
    const year_month_day date(sys_days(2015y / January / 1) + days{t});
    panel.dates.push_back(fmt::format("{}-{:02}-{:02}", static_cast<int>(date.year()),
                                      static_cast<unsigned>(date.month()),
                                      static_cast<unsigned>(date.day())));
    for (double& p : price) {
      p = std::max(0.05, p * (1.0 + 0.02 * random.normal()));
      panel.values.push_back(std::round(100.0 * p) / 100.0);
    }
  }
  return panel;
}

// Every number of every row, and nothing else: no header, dates, order or bounds.
double bare_sum(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  double sum = 0.0;
  at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at))) + 1;
  while (at != end) {
    at += std::string_view("2015-01-01").size();
    while (*at == ',') {
      double value = 0.0;
      at = fast_float::from_chars(at + 1, end, value).ptr;
      sum += value;
    }
    ++at;
  }
  return sum;
}

void measure_reading() {
  const market::Panel panel = random_panel();
  const std::string text = market::panel_csv(panel);
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("sharpen-bench-{}.csv", ::getpid());
  write_file(file, text);
  const auto read = [&] { return market::read_panel(file, market::PanelKind::prices); };
  bench::require(read() == panel, "the file reads back to another panel");
  double sum = 0.0;
  for (const double value : panel.values) sum += value;
  bench::require(bare_sum(text) == sum, "the bare pass reads other numbers");

  const auto seconds = bench::alternate({[&] { bench::require(read().n() == kTickers, "read"); },
                                         [&] { bench::require(bare_sum(text) == sum, "bare"); }},
                                        kRounds);
  std::filesystem::remove(file);
  const double megabytes = 1e-6 * static_cast<double>(text.size());
  fmt::print(
      "reading {} tickers x {} days, {:.0f} MB: {:.3f} s ({:.0f} MB/s); bare fast_float "
      "pass: {:.3f} s ({:.0f} MB/s)\n",
      kTickers, kDays, megabytes, seconds[0], megabytes / seconds[0], seconds[1],
      megabytes / seconds[1]);
  bench::at_most("csv_read_over_fast_float", seconds[0] / seconds[1], 2.0);
}

// Every 40th asset has a split, every 50th a stale month, every 30th starts late, every 70th has
// prints and every 90th zeros; and two days are no trading days.
market::Panel dirty_panel() {
  market::Panel panel = random_panel();
  const auto cell = [&](Index t, Index j) -> double& {
    return panel.values[static_cast<std::size_t>(t * kTickers + j)];
  };
  for (Index j = 0; j < kTickers; ++j) {
    if (j % 40 == 0)
      for (Index t = 700 + j % 97; t < kDays; ++t) cell(t, j) *= 8.0;
    if (j % 50 == 1)
      for (Index t = 400 + j % 89; t < 420 + j % 89; ++t) cell(t, j) = cell(t - 1, j);
    if (j % 30 == 2)
      for (Index t = 0; t < 200 + j % 83; ++t) cell(t, j) = std::nan("");
    if (j % 70 == 3) cell(900 + j % 79, j) *= 100.0;
    if (j % 90 == 4) cell(1100 + j % 73, j) = 0.0;
  }
  for (const Index t : {300, 1200})
    for (Index j = 0; j < kTickers; ++j) cell(t, j) = cell(t - 1, j);
  return panel;
}

void measure_doctor() {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("sharpen-bench-{}.csv", ::getpid());
  write_file(file, market::panel_csv(dirty_panel()));
  settings::Values values(settings::doctor);
  values.set_flag("prices", file.string());
  std::size_t letters = 0;
  const auto diagnose = [&] {
    const command::Diagnosis diagnosis = command::doctor_answer(values, {}, {});
    const auto found = [&](market::Rule rule) {
      return diagnosis.cleaned.found[market::index_of(rule)].found;
    };
    // One in a hundred moves too far on its day to look like a whole ratio.
    bench::require(found(market::Rule::split) >= kTickers / 50, "splits are not found");
    bench::require(found(market::Rule::frozen) >= kTickers / 50, "frozen prices are not found");
    bench::require(found(market::Rule::holiday) == 2, "holidays are not found");
    bench::require(!diagnosis.choices.empty() && diagnosis.ranges.size() > 1,
                   "nothing is summed up");
    letters = command::doctor_json(diagnosis).size();
  };
  const auto seconds = bench::alternate({diagnose}, 3, bench::Clock::wall);
  std::filesystem::remove(file);
  fmt::print("doctor on {} tickers x {} days: {:.3f} s, {} bytes of JSON\n", kTickers, kDays,
             seconds[0], letters);
  bench::at_most("doctor_4000x1500_seconds", seconds[0], 3.0);
}

}  // namespace
}  // namespace sharpen

int main() {
  sharpen::measure_reading();
  sharpen::measure_doctor();
}
