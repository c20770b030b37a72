// A page in headless Chromium. A test adds a script to a copy of the page, which leaves what it has
// found in the document; Chromium prints the document when everything is still.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "report/page_parts.hpp"
#include "sharpen/report/report.hpp"
#include "support/files.hpp"
#include "support/study_results.hpp"

namespace sharpen::testing {

inline std::string page_of(const study::Results& results) {
  const report::Summary summary = report::summarize(results, {.replications = 50}, Threads(1));
  return report::page(results, summary, report::tables(results, summary));
}

inline bool has_chromium() { return std::system("command -v chromium >/dev/null 2>&1") == 0; }

// The page with a script at its end, which the page's own policy is told to allow.
inline std::string with_script(std::string page, const std::string& script) {
  const std::string allowed = "script-src ";
  page.insert(page.find(allowed) + allowed.size(), report::policy_hash(script) + " ");
  page.insert(page.rfind("</body>"), "<script>" + script + "</script>\n");
  return page;
}

struct Opened {
  std::string document;
  std::vector<std::string> console;  // what the page complained of
};

// No network: every name is unknown and every proxy dead.
// `width`: of a frame that the page is shown in, for windows narrower than Chromium has them; what
// the page finds is handed to the document around the frame.
inline Opened open_page(const std::string& page, const std::string& flags = "", int width = 0) {
  const Folder folder;
  std::string file = folder.file("page.html", page);
  if (width > 0)
    file = folder.file("frame.html",
                       "<!DOCTYPE html><body><iframe src=\"page.html\" height=\"900\" width=\"" +
                           std::to_string(width) +
                           "\" style=\"border:0\"></iframe><script>onmessage = (event) => {"
                           "const place = document.createElement('pre');"
                           "place.id = 'found'; place.textContent = event.data;"
                           "document.body.append(place); };</script></body>");
  const std::string command =
      "timeout 300 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars "
      "--disable-background-networking --disable-component-update --no-first-run "
      "--proxy-server=127.0.0.1:9 --virtual-time-budget=8000 --enable-logging=stderr --v=0 "
      "--user-data-dir='" +
      folder.path("profile") + "' " + flags + " --dump-dom 'file://" + file + "' >'" +
      folder.path("out") + "' 2>'" + folder.path("err") + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << text_of(folder.path("err"));
  Opened opened{.document = text_of(folder.path("out")), .console = {}};
  std::istringstream lines(text_of(folder.path("err")));
  for (std::string line; std::getline(lines, line);)
    if (line.find(":CONSOLE") != std::string::npos) opened.console.push_back(line);
  return opened;
}

// What the script found: it calls found({...}) once.
inline nlohmann::json found_in(const std::string& page, const std::string& script,
                               const std::string& flags = "", int width = 0) {
  const std::string reporting =
      "\"use strict\";\n"
      "const found = (result) => {\n"
      "  const place = document.createElement('pre');\n"
      "  place.id = 'found';\n"
      "  const packed = btoa(unescape(encodeURIComponent(JSON.stringify(result))));\n"
      "  if (parent !== window) return parent.postMessage(packed, '*');\n"
      "  place.textContent = packed;\n"
      "  document.body.append(place);\n"
      "};\n"
      "window.troubles = [];\n"
      "addEventListener('error', (event) => window.troubles.push(event.message));\n"
      "addEventListener('securitypolicyviolation', (event) => "
      "window.troubles.push(event.violatedDirective));\n"
      "try {\n" +
      script + "\n} catch (error) { found({ thrown: String(error) }); }\n";
  const Opened opened = open_page(with_script(page, reporting), flags, width);
  for (const std::string& line : opened.console) ADD_FAILURE() << line;
  const std::string open = "<pre id=\"found\">";
  const auto begin = opened.document.find(open);
  if (begin == std::string::npos) {
    ADD_FAILURE() << "the script left nothing:\n" << opened.document.substr(0, 400);
    return nullptr;
  }
  const auto end = opened.document.find("</pre>", begin);
  const std::string packed = opened.document.substr(begin + open.size(), end - begin - open.size());
  std::string text;
  unsigned bits = 0, count = 0;
  for (const char c : packed) {
    const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const auto value = letters.find(c);
    if (value == std::string::npos) break;
    bits = bits << 6 | static_cast<unsigned>(value);
    if ((count += 6) >= 8) {
      count -= 8;
      text += static_cast<char>(bits >> count & 255);
    }
  }
  nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
  EXPECT_FALSE(result.contains("thrown")) << result.dump();
  return result;
}

}  // namespace sharpen::testing
