#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "base/vec.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/baseline/sdr.hpp"

namespace sharpen::baseline {

namespace {

constexpr double kInSupport = 1e-3;  // of the largest |v_i|: the paper's threshold
constexpr double kNoise = 1e-9;      // below, entries are equal: the solver's, not the market's
constexpr Index kMostSolves = 8;

select::SelectSettings exact_settings(const SdrSelectSettings& s) {
  return {s, select::Optimizer::greedy};
}

double largest_of(const std::vector<double>& v) {
  double largest = 0.0;
  for (const double x : v) largest = std::max(largest, std::abs(x));
  return largest;
}

Index support_size(const std::vector<double>& v) {
  const double least = kInSupport * largest_of(v);
  return std::count_if(v.begin(), v.end(), [&](double x) { return std::abs(x) > least; });
}

void take_support(const std::vector<double>& v, std::vector<Index>& K) {
  const double least = kInSupport * largest_of(v);
  K.clear();
  for (std::size_t i = 0; i < v.size(); ++i)
    if (std::abs(v[i]) > least) K.push_back(static_cast<Index>(i));
}

void give_nothing(Index n, select::Portfolio& out) {
  out.outcome = {};
  out.outcome.status = Status::invalid_input;
  out.support.clear();
  out.weights.assign(at(n), std::nan(""));
  out.value.reset();
  out.sharpe = std::nan("");
}

// The k largest |v_i| of finite v, ascending by column. What is within noise of the k-th largest
// ties with it, and ties go to the lower column.
void keep_largest(const std::vector<double>& v, Index k, std::vector<Index>& K) {
  std::vector<double> size(v.size());
  std::transform(v.begin(), v.end(), size.begin(), [](double x) { return std::abs(x); });
  std::vector<double> sorted = size;
  const auto last = sorted.begin() + (k - 1);
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  const double noise = kNoise * largest_of(v);
  const double above = *last + noise, least = *last - noise;
  Index tied = k - std::count_if(size.begin(), size.end(), [&](double x) { return x > above; });
  K.clear();
  for (std::size_t i = 0; i < size.size(); ++i) {
    if (size[i] > above) {
      K.push_back(static_cast<Index>(i));
    } else if (size[i] >= least && tied > 0) {
      K.push_back(static_cast<Index>(i));
      --tied;
    }
  }
}

}  // namespace

void SdrSelectSettings::validate(Index n) const {
  exact_settings(*this).validate(n);
  if (recovery != Recovery::top_k && recovery != Recovery::match)
    throw InputError("recovery is none of top-k, match");
  sdr.validate();
}

struct SdrSelector::Work {
  Work(const SdrSelectSettings& s, const risk::Risk& risk)
      : settings(s),
        n(risk.n()),
        exact(exact_settings(s), risk),
        sdr(s.sdr, n),
        Sigma(at(n * n)),
        scratch(at(risk.scratch_size())),
        everything(at(n)) {
    std::iota(everything.begin(), everything.end(), Index{0});
  }

  ConstMat covariance() const { return {Sigma.data(), n, n}; }
  // Without kappa it starts at k, and is looked for if the recovery says so.
  void run(const risk::Risk& risk, Index sample, ConstVec mu, std::optional<double> kappa,
           SdrPortfolio& out, const Stop& stop);
  void match(ConstVec mu, SdrPortfolio& out, Relaxation& best, const Stop& stop);
  bool choose_names(const SdrPortfolio& out);

