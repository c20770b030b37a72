#include "sharpen/solve/registry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "solve/optimizers.hpp"

namespace sharpen::solve {

namespace {

using Rows = std::vector<std::shared_ptr<const OptimizerInfo>>;

// One of those that choose names and leave the rest to the exact solution on them (select.hpp).
OptimizerInfo selecting(select::Optimizer which, std::string_view label,
                        std::string_view sentence) {
  return {.name = std::string(select::name(which)),
          .label = std::string(label),
          .sentence = std::string(sentence),
          .keeps_limits = true,
          .selects = which,
          .seconds =
              [](double n, double k) {
                return OptimizerInfo::covariance_seconds(n, k) + 1e-9 * 20.0 * n * k * k;
              },
          .make = [which](const OptimizerSettings& s) { return make_selecting(which, s); }};
}

OptimizerInfo oscar() {
  OptimizerInfo row = selecting(select::Optimizer::oscar, "OSCAR",
                                "the k largest of |L⁻¹μ| with Σ = LLᵀ: the published method; its "
                                "choice depends on the order of the columns");
  row.needs.parts.lower = true;
  row.ranks = true;
  row.in_papers_figures = true;
  row.published = true;
  row.score = layer::Score::cholesky;
  return row;
}

OptimizerInfo symmetric() {
  OptimizerInfo row = selecting(select::Optimizer::symmetric, "symmetric",
                                "the k largest of |Σ^(−1/2)μ|, whatever the order of the columns");
  row.needs.parts.root = true;
  row.ranks = true;
  return row;
}

OptimizerInfo greedy() {
  return selecting(select::Optimizer::greedy, "greedy",
                   "forward selection: always the name that raises the Sharpe ratio most");
}

OptimizerInfo swap() {
  return selecting(
      select::Optimizer::swap, "swap",
      "forward selection, then exchanges of one name for another until no exchange helps");
}

OptimizerInfo pairs() {
  OptimizerInfo row = selecting(
      select::Optimizer::swap, "pairs",
      "swap, then exchanges of two names for two others, and the same from disturbed choices");
  row.name = "pairs";
  row.softens = false;
  row.most_assets = baseline::BoundSettings::kMostForBranch;  // it keeps a matrix (n, n)
  row.seconds = [](double n, double k) {
    return OptimizerInfo::covariance_seconds(n, k) + 1e-9 * (10.0 * n * n * k + 1e3 * n * k * k);
  };
  row.make = make_pairs;
  return row;
}

OptimizerInfo exact() {
  OptimizerInfo row = selecting(
      select::Optimizer::swap, "exact",
      "branch and bound: the best names, or the best found with a bound on what is possible");
  row.name = "exact";
  row.proves = true;
  row.remembers = true;
  row.softens = false;
  // Its bound keeps half a dozen matrices (n, n) and takes steps of order n^3.
  row.most_assets = baseline::BoundSettings::kMostForBranch;
  row.own = settings::of_proof;
  row.seconds = [](double n, double k) { return 1e-2 * std::pow(n / 50.0, 3.0) * k; };
  row.make = make_exact;
  return row;
}

OptimizerInfo mssrm() {
  return {.name = "mssrm",
          .label = "mSSRM",
          .sentence = "an ascent on the Sharpe ratio that keeps the k largest positions",
          .iterates = true,
          .ranks = true,
          .in_papers_figures = true,
          .published = true,
          .serves_models = false,
          .softens = false,
          .seconds =
              [](double n, double k) {
                return OptimizerInfo::covariance_seconds(n, k) + 1e-9 * 300.0 * n * n;
              },
          .make = make_mssrm};
}

OptimizerInfo mssrm_long() {
  return {
      .name = "mssrm-long",
      .label = "mSSRM long-only",
      .sentence = "mSSRM-PGA as published: long only, fully invested, from the unshrunk covariance",
      .needs = {.risk = false, .plain = true},
      .iterates = true,
      .proves = true,
      .published = true,
      .serves_models = false,
      .softens = false,
      .ignores = settings::of_scale,
      .ignores_since = "is long only and fully invested",
      .ignores_since_in_walks = "is long only, fully invested and takes the covariance as it is",
      .seconds =
          [](double n, double k) {
            return OptimizerInfo::covariance_seconds(n, k) + 1e-9 * 2000.0 * n * n;
          },
      .make = make_mssrm_long};
}

OptimizerInfo sdr() {
  return {.name = "sdr",
          .label = "SD-relaxation",
          .sentence = "the k largest entries of the semidefinite relaxation's solution",
          .iterates = true,
          .proves = true,
          .remembers = true,
          .ranks = true,
          .published = true,
          .serves_models = false,
          .softens = false,
          // A relaxation keeps a dozen matrices (n, n) and takes hundreds of steps of order n^3.
          .most_assets = 2000,
          .own = settings::of_relaxation,
          .seconds = [](double n, double) { return 1e-2 * std::pow(n / 30.0, 2.3); },
          .make = make_sdr};
}

OptimizerInfo equal() {
  return {.name = "equal",
          .label = "Equal weights",
          .sentence = "1/n of every asset, fully invested",
          .needs = {.signal = false, .risk = false},
          .published = true,
          .solves = false,
          .serves_models = false,
          .softens = false,
          .ignores = settings::of_expectations | settings::of_names | settings::of_scale,
          .ignores_since = "holds 1/n of every asset",
          .seconds = [](double, double) { return 1e-6; },
          .make = make_equal};
}

struct Registry {
  std::mutex mutex;
  Rows rows;
};

Registry& registry() {
  static Registry all{.mutex = {}, .rows = [] {
                        Rows rows;
                        for (OptimizerInfo (*row)() : {oscar, symmetric, greedy, swap, pairs, exact,
                                                       mssrm, mssrm_long, sdr, equal})
                          rows.push_back(std::make_shared<const OptimizerInfo>(row()));
                        return rows;
                      }()};
  return all;
}

}  // namespace

double OptimizerInfo::covariance_seconds(double n, double) {
  return 1e-9 * (100.0 * n * n + n * n * n);
}

bool OptimizerInfo::ignores_setting(std::string_view setting) const {
  return settings::find(setting).is(ignores);
}

bool OptimizerInfo::owns(std::string_view setting) const { return settings::find(setting).is(own); }

std::vector<const OptimizerInfo*> optimizers() {
  const std::lock_guard lock(registry().mutex);
  std::vector<const OptimizerInfo*> out;
  for (const auto& row : registry().rows) out.push_back(row.get());
  return out;
}

std::vector<std::string_view> optimizer_names() {
  std::vector<std::string_view> out;
  for (const OptimizerInfo* row : optimizers()) out.push_back(row->name);
  return out;
}

const OptimizerInfo* find_optimizer(std::string_view name) {
  for (const OptimizerInfo* row : optimizers())
    if (row->name == name) return row;
  return nullptr;
}

const OptimizerInfo& optimizer_named(std::string_view name) {
  if (const OptimizerInfo* row = find_optimizer(name)) return *row;
  throw InputError(fmt::format("optimizer = {} is none of {}", printable(name),
                               fmt::join(optimizer_names(), ", ")));
}

std::string names_of_optimizers(const std::function<bool(const OptimizerInfo&)>& which,
                                std::string_view last, std::string_view quote) {
  std::vector<std::string_view> names;
  for (const OptimizerInfo* row : optimizers())
    if (which(*row)) names.push_back(row->name);
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += i + 1 < names.size() ? ", " : last;
    out.append(quote).append(names[i]).append(quote);
  }
  return out;
}

