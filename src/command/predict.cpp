// From a model and a panel to the answer of `sharpen predict`.
#include "sharpen/command/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "base/csv.hpp"
#include "command/predict_input.hpp"
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

// What the settings leave open, the model says.
solve::OptimizerSettings optimizer_settings(const Values& values,
                                            const solve::OptimizerInfo& optimizer,
                                            const Prediction& prediction) {
  const learn::Model& model = prediction.input.model;
  solve::OptimizerSettings settings = solve::optimizer_settings(values);
  if (!values.has("k")) settings.k = model.settings.mandate.k;
  if (!values.has("net")) settings.net = model.settings.mandate.net;
  settings.shrinkage = prediction.shrinkage;
  settings.sizing = layer::sizing_settings(values, prediction.periods_per_year);
  layer::fill_limits(values, settings, &model.settings.mandate);
  solve::refuse_limits(optimizer, settings);
  return settings;
}

// Turnover counts from what is held now. Names that the model does not know are sold, whatever the
// limits are.
std::optional<layer::Limits> limits_of(const solve::OptimizerSettings& settings,
                                       const std::vector<NamedWeight>& previous,
                                       const PredictInput& input) {
  if (!settings.limits) return std::nullopt;
  const layer::LimitBook book(settings.limits, input.model.tickers, input.returns.left_out,
                              settings.net, settings.objective.kind, input.window.to,
                              input.window.to);
  std::vector<Index> columns(at(input.model.n()));
  std::iota(columns.begin(), columns.end(), Index{0});
  std::vector<double> holdings;
  if (!previous.empty()) holdings.resize(columns.size());
  for (const NamedWeight& position : previous) {
    const auto found = std::ranges::find(input.model.tickers, position.asset);
    if (found != input.model.tickers.end())
      holdings[at(found - input.model.tickers.begin())] = position.weight;
  }
  return book.at(columns, input.window.to, input.window_returns(), holdings);
}

std::unique_ptr<risk::Risk> window_risk(const solve::OptimizerInfo& optimizer, risk::Form form,
                                        const Prediction& prediction, const Threads& threads) {
  const bool explain = prediction.values.flag("explain");
  const risk::RiskSettings settings = {.shrinkage = prediction.shrinkage,
                                       .form = form,
                                       .parts = solve::parts_for(optimizer, explain)};
  const Window& window = prediction.input.window;
  const Index end = prediction.input.returns.rows();
  auto risk = risk::from_windows(prediction.input.returns.matrix(), window.rows, std::span(&end, 1),
                                 settings, threads);
  if (risk->status(0) != Status::ok)
    throw InputError(fmt::format(
        "{}: the returns from {} to {} have no covariance: no asset moves, or they are out of the "
        "range of numbers; correct the file, or choose another date",
        printable(prediction.input.file, 4 * prediction.input.file.size()), window.from,
        window.to));
  return risk;
}

// The signal of the members, and what they think each by itself.
void ask_members(const solve::OptimizerInfo& optimizer, const solve::OptimizerSettings& settings,
                 Index k, Prediction& prediction, const Threads& threads, const Control& control) {
  const learn::Model& model = prediction.input.model;
  const Index n = model.n(), members = static_cast<Index>(model.members.size());
  std::vector<double> expected(at(members * n));
  const Mat mu(expected.data(), members, n);
  std::vector<Index> assets(at(n));
  std::iota(assets.begin(), assets.end(), Index{0});
  const ConstMat window = prediction.input.window_returns();
  for (Index m = 0; m < members; ++m)
    learn::expected_returns(model, m, window, std::span(&window.rows, 1), assets,
                            mu.middle_rows(m, 1), threads);
  prediction.mu.resize(at(n));
  prediction.agreement =
      learn::Combiner(*prediction.risk).run(*prediction.risk, 0, mu, prediction.mu);
  const std::vector<Index> samples(at(members), 0);
  prediction.spread = learn::member_spread(
      solve::decide_batch(optimizer, settings, k, *prediction.risk, samples, mu, threads, control,
                          prediction.limits ? &*prediction.limits : nullptr));
}

void decide(const solve::OptimizerInfo& optimizer, const solve::OptimizerSettings& settings,
            Index k, Prediction& prediction, const Stop& stop) {
  const solve::Problem problem{.n = prediction.n(),
                               .k = k,
                               .mu = prediction.mu,
                               .risk = prediction.risk.get(),
                               .limits = prediction.limits ? &*prediction.limits : nullptr,
                               .window = prediction.input.window_returns(),
                               .stop = stop};
  solve::choose(optimizer, settings, problem, prediction);
  const select::Portfolio& portfolio = prediction.portfolio;
  if (portfolio.outcome.status == Status::infeasible && !std::isfinite(portfolio.sharpe))
    throw InputError(fmt::format(
        "no portfolio of {} names comes near the limits; allow more names (‹-k›), or wider limits",
        k));
  if (portfolio.outcome.status == Status::invalid_input || !std::isfinite(portfolio.sharpe))
    throw Failure(fmt::format(
        "{}: what the model expects after the returns from {} to {} is not a number; look for "
        "absurd prices (‹sharpen doctor›)",
        printable(prediction.input.file, 4 * prediction.input.file.size()),
        prediction.input.window.from, prediction.input.window.to));
  const bool has_reasons = portfolio.outcome.status != Status::infeasible;
  solve::measure(problem, prediction.values.flag("explain") && has_reasons, prediction);
}

std::vector<NamedWeight> named(const Prediction& prediction) {
  std::vector<NamedWeight> out;
  for (const Index i : prediction.held())
    out.push_back({prediction.ticker(i), prediction.weight(i)});
  return out;
}

