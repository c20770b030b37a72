// What orders that continue a backtest take from its metrics.json: any bytes are settings that
// either can be written back and read again, or are refused by an InputError.
#include <cstdint>
#include <cstring>
#include <string_view>

#include "check.hpp"
#include "command/orders_settings.hpp"
#include "sharpen/base/error.hpp"

namespace sharpen::command {
namespace {

void check_continued(std::string_view metrics) {
  const FormerRun run = parse_former_run(metrics, "run");
  const settings::Values values(settings::backtest);
  const settings::Values followed = follow_run(values, run);
  const std::string written = followed.to_toml();
  settings::Values again(settings::backtest);
  again.read_toml(written, "again.toml");
  SHARPEN_FUZZ_CHECK(again.to_toml() == written);
  // Nothing was asked for otherwise.
  SHARPEN_FUZZ_CHECK(differences(values, run).empty());
}

}  // namespace
}  // namespace sharpen::command

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    sharpen::command::check_continued({reinterpret_cast<const char*>(data), size});
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
