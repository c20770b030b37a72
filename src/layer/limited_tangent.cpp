// The sparse-tangent layer under limits (sparse_tangent.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/vec.hpp"
#include "layer/layer_memory.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/layer/covariance_gradient.hpp"
#include "sharpen/layer/least_violation.hpp"

namespace sharpen::layer {

namespace {

// (1 / p^2 - 1) is not larger than this, so that names left out have finite risk.
constexpr double kMostMore = 1e12;

double more_of(double p) { return std::clamp((1.0 - p * p) / (p * p), 0.0, kMostMore); }
bool more_moves(double p) { return (1.0 - p * p) / (p * p) < kMostMore; }

bool is_net_row(const LimitRow& row) {
  return std::ranges::all_of(row.coefficients, [](double a) { return a == 1.0; });
}

// The net position is not negative in the closed form either, unless a row says something of it.
Limits with_net_of(const LayerSettings& settings, Limits limits, Index n) {
  const bool wanted = settings.net == Net::positive && settings.objective.kind != Objective::sharpe;
  if (wanted && std::ranges::none_of(limits.rows, is_net_row))
    limits.rows.push_back({"net", std::vector<double>(at(n), 1.0), 0.0, kUnlimited});
  return limits;
}

// budget without an offset is w = y / t, of net position 1; on the face, w has gross 1.
SizingSettings closed_sizing(const ObjectiveSettings& objective, bool neutral) {
  if (objective.kind == Objective::sharpe)
    return {.kind = neutral ? Sizing::gross : Sizing::budget, .offset = 0.0};
  return {.kind = Sizing::volatility, .target_volatility = objective.volatility};
}

}  // namespace

LayerSettings SparseTangent::with_net_of_limits(LayerSettings settings) {
  if (!settings.limits || settings.objective.kind == Objective::sharpe) return settings;
  const auto allows_short = [](const Limits& limits) {
    return std::ranges::any_of(
        limits.rows, [](const LimitRow& row) { return is_net_row(row) && row.lower < 0.0; });
  };
  if (std::ranges::any_of(settings.limits->limits, allows_short)) settings.net = Net::any;
  return settings;
}

SparseTangent::Limited::Limited(const LayerSettings& settings, const risk::Risk& risk)
    : schedule(settings.limits),
      objective(settings.objective),
      sizing(closed_sizing(objective, false)),
      neutral_sizing(closed_sizing(objective, true)) {
  const auto count = static_cast<Index>(schedule->limits.size());
  if (!schedule->of_sample.empty() &&
      static_cast<Index>(schedule->of_sample.size()) != risk.samples())
    throw InputError(
        fmt::format("a schedule of limits for {} samples is not for a risk model of {}",
                    schedule->of_sample.size(), risk.samples()));
  for (const Index which : schedule->of_sample)
    if (which < 0 || which >= count)
      throw InputError(
          fmt::format("a schedule of {} limits has none of number {}", count, which + 1));
  std::vector<Limits> all;
  Index rows = 0;
  for (const Limits& limits : schedule->limits) {
    all.push_back(with_net_of(settings, limits, risk.n()));
    rows = std::max(rows, static_cast<Index>(all.back().rows.size()));
  }
  for (const Limits& limits : all) prepared.emplace_back(objective, limits, risk.n(), rows);
}

LayerCache::Limited::Limited(const SparseTangent::Limited& limits, Index max_batch, int max_threads)
    : made_for(&limits), states(max_batch) {
  for (int slot = 0; slot < max_threads; ++slot)
    solvers.emplace_back(limits.objective, limits.prepared.front());
}

void SparseTangent::check_batch(const LayerCache& cache, Index batch,
                                const BatchLimits& own) const {
  const bool given = own.lower.rows != 0 || own.upper.rows != 0 || own.holdings.rows != 0;
  if (!limited_) {
    if (given)
      throw InputError("bounds and holdings of instances need a layer with limits; give it some");
    return;
  }
  if (cache.limited_->made_for != limited_.get())
    throw InputError("under limits a cache serves the layer it was made for; make one for this");
  const auto check = [&](const char* what, ConstMat m) {
    if (m.rows != 0 && (m.rows != batch || m.cols != n()))
      throw InputError(
          fmt::format("{} is {} x {}; it must be {} x {}", what, m.rows, m.cols, batch, n()));
  };
  check("lower", own.lower);
  check("upper", own.upper);
  check("holdings", own.holdings);
  if (own.starts == nullptr) return;
  if (static_cast<Index>(own.places.size()) != batch)
    throw InputError(fmt::format("{} places are given for {} instances", own.places.size(), batch));
  for (const Index place : own.places)
    if (place < 0 || place >= own.starts->places())
      throw InputError(fmt::format("place {} is outside [0, {}]", place, own.starts->places() - 1));
}

void SparseTangent::Limited::begin(LayerCache& cache, const BatchLimits& own) const {
  cache.limited_->own_lower = own.lower.rows != 0;
  cache.limited_->own_upper = own.upper.rows != 0;
  cache.limited_->own_holdings = own.holdings.rows != 0;
}

// An instance, what it keeps, and a solver that is held to its limits.
struct SparseTangent::Limited::Problem {
  Problem(const SparseTangent& layer, const Limited& limits, Instance& instance_, LayerCache& cache,
          int slot)
      : n(at(layer.n())),
        s(instance_.sample),
        instance(instance_),
        kept(cache.kept(instance_.index), n, true),
        solver(cache.limited_->solvers[at(slot)]),
        prepared(limits.prepared[limits.which(s)]),
        least_if_held(limits.schedule->of(s).least_if_held),
        own(*cache.limited_) {}

