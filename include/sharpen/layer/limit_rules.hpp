// Limits as people write them, before it is known which assets there are and what day it is.
//
//   long_only = true
//   max_weight = 0.05
//   groups = "sectors.csv"
//   rows = ["Energy <= 0.3", "0.1 <= Tech <= 0.4", "AAPL + MSFT <= 0.08", "beta <= 1.1"]
//
// docs/limits.md lists the keys. A file of groups (asset,group) or of coefficients
// (asset,name,name,...) may have a column `date`; a line then counts from that date on, until the
// next one of its asset.
#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/view.hpp"
#include "sharpen/layer/limits.hpp"
#include "sharpen/layer/objective.hpp"
#include "sharpen/layer/sizing.hpp"

namespace sharpen::layer {

struct GroupMember {
  std::string asset, group;
  std::string from;   // a date; "": always
  std::string where;  // "sectors.csv:7", for messages
};

// Numbers of assets, some of them perhaps from a date on.
struct CoefficientTable {
  struct Line {
    std::string asset, from, where;  // as in GroupMember
  };
  std::vector<std::string> names;  // of the columns
  std::vector<Line> lines;
  std::vector<double> values;  // (lines, names); NaN: the line says nothing of it

  bool empty() const { return lines.empty(); }
  ConstMat matrix() const { return {values.data(), std::ssize(lines), std::ssize(names)}; }
};

// lower <= sum of factor * name <= upper; a name is an asset, a group, a column of coefficients,
// `net`, or `beta`.
struct RowTerm {
  double factor = 1.0;
  std::string name;
};
struct RowRule {
  std::string text;  // as it was written
  std::vector<RowTerm> terms;
  double lower = -kUnlimited, upper = kUnlimited;
};
// Throws InputError with the text and the place in it.
RowRule parse_row(std::string_view text);

struct WeightRule {
  std::optional<double> least, most, least_if_held;
};

struct NamesRule {
  std::string group;
  Index least = 0;
  Index most = std::numeric_limits<Index>::max();
};

struct LimitRules {
  bool long_only = false;
  WeightRule every;                          // of every asset
  std::map<std::string, WeightRule> assets;  // of some, in its place
  std::optional<double> max_gross, min_net, max_net, max_turnover;
  std::vector<GroupMember> groups;
  CoefficientTable coefficients;
  std::vector<RowRule> rows;
  std::vector<NamesRule> names;
  std::string beta_against;  // a ticker; "": equal weights
  std::map<std::string, double> holdings;

  // The text that read_limits reads back to the same rules, files included.
  std::string to_toml() const;
};

// What the settings of a command say of limits.
struct LimitSettings {
  bool long_only = false;
  std::optional<double> min_weight, max_weight, max_gross;
  std::string groups;  // a file, or its text: anything with a line break
  std::string limits;  // likewise
  std::optional<Objective> objective;
  double risk_aversion = 1.0;

  bool say_anything() const {
    return long_only || min_weight || max_weight || max_gross || !groups.empty() ||
           !limits.empty() || objective;
  }
};

// From the text of a TOML file; files that it names are looked for beside `file`, and refused where
// that is empty. Throws InputError with file, line and remedy.
LimitRules read_limits(std::string_view text, const std::filesystem::path& file);

// Null where neither a limit nor an objective is given. What the settings say themselves comes
// before what their file says.
// Where they name no file, `base` stands for it (null: nothing).
std::shared_ptr<const LimitRules> limit_rules(const LimitSettings& settings,
                                              const LimitRules* base = nullptr);

// Throws InputError for limits that need to know what is held: `who` does not.
void refuse_holdings(const LimitRules& rules, std::string_view who);

struct BoundLimits;

// Rules for the assets of one panel. Limits as of a date are those of the latest entries that are
// not after it; as of "", where there are no dates, the latest of all.
class LimitBook {
 public:
  // `known` are further names that a file may speak of without being wrong: assets of the panel
  // that were left out. Throws InputError for a name that nobody knows, a group nobody is in,
  // bounds crossed, or limits that cannot hold together for these assets, naming the rows: on any
  // date from `first` to `last`, those of the panel, or as of "" where it has none.
  LimitBook(std::shared_ptr<const LimitRules> rules, std::vector<std::string> tickers,
            std::span<const std::string> known, Net net, Objective objective,
            std::string_view first = "", std::string_view last = "");

  // Whether they may differ from day to day, other than by which assets there are.
  bool changes() const;
  // That at() gives, at most.
  Index rows() const;
  // Whether a row names beta, for which at() needs returns.
  bool needs_returns() const;
  // For these columns of the panel, as of a date; `window` (T, columns) are returns before it, for
  // betas; holdings (columns), or empty for those of the rules. Where nothing is held, turnover is
  // not limited. Throws InputError for an asset that has no coefficient yet, and betas without
  // returns or without the asset they are against.
  Limits at(std::span<const Index> columns, std::string_view date, ConstMat window,
            ConstVec holdings) const;
  // The same with betas (columns) from elsewhere, or none.
  Limits with_betas(std::span<const Index> columns, std::string_view date, ConstVec betas,
                    ConstVec holdings) const;
  // The ticker that betas are against; "": equal weights.
  const std::string& beta_against() const;

 private:
  std::shared_ptr<const BoundLimits> bound_;
};

// Limits that cannot hold together, in words: an irreducible set, "Energy <= 0.3 and the weights of
// A and B >= 20 % cannot hold together: relax one of them". Empty if they can.
std::string conflict_in_words(const Limits& limits, std::span<const std::string> tickers,
                              const ObjectiveSettings& objective);

}  // namespace sharpen::layer
