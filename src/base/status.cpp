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
  }
  return "unknown status";
}

}  // namespace sharpen
