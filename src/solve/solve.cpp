#include "sharpen/solve/solve.hpp"

#include <fmt/format.h>

#include <limits>

#include "sharpen/base/error.hpp"

namespace sharpen::solve {

namespace {

using settings::Values;

void warn_of_jitter(Solution& solution) {
  if (!solution.portfolio.outcome.jittered()) return;
  solution.warnings.push_back(fmt::format(
      "the covariance is nearly singular: {:.3g} was added to its diagonal; more --shrinkage, a "
      "longer window or fewer assets would avoid it",
      solution.portfolio.outcome.jitter));
}

// Means of returns that were centred are what rounding leaves of zero, here or in a file of eight
// decimals, and so is any portfolio.
void warn_of_noise(Solution& solution) {
  constexpr double kRounding = 1e-6;
  if (!(solution.full_sharpe > 0.0 && solution.full_sharpe < kRounding)) return;
  solution.warnings.push_back(
      fmt::format("the largest Sharpe ratio of all portfolios is {:.2g}: the expected returns are "
                  "rounding errors, and so is what is chosen by them; were the returns centred or "
                  "standardised?",
                  solution.full_sharpe));
}

// Scores rank names one by one: the best of them together may have nothing to offer.
void warn_of_empty_choice(Solution& solution) {
  const std::string& optimizer = solution.optimizer;
  const bool by_score = optimizer == "oscar" || optimizer == "symmetric" || optimizer == "mssrm" ||
                        optimizer == "sdr";
  if (by_score && solution.portfolio.outcome.status == Status::no_signal &&
      solution.full_sharpe > 0.0)
    solution.warnings.push_back(
        fmt::format("the names chosen by {} have no portfolio with a positive Sharpe ratio; swap "
                    "looks further",
                    solution.optimizer));
}

// A relaxation short of its gap proves less than was asked for.
void warn_of_bounds(const Values& values, Solution& solution) {
  if (solution.sdr && solution.sdr->cut)
    solution.warnings.push_back(
        fmt::format("no relaxation tried has just {} names: one with {} was cut to its {} largest",
                    solution.settings.k, solution.sdr->matched, solution.settings.k));
  if (!solution.bound || solution.bound->status != Status::not_converged) return;
  if (!std::isfinite(solution.bound->sharpe))
    solution.warnings.push_back("no upper bound could be proved");
  else if (values.flag("certify") || solution.sdr)
    solution.warnings.push_back(
        fmt::format("the upper bound holds, but is proved to a relative gap of {:.2g} only: more "
                    "than was asked for; a larger --sdr-gap asks for less",
                    solution.bound->gap));
}

// With budget sizing the weights add up to t/(t + c), and grow like 1/c where t is small.
void warn_of_budget(Solution& solution) {
  const Exposure& exposure = solution.exposure;
  const bool budget = solution.settings.sizing.kind == layer::Sizing::budget;
  if (!budget || exposure.gross == 0.0 || exposure.net >= 0.5) return;
  const bool face = solution.portfolio.outcome.status == Status::neutral_face;
  solution.warnings.push_back(fmt::format(
      "budget sizing divides by t + offset, and the net position t is {}: the gross exposure is "
      "{:.4g} and the weights add up to {:.4g}, not 1; use --sizing gross or volatility",
      face ? "zero" : "below the offset", exposure.gross, face ? 0.0 : exposure.net));
}

// A flag that changes nothing is worth a word; a configuration file may hold it for other runs.
void warn_of_idle_flags(const Values& values, Solution& solution) {
  const auto warn = [&](std::string_view flag, bool used, std::string_view goes_with) {
    if (values.origin(flag) == settings::Origin::flag && !used)
      solution.warnings.push_back(
          fmt::format("--{} has no effect here; it goes with {}", flag, goes_with));
  };
  const std::string& sizing = values.text("sizing");
  if (solution.optimizer == "mssrm-long") {
    for (const std::string_view flag : {"sizing", "target-volatility", "offset", "net"})
      warn(flag, false, "other optimizers: mssrm-long is long only and fully invested");
  } else {
    warn("target-volatility", sizing == "volatility", "--sizing volatility");
    warn("offset", sizing == "budget", "--sizing budget");
  }
  warn("bound", values.flag("certify"), "--certify");
  warn("sdr-recovery", solution.optimizer == "sdr", "--optimizer sdr");
  warn("sdr-gap", solution.optimizer == "sdr" || values.flag("certify"),
       "--optimizer sdr or --certify");
  warn("seed", values.flag("demo"), "--demo");
}

}  // namespace

double Solution::share_of_full() const {
  return full_sharpe > 0.0 ? portfolio.sharpe / full_sharpe
                           : std::numeric_limits<double>::quiet_NaN();
}

double Solution::share_of_bound() const {
  return bound && bound->sharpe > 0.0 ? portfolio.sharpe / bound->sharpe
                                      : std::numeric_limits<double>::quiet_NaN();
}

std::string_view Solution::status_text() const {
  if (portfolio.outcome.status == Status::ok && settings.net == layer::Net::any)
    return "solved: the net position may have either sign";
  return describe(portfolio.outcome.status);
}

std::vector<Index> Solution::held() const {
  std::vector<Index> assets;
  for (const Index i : portfolio.support)
    if (portfolio.weights[static_cast<std::size_t>(i)] != 0.0) assets.push_back(i);
  return assets;
}

const select::Reason* Solution::reason(Index asset) const {
  if (!explanation) return nullptr;
  for (const select::Reason& reason : explanation->reasons)
    if (reason.asset == asset) return &reason;
  return nullptr;
}

Solution solve(const Values& values, SolveInput given) {
  Solution solution;
  solution.input = std::move(given);
  const SolveInput& input = solution.input;
  solution.periods_per_year = values.real("periods-per-year");
  solution.warnings = input.warnings;
  optimize(values, solution);
  const bool overflowed = !std::isfinite(solution.portfolio.sharpe);
  if (overflowed || solution.portfolio.outcome.status == Status::invalid_input)
    throw Failure(
        "the signal, the covariance or the sizing is out of the range of numbers; rescale the "
        "input");
  solution.full_sharpe = select::full_sharpe(*input.risk, 0, input.mu, solution.settings.net);
  if (values.flag("explain"))
    solution.explanation =
        select::explain(solution.settings, *input.risk, 0, input.mu, solution.portfolio);
  warn_of_jitter(solution);
  warn_of_noise(solution);
  warn_of_empty_choice(solution);
  warn_of_bounds(values, solution);
  warn_of_budget(solution);
  warn_of_idle_flags(values, solution);
  return solution;
}

}  // namespace sharpen::solve
