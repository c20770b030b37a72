// A study in parts, at the front door: --shard, merge, and what report says of a part.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sharpen/study/store.hpp"
#include "support/program.hpp"

namespace sharpen {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::expect_refused;
using testing::Finished;
using testing::Folder;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;

const std::string kStudyInParts =
    "k = [2, 3]\nseeds = 2\nlookback = 15\nhidden = [4]\nepochs = 1\nbatch = 32\n"
    "[[market]]\nname = \"a\"\nsimulate = { assets = 5, days = 80, seed = 1 }\n"
    "[[market]]\nname = \"b\"\nsimulate = { assets = 6, days = 80, seed = 2 }\n"
    "[[method]]\nframework = \"pfl\"\noptimizer = \"oscar\"\n"
    "[[method]]\noptimizer = \"equal\"\n";

// The study in one piece and in two parts, in folders whose names are no trouble to a shell.
struct Pieces {
  Folder folder;
  std::string config = folder.file("s.toml", kStudyInParts);
  std::string whole = folder.path("one"), first = folder.path("p, 1"),
              second = folder.path("p \"2\"");

  Pieces() {
    run({}, whole);
    run({"--shard", "1/2"}, first);
    run({"--shard", "2/2"}, second);
  }
  void run(const std::vector<std::string>& more, const std::string& out) const {
    std::vector<std::string> line = {"study", config, "--threads", "1", "--out", out};
    line.insert(line.end(), more.begin(), more.end());
    const Finished done = run_program(line);
    EXPECT_EQ(done.exit_code, 0) << done.err;
  }
};

void expect_same_cells(const std::string& a, const std::string& b) {
  const study::Results first = study::read_store(a + "/study.db"),
                       second = study::read_store(b + "/study.db");
  ASSERT_EQ(first.cells.size(), second.cells.size());
  for (std::size_t i = 0; i < first.cells.size(); ++i) {
    EXPECT_EQ(first.cells[i].state, study::CellState::done);
    EXPECT_EQ(second.cells[i].state, study::CellState::done);
    EXPECT_EQ(first.cells[i].run.returns, second.cells[i].run.returns) << i;
  }
}

TEST(MergeCommand, PutsPartsTogether) {
  const Pieces pieces;
  const std::string out = pieces.folder.path("whole");
  const Finished run = run_program({"merge", pieces.second, pieces.first, "--out", out, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json answer = json::parse(run.out);
  EXPECT_EQ(answer["parts"], 2);
  EXPECT_EQ(answer["missing"], 0);
  EXPECT_EQ(answer["done"], answer["cells"]);
  EXPECT_EQ(answer["db"], out + "/study.db");
  expect_same_cells(out, pieces.whole);
  const Finished again = run_program({"study", pieces.config, "--out", out});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("nothing was left to do"));

  // A part that is missing, a study that is there, a part that is no part.
  const std::string other = pieces.folder.path("other");
  expect_refused({"merge", pieces.first, "--out", other},
                 AllOf(HasSubstr("part 2/2 of the study is missing"), HasSubstr("--partial")));
  EXPECT_FALSE(std::filesystem::exists(other));
  expect_refused({"merge", pieces.first, pieces.second, "--out", out},
                 HasSubstr("there is a study already"));
  expect_refused({"merge", pieces.folder.path("none"), "--out", other},
                 HasSubstr("there is no such part"));
  const Finished partial = run_program({"merge", pieces.first, "--partial", "--out", other});
  EXPECT_EQ(partial.exit_code, 0) << partial.err;
  pieces.run({}, other);
  expect_same_cells(other, pieces.whole);

  // Of a part a report says so; of the whole it does not.
  const auto report = [](const std::string& folder) {
    const Finished found = run_program({"report", folder, "--replications", "50", "--json"});
    EXPECT_EQ(found.exit_code, 0) << found.err;
    return std::pair(json::parse(found.out), found.err);
  };
  const auto [part, said] = report(pieces.first);
  EXPECT_THAT(part["warnings"], ElementsAre(HasSubstr("part 1 of 2 of a study")));
  EXPECT_THAT(part["findings"], Contains(HasSubstr("This is part 1 of 2 of a study")));
  EXPECT_THAT(said, HasSubstr("part 1 of 2"));
  const auto [all, nothing] = report(out);
  EXPECT_THAT(all["warnings"], ElementsAre());
  EXPECT_THAT(all["findings"], Not(Contains(HasSubstr("of a study"))));
  EXPECT_THAT(nothing, Not(HasSubstr("of a study")));
}

TEST(ShardCommand, TellsPartsApart) {
  const Pieces pieces;
  expect_refused({"study", pieces.config, "--shard", "2/2", "--out", pieces.first},
                 HasSubstr("holds part 1 of 2, and part 2 of 2 is asked for"));
  expect_refused({"study", pieces.config, "--out", pieces.first},
                 HasSubstr("holds part 1 of 2, and a whole study is asked for"));
  expect_refused({"study", pieces.config, "--shard", "3/2", "--out", pieces.first},
                 HasSubstr("write I/N, such as 3/100"));
  const auto cells = [&](const std::vector<std::string>& more) {
    std::vector<std::string> line = {"study",  pieces.config, "--dry-run",
                                     "--json", "--out",       pieces.folder.path("new")};
    line.insert(line.end(), more.begin(), more.end());
    return testing::answer_of(line)["cells"].get<int>();
  };
  EXPECT_EQ(cells({"--shard", "1/2"}) + cells({"--shard", "2/2"}), cells({}));
}

}  // namespace
}  // namespace sharpen