  // Holds the solver to the limits of the first solve.
  void use_limits() {
    solver.use(prepared);
    const ConstVec lower = kept.own.first(n), upper = kept.own.subspan(n, n);
    if (own.own_lower || own.own_upper)
      solver.set_bounds(own.own_lower ? lower : ConstVec{}, own.own_upper ? upper : ConstVec{});
    if (own.own_holdings) solver.set_holdings(kept.own.subspan(2 * n));
    solver.exempt_first_purchase();
  }

  // And of the second: what the mask p makes of signal, risk and bounds, in `memory` (3 n).
  void use_mask(Reoptimization kind, ConstVec D, Vec memory) {
    use_limits();
    const Vec masked = memory.first(n);
    if (kind == Reoptimization::masked) {
      for (std::size_t i = 0; i < n; ++i) masked[i] = kept.p[i] * kept.mu[i];
      mu = masked;
    } else {
      for (std::size_t i = 0; i < n; ++i) masked[i] = more_of(kept.p[i]) * D[i];
      mu = kept.mu;
      more = masked;
    }
    if (least_if_held.empty()) return;
    const Vec lower = memory.subspan(n, n), slope = memory.subspan(2 * n, n);
    for (std::size_t i = 0; i < n; ++i) {
      const double least = least_if_held[i] * kept.p[i], low = solver.lower()[i];
      const bool counts = low >= 0.0 && least > low && least <= solver.upper()[i];
      lower[i] = counts ? least : low;
      slope[i] = counts ? least_if_held[i] : 0.0;
    }
    dlower_dp = slope;
    solver.set_bounds(lower, {});
  }

