#include "sharpen/solve/solve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "sharpen/base/error.hpp"
#include "sharpen/baseline/bounds.hpp"
#include "sharpen/select/limited.hpp"

namespace sharpen::solve {

namespace {

using settings::Values;

constexpr std::string_view kCosts = "costs";

void warn_of_jitter(Solution& solution) {
  if (!solution.portfolio.outcome.jittered()) return;
  solution.warnings.push_back(
      fmt::format("the covariance is nearly singular: {:.3g} was added to its diagonal; more "
                  "‹--shrinkage›, a longer window or fewer assets would avoid it",
                  solution.portfolio.outcome.jitter));
}

// Means of returns that were centred are what rounding leaves of zero, here or in a file of eight
// decimals, and so is any portfolio.
void warn_of_noise(Solution& solution) {
  constexpr double kRounding = 1e-6;
  if (!(solution.full_sharpe > 0.0 && solution.full_sharpe < kRounding)) return;
  solution.warnings.push_back(fmt::format(
      "the largest Sharpe ratio of all portfolios is {:.2g}: the expected returns are rounding "
      "errors, and so is what is chosen by them; were the returns centred or standardised?",
      solution.full_sharpe));
}

// Scores rank names one by one: the best of them together may have nothing to offer.
void warn_of_empty_choice(const OptimizerInfo& optimizer, Solution& solution) {
  if (optimizer.ranks && solution.portfolio.outcome.status == Status::no_signal &&
      solution.full_sharpe > 0.0)
    solution.warnings.push_back(fmt::format(
        "the names chosen by {} have no portfolio with a positive Sharpe ratio; swap looks further",
        solution.optimizer));
}

// A relaxation short of its gap proves less than was asked for.
void warn_of_bounds(const Values& values, Solution& solution) {
  if (solution.sdr && solution.sdr->cut)
    solution.warnings.push_back(
        fmt::format("no relaxation tried has just {} names: one with {} was cut to its {} largest",
                    solution.settings.k, solution.sdr->matched, solution.settings.k));
  if (solution.proof && !solution.proof->dropped.empty())
    solution.warnings.push_back(
        fmt::format("the portfolio keeps these limits, and the bound leaves them out: {}",
                    fmt::join(solution.proof->dropped, ", ")));
  if (!solution.bound || solution.bound->status != Status::not_converged) return;
  if (solution.bound->from == baseline::Bound::branch && std::isfinite(solution.bound->sharpe))
    return;  // why it ended is part of the answer
  if (!std::isfinite(solution.bound->sharpe))
    solution.warnings.push_back("no upper bound could be proved");
  else if (values.flag("certify") || solution.sdr)
    solution.warnings.push_back(
        fmt::format("the upper bound holds, but is proved to a relative gap of {:.2g} only: more "
                    "than was asked for; a larger ‹--sdr-gap› asks for less",
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
      "{:.4g} and the weights add up to {:.4g}, not 1; use ‹--sizing gross› or volatility",
      face ? "zero" : "below the offset", exposure.gross, face ? 0.0 : exposure.net));
}

// Risk that small is the rounding of prices, and what is bought by it no portfolio.
void warn_of_gross(Solution& solution) {
  const Exposure& exposure = solution.exposure;
  if (!(exposure.gross > kAbsurdGross)) return;
  solution.warnings.push_back(fmt::format(
      "the gross exposure is {:.3g} times the wealth: what is held hardly moves, and its risk may "
      "be the rounding of prices; leave such assets out, or use ‹--sizing gross›",
      exposure.gross));
}

// A flag that changes nothing is worth a word; a configuration file may hold it for other runs.
void warn_of_idle_flags(const Values& values, const OptimizerInfo& optimizer, Solution& solution) {
  const auto warn = [&](std::string_view flag, bool used, std::string_view goes_with) {
    if (values.origin(flag) == settings::Origin::flag && !used)
      solution.warnings.push_back(
          fmt::format("‹--{}› has no effect here; it goes with {}", flag, goes_with));
  };
  for (const settings::Setting& setting : settings::table())
    if (setting.taken_by(settings::solve) && setting.is(optimizer.ignores))
      warn(setting.name, false,
           fmt::format("other optimizers: {} {}", optimizer.name, optimizer.ignores_since));
  const std::string& sizing = values.text("sizing");
  const bool aims =
      solution.rules && solution.settings.objective.kind == layer::Objective::expected_return;
  if (!optimizer.ignores_setting("target-volatility"))
    warn("target-volatility", sizing == "volatility" || aims,
         "‹--sizing volatility› or ‹--objective return›");
  if (!optimizer.ignores_setting("offset")) warn("offset", sizing == "budget", "‹--sizing budget›");
  warn("bound", values.flag("certify"), "‹--certify›");
  const bool proved = solution.proof && solution.certified == true;
  if (values.flag("certify"))
    warn("bound", !proved || values.text("bound") == "best" || values.text("bound") == "branch",
         "portfolios that are not proved to be the best, as this one is");
  for (const settings::Setting& setting : settings::table()) {
    const std::string owners = owners_of(setting);
    if (owners.empty() || !setting.taken_by(settings::solve)) continue;
    const bool certifies = setting.is(settings::of_certificate);
    warn(setting.name, setting.is(optimizer.own) || (certifies && values.flag("certify")),
         fmt::format("‹--optimizer {}›{}", owners, certifies ? " or ‹--certify›" : ""));
  }
  warn("seed", values.flag("demo"), "‹--demo›");
}

select::SelectSettings select_settings(const OptimizerInfo& optimizer,
                                       const OptimizerSettings& settings, const Problem& problem) {
  std::shared_ptr<const layer::LimitSchedule> limits;
  if (problem.limits != nullptr)
    limits = std::make_shared<layer::LimitSchedule>(
        layer::LimitSchedule{.limits = {*problem.limits}, .of_sample = {}});
  return {settings.mandate(problem.k, std::move(limits)), select::ranking_by(optimizer.score)};
}

// The settings of the command, as far as the optimizer listens to them.
OptimizerSettings settings_for(const OptimizerInfo& optimizer, const Values& values) {
  OptimizerSettings settings = optimizer_settings(values);
  if (optimizer.ignores_setting("sizing")) settings.sizing = {};
  if (optimizer.ignores_setting("net")) settings.net = layer::Net::positive;
  if (settings.net == layer::Net::any && settings.sizing.kind == layer::Sizing::budget)
    throw InputError(
        "net = any cannot go with sizing = budget, which divides by the net position; use sizing "
        "gross or volatility");
  settings.sizing.validate();
  refuse_limits(optimizer, settings);
  return settings;
}

// On the last day of the input, of which moments have none.
std::optional<layer::Limits> limits_of(const OptimizerSettings& settings, const SolveInput& input,
                                       ConstVec holdings) {
  if (!settings.limits) return std::nullopt;
  const std::string_view today = input.window ? std::string_view(input.window->to) : "";
  const layer::LimitBook book(settings.limits, input.tickers, input.left_out, settings.net,
                              settings.objective.kind, today, today);
  std::vector<Index> columns(at(input.n()));
  std::iota(columns.begin(), columns.end(), Index{0});
  return book.at(columns, today,
                 input.window ? input.window_returns() : ConstMat(nullptr, 0, input.n()), holdings);
}

// Why there is none, where every limit can hold by itself: with so few names they cannot.
std::string no_portfolio(const layer::Limits& limits, layer::Objective objective, Index n, Index k,
                         double violation) {
  return fmt::format(
      "no portfolio of {} names {}{}; allow more names (‹-k›), or wider limits", k,
      select::shown_infeasible(limits, objective, n, k) ? "keeps the limits"
                                                        : "that keeps the limits was found",
      violation > 0.0 ? fmt::format(": they would have to give way by {:.3g}", violation) : "");
}

void check(const OptimizerInfo& optimizer, Index n) {
  if (!optimizer.solves)
    throw InputError(
        fmt::format("optimizer = {} solves nothing: it {}; it goes with ‹sharpen backtest›",
                    optimizer.name, optimizer.ignores_since));
  if (optimizer.most_assets > 0 && n > optimizer.most_assets)
    throw InputError(
        fmt::format("optimizer = {} takes at most {} assets, and there are {}; use optimizer swap, "
                    "with ‹--certify› for a bound",
                    optimizer.name, optimizer.most_assets, n));
}

baseline::Bound bound_of(const std::string& text) {
  using enum baseline::Bound;
  return text == "sdp"           ? sdp
         : text == "perspective" ? perspective
         : text == "branch"      ? branch
                                 : best;
}

// Whether no portfolio that keeps the limits is net short.
bool keeps_net(const layer::Limits& limits) {
  const auto is_not_short = [](double lower) { return lower >= 0.0; };
  if (!limits.lower.empty() && std::ranges::all_of(limits.lower, is_not_short)) return true;
  return std::ranges::any_of(limits.rows, [](const layer::LimitRow& row) {
    return row.lower >= 0.0 &&
           std::ranges::all_of(row.coefficients, [](double a) { return a == 1.0; });
  });
}

// The smaller of what the optimizer has proved and what is asked for.
void certify(const Values& values, const OptimizerSettings& settings, const Problem& problem,
             Solution& solution) {
  if (solution.proof && solution.bound && solution.certified == true) return;
  baseline::BoundSettings bound{.k = solution.settings.k,
                                .bound = bound_of(values.text("bound")),
                                .shrinkage = solution.input.shrinkage,
                                .sdr = {},
                                .proof = settings.proof,
                                .limits = nullptr,
                                .threads = problem.threads,
                                .stop = problem.stop};
  bound.sdr.gap = settings.sdr_gap;
  if (solution.proof && solution.proof->of_sharpe) bound.proof.nodes = 1;  // its tree has grown
  // Under the other objectives weights have a scale, and Sharpe ratios do not: what is left of the
  // limits is whether they allow to be net short.
  layer::Net net = solution.settings.net;
  if (settings.objective.kind == layer::Objective::sharpe)
    bound.limits = problem.limits;
  else if (problem.limits != nullptr)
    net = keeps_net(*problem.limits) ? layer::Net::positive : layer::Net::any;
  const baseline::SharpeBound asked =
      baseline::net_upper_bound(*solution.input.risk, 0, solution.input.mu, net, bound);
  if (!solution.bound || !solution.proof || asked.sharpe < solution.bound->sharpe)
    solution.bound = asked;
  // Near singularity a Sharpe ratio is itself rounded by more than the bound may be.
  constexpr double kRounded = 1e-6;
  const double reached = solution.portfolio.sharpe;
  if (reached > solution.bound->sharpe && reached <= solution.bound->sharpe * (1.0 + kRounded))
    solution.bound->sharpe = reached;
  if (solution.proof && solution.proof->of_sharpe)
    solution.proof->bound = std::max(solution.bound->sharpe, solution.proof->reached);
}

}  // namespace

Exposure exposure_of(const Problem& problem, ConstVec weights) {
  Exposure out;
  double largest = 0.0;
  for (const double w : weights) largest = std::max(largest, std::abs(w));
  if (largest == 0.0) return out;
  // Squares of very large or small weights would leave the range of numbers.
  std::vector<double> w(weights.begin(), weights.end()), Sigma_w(weights.size());
  for (double& value : w) value /= largest;
  std::vector<double> scratch(at(problem.risk->scratch_size()));
  problem.risk->apply(problem.sample, w, Sigma_w, scratch);
  double variance = 0.0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    out.gross += std::abs(weights[i]);
    out.net += weights[i];
    out.expected_return += problem.mu[i] * weights[i];
    variance += w[i] * Sigma_w[i];
  }
  out.volatility = largest * std::sqrt(variance);
  return out;
}

