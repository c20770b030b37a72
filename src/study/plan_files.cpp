#include "study/plan_files.hpp"

#include <algorithm>

#include "backtest/benchmark.hpp"
#include "backtest/tradable.hpp"
#include "sharpen/layer/mandate.hpp"
#include "sharpen/market/members.hpp"
#include "sharpen/trade/costs.hpp"

namespace sharpen::study {

namespace {

using settings::Values;

// Against the market, as every cell will have them.
void check_members(const std::string& text, const market::Panel& returns, Market& market) {
  const market::MemberBook book(text);
  const std::vector<char> states = book.states(returns.dates, returns.tickers, returns.left_out);
  const Index first = returns.rows() - static_cast<Index>(market.dates.size());
  if (first > 0)
    book.check_first(returns.dates[at(first - 1)],
                     std::span(states).subspan(at(first * returns.n()), at(returns.n())));
  for (std::string& warning : book.warnings(returns.dates, returns.tickers, returns.left_out))
    market.warnings.push_back(std::move(warning));
}

}  // namespace

Values with_method_files(Values values) {
  if (const settings::NumberOrFile& costs = values.number_or_file("cost-bps"); !costs.file.empty())
    values.set_flag("cost-bps", trade::with_contents(costs).file);
  if (layer::gives_limits(values)) {
    layer::LimitSettings limits;
    settings::fill(values, limits);
    values.set_flag("limits", layer::limit_rules(limits)->to_toml());
    if (values.has("groups")) values.set_flag("groups", "");
  }
  return values;
}

void check_files(Plan& plan, std::size_t market) {
  const Values& values = plan.values[market * plan.results.methods.size()];
  Market& read = plan.results.markets[market];
  market::Panel returns = plan.returns[market];
  const Index first = returns.rows() - static_cast<Index>(read.dates.size());
  if (values.has("benchmark"))
    static_cast<void>(backtest::take_benchmark(values.text("benchmark"), returns));
  if (values.has("members")) check_members(values.text("members"), returns, read);
  if (values.has("tradable")) {
    backtest::BacktestSettings settings;
    settings.account.tradable = values.text("tradable");
    static_cast<void>(backtest::frozen_names(settings, returns, std::max<Index>(0, first - 1)));
  }
}

backtest::BacktestSettings Plan::settings_of(Index cell) const {
  backtest::BacktestSettings out = backtest::backtest_settings(values_of(cell));
  out.standstills = standstills[at(results.cells[at(cell)].market)];
  return out;
}

}  // namespace sharpen::study
