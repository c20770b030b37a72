// The answer of `sharpen compare --json`.
#include <cmath>

#include "command/json_keys.hpp"
#include "sharpen/command/compare.hpp"

namespace sharpen::command {

namespace {

// One of the two runs, and the factor that makes a Sharpe ratio one of a year.
struct Run {
  const ComparedRun* run;
  double root;
};

double root_of(const Comparison& comparison) { return std::sqrt(comparison.periods_per_year); }

Json interval(double low, double high) { return Json::array({low, high}); }

// The page describes them once, for a. `part`: kNoTable for b.
Key<Comparison> run_key(std::string_view name, std::string_view meaning,
                        ComparedRun Comparison::*member, int part) {
  const Keys<Run> keys = in_part<Run>(
      part,
      {{"folder", "as given", [](auto& r) { return r.run->folder; }},
       {"label", "what the run calls itself; the folder's name if it has no label",
        [](auto& r) { return r.run->label; }},
       {"rows", "periods in its file", [](auto& r) { return r.run->rows; }},
       {"left_out", "how many of them are not common, or come before the statistics of either run",
        [](auto& r) { return r.run->left_out; }},
       {"sharpe", "Sharpe ratio per period, and × √`periods_per_year`",
        [](auto& r) { return r.run->sharpe; }},
       {"sharpe_annualized", "", [](auto& r) { return r.run->sharpe * r.root; }},
       {"sharpe_ci", "its 95 % interval, [low, high]",
        [](auto& r) { return interval(r.run->interval.low, r.run->interval.high); }},
       {"sharpe_ci_annualized", "",
        [](auto& r) {
          return interval(r.run->interval.low * r.root, r.run->interval.high * r.root);
        }},
       {"block", "mean block length behind the interval",
        [](auto& r) { return r.run->interval.block; }}});
  return {name, meaning,
          [keys, member](const Comparison& c) {
            return json_of(keys, Run{&(c.*member), root_of(c)});
          },
          0, listed(keys, std::string(name) + ".")};
}

Keys<Comparison> test_keys() {
  return {
      {"n_common", "number of common periods", [](auto& c) { return c.test.n; }},
      {"from", "the first and the last of them", &Comparison::from},
      {"to", "", &Comparison::to},
      {"periods_per_year", "the number used to annualise", &Comparison::periods_per_year},
      {"difference", "Sharpe ratio of `a` minus that of `b`",
       [](auto& c) { return c.test.difference; }},
      {"difference_annualized", "", [](auto& c) { return c.test.difference * root_of(c); }},
      {"difference_ci", "its 95 % interval, [low, high]",
       [](auto& c) { return interval(c.test.low, c.test.high); }},
      {"difference_ci_annualized", "",
       [](auto& c) { return interval(c.test.low * root_of(c), c.test.high * root_of(c)); }},
      {"standard_error", "of `difference`", [](auto& c) { return c.test.standard_error; }},
      {"p_value",
       "two-sided, of no difference; `null` if it could not be tested (`verdict` says why)",
       [](auto& c) { return c.test.p_value; }},
      {"significant", "whether `p_value` is below 1 − `level`", &Comparison::significant},
      {"same", "whether the two earn the same up to scale: `difference` 0, `p_value` 1",
       [](auto& c) { return c.test.same; }},
      {"correlation", "of the two runs' excess returns",
       [](auto& c) { return c.test.correlation; }},
      {"level", "0.95", [](auto& c) { return c.bootstrap.level; }},
      {"replications", "the settings used", [](auto& c) { return c.bootstrap.replications; }},
      {"block", "block length of the test; `null` if nothing was resampled",
       [](auto& c) { return c.test.block > 0 ? Json(c.test.block) : Json(nullptr); }},
      {"seed", "@replications", [](auto& c) { return c.bootstrap.seed; }},
      {"verdict", "what the test means, in words", &Comparison::verdict},
      {"warnings", kWarningsMeaning, &Comparison::warnings},
  };
}

Keys<Comparison> compare_keys() {
  Keys<Comparison> keys = head<Comparison>("compare", "`compare`");
  keys.push_back(run_key("a", "the two runs, over the common periods", &Comparison::a, 0));
  keys.push_back(run_key("b", "@a", &Comparison::b, kNoTable));
  append(keys, test_keys());
  return keys;
}

}  // namespace

std::string compare_json(const Comparison& comparison) {
  static const Keys<Comparison> keys = compare_keys();
  return json_text(json_of(keys, comparison));
}

Section compare_section() {
  return {"compare",
          {"How each figure is computed: [statistics.md](statistics.md)."},
          listed(compare_keys())};
}

}  // namespace sharpen::command
