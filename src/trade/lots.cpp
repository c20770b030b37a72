#include "sharpen/trade/lots.hpp"

#include <algorithm>
#include <cmath>

namespace sharpen::trade {

LotRounder::LotRounder(const LotSettings& settings, Index n)
    : settings_(settings), shares_(at(n)), exact_(at(n)), curbs_(at(n)) {
  order_.reserve(at(n));
}

double LotRounder::cash_left() const {
  double cash = account_.cash - account_.owed;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const double value = bought(static_cast<Index>(i)) * account_.prices[i];
    if (value != 0.0) cash -= value + cost(static_cast<Index>(i)) * std::abs(value);
  }
  return cash;
}

void LotRounder::run(const ShareAccount& account, ConstVec held, ConstVec wanted, ConstVec costs) {
  account_ = account;
  costs_ = costs;
  double decided = account.cash;
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    curbs_[i] = Curb::none;
    shares_[i] = exact_[i] = account.shares[i];
    if (wanted[i] == held[i]) continue;
    decided -= (wanted[i] - held[i]) * account.wealth;
    exact_[i] = wanted[i] * account.wealth / account.prices[i];
    shares_[i] = settings_.lot > 0.0
                     ? std::round(exact_[i] / settings_.lot) * settings_.lot + 0.0  // no -0
                     : exact_[i] + 0.0;
    if (shares_[i] == account.shares[i]) curbs_[i] = Curb::lot;
  }
  leave_out_small_orders();
  keep_cash(std::min(0.0, decided));
}

void LotRounder::leave_out_small_orders() {
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    const double traded = std::abs(bought(static_cast<Index>(i)));
    if (traded == 0.0 || traded * account_.prices[i] >= settings_.min_order) continue;
    shares_[i] = account_.shares[i];
    if (curbs_[i] == Curb::none) curbs_[i] = Curb::minimum;
  }
}

double LotRounder::cut(Index i, double missing, double most) {
  const double a_share = account_.prices[at(i)] * (1.0 + cost(i));
  const double lots = std::min(most, std::ceil(missing / (settings_.lot * a_share)));
  // Of an odd lot, what is left of the order goes, too.
  const double off =
      std::min(settings_.lot > 0.0 ? lots * settings_.lot : missing / a_share, bought(i));
  shares_[at(i)] -= off;
  curbs_[at(i)] = Curb::cash;
  return off * a_share;
}

void LotRounder::keep_cash(double least) {
  const auto value_above = [&](Index i) {
    return (shares_[at(i)] - exact_[at(i)]) * account_.prices[at(i)];
  };
  for (const bool rounded_up : {true, false}) {
    double missing = least - cash_left();
    if (!(missing > 0.0)) return;
    order_.clear();
    for (Index i = 0; i < std::ssize(shares_); ++i)
      if (bought(i) > 0.0 && (!rounded_up || value_above(i) > 0.0)) order_.push_back(i);
    const auto rank = [&](Index i) {
      return rounded_up ? -value_above(i) : -bought(i) * account_.prices[at(i)];
    };
    std::ranges::stable_sort(order_, {}, rank);
    for (const Index i : order_) {
      if (!(missing > 0.0)) break;
      missing -= cut(i, missing, rounded_up ? 1.0 : HUGE_VAL);
    }
    leave_out_small_orders();
  }
}

}  // namespace sharpen::trade
