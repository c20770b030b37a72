#include "report/page_parts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "report/table_builder.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/solve/registry.hpp"

namespace sharpen::report {

namespace {

using Json = nlohmann::ordered_json;
using study::CellState;
using study::Results;

// 5.3 characters each: some 6 MB.
constexpr std::size_t kMostReturns = 1'200'000;
constexpr Index kBlocks = 104;      // columns of the picture of weights
constexpr std::size_t kNames = 18;  // rows of it
constexpr std::size_t kHeld = 18;   // rows of the list of names held
constexpr std::size_t kMostPictures = 400;

// Little-endian whatever the machine.
template <class T>
void append_bytes(std::string& out, T value) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  if constexpr (std::endian::native == std::endian::big) std::ranges::reverse(bytes);
  out.append(bytes.data(), bytes.size());
}

std::string packed(const std::vector<double>& values) {
  std::string bytes;
  for (const double x : values) append_bytes(bytes, static_cast<float>(x));
  return base64(bytes);
}

// Rounded for the eye: pictures need no more.
double rounded(double x) { return std::isfinite(x) ? std::round(x * 1e5) / 1e5 : 0.0; }

Json number_or_null(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

Json markets_json(const Results& results) {
  Json out = Json::array();
  for (const study::Market& market : results.markets) {
    Json dates = Json::array();
    for (const std::string& date : market.dates) dates.push_back(clean(date));
    out.push_back({{"name", clean(market.name)},
                   {"assets", market.tickers.size()},
                   {"dates", std::move(dates)},
                   {"periodsPerYear", market.periods_per_year},
                   {"riskFree", market.risk_free}});
  }
  return out;
}

Json methods_json(const Results& results) {
  Json out = Json::array();
  for (const study::Method& method : results.methods) {
    const Learning learning = learning_of(method);
    const solve::OptimizerInfo* optimizer = solve::find_optimizer(method.optimizer);
    const bool in_figures =
        method.role == study::Role::paper && optimizer != nullptr && optimizer->in_papers_figures;
    out.push_back({{"label", clean(method.label)},
                   {"predicts", learning == Learning::prediction},
                   {"decides", learning == Learning::decision},
                   {"optimizer", clean(method.optimizer)},
                   {"inFigures", in_figures},
                   {"role", name(method.role)}});
  }
  return out;
}

// The place of the run's first day among the market's; the dates themselves if they are not a
// stretch of those.
void add_days(const study::Market& market, const std::vector<std::string>& dates, Json& out) {
  const auto first =
      dates.empty() ? market.dates.begin() : std::ranges::find(market.dates, dates.front());
  const bool stretch = market.dates.end() - first >= static_cast<Index>(dates.size()) &&
                       std::equal(dates.begin(), dates.end(), first);
  if (stretch) {
    out["first"] = first - market.dates.begin();
    return;
  }
  out["dates"] = Json::array();
  for (const std::string& date : dates) out["dates"].push_back(clean(date));
}

// Sum |w| of each asset over the run, and the assets by it.
std::vector<Index> most_held(const backtest::Run& run, std::size_t assets) {
  std::vector<double> sums(assets, 0.0);
  for (const auto& held : run.weights)
    if (held.asset >= 0 && at(held.asset) < assets) sums[at(held.asset)] += std::abs(held.weight);
  std::vector<Index> order(assets);
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, [&](Index a, Index b) { return sums[at(a)] > sums[at(b)]; });
  while (!order.empty() && sums[at(order.back())] == 0.0) order.pop_back();
  return order;
}

// Mean weights over blocks of days, as whole numbers of 1/32767 of the largest.
Json weights_json(const backtest::Run& run, const study::Market& market) {
  const Index periods = run.periods();
  if (periods == 0 || static_cast<Index>(run.weights_begin.size()) != periods + 1) return nullptr;
  std::vector<Index> names = most_held(run, market.tickers.size());
  const std::size_t held = names.size();
  names.resize(std::min(held, kNames));
  std::vector<Index> row_of(market.tickers.size(), -1);
  for (std::size_t i = 0; i < names.size(); ++i) row_of[at(names[i])] = static_cast<Index>(i);
  const Index blocks = std::min(periods, kBlocks);
  std::vector<double> grid(names.size() * at(blocks), 0.0);
  for (Index b = 0; b < blocks; ++b) {
    const Index begin = b * periods / blocks, end = (b + 1) * periods / blocks;
    for (Index p = begin; p < end; ++p)
      for (const auto& position : run.weights_of(p))
        if (position.asset >= 0 && at(position.asset) < row_of.size() &&
            row_of[at(position.asset)] >= 0)
          grid[at(row_of[at(position.asset)] * blocks + b)] +=
              position.weight / static_cast<double>(end - begin);
  }
  double largest = 0.0;
  for (const double w : grid) largest = std::max(largest, std::abs(w));
  std::string bytes;
  for (const double w : grid)
    append_bytes(bytes, static_cast<std::int16_t>(largest > 0.0 && std::isfinite(w / largest)
                                                      ? std::lround(32767.0 * w / largest)
                                                      : 0));
  Json tickers = Json::array();
  for (const Index a : names) tickers.push_back(clean(market.tickers[at(a)]));
  return {{"names", std::move(tickers)},
          {"held", held},
          {"blocks", blocks},
          {"largest", rounded(largest)},
          {"values", base64(bytes)}};
}

Json runs_json(const Results& results, const Summary& summary, std::size_t& pictures) {
  Json out = Json::array();
  for (const Entry& entry : summary.entries)
    for (const Index c : entry.cells) {
      const study::Cell& cell = results.cells[at(c)];
      if (cell.state != CellState::done) continue;
      const study::Market& market = results.markets[at(cell.market)];
      Json run = {{"group", entry.group}, {"method", entry.method}};
      run["seed"] = cell.seed ? Json(std::to_string(*cell.seed)) : Json(nullptr);
      run["sharpe"] =
          number_or_null(summary.of_cells[at(c)][static_cast<std::size_t>(Figure::sharpe)]);
      add_days(market, cell.run.dates, run);
      run["statsFrom"] = cell.run.stats_from;
      run["returns"] = packed(cell.run.returns);
      if (pictures < kMostPictures) {
        run["weights"] = weights_json(cell.run, market);
        pictures += run["weights"].is_null() ? 0 : 1;
      }
      out.push_back(std::move(run));
    }
  return out;
}

// The mean over the done cells of r_t, on the days all of them have; and the first of those days
// that counts for all.
struct Average {
  std::vector<std::string> dates;
  std::vector<double> returns;
  Index stats_from = 0;
};

Average average_of(const Results& results, const Entry& entry) {
  struct Day {
    double sum = 0.0;
    Index runs = 0, counting = 0;
  };
  std::map<std::string_view, Day> days;
  for (const Index c : entry.cells) {
    const study::Cell& cell = results.cells[at(c)];
    if (cell.state != CellState::done) continue;
    for (Index t = 0; t < cell.run.periods(); ++t) {
      Day& day = days[cell.run.dates[at(t)]];
      day.sum += cell.run.returns[at(t)];
      ++day.runs;
      if (t >= cell.run.stats_from) ++day.counting;
    }
  }
  Average out;
  for (const auto& [date, day] : days) {
    if (day.runs != entry.done) continue;
    out.dates.emplace_back(date);
    out.returns.push_back(day.sum / static_cast<double>(day.runs));
    if (day.counting != entry.done) out.stats_from = static_cast<Index>(out.dates.size());
  }
  return out;
}

// Of studies too large for every run: one run per method that stands for all seeds.
Json averages_json(const Results& results, const Summary& summary) {
  Json out = Json::array();
  for (const Entry& entry : summary.entries) {
    if (entry.done == 0) continue;
    const Average average = average_of(results, entry);
    Json run = {
        {"group", entry.group}, {"method", entry.method}, {"seed", nullptr}, {"average", true}};
    run["sharpe"] = number_or_null(entry[Figure::sharpe].mean);
    add_days(results.markets[at(summary.groups[at(entry.group)].market)], average.dates, run);
    run["statsFrom"] = average.stats_from;
    run["returns"] = packed(average.returns);
    out.push_back(std::move(run));
  }
  return out;
}

// How often each name was held, over the days of all runs of a method that count.
Json held_json(const Results& results, const Summary& summary) {
  Json out = Json::array();
  for (const Entry& entry : summary.entries) {
    const study::Market& market = results.markets[at(summary.groups[at(entry.group)].market)];
    std::vector<double> days(market.tickers.size(), 0.0), sums(market.tickers.size(), 0.0);
    double total = 0.0;
    for (const Index c : entry.cells) {
      const backtest::Run& run = results.cells[at(c)].run;
      if (run.weights_begin.empty()) continue;
      total += static_cast<double>(run.periods() - run.stats_from);
      for (Index p = run.stats_from; p < run.periods(); ++p)
        for (const auto& position : run.weights_of(p))
          if (position.asset >= 0 && at(position.asset) < days.size() && position.weight != 0.0) {
            days[at(position.asset)] += 1.0;
            sums[at(position.asset)] += position.weight;
          }
    }
    if (total == 0.0) continue;
    std::vector<std::size_t> order(days.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return days[a] > days[b]; });
    while (!order.empty() && days[order.back()] == 0.0) order.pop_back();
    Json names = Json::array();
    for (std::size_t i = 0; i < std::min(order.size(), kHeld); ++i) {
      const std::size_t a = order[i];
      names.push_back(
          {clean(market.tickers[a]), rounded(days[a] / total), rounded(sums[a] / days[a])});
    }
    out.push_back({{"group", entry.group},
                   {"method", entry.method},
                   {"held", order.size()},
                   {"names", names}});
  }
  return out;
}

