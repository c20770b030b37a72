// The answers of `sharpen study --json`.
#include "command/json_keys.hpp"
#include "sharpen/command/study.hpp"

namespace sharpen::command {

namespace {

using Answer = StudyAnswer;
using Action = StudyAnswer::Action;

std::string_view name(Action action) {
  switch (action) {
    case Action::dry_run: return "dry-run";
    case Action::list: return "list";
    case Action::config:
    case Action::run: break;
  }
  return "run";
}

// A value that only some actions have.
template <class Value>
auto only_of(std::initializer_list<Action> actions, Value value) {
  return [actions = std::vector<Action>(actions), value](const Answer& answer) {
    for (const Action action : actions)
      if (answer.action == action) return Json(std::invoke(value, answer));
    return absent();
  };
}

struct ListedCell {
  const study::Results* results;
  const study::Cell* cell;

  const study::Method& method() const {
    return results->methods[static_cast<std::size_t>(cell->method)];
  }
};

Keys<ListedCell> cell_keys() {
  using study::CellState;
  return {
      {"market", "names",
       [](auto& c) { return c.results->markets[static_cast<std::size_t>(c.cell->market)].name; }},
      {"method", "", [](auto& c) { return c.method().name; }},
      {"framework", "of the method", [](auto& c) { return c.method().framework; }},
      {"optimizer", "", [](auto& c) { return c.method().optimizer; }},
      {"k_given", "as it was given (`10%`), and in names", [](auto& c) { return c.cell->k_given; }},
      {"k", "", [](auto& c) { return c.cell->k; }},
      {"seed", "`null` where nothing is random",
       [](auto& c) { return value_or_null(c.cell->seed); }},
      {"state", "`done`, `failed` or `missing`", [](auto& c) { return state_name(c.cell->state); }},
      {"reason", "of failed cells",
       [](auto& c) {
         return c.cell->state == CellState::failed ? Json(c.cell->reason) : absent();
       }},
      {"seconds", "of done and failed cells: of its own work, without the training",
       [](auto& c) {
         return c.cell->state != CellState::missing ? Json(c.cell->seconds) : absent();
       }},
  };
}

Json cells_json(const Answer& answer, bool failed_only) {
  static const Keys<ListedCell> keys = cell_keys();
  Json out = Json::array();
  for (const study::Cell& cell : answer.results.cells)
    if (!failed_only || cell.state == study::CellState::failed)
      out.push_back(json_of(keys, ListedCell{&answer.results, &cell}));
  return out;
}

Keys<Answer> study_keys() {
  Keys<Answer> keys = head<Answer>("study", "`study`");
  append<Answer>(
      keys,
      {{"action", "`run`, `dry-run` or `list`", [](auto& a) { return name(a.action); }},
       {"db", "the study's file", [](auto& a) { return a.file.string(); }},
       {"name", "of `run` and `list`: the preset, or the file that describes the study",
        only_of({Action::run, Action::list}, [](auto& a) { return a.results.name; })},
       {"cells", "cells of the study", [](auto& a) { return a.counts().cells; }},
       {"done", "how many of them are", [](auto& a) { return a.counts().done; }},
       {"failed", "", [](auto& a) { return a.counts().failed; }},
       {"missing", "", [](auto& a) { return a.counts().missing; }},
       {"computed", "of `run`: cells that this run has done or seen fail",
        only_of({Action::run}, [](auto& a) { return a.tally.computed; })},
       {"trainings", "of `run`: trainings of this run; of `dry-run`: trainings to do",
        only_of({Action::run, Action::dry_run},
                [](auto& a) {
                  return a.action == Action::run ? a.tally.trained : a.estimate.trainings;
                })},
       {"interrupted", "of `run`: whether it was stopped before its end",
        only_of({Action::run}, [](auto& a) { return a.tally.interrupted; })},
       {"seconds", "of `run`: what it took",
        only_of({Action::run}, [](auto& a) { return a.tally.seconds; })},
       {"failures", "of `run`: the failed cells, as in `list`",
        only_of({Action::run}, [](auto& a) { return cells_json(a, true); })},
       {"minutes", "of `dry-run`: what is left would take about so much",
        only_of({Action::dry_run}, [](auto& a) { return a.estimate.minutes; })},
       {"gigabytes", "", only_of({Action::dry_run}, [](auto& a) { return a.estimate.gigabytes; })},
       {"threads", "of `dry-run`: on so many threads",
        only_of({Action::dry_run}, &Answer::threads)},
       {"warnings",
        "of `run` and `dry-run`: texts on settings and markets; empty if there is nothing to say",
        only_of({Action::run, Action::dry_run}, &Answer::warnings)},
       {"list", "of `list`: the cells",
        only_of({Action::list}, [](auto& a) { return cells_json(a, false); }), 0,
        listed(cell_keys(), "list[].")}});
  return keys;
}

}  // namespace

std::string study_json(const StudyAnswer& answer) {
  static const Keys<Answer> keys = study_keys();
  return json_text(json_of(keys, answer));
}

Section study_section() { return {"study", {""}, listed(study_keys())}; }

}  // namespace sharpen::command
