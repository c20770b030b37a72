#include "inspect.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "json_text.hpp"
#include "model_settings.hpp"
#include "output.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "solve.hpp"
#include "table.hpp"

namespace sharpen::app {

namespace {

using learn::Model;
using learn::ModelFile;

// A model trained on predictions alone is prediction-focused.
std::string_view framework(const Model& model) {
  return model.settings.alpha == 0.0 ? "pfl" : "dfl";
}

std::string checksum_text(const ModelFile& file) { return fmt::format("{:08x}", file.checksum); }

std::size_t parameters(const Model& model) {
  return model.members.front().network.parameters.size();
}

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

std::string setting_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return shortest(value.get<double>());
  if (!value.is_array()) return value.dump();
  std::string out;
  for (const Json& item : value) out.append(out.empty() ? "" : ",").append(item.dump());
  return out.empty() ? "none" : out;
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
  return render_table({"member", "epochs", "best", "validation loss", "Sharpe", "annualised"},
                      rows);
}

}  // namespace

std::string inspection_json(const ModelFile& file, const std::string& path) {
  const Model& model = file.model;
  Json out;
  out["schema_version"] = kSchemaVersion;
  out["command"] = "inspect";
  out["model"] = path;
  out["format_version"] = file.format_version;
  out["program_version"] = file.program_version;
  out["bytes"] = file.bytes;
  out["checksum"] = checksum_text(file);
  out["framework"] = framework(model);
  out["n"] = model.n();
  out["k"] = model.settings.k.of(model.n(), "k");
  out["tickers"] = model.tickers;
  out["from"] = model.first_date;
  out["to"] = model.last_date;
  out["samples"] = model.samples;
  out["validation_samples"] = model.validation_samples;
  out["validation_from"] =
      model.validation_from.empty() ? Json(nullptr) : Json(model.validation_from);
  out["periods_per_year"] = model.periods_per_year;
  out["parameters"] = parameters(model);
  out["members"] = Json::array();
  for (const learn::Member& member : model.members)
    out["members"].push_back(member_json(model, member));
  out["settings"] = model_settings(model);
  out["warnings"] = Json::array();
  return json_text(out);
}

std::string inspection_text(const ModelFile& file, const std::string& path) {
  const Model& model = file.model;
  const auto line = [](std::string_view name, const std::string& text) {
    return fmt::format("{:<12} {}\n", name, text);
  };
  std::string out =
      fmt::format("{}: {} model of {} asset{}, {} member{}\n\n", printable(path, 4 * path.size()),
                  framework(model), model.n(), model.n() == 1 ? "" : "s", model.members.size(),
                  model.members.size() == 1 ? "" : "s");
  out += line("trained on", fmt::format("{} to {}, {} samples", printable(model.first_date),
                                        printable(model.last_date), model.samples));
  out += line("validation",
              model.validation_from.empty()
                  ? std::string("none")
                  : fmt::format("from {}, {} samples, which chose the epochs and flatters",
                                printable(model.validation_from), model.validation_samples));
  out += line("network", fmt::format("{}, {} parameters", learn::name(model.settings.network),
                                     grouped(parameters(model))));
  out += line("file", fmt::format("{} bytes, format {}, checksum {}, written by Sharpen {}",
                                  grouped(file.bytes), file.format_version, checksum_text(file),
                                  printable(file.program_version)));
  out += "\n" + members_table(model) + "\nsettings\n";
  const Json settings = model_settings(model);
  for (const auto& [name, value] : settings.items())
    out += fmt::format("  {:<18} {}\n", name, setting_text(value));
  return out + "\ntickers\n" + wrapped_tickers(model.tickers);
}

void inspect(const settings::Values& values) {
  if (values.flag("print-config")) return print(values.to_toml());
  if (!values.has("model")) throw InputError("no model given; write sharpen inspect model.sharpen");
  const std::string& path = values.text("model");
  const ModelFile file = learn::read_model_file(path);
  print(values.flag("json") ? inspection_json(file, path) : inspection_text(file, path));
}

}  // namespace sharpen::app
