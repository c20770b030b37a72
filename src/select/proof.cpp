#include "sharpen/select/proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "base/vec.hpp"
#include "select/exact.hpp"
#include "select/input.hpp"
#include "select/proof_linear.hpp"
#include "select/proof_tree.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/select/limited.hpp"

namespace sharpen::select {

namespace {

using layer::Objective;

constexpr double kRoom = 1.01;  // for the rounding of a gap
// Disturbed starts of the search: before a proof, whose tree goes on with it, and alone. Fewer
// where each takes long: some exchanges, of n k^2 operations each.
constexpr int kStartsOfProof = 30, kStartsAlone = 200;
constexpr double kMostOperations = 3e8;
// Supports, all of which may have to be looked at where Sigma itself is singular to rounding.
constexpr double kMostSingular = 1e6;
// Of the return, what risk that is allowed and not used may cost in its bound.
constexpr double kSlackPrice = 1e-7;

bool all_finite(ConstVec mu) {
  return std::all_of(mu.begin(), mu.end(), [](double m) { return std::isfinite(m); });
}

class ProofClock {
 public:
  explicit ProofClock(double seconds)
      : seconds_(seconds), begin_(std::chrono::steady_clock::now()) {}
  bool is_over() const {
    if (seconds_ <= 0.0) return false;
    const std::chrono::duration<double> past = std::chrono::steady_clock::now() - begin_;
    return past.count() >= seconds_;
  }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace

void ProofSettings::validate() const {
  if (!(gap >= 0.0 && gap < 1.0))
    throw InputError(fmt::format("proof-gap = {} is outside [0, 1)", gap));
  if (!(seconds >= 0.0)) throw InputError(fmt::format("time-limit = {} is below 0", seconds));
  if (nodes < 0) throw InputError(fmt::format("node-limit = {} is below 0", nodes));
}

double Proof::gap() const {
  if (bound <= reached) return 0.0;
  return reached > 0.0 || (reached < 0.0 && !of_sharpe) ? (bound - reached) / std::abs(reached)
                                                        : kInfinity;
}

struct ExactSelector::Work {
  Work(const SelectSettings& select, const ProofSettings& proof_settings, Index assets)
      : settings(select), proof(proof_settings), n(assets) {
    settings.optimizer = Optimizer::swap;
  }

  void begin(const risk::Risk& of, Index of_sample, ConstVec signal, const layer::Limits* under);
  void search(std::span<const Index> start, Portfolio& out, const Stop& stop);
  bool solve_on(std::span<const Index> K, Portfolio& to);
  bool asks_for_more_than(std::span<const Index> K) const;
  bool read(const Portfolio& out, Proof& to);
  bool is_largest_return(const Portfolio& out, Proof& to);
  void look_further(Portfolio& out, int starts, const Stop& stop, const ProofClock& clock);
  double tolerance(const Portfolio& out);
  void prove(const Threads& threads, const Stop& stop, const ProofClock& clock, Portfolio& out,
             Proof& to);
  double reached(const Portfolio& out) const;
  bool is_better(const Portfolio& a, const Portfolio& b) const {
    if (!a.outcome.solved() || !b.outcome.solved()) return a.outcome.solved();
    // What takes more risk than is allowed is no match for what does not.
    if (takes_too_much(a) != takes_too_much(b)) return takes_too_much(b);
    return reached(a) > reached(b);
  }
  static bool takes_too_much(const Portfolio& of) { return of.outcome.note == Note::above_risk; }
  bool plain() const { return limits == nullptr; }
  bool net_positive() const { return plain() && settings.net == layer::Net::positive; }

