// The report of a study: its tables in five formats, and the page (docs/report.md).
//
// The same results and settings give the same bytes: nothing in a report depends on the clock, the
// machine or the number of threads.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/named.hpp"
#include "sharpen/report/summary.hpp"
#include "sharpen/report/table.hpp"
#include "sharpen/study/results.hpp"

namespace sharpen::report {

enum class Format { html, text, markdown, latex, csv };
constexpr std::array<std::string_view, 5> names(Format) {
  return {"html", "text", "md", "latex", "csv"};
}

// "md" and "markdown" alike; InputError for a name that is none.
Format format_of(std::string_view name);
constexpr std::string_view name(Format format) { return name_of(format); }

// Those that have rows, in the order of a report:
//   sharpe        annualised Sharpe ratios, a column per method (the paper's Table 1), after costs;
//                 below them before costs and with trades a period later
//   costs         what trading costs by kind, how much is traded, break-even
//   equal         against equal weights: difference, alpha and beta, with intervals
//   at-cost       Sharpe ratios of the same trades at other costs
//   significance  the best of each row against the runner-up
//   planned       decision-focused against prediction-focused methods
//   alpha         the sweep over alpha (the paper's Table 2)
//   drawdown      maximum drawdowns (the paper's Table 3)
//   performance   return, volatility, Sortino, Calmar, wealth, hit rate, worst day
//   regret        against perfect foresight
//   trading       turnover, exposure and names
//   cells         what is done, failed, missing, ruined, and how long it took
//   failures      why cells failed
//   warnings      what markets and cells warn of
std::vector<Table> tables(const study::Results& results, const Summary& summary);

// Those of these names, in their order; InputError for a name that is none of them.
std::vector<Table> chosen(const std::vector<Table>& all, std::span<const std::string> names);

// One line on what the study holds.
std::string headline(const study::Results& results, const Summary& summary);
// What stands out, in a few sentences that claim no more than the tests do.
std::vector<std::string> findings(const study::Results& results, const Summary& summary);

// Whether a file that begins so (600 bytes are enough) is a report of one of the formats.
bool is_report(std::string_view beginning);

// The report in any format. `whole`: with the sentences that open it, not these tables alone.
std::string document(const study::Results& results, const Summary& summary,
                     const std::vector<Table>& tables, Format format, bool whole = true);

// One HTML file that needs nothing else: tables, charts, settings and versions.
std::string page(const study::Results& results, const Summary& summary,
                 const std::vector<Table>& tables);

}  // namespace sharpen::report
