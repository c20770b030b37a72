// The panel reader, cleaning, and the way back: any bytes give a panel that keeps its promises, or
// an InputError. The first byte chooses the kind, what cells may be, and how the panel is cleaned.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/market/cleaning.hpp"

namespace sharpen::market {
namespace {

void check_panel(const Panel& panel, Cells cells) {
  SHARPEN_FUZZ_CHECK(panel.n() >= 1 && panel.rows() >= 1);
  SHARPEN_FUZZ_CHECK(panel.values.size() == panel.dates.size() * panel.tickers.size());
  const std::set<std::string> distinct(panel.tickers.begin(), panel.tickers.end());
  SHARPEN_FUZZ_CHECK(distinct.size() == panel.tickers.size() && !distinct.contains(""));
  for (std::size_t t = 1; t < panel.dates.size(); ++t)
    SHARPEN_FUZZ_CHECK(panel.dates[t - 1] < panel.dates[t]);
  for (const double value : panel.values)
    SHARPEN_FUZZ_CHECK(std::isfinite(value) || (std::isnan(value) && cells == Cells::raw));
}

Panel written_and_read(const Panel& panel, PanelKind kind) {
  try {
    return parse_panel(panel_csv(panel), "again", kind, Cells::raw);
  } catch (const InputError&) {
    return {};  // and not the InputError that wrong bytes may give
  }
}

void check_way_back(const Panel& panel, PanelKind kind) {
  const Panel again = written_and_read(panel, kind);
  SHARPEN_FUZZ_CHECK(again.dates == panel.dates && again.tickers == panel.tickers);
  for (std::size_t i = 0; i < panel.values.size(); ++i)
    SHARPEN_FUZZ_CHECK(again.values[i] == panel.values[i] ||
                       (std::isnan(again.values[i]) && std::isnan(panel.values[i])));
}

void check_cleaning(const Panel& panel, const CleaningSettings& settings) {
  const Cleaned cleaned = clean(panel, settings);
  const Panel& out = cleaned.panel;
  SHARPEN_FUZZ_CHECK(out.values.size() == out.dates.size() * out.tickers.size());
  SHARPEN_FUZZ_CHECK(out.tickers.size() + cleaned.dropped.size() == panel.tickers.size());
  SHARPEN_FUZZ_CHECK(out.dates.size() + cleaned.dropped_days.size() == panel.dates.size());
  if (settings.universe == Universe::complete)
    for (const double value : out.values) SHARPEN_FUZZ_CHECK(!std::isnan(value));
  static_cast<void>(summary(cleaned, settings));
  if (out.rows() > 0) static_cast<void>(simple_returns(out, settings.kind));
}

}  // namespace
}  // namespace sharpen::market

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sharpen::market;
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto kind = static_cast<PanelKind>(choice % 3);
  const Cells cells = choice / 3 % 2 == 0 ? Cells::raw : Cells::complete;
  const CleaningSettings settings = {
      .kind = kind,
      .universe = choice / 6 % 2 == 0 ? Universe::complete : Universe::available,
      .max_gap = static_cast<sharpen::Index>(choice / 12 % 4),
      .on_suspect =
          choice / 48 % 6 == 5 ? SuspectRules() : static_cast<OnSuspect>(choice / 48 % 6)};
  try {
    const Panel panel = parse_panel(text, "fuzz.csv", kind, cells);
    check_panel(panel, cells);
    check_way_back(panel, kind);
    check_cleaning(panel, settings);
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