void choose(const OptimizerInfo& optimizer, const OptimizerSettings& settings,
            const Problem& problem, Choice& out) {
  out.optimizer = optimizer.name;
  out.settings = select_settings(optimizer, settings, problem);
  out.rules = settings.limits;
  optimizer.make(settings)->decide(problem, out);
}

void restate_proof(const Problem& problem, Choice& out) {
  if (!out.from_holdings || !out.proof) return;
  select::Proof& proof = *out.proof;
  if (std::ranges::find(proof.dropped, kCosts) == proof.dropped.end())
    proof.dropped.emplace_back(kCosts);
  const Exposure exposure = exposure_of(problem, out.portfolio.weights);
  const layer::ObjectiveSettings& objective = out.settings.objective;
  proof.reached = proof.of_sharpe ? out.portfolio.sharpe
                  : objective.kind == layer::Objective::expected_return
                      ? exposure.expected_return
                      : exposure.expected_return - 0.5 * objective.risk_aversion *
                                                       exposure.volatility * exposure.volatility;
  constexpr double kRoom = 1.01;  // for the rounding of a gap
  if (proof.end == select::ProofEnd::optimal &&
      !(proof.gap() <= kRoom * select::ProofSettings::kExact))
    proof.end = select::ProofEnd::gap;
  out.certified = proof.end == select::ProofEnd::optimal;
  if (out.bound && out.bound->from == baseline::Bound::branch)
    if (const std::optional<baseline::SharpeBound> now = baseline::bound_of(proof))
      out.bound->gap = now->gap;
}