  SelectSettings settings;
  const ProofSettings proof;
  const Index n;
  std::optional<Selector> selector;
  std::optional<LimitedSelector> limited;
  std::optional<ProofSearch> exchanges;
  ProofProblem problem;
  Portfolio trial;
  ProofReading reading;
  double linear_bound = kInfinity;
  // Of this run.
  const risk::Risk* risk = nullptr;
  Index sample = 0;
  ConstVec mu;
  const layer::Limits* limits = nullptr;
};

void ExactSelector::Work::begin(const risk::Risk& of, Index of_sample, ConstVec signal,
                                const layer::Limits* under) {
  check_input(Optimizer::swap, n, of, of_sample, signal);
  risk = &of;
  sample = of_sample;
  mu = signal;
  limits = under;
  exchanges.reset();
}

// What is compared: the Sharpe ratio, or the objective under limits.
double ExactSelector::Work::reached(const Portfolio& out) const {
  if (plain() || settings.objective.kind == Objective::sharpe) return out.sharpe;
  return out.value.value_or(kNaN);
}

// The best that the usual search finds, or what `start` is worth.
void ExactSelector::Work::search(std::span<const Index> start, Portfolio& out, const Stop& stop) {
  if (plain()) {
    if (!selector) selector.emplace(settings, *risk);
    selector->run(*risk, sample, mu, out, stop);
  } else {
    if (!limited) limited.emplace(settings, n);
    limited->run(*risk, sample, mu, *limits, out, stop);
  }
  if (start.empty() || static_cast<Index>(start.size()) > settings.k || !out.outcome.solved())
    return;
  if (solve_on(start, trial) && is_better(trial, out)) std::swap(out, trial);
}

// The portfolio on a support; false if there is none that the limits allow.
bool ExactSelector::Work::solve_on(std::span<const Index> K, Portfolio& to) {
  if (plain())
    selector->run_on(*risk, sample, mu, K, to);
  else
    limited->run_on(*risk, sample, mu, *limits, K, to);
  return to.outcome.solved() && static_cast<Index>(to.support.size()) <= settings.k;
}

// Whether names that the limits ask for are too many besides these: the kernel then finds nothing,
// which says nothing of the direction that larger and larger portfolios tend to.
bool ExactSelector::Work::asks_for_more_than(std::span<const Index> K) const {
  if (plain()) return false;
  auto count = static_cast<Index>(K.size());
  for (Index i = 0; i < n; ++i) {
    const bool asked = (!limits->lower.empty() && limits->lower[at(i)] > 0.0) ||
                       (!limits->upper.empty() && limits->upper[at(i)] < 0.0);
    if (asked && std::find(K.begin(), K.end(), i) == K.end()) ++count;
  }
  return count > settings.k;
}

// The problem in the terms of the proof. False if nothing can be proved of it.
bool ExactSelector::Work::read(const Portfolio& out, Proof& to) {
  reading = {};
  ProofRows rows;
  if (plain()) {
    rows = rows_of_net(n, net_positive());
  } else {
    const layer::ObjectiveSettings& objective = settings.objective;
    reading.objective = objective.kind;
    if (objective.kind == Objective::utility) reading.gamma = objective.risk_aversion;
    if (objective.kind == Objective::expected_return) {
      const double theta = out.theta.value_or(0.0);
      reading.sigma = objective.volatility;
      reading.gamma = 1.0 / theta;
      // Where the risk that is allowed is not used up, its price is zero; nearly so will do.
      const double least = kSlackPrice * std::abs(reached(out)) / (reading.sigma * reading.sigma);
      if (!(reading.gamma > least) || out.outcome.note == Note::below_risk) reading.gamma = least;
      if (!(reading.gamma > 0.0 && std::isfinite(reading.gamma))) return false;
    }
    rows = rows_of_limits(*limits, objective.kind, reading.gamma, n, settings.k);
  }
  to.dropped = rows.dropped;
  read_problem(*risk, sample, mu, rows, settings.k, problem);
  reading.unit = problem.value_unit;
  reading.root = problem.root_unit;
  if (problem.least_eigenvalue > 0.0) return true;
  double supports = 1.0;
  for (Index i = 0; i < settings.k; ++i)
    supports *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  return supports <= kMostSingular;
}

// Where the risk that is allowed is not used up, only the limits count, and what they allow to earn
// is a linear problem. True if that proves the portfolio; its bound is kept in any case.
bool ExactSelector::Work::is_largest_return(const Portfolio& out, Proof& to) {
  linear_bound = kInfinity;
  if (plain() || settings.objective.kind != Objective::expected_return ||
      !(out.outcome.solved() || out.outcome.status == Status::no_signal))
    return false;
  linear_bound = largest_return(*limits, *risk, sample, mu, settings.k);
  to.bound = std::max(linear_bound, to.reached);
  if (!(to.gap() <= kRoom * ProofSettings::kExact)) return false;
  to.end = ProofEnd::optimal;
  return true;
}

// Exchanges of two names for two others, and disturbed starts.
void ExactSelector::Work::look_further(Portfolio& out, int starts, const Stop& stop,
                                       const ProofClock& clock) {
  if (!plain() || settings.k == n) return;
  exchanges.emplace(problem, net_positive());
  const auto k = static_cast<double>(settings.k);
  starts = std::min(starts, static_cast<int>(kMostOperations / (static_cast<double>(n) * k * k)));
  std::vector<Index> K = out.support;
  for (Index j = 0; static_cast<Index>(K.size()) < settings.k; ++j)
    if (std::find(K.begin(), K.end(), j) == K.end()) K.push_back(j);
  try {
    exchanges->run(K, starts, [&] { return (stop && stop()) || clock.is_over(); });
  } catch (const Interrupted&) {
    if (!proof.answers_when_stopped && stop && stop()) throw;  // the end of the time is no error
  }
  if (solve_on(K, trial) && is_better(trial, out)) std::swap(out, trial);
}

// On V. Near singularity the margin that pays for rounding is more than the gap asked for: what
// it makes of the portfolio itself is all that can be told apart.
double ExactSelector::Work::tolerance(const Portfolio& out) {
  const double V = reading.V_of(reached(out));
  double least = reading.on_V(std::max(proof.gap, ProofSettings::kExact), reached(out));
  if (exchanges && V > 0.0 && !out.support.empty())
    least = std::max(least, 2.0 * (exchanges->value(out.support) / V - 1.0));
  return least;
}

void ExactSelector::Work::prove(const Threads& threads, const Stop& stop, const ProofClock& clock,
                                Portfolio& out, Proof& to) {
  bool stopped = false;
  ProofTreeSettings tree_settings;
  tree_settings.tolerance = tolerance(out);
  tree_settings.most_nodes = proof.nodes;
  tree_settings.net_positive = net_positive();
  tree_settings.plain = plain();
  tree_settings.give_up = [&] { return (stop && stop()) || clock.is_over(); };
  ProofTree tree(problem, tree_settings, threads);
  const double V = reading.V_of(out.outcome.solved() ? reached(out) : 0.0);
  const bool done = tree.run(V, [&](std::span<const Index> K) -> std::optional<double> {
    if (!solve_on(K, trial)) {
      const bool none = trial.outcome.status == Status::infeasible && to.dropped.empty() &&
                        !asks_for_more_than(K);
      return none ? std::nullopt : std::optional(-kInfinity);
    }
    const double found = takes_too_much(trial) ? -kInfinity : reading.V_of(reached(trial));
    if (is_better(trial, out)) std::swap(out, trial);
    return found;
  });
  stopped = stop && stop();
  if (stopped && !proof.answers_when_stopped) throw Interrupted();
  to.nodes = tree.nodes();
  to.reached = out.outcome.solved() ? reached(out) : 0.0;
  to.bound = std::max(std::min(reading.value_of(tree.bound()), linear_bound), to.reached);
  // Where nothing earns, what is left of the bound is rounding.
  const bool nothing = !(V > 0.0) && tree.bound() <= 2.0 * problem.smallest &&
                       reading.objective != Objective::expected_return;
  if (nothing) to.bound = 0.0;
  to.end = (nothing && !(to.reached < 0.0)) || to.gap() <= kRoom * ProofSettings::kExact
               ? ProofEnd::optimal
           : done            ? ProofEnd::gap
           : !tree.gave_up() ? ProofEnd::nodes
           : stopped         ? ProofEnd::interrupted
                             : ProofEnd::time;
}

ExactSelector::ExactSelector(const SelectSettings& settings, const ProofSettings& proof, Index n) {
  settings.validate(n);
  proof.validate();
  work_ = std::make_unique<Work>(settings, proof, n);
}

ExactSelector::~ExactSelector() = default;
ExactSelector::ExactSelector(ExactSelector&&) noexcept = default;

void ExactSelector::run(const risk::Risk& risk, Index sample, ConstVec mu,
                        const layer::Limits* limits, std::span<const Index> start,
                        const Threads& threads, Portfolio& out, Proof& proof, const Stop& stop) {
  Work& work = *work_;
  const ProofClock clock(work.proof.seconds);
  work.begin(risk, sample, mu, limits);
  proof = {};
  proof.of_sharpe = work.plain() || work.settings.objective.kind == Objective::sharpe;
  work.search(start, out, work.proof.answers_when_stopped ? Stop() : stop);
  const Status status = out.outcome.status;
  proof.reached = out.outcome.solved() ? work.reached(out) : 0.0;
  if (status == Status::invalid_input || status == Status::infeasible || !all_finite(mu)) {
    proof.bound = kNaN;
    proof.end = ProofEnd::gap;
    return;
  }
  if (exponent_of(mu) == kSilent && limits == nullptr) {
    proof.end = ProofEnd::optimal;
    return;
  }
  proof.bound = kInfinity;
  const bool readable = work.read(out, proof);
  if (work.is_largest_return(out, proof)) return;
  if (!readable) {
    proof.end = ProofEnd::gap;
    return;
  }
  work.look_further(out, kStartsOfProof, stop, clock);
  work.prove(threads, stop, clock, out, proof);
}

void ExactSelector::find(const risk::Risk& risk, Index sample, ConstVec mu,
                         const layer::Limits* limits, Portfolio& out, const Stop& stop) {
  Work& work = *work_;
  work.begin(risk, sample, mu, limits);
  work.search({}, out, stop);
  Proof none;
  if (limits != nullptr || !out.outcome.solved() || !work.read(out, none)) return;
  work.look_further(out, kStartsAlone, stop, ProofClock(0.0));
  ask(stop);
}

}  // namespace sharpen::select
