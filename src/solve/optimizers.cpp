#include "solve/optimizers.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "sharpen/baseline/mssrm.hpp"
#include "sharpen/select/limited.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::solve {

namespace {

// An algorithm with the memory for problems of one size, set up at the first of them.
template <class Algorithm>
class SetUp {
 public:
  template <class Make>
  Algorithm& for_size_of(const Problem& problem, const Make& make) {
    if (!algorithm_ || n_ != problem.n || k_ != problem.k) {
      algorithm_.emplace(make());
      n_ = problem.n;
      k_ = problem.k;
    }
    return *algorithm_;
  }

 private:
  std::optional<Algorithm> algorithm_;
  Index n_ = 0, k_ = 0;
};

class Selecting : public Optimizer {
 public:
  Selecting(select::Optimizer which, const OptimizerSettings& settings)
      : which_(which), settings_(settings) {}

  void decide(const Problem& problem, Answer& out) override {
    const select::SelectSettings settings{settings_.mandate(problem.k), which_};
    if (problem.limits != nullptr) {
      const auto make = [&] { return select::LimitedSelector(settings, problem.n); };
      limited_.for_size_of(problem, make)
          .run(*problem.risk, problem.sample, problem.mu, *problem.limits, out.portfolio,
               problem.stop);
      return;
    }
    const auto make = [&] { return select::Selector(settings, *problem.risk); };
    selector_.for_size_of(problem, make)
        .run(*problem.risk, problem.sample, problem.mu, out.portfolio, problem.stop);
  }

 private:
  select::Optimizer which_;
  OptimizerSettings settings_;
  SetUp<select::Selector> selector_;
  SetUp<select::LimitedSelector> limited_;
};

class MssrmOptimizer : public Optimizer {
 public:
  explicit MssrmOptimizer(const OptimizerSettings& settings) : settings_(settings) {}

  void decide(const Problem& problem, Answer& out) override {
    const auto make = [&] {
      return baseline::Mssrm({settings_.mandate(problem.k)}, *problem.risk);
    };
    std::swap(result_.portfolio, out.portfolio);  // its memory
    mssrm_.for_size_of(problem, make)
        .run(*problem.risk, problem.sample, problem.mu, result_, problem.stop);
    std::swap(result_.portfolio, out.portfolio);
    out.iterations = result_.iterations;
  }

 private:
  OptimizerSettings settings_;
  SetUp<baseline::Mssrm> mssrm_;
  baseline::MssrmResult result_;
};

// From the plain covariance; measured by the risk model of the others where there is one.
class MssrmLongOptimizer : public Optimizer {
 public:
  void decide(const Problem& problem, Answer& out) override {
    const auto make = [&] { return baseline::MssrmLong({.k = problem.k}, problem.n); };
    baseline::MssrmLong& mssrm = mssrm_.for_size_of(problem, make);
    std::swap(result_.portfolio, out.portfolio);  // its memory
    if (problem.window)
      mssrm.run_on_window(*problem.window, problem.mu, result_, problem.stop);
    else
      mssrm.run(problem.covariance.value(), problem.mu, result_, problem.stop);
    std::swap(result_.portfolio, out.portfolio);
    out.iterations = result_.iterations;
    out.certified = result_.certified;
    if (problem.risk != nullptr) measure(problem, out.portfolio);
  }

 private:
  static void measure(const Problem& problem, select::Portfolio& portfolio) {
    if (portfolio.outcome.status == Status::invalid_input) return;
    const risk::Risk& risk = *problem.risk;
    portfolio.outcome.jitter = risk.jitter(problem.sample);
    double B = 0.0;
    const ConstVec b = risk.ones_solution(problem.sample);
    for (std::size_t i = 0; i < b.size(); ++i) B += b[i] * problem.mu[i];
    portfolio.outcome.neutral_first = !(B > 0.0);
    const Exposure exposure = exposure_of(problem, portfolio.weights);
    portfolio.sharpe = exposure.gross > 0.0 ? exposure.expected_return / exposure.volatility : 0.0;
  }

  SetUp<baseline::MssrmLong> mssrm_;
  baseline::MssrmLongResult result_;
};

// Each relaxation starts from the one before, as long as later decisions over the same assets
// come: a walk that starts again starts cold.
class SdrOptimizer : public Optimizer {
 public:
  explicit SdrOptimizer(const OptimizerSettings& settings) : settings_(settings) {
    sdr_settings().validate();
  }

