#include "sharpen/base/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "sharpen/base/error.hpp"

namespace sharpen::settings {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "(no error)";
}

std::string parse_error(std::string_view name, std::string_view text) {
  return error_of([&] { parse(find(name), text); });
}

std::string file_error(std::string_view text) {
  return error_of([&] { Values(solve).read_toml(text, "my.toml"); });
}

TEST(SettingsTable, HasOneRowPerNameAndCommandAndDefaultsThatParse) {
  std::map<std::string_view, unsigned> commands;
  for (const Setting& setting : table()) {
    EXPECT_EQ(commands[setting.name] & setting.commands, 0u) << setting.name;
    commands[setting.name] |= setting.commands;
    EXPECT_FALSE(setting.text.empty()) << setting.name;
    EXPECT_FALSE(setting.text.ends_with('.')) << setting.name;
    EXPECT_EQ(setting.kind == Kind::choice, !setting.all_choices().empty()) << setting.name;
    EXPECT_EQ(setting.kind == Kind::flag, setting.placeholder.empty()) << setting.name;
    if (setting.preset.empty()) continue;
    EXPECT_EQ(write(setting, parse(setting, setting.preset)), setting.preset) << setting.name;
  }
}

TEST(SettingsTable, HasTheDefaultsOfTheDesign) {
  const Values values(solve);
  EXPECT_EQ(values.count_or_share("k"), (CountOrShare{.percent = 10}));
  EXPECT_EQ(values.text("optimizer"), "swap");
  EXPECT_EQ(values.count_or_all("lookback"), (CountOrAll{.count = 100}));
  EXPECT_FALSE(values.has("shrinkage"));  // 0.10 from windows, 0 from given moments
  EXPECT_EQ(values.text("sizing"), "gross");
  EXPECT_EQ(values.real("offset"), 0.01);
  EXPECT_EQ(values.real("target-volatility"), 0.10);
  EXPECT_EQ(values.text("net"), "positive");
  EXPECT_EQ(values.text("form"), "auto");
  EXPECT_EQ(values.real("periods-per-year"), 252);
  EXPECT_EQ(values.integer("threads"), 0);
  EXPECT_FALSE(values.flag("json"));
}

TEST(SettingsCheck, NamesFieldValueAndBound) {
  EXPECT_EQ(error_of([] { check("shrinkage", 1.5); }), "shrinkage = 1.5 is outside [0, 1]");
  EXPECT_EQ(error_of([] { check("shrinkage", NAN); }), "shrinkage = nan is outside [0, 1]");
  EXPECT_EQ(error_of([] { check("offset", 0); }), "offset = 0 is outside (0, inf)");
  EXPECT_EQ(error_of([] { check("offset", INFINITY); }), "offset = inf is outside (0, inf)");
  EXPECT_EQ(error_of([] { check_count("k", 7, 5); }), "k = 7 is outside [1, 5]");
  EXPECT_EQ(error_of([] { check_count("k", 0, 5); }), "k = 0 is outside [1, 5]");
  EXPECT_NO_THROW(check("shrinkage", 0));
  EXPECT_NO_THROW(check("shrinkage", 1));
  EXPECT_NO_THROW(check("offset", 5e-324));
  EXPECT_NO_THROW(check_count("k", 5, 5));
  EXPECT_THROW(check("no-such-setting", 1), std::logic_error);
}

TEST(SettingsParse, RefusesNumbersOutOfBoundsAndOtherText) {
  EXPECT_EQ(parse_error("shrinkage", "1.5"), "shrinkage = 1.5 is outside [0, 1]");
  EXPECT_EQ(parse_error("shrinkage", "-1e-9"), "shrinkage = -1e-9 is outside [0, 1]");
  EXPECT_EQ(parse_error("shrinkage", "nan"), "shrinkage = nan is outside [0, 1]");
  for (std::string_view text : {"", " ", "x", "0.1x", "0,1", "0.1 ", "+0.1", "1e999", "0x1"})
    EXPECT_THAT(parse_error("shrinkage", text), HasSubstr("is not a number")) << text;
  EXPECT_EQ(parse_error("threads", "2.5"), "threads = 2.5 is not a whole number");
  EXPECT_EQ(parse_error("threads", "1025"), "threads = 1025 is outside [0, 1024]");
  EXPECT_EQ(parse_error("threads", "99999999999999999999"),
            "threads = 99999999999999999999 is outside [0, 1024]");
}

