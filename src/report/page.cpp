// The page: the template with its places filled in.
#include <fmt/format.h>

#include <map>

#include "report/page_parts.hpp"
#include "report/table_builder.hpp"
#include "report/table_writers.hpp"
#include "sharpen/report/report.hpp"

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
                          {.head = "checksum", .figure = "checksum"}},
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
                 TableCell::of(market.checksum)};
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

}  // namespace sharpen::report
