// The page: the template with its places filled in.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "report/page_parts.hpp"
#include "report/table_builder.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/base/text.hpp"
#include "sharpen/report/report.hpp"
#include "study/reading.hpp"

namespace sharpen::report {

namespace {

using study::Results;

// {{name}} becomes the text of that name; what is put in is not looked at again.
std::string filled(std::string_view form, const std::map<std::string_view, std::string>& texts) {
  std::string out;
  while (!form.empty()) {
    const std::size_t open = form.find("{{");
    const std::size_t close = open == std::string_view::npos ? open : form.find("}}", open);
    if (close == std::string_view::npos) break;
    out += form.substr(0, open);
    const auto text = texts.find(form.substr(open + 2, close - open - 2));
    if (text == texts.end()) throw std::logic_error("the template has a place without a text");
    out += text->second;
    form.remove_prefix(close + 2);
  }
  return out.append(form);
}

// Nothing but our own inline style and scripts: a name that became markup could still do nothing.
std::string policy() {
  return fmt::format(
      "default-src 'none'; script-src {} {}; style-src {}; img-src data:; base-uri 'none'; "
      "form-action 'none'",
      policy_hash(dygraphs_script()), policy_hash(page_script()), policy_hash(page_style()));
}

std::string findings_html(const std::vector<std::string>& sentences) {
  std::string out;
  for (const std::string& sentence : sentences) out += "<p>" + html_escaped(sentence) + "</p>\n";
  return out;
}

std::string markets_html(const Results& results) {
  Table table{.name = "markets",
              .title = "Markets",
              .columns = {{.head = "market"},
                          {.head = "assets", .figure = "assets"},
                          {.head = "training from", .figure = "first_date"},
                          {.head = "training rows", .figure = "training_rows"},
                          {.head = "test from", .figure = "test_from"},
                          {.head = "to", .figure = "test_to"},
                          {.head = "test days", .figure = "test_days"},
                          {.head = "source", .figure = "source"},
                          {.head = "checksum", .figure = "checksum"},
                          {.head = "read with", .figure = "reading"}},
              .rows = {}};
  for (const study::Market& market : results.markets) {
    Row row;
    row.cells = {TableCell::of(market.name),
                 TableCell::count(static_cast<Index>(market.tickers.size())),
                 TableCell::of(market.first_date),
                 TableCell::count(market.training_rows),
                 TableCell::of(market.dates.empty() ? "–" : market.dates.front()),
                 TableCell::of(market.dates.empty() ? "–" : market.dates.back()),
                 TableCell::count(static_cast<Index>(market.dates.size())),
                 TableCell::of(market.source),
                 TableCell::of(market.checksum),
                 TableCell::of(study::reading_words(market.reading))};
    table.rows.push_back(std::move(row));
  }
  return table.rows.empty() ? std::string() : to_html(table);
}

std::string lines_html(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += html_escaped(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return out;
}

std::string methods_html(const Results& results) {
  std::string out;
  for (const study::Method& method : results.methods)
    if (!method.settings.empty())
      out += fmt::format("<details><summary>{}</summary>\n<pre tabindex=\"0\">{}</pre></details>\n",
                         html_escaped(method.label), lines_html(method.settings));
  return out;
}

std::string versions_html(const Results& results) {
  std::string out;
  for (const auto& [what, version] : results.versions)
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_escaped(what), html_escaped(version));
  return out;
}

constexpr std::array<std::uint32_t, 64> kRound = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

void compress(State& state, const unsigned char* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i)
    w[i] = static_cast<std::uint32_t>(block[4 * i]) << 24 |
           static_cast<std::uint32_t>(block[4 * i + 1]) << 16 |
           static_cast<std::uint32_t>(block[4 * i + 2]) << 8 | block[4 * i + 3];
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                             ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const std::uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const State add = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += add[i];
}

// What a report begins with, so that it is known for one.
constexpr std::string_view kFirstWords = "Sharpen report";

}  // namespace

