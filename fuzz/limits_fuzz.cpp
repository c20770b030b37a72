// Files of limits, and rows by themselves: any bytes are rules that they write back as the same
// text, and that a panel either refuses or turns into limits in order; or an InputError.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/layer/limit_rules.hpp"

namespace {

using namespace sharpen::layer;

void bind_to_panel(const std::shared_ptr<const LimitRules>& rules) {
  const std::array<sharpen::Index, 2> columns = {2, 0};
  const LimitBook book(rules, {"A", "B", "C"}, {}, Net::positive, Objective::expected_return);
  const std::array<double, 2> betas = {1.0, 0.5};
  book.with_betas(columns, "2020-01-31", betas, {}).validate(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const RowRule row = parse_row(text);
    SHARPEN_FUZZ_CHECK(!row.terms.empty() && row.lower <= row.upper && row.text == text);
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  std::shared_ptr<const LimitRules> rules;
  try {
    // No file that a text names is there.
    rules = std::make_shared<const LimitRules>(read_limits(text, "/nonexistent/limits.toml"));
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
    return 0;
  }
  const std::string written = rules->to_toml();
  SHARPEN_FUZZ_CHECK(read_limits(written, "/nonexistent/again.toml").to_toml() == written);
  try {
    bind_to_panel(rules);
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
