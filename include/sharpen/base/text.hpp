// Text for people: near misses of a name, text that is safe to print, and numbers in the fewest
// digits that read back to the same double.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sharpen/base/view.hpp"

namespace sharpen {

// Edits (insert, delete, replace, swap two neighbours) that turn one word into the other;
// letters count as equal whatever their case.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate closest to `word`, or "" if none is near enough to be what was meant. The first
// of equally near ones.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// "; did you mean X?" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

// `text` with control characters and broken UTF-8 written as \xNN, at most `width` characters
// (code points) long: data must not steer the terminal it is shown on.
std::string printable(std::string_view text, std::size_t width = 60);

// JSON with DEL, the C1 controls and marks that steer the layout as \uNNNN: the same JSON, safe to
// print. Writers of JSON escape the other control characters themselves.
std::string json_escaped(std::string_view json);

// Text from a file, printable and at most 40 characters long; shown() puts it in double quotes.
std::string shortened(std::string_view text);
std::string shown(std::string_view text);
// A file name, printable and whole.
std::string shown_file(std::string_view file);

// Whether the text is well-formed UTF-8 without control characters.
bool is_plain_text(std::string_view text);

// Whether the text is one of the words, which are in lower case, whatever the case of its letters.
bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words);

// "1 field", "3 fields".
std::string counted(Index count, std::string_view noun);

bool is_utf8(std::string_view text);

// Characters (code points) of UTF-8 text.
std::size_t display_width(std::string_view text);

// Text in columns, for terminals. The first column is set left, the others right; rows as wide as
// the header. Every line starts with two spaces.
std::string render_table(const std::vector<std::string>& header,
                         const std::vector<std::vector<std::string>>& rows);

// The shortest decimal that reads back to the same double: "0.1", "1e-300", "nan", "inf".
std::string shortest(double value);

// Four decimals at most, of a number below 0.1 four digits: "13.025", "5", "0.001235".
std::string few_decimals(double value);

}  // namespace sharpen
