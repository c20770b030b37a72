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
  infeasible,     // the limits cannot hold together: weights of least violation, zero gradient
};

// What may be said of a portfolio under limits besides.
enum class Note : std::uint8_t {
  none,
  nothing_earns,  // no portfolio earns anything: the one of least risk, zero gradient
  below_risk,     // the largest return has less risk than was aimed at
  above_risk,     // the limits force more risk than was aimed at: the least
};
constexpr std::array<std::string_view, 4> names(Note) {
  return {"none", "nothing_earns", "below_risk", "above_risk"};
}

struct Outcome {
  Status status = Status::invalid_input;
  bool neutral_first = false;  // the first solve was on the t = 0 face
  double jitter = 0.0;         // added to the diagonal of Sigma before it could be factored
  Note note = Note::none;
  double violation = 0.0;  // infeasible: the least by which every limit has to give way

  bool jittered() const { return jitter > 0.0; }
  bool solved() const { return status == Status::ok || status == Status::neutral_face; }
  bool operator==(const Outcome&) const = default;
};

// The identifier used in JSON ("neutral_face"), and a sentence for people.
constexpr std::array<std::string_view, 6> names(Status) {
  return {"ok", "neutral_face", "no_signal", "not_converged", "invalid_input", "infeasible"};
}
constexpr std::string_view name(Status status) { return name_of(status); }
std::string_view describe(Status status);
std::string_view describe(Note note);

}  // namespace sharpen