std::string owners_of(const settings::Setting& setting) {
  return names_of_optimizers([&](const OptimizerInfo& row) { return setting.is(row.own); }, " or ");
}

RegisteredOptimizer::RegisteredOptimizer(OptimizerInfo row)
    : row_(std::make_shared<const OptimizerInfo>(std::move(row))) {
  if (row_->name.empty() || !row_->make)
    throw InputError("an optimizer needs a name and a function that makes it");
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const auto& other : all.rows)
    if (other->name == row_->name)
      throw InputError(fmt::format("there is an optimizer {} already; give it another name",
                                   printable(row_->name)));
  all.rows.push_back(row_);
}

RegisteredOptimizer::~RegisteredOptimizer() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().rows, row_);
}

void refuse_limits(const OptimizerInfo& optimizer, const OptimizerSettings& settings) {
  if (!settings.limits || optimizer.keeps_limits) return;
  throw InputError(fmt::format(
      "optimizer = {} keeps no limits; use {}, or leave the limits out", optimizer.name,
      names_of_optimizers([](const OptimizerInfo& row) { return row.keeps_limits; }, " or ")));
}

risk::RiskSettings risk_settings_for(const OptimizerInfo& optimizer, double shrinkage,
                                     risk::Form form, bool restriction, bool explain, Index n,
                                     Index T) {
  risk::RiskSettings out = {.shrinkage = shrinkage, .form = form, .parts = optimizer.needs.parts};
  out.parts.restriction = out.parts.restriction || restriction;
  out.form = out.form_for(n, T);
  if (explain)
    (optimizer.score == layer::Score::cholesky ? out.parts.lower : out.parts.root) = true;
  return out;
}

std::vector<select::Portfolio> decide_batch(const OptimizerInfo& optimizer,
                                            const OptimizerSettings& settings, Index k,
                                            const risk::Risk& risk, std::span<const Index> samples,
                                            ConstMat mu, const Threads& threads,
                                            const Control& control, const layer::Limits* limits) {
  const auto count = static_cast<Index>(samples.size());
  if (mu.rows != count)
    throw InputError(fmt::format("mu has {} rows for {} samples", mu.rows, count));
  if (mu.cols != risk.n())
    throw InputError(
        fmt::format("mu has {} entries, but the risk model has {} assets", mu.cols, risk.n()));
  select::SelectSettings{settings.mandate(k)}.validate(risk.n());

  Conductor conductor(control, count);
  std::vector<Answer> out(samples.size());
  std::vector<std::unique_ptr<Optimizer>> made(static_cast<std::size_t>(threads.count()));
  threads.for_each(count, [&](Index i, int slot) {
    conductor.ask();
    std::unique_ptr<Optimizer>& mine = made[static_cast<std::size_t>(slot)];
    if (!mine) mine = optimizer.make(settings);
    const auto at = static_cast<std::size_t>(i);
    mine->decide({.n = risk.n(),
                  .k = k,
                  .mu = mu.row(i),
                  .risk = &risk,
                  .sample = samples[at],
                  .limits = limits,
                  .stop = [&] { return conductor.stopped(); }},
                 out[at]);
  });
  std::vector<select::Portfolio> portfolios;
  for (Answer& answer : out) portfolios.push_back(std::move(answer.portfolio));
  return portfolios;
}

}  // namespace sharpen::solve
