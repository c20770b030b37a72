#include <fmt/format.h>

#include <cmath>
#include <new>

#include "base/text_file.hpp"
#include "market/panel_rows.hpp"
#include "sharpen/base/new_file.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/market/panel.hpp"
#include "sharpen/market/panel_kind.hpp"

namespace sharpen::market {

namespace {

// Quoted where the reader would trim, split or unquote it.
std::string ticker_field(const std::string& ticker) {
  const bool plain = ticker.find_first_of(",;\" \t") == std::string::npos;
  if (plain) return ticker;
  std::string out = "\"";
  for (const char c : ticker) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

}  // namespace

Panel parse_panel(std::string_view text, std::string_view name, PanelKind kind, Cells cells) {
  try {
    CsvCursor cursor(text, name);
    PanelHeader header = parse_panel_header(cursor);
    if (cursor.finished())
      fail_at({name}, "has a header but no rows; one row per period is expected");
    Panel panel = header.long_layout ? parse_long_rows(cursor, header, kind, cells)
                                     : parse_wide_rows(cursor, std::move(header), kind, cells);
    check_kind(panel.values, kind, name);
    return panel;
  } catch (const std::bad_alloc&) {
    fail_at({name}, "does not fit into memory; split the file by dates or tickers");
  }
}

Panel read_panel(const std::filesystem::path& file, PanelKind kind, Cells cells) {
  const TextFile content(file);
  return parse_panel(content.text(), file.string(), kind, cells);
}

std::string panel_csv(const Panel& panel) {
  std::string out = is_ambiguous_header(panel.tickers) ? "period" : "date";
  for (const std::string& ticker : panel.tickers) out += "," + ticker_field(ticker);
  out += "\n";
  for (Index t = 0; t < panel.rows(); ++t) {
    out += panel.dates[static_cast<std::size_t>(t)];
    for (const double value : panel.matrix().row(t)) {
      out += ',';
      if (!std::isnan(value)) fmt::format_to(std::back_inserter(out), "{}", value);
    }
    out += "\n";
  }
  return out;
}

void write_panel(const Panel& panel, const std::filesystem::path& file) {
  if (file.extension() == ".gz")  // the reader would try to unpack it
    fail_at({file.string()},
            "the panel is written as plain CSV; give a name that does not end in .gz");
  write_file(file, panel_csv(panel));
}

}  // namespace sharpen::market
