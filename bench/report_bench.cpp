// The page of a study of 200 cells and 500 days: how large it is, and how soon Chromium has drawn
// it, once the page is known to hold every run.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "../tests/support/study_results.hpp"
#include "measure.hpp"
#include "report/page_parts.hpp"
#include "sharpen/report/report.hpp"

namespace {

using namespace sharpen;
namespace fs = std::filesystem;

// Four markets, three ks, seven methods, of which four have four seeds: 228 cells; cut to 200.
study::Results results() {
  study::Results out = testing::made_results({.markets = {"A", "B", "C", "D"},
                                              .ks = {"10%", "15%", "20%"},
                                              .assets = 200,
                                              .days = 500,
                                              .seeds = 4,
                                              .own = false});
  out.cells.resize(200);
  return out;
}

// Milliseconds from the start of the navigation until everything is drawn, as the browser counts.
std::string with_clock(std::string page) {
  const std::string script =
      "addEventListener('load', () => setTimeout(() => { document.body.dataset.drawn = "
      "performance.now().toFixed(0); }));";
  const std::string allowed = "script-src ";
  page.insert(page.find(allowed) + allowed.size(), report::policy_hash(script) + " ");
  page.insert(page.rfind("</body>"), "<script>" + script + "</script>");
  return page;
}

// Seconds, the best of a few; negative if the page was not drawn.
double open_seconds(const std::string& page) {
  std::string folder = (fs::temp_directory_path() / "sharpen-bench-XXXXXX").string();
  bench::require(mkdtemp(folder.data()) != nullptr, "no temporary folder");
  std::ofstream(folder + "/page.html", std::ios::binary) << with_clock(page);
  const std::string command =
      "chromium --headless=new --no-sandbox --disable-gpu --user-data-dir='" + folder +
      "/profile' --timeout=10000 --dump-dom 'file://" + folder + "/page.html' 2>/dev/null";
  double best = -1.0;
  for (int round = 0; round < 3; ++round) {
    std::string document;
    std::FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 65536> buffer;
    for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
      document.append(buffer.data(), n);
    pclose(pipe);
    const std::string mark = "data-drawn=\"";
    const auto at = document.find(mark);
    if (at == std::string::npos || document.find("<canvas") == std::string::npos) continue;
    const double seconds = std::strtod(document.c_str() + at + mark.size(), nullptr) / 1000.0;
    if (best < 0.0 || seconds < best) best = seconds;
  }
  fs::remove_all(folder);
  return best;
}

}  // namespace

int main() {
  const study::Results study = results();
  const double start = bench::now(bench::Clock::wall);
  const report::Summary summary = report::summarize(study, {.replications = 10000}, Threads(2));
  const std::string page = report::page(study, summary, report::tables(study, summary));
  const double seconds = bench::now(bench::Clock::wall) - start;
  std::size_t runs = 0;
  for (std::size_t at = 0; (at = page.find("\"returns\":", at)) != std::string::npos; ++at) ++runs;
  bench::require(runs == study.cells.size(), "the page does not hold every run");

  fmt::print("the page of {} cells x {} days, tests included: {:.2f} s, {:.2f} MB\n",
             study.cells.size(), study.markets[0].dates.size(), seconds,
             static_cast<double>(page.size()) / 1e6);
  bench::at_most("report_megabytes", static_cast<double>(page.size()) / 1e6, 8.0);
  if (std::system("command -v chromium >/dev/null 2>&1") != 0) {
    fmt::print("report_open_seconds skipped: there is no chromium here\n");
    return 0;
  }
  const double opened = open_seconds(page);
  bench::require(opened >= 0.0, "chromium did not draw the page");
  bench::at_most("report_open_seconds", opened, 2.0);
}
