// The answer of `sharpen inspect` on a terminal.
#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/command/table.hpp"

namespace sharpen::app {

namespace {

using learn::Model;

// "12 345 678" is easier to read than 12345678.
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, " ");
  return digits;
}

// "AAPL, MSFT, ..." in lines of at most this width.
std::string wrapped_tickers(const std::vector<std::string>& tickers) {
  constexpr std::size_t kWidth = 78;
  std::string out, line = " ";
  for (std::size_t i = 0; i < tickers.size(); ++i) {
    const std::string word = printable(tickers[i], 40) + (i + 1 < tickers.size() ? "," : "");
    if (display_width(line) + 1 + display_width(word) > kWidth && line != " ") {
      out += line + "\n";
      line = " ";
    }
    line += " " + word;
  }
  return out + line + "\n";
}

std::string members_table(const Model& model) {
  const auto number = [](double value) {
    return std::isfinite(value) ? fmt::format("{:.4g}", value) : std::string("-");
  };
  std::vector<std::vector<std::string>> rows;
  for (std::size_t m = 0; m < model.members.size(); ++m) {
    const learn::Member& member = model.members[m];
    rows.push_back({std::to_string(m + 1), std::to_string(member.epochs),
                    std::to_string(member.best_epoch), number(member.validation_loss),
                    number(member.validation_sharpe),
                    number(member.validation_sharpe * std::sqrt(model.periods_per_year))});
  }
  return command::render_table(
      {"member", "epochs", "best", "validation loss", "Sharpe", "annualised"}, rows);
}

}  // namespace

std::string inspect_text(const command::Inspection& inspection) {
  const auto& [path, file] = inspection;
  const Model& model = file.model;
  const auto line = [](std::string_view name, const std::string& text) {
    return fmt::format("{:<12} {}\n", name, text);
  };
  std::string out =
      fmt::format("{}: {} model of {} asset{}, {} member{}\n\n", printable(path, 4 * path.size()),
                  command::framework_of(model), model.n(), model.n() == 1 ? "" : "s",
                  model.members.size(), model.members.size() == 1 ? "" : "s");
  out += line("trained on", fmt::format("{} to {}, {} samples", printable(model.first_date),
                                        printable(model.last_date), model.samples));
  out += line("validation",
              model.validation_from.empty()
                  ? std::string("none")
                  : fmt::format("from {}, {} samples, which chose the epochs and flatters",
                                printable(model.validation_from), model.validation_samples));
  out += line("network", fmt::format("{}, {} parameters", learn::name(model.settings.network),
                                     grouped(command::parameters_of(model))));
  out += line("file", fmt::format("{} bytes, format {}, checksum {}, written by Sharpen {}",
                                  grouped(file.bytes), file.format_version, inspection.checksum(),
                                  printable(file.program_version)));
  out += "\n" + members_table(model) + "\nsettings\n";
  for (const auto& [name, value] : command::settings_of(model))
    out += fmt::format("  {:<18} {}\n", name, value);
  return out + "\ntickers\n" + wrapped_tickers(model.tickers);
}

}  // namespace sharpen::app
