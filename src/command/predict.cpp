// From a model and a panel to the answer of `sharpen predict`.
#include "sharpen/command/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "command/orders_settings.hpp"
#include "command/predict_input.hpp"
#include "command/trading.hpp"
#include "sharpen/backtest/learned.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/output_folder.hpp"
#include "sharpen/layer/mandate.hpp"

namespace sharpen::command {

namespace {

using backtest::NamedWeight;
using settings::Origin;
using settings::Values;

const solve::OptimizerInfo& optimizer_of(const std::string& text) {
  const auto serves = [](const solve::OptimizerInfo& row) { return row.serves_models; };
  const solve::OptimizerInfo& row = solve::optimizer_named(text);
  if (!serves(row))
    throw InputError(fmt::format("optimizer = {} cannot decide for a model; use {}",
                                 printable(text), solve::names_of_optimizers(serves, " or ")));
  return row;
}

// As in training, but for what the settings say. Volatilities of the model are of its own periods.
layer::SizingSettings sizing_of(const Values& values, const learn::Model& model,
                                double periods_per_year) {
  layer::SizingSettings out = model.settings.mandate.sizing;
  const double target = out.target_volatility;
  settings::fill(values, out);
  if (values.has("target-volatility"))
    out = layer::per_period(out, periods_per_year);
  else if (periods_per_year != model.periods_per_year)
    out.target_volatility = target * std::sqrt(model.periods_per_year / periods_per_year);
  return out;
}

// What the settings leave open, the model says.
solve::OptimizerSettings optimizer_settings(const Values& values,
                                            const solve::OptimizerInfo& optimizer,
                                            const Prediction& prediction) {
  const learn::Model& model = prediction.input.model;
  solve::OptimizerSettings settings = solve::optimizer_settings(values);
  if (!values.has("k")) settings.k = model.settings.mandate.k;
  if (!values.has("net")) settings.net = model.settings.mandate.net;
  settings.shrinkage = prediction.shrinkage;
  settings.sizing = sizing_of(values, model, prediction.periods_per_year);
  layer::fill_limits(values, settings, &model.settings.mandate);
  solve::refuse_limits(optimizer, settings);
  return settings;
}

// Turnover counts from holdings (n), or, where they are empty, from nothing.
std::optional<layer::Limits> limits_of(const solve::OptimizerSettings& settings,
                                       const PredictInput& input, ConstVec holdings) {
  if (!settings.limits) return std::nullopt;
  const layer::LimitBook book(settings.limits, input.today.tickers, input.today.left_out,
                              settings.net, settings.objective.kind, input.window.to,
                              input.window.to);
  std::vector<Index> columns(at(input.today.n()));
  std::iota(columns.begin(), columns.end(), Index{0});
  return book.at(columns, input.window.to, input.window_returns(), holdings);
}

std::unique_ptr<risk::Risk> window_risk(const solve::OptimizerInfo& optimizer, risk::Form form,
                                        const Prediction& prediction, const Threads& threads) {
  const Window& window = prediction.input.window;
  const risk::RiskSettings settings = solve::risk_settings_for(
      optimizer, prediction.shrinkage, form, false, prediction.values.flag("explain"),
      prediction.input.today.n(), window.rows);
  const Index end = prediction.input.today.rows();
  auto risk = risk::from_windows(prediction.input.today.matrix(), window.rows, std::span(&end, 1),
                                 settings, threads);
  if (risk->status(0) != Status::ok)
    throw InputError(fmt::format(
        "{}: the returns from {} to {} have no covariance: no asset moves, or they are out of the "
        "range of numbers; correct the file, or choose another date",
        printable(prediction.input.file, 4 * prediction.input.file.size()), window.from,
        window.to));
  return risk;
}

// The signal with a memory, from the windows before this one, too: what a backtest would decide by.
void remember(Prediction& prediction, const Threads& threads, const Control& control) {
  const PredictInput& input = prediction.input;
  backtest::LearnedSettings settings{.training = input.model.settings,
                                     .periods_per_year = prediction.periods_per_year,
                                     .memory = prediction.trading.ruling.memory,
                                     .costs = nullptr};
  settings.training.shrinkage = prediction.shrinkage;
  settings.members = input.members;
  const Index last = input.returns.rows() - 1;
  const backtest::Expectations found = backtest::learned_expectations(
      input.returns, std::span(&last, 1), settings, &input.model, threads, control);
  for (std::size_t i = 0; i < prediction.mu.size(); ++i)
    prediction.mu[i] = found.values[at(input.assets[i])].value();
}

// The signal of the members, and what they think each by itself.
void ask_members(const solve::OptimizerInfo& optimizer, const solve::OptimizerSettings& settings,
                 Index k, Prediction& prediction, const Threads& threads, const Control& control) {
  const learn::Model& model = prediction.input.model;
  const Index n = prediction.n(), members = static_cast<Index>(model.members.size());
  std::vector<double> expected(at(members * n));
  const Mat mu(expected.data(), members, n);
  const std::vector<Index>& assets = prediction.input.assets;
  const ConstMat window = prediction.input.window_returns();
  for (Index m = 0; m < members; ++m)
    learn::expected_returns(model, m, window, std::span(&window.rows, 1), assets,
                            mu.middle_rows(m, 1), threads);
  prediction.mu.resize(at(n));
  learn::Combiner combiner(*prediction.risk);
  prediction.agreement = combiner.run(*prediction.risk, 0, mu, prediction.mu);
  if (prediction.trading.ruling.normalizes()) {
    remember(prediction, threads, control);
  } else {
    std::vector<double> q(at(n));
    combiner.run_unscaled(*prediction.risk, 0, mu, q);
    prediction.unit = unit_of(prediction.mu, q);
  }
  const std::vector<Index> samples(at(members), 0);
  // Only how far they are apart is wanted of them, and no proof, which takes its time each time.
  const solve::OptimizerInfo& quick =
      optimizer.selects ? solve::optimizer_named(select::name(*optimizer.selects)) : optimizer;
  prediction.spread = learn::member_spread(
      solve::decide_batch(quick, settings, k, *prediction.risk, samples, mu, threads, control,
                          prediction.limits ? &*prediction.limits : nullptr));
}

void refuse_unsolved(const Prediction& prediction) {
  const select::Portfolio& portfolio = prediction.portfolio;
  if (portfolio.outcome.status == Status::infeasible && !std::isfinite(portfolio.sharpe))
    throw InputError(fmt::format(
        "no portfolio of {} names comes near the limits; allow more names (‹-k›), or wider limits",
        prediction.settings.k));
  if (portfolio.outcome.status == Status::invalid_input || !std::isfinite(portfolio.sharpe))
    throw Failure(fmt::format(
        "{}: what the model expects after the returns from {} to {} is not a number; look for "
        "absurd prices (‹sharpen doctor›)",
        printable(prediction.input.file, 4 * prediction.input.file.size()),
        prediction.input.window.from, prediction.input.window.to));
}

// A signal in units of the Sharpe ratio that it is believed to have becomes that ratio, per period.
void believe(double sharpe, Prediction& prediction) {
  for (double& mu : prediction.mu) mu *= sharpe;
  prediction.portfolio.sharpe *= sharpe;
  prediction.full_sharpe *= sharpe;
  if (prediction.bound) prediction.bound->sharpe *= sharpe;
  prediction.exposure.expected_return *= sharpe;
  // What is proved of a return is in its units; a utility is not linear in them.
  if (prediction.proof && prediction.settings.objective.kind == layer::Objective::expected_return) {
    prediction.proof->bound *= sharpe;
    prediction.proof->reached *= sharpe;
  }
  if (!prediction.explanation) return;
  for (select::Reason& reason : prediction.explanation->reasons) {
    reason.mu *= sharpe;
    reason.sharpe_lost_if_removed *= sharpe;
  }
  if (auto& best = prediction.explanation->best_left_out) best->sharpe_gain *= sharpe;
  for (select::BindingLimit& limit : prediction.explanation->binding) {
    limit.multiplier *= sharpe;
    limit.sharpe_cost *= sharpe;
  }
}

// First what would be held if trading were free, then what is held after all.
std::vector<trade::TradeReason> decide(const solve::OptimizerInfo& optimizer,
                                       const solve::OptimizerSettings& settings, Index k,
                                       ConstVec holdings, Prediction& prediction,
                                       const Stop& stop) {
  const trade::Ruling& ruling = prediction.trading.ruling;
  const std::optional<layer::Limits> free_limits = ruling.rule == trade::Rule::none
                                                       ? prediction.limits
                                                       : limits_of(settings, prediction.input, {});
  solve::Problem problem{.n = prediction.n(),
                         .k = k,
                         .mu = prediction.mu,
                         .risk = prediction.risk.get(),
                         .limits = free_limits ? &*free_limits : nullptr,
                         .window = prediction.input.window_returns(),
                         .stop = stop};
  const Threads threads(static_cast<int>(prediction.values.integer("threads")));
  problem.threads = &threads;
  solve::choose(optimizer, settings, problem, prediction);
  refuse_unsolved(prediction);
  if (prediction.proof && prediction.proof->end == select::ProofEnd::interrupted) problem.stop = {};
  if (prediction.limits) problem.limits = &*prediction.limits;
  const std::vector<trade::TradeReason> reasons =
      decide_from(holdings, prediction.trading, optimizer, settings, prediction.periods_per_year,
                  problem, prediction.unit, prediction);
  refuse_unsolved(prediction);
  const bool has_reasons = prediction.portfolio.outcome.status != Status::infeasible;
  solve::measure(problem, prediction.values.flag("explain") && has_reasons, prediction);
  if (ruling.normalizes())
    believe(ruling.expected_sharpe / std::sqrt(prediction.periods_per_year), prediction);
  return reasons;
}

std::vector<NamedWeight> named(const Prediction& prediction) {
  std::vector<NamedWeight> out;
  for (const Index i : prediction.held())
    out.push_back({prediction.ticker(i), prediction.weight(i)});
  out.insert(out.end(), prediction.kept.begin(), prediction.kept.end());
  return out;
}

// Names that are held now and that the model does not know are sold.
void warn_of_strangers(const std::vector<std::string>& strangers, Prediction& prediction) {
  std::vector<std::string> priceless, unknown, left;
  for (const std::string& asset : strangers) {
    if (prediction.sizes && !prediction.sizes->price(asset)) priceless.push_back(asset);
    const std::vector<std::string>& model = prediction.input.model.tickers;
    (std::ranges::find(model, asset) == model.end() ? unknown : left).push_back(asset);
  }
  if (!unknown.empty())
    prediction.warnings.push_back(fmt::format("the model does not know {}; held now, and sold",
                                              some_names(unknown, kMostNames)));
  if (!left.empty())
    prediction.warnings.push_back(
        fmt::format("{} cannot be held any more (no member, or no returns); held now, and sold",
                    some_names(left, kMostNames)));
  if (!priceless.empty())
    prediction.warnings.push_back(
        fmt::format("the file has no last price of {}; shares to sell are not counted",
                    some_names(priceless, kMostNames)));
}

// A small account cannot hold a small weight.
void warn_of_small_lots(Prediction& prediction) {
  std::vector<std::string> names;
  for (const Index i : prediction.held())
    if (prediction.sizes->shares(prediction.ticker(i), prediction.weight(i)) == 0.0)
      names.push_back(prediction.ticker(i));
  if (!names.empty())
    prediction.warnings.push_back(
        fmt::format("the capital is too small for a lot of {}: no shares of it are held",
                    some_names(names, kMostNames)));
}

void size_trades(const std::vector<trade::TradeReason>& reasons, Prediction& prediction) {
  const Values& values = prediction.values;
  if (values.has("capital"))
    prediction.sizes =
        Sizes{.capital = values.real("capital"),
              .lot = values.has("lot") ? static_cast<double>(values.integer("lot")) : 1.0,
              .prices = prediction.input.prices};
  list_trades(named(prediction), prediction.input.today.tickers, reasons,
              prediction.sizes ? &*prediction.sizes : nullptr, prediction.trading);
}

void warn(const Values& values, Prediction& prediction) {
  std::vector<std::string>& warnings = prediction.warnings;
  if (prediction.portfolio.outcome.jittered())
    warnings.push_back(fmt::format(
        "the covariance is nearly singular: {:.3g} was added to its diagonal; more ‹--shrinkage› "
        "would avoid it",
        prediction.portfolio.outcome.jitter));
  const auto idle = [&](std::string_view flag, bool used, std::string_view goes_with) {
    if (values.origin(flag) == Origin::flag && !used)
      warnings.push_back(
          fmt::format("‹--{}› has no effect here; it goes with {}", flag, goes_with));
  };
  const layer::Sizing sizing = prediction.settings.sizing.kind;
  const bool aims =
      prediction.rules && prediction.settings.objective.kind == layer::Objective::expected_return;
  idle("target-volatility", sizing == layer::Sizing::volatility || aims, "‹--sizing volatility›");
  idle("offset", sizing == layer::Sizing::budget, "‹--sizing budget›");
  warn_of_percent(prediction.trading.previous, warnings);
  warn_of_idle_rule(values, prediction.trading.ruling, optimizer_of(values.text("optimizer")), true,
                    warnings);
  warn_of_differences(differences(values.as(settings::backtest), prediction.input.model),
                      "the model was judged with", warnings);
  if (prediction.sizes && !prediction.trading.previous.empty())
    warnings.emplace_back(
        "shares held now are counted from weights, and the broker's may differ; ‹--positions FILE› "
        "goes by the shares themselves");
}

std::vector<NamedWeight> previous_of(const Values& values, PredictInputs& inputs) {
  if (inputs.previous) return std::move(*inputs.previous);
  if (!values.has("previous")) return {};
  return backtest::read_portfolio(values.text("previous"));
}

// Names of the panel that are none of the model's.
std::vector<std::string> known_names(const PredictInput& input) {
  std::vector<std::string> out = input.others;
  out.insert(out.end(), input.today.left_out.begin(), input.today.left_out.end());
  return out;
}

bool is_frozen(const PredictInput& input, const std::string& asset) {
  return std::ranges::find(input.frozen, asset) != input.frozen.end();
}

// Names that are not traded today: those of the portfolio keep their weights, and others are kept.
void keep_frozen(Prediction& prediction, std::vector<std::string>& strangers) {
  const PredictInput& input = prediction.input;
  Trading& trading = prediction.trading;
  if (input.frozen.empty()) return;
  for (const std::string& ticker : input.today.tickers)
    trading.fixed.push_back(is_frozen(input, ticker) ? 1 : 0);
  std::erase_if(strangers, [&](const std::string& asset) {
    if (!is_frozen(input, asset)) return false;
    for (const NamedWeight& held : trading.previous) {
      if (held.asset != asset) continue;
      prediction.kept.push_back(held);
      trading.outside.names += 1;
      trading.outside.net += held.weight;
      trading.outside.gross += std::abs(held.weight);
    }
    return true;
  });
  std::vector<std::string> untraded;
  for (const NamedWeight& held : trading.previous)
    if (is_frozen(input, held.asset)) untraded.push_back(held.asset);
  if (!untraded.empty())
    prediction.warnings.push_back(fmt::format("cannot be traded on {}, and kept as held: {}",
                                              input.window.to, some_names(untraded, kMostNames)));
}

settings::NumberOrFile costs_of(const Values& values, const learn::Model& model) {
  if (values.has("cost-bps")) return values.number_or_file("cost-bps");
  return {.number = model.cost_bps, .file = {}};
}

// What contradicts itself whatever the files hold.
void check_settings(const Values& values, const PredictInputs& inputs) {
  if (!values.has("capital") && values.origin("lot") == Origin::flag)
    throw InputError("‹--lot› has no meaning here; it goes with ‹--capital›");
  const bool prices =
      inputs.panel ? inputs.panel->raw.kind == market::PanelKind::prices : !values.has("returns");
  if (values.has("capital") && !prices)
    throw InputError(fmt::format("{} needs prices to count shares by; give ‹--prices FILE›",
                                 values.given_as("capital")));
  if (values.has("out") && values.has("trades") && values.text("out") == values.text("trades"))
    throw InputError("‹--out› and ‹--trades› name the same file; give each its own");
}

void write_files(const Prediction& prediction) {
  const Values& values = prediction.values;
  std::vector<backtest::Position> positions;
  std::vector<std::string> tickers;
  for (const NamedWeight& wanted : named(prediction)) {
    positions.push_back({static_cast<Index>(tickers.size()), wanted.weight});
    tickers.push_back(wanted.asset);
  }
  if (values.has("out"))
    write_file(values.text("out"), backtest::portfolio_csv(positions, tickers));
  if (values.has("trades"))
    write_file(values.text("trades"),
               trade_csv(prediction.trading.trades, prediction.sizes.has_value()));
}

}  // namespace

Prediction predict_answer(const Values& given, PredictInputs inputs, const Log& log,
                          const Control& control) {
  const Values values = without_output_of_backtest(given);
  check_settings(values, inputs);
  keep_inputs(values, {"out", "trades"});
  for (const char* output : {"out", "trades"})
    if (values.has(output)) check_writable(values.text(output));
  const Threads threads(static_cast<int>(values.integer("threads")));
  Prediction prediction(values);
  prediction.input =
      read_predict_input(values, std::move(inputs.model), std::move(inputs.panel), log);
  const learn::Model& model = prediction.input.model;
  prediction.warnings = prediction.input.warnings;
  prediction.periods_per_year =
      values.has("periods-per-year") ? values.real("periods-per-year") : model.periods_per_year;
  prediction.shrinkage =
      values.has("shrinkage") ? values.real("shrinkage") : model.settings.shrinkage;
  const solve::OptimizerInfo& optimizer = optimizer_of(values.text("optimizer"));
  const solve::OptimizerSettings settings = optimizer_settings(values, optimizer, prediction);
  static_cast<void>(settings.k.of(model.n(), "k"));
  const Index k = solve::names_to_hold(settings.k, prediction.n());
  select::SelectSettings{settings.mandate(k)}.validate(prediction.n());
  Trading& trading = prediction.trading;
  trading.previous = previous_of(values, inputs);
  if (!trading.previous.empty()) refuse_other_holdings(trading.previous, settings.limits.get());
  trading.ruling = ruling_of_model(values, model);
  const std::vector<std::string> known = known_names(prediction.input);
  std::vector<std::string> strangers;
  const std::vector<double> holdings =
      holdings_of(trading.previous, values.optional_text("previous").value_or(""),
                  prediction.input.today.tickers, known, strangers);
  keep_frozen(prediction, strangers);
  set_costs(costs_of(values, model), prediction.input.today.tickers, known,
            prediction.input.window.to, trading);
  prediction.limits =
      limits_of(settings, prediction.input, trading.previous.empty() ? ConstVec() : holdings);
  prediction.risk = window_risk(optimizer, settings.form, prediction, threads);
  ask_members(optimizer, settings, k, prediction, threads, control);
  size_trades(decide(optimizer, settings, k, holdings, prediction, control.stop), prediction);
  warn_of_strangers(strangers, prediction);
  if (prediction.sizes) warn_of_small_lots(prediction);
  warn(values, prediction);
  if (!prediction.refused()) write_files(prediction);
  return prediction;
}

std::vector<Index> Prediction::held_by_members_only() const {
  std::vector<Index> assets;
  for (Index i = 0; i < n(); ++i)
    if (weight(i) == 0.0 && spread.held[at(i)] > 0.0) assets.push_back(i);
  return assets;
}

double Prediction::cash() const {
  double invested = 0.0;
  for (const Index i : held())
    invested += *sizes->shares(ticker(i), weight(i)) * *sizes->price(ticker(i));
  return sizes->capital - invested;
}

bool Prediction::refused() const {
  return values.flag("require-ok") && portfolio.outcome.status != Status::ok;
}

}  // namespace sharpen::command