  std::size_t n;
  Index s;
  Instance& instance;
  LayerMemory kept;
  LimitedSolver& solver;
  const PreparedLimits& prepared;
  ConstVec least_if_held;
  const LayerCache::Limited& own;
  // Of the second solve; empty: no risk is added, no bound carries the mask.
  ConstVec mu, more, dlower_dp;
};

void SparseTangent::Limited::forward_one(const SparseTangent& layer, Instance& instance,
                                         LayerCache& cache, const BatchLimits& own, ConstVec mu,
                                         Vec w, int slot) const {
  const std::size_t n = mu.size();
  const Index row = instance.index;
  Problem problem(layer, *this, instance, cache, slot);
  const LayerMemory& kept = problem.kept;
  const auto keep = [](ConstVec from, Vec to) { std::copy(from.begin(), from.end(), to.begin()); };
  keep(mu, kept.mu);
  if (own.lower.rows != 0) keep(own.lower.row(row), kept.own.first(n));
  if (own.upper.rows != 0) keep(own.upper.row(row), kept.own.subspan(n, n));
  if (own.holdings.rows != 0) keep(own.holdings.row(row), kept.own.subspan(2 * n));
  instance.place = &(own.starts ? own.starts->places_[at(own.places[at(row)])]
                                : cache.limited_->states.places_[at(row)]);
  if (own.starts == nullptr) {
    instance.place->first.forget();
    instance.place->second.forget();
  }

  Outcome& outcome = instance.outcome;
  const Vec scratch = cache.scratch(slot), x = scratch.first(n), rest = scratch.subspan(n);
  if (score(layer, problem, x, rest)) {
    const TopKResult topk = soft_topk_forward(layer.topk_, x, kept.p, kept.v, rest);
    if (decide(layer, problem, rest)) {
      keep(kept.w, w);
      if (!topk.converged && layer.topk_.solver == TopKSolver::newton)
        outcome.status = Status::not_converged;
      return;
    }
  }
  for (const Vec v : {kept.p, kept.y, w}) std::fill(v.begin(), v.end(), kNaN);
  instance.t = kNaN;
  if (outcome.status == Status::infeasible && !give_way(layer, problem, w))
    std::fill(w.begin(), w.end(), kNaN);
}

// What breaks the limits least, in w (n), without a gradient. False if nothing can be done, as
// where bounds are crossed. Rare: it sets up a solver of its own.
bool SparseTangent::Limited::give_way(const SparseTangent& layer, Problem& problem, Vec w) const {
  const std::size_t n = problem.n;
  Limits limits = with_net_of(layer.settings_, schedule->of(problem.s), layer.n()), relaxed;
  const ConstVec kept = problem.kept.own;
  if (problem.own.own_lower) limits.lower.assign(kept.begin(), kept.begin() + layer.n());
  const auto second = kept.begin() + layer.n(), third = second + layer.n();
  if (problem.own.own_upper) limits.upper.assign(second, third);
  if (problem.own.own_holdings) limits.holdings.assign(third, third + layer.n());
  for (std::size_t i = 0; i < n; ++i)
    if (!limits.lower.empty() && !limits.upper.empty() && !(limits.lower[i] <= limits.upper[i]))
      return false;
  const double violation = least_violation(limits, layer.n(), objective, relaxed);
  if (!std::isfinite(violation)) return false;
  LimitedState state;
  LimitedSolver solver(objective, relaxed, layer.n());
  const LimitedEnd end = solver.forward(*layer.risk_, problem.s, problem.kept.mu, {}, state, w);
  if (!is_solved(end)) return false;
  problem.instance.outcome.violation = violation;
  return true;
}

// The first solve, and x (n) from it. False, with the outcome, if it has no solution.
bool SparseTangent::Limited::score(const SparseTangent& layer, Problem& problem, Vec x,
                                   Vec scratch) const {
  const risk::Risk& risk = *layer.risk_;
  Instance& instance = problem.instance;
  const LayerMemory& kept = problem.kept;
  const Vec Sigma_w = scratch.first(problem.n), rest = scratch.subspan(problem.n);
  problem.use_limits();
  const LimitedEnd end =
      problem.solver.forward(risk, problem.s, kept.mu, {}, instance.place->first, kept.w);
  instance.outcome = outcome_of(end);
  if (!is_solved(end)) return false;
  instance.outcome.neutral_first = problem.solver.is_neutral();
  instance.first_closed = is_closed(layer, problem, end) &&
                          Outcome{score_forward(layer.score_, risk, problem.s, kept.mu,
                                                instance.score, kept.z, x, Sigma_w, rest)}
                              .solved();
  if (instance.first_closed) return true;
  problem.solver.covariances(Sigma_w);
  portfolio_score_forward(layer.score_, risk, problem.s, Sigma_w, instance.score, kept.z, x, rest);
  return true;
}

// The closed form is that of the net position that the settings ask for.
bool SparseTangent::Limited::is_closed(const SparseTangent& layer, const Problem& problem,
                                       LimitedEnd end) const {
  const LimitedSolver& solver = problem.solver;
  return (end == LimitedEnd::ok || end == LimitedEnd::neutral) && solver.is_unlimited() &&
         (layer.settings_.net == Net::positive || !solver.is_neutral());
}

// The second solve, its weights in kept.w. False, with the outcome, if it has no solution.
bool SparseTangent::Limited::decide(const SparseTangent& layer, Problem& problem,
                                    Vec scratch) const {
  const risk::Risk& risk = *layer.risk_;
  Instance& instance = problem.instance;
  const LayerMemory& kept = problem.kept;
  LayerStarts::Place& place = *instance.place;
  problem.use_mask(layer.settings_.reoptimization, risk.diagonal(problem.s),
                   scratch.first(3 * problem.n));
  const Vec Sigma_w = scratch.subspan(3 * problem.n, problem.n);
  // Where there may be several answers, which one is found must not depend on what was before.
  const bool several = layer.settings_.reoptimization == Reoptimization::restricted &&
                       objective.kind == Objective::expected_return;
  if (several || !is_solved(place.second.end)) place.second.start_from(place.first);
  const LimitedEnd end =
      problem.solver.forward(risk, problem.s, problem.mu, problem.more, place.second, kept.w);
  const bool neutral_first = instance.outcome.neutral_first;
  instance.outcome = outcome_of(end);
  instance.outcome.neutral_first = neutral_first;
  if (!is_solved(end)) return false;
  instance.outcome.jitter = risk.jitter(problem.s);
  if (problem.solver.is_neutral()) instance.outcome.status = Status::neutral_face;
  instance.decided = true;
  instance.second_closed = is_closed(layer, problem, end) &&
                           decide_closed(layer, problem, scratch.subspan(4 * problem.n));
  if (instance.second_closed) return true;

  problem.solver.covariances(Sigma_w);
  const double variance = dot(ConstVec(kept.w), ConstVec(Sigma_w));
  const double inverse = variance > 0.0 ? 1.0 / std::sqrt(variance) : 0.0;
  for (std::size_t i = 0; i < problem.n; ++i) kept.y[i] = inverse * kept.w[i];
  instance.t = sum(ConstVec(kept.y));
  return true;
}

// The closed form in the place of the solution. False if it has none of the same kind.
bool SparseTangent::Limited::decide_closed(const SparseTangent& layer, Problem& problem,
                                           Vec scratch) const {
  if (objective.kind == Objective::utility) return false;
  Instance& instance = problem.instance;
  const LayerMemory& kept = problem.kept;
  const Status status = layer.reoptimizer_->forward(
      problem.s, kept.mu, kept.p, instance.reoptimized, kept.y, instance.t, kept.rest, scratch);
  const bool same_face =
      status == instance.outcome.status || objective.kind == Objective::expected_return;
  if (!Outcome{status}.solved() || !same_face) return false;
  sizing_forward(instance.t == 0.0 ? neutral_sizing : sizing, kept.y, instance.t, kept.w);
  if (!all_finite(kept.w)) {
    problem.solver.solution(kept.w);
    return false;
  }
  instance.outcome.status = status;
  return true;
}

void SparseTangent::Limited::vjp_one(const SparseTangent& layer, Instance& instance,
                                     LayerCache& cache, ConstVec dL_dw, Vec dL_dmu, int slot,
                                     CovarianceSums* sums) const {
  if (!instance.decided) {
    std::fill(dL_dmu.begin(), dL_dmu.end(), 0.0);
    return;
  }
  Problem problem(layer, *this, instance, cache, slot);
  const std::size_t n = problem.n;
  const Vec scratch = cache.scratch(slot), dL_dp = scratch.first(n), dL_dx = scratch.subspan(n, n);
  decision_vjp(layer, problem, dL_dw, dL_dmu, dL_dp, scratch.subspan(n), sums);
  if (layer.settings_.k == layer.n()) return;  // p = 1 whatever the score

  soft_topk_vjp(problem.kept.v, dL_dp, dL_dx);
  const Vec through_score = dL_dp;
  score_vjp_of(layer, problem, dL_dx, through_score, scratch.subspan(2 * n), sums);
  for (std::size_t i = 0; i < n; ++i) dL_dmu[i] += through_score[i];
}

// dL_dmu (n) through the first solve and the score. Uses up dL_dx (n).
void SparseTangent::Limited::score_vjp_of(const SparseTangent& layer, Problem& problem, Vec dL_dx,
                                          Vec dL_dmu, Vec scratch, CovarianceSums* sums) const {
  const risk::Risk& risk = *layer.risk_;
  const Instance& instance = problem.instance;
  const LayerMemory& kept = problem.kept;
  const std::size_t n = problem.n;
  const Vec g = scratch.first(n), dL_dSigma_w = scratch.subspan(n, n),
            rest = scratch.subspan(2 * n);
  if (instance.first_closed) {
    if (sums)
      score_covariance_vjp(layer.score_, risk, instance.score, kept.z, dL_dx, *sums, scratch);
    score_vjp(layer.score_, risk, problem.s, instance.score, kept.z, dL_dx, dL_dmu, g, rest);
    return;
  }
  portfolio_score_vjp(layer.score_, risk, problem.s, instance.score, kept.z, dL_dx, dL_dSigma_w, g,
                      rest);
  if (sums && instance.score.q > 0.0)
    portfolio_covariance_vjp(layer.score_, risk, kept.z, g, dL_dSigma_w, *sums, rest);
  const Vec dL_dfirst = dL_dx;
  risk.apply(problem.s, dL_dSigma_w, dL_dfirst, rest);
  problem.use_limits();
  problem.solver.vjp(risk, problem.s, kept.mu, {}, instance.place->first, dL_dfirst, dL_dmu, {}, {},
                     sums);
}

// dL_dmu (n) and dL_dp (n) through the second solve.
void SparseTangent::Limited::decision_vjp(const SparseTangent& layer, Problem& problem,
                                          ConstVec dL_dw, Vec dL_dmu, Vec dL_dp, Vec scratch,
                                          CovarianceSums* sums) const {
  const risk::Risk& risk = *layer.risk_;
  const Instance& instance = problem.instance;
  const LayerMemory& kept = problem.kept;
  const std::size_t n = problem.n;
  if (instance.second_closed) {
    const Vec dL_dy = scratch.first(n);
    double dL_dt = 0.0;
    sizing_vjp(instance.t == 0.0 ? neutral_sizing : sizing, kept.y, instance.t, kept.w, dL_dw,
               dL_dy, dL_dt);
    if (sums)
      layer.reoptimizer_->covariance_vjp(kept.p, instance.reoptimized, kept.y, dL_dy, dL_dt, *sums,
                                         kept.rest, scratch.subspan(n));
    layer.reoptimizer_->vjp(problem.s, kept.mu, kept.p, instance.reoptimized, kept.y, dL_dy, dL_dt,
                            dL_dmu, dL_dp, kept.rest, scratch.subspan(n));
    return;
  }
  const ConstVec D = risk.diagonal(problem.s);
  problem.use_mask(layer.settings_.reoptimization, D, scratch.first(3 * n));
  const bool restricted = !problem.more.empty(), moving = !problem.dlower_dp.empty();
  const Vec dL_dmore = scratch.subspan(3 * n, restricted ? n : 0);
  const Vec dL_dlower = scratch.subspan(4 * n, moving ? n : 0);
  const LimitedState& found = instance.place->second;
  const bool flagged = found.end != LimitedEnd::ok && found.end != LimitedEnd::neutral;
  problem.solver.vjp(risk, problem.s, problem.mu, problem.more, found, dL_dw, dL_dmu, dL_dmore,
                     dL_dlower, flagged ? nullptr : sums);
  if (sums && restricted) {
    const Vec more = scratch.subspan(5 * n, n);  // per unit of D
    for (std::size_t i = 0; i < n; ++i) more[i] = more_of(kept.p[i]);
    sums->add_diagonal(1.0, dL_dmore, more);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double p = kept.p[i];
    if (restricted) {
      dL_dp[i] = more_moves(p) ? -2.0 * dL_dmore[i] * D[i] / (p * p * p) : 0.0;
    } else {
      dL_dp[i] = kept.mu[i] * dL_dmu[i];
      dL_dmu[i] *= p;
    }
    if (moving) dL_dp[i] += problem.dlower_dp[i] * dL_dlower[i];
  }
}

}  // namespace sharpen::layer
