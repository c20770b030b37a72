// Bytes as a page holds them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace sharpen::report {

// RFC 4648, with padding.
std::string base64(std::string_view bytes);

// FIPS 180-4.
std::array<std::uint8_t, 32> sha256(std::string_view bytes);

// "'sha256-...'": how a Content-Security-Policy names an inline script or style.
std::string policy_hash(std::string_view text);

// JSON that may stand inside <script>: <, > and &, and the two line ends that JavaScript knows and
// JSON does not, are spelled as \uXXXX.
std::string script_safe(std::string_view json);

}  // namespace sharpen::report