// The Sharpe ratios of each method at rising costs, annualised, with their intervals.
Json curves_json(const Results& results, const Summary& summary) {
  Json out = Json::array();
  for (const Entry& entry : summary.entries) {
    const std::vector<backtest::CostPoint>& curve = entry.after_costs.cost_curve;
    if (curve.empty()) continue;
    const Group& group = summary.groups[at(entry.group)];
    const double root = std::sqrt(results.markets[at(group.market)].periods_per_year);
    Json sharpe = Json::array(), low = Json::array(), high = Json::array();
    const auto add = [&](Json& to, double x) {
      to.push_back(std::isfinite(x) ? Json(rounded(root * x)) : Json(nullptr));
    };
    for (const backtest::CostPoint& point : curve) {
      add(sharpe, point.sharpe);
      add(low, point.interval.low);
      add(high, point.interval.high);
    }
    out.push_back(
        {{"group", entry.group},
         {"method", entry.method},
         {"cost", number_or_null(std::round(summary.costs[at(entry.method)] * 1e4) / 1e4)},
         {"sharpe", std::move(sharpe)},
         {"low", std::move(low)},
         {"high", std::move(high)}});
  }
  return out;
}

}  // namespace

std::string page_data(const study::Results& results, const Summary& summary) {
  Json out;
  out["markets"] = markets_json(results);
  out["methods"] = methods_json(results);
  out["groups"] = Json::array();
  for (const Group& group : summary.groups)
    out["groups"].push_back(
        {{"market", group.market}, {"k", group.k}, {"given", clean(group.k_given)}});
  out["columns"] = summary.columns;
  std::size_t returns = 0, pictures = 0, done = 0;
  for (const study::Cell& cell : results.cells) {
    returns += cell.run.returns.size();
    done += cell.state == CellState::done ? 1 : 0;
  }
  out["everyRun"] = returns <= kMostReturns;
  out["runs"] = returns <= kMostReturns ? runs_json(results, summary, pictures)
                                        : averages_json(results, summary);
  out["everyWeight"] = pictures == done || pictures < kMostPictures;
  out["held"] = held_json(results, summary);
  out["costLevels"] = backtest::kCostLevels;
  out["curves"] = curves_json(results, summary);
  return script_safe(json_escaped(out.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

}  // namespace sharpen::report