  void decide(const Problem& problem, Answer& out) override {
    remember(problem);
    std::swap(result_.portfolio, out.portfolio);  // its memory
    if (kappa_) {
      selector_->run_at(*problem.risk, problem.sample, problem.mu, *kappa_, result_, problem.stop);
    } else {
      selector_->run(*problem.risk, problem.sample, problem.mu, result_, problem.stop);
      if (keeps_kappa() && result_.matched > 0) kappa_ = result_.kappa;
    }
    std::swap(result_.portfolio, out.portfolio);
    out.iterations = result_.iterations;
    out.certified = result_.converged;
    out.sdr = {.kappa = result_.kappa,
               .solves = result_.solves,
               .matched = result_.matched,
               .cut = result_.cut};
    const baseline::Relaxation& relaxation = result_.relaxation;
    out.bound = {.status = relaxation.status,
                 .sharpe = relaxation.sharpe,
                 .from = baseline::Bound::sdp,
                 .gap = relaxation.gap};
  }

 private:
  baseline::SdrSettings sdr_settings() const {
    baseline::SdrSettings sdr;
    sdr.gap = settings_.sdr_gap;
    return sdr;
  }

  bool keeps_kappa() const {
    return settings_.sdr_recovery == baseline::Recovery::match && settings_.sdr_monthly;
  }

  void remember(const Problem& problem) {
    const bool same = selector_ && k_ == problem.k && n_ == problem.n && problem.row > row_ &&
                      std::ranges::equal(assets_, problem.assets);
    if (!same) {
      selector_.emplace(baseline::SdrSelectSettings{settings_.mandate(problem.k),
                                                    settings_.sdr_recovery, sdr_settings()},
                        *problem.risk);
      assets_.assign(problem.assets.begin(), problem.assets.end());
      k_ = problem.k;
      n_ = problem.n;
      kappa_.reset();
    }
    row_ = problem.row;
    if (problem.month != month_) kappa_.reset();
    month_ = problem.month;
  }

  OptimizerSettings settings_;
  std::optional<baseline::SdrSelector> selector_;
  baseline::SdrPortfolio result_;
  std::vector<Index> assets_;
  Index n_ = 0, k_ = 0;
  Index row_ = 0, month_ = 0;    // of the last decision
  std::optional<double> kappa_;  // found in that month
};

class EqualWeights : public Optimizer {
 public:
  void decide(const Problem& problem, Answer& out) override {
    const auto n = at(problem.n);
    out.portfolio.outcome = {.status = Status::ok};
    out.portfolio.support.resize(n);
    std::iota(out.portfolio.support.begin(), out.portfolio.support.end(), Index{0});
    out.portfolio.weights.assign(n, 1.0 / static_cast<double>(problem.n));
  }
};

}  // namespace

OptimizerSettings optimizer_settings(const settings::Values& values) {
  OptimizerSettings out;
  settings::fill<layer::MandateSettings>(values, out);
  settings::fill(values, out);
  settings::fill(values, out.proof);
  // What is repeated day by day must not depend on the clock.
  if (!values.takes("time-limit")) {
    out.proof.seconds = 0.0;
    out.proof.answers_when_stopped = false;
  }
  if (!values.takes("periods-per-year") || !values.has("periods-per-year")) return out;
  out.sizing = layer::sizing_settings(values);
  layer::fill_limits(values, out);
  return out;
}

Index names_to_hold(const settings::CountOrShare& k, Index m) {
  const bool count = k.percent == 0.0;
  return count ? std::min(static_cast<Index>(k.count), m) : k.of(m, "k");
}

std::unique_ptr<Optimizer> make_selecting(select::Optimizer which,
                                          const OptimizerSettings& settings) {
  return std::make_unique<Selecting>(which, settings);
}

std::unique_ptr<Optimizer> make_mssrm(const OptimizerSettings& settings) {
  return std::make_unique<MssrmOptimizer>(settings);
}

std::unique_ptr<Optimizer> make_mssrm_long(const OptimizerSettings&) {
  return std::make_unique<MssrmLongOptimizer>();
}

std::unique_ptr<Optimizer> make_sdr(const OptimizerSettings& settings) {
  return std::make_unique<SdrOptimizer>(settings);
}

std::unique_ptr<Optimizer> make_equal(const OptimizerSettings&) {
  return std::make_unique<EqualWeights>();
}

}  // namespace sharpen::solve