void measure(const Problem& problem, bool explain, Choice& out) {
  const risk::Risk& risk = *problem.risk;
  out.exposure = exposure_of(problem, out.portfolio.weights);
  // Where positions cancel nearly all risk the ratio, summed with more digits, knows it better.
  const double volatility = out.exposure.expected_return / out.portfolio.sharpe;
  constexpr double kCancelled = 1e-9;
  if (volatility > 0.0 && std::isfinite(volatility) &&
      !(std::abs(out.exposure.volatility - volatility) <= kCancelled * volatility))
    out.exposure.volatility = volatility;
  out.full_sharpe = problem.limits == nullptr
                        ? select::full_sharpe(risk, problem.sample, problem.mu, out.settings.net)
                        : select::limited_full_sharpe(out.settings.objective, risk, problem.sample,
                                                      problem.mu, *problem.limits);
  restate_proof(problem, out);
  if (!explain) return;
  out.explanation = problem.limits == nullptr
                        ? select::explain(out.settings, risk, problem.sample, problem.mu,
                                          out.portfolio, problem.stop)
                        : select::explain_limited(out.settings, risk, problem.sample, problem.mu,
                                                  *problem.limits, out.portfolio, problem.stop);
}

std::optional<double> Choice::share_of(double sharpe) const {
  return sharpe > 0.0 && std::isfinite(sharpe) ? std::optional(portfolio.sharpe / sharpe)
                                               : std::nullopt;
}

