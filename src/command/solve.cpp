#include "sharpen/command/solve.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "base/vec.hpp"
#include "command/predict_input.hpp"
#include "command/trading.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/random.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/learn/ensemble.hpp"

namespace sharpen::command {

namespace {

using settings::Origin;
using settings::Values;
using solve::SolveInput;

// The built-in example of `sharpen solve --demo`; names to hold unless -k says otherwise.
constexpr std::int64_t kDemoNames = 4;

struct Company {
  const char* name;
  int sector;
  double beta;        // to the market
  double drift;       // a day, beyond the factors
  double volatility;  // a day, of its own
};

constexpr std::array<Company, 12> kCompanies = {{
    {"ALDER", 0, 0.8, 2e-4, 0.009},
    {"BIRCH", 0, 1.1, 6e-4, 0.012},
    {"CEDAR", 0, 1.3, -3e-4, 0.015},
    {"DELTA", 1, 0.7, 4e-4, 0.008},
    {"EMBER", 1, 1.0, 1e-4, 0.011},
    {"FJORD", 1, 1.2, -2e-4, 0.013},
    {"GRANITE", 2, 0.9, 5e-4, 0.010},
    {"HARBOR", 2, 1.0, 0.0, 0.012},
    {"INDIGO", 2, 1.4, 8e-4, 0.018},
    {"JUNIPER", 0, 0.6, 1e-4, 0.007},
    {"KESTREL", 1, 1.1, 3e-4, 0.014},
    {"LANTERN", 2, 0.8, -4e-4, 0.009},
}};

std::vector<std::string> weekdays_of_2024() {
  using namespace std::chrono;
  std::vector<std::string> dates;
  for (sys_days day = 2024y / January / 2; day <= sys_days(2024y / December / 31); day += days{1}) {
    if (const weekday wd(day); wd == Saturday || wd == Sunday) continue;
    const year_month_day date(day);
    dates.push_back(fmt::format("{}-{:02}-{:02}", static_cast<int>(date.year()),
                                static_cast<unsigned>(date.month()),
                                static_cast<unsigned>(date.day())));
  }
  return dates;
}

// A year of simulated daily returns of twelve invented names: a market factor, three sector
// factors and noise of their own. The same numbers on every machine for the same seed.
market::Panel demo_returns(std::uint64_t seed) {
  market::Panel panel;
  panel.dates = weekdays_of_2024();
  for (const Company& company : kCompanies) panel.tickers.emplace_back(company.name);
  Random random(seed);
  for (std::size_t t = 0; t < panel.dates.size(); ++t) {
    const double market = 4e-4 + 0.008 * random.normal();
    std::array<double, 3> sectors;
    for (double& sector : sectors) sector = 0.005 * random.normal();
    for (const Company& company : kCompanies) {
      const double own = company.drift + company.volatility * random.normal();
      panel.values.push_back(company.beta * market + sectors[at(company.sector)] + own);
    }
  }
  return panel;
}

constexpr std::string_view kSources =
    "‹--prices FILE›, ‹--returns FILE›, ‹--moments FILE›, ‹--mean FILE› with ‹--cov FILE›, or "
    "‹--demo›";

enum class Source { prices, returns, moments, mean_and_cov, demo };

bool on(const Values& values, std::string_view name) {
  const bool is_flag = settings::find(name).kind == settings::Kind::flag;
  return values.has(name) && (!is_flag || values.flag(name));
}

// Exactly one source of numbers, and nothing that belongs to another one.
Source find_source(const Values& values, const SolveInputs& inputs) {
  if (inputs.moments) return Source::mean_and_cov;
  if (inputs.panel)
    return inputs.panel->raw.kind == market::PanelKind::prices ? Source::prices : Source::returns;
  std::vector<std::pair<Source, std::string>> given;
  if (on(values, "prices")) given.emplace_back(Source::prices, values.given_as("prices"));
  if (on(values, "returns")) given.emplace_back(Source::returns, values.given_as("returns"));
  if (on(values, "moments")) given.emplace_back(Source::moments, values.given_as("moments"));
  for (const std::string_view name : {"mean", "cov"})
    if (on(values, name)) given.emplace_back(Source::mean_and_cov, values.given_as(name));
  if (on(values, "demo")) given.emplace_back(Source::demo, values.given_as("demo"));
  if (given.empty()) throw InputError(fmt::format("nothing to solve; give {}", kSources));
  for (const auto& [source, name] : given)
    if (source != given.front().first)
      throw InputError(fmt::format("{} and {} cannot go together; give one of {}",
                                   given.front().second, name, kSources));
  if (given.front().first == Source::mean_and_cov && given.size() == 1)
    throw InputError(fmt::format("{} alone is not enough; give ‹--mean FILE› and ‹--cov FILE›",
                                 given.front().second));
  return given.front().first;
}

// A setting that this source would ignore is a misunderstanding worth an error. Settings with a
// default count only as flags: --print-config writes them into every file.
void refuse_foreign_settings(const Values& values, Source source) {
  const bool panel =
      source == Source::prices || source == Source::returns || source == Source::demo;
  const auto refuse = [&](std::string_view name, std::string_view needs) {
    throw InputError(
        fmt::format("{} has no meaning here; it goes with {}", values.given_as(name), needs));
  };
  const bool file = source == Source::prices || source == Source::returns;
  for (const settings::Setting& setting : settings::table()) {
    const bool cleaning = setting.fills<market::CleaningSettings>();
    const Origin origin = values.origin(setting.name);
    const bool given = origin == Origin::flag || (origin == Origin::file && setting.preset.empty());
    if (setting.taken_by(settings::solve) && setting.is(settings::needs_panel) && given &&
        !(cleaning ? file : panel))
      refuse(setting.name, "‹--prices› or ‹--returns›");
  }
  if (!panel && values.text("form") == "low-rank")
    throw InputError("form = low-rank needs a window of returns; given moments are dense");
  if (source != Source::returns && values.flag("gross")) refuse("gross", "‹--returns›");
  if (source != Source::moments && values.origin("format") == Origin::flag)
    refuse("format", "‹--moments›");
}

// The built-in example, cut as a file would be.
market::Panel demo_panel(const Values& values) {
  market::Panel panel = demo_returns(static_cast<std::uint64_t>(values.integer("seed")));
  if (values.has("from") || values.has("to"))
    panel = market::select_dates(panel, values.optional_text("from"), values.optional_text("to"));
  if (values.has("tickers")) panel = market::select_tickers(panel, values.list("tickers"));
  return panel;
}

// A portfolio of a window does not know who can be traded on its last day.
void warn_of_halts(market::PanelInput& panel) {
  constexpr std::size_t kMost = 5;
  std::string names;
  std::size_t count = 0;
  for (const market::Halt& halt : panel.halts.runs)
    if (halt.last == panel.returns.rows() - 1 && count++ < kMost)
      names.append(names.empty() ? "" : ", ")
          .append(shortened(panel.returns.tickers[at(halt.asset)]));
  if (count == 0) return;
  panel.warnings.push_back(fmt::format(
      "cannot be traded on {} (halted, or without a price of that day): {}{}; leave out what is "
      "held of them by ‹--exclude›",
      panel.returns.dates.back(), names,
      count > kMost ? fmt::format(" and {} more", count - kMost) : ""));
}

SolveInput from_panel(const Values& values, Source source, std::optional<market::MemoryPanel> given,
                      const Log& log) {
  const Threads threads(static_cast<int>(values.integer("threads")));
  if (source == Source::demo)
    return solve::window_input(values, demo_panel(values), "", {}, threads);
  market::PanelInput panel = market::panel_input(values, std::move(given), log);
  warn_of_halts(panel);
  return solve::window_input(values, std::move(panel.returns), std::move(panel.file),
                             std::move(panel.warnings), threads);
}

SolveInput from_moments(const Values& values, Source source, std::optional<market::Moments> given,
                        const Log& log) {
  if (given) return solve::moments_input(values, std::move(*given), "Sigma");
  market::Moments moments = source == Source::moments
                                ? market::read_orlib(values.text("moments"))
                                : market::read_moments_csv(values.text("mean"), values.text("cov"));
  log.info(fmt::format("moments of {} assets", moments.n()));
  return solve::moments_input(values, std::move(moments),
                              values.text(source == Source::moments ? "moments" : "cov"));
}

SolveInput read_input(const Values& values, SolveInputs inputs, const Log& log) {
  const Source source = find_source(values, inputs);
  refuse_foreign_settings(values, source);
  const bool given_moments = source == Source::moments || source == Source::mean_and_cov;
  return given_moments ? from_moments(values, source, std::move(inputs.moments), log)
                       : from_panel(values, source, std::move(inputs.panel), log);
}

// Settings that only a decision from what is held listens to.
void warn_of_idle_trading(const Values& values, Solution& solution) {
  for (const settings::Setting& setting : settings::table())
    if (setting.taken_by(settings::solve) && setting.group == settings::Group::trading &&
        values.origin(setting.name) == Origin::flag)
      solution.warnings.push_back(
          fmt::format("‹--{}› has no effect here; it goes with ‹--previous›", setting.name));
}

// From what is held: the portfolio that is best after what it costs to get there. A portfolio of
// the window itself has no memory.
class Rebalancing {
 public:
  Rebalancing(const Values& values, std::vector<backtest::NamedWeight> previous,
              const SolveInput& input)
      : values_(values) {
    const solve::OptimizerInfo& optimizer = solve::optimizer_named(values.text("optimizer"));
    trade::RuleSettings rules;
    rules.memory = 1;
    trading_.ruling = ruling_of(values, rules, optimizer);
    trading_.previous = std::move(previous);
    refuse_other_holdings(trading_.previous, solve::optimizer_settings(values).limits.get());
    set_costs(values.number_or_file("cost-bps"), input.tickers, input.left_out,
              input.window ? input.window->to : std::string(), trading_);
    revision_.holdings =
        holdings_of(trading_.previous, values.optional_text("previous").value_or(""), input.tickers,
                    input.left_out, strangers_);
    revision_.of_holdings = trading_.ruling.rule == trade::Rule::none;
    revision_.decide = [this](auto&... of) { decide(of...); };
  }
  Rebalancing(const Rebalancing&) = delete;
  Rebalancing& operator=(const Rebalancing&) = delete;

