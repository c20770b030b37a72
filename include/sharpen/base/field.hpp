// The values of settings, and the fields of structs that they fill.
//
// A row of the table of settings names the field of every struct that holds it, field(&S::x).
// From its type come the kind of the setting and the names it may be, from its initial value the
// default; fill() writes values into it and check() compares it with the bounds of the row.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <variant>
#include <vector>

#include "sharpen/base/named.hpp"
#include "sharpen/base/view.hpp"

namespace sharpen::settings {

enum class Kind {
  of_field,        // what the type of its first field says
  flag,            // bool: on or off
  integer,         // std::int64_t
  real,            // double
  choice,          // std::string, one of Setting::choices
  text,            // std::string
  list,            // std::vector<std::string>: A,B,C
  count_or_share,  // CountOrShare: 20 or 10%
  count_or_all,    // CountOrAll: 100 or all
  number_or_file,  // NumberOrFile: 5 or costs.csv
};

struct CountOrShare {
  std::int64_t count = 0;  // if percent is 0
  double percent = 0.0;

  // The count among n: a share is rounded half away from zero, and is at least 1. Throws
  // InputError if a count is above n.
  Index of(Index n, std::string_view name) const;
  bool operator==(const CountOrShare&) const = default;
};

struct CountOrAll {
  std::int64_t count = 0;  // if not all
  bool all = false;

  bool operator==(const CountOrAll&) const = default;
};

struct NumberOrFile {
  double number = 0.0;  // if file is empty
  std::string file;

  bool operator==(const NumberOrFile&) const = default;
};

using Value = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>,
                           CountOrShare, CountOrAll, NumberOrFile>;

// The part of a value that a field cannot hold, and why; "": what its row says.
struct Misfit {
  std::string part;
  std::string why = {};
};

struct Field {
  const std::type_info* owner = nullptr;
  Kind kind = Kind::flag;
  std::vector<std::string_view> choices;  // of a choice
  // What it holds in a struct; nothing for an optional without value and for an empty text.
  std::function<std::optional<Value>(const void*)> get;
  std::function<void(void*, const Value&)> set;  // throws Misfit
  std::optional<Value> initial;                  // in a new struct
};

// How a type of field is read from a value and shown as one; the kinds of fields there are.
template <class T>
struct Held;

// A type that is one of Value's own.
template <class T, Kind which>
struct HeldAsIs {
  static constexpr Kind kind = which;
  static std::optional<Value> show(const T& held) { return held; }
  static void read(const Value& value, T& out) { out = std::get<T>(value); }
};
template <>
struct Held<bool> : HeldAsIs<bool, Kind::flag> {};
template <>
struct Held<double> : HeldAsIs<double, Kind::real> {};
template <>
struct Held<CountOrShare> : HeldAsIs<CountOrShare, Kind::count_or_share> {};
template <>
struct Held<CountOrAll> : HeldAsIs<CountOrAll, Kind::count_or_all> {};
template <>
struct Held<NumberOrFile> : HeldAsIs<NumberOrFile, Kind::number_or_file> {};

// A text or a list, of which an empty one is no value.
template <class T, Kind which>
struct HeldIfAny : HeldAsIs<T, which> {
  static std::optional<Value> show(const T& held) {
    return held.empty() ? std::nullopt : std::optional<Value>(held);
  }
};
template <>
struct Held<std::string> : HeldIfAny<std::string, Kind::text> {};
template <>
struct Held<std::vector<std::string>> : HeldIfAny<std::vector<std::string>, Kind::list> {};

// Also of a setting that may be all.
template <std::integral T>
struct Held<T> {
  static constexpr Kind kind = Kind::integer;
  static std::optional<Value> show(T held) { return static_cast<std::int64_t>(held); }
  static void read(const Value& value, T& out) {
    const auto* amount = std::get_if<CountOrAll>(&value);
    if (amount != nullptr && amount->all) throw Misfit{"all"};
    out = static_cast<T>(amount != nullptr ? amount->count : std::get<std::int64_t>(value));
  }
};

template <HasNames E>
requires std::is_enum_v<E>
struct Held<E> {
  static constexpr Kind kind = Kind::choice;
  static constexpr auto choices() { return names(E()); }
  static std::optional<Value> show(E held) { return std::string(name_of(held)); }
  static void read(const Value& value, E& out) {
    const std::string& text = std::get<std::string>(value);
    const std::optional<E> named = value_named<E>(text);
    if (!named) throw Misfit{text};
    out = *named;
  }
};

template <>
struct Held<std::vector<Index>> {
  static constexpr Kind kind = Kind::list;
  static std::optional<Value> show(const std::vector<Index>& held);
  static void read(const Value& value, std::vector<Index>& out);
};

template <class T>
struct Held<std::optional<T>> {
  static constexpr Kind kind = Held<T>::kind;
  static constexpr auto choices() requires requires { Held<T>::choices(); }
  { return Held<T>::choices(); }
  static std::optional<Value> show(const std::optional<T>& held) {
    return held ? Held<T>::show(*held) : std::nullopt;
  }
  static void read(const Value& value, std::optional<T>& out) {
    Held<T>::read(value, out.emplace());
  }
};

// field(&TrainSettings::alpha)
template <class Owner, class T>
Field field(T Owner::*member) {
  Field out;
  out.owner = &typeid(Owner);
  out.kind = Held<T>::kind;
  if constexpr (Held<T>::kind == Kind::choice && requires { Held<T>::choices(); })
    for (const std::string_view name : Held<T>::choices()) out.choices.push_back(name);
  out.get = [member](const void* owner) {
    return Held<T>::show(static_cast<const Owner*>(owner)->*member);
  };
  out.set = [member](void* owner, const Value& value) {
    Held<T>::read(value, static_cast<Owner*>(owner)->*member);
  };
  out.initial = out.get(std::make_unique<Owner>().get());
  return out;
}

// A bool that is a choice of two names: field(&S::monthly, "always", "monthly").
template <class Owner>
Field field(bool Owner::*member, std::string_view off, std::string_view on) {
  Field out;
  out.owner = &typeid(Owner);
  out.kind = Kind::choice;
  out.choices = {off, on};
  out.get = [=](const void* owner) -> std::optional<Value> {
    return std::string(static_cast<const Owner*>(owner)->*member ? on : off);
  };
  out.set = [=](void* owner, const Value& value) {
    const std::string& text = std::get<std::string>(value);
    if (text != on && text != off) throw Misfit{text};
    static_cast<Owner*>(owner)->*member = text == on;
  };
  out.initial = out.get(std::make_unique<Owner>().get());
  return out;
}

}  // namespace sharpen::settings