TEST(SettingsParse, KReadsCountsAndShares) {
  EXPECT_EQ(std::get<CountOrShare>(parse(find("k"), "5")), (CountOrShare{.count = 5}));
  EXPECT_EQ(std::get<CountOrShare>(parse(find("k"), "12.5%")), (CountOrShare{.percent = 12.5}));
  EXPECT_EQ(parse_error("k", "0"), "k = 0 is outside [1, n]");
  EXPECT_EQ(parse_error("k", "-3"), "k = -3 is outside [1, n]");
  EXPECT_EQ(parse_error("k", "99999999999999999999"), "k = 99999999999999999999 is outside [1, n]");
  for (std::string_view text : {"0%", "-5%", "100.1%", "nan%", "inf%"})
    EXPECT_EQ(parse_error("k", text), "k = " + std::string(text) + " is outside (0%, 100%]");
  for (std::string_view text : {"0.1", "5.0", "ten", "%", "1e1", "5 %%", ""})
    EXPECT_THAT(parse_error("k", text),
                HasSubstr("is neither a whole number such as 20 nor a share such as 10%"))
        << text;
}

TEST(CountOrShare, RoundsASharesHalfAwayFromZeroAndToAtLeastOne) {
  const auto of = [](double percent, Index n) {
    return CountOrShare{.percent = percent}.of(n, "k");
  };
  EXPECT_EQ(of(10, 25), 3);  // 2.5
  EXPECT_EQ(of(10, 35), 4);  // 3.5
  EXPECT_EQ(of(10, 24), 2);  // 2.4
  EXPECT_EQ(of(10, 31), 3);
  EXPECT_EQ(of(10, 1), 1);
  EXPECT_EQ(of(1e-300, 100), 1);
  EXPECT_EQ(of(100, 7), 7);
  EXPECT_EQ(of(0.1, 500), 1);
  EXPECT_EQ((CountOrShare{.count = 7}.of(7, "k")), 7);
  EXPECT_EQ(error_of([] { (void)CountOrShare{.count = 8}.of(7, "k"); }),
            "k = 8 is outside [1, 7]; there are 7 assets");
  EXPECT_EQ(error_of([] { (void)CountOrShare{.count = 2}.of(1, "k"); }),
            "k = 2 is outside [1, 1]; there is 1 asset");
}

TEST(SettingsParse, LookbackReadsCountsAndAll) {
  EXPECT_EQ(std::get<CountOrAll>(parse(find("lookback"), "60")), (CountOrAll{.count = 60}));
  EXPECT_EQ(std::get<CountOrAll>(parse(find("lookback"), "all")), (CountOrAll{.all = true}));
  EXPECT_EQ(parse_error("lookback", "1"), "lookback = 1 is outside [2, inf)");
  EXPECT_THAT(parse_error("lookback", "most"), HasSubstr("nor the word all"));
}

TEST(SettingsParse, ChoicesSuggestTheNearest) {
  EXPECT_EQ(parse_error("optimizer", "swop"),
            "optimizer = swop is not one of oscar, symmetric, greedy, swap, pairs, exact, mssrm, "
            "mssrm-long, sdr, "
            "equal; did you mean swap?");
  EXPECT_EQ(parse_error("net", "sideways"), "net = sideways is not one of positive, any");
  EXPECT_EQ(parse_error("net", ""), "net = '' is not one of positive, any");
}

TEST(SettingsParse, ListsAreSplitAtCommas) {
  EXPECT_EQ(std::get<std::vector<std::string>>(parse(find("tickers"), "A, B,C D")),
            (std::vector<std::string>{"A", "B", "C D"}));
  for (std::string_view text : {"", ",", "A,", "A,,B", " "})
    EXPECT_THAT(parse_error("tickers", text), HasSubstr("of the list is empty")) << text;
}

TEST(SettingsParse, ANameInQuotesMayHoldCommasAndQuotes) {
  const auto names = [](std::string_view text) {
    return std::get<std::vector<std::string>>(parse(find("tickers"), text));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(R"("Smith, Sons",B)"), (Names{"Smith, Sons", "B"}));
  EXPECT_EQ(names(R"(A, "B, C" ,"D")"), (Names{"A", "B, C", "D"}));
  EXPECT_EQ(names(R"(" A ","say ""hi"", twice")"), (Names{" A ", R"(say "hi", twice)"}));
  EXPECT_EQ(names(R"(5" pipe,B)"), (Names{R"(5" pipe)", "B"}));  // a quote inside is a letter
  EXPECT_EQ(parse_error("tickers", R"(A,"B,C)"),
            "tickers: name 2 of the list starts with a quote that does not end; write \"A, B\",C");
  EXPECT_EQ(parse_error("tickers", R"("A"B,C)"),
            "tickers: name 1 of the list goes on after its closing quote; write \"A, B\",C, and a "
            "quote in a name twice");
  for (std::string_view text : {R"("")", R"(A,"")", R"("A",)"})
    EXPECT_THAT(parse_error("tickers", text), HasSubstr("of the list is empty")) << text;
  const Names odd = {"A,B", R"("q")", R"(in"side)", " padded ", ",", "\"", "plain"};
  EXPECT_EQ(names(write(find("tickers"), odd)), odd);
}

