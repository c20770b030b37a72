#include "sharpen/base/status.hpp"

namespace sharpen {

std::string_view describe(Status status) {
  switch (status) {
    case Status::ok: return "solved: the portfolio is net long";
    case Status::neutral_face:
      return "solved with net position zero: no net-long portfolio has a higher Sharpe ratio";
    case Status::no_signal:
      return "no portfolio of the names chosen has a positive Sharpe ratio under these "
             "constraints: all cash";
    case Status::not_converged: return "an iteration stopped before it reached its tolerance";
    case Status::invalid_input: return "the signal or the risk of this instance is not usable";
    case Status::infeasible:
      return "the limits cannot hold together: the portfolio breaks them by the least";
  }
  return "unknown status";
}

std::string_view describe(Note note) {
  switch (note) {
    case Note::none: return "nothing to be said besides";
    case Note::nothing_earns:
      return "no portfolio that the limits allow earns anything: the one of least risk";
    case Note::below_risk:
      return "the largest return that the limits allow has less risk than was aimed at";
    case Note::above_risk:
      return "the limits force more risk than was aimed at: the portfolio of least risk";
  }
  return "unknown note";
}

}  // namespace sharpen
