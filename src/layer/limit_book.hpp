// What a LimitBook has made of its rules: names as numbers, entries in the order of their dates.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/layer/limit_rules.hpp"

namespace sharpen::layer {

// Values that count from a date on, in the order of their dates.
template <class Value>
class Dated {
 public:
  // To be called in the order of dates; what there is of the same date is handed back to be added
  // to.
  Value& from(const std::string& date) {
    if (dates_.empty() || dates_.back() != date) {
      dates_.push_back(date);
      values_.emplace_back();
    }
    return values_.back();
  }
  // The latest that is not after the date; of "": the latest. Null if there is none.
  const Value* as_of(std::string_view date) const {
    const auto after = date.empty() ? dates_.end() : std::ranges::upper_bound(dates_, date);
    return after == dates_.begin() ? nullptr : &values_[at(after - dates_.begin() - 1)];
  }
  const std::vector<std::string>& dates() const { return dates_; }
  const std::vector<Value>& values() const { return values_; }

 private:
  std::vector<std::string> dates_;
  std::vector<Value> values_;
};

struct BoundLimits {
  enum class Kind { asset, group, coefficient, net, beta };
  struct Term {
    Kind kind = Kind::asset;
    Index id = -1;  // of the asset, group or column; -1: an asset that was left out
    double factor = 1.0;
  };
  struct Row {
    std::string name;
    std::vector<Term> terms;
    double lower = -kUnlimited, upper = kUnlimited;
    bool uses(Kind kind) const;
  };
  struct Names {
    Index group = 0;
    NamesRule rule;
  };

  std::shared_ptr<const LimitRules> rules;
  std::vector<std::string> tickers;
  Net net = Net::positive;
  Objective objective = Objective::sharpe;

  std::map<std::string, Index, std::less<>> asset_ids, group_ids, column_ids;
  std::vector<Dated<std::vector<Index>>> groups;  // (assets)
  // (columns, assets) lines of coefficients that say something of both, by date; of the columns
  // that rows name.
  std::vector<std::vector<std::vector<Index>>> lines;
  std::vector<Row> rows;
  std::vector<Names> names;
  std::vector<double> lower, upper, least_if_held;  // (assets)
  std::vector<double> holdings;                     // (assets), or empty
  std::vector<std::string> dates;                   // on which what rows speak of may change
  bool bounded_below = false, bounded_above = false, any_least = false;

  BoundLimits(std::shared_ptr<const LimitRules> rules, std::vector<std::string> tickers,
              std::span<const std::string> known, Net net, Objective objective);

  void bind_groups(std::span<const std::string> known);
  void bind_coefficients(std::span<const std::string> known);
  void bind_weights(std::span<const std::string> known);
  void bind_rows(std::span<const std::string> known);
  void find_lines(Index column);
  Term term_of(const RowRule& row, const RowTerm& term, std::span<const std::string> known) const;
  void bind_names();
  void bind_net();
  void note_dates();
  void check_bounds(Index asset) const;
  void check_conflicts(std::string_view first, std::string_view last) const;

  // The line of the coefficient that counts; -1 if there is none yet.
  Index line_of(Index column, Index asset, std::string_view date) const;
  double coefficient(Index column, Index line) const {
    return rules->coefficients.matrix()(line, column);
  }
  // What coefficient an asset of these has not yet, in words.
  std::optional<std::string> missing(std::span<const Index> assets, std::string_view date) const;
  Limits limits(std::span<const Index> assets, std::string_view date, ConstVec betas,
                ConstVec held) const;
  LimitRow row_of(const Row& row, std::span<const Index> assets, std::string_view date,
                  ConstVec betas, const std::vector<std::vector<Index>>& members) const;
};

}  // namespace sharpen::layer