TEST(SettingsParse, AnEmptyTextSaysWhatToGive) {
  EXPECT_EQ(parse_error("prices", ""), "prices = '' is empty; give a FILE, or leave it out");
  EXPECT_EQ(parse_error("from", ""), "from = '' is empty; give a DATE, or leave it out");
}

TEST(SettingsValues, FlagsWinOverTheFileWhichWinsOverDefaults) {
  Values values(solve);
  EXPECT_EQ(values.origin("optimizer"), Origin::preset);
  values.read_toml("optimizer = \"oscar\"\nk = 4\n", "my.toml");
  EXPECT_EQ(values.text("optimizer"), "oscar");
  EXPECT_EQ(values.origin("optimizer"), Origin::file);
  EXPECT_EQ(values.given_as("optimizer"), "‹optimizer› (my.toml:1)");
  values.set_flag("optimizer", "greedy");
  EXPECT_EQ(values.text("optimizer"), "greedy");
  EXPECT_EQ(values.given_as("optimizer"), "‹--optimizer›");
  EXPECT_EQ(values.count_or_share("k").count, 4);
  EXPECT_EQ(values.text("sizing"), "gross");
}

TEST(SettingsValues, GettersCheckNameKindAndPresence) {
  const Values values(solve);
  EXPECT_THROW(values.flag("optimizer"), std::logic_error);
  EXPECT_THROW(values.text("no-such-setting"), std::logic_error);
  EXPECT_THROW(values.text("prices"), std::logic_error);
}

TEST(SettingsFile, ReadsEveryKind) {
  Values values(solve);
  values.read_toml(
      "# a comment\nreturns = \"r.csv\"\ngross = true\nfrom = 2020-01-31\nto = \"2021-01-31\"\n"
      "tickers = [\"A\", \"B,C\"]\nk = \"25%\"\nlookback = \"all\"\nshrinkage = 0\n"
      "periods-per-year = 12\nthreads = 2\n",
      "my.toml");
  EXPECT_EQ(values.text("returns"), "r.csv");
  EXPECT_TRUE(values.flag("gross"));
  EXPECT_EQ(values.text("from"), "2020-01-31");
  EXPECT_EQ(values.text("to"), "2021-01-31");
  EXPECT_EQ(values.list("tickers"), (std::vector<std::string>{"A", "B,C"}));
  EXPECT_EQ(values.count_or_share("k").percent, 25);
  EXPECT_TRUE(values.count_or_all("lookback").all);
  EXPECT_EQ(values.real("shrinkage"), 0);
  EXPECT_EQ(values.real("periods-per-year"), 12);
  EXPECT_EQ(values.integer("threads"), 2);
}

TEST(SettingsFile, NamesFileLineKeyAndTheNearestKnownKey) {
  EXPECT_EQ(file_error("k = 3\n\nshrinkge = 0.1\n"),
            "my.toml:3: shrinkge is not a setting of this command; did you mean shrinkage?");
  EXPECT_EQ(file_error("target_volatility = 0.1\n"),
            "my.toml:1: target_volatility is not a setting of this command; did you mean "
            "target-volatility?");
  EXPECT_EQ(file_error("zebra = 1\n"), "my.toml:1: zebra is not a setting of this command");
  EXPECT_EQ(file_error("[solve]\nk = 3\n"),
            "my.toml:1: solve is a table; put the keys at the top level, without a [header]");
  EXPECT_EQ(file_error("k = 3\n[[solve]]\nk = 3\n"),
            "my.toml:2: solve is a table; put the keys at the top level, without a [header]");
  EXPECT_EQ(file_error("config = \"other.toml\"\n"),
            "my.toml:1: config can only be given as a flag");
}

TEST(SettingsFile, NamesTheFirstMistakeOfTheFile) {
  EXPECT_THAT(file_error("zzz = 1\naaa = 2\n"), HasSubstr("my.toml:1: zzz"));
}

