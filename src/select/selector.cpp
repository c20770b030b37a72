#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "base/vec.hpp"
#include "select/exact.hpp"
#include "select/input.hpp"
#include "select/search.hpp"
#include "select/ties.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/select/limited.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::select {

namespace {

void check_parts(Optimizer optimizer, const risk::Risk& risk) {
  if (optimizer == Optimizer::oscar && !risk.parts().lower)
    throw InputError("optimizer = oscar needs a risk model set up with parts.lower = true");
  if (optimizer == Optimizer::symmetric && !risk.parts().root)
    throw InputError("optimizer = symmetric needs a risk model set up with parts.root = true");
}

void check_shapes(const risk::Risk& risk, Index sample, std::size_t mu_size) {
  if (sample < 0 || sample >= risk.samples())
    throw InputError(
        fmt::format("sample = {} is outside [0, {}) of the risk model", sample, risk.samples()));
  if (static_cast<Index>(mu_size) != risk.n())
    throw InputError(
        fmt::format("mu has {} entries, but the risk model has {} assets", mu_size, risk.n()));
}

bool usable(const risk::Risk& risk, Index sample, ConstVec mu) {
  return risk.status(sample) == Status::ok &&
         std::all_of(mu.begin(), mu.end(), [](double x) { return std::isfinite(x); });
}

}  // namespace

void check_input(Optimizer optimizer, Index n, const risk::Risk& risk, Index sample, ConstVec mu) {
  check_shapes(risk, sample, mu.size());
  if (risk.n() != n)
    throw InputError(fmt::format("the risk model has {} assets, but the selector was set up for {}",
                                 risk.n(), n));
  check_parts(optimizer, risk);
}

void take_largest(std::vector<double>& scores, Index k, std::vector<double>& order,
                  std::vector<Index>& K) {
  double largest = 0.0;
  for (double& score : scores) {
    score = std::min(std::abs(score), 1e300);
    if (!(score >= 0.0)) score = 0.0;
    largest = std::max(largest, score);
  }
  std::copy(scores.begin(), scores.end(), order.begin());
  std::nth_element(order.begin(), order.begin() + (k - 1), order.end(), std::greater<>());
  const double last = order[static_cast<std::size_t>(k - 1)], margin = kTiedScores * largest;

  Index ties = k;
  for (const double score : scores) ties -= score > last + margin;
  K.clear();
  for (std::size_t j = 0; j < scores.size(); ++j) {
    const bool above = scores[j] > last + margin;
    const bool tied = !above && scores[j] >= last - margin && ties-- > 0;
    if (above || tied) K.push_back(static_cast<Index>(j));
  }
}

std::string_view name(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::oscar: return "oscar";
    case Optimizer::symmetric: return "symmetric";
    case Optimizer::greedy: return "greedy";
    case Optimizer::swap: return "swap";
  }
  return "unknown";
}

Optimizer ranking_by(layer::Score score) {
  return score == layer::Score::cholesky ? Optimizer::oscar : Optimizer::symmetric;
}

namespace {

constexpr double kMostNumbers = 2.5e8;  // that are kept, 2 GB

// What a support and the search for it keep, in numbers: the covariance of the names and its factor
// (select/exact.hpp); a row of n for each name and, to exchange them, two matrices
// (select/search.hpp).
double numbers_kept(Optimizer optimizer, double n, double k) {
  const double support = 2.0 * k * k;
  if (optimizer == Optimizer::greedy) return support + n * k;
  if (optimizer == Optimizer::swap) return support + n * k + 2.0 * k * k;
  return support;
}

// Whether the search may keep the columns of its names: unless they are many, and reading one takes
// little beside what is done to it.
bool keeps_columns(const risk::Risk& risk, Index k) {
  constexpr double kFew = 4e6;  // numbers
  const double n = static_cast<double>(risk.n()), own = n * static_cast<double>(k);
  return own <= kFew ||
         (k <= 2 * risk.column_work() &&
          own + numbers_kept(Optimizer::swap, n, static_cast<double>(k)) <= kMostNumbers);
}

void check_size(const SelectSettings& settings, Index n) {
  if (settings.k == n) return;  // solved by the risk model's own factor, without a search
  const auto fits = [&](Index k) {
    return numbers_kept(settings.optimizer, static_cast<double>(n), static_cast<double>(k)) <=
           kMostNumbers;
  };
  if (fits(settings.k)) return;
  Index most = 1, beyond = settings.k;
  while (most + 1 < beyond) {
    const Index middle = (most + beyond) / 2;
    (fits(middle) ? most : beyond) = middle;
  }
  throw InputError(fmt::format(
      "k = {} of {} assets needs {:.0f} GB of memory by optimizer {}: choose {} names at most{}",
      settings.k, n,
      8e-9 *
          numbers_kept(settings.optimizer, static_cast<double>(n), static_cast<double>(settings.k)),
      name(settings.optimizer), most,
      settings.optimizer == Optimizer::swap || settings.optimizer == Optimizer::greedy
          ? ", or optimizer symmetric, which searches less"
          : ""));
}

}  // namespace