std::string page(const Results& results, const Summary& summary, const std::vector<Table>& all) {
  std::string first, rest, links;
  for (const Table& table : all) {
    (&table == &all.front() ? first : rest) += to_html(table);
    if (&table != &all.front())
      links += fmt::format("<a href=\"#table-{}\">{}</a>\n", html_escaped(table.name),
                           html_escaped(table.name));
  }
  return filled(page_template(),
                {{"policy", policy()},
                 {"title", html_escaped(results.name.empty() ? "Study" : results.name)},
                 {"style", std::string(page_style())},
                 {"headline", html_escaped(headline(results, summary))},
                 {"findings", findings_html(findings(results, summary))},
                 {"first-table", first},
                 {"table-links", links},
                 {"tables", rest},
                 {"markets", markets_html(results)},
                 {"methods", methods_html(results)},
                 {"settings", lines_html(results.settings)},
                 {"versions", versions_html(results)},
                 {"data", page_data(results, summary)},
                 {"dygraphs", std::string(dygraphs_script())},
                 {"script", std::string(page_script())}});
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const auto byte = [&](std::size_t j) -> unsigned {
      return j < left ? static_cast<unsigned char>(bytes[i + j]) : 0u;
    };
    const unsigned group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += kLetters[group >> 18];
    out += kLetters[(group >> 12) & 63];
    out += left > 1 ? kLetters[(group >> 6) & 63] : '=';
    out += left > 2 ? kLetters[group & 63] : '=';
  }
  return out;
}

std::array<std::uint8_t, 32> sha256(std::string_view bytes) {
  State state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::string padded(bytes);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = 8 * static_cast<std::uint64_t>(bytes.size());
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
  for (std::size_t i = 0; i < padded.size(); i += 64)
    compress(state, reinterpret_cast<const unsigned char*>(padded.data()) + i);
  std::array<std::uint8_t, 32> out;
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  return out;
}

std::string policy_hash(std::string_view text) {
  const auto digest = sha256(text);
  return "'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
}

std::string script_safe(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (json[i] == '<') {
      out += "\\u003c";
    } else if (json[i] == '>') {
      out += "\\u003e";
    } else if (json[i] == '&') {
      out += "\\u0026";
    } else {
      out += json[i];
    }
  }
  return out;
}

Format format_of(std::string_view word) {
  if (word == "markdown") return Format::markdown;
  if (const auto format = value_named<Format>(word)) return *format;
  throw InputError(
      fmt::format("format = {} is not one of html, text, md, latex, csv", printable(word)));
}

bool is_report(std::string_view beginning) {
  if (beginning.starts_with("table,market,assets,k,k_given,")) return true;
  if (beginning.find("<meta name=\"generator\" content=\"Sharpen\">") != std::string_view::npos)
    return true;
  for (const std::string_view before : {"", "<!-- ", "% "})
    if (beginning.starts_with(before) && beginning.substr(before.size()).starts_with(kFirstWords))
      return true;
  return false;
}

std::string document(const Results& results, const Summary& summary, const std::vector<Table>& all,
                     Format format, bool whole) {
  if (format == Format::html) return page(results, summary, all);
  if (format == Format::csv) return to_csv(all);
  std::vector<std::string> sentences;
  if (whole) sentences = findings(results, summary);
  std::string out;
  if (format == Format::text) {
    out = fmt::format("{}: {}\n", kFirstWords, clean(results.name));
    if (whole) out += headline(results, summary) + "\n\n";
    for (const std::string& sentence : sentences) out += clean(sentence) + "\n";
    for (const Table& table : all) out += (whole ? "\n\n" : "\n") + to_text(table);
  } else if (format == Format::markdown) {
    out = fmt::format("<!-- {} -->\n\n## {}\n", kFirstWords, markdown_escaped(results.name));
    if (whole) out += "\n" + headline(results, summary) + ".\n";
    for (const std::string& sentence : sentences) out += "\n" + markdown_escaped(sentence) + "\n";
    for (const Table& table : all) out += "\n" + to_markdown(table);
  } else {
    out = fmt::format("% {}\n", kFirstWords) +
          "% \\usepackage[T1]{fontenc} \\usepackage{textcomp} \\usepackage{booktabs}\n"
          "% Names beyond Latin script need XeLaTeX or LuaLaTeX and a font that has them.\n";
    for (const Table& table : all) out += "\n" + to_latex(table);
  }
  return out;
}

}  // namespace sharpen::report