std::string_view Choice::status_text() const {
  if (portfolio.outcome.note != Note::none) return describe(portfolio.outcome.note);
  if (portfolio.outcome.status == Status::ok && from_holdings)
    return "decided from what is held, and by what it costs to change it";
  if (portfolio.outcome.status == Status::ok && rules) return "solved under the limits";
  if (portfolio.outcome.status == Status::ok && settings.net == layer::Net::any)
    return "solved: the net position may have either sign";
  return describe(portfolio.outcome.status);
}

std::vector<Index> Choice::held() const {
  std::vector<Index> assets;
  for (const Index i : portfolio.support)
    if (portfolio.weights[at(i)] != 0.0) assets.push_back(i);
  return assets;
}

const select::Reason* Choice::reason(Index asset) const {
  if (!explanation) return nullptr;
  for (const select::Reason& reason : explanation->reasons)
    if (reason.asset == asset) return &reason;
  return nullptr;
}

Solution solve(const Values& values, SolveInput given, const Stop& stop, const Revision* revision) {
  Solution solution;
  solution.input = std::move(given);
  const SolveInput& input = solution.input;
  solution.periods_per_year = values.real("periods-per-year");
  solution.warnings = input.warnings;
  const OptimizerInfo& optimizer = optimizer_named(values.text("optimizer"));
  const Index k = values.count_or_share("k").of(input.n(), "k");
  const OptimizerSettings settings = settings_for(optimizer, values);
  check(optimizer, input.n());
  const ConstVec holdings = revision == nullptr ? ConstVec() : ConstVec(revision->holdings);
  const bool seen = revision != nullptr && revision->of_holdings;
  std::optional<layer::Limits> limits = limits_of(settings, input, seen ? holdings : ConstVec());
  Problem problem = input.problem(k);
  problem.stop = stop;
  const Threads threads(static_cast<int>(values.integer("threads")));
  problem.threads = &threads;
  if (limits) problem.limits = &*limits;
  choose(optimizer, settings, problem, solution);
  if (limits && solution.portfolio.outcome.status == Status::infeasible)
    throw InputError(no_portfolio(*limits, settings.objective.kind, input.n(), k,
                                  solution.portfolio.outcome.violation));
  if (!std::isfinite(solution.portfolio.sharpe) ||
      solution.portfolio.outcome.status == Status::invalid_input)
    throw Failure(
        "the signal, the covariance or the sizing is out of the range of numbers; rescale the "
        "input");
  if (revision != nullptr) {
    limits = limits_of(settings, input, holdings);
    revision->decide(optimizer, settings, problem, solution);
    restate_proof(problem, solution);
  }
  // Who interrupts a proof wants what there is by then, and that needs no more patience.
  if (solution.proof && solution.proof->end == select::ProofEnd::interrupted) problem.stop = {};
  if (values.flag("certify") && (!stop || problem.stop))
    certify(values, settings, problem, solution);
  measure(problem, values.flag("explain"), solution);
  warn_of_jitter(solution);
  warn_of_noise(solution);
  warn_of_empty_choice(optimizer, solution);
  warn_of_bounds(values, solution);
  warn_of_budget(solution);
  warn_of_gross(solution);
  warn_of_idle_flags(values, optimizer, solution);
  return solution;
}

}  // namespace sharpen::solve
