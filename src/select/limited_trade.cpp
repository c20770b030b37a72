// Names for a decision that follows another one: few of them change, so that each start is a good
// one, and is only moved on from.
#include <cmath>

#include "select/limited_search.hpp"

namespace sharpen::select {

using layer::LimitedEnd;

namespace {

// n k: there is time for more starts, and for all exchanges, also those that look hopeless only
// because a row stands in the way.
constexpr Index kSmall = 500, kTiny = 64;

}  // namespace

void LimitedSearch::use(const layer::PreparedLimits& limits, double risk_aversion) {
  solver_.use(limits);
  solver_.set_risk_aversion(risk_aversion);
}

// Keeps the present choice if it is the best so far.
bool LimitedSearch::remember() {
  const Worth now = worth();
  if (!std::isfinite(now.value) || held() > k_) return false;
  if (best_ever_ && !now.better_than(*best_ever_)) return false;
  best_ever_ = now;
  best_place_ = place_;
  return true;
}

// While exchanges gain, or until what another start came to.
void LimitedSearch::descend(const Stop& stop) {
  const bool first = !best_ever_;
  for (Index rounds = 10 * k_ + 100; rounds > 0; --rounds) {
    ask(stop);
    if (!remember() && !first && place_ == best_place_) return;
    if (!trade(true) || !forbid_idle()) break;
  }
  remember();
}

LimitedEnd LimitedSearch::decide(const risk::Risk& risk, Index sample, ConstVec mu,
                                 std::span<const std::vector<Index>> starts, Vec w,
                                 const Stop& stop) {
  variance_ = risk.diagonal(sample);
  banned_ = -1;
  best_ever_.reset();
  const bool tiny = n_ * k_ <= kTiny;
  effort_ = {.entrants = n_,
             .tried = tiny ? at(kTiny) : 4,
             .hopeless = tiny ? 1e9 : 1e-3,
             .both_sides = tiny,
             .many = true};
  for (const std::vector<Index>& names : starts)
    if (restart_on(names, risk, sample, mu) && forbid_idle() && reduce(stop)) descend(stop);
  if (n_ * k_ <= kSmall) {
    needed_.assign(at(n_), false);
    best_alone(mu);
    if (restart(risk, sample, mu) && forbid_idle()) descend(stop);
    if (best_ever_) kick_all(risk, sample, mu, stop);
  }
  return give_best(risk, sample, mu, w);
}

}  // namespace sharpen::select
