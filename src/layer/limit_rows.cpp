// Rows as people write them:
//   row   = sum ("<=" | ">=" | "=" | "==") sum            names and numbers on both sides
//         | number "<=" sum "<=" number                   or both ways ">="
//   sum   = term {("+" | "-") term}
//   term  = factor {"*" factor} | number name             0.5 A is 0.5 * A
//   factor = number ["%"] | name | quoted name
#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/layer/limit_rules.hpp"

namespace sharpen::layer {

namespace {

enum class RowMark { end, number, name, plus, minus, times, at_most, at_least, equal };

struct RowToken {
  RowMark mark = RowMark::end;
  std::size_t from = 0, to = 0;  // its place in the text
  double number = 0.0;
  std::string name;
};

bool is_relation(RowMark mark) { return mark >= RowMark::at_most; }

constexpr std::string_view kRowBlanks = " \t\r\n";
// What ends a name that stands without quotes.
constexpr std::string_view kRowMarks = "<>=+-*%()[]{},;'\"";

bool is_digit_of_row(char c) { return c >= '0' && c <= '9'; }

bool in_name(char c) {
  return kRowMarks.find(c) == std::string_view::npos &&
         kRowBlanks.find(c) == std::string_view::npos && static_cast<unsigned char>(c) >= 0x20;
}

// A sum as it was written: what stands before each name, and numbers alone.
struct RowSum {
  std::map<std::string, double> factors;
  std::vector<std::string> order;
  double constant = 0.0;

  void add(const std::string& name, double factor) {
    const auto [term, fresh] = factors.try_emplace(name, 0.0);
    if (fresh) order.push_back(name);
    term->second += factor;
  }
  void subtract(const RowSum& other) {
    for (const std::string& name : other.order) add(name, -other.factors.at(name));
    constant -= other.constant;
  }
};

class RowParser {
 public:
  explicit RowParser(std::string_view text) : text_(text) { next(); }
  RowRule parse();

 private:
  [[noreturn]] void fail(std::size_t place, const std::string& what) const;
  void next();
  void read_number();
  void read_quoted();
  void read_name();
  std::size_t end_of_name(std::size_t end) const;
  bool take(std::string_view mark, RowMark meaning);

  RowSum sum();
  void term(double sign, RowSum& into);
  double bound(const RowSum& side, std::size_t place) const;
  void settle(RowSum middle, double low, double high, RowRule& rule) const;

