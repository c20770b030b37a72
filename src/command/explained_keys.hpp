// The keys that --explain adds to an answer, of solve and predict alike.
#pragma once

#include "command/json_keys.hpp"
#include "sharpen/select/explain.hpp"

namespace sharpen::command {

// Of a name held: `Item` has a `reason`, null without --explain.
template <class Item>
Keys<Item> reason_keys(int part) {
  const auto of = [](auto member) {
    return [member](const Item& item) {
      return item.reason != nullptr ? Json(item.reason->*member) : absent();
    };
  };
  using select::Reason;
  return in_part<Item>(
      part,
      {{"mu", "expected return per period", of(&Reason::mu)},
       {"score",
        "what the name scores: \\|L⁻¹m\\| for `oscar`, \\|Σ^(−1/2)m\\| otherwise, scaled to length "
        "1 over all assets; m is μ, or μ − (B/A)·1 where the full problem has net position zero",
        of(&Reason::score)},
       {"score_rank", "rank of that score among all assets; 1 is the highest",
        of(&Reason::score_rank)},
       {"risk_contribution", "wᵢ(Σw)ᵢ/wᵀΣw; the contributions add up to 1",
        of(&Reason::risk_contribution)},
       {"sharpe_lost_if_removed",
        "`sharpe` minus what the other names reach when they are solved again",
        of(&Reason::sharpe_lost_if_removed)}});
}

// The best name left out: an object, null if none would add anything. `tickers(answer)`: the names
// of the assets.
template <class Answer, class Tickers>
Key<Answer> left_out_key(int part, Tickers tickers) {
  struct LeftOut {
    std::string asset;
    Index index;
    double sharpe_gain;
  };
  const Keys<LeftOut> keys = {
      {"asset", "ticker", &LeftOut::asset, part},
      {"index", "column", &LeftOut::index, part},
      {"sharpe_gain", "what `sharpe` would gain", &LeftOut::sharpe_gain, part}};
  return {"best_left_out", "the one name more that would add most; `null` if none would",
          [keys, tickers](const Answer& answer) {
            if (!answer.explanation) return absent();
            const auto& best = answer.explanation->best_left_out;
            if (!best) return Json(nullptr);
            return json_of(
                keys, LeftOut{tickers(answer)[at(best->asset)], best->asset, best->sharpe_gain});
          },
          part, listed(keys, "best_left_out.")};
}

}  // namespace sharpen::command
