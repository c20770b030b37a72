#include "study/kept_files.hpp"

#include <filesystem>

#include "market/file_or_text.hpp"
#include "sharpen/market/decisions.hpp"
#include "sharpen/market/members.hpp"

namespace sharpen::study {

std::string kept_text(std::string_view setting, const std::string& text) {
  if (!settings::find_for(setting, settings::backtest)->is(settings::names_file)) return text;
  if (setting == "decisions") return market::decisions_text(text);
  std::error_code ignored;
  if (setting == "benchmark" && !std::filesystem::is_regular_file(text, ignored)) return text;
  // What is wrong with the file is said of the file.
  if (setting == "members") static_cast<void>(market::MemberBook(text));
  return market::contents(text, setting);
}

settings::Values with_market_files(settings::Values values) {
  for (const settings::Setting& setting : settings::table()) {
    const settings::Origin origin =
        setting.taken_by(settings::study) ? values.origin(setting.name) : settings::Origin::none;
    if (!setting.is(settings::names_file) ||
        (origin != settings::Origin::flag && origin != settings::Origin::file))
      continue;
    const std::string text = kept_text(setting.name, values.text(setting.name));
    const std::string line = values.file_line(setting.name);
    if (line.empty())
      values.set_flag(setting.name, text);
    else
      values.set_file(setting.name, text, line);
  }
  return values;
}

}  // namespace sharpen::study