  std::string_view text_;
  RowToken token_;
};

void RowParser::fail(std::size_t place, const std::string& what) const {
  throw InputError(fmt::format("row {}: {}, at character {}", shown(text_), what,
                               display_width(text_.substr(0, place)) + 1));
}

bool RowParser::take(std::string_view mark, RowMark meaning) {
  if (text_.substr(token_.from, mark.size()) != mark) return false;
  token_.mark = meaning;
  token_.to = token_.from + mark.size();
  return true;
}

void RowParser::next() {
  const std::size_t from = std::min(text_.find_first_not_of(kRowBlanks, token_.to), text_.size());
  token_ = {.mark = RowMark::end, .from = from, .to = from, .name = {}};
  if (from == text_.size()) return;
  const char c = text_[from];
  if (is_digit_of_row(c) || c == '.') return read_number();
  if (c == '\'' || c == '"') return read_quoted();
  if (take("<=", RowMark::at_most) || take(">=", RowMark::at_least) ||
      take("≤", RowMark::at_most) || take("≥", RowMark::at_least) || take("==", RowMark::equal) ||
      take("=<", RowMark::at_most) || take("=>", RowMark::at_least) || take("=", RowMark::equal) ||
      take("+", RowMark::plus) || take("-", RowMark::minus) || take("*", RowMark::times))
    return;
  if (c == '<' || c == '>')
    fail(from, fmt::format("a limit includes its end: write {0}= instead of {0}", c));
  if (c == '(' || c == ')') fail(from, "there are no brackets in a row: multiply it out");
  if (c == '/') fail(from, "there is no division in a row: write 0.5 * A instead of A / 2");
  if (!in_name(c))
    fail(from, fmt::format("{} has no meaning here: put a name that holds it in quotes, as in "
                           "'A,B' <= 0.1",
                           shown(text_.substr(from, 1))));
  read_name();
}

void RowParser::read_number() {
  const char* const first = text_.data() + token_.from;
  const char* const last = text_.data() + text_.size();
  const auto [stop, error] = fast_float::from_chars(first, last, token_.number);
  if (stop == first) fail(token_.from, "\".\" is neither a number nor a name");
  if (error != std::errc() || !std::isfinite(token_.number))
    fail(token_.from, "a number that is too large: give a limit in units of capital, 0.3 or 30%");
  token_.mark = RowMark::number;
  token_.to = static_cast<std::size_t>(stop - text_.data());
  if (const std::size_t end = end_of_name(token_.to); end > token_.to) {
    const std::string word = printable(text_.substr(token_.from, end - token_.from));
    fail(token_.from, fmt::format("{0} begins with a digit: if it is a name put it in quotes, "
                                  "'{0}', else a blank after the number",
                                  word));
  }
  const std::size_t after = text_.find_first_not_of(kRowBlanks, token_.to);
  if (after != std::string_view::npos && text_[after] == '%') {
    token_.number /= 100.0;
    token_.to = after + 1;
  }
}

// A quotation mark inside is written twice.
void RowParser::read_quoted() {
  const char quote = text_[token_.from];
  std::size_t i = token_.from + 1;
  for (; i < text_.size(); ++i) {
    if (text_[i] == quote) {
      if (i + 1 == text_.size() || text_[i + 1] != quote) break;
      ++i;
    }
    token_.name += text_[i];
  }
  if (i == text_.size()) fail(token_.from, "a name in quotes that is not closed: close it");
  if (!is_plain_text(token_.name) || token_.name.empty())
    fail(token_.from, "there is no name between the quotes: write it there in plain text");
  token_.mark = RowMark::name;
  token_.to = i + 1;
}

// Of what may be a name from there on.
std::size_t RowParser::end_of_name(std::size_t end) const {
  while (end < text_.size() && in_name(text_[end]) && text_.substr(end, 3) != "≤" &&
         text_.substr(end, 3) != "≥")
    ++end;
  return end;
}

void RowParser::read_name() {
  const std::size_t end = end_of_name(token_.from);
  token_.mark = RowMark::name;
  token_.to = end;
  token_.name = text_.substr(token_.from, end - token_.from);
  if (!is_plain_text(token_.name)) fail(token_.from, "a name that is not plain UTF-8 text");
}

void RowParser::term(double sign, RowSum& into) {
  double factor = sign;
  std::string name;
  bool named = false;
  for (bool more = true; more;) {
    const RowToken token = token_;
    if (token.mark == RowMark::number)
      factor *= token.number;
    else if (token.mark == RowMark::name && !named)
      name = token.name;
    else if (token.mark == RowMark::name)
      fail(token.from, "two names are multiplied: a row is a sum, as in 0.5 * A + B <= 0.3");
    else
      fail(token.from, "a number or a name is missing: write a row as in Energy <= 0.3");
    named = named || token.mark == RowMark::name;
    next();
    const bool beside = token.mark == RowMark::number && token_.mark == RowMark::name;
    more = token_.mark == RowMark::times || beside;
    if (token_.mark == RowMark::times) next();
  }
  if (!std::isfinite(factor)) fail(token_.from, "a product that is too large");
  if (named && factor == 0.0)
    fail(token_.from, fmt::format("{} has a factor of 0: leave it out", shown(name)));
  if (named)
    into.add(name, factor);
  else
    into.constant += factor;
}

RowSum RowParser::sum() {
  RowSum out;
  double sign = 1.0;
  for (bool first = true;; first = false) {
    if (!first) {
      if (token_.mark != RowMark::plus && token_.mark != RowMark::minus) return out;
      sign = token_.mark == RowMark::minus ? -1.0 : 1.0;
      next();
    }
    if (token_.mark == RowMark::plus || token_.mark == RowMark::minus) {
      if (token_.mark == RowMark::minus) sign = -sign;
      next();
    }
    term(sign, out);
  }
}

double RowParser::bound(const RowSum& side, std::size_t place) const {
  if (!side.order.empty())
    fail(place, "between two limits stands what they limit: write 0.1 <= A + B <= 0.4");
  return side.constant;
}

// low <= middle <= high, with the numbers moved out of the middle.
void RowParser::settle(RowSum middle, double low, double high, RowRule& rule) const {
  for (const std::string& name : middle.order)
    if (const double factor = middle.factors.at(name); factor != 0.0)
      rule.terms.push_back({factor, name});
  if (rule.terms.empty())
    fail(0, "it names nothing: name an asset, a group, a column of coefficients, net or beta");
  rule.lower = low - middle.constant + 0.0;
  rule.upper = high - middle.constant + 0.0;
  if (rule.lower > rule.upper)
    fail(0, fmt::format("it must lie between {} and {}, and nothing does: make the first the "
                        "smaller one",
                        shortest(rule.lower), shortest(rule.upper)));
  const auto usable = [](double x) {
    return !std::isnan(x) && (std::abs(x) < 1e300 || std::isinf(x));
  };
  for (const RowTerm& term : rule.terms)
    if (!(std::abs(term.factor) <= 1e70)) fail(0, "a factor that is too large");
  if (!usable(rule.lower) || !usable(rule.upper)) fail(0, "a limit that is too large");
}

RowRule RowParser::parse() {
  RowRule rule;
  rule.text = text_;
  if (token_.mark == RowMark::end) fail(0, "it is empty: write a row as in Energy <= 0.3");
  RowSum left = sum();
  const RowMark relation = token_.mark;
  if (!is_relation(relation))
    fail(token_.from, relation == RowMark::end
                          ? "it has no limit: write <=, >= or = and a number"
                          : "<=, >=, =, + or - is missing: put a name of several words in quotes");
  next();
  const std::size_t place = token_.from;
  RowSum middle = sum();
  if (token_.mark == RowMark::end) {
    left.subtract(middle);
    settle(std::move(left), relation == RowMark::at_most ? -kUnlimited : 0.0,
           relation == RowMark::at_least ? kUnlimited : 0.0, rule);
    return rule;
  }
  if (!is_relation(token_.mark))
    fail(token_.from, "<=, >=, =, + or - is missing: put a name of several words in quotes");
  if (token_.mark != relation || relation == RowMark::equal)
    fail(token_.from, "two limits must point the same way: write 0.1 <= A <= 0.4");
  next();
  const std::size_t last = token_.from;
  const RowSum right = sum();
  if (token_.mark != RowMark::end)
    fail(token_.from, "a row has at most two limits: write the others as rows of their own");
  if (middle.order.empty()) bound(left.order.empty() ? right : left, place);
  const double first = bound(left, 0), second = bound(right, last);
  const bool rising = relation == RowMark::at_most;
  settle(std::move(middle), rising ? first : second, rising ? second : first, rule);
  return rule;
}

}  // namespace

RowRule parse_row(std::string_view text) { return RowParser(text).parse(); }

}  // namespace sharpen::layer