void SelectSettings::validate(Index n) const {
  if (k < 1 || k > n)
    throw InputError(fmt::format(
        "k = {} is outside [1, {}]: choose at least one name and at most all {} assets", k, n, n));
  if (name(optimizer) == "unknown")
    throw InputError(fmt::format("optimizer = {} is none of oscar, symmetric, greedy, swap",
                                 static_cast<int>(optimizer)));
  check_size(*this, n);
  if (net == layer::Net::any && sizing.kind == layer::Sizing::budget)
    throw InputError(
        "net = any does not go with sizing = budget, which divides by the net position: use "
        "volatility or gross sizing");
  sizing.validate();
}

struct Selector::Work {
  Work(const SelectSettings& s, const risk::Risk& risk)
      : settings(s), n(risk.n()), exact(risk.n(), s.k, s.net, s.sizing) {
    scratch.resize(static_cast<std::size_t>(risk.scratch_size()));
    m.resize(static_cast<std::size_t>(n));
    K.reserve(static_cast<std::size_t>(s.k));
    taken.resize(static_cast<std::size_t>(n));
    if (s.k == n) return;
    if (s.optimizer == Optimizer::greedy || s.optimizer == Optimizer::swap) {
      search.emplace(n, s.k, s.optimizer == Optimizer::swap, keeps_columns(risk, s.k));
    } else {
      scores.resize(static_cast<std::size_t>(n));
      order.resize(static_cast<std::size_t>(n));
    }
  }

  bool begin(const risk::Risk& risk, Index sample, ConstVec mu, Portfolio& out);
  bool choose(const risk::Risk& risk, Index sample, const Stop& stop);
  void take(std::span<const Index> chosen);

  const SelectSettings settings;
  const Index n;
  ExactSolver exact;
  std::optional<Search> search;
  Signal signal;
  std::vector<double> m, scores, order, scratch;
  std::vector<Index> K;     // ascending
  std::vector<char> taken;  // (n)
};

// A portfolio of nothing, and the signal scaled and shifted for the search. False if there is
// nothing to search for.
bool Selector::Work::begin(const risk::Risk& risk, Index sample, ConstVec mu, Portfolio& out) {
  check_input(settings.optimizer, n, risk, sample, mu);
  if (scratch.size() < static_cast<std::size_t>(risk.scratch_size()))
    scratch.resize(static_cast<std::size_t>(risk.scratch_size()));

  out.outcome = {};
  out.support.clear();
  out.support.reserve(static_cast<std::size_t>(settings.k));
  const bool valid = usable(risk, sample, mu);
  out.weights.assign(static_cast<std::size_t>(n), valid ? 0.0 : kNaN);
  out.value = valid ? std::optional(0.0) : std::nullopt;
  out.sharpe = valid ? 0.0 : kNaN;
  out.theta.reset();
  if (!valid) return false;
  out.outcome.status = Status::no_signal;
  out.outcome.jitter = risk.jitter(sample);
  const int exponent = exponent_of(mu);
  if (exponent == kSilent) return false;

  double B = 0.0;
  const ConstVec b = risk.ones_solution(sample);
  for (std::size_t j = 0; j < m.size(); ++j) {
    m[j] = std::ldexp(mu[j], -exponent);
    B += b[j] * m[j];
  }
  const bool any_net = settings.net == layer::Net::any;
  out.outcome.neutral_first = !any_net && !(B > 0.0);
  const double shift = out.outcome.neutral_first ? B / risk.ones_norm2(sample) : 0.0;
  for (double& mj : m) mj -= shift;
  signal = {m, -shift, any_net};
  return true;
}

