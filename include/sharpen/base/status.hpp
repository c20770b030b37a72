// What became of one instance of a batch. A batch never throws for one bad instance: every
// instance carries an Outcome.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sharpen/base/named.hpp"

namespace sharpen {

enum class Status : std::uint8_t {
  ok,             // solved, net long (t > 0), or `--net any`
  neutral_face,   // solved; the net position is zero (t = 0 in the final solve)
  no_signal,      // no direction exists: zero weights (cash), zero gradient
  not_converged,  // an iteration stopped before its tolerance; the result is what it had
  invalid_input,  // NaN or infinite signal, unusable risk: weights NaN, zero gradient
};

struct Outcome {
  Status status = Status::invalid_input;
  bool neutral_first = false;  // the first solve was on the t = 0 face
  double jitter = 0.0;         // added to the diagonal of Sigma before it could be factored

  bool jittered() const { return jitter > 0.0; }
  bool solved() const { return status == Status::ok || status == Status::neutral_face; }
  bool operator==(const Outcome&) const = default;
};

// The identifier used in JSON ("neutral_face"), and a sentence for people.
constexpr std::array<std::string_view, 5> names(Status) {
  return {"ok", "neutral_face", "no_signal", "not_converged", "invalid_input"};
}
constexpr std::string_view name(Status status) { return name_of(status); }
std::string_view describe(Status status);

}  // namespace sharpen