// Names that are held now and that the model does not know are sold.
void warn_of_strangers(const std::vector<NamedWeight>& previous, Prediction& prediction) {
  const std::vector<std::string>& known = prediction.input.model.tickers;
  std::vector<std::string> strangers, priceless;
  for (const NamedWeight& position : previous) {
    if (position.weight == 0.0 || std::ranges::find(known, position.asset) != known.end()) continue;
    strangers.push_back(position.asset);
    if (prediction.sizes && !prediction.sizes->price(position.asset))
      priceless.push_back(position.asset);
  }
  if (!strangers.empty())
    prediction.warnings.push_back(fmt::format("the model does not know {}; held now, and sold",
                                              some_names(strangers, kMostNames)));
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

void list_trades(const std::vector<NamedWeight>& previous, Prediction& prediction) {
  const Values& values = prediction.values;
  if (values.has("capital"))
    prediction.sizes = Sizes{.capital = values.real("capital"),
                             .lot = static_cast<double>(values.integer("lot")),
                             .prices = prediction.input.prices};
  prediction.trades =
      trade_list(previous, named(prediction), prediction.sizes ? &*prediction.sizes : nullptr);
  warn_of_strangers(previous, prediction);
  if (prediction.sizes) warn_of_small_lots(prediction);
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
  const std::string& sizing = values.text("sizing");
  const bool aims =
      prediction.rules && prediction.settings.objective.kind == layer::Objective::expected_return;
  idle("target-volatility", sizing == "volatility" || aims, "‹--sizing volatility›");
  idle("offset", sizing == "budget", "‹--sizing budget›");
}

std::vector<NamedWeight> previous_of(const Values& values, PredictInputs& inputs) {
  if (inputs.previous) return std::move(*inputs.previous);
  if (!values.has("previous")) return {};
  return backtest::read_portfolio(values.text("previous"));
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
  for (const Index i : prediction.held()) positions.push_back({i, prediction.weight(i)});
  if (values.has("out"))
    write_file(values.text("out"),
               backtest::portfolio_csv(positions, prediction.input.model.tickers));
  if (values.has("trades"))
    write_file(values.text("trades"), trade_csv(prediction.trades, prediction.sizes.has_value()));
}

TradeRow row_of(const std::string& asset, double from, double to, const Sizes* sizes) {
  TradeRow row{.asset = asset, .from = from, .to = to};
  if (sizes == nullptr) return row;
  if (const std::optional<double> price = sizes->price(asset))
    row.shares = {*price, *sizes->shares(asset, from), *sizes->shares(asset, to)};
  return row;
}

}  // namespace

Prediction predict_answer(const Values& values, PredictInputs inputs, const Log& log,
                          const Control& control) {
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
  const Index k = settings.k.of(model.n(), "k");
  select::SelectSettings{settings.mandate(k)}.validate(model.n());
  const std::vector<NamedWeight> previous = previous_of(values, inputs);
  prediction.limits = limits_of(settings, previous, prediction.input);
  prediction.risk = window_risk(optimizer, settings.form, prediction, threads);
  ask_members(optimizer, settings, k, prediction, threads, control);
  decide(optimizer, settings, k, prediction, control.stop);
  list_trades(previous, prediction);
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

std::optional<double> Sizes::price(const std::string& asset) const {
  const auto found = prices.find(asset);
  return found == prices.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> Sizes::shares(const std::string& asset, double weight) const {
  const std::optional<double> each = price(asset);
  if (!each) return std::nullopt;
  const double count = std::round(weight * capital / *each / lot) * lot;
  constexpr double kMost = 9007199254740992.0;  // 2^53: beyond it not every count is a number
  if (std::abs(count) > kMost)
    throw InputError(fmt::format(
        "capital = {} makes more shares of {} than can be counted: its weight is {}, its price {}; "
        "correct one of them",
        shortest(capital), printable(asset, 24), shortest(weight), shortest(*each)));
  return count == 0.0 ? 0.0 : count;  // no -0
}

std::vector<TradeRow> trade_list(const std::vector<backtest::NamedWeight>& held,
                                 const std::vector<backtest::NamedWeight>& wanted,
                                 const Sizes* sizes) {
  std::unordered_map<std::string, double> from;
  for (const backtest::NamedWeight& position : held) from[position.asset] = position.weight;
  std::vector<TradeRow> rows;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& asset, double to) {
    const auto found = from.find(asset);
    const double before = found == from.end() ? 0.0 : found->second;
    if (seen.insert(asset).second && before != to) rows.push_back(row_of(asset, before, to, sizes));
  };
  for (const backtest::NamedWeight& position : wanted) add(position.asset, position.weight);
  for (const backtest::NamedWeight& position : held) add(position.asset, 0.0);
  return rows;
}

std::string trade_csv(const std::vector<TradeRow>& trades, bool with_shares) {
  std::string out = with_shares ? "asset,from,to,trade,price,shares\n" : "asset,from,to,trade\n";
  for (const TradeRow& row : trades) {
    out += fmt::format("{},{},{},{}", csv_field(row.asset), shortest(row.from), shortest(row.to),
                       shortest(row.trade()));
    if (with_shares)
      out += row.shares ? fmt::format(",{},{}", shortest(row.shares->price),
                                      share_text(row.shares->trade()))
                        : ",,";
    out += "\n";
  }
  return out;
}

double turnover(const std::vector<TradeRow>& trades) {
  double sum = 0.0;
  for (const TradeRow& row : trades) sum += std::abs(row.trade());
  return sum;
}

std::string share_text(double shares) { return fmt::format("{:.0f}", shares); }

}  // namespace sharpen::command
