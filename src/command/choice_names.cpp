// Choices as they are written on the command line and in JSON.
#include "sharpen/command/solve.hpp"

namespace sharpen::command {

std::string_view name(layer::Sizing sizing) {
  switch (sizing) {
    case layer::Sizing::budget: return "budget";
    case layer::Sizing::volatility: return "volatility";
    case layer::Sizing::gross: return "gross";
  }
  return "gross";
}

std::string_view name(layer::Net net) { return net == layer::Net::any ? "any" : "positive"; }

std::string_view name(risk::Form form) {
  switch (form) {
    case risk::Form::automatic: return "auto";
    case risk::Form::dense: return "dense";
    case risk::Form::low_rank: return "low-rank";
  }
  return "auto";
}

}  // namespace sharpen::command
