// Enums whose values have names, as settings, files and answers write them: one array per enum,
// which names(E()) beside the enum gives.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace sharpen {

template <class E>
struct Named {
  E value;
  std::string_view name;
};

template <class E>
concept HasNames = requires(E value) {
  std::span<const Named<E>>(names(value));
};

template <HasNames E>
constexpr std::string_view name_of(E value) {
  for (const Named<E>& each : names(value))
    if (each.value == value) return each.name;
  return "unknown";
}

// Nothing for a text that is the name of none.
template <HasNames E>
constexpr std::optional<E> value_named(std::string_view text) {
  for (const Named<E>& each : names(E()))
    if (each.name == text) return each.value;
  return std::nullopt;
}

}  // namespace sharpen
