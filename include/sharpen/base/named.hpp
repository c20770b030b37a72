// Enums whose values have names, as settings, files and answers write them: names(E()) beside the
// enum gives them, in the order of the values, which count from 0.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace sharpen {

template <class E>
concept HasNames = requires(E value) {
  std::string_view(names(value)[0]);
};

template <HasNames E>
constexpr std::string_view name_of(E value) {
  const auto all = names(value);
  const auto at = static_cast<std::size_t>(value);
  return at < all.size() ? all[at] : "unknown";
}

// Nothing for a text that is the name of none.
template <HasNames E>
constexpr std::optional<E> value_named(std::string_view text) {
  const auto all = names(E());
  for (std::size_t at = 0; at < all.size(); ++at)
    if (all[at] == text) return static_cast<E>(at);
  return std::nullopt;
}

}  // namespace sharpen
