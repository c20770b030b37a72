// An answer in JSON, described once: a table of keys says what each is called, what it means and
// how it is got. The JSON and docs/json.md both walk that table.
#pragma once

#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sharpen/base/text.hpp"

namespace sharpen::command {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;

// Numbers read back to the same double; NaN and infinities become null; text that is not UTF-8
// has its broken bytes replaced, and no control character is written as it is.
inline std::string json_text(const Json& value) {
  return json_escaped(value.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

// The value of a key that this answer does not have; null is a value.
inline Json absent() { return Json(Json::value_t::discarded); }
template <class Optional>
Json value_or_absent(const Optional& value) {
  return value ? Json(*value) : absent();
}
template <class Optional>
Json value_or_null(const Optional& value) {
  return value ? Json(*value) : Json(nullptr);
}
inline Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}
// Of pairs of name and value; {} if there are none.
template <class Pairs>
Json object_of(const Pairs& pairs) {
  Json out = Json::object();
  for (const auto& [name, value] : pairs) out[std::string(name)] = value;
  return out;
}

// The part of a section that a key is listed in. Those that no table lists are named in its text,
// or by the keys inside them.
constexpr int kNoTable = -1;

// A key for the page: "holdings[].weight".
struct ListedKey {
  std::string name;
  std::string meaning;
  int part = 0;
};

template <class Answer>
struct Key {
  using Value = std::function<Json(const Answer&)>;
  Key(std::string_view key_name, std::string_view key_meaning, Value key_value, int key_part = 0,
      std::vector<ListedKey> keys_inside = {})
      : name(key_name),
        meaning(key_meaning),
        value(std::move(key_value)),
        part(key_part),
        inside(std::move(keys_inside)) {}

  std::string_view name;
  // Markdown. "": it is in the row of the key before; "@other": in the row of that one.
  std::string meaning;
  Value value;  // absent(): this answer does not have the key
  int part;
  std::vector<ListedKey> inside;  // of an object or a list of them
};

template <class Answer>
using Keys = std::vector<Key<Answer>>;

template <class Answer>
Json json_of(const Keys<Answer>& keys, const Answer& answer) {
  Json out = Json::object();
  for (const Key<Answer>& key : keys)
    if (Json value = key.value(answer); !value.is_discarded())
      out[std::string(key.name)] = std::move(value);
  return out;
}

template <class Answer>
std::vector<ListedKey> listed(const Keys<Answer>& keys, const std::string& prefix = "") {
  std::vector<ListedKey> out;
  for (const Key<Answer>& key : keys) {
    out.push_back({prefix + std::string(key.name), key.meaning, key.part});
    for (const ListedKey& inner : key.inside)
      out.push_back({prefix + inner.name, inner.meaning, inner.part});
  }
  return out;
}

// The keys in another part of the section.
template <class Answer>
Keys<Answer> in_part(int part, Keys<Answer> keys) {
  for (Key<Answer>& key : keys) {
    key.part = part;
    for (ListedKey& inner : key.inside) inner.part = part;
  }
  return keys;
}

template <class Answer>
void append(Keys<Answer>& keys, Keys<Answer> more) {
  for (Key<Answer>& key : more) keys.push_back(std::move(key));
}

// A key whose value is an object of keys that ask the same answer.
template <class Answer>
Key<Answer> group(std::string_view name, std::string_view meaning, const Keys<Answer>& keys,
                  int part = 0, const std::function<bool(const Answer&)>& there = {}) {
  return {name, meaning,
          [keys, there](const Answer& answer) {
            return !there || there(answer) ? json_of(keys, answer) : absent();
          },
          part, listed(keys, std::string(name) + ".")};
}

// A key whose value is a list of objects: `items(answer)` is the vector of what each is made of.
template <class Answer, class Item, class Items>
Key<Answer> list(std::string_view name, std::string_view meaning, const Keys<Item>& keys,
                 Items items, int part = 0) {
  return {name, meaning,
          [keys, items](const Answer& answer) {
            Json out = Json::array();
            for (const Item& item : std::invoke(items, answer)) out.push_back(json_of(keys, item));
            return out;
          },
          part, listed(keys, std::string(name) + "[].")};
}

// The answer as text, by the keys that `keys_of()` gives.
template <auto keys_of, class Answer>
std::string json_text(const Answer& answer) {
  static const Keys<Answer> keys = keys_of();
  return json_text(json_of(keys, answer));
}

constexpr std::string_view kLeftOutMeaning =
    "how many more there are of each rule with more than 1,000 findings, of which `findings` has "
    "the first 1,000; `{}` if it has all";
constexpr std::string_view kWarningsMeaning = "texts; empty if there is nothing to say";

// What every answer begins with, and the keys that follow.
template <class Answer>
Keys<Answer> answer_keys(std::string_view command, std::string_view quoted,
                         std::initializer_list<Keys<Answer>> parts) {
  Keys<Answer> keys = {{"schema_version", "1", [](const Answer&) { return kSchemaVersion; }},
                       {"command", quoted, [command](const Answer&) { return command; }}};
  for (const Keys<Answer>& part : parts) append(keys, part);
  return keys;
}

// A chapter of docs/json.md. texts[p]: what is said before the table of part p.
struct Section {
  std::string_view command;
  std::vector<std::string_view> texts;
  std::vector<ListedKey> keys;
};

Section solve_section();
Section doctor_section();
Section simulate_section();
Section backtest_section();
Section study_section();
Section merge_section();
Section compare_section();
Section train_section();
Section predict_section();
Section orders_section();
Section inspect_section();
Section report_section();
Section version_section();

}  // namespace sharpen::command