TEST(SettingsFile, NamesWrongTypesAndBounds) {
  EXPECT_EQ(file_error("\nshrinkage = 1.5\n"), "my.toml:2: shrinkage = 1.5 is outside [0, 1]");
  EXPECT_EQ(file_error("shrinkage = \"0.1\"\n"), "my.toml:1: shrinkage = '0.1' must be a number");
  EXPECT_EQ(file_error("shrinkage = nan\n"), "my.toml:1: shrinkage = nan is outside [0, 1]");
  EXPECT_EQ(file_error("json = 1\n"), "my.toml:1: json = 1 must be true or false");
  EXPECT_EQ(file_error("json = 1.0\n"), "my.toml:1: json = 1.0 must be true or false");
  EXPECT_EQ(file_error("threads = 2.5\n"), "my.toml:1: threads = 2.5 must be a whole number");
  EXPECT_EQ(file_error("threads = 2.0\n"),
            "my.toml:1: threads = 2.0 must be a whole number; write 2");
  EXPECT_EQ(file_error("lookback = 50.0\n"),
            "my.toml:1: lookback = 50.0 must be a whole number, or \"all\"; write 50");
  EXPECT_EQ(file_error("lookback = 1e300\n"),
            "my.toml:1: lookback = 1e+300 must be a whole number, or \"all\"");
  EXPECT_EQ(file_error("prices = 5\n"),
            "my.toml:1: prices = 5 must be a text in quotes; write \"5\"");
  EXPECT_EQ(file_error("from = 2016\n"),
            "my.toml:1: from = 2016 must be a text in quotes; write \"2016\"");
  EXPECT_THAT(file_error("k = 0.1\n"), HasSubstr("my.toml:1: k = 0.1 must be a whole number, or"));
  EXPECT_EQ(file_error("k = 0\n"), "my.toml:1: k = 0 is outside [1, n]");
  EXPECT_THAT(file_error("tickers = []\n"), HasSubstr("must be a list of texts"));
  EXPECT_THAT(file_error("tickers = [\"A\", 1]\n"), HasSubstr("must be a list of texts"));
  EXPECT_THAT(file_error("optimizer = \"swop\"\n"), HasSubstr("did you mean swap?"));
  EXPECT_THAT(file_error("k = { a = 1 }\n"), HasSubstr("my.toml:1: k is a table"));
}

TEST(SettingsFile, NamesThePlaceOfBrokenToml) {
  EXPECT_THAT(file_error("k = 3\nk 4\n"), HasSubstr("my.toml:2:"));
  EXPECT_THAT(file_error("k = 3\nk = 4\n"), HasSubstr("not valid TOML"));
  EXPECT_THAT(file_error("k = \"\xff\"\n"), HasSubstr("not valid TOML"));
}

