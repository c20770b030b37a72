// The keys of an answer under limits, of solve and predict alike; without limits there are none of
// them.
#pragma once

#include "command/json_keys.hpp"
#include "sharpen/select/explain.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::command {

// `Answer` is a solve::Choice.
template <class Answer>
Keys<Answer> limit_keys(int part) {
  const auto of = [](auto value) {
    return [value](const Answer& a) { return a.rules ? Json(value(a)) : absent(); };
  };
  return in_part<Answer>(
      part, {{"objective", "`sharpe`, `return` or `utility`",
              of([](auto& a) { return name_of(a.settings.objective.kind); })},
             {"note",
              "`none`, `nothing_earns` (no portfolio earns anything: the one of least risk), "
              "`below_risk` (the largest return has less risk than was aimed at) or `above_risk` "
              "(the limits force more: the least)",
              of([](auto& a) { return name_of(a.portfolio.outcome.note); })},
             {"violation",
              "0, or with status `infeasible` the least by which every limit has to give way",
              of([](auto& a) { return a.portfolio.outcome.violation; })},
             {"limits", "the limits as TOML, files included",
              of([](auto& a) { return a.rules->to_toml(); })}});
}

// The limits that are felt, with --explain. `tickers(answer)`: the names of the assets.
template <class Answer, class Tickers>
Key<Answer> binding_key(int part, Tickers tickers) {
  struct Binding {
    const select::BindingLimit* limit;
    std::string asset;  // "" for a row
  };
  const auto of = [](auto member) {
    return [member](const Binding& item) { return Json(item.limit->*member); };
  };
  using select::BindingLimit;
  const Keys<Binding> keys = {
      {"limit", "a row as it was written, `gross`, `turnover`, or `lower`, `upper`, `if held`",
       of(&BindingLimit::name), part},
      {"asset", "ticker, of the last three; else `null`",
       [](const Binding& item) { return item.asset.empty() ? Json(nullptr) : Json(item.asset); },
       part},
      {"value", "what it is, and what it may be", of(&BindingLimit::value), part},
      {"at", "", of(&BindingLimit::limit), part},
      {"multiplier", "what a unit more of it is worth to first order, in expected return",
       of(&BindingLimit::multiplier), part},
      {"sharpe_cost",
       "what the Sharpe ratio (the return or the utility, if that is the objective) would gain on "
       "the same names without this limit; `null` if nothing else holds them back",
       of(&BindingLimit::sharpe_cost), part}};
  return {"binding_limits", "with `--explain`: the limits that are felt",
          [keys, tickers](const Answer& answer) {
            if (!answer.rules || !answer.explanation) return absent();
            Json out = Json::array();
            for (const BindingLimit& each : answer.explanation->binding)
              out.push_back(json_of(
                  keys, Binding{&each, each.asset < 0 ? "" : tickers(answer)[at(each.asset)]}));
            return out;
          },
          part, listed(keys, "binding_limits[].")};
}

// What the sizing is; the objective stands in its place under limits.
template <class Answer>
Json sizing_or_null(const Answer& a) {
  return a.rules ? Json(nullptr) : Json(name_of(a.settings.sizing.kind));
}

}  // namespace sharpen::command
