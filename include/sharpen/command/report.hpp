// sharpen report: the tables and the page of a study.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sharpen/base/control.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/report/report.hpp"
#include "sharpen/study/results.hpp"
#include "sharpen/study/store.hpp"

namespace sharpen::command {

// A study that was read, and what its cells come to.
struct ReadStudy {
  std::string file;
  study::Results results;
  report::Summary summary;
};

// The answer, ready to be shown.
struct ReportAnswer {
  std::shared_ptr<const ReadStudy> study;
  report::Format format = report::Format::text;
  std::string out = {};   // the file written; "": none
  std::string text = {};  // of the report
  std::vector<std::string> findings = {};
  std::vector<report::Table> tables = {};
};

// Writes the report where --out says; a page without --out beside the study. Throws InputError and
// Interrupted.
ReportAnswer report_answer(const settings::Values& values, const Control& control,
                           const Log& log = {});

// Its steps, for callers that keep the study and ask it again.
std::shared_ptr<const ReadStudy> read_study(const settings::Values& values, const std::string& file,
                                            study::Detail detail, const Control& control,
                                            const Log& log = {});
// `names`: the tables that are wanted, empty for all. Throws InputError for a name that is none,
// and for some tables of a page.
ReportAnswer report_of(std::shared_ptr<const ReadStudy> study, report::Format format,
                       std::span<const std::string> names);
// By the ending of a file; text for "".
report::Format format_of_file(const std::filesystem::path& out);
// A report may take the place of a report; of anything else only by force. Throws InputError.
void check_report_file(const std::filesystem::path& out, const std::filesystem::path& study,
                       bool force);

std::string report_json(const ReportAnswer& answer);

}  // namespace sharpen::command
