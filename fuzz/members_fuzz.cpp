// Files of members: any bytes say of every day and name who is a member, or give an InputError.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/market/members.hpp"

namespace sharpen::market {
namespace {

void check_members(const std::string& text) {
  static const std::array<std::string, 4> kDates = {"2015-03-23", "2015-03-24", "2015-04-01",
                                                    "2016-01-04"};
  static const std::array<std::string, 3> kTickers = {"AAA", "BBB", "IN"};
  static const std::array<std::string, 1> kKnown = {"CCC"};
  const MemberBook book(text + "\n");
  const std::vector<char> states = book.states(kDates, kTickers, kKnown);
  SHARPEN_FUZZ_CHECK(states.size() == (kDates.size() + 1) * kTickers.size());
  for (const std::string& warning : book.warnings(kDates, kTickers, kKnown, true))
    SHARPEN_FUZZ_CHECK(!warning.empty());
  // What is not known yet changes nothing: the same file about fewer days says the same of them.
  const std::vector<char> sooner = book.states({kDates.data(), 2}, kTickers, kKnown);
  SHARPEN_FUZZ_CHECK(std::equal(sooner.begin(), sooner.end(), states.begin()));
  book.check_first(kDates[1], {states.data() + 2 * kTickers.size(), kTickers.size()});
}

}  // namespace
}  // namespace sharpen::market

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    sharpen::market::check_members({reinterpret_cast<const char*>(data), size});
  } catch (const sharpen::InputError& error) {
    SHARPEN_FUZZ_CHECK(std::strlen(error.what()) > 0);
  }
  return 0;
}