// The parser would recurse for each level, until the stack ends.
TEST(SettingsFile, TooDeepForTheParserIsNamedBeforeIt) {
  const auto repeated = [](std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
  };
  const std::string deep = "a" + repeated(".a", 50'000);
  for (const std::string& text :
       {deep + " = 1", "[" + deep + "]", "[[" + deep + "]]", "k = {" + deep + " = 1}",
        "a" + repeated(" . \"a\" . 'a'", 20'000) + " = 1",
        "b = \"\"\"x\"\"\"\"\"\n" + deep + " = 1"})
    EXPECT_THAT(file_error("# .....\n" + text),
                AllOf(HasSubstr("my.toml:"), HasSubstr(": a key of more than 8 parts; put the")))
        << text.substr(0, 40);
  EXPECT_THAT(file_error("\nk = " + repeated("[", 100'000)), HasSubstr("my.toml:2: brackets more"));
  EXPECT_THAT(file_error("k = " + repeated("{a=[", 100'000)),
              HasSubstr("my.toml:1: brackets more"));
  EXPECT_THAT(file_error("k = '''\n\n''' # '\nb = " + repeated("[\n", 9)),
              HasSubstr("my.toml:12: brackets more"));
  EXPECT_THAT(file_error(repeated("#", 1 << 20) + "\n"), HasSubstr("my.toml: larger than 1 MiB"));
}

TEST(SettingsFile, DotsAndBracketsOfTextsAndCommentsAreNoDepth) {
  const std::string dots(100, '.'), brackets(100, '[');
  for (const std::string& text : {"\"" + dots + brackets + "\"", "'" + dots + brackets + "'",
                                  "\"\"\"\n" + dots + "\n\\\"\"\"" + brackets + "\"\"\"",
                                  "'''" + dots + "\n'" + brackets + "''''"}) {
    Values values(solve);
    values.read_toml("prices = " + text + " # " + dots + brackets + "\nk = 4 #" + dots, "my.toml");
    EXPECT_THAT(values.text("prices"), AllOf(HasSubstr(dots), HasSubstr(brackets)));
  }
}

TEST(SettingsFile, AListWithoutCommasIsBlamedForThem) {
  std::string list = "beta = [0.1";
  for (int i = 2; i < 40; ++i) list += "\t0." + std::to_string(i);
  EXPECT_THAT(file_error("\n" + list + "]"),
              AllOf(HasSubstr("my.toml:2:13: not valid TOML"), HasSubstr("expected comma")));
}

TEST(SettingsFile, AMistakeLeavesTheValuesAsTheyWere) {
  Values values(solve);
  const std::string before = values.to_toml();
  EXPECT_THROW(values.read_toml("k = 4\nzebra = 1\n", "my.toml"), InputError);
  EXPECT_EQ(values.to_toml(), before);
}

TEST(SettingsFile, ThatCannotBeReadIsNamed) {
  EXPECT_EQ(error_of([] { Values(solve).read_toml_file("/no/such/file.toml"); }),
            "/no/such/file.toml: cannot open the configuration file: No such file or directory; "
            "check the "
            "path and its permissions");
  EXPECT_EQ(error_of([] { Values(solve).read_toml_file("/"); }),
            "/: is a folder, not a configuration file");
}

TEST(SettingsFile, PrintedSettingsReadBackToTheSame) {
  Values values(solve);
  for (const auto& [name, text] :
       std::vector<std::pair<std::string, std::string>>{{"prices", "a \"b\"\\c\n\x7f日.csv"},
                                                        {"tickers", "A,B C"},
                                                        {"k", "33.3%"},
                                                        {"lookback", "all"},
                                                        {"shrinkage", "0.1234567890123456"},
                                                        {"net", "any"},
                                                        {"gross", "true"},
                                                        {"seed", "9007199254740992"},
                                                        {"offset", "1e-300"}})
    values.set_flag(name, text);
  const std::string printed = values.to_toml();
  Values again(solve);
  again.read_toml(printed, "printed.toml");
  EXPECT_EQ(again.to_toml(), printed);
  // What could steer a terminal is written so that it reads back and is seen.
  Values steered(solve);
  steered.set_flag("prices",
                   "\xC2\x9B"
                   "2J\xE2\x80\xAE\x1B.csv");
  EXPECT_NE(steered.to_toml().find(R"(prices = "\u009b2J\u202e\u001B.csv")"), std::string::npos);
  again.read_toml(steered.to_toml(), "printed.toml");
  EXPECT_EQ(again.text("prices"), steered.text("prices"));
  again.read_toml(printed, "printed.toml");
  EXPECT_EQ(again.text("prices"), values.text("prices"));
  EXPECT_EQ(again.list("tickers"), values.list("tickers"));
  EXPECT_EQ(again.count_or_share("k"), values.count_or_share("k"));
  EXPECT_EQ(again.count_or_all("lookback"), values.count_or_all("lookback"));
  EXPECT_EQ(again.real("shrinkage"), values.real("shrinkage"));
  EXPECT_EQ(again.real("offset"), 1e-300);
  EXPECT_EQ(again.integer("seed"), 9007199254740992);
  EXPECT_TRUE(again.flag("gross"));
}

TEST(SettingsFile, APrintedFileOfCostsReadsBackAsItsNameOrItsText) {
  for (const std::string text : {"costs.csv", "7.5", "asset,bps\n\"A \"\"x\"\"\",5\r\nB\\,6\n",
                                 "\nasset,bps\nA,5\"\"\"\""}) {
    Values values(backtest);
    values.set_flag("cost-bps", text);
    Values again(backtest);
    again.read_toml(values.to_toml(), "printed.toml");
    EXPECT_EQ(again.number_or_file("cost-bps"), values.number_or_file("cost-bps")) << text;
  }
}

TEST(SettingsFile, TextThatTomlCannotHoldIsRefused) {
  Values values(solve);
  values.set_flag("prices", "\xff.csv");
  EXPECT_THAT(error_of([&] { (void)values.to_toml(); }), HasSubstr("prices = \\xff.csv"));
}

TEST(OptionsPage, IsCurrent) {
  std::ifstream in(SHARPEN_SOURCE_DIR "/docs/options.md");
  std::stringstream page;
  page << in.rdbuf();
  EXPECT_EQ(page.str(), options_markdown()) << "run: sharpen --print-options-md > docs/options.md";
}

}  // namespace
}  // namespace sharpen::settings