// Fills K. False if a search stopped early.
bool Selector::Work::choose(const risk::Risk& risk, Index sample, const Stop& stop) {
  if (settings.k == n) {
    K.resize(static_cast<std::size_t>(n));
    for (Index j = 0; j < n; ++j) K[static_cast<std::size_t>(j)] = j;
    return true;
  }
  if (!search) {
    if (settings.optimizer == Optimizer::oscar)
      risk.lower_solve(sample, m, scores, scratch);
    else
      risk.root_solve(sample, m, scores, scratch);
    take_largest(scores, settings.k, order, K);
    return true;
  }
  search->forward(signal, risk, sample, scratch, stop);
  const bool finished = settings.optimizer != Optimizer::swap || search->exchange(stop);
  take(search->K());
  return finished;
}

// K = chosen, ascending.
void Selector::Work::take(std::span<const Index> chosen) {
  K.assign(chosen.begin(), chosen.end());
  std::sort(K.begin(), K.end());
}

Selector::Selector(const SelectSettings& settings, const risk::Risk& risk) {
  settings.validate(risk.n());
  check_parts(settings.optimizer, risk);
  work_ = std::make_unique<Work>(settings, risk);
}

Selector::~Selector() = default;
Selector::Selector(Selector&&) noexcept = default;

void Selector::run(const risk::Risk& risk, Index sample, ConstVec mu, Portfolio& out,
                   const Stop& stop) {
  Work& work = *work_;
  if (!work.begin(risk, sample, mu, out)) return;
  const bool finished = work.choose(risk, sample, stop);
  work.exact.run(risk, sample, mu, work.K, work.scratch, out, stop);
  if (!finished && out.outcome.solved()) out.outcome.status = Status::not_converged;
}

void Selector::run_on(const risk::Risk& risk, Index sample, ConstVec mu, std::span<const Index> K,
                      Portfolio& out, const Stop& stop) {
  Work& work = *work_;
  if (static_cast<Index>(K.size()) > work.settings.k)
    throw InputError(
        fmt::format("the support has {} assets, more than k = {}", K.size(), work.settings.k));
  std::fill(work.taken.begin(), work.taken.end(), 0);
  for (const Index j : K) {
    if (j < 0 || j >= work.n)
      throw InputError(fmt::format("support asset {} is outside [0, {})", j, work.n));
    if (work.taken[static_cast<std::size_t>(j)]++)
      throw InputError(fmt::format("support asset {} is repeated", j));
  }
  if (!work.begin(risk, sample, mu, out)) return;
  work.take(K);
  work.exact.run(risk, sample, mu, work.K, work.scratch, out, stop);
}

std::vector<Portfolio> select_batch(const SelectSettings& settings, const risk::Risk& risk,
                                    std::span<const Index> samples, ConstMat mu,
                                    const Threads& threads) {
  const auto count = static_cast<Index>(samples.size());
  if (mu.rows != count)
    throw InputError(fmt::format("mu has {} rows for {} samples", mu.rows, count));
  settings.validate(risk.n());
  for (const Index sample : samples) check_shapes(risk, sample, static_cast<std::size_t>(mu.cols));

  std::vector<Portfolio> out(samples.size());
  std::vector<std::optional<Selector>> selectors(static_cast<std::size_t>(threads.count()));
  std::vector<std::optional<LimitedSelector>> limited(static_cast<std::size_t>(threads.count()));
  threads.for_each(count, [&](Index i, int slot) {
    const auto at = static_cast<std::size_t>(i);
    if (settings.limits) {
      std::optional<LimitedSelector>& selector = limited[static_cast<std::size_t>(slot)];
      if (!selector) selector.emplace(settings, risk.n());
      selector->run(risk, samples[at], mu.row(i), settings.limits->of(samples[at]), out[at]);
      return;
    }
    std::optional<Selector>& selector = selectors[static_cast<std::size_t>(slot)];
    if (!selector) selector.emplace(settings, risk);
    selector->run(risk, samples[at], mu.row(i), out[at]);
  });
  return out;
}

double full_sharpe(const risk::Risk& risk, Index sample, ConstVec mu, layer::Net net) {
  check_shapes(risk, sample, mu.size());
  if (!usable(risk, sample, mu)) return kNaN;
  const Index n = risk.n();
  std::vector<Index> K(mu.size());
  for (Index j = 0; j < n; ++j) K[static_cast<std::size_t>(j)] = j;
  std::vector<double> scratch(static_cast<std::size_t>(risk.scratch_size()));
  Portfolio portfolio;
  portfolio.weights.resize(mu.size());
  ExactSolver exact(n, n, net, {});
  exact.run(risk, sample, mu, K, scratch, portfolio, {});
  return portfolio.sharpe;
}

}  // namespace sharpen::select
