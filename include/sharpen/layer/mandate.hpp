// What every portfolio is held to: how many names, which limits, which scale.
#pragma once

#include <memory>

#include "sharpen/base/settings.hpp"
#include "sharpen/base/view.hpp"
#include "sharpen/layer/limit_rules.hpp"
#include "sharpen/layer/limits.hpp"
#include "sharpen/layer/objective.hpp"
#include "sharpen/layer/sizing.hpp"

namespace sharpen::layer {

// The most names where nobody says, and what limits are told as.
template <class Names>
constexpr Names kFewNames{};
template <class Names>
struct LimitsAmong;

template <>
inline constexpr Index kFewNames<Index> = 1;
template <>
struct LimitsAmong<Index> {
  using Type = LimitSchedule;
};

template <>
inline constexpr settings::CountOrShare kFewNames<settings::CountOrShare> = {.percent = 10.0};
template <>
struct LimitsAmong<settings::CountOrShare> {
  using Type = LimitRules;
};

template <class Names>
struct MandateOf {
  Names k = kFewNames<Names>;  // most names
  Net net = Net::positive;     // any: not with budget sizing
  SizingSettings sizing = {};  // its target volatility is per period
  // Null: none but net, and then neither has the objective a meaning. Else the objective stands in
  // the place of sizing.
  std::shared_ptr<const typename LimitsAmong<Names>::Type> limits = {};
  ObjectiveSettings objective = {};

  // The same, of so many names under these limits.
  MandateOf<Index> mandate(Index names,
                           std::shared_ptr<const LimitSchedule> limits_then = nullptr) const {
    return {.k = names,
            .net = net,
            .sizing = sizing,
            .limits = std::move(limits_then),
            .objective = objective};
  }
};
using Mandate = MandateOf<Index>;                           // k in [1, n]
using MandateSettings = MandateOf<settings::CountOrShare>;  // for any number of assets

// Limits and objective from the settings of a command, for a mandate that has its sizing (per
// period), and where they leave something open, from `usual` (null: nothing). Throws InputError for
// a sizing that was asked for and cannot go with them.
void fill_limits(const settings::Values& values, MandateSettings& out,
                 const MandateSettings* usual = nullptr);
// Whether the settings say anything of them.
bool gives_limits(const settings::Values& values);

}  // namespace sharpen::layer
