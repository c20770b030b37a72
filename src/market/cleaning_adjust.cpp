// Ratios that earlier prices are divided by: of splits that are found, and those that somebody
// decided on.
//
// A decision says m: earlier prices are divided by it, so that the day's move x = log p(t)/p(t')
// loses log 1/m. It is made unless it seems to have been made before, for decisions applied twice
// are to be decisions applied once:
//   |log m| <= 8 u, with u what the asset usually moves: an ordinary move may hide it, so that
//              nobody can tell; it is made, and said so;
//   |x| <= |log m|/2: what is left is nearer to no move than to the ratio; it is not made again;
//   else       it is made, and where the move gets larger by it this is said.
#include <algorithm>
#include <cmath>
#include <utility>

#include "market/cleaner.hpp"

namespace sharpen::market {

namespace {

constexpr double kToldApart = 8.0;  // usual moves: four of them on either side of the middle
constexpr Index kUsualMovesAround = 30;
constexpr double kLeastUsualMove = 0.005;

}  // namespace

// The row before t where the asset has a price that can be one; -1 if there is none.
Index Cleaner::priced_before(Index t, Index j) const {
  do --t;
  while (t >= 0 && !(raw_.matrix()(t, j) > 0.0));
  return t;
}

// log p(t)/p(t'), or of 1 + r(t); NaN where there is none.
double Cleaner::raw_move(Index t, Index j) const {
  const double now = raw_.matrix()(t, j);
  if (!prices()) return now + shift() > 0.0 ? std::log(now + shift()) : kNaN;
  const Index before = priced_before(t, j);
  return now > 0.0 && before >= 0 ? std::log(now / raw_.matrix()(before, j)) : kNaN;
}

// What the asset moves in an ordinary period around row t, as rules have it (suspects.cpp).
double Cleaner::usual_move_around(Index t, Index j) const {
  std::vector<double> moves;
  const auto look = [&](Index row) {
    const double move = raw_move(row, j);
    if (!std::isnan(move)) moves.push_back(std::abs(move));
  };
  for (Index row = std::max<Index>(0, t - kUsualMovesAround); row < t; ++row) look(row);
  for (Index row = t + 1; row <= std::min(raw_.rows() - 1, t + kUsualMovesAround); ++row) look(row);
  if (moves.empty()) return kLeastUsualMove;
  const auto middle = moves.begin() + static_cast<std::ptrdiff_t>(moves.size() / 2);
  std::nth_element(moves.begin(), middle, moves.end());
  constexpr double kMedianOfNormal = 0.6745;
  return std::max(kLeastUsualMove, *middle / kMedianOfNormal);
}

Cleaner::Division Cleaner::divide_by(Index j, Index t, const Decision& d) {
  const ConstMat raw = raw_.matrix();
  // A day without a price moves with the next one.
  if (prices())
    while (t < raw_.rows() && !(raw(t, j) > 0.0)) ++t;
  const double move = t < raw_.rows() ? raw_move(t, j) : kNaN;
  if (std::isnan(move)) return Division::none;
  const double size = std::abs(std::log(d.ratio));
  const double left = move + std::log(d.ratio);
  const bool hidden = size <= kToldApart * usual_move_around(t, j);
  if (!hidden && std::abs(move) <= 0.5 * size) {
    note(DecisionDoubt::made_before, d, j, t, std::exp(move));
    return Division::made_before;
  }
  if (hidden)
    note(DecisionDoubt::near_one, d, j, t, std::exp(move));
  else if (std::abs(left) > std::abs(move))
    note(DecisionDoubt::larger, d, j, t, std::exp(move));
  book_.use(d);
  const double m = d.ratio > 1.0 ? d.ratio : 1.0 / d.ratio;
  if (prices())
    splits_.push_back({j, t, m, d.ratio > 1.0});
  else
    adjust_return(t, j, m, d.ratio > 1.0);
  return Division::made;
}

void Cleaner::adjust_return(Index t, Index j, double ratio, bool fell) {
  double& r = value(t, j);
  r = (fell ? (r + shift()) * ratio : (r + shift()) / ratio) - shift();
}

// Earlier prices are divided or multiplied, so that the latest ones are what they are today. From
// the last split of an asset to its first, by all the ratios behind a row at once: whole numbers,
// whose products are exact as long as they have 53 bits.
void Cleaner::adjust_splits() {
  constexpr double kExact = 0x1p53;
  std::stable_sort(splits_.begin(), splits_.end(), [](const Split& a, const Split& b) {
    return std::pair(a.column, a.row) < std::pair(b.column, b.row);
  });
  const auto same = [](const Split& a, const Split& b) {
    return a.column == b.column && a.row == b.row;
  };
  splits_.erase(std::unique(splits_.begin(), splits_.end(), same), splits_.end());
  double up = 1.0, down = 1.0;
  for (std::size_t i = splits_.size(); i-- > 0;) {
    const auto [j, row, m, fell] = splits_[i];
    if (i + 1 == splits_.size() || splits_[i + 1].column != j) up = down = 1.0;
    double& more = fell ? down : up;
    double& less = fell ? up : down;
    if (std::fmod(less, m) == 0.0)
      less /= m;
    else
      more *= m;
    if (up != 1.0 && down != 1.0 && std::max(up, down) > kExact) {
      up /= down;
      down = 1.0;
    }
    const Index from = i > 0 && splits_[i - 1].column == j ? splits_[i - 1].row : 0;
    for (Index t = from; t < row; ++t) value(t, j) = value(t, j) * up / down;
  }
}

}  // namespace sharpen::market
