// The semidefinite relaxation of the sparse maximum-Sharpe problem.
//
//   max mu^T Y mu   s.t.  tr(Sigma Y) = 1,  sum_ij |Y_ij| <= kappa tr(Y),  Y >= 0 (PSD)
//
// relaxes Y = y y^T, y of unit risk with at most kappa names. Its dual,
//
//   min theta   s.t.  S = theta Sigma - mu mu^T - nu kappa I - V >= 0 (PSD),
//                     |V_ij| <= nu,  V_ii = -nu,
//
// bounds Sharpe^2 of every portfolio of at most kappa names from above, whatever their signs and
// net position. Both values of a Relaxation are proved: `primal` belongs to a Y that satisfies the
// constraints, `dual` to a triple whose slack S, shifted down by a bound on every rounding error,
// has a Cholesky factor. gap = (dual - primal) / dual, on Sharpe^2.
//
// Two methods: a primal-dual interior point method for few assets, to 1e-6 and better; for many,
// over-relaxed primal-dual hybrid gradients on X = Sigma^(1/2) Y Sigma^(1/2), which make the PSD
// cone and the trace one projection and give a valid bound at every step. Work is limited in steps,
// never by the clock: the same calls in the same order give the same bits.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/base/named.hpp"
#include "sharpen/base/status.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/risk/risk.hpp"
#include "sharpen/select/select.hpp"

namespace sharpen::baseline {

struct SdrSettings {
  double gap = 0.0;          // in (0, 1), relative, on Sharpe^2; 0: what gap_for(n) says
  Index max_iterations = 0;  // of either method; 0: as many as reach the gap on real markets
  bool warm = true;          // start from the solution of the problem solved before

  // 1e-6 up to 50 assets, 1e-3 up to 120, 1e-2 beyond, unless `gap` is given.
  double gap_for(Index n) const;
  void validate() const;  // throws InputError naming field, value and bound
};

struct Relaxation {
  // ok; not_converged (valid, but the gap asked for was not reached); no_signal (mu = 0: all
  // values 0); invalid_input (everything NaN).
  Status status = Status::invalid_input;
  double kappa = 0.0;
  double primal = 0.0;  // Sharpe^2 of a feasible Y
  double dual = 0.0;    // Sharpe^2 that nothing feasible exceeds; +infinity if none was proved
  double gap = 0.0;     // (dual - primal) / dual
  double sharpe = 0.0;  // the root of dual, rounded up; also where the square is out of range
  Index iterations = 0;
  // (n) leading eigenvector of Y, unit length, mu^T v >= 0; 0 after no_signal, NaN where none was
  // found.
  std::vector<double> direction;

  bool converged() const { return status == Status::ok || status == Status::no_signal; }
};

// The points behind the two values, in the units of mu and Sigma.
struct RelaxationPoints {
  std::vector<double> Y;  // (n, n) symmetric
  double theta = 0.0;     // = Relaxation::dual
  double nu = 0.0;
  std::vector<double> V;  // (n, n) symmetric
};

// Solves relaxations over n assets. Where settings.warm allows, gradients start from the problem
// before (another mu, Sigma or kappa); the interior point method always starts afresh.
class Sdr {
 public:
  Sdr(const SdrSettings& settings, Index n);
  ~Sdr();
  Sdr(Sdr&&) noexcept;

  // Overwrites `out`. kappa in [1, n]. Sigma (n, n), symmetric positive definite, both triangles.
  // Never throws for the values of mu and Sigma; throws InputError for wrong shapes and kappa,
  // Interrupted once `stop` says so.
  void solve(ConstMat Sigma, ConstVec mu, double kappa, Relaxation& out, const Stop& stop = {});

  // Forgets what the next solve would start from.
  void forget();

  // Of the last solve; empty after no_signal and invalid_input.
  const RelaxationPoints& points() const;

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

// From a relaxation to a portfolio.
enum class Recovery {
  top_k,  // kappa = k; the k largest |v_i| of the leading eigenvector, exactly solved
  match,  // kappa in [1, n] such that k entries of v pass 1e-3 max |v|, exactly solved; fewer
          // names where no kappa tried has k
};
constexpr std::array<std::string_view, 2> names(Recovery) { return {"top-k", "match"}; }

struct SdrSelectSettings : layer::Mandate {
  Recovery recovery = Recovery::top_k;
  SdrSettings sdr = {};

  void validate(Index n) const;  // throws InputError naming field, value and bound
};

struct SdrPortfolio {
  // outcome.status is not_converged where a relaxation it rests on did not reach its gap, and
  // invalid_input where none has an eigenvector to take names from.
  select::Portfolio portfolio;
  // At kappa = k, whose dual bounds Sharpe^2 of every k-sparse portfolio; at the kappa of run_at.
  Relaxation relaxation;
  // Of the relaxation whose eigenvector the support comes from.
  double kappa = 0.0;
  Index iterations = 0;
  bool converged = false;
  Index matched = 0;  // names in that eigenvector's own support; match holds all of them up to k
  Index solves = 0;   // relaxations solved, at most 8
  bool cut = false;   // match: no kappa tried has k names; the support is a larger one's k largest
};

// Relaxes, recovers and solves exactly, starting each day from the one before.
class SdrSelector {
 public:
  SdrSelector(const SdrSelectSettings& settings, const risk::Risk& risk);
  ~SdrSelector();
  SdrSelector(SdrSelector&&) noexcept;

  // Overwrites `out`. Never throws for the values of mu; throws InputError for wrong shapes and
  // a sample out of range, Interrupted once `stop` says so.
  void run(const risk::Risk& risk, Index sample, ConstVec mu, SdrPortfolio& out,
           const Stop& stop = {});
  // The same with this kappa, in [1, n], which is not looked for: one relaxation. Its support is
  // cut to k names where it has more.
  void run_at(const risk::Risk& risk, Index sample, ConstVec mu, double kappa, SdrPortfolio& out,
              const Stop& stop = {});

 private:
  struct Work;
  std::unique_ptr<Work> work_;
};

}  // namespace sharpen::baseline