  const solve::Revision& revision() const { return revision_; }

  void finish(Solution& out) {
    std::vector<backtest::NamedWeight> wanted;
    for (const Index i : out.held())
      wanted.push_back({out.input.tickers[at(i)], out.portfolio.weights[at(i)]});
    list_trades(wanted, out.input.tickers, reasons_, nullptr, trading_);
    if (!strangers_.empty())
      out.warnings.push_back(fmt::format("left out of the problem: {}; held now, and sold",
                                         some_names(strangers_, kMostNames)));
    warn_of_percent(trading_.previous, out.warnings);
    warn_of_idle_rule(values_, trading_.ruling, solve::optimizer_named(out.optimizer), true,
                      out.warnings);
    out.trading = std::move(trading_);
  }

 private:
  // In units of the Sharpe ratio that the signal is believed to have (trade/memory.hpp): mu over
  // the one it promises, sqrt(mu^T Sigma^-1 mu). What has the unit of mu is brought to the same.
  void decide(const solve::OptimizerInfo& optimizer, const solve::OptimizerSettings& settings,
              const solve::Problem& problem, solve::Choice& choice) {
    solve::OptimizerSettings scaled = settings;
    solve::Problem believed = problem;
    std::vector<double> q(problem.mu.size());
    learn::Combiner(*problem.risk)
        .run_unscaled(*problem.risk, problem.sample, ConstMat(problem.mu.data(), 1, problem.n), q);
    const double promised = unit_of(problem.mu, q);
    const bool normalizes = trading_.ruling.normalizes();
    if (normalizes) {
      believed.mu = q;
      scaled.objective.risk_aversion /= promised;
      if (choice.portfolio.theta) *choice.portfolio.theta *= promised;
    }
    reasons_ = decide_from(revision_.holdings, trading_, optimizer, scaled,
                           values_.real("periods-per-year"), believed, normalizes ? 1.0 : promised,
                           choice);
    if (!choice.from_holdings) return;
    if (normalizes) choice.portfolio.sharpe *= promised;
    choice.portfolio.value.reset();
  }