  const SdrSelectSettings settings;
  const Index n;
  select::Selector exact;
  Sdr sdr;
  std::vector<double> Sigma, scratch;
  std::vector<Index> everything, K;
  Relaxation trial, chosen;
};

SdrSelector::SdrSelector(const SdrSelectSettings& settings, const risk::Risk& risk) {
  settings.validate(risk.n());
  work_ = std::make_unique<Work>(settings, risk);
}
SdrSelector::~SdrSelector() = default;
SdrSelector::SdrSelector(SdrSelector&&) noexcept = default;

// Brackets kappa between one whose eigenvector has fewer names than k and one that has more, and
// halves or interpolates until it has k. `best` starts as the relaxation at kappa = k and ends as
// the first with k names, or the one with the fewest names beyond k, or else with the most.
void SdrSelector::Work::match(ConstVec mu, SdrPortfolio& out, Relaxation& best, const Stop& stop) {
  const Index k = settings.k;
  double low = 1.0, high = static_cast<double>(n);
  double names_low = 1.0, names_high = static_cast<double>(n);
  double kappa = static_cast<double>(k);
  Index names = support_size(best.direction);
  out.matched = names;
  const auto better = [&](Index candidate) {
    if (out.matched > k) return candidate >= k && candidate < out.matched;
    return candidate > out.matched;
  };
  while (out.matched != k && out.solves < kMostSolves) {
    if (names < k) {
      low = kappa;
      names_low = static_cast<double>(names);
    } else {
      high = kappa;
      names_high = static_cast<double>(names);
    }
    if (!(high - low > 1e-6 * high)) break;
    // Where the line between the two ends has k names, kept away from either end.
    const double share =
        (static_cast<double>(k) - names_low) / std::max(1.0, names_high - names_low);
    kappa = low + std::clamp(share, 0.1, 0.9) * (high - low);
    sdr.solve(covariance(), mu, kappa, trial, stop);
    ++out.solves;
    names = support_size(trial.direction);
    if (!better(names)) continue;
    std::swap(best, trial);
    out.matched = names;
  }
  out.kappa = best.kappa;
}

// K from the relaxation chosen; false if it has no direction, which would make any names as good
// as any others.
bool SdrSelector::Work::choose_names(const SdrPortfolio& out) {
  if (chosen.status == Status::no_signal) {
    K.assign(1, 0);  // cash, whatever the names
    return true;
  }
  const std::vector<double>& v = chosen.direction;
  if (out.matched == 0 || !all_finite(v)) return false;
  if (settings.recovery == Recovery::match && out.matched <= settings.k)
    take_support(v, K);
  else
    keep_largest(v, settings.k, K);
  return true;
}

void SdrSelector::run(const risk::Risk& risk, Index sample, ConstVec mu, SdrPortfolio& out,
                      const Stop& stop) {
  work_->run(risk, sample, mu, std::nullopt, out, stop);
}

void SdrSelector::run_at(const risk::Risk& risk, Index sample, ConstVec mu, double kappa,
                         SdrPortfolio& out, const Stop& stop) {
  work_->run(risk, sample, mu, kappa, out, stop);
}

void SdrSelector::Work::run(const risk::Risk& risk, Index sample, ConstVec mu,
                            std::optional<double> kappa, SdrPortfolio& out, const Stop& stop) {
  if (risk.n() != n || sample < 0 || sample >= risk.samples() ||
      static_cast<Index>(mu.size()) != n || risk.status(sample) != Status::ok) {
    // Wrong shapes throw; a sample that cannot be used is an outcome.
    K.assign(1, 0);
    exact.run_on(risk, sample, mu, K, out.portfolio);
    out.relaxation = Relaxation{};
    for (double Relaxation::*value :
         {&Relaxation::primal, &Relaxation::dual, &Relaxation::gap, &Relaxation::sharpe})
      out.relaxation.*value = std::nan("");
    out.kappa = std::nan("");
    out.solves = out.matched = out.iterations = 0;
    out.cut = out.converged = false;
    return;
  }
  scratch.resize(at(risk.scratch_size()));
  risk.submatrix(sample, everything, {Sigma.data(), n, n}, scratch);
  out.kappa = kappa.value_or(static_cast<double>(settings.k));
  sdr.solve(covariance(), mu, out.kappa, out.relaxation, stop);
  out.solves = 1;
  out.matched = 0;
  out.cut = false;

  chosen = out.relaxation;
  const bool usable =
      out.relaxation.status == Status::ok || out.relaxation.status == Status::not_converged;
  if (usable) {
    out.matched = support_size(out.relaxation.direction);
    if (settings.recovery == Recovery::match && !kappa) match(mu, out, chosen, stop);
    out.cut = settings.recovery == Recovery::match && out.matched > settings.k;
  }
  out.iterations = chosen.iterations;
  out.converged = chosen.converged();
  if (!choose_names(out)) {
    give_nothing(n, out.portfolio);
    return;
  }
  exact.run_on(risk, sample, mu, K, out.portfolio);
  if (out.portfolio.outcome.solved() && !(out.relaxation.converged() && chosen.converged()))
    out.portfolio.outcome.status = Status::not_converged;
}

}  // namespace sharpen::baseline
