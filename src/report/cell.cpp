#include <fmt/format.h>

#include <cmath>

#include "sharpen/report/table.hpp"

namespace sharpen::report {

namespace {

constexpr std::string_view kNothing = "–";

}  // namespace

Cell Cell::of(std::string text) {
  Cell cell;
  cell.kind = Kind::text;
  cell.text = std::move(text);
  return cell;
}

Cell Cell::number(double value, int digits) {
  Cell cell;
  cell.kind = Kind::number;
  cell.value = value;
  cell.digits = digits;
  return cell;
}

std::string number_text(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kNothing);
  constexpr double kLongest = 1e6;  // beyond it digits are noise that widens the column
  if (std::abs(value) >= kLongest && digits > 0) return fmt::format("{:.{}e}", value, 2);
  std::string text = fmt::format("{:.{}f}", value, digits);
  // A loss too small to show is no loss: "-0.000" reads like one.
  if (text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')) text.erase(0, 1);
  return text;
}

std::string plain_text(const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::none: return {};
    case Cell::Kind::text: return cell.text;
    case Cell::Kind::number: return number_text(cell.value, cell.digits);
    case Cell::Kind::estimate: break;
  }
  if (!std::isfinite(cell.value) || !std::isfinite(cell.sd))
    return number_text(cell.value, cell.digits);
  return number_text(cell.value, cell.digits) + " ± " + number_text(cell.sd, cell.digits);
}

}  // namespace sharpen::report