  const Values& values_;
  Trading trading_;
  std::vector<std::string> strangers_;
  solve::Revision revision_;
  std::vector<trade::TradeReason> reasons_;
};

Solution rebalanced(const Values& values, SolveInput input,
                    std::vector<backtest::NamedWeight> previous, const Stop& stop) {
  Rebalancing rebalancing(values, std::move(previous), input);
  Solution out{solve::solve(values, std::move(input), stop, &rebalancing.revision()), {}};
  rebalancing.finish(out);
  return out;
}

}  // namespace

Values solve_values(Values values) {
  if (values.flag("demo") && values.origin("k") == Origin::preset)
    values.set_flag("k", std::to_string(kDemoNames));
  return values;
}

void check_solve_settings(const Values& values) {
  const bool any = values.has("prices") || values.has("returns") || values.has("moments") ||
                   values.has("mean") || values.has("cov") || values.flag("demo");
  if (any) refuse_foreign_settings(values, find_source(values, {}));
  market::check_dates(values.optional_text("from"), values.optional_text("to"));
}

Solution solve_answer(const Values& values, SolveInputs inputs, const Log& log,
                      const Control& control) {
  std::optional<std::vector<backtest::NamedWeight>> previous = std::move(inputs.previous);
  if (!previous && values.has("previous"))
    previous = backtest::read_portfolio(values.text("previous"));
  SolveInput input = read_input(values, std::move(inputs), log);
  Solution solution;
  if (previous) {
    solution = rebalanced(values, std::move(input), std::move(*previous), control.stop);
  } else {
    solution = {solve::solve(values, std::move(input), control.stop), {}};
    warn_of_idle_trading(values, solution);
  }
  log.info(solution.status_text());
  return solution;
}

Solution explained(Values values, const Solution& solution, const Control& control) {
  values.set_flag("explain", "true");
  values.set_flag("certify", "false");
  const SolveInput& from = solution.input;
  const auto again = [&](SolveInput input) {
    if (!solution.trading)
      return Solution{solve::solve(values, std::move(input), control.stop), {}};
    input.left_out = from.left_out;
    return rebalanced(values, std::move(input), solution.trading->previous, control.stop);
  };
  if (!from.window) {
    market::Moments moments{from.tickers, from.mu, from.covariance};
    return again(solve::moments_input(values, std::move(moments), from.file));
  }
  const Threads threads(static_cast<int>(values.integer("threads")));
  market::Panel returns = from.returns;
  return again(solve::window_input(values, std::move(returns), from.file, {}, threads));
}

}  // namespace sharpen::command
