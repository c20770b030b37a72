// The optimizers of `sharpen solve`, by name.
#include <fmt/format.h>

#include <algorithm>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/baseline/mssrm.hpp"
#include "sharpen/baseline/net_bound.hpp"
#include "sharpen/layer/configure.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::solve {

namespace {

using settings::Values;

select::Optimizer optimizer_of(const std::string& text) {
  using enum select::Optimizer;
  for (const select::Optimizer optimizer : {oscar, symmetric, greedy, swap})
    if (select::name(optimizer) == text) return optimizer;
  throw InputError(fmt::format(
      "optimizer = {} solves nothing: it holds 1/n of every asset; it goes with sharpen backtest",
      printable(text)));
}

select::SelectSettings select_settings(const Values& values, Index n) {
  select::SelectSettings settings;
  settings.k = values.count_or_share("k").of(n, "k");
  const std::string& optimizer = values.text("optimizer");
  if (optimizer == "mssrm-long") return settings;  // weights add up to 1, and none is negative
  const bool any = values.text("net") == "any";
  if (any && values.text("sizing") == "budget")
    throw InputError(
        "net = any cannot go with sizing = budget, which divides by the net position; use sizing "
        "gross or volatility");
  if (optimizer != "mssrm" && optimizer != "sdr") settings.optimizer = optimizer_of(optimizer);
  settings.net = any ? layer::Net::any : layer::Net::positive;
  settings.sizing = layer::yearly_sizing(values);
  settings.validate(n);
  return settings;
}

Exposure exposure_of(const SolveInput& input, const std::vector<double>& weights) {
  Exposure out;
  double largest = 0.0;
  for (const double w : weights) largest = std::max(largest, std::abs(w));
  if (largest == 0.0) return out;
  // Squares of very large or small weights would leave the range of numbers.
  std::vector<double> w(weights), Sigma_w(weights.size());
  for (double& value : w) value /= largest;
  std::vector<double> scratch(static_cast<std::size_t>(input.risk->scratch_size()));
  input.risk->apply(0, w, Sigma_w, scratch);
  double variance = 0.0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    out.gross += std::abs(weights[i]);
    out.net += weights[i];
    out.expected_return += input.mu[i] * weights[i];
    variance += w[i] * Sigma_w[i];
  }
  out.volatility = largest * std::sqrt(variance);
  return out;
}

void run_select(Solution& solution) {
  select::Selector selector(solution.settings, *solution.input.risk);
  selector.run(*solution.input.risk, 0, solution.input.mu, solution.portfolio);
}

void run_mssrm(Solution& solution) {
  const select::SelectSettings& settings = solution.settings;
  baseline::Mssrm mssrm({.k = settings.k, .net = settings.net, .sizing = settings.sizing},
                        *solution.input.risk);
  baseline::MssrmResult result;
  mssrm.run(*solution.input.risk, 0, solution.input.mu, result);
  solution.portfolio = std::move(result.portfolio);
  solution.iterations = result.iterations;
}

// From the plain covariance of the window, or as given; measured by the same Sigma as the others.
void run_mssrm_long(Solution& solution) {
  const SolveInput& input = solution.input;
  const Index n = input.n();
  baseline::MssrmLong mssrm({.k = solution.settings.k}, n);
  baseline::MssrmLongResult result;
  if (input.window)
    mssrm.run_on_window(input.window_returns(), input.mu, result);
  else
    mssrm.run({input.covariance.data(), n, n}, input.mu, result);
  solution.iterations = result.iterations;
  solution.certified = result.certified;
  solution.portfolio = std::move(result.portfolio);
  select::Portfolio& portfolio = solution.portfolio;
  if (portfolio.outcome.status == Status::invalid_input) return;
  portfolio.outcome.jitter = input.risk->jitter(0);
  double B = 0.0;
  const ConstVec b = input.risk->ones_solution(0);
  for (std::size_t i = 0; i < b.size(); ++i) B += b[i] * input.mu[i];
  portfolio.outcome.neutral_first = !(B > 0.0);
  const Exposure exposure = exposure_of(input, portfolio.weights);
  portfolio.sharpe = exposure.gross > 0.0 ? exposure.expected_return / exposure.volatility : 0.0;
}

baseline::SdrSettings sdr_settings(const Values& values) {
  baseline::SdrSettings settings;
  if (values.has("sdr-gap")) settings.gap = values.real("sdr-gap");
  return settings;
}

// A relaxation keeps a dozen matrices (n, n) and takes hundreds of steps of order n^3.
constexpr Index kMostForSdr = 2000;

void run_sdr(const Values& values, Solution& solution) {
  const Index n = solution.input.n();
  if (n > kMostForSdr)
    throw InputError(fmt::format(
        "optimizer = sdr takes at most {} assets, and there are {}; use optimizer swap, with "
        "--certify for a bound",
        kMostForSdr, n));
  const select::SelectSettings& settings = solution.settings;
  const bool match = values.text("sdr-recovery") == "match";
  baseline::SdrSelector sdr(
      {.k = settings.k,
       .recovery = match ? baseline::Recovery::match : baseline::Recovery::top_k,
       .net = settings.net,
       .sizing = settings.sizing,
       .sdr = sdr_settings(values)},
      *solution.input.risk);
  baseline::SdrPortfolio& result = solution.sdr.emplace();
  sdr.run(*solution.input.risk, 0, solution.input.mu, result);
  solution.portfolio = std::move(result.portfolio);
  const baseline::Relaxation& relaxation = result.relaxation;
  solution.iterations = result.iterations;
  solution.certified = result.converged;
  solution.bound = {.status = relaxation.status,
                    .sharpe = baseline::root_above(relaxation.dual),
                    .from = baseline::Bound::sdp,
                    .gap = relaxation.gap};
}

baseline::Bound bound_of(const std::string& text) {
  using enum baseline::Bound;
  return text == "sdp" ? sdp : text == "perspective" ? perspective : best;
}

void certify(const Values& values, Solution& solution) {
  solution.bound =
      baseline::net_upper_bound(*solution.input.risk, 0, solution.input.mu, solution.settings.net,
                                {.k = solution.settings.k,
                                 .bound = bound_of(values.text("bound")),
                                 .shrinkage = solution.input.shrinkage,
                                 .sdr = sdr_settings(values)});
}

}  // namespace

void optimize(const Values& values, Solution& solution) {
  solution.optimizer = values.text("optimizer");
  solution.settings = select_settings(values, solution.input.n());
  if (solution.optimizer == "mssrm-long")
    run_mssrm_long(solution);
  else if (solution.optimizer == "mssrm")
    run_mssrm(solution);
  else if (solution.optimizer == "sdr")
    run_sdr(values, solution);
  else
    run_select(solution);
  if (solution.portfolio.outcome.status == Status::invalid_input) return;
  if (values.flag("certify")) certify(values, solution);
  solution.exposure = exposure_of(solution.input, solution.portfolio.weights);
}

}  // namespace sharpen::solve
