// The layouts a panel may come in: long, yfinance's headers, gaps, gzip; and writing it back.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "input_files.hpp"
#include "sharpen/market/panel.hpp"
#include "support/files.hpp"

namespace sharpen::market {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::StartsWith;

Panel raw(std::string_view text, PanelKind kind = PanelKind::prices) {
  return parse_panel(text, "p.csv", kind, Cells::raw);
}
Panel strict(std::string_view text) { return parse_panel(text, "p.csv", PanelKind::prices); }

std::string raw_error(std::string_view text, PanelKind kind = PanelKind::prices) {
  return error_of([&] { return raw(text, kind); });
}

// Equal bits, NaN and all.
bool same(const Panel& a, const Panel& b) {
  return a.dates == b.dates && a.tickers == b.tickers && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0;
}

// ---- gaps

TEST(RawCells, TakeWordsForMissingAsNan) {
  for (const char* word :
       {"", " ", "\"\"", "NaN", "nan", "NA", "N/A", "#N/A", "null", "NULL", "None", "-", "."}) {
    const Panel panel = raw("date,A,B\n2024-01-02,1," + std::string(word) + "\n");
    EXPECT_THAT(panel.values, ElementsAre(1.0, IsNan())) << word;
    const Panel semicolons = raw("date;A;B\n2024-01-02;" + std::string(word) + ";2\n");
    EXPECT_THAT(semicolons.values, ElementsAre(IsNan(), 2.0)) << word;
  }
}

TEST(RawCells, MayHoldPricesThatAreNone) {
  EXPECT_THAT(raw("date,A,B\n2024-01-02,0,-3.5\n").values, ElementsAre(0.0, -3.5));
  EXPECT_THAT(error_of([] { return strict("date,A\n2024-01-02,0\n"); }),
              StartsWith("p.csv:2:2: \"0\" is not a price"));
}

TEST(RawCells, AreStillNumbersOrMissing) {
  EXPECT_EQ(raw_error("date,A,B\n2024-01-02,1,x\n"),
            "p.csv:2:3: \"x\" is not a number, at line 2, column 3 (ticker B, 2024-01-02); write a "
            "plain decimal number such as 101.25");
  EXPECT_THAT(raw_error("date,A\n2024-01-02,inf\n"), HasSubstr("is not a finite number"));
  EXPECT_THAT(raw_error("date,A\n2024-01-02,-1.5\n", PanelKind::returns),
              HasSubstr("is not a simple return"));
  EXPECT_THAT(raw_error("date,A,B\n2024-01-02,1\n"), HasSubstr("2 fields where 3 are expected"));
}

TEST(RawCells, LeaveMissingOnesOutOfTheJudgementOfTheKind) {
  const std::string gross = "date,A,B\n2024-01-02,1.01,\n2024-01-03,,1.1\n";
  EXPECT_THAT(raw_error(gross, PanelKind::returns), HasSubstr("look like gross returns 1 + r"));
  EXPECT_EQ(raw_error(gross, PanelKind::gross_returns), "");
  EXPECT_EQ(raw_error("date,A\n2024-01-02,\n", PanelKind::returns), "");
}

// ---- long

TEST(LongLayout, IsTheWideOneWhateverTheOrderOfRowsAndColumns) {
  const Panel wide = strict("date,A,B\n2024-01-02,1,2\n2024-01-03,3,4\n");
  for (const char* text : {
           "date,ticker,close\n2024-01-02,A,1\n2024-01-02,B,2\n2024-01-03,A,3\n2024-01-03,B,4\n",
           "Date,Symbol,Price\n2024-01-03,A,3\n2024-01-02,A,1\n2024-01-03,B,4\n2024-01-02,B,2\n",
           "ticker;close;Datetime\nA;1;20240102\nB;2;20240102\nA;3;20240103\nB;4;20240103\n",
           ",asset,value\r\n2024-01-02,A,1\r\n2024-01-02 00:00:00,B,2\r\n2024-01-03,A,3\r\n"
           "2024-01-03,B,\"4\"\r\n",
       })
    EXPECT_EQ(strict(text), wide) << text;
}

TEST(LongLayout, LeavesAbsentPairsMissing) {
  const Panel panel = raw("date,ticker,close\n2024-01-03,A,3\n2024-01-02,B,2\n2024-01-03,B,NaN\n");
  EXPECT_THAT(panel.dates, ElementsAre("2024-01-02", "2024-01-03"));
  EXPECT_THAT(panel.tickers, ElementsAre("A", "B"));
  EXPECT_THAT(panel.values, ElementsAre(IsNan(), 2.0, 3.0, IsNan()));
  EXPECT_EQ(error_of([] { return strict("date,ticker,close\n2024-01-02,A,1\n2024-01-03,B,2\n"); }),
            "p.csv: the ticker \"B\" has no row for 2024-01-02; fill it, or drop the ticker or the "
            "date");
}

TEST(LongLayout, NamesWhatIsWrong) {
  EXPECT_EQ(raw_error("date,ticker,close\n2024-01-02,A,1\n2024-01-03,A,2\n20240102,A,3\n"),
            "p.csv:4:1: the date \"20240102\" is written as YYYYMMDD but line 2 has YYYY-MM-DD, at "
            "line 4, column 1; use one format in the whole file");
  EXPECT_EQ(
      raw_error("date,ticker,close\n2024-01-02,A,1\n2024-01-03,A,2\n2024-01-02,A,3\n"),
      "p.csv:4: the ticker \"A\" has two rows for 2024-01-02, at line 2 and line 4; keep one");
  EXPECT_EQ(raw_error("date,ticker,close\n2024-01-02,A,x\n"),
            "p.csv:2:3: \"x\" is not a number, at line 2, column 3 (ticker A, 2024-01-02); write a "
            "plain decimal number such as 101.25");
  EXPECT_EQ(raw_error("close,date,ticker\nx,2024-01-02,A\n"),
            "p.csv:2:1: \"x\" is not a number, at line 2, column 1 (ticker A, 2024-01-02); write a "
            "plain decimal number such as 101.25");
  EXPECT_THAT(raw_error("date,ticker,close\n2024-01-02,,1\n"), HasSubstr("the ticker is empty"));
  EXPECT_THAT(raw_error("date,ticker,close\n,A,1\n"), HasSubstr("the date is missing"));
  EXPECT_THAT(raw_error("date,ticker,close\n2024-01-02,A\n"),
              HasSubstr("line 2 has 2 fields where 3 are expected, as in the header"));
  EXPECT_EQ(raw_error("date,ticker,open,high,low,close,volume\n2024-01-02,A,1,1,1,1,1\n"),
            "p.csv:1:1: the header has 7 columns, at line 1, where the long layout has three; keep "
            "the columns date,ticker,close");
}

TEST(LongLayout, RefusesATableThatWouldBeNearlyEmpty) {
  std::string text = "date,ticker,close\n";
  for (int i = 0; i < 10'000; ++i) {
    char row[64];
    std::snprintf(row, sizeof row, "%04d-%02d-%02d,T%d,1\n", 1000 + i / 336, 1 + i / 28 % 12,
                  1 + i % 28, i);
    text += row;
  }
  EXPECT_EQ(raw_error(text),
            "p.csv: 10000 rows name 10000 dates and 10000 tickers, which leaves more than 99 % of "
            "the table empty; is the first line date,ticker,close?");
}

// ---- yfinance

TEST(Yfinance, TwoAndThreeLineHeadersNameOneCloseEach) {
  const Panel plain = strict("date,A,B\n2024-01-02,1,2\n2024-01-03,3,4\n");
  const std::string rows = "2024-01-02,1,2\n2024-01-03,3,4\n";
  for (const char* header : {
           "Price,Close,Close\nTicker,A,B\nDate,,\n",
           "Price,Close,Close\nTicker,A,B\n",
           ",Adj Close,Adj Close\n,A,B\nDate,,\n",
           "Ticker,A,B\nPrice,Close,Close\nDatetime,,\n",
       })
    EXPECT_EQ(strict(std::string(header) + rows), plain) << header;
}

TEST(Yfinance, PassesOverTheOtherPrices) {
  const Panel plain = strict("date,A,B\n2024-01-02,1,2\n2024-01-03,3,4\n");
  EXPECT_EQ(strict("Price,Close,Close,High,High,Volume,Volume\nTicker,A,B,A,B,A,B\nDate,,,,,,\n"
                   "2024-01-02,1,2,9,9,0,0\n2024-01-03,3,4,9,x,,0\n"),
            plain);
  EXPECT_EQ(strict("Ticker,A,A,B,B\nPrice,Open,Close,Open,Close\n"
                   "2024-01-02,9,1,9,2\n2024-01-03,9,3,9,4\n"),
            plain);
}

TEST(Yfinance, NamesLinesOfTheFileBelowALongHeader) {
  const std::string header = "Price,Close,Close\nTicker,A,B\nDate,,\n";
  EXPECT_THAT(raw_error(header + "2024-01-02,1,2\n2024-01-02,3,4\n"),
              HasSubstr("2024-01-02 is repeated, at line 4 and line 5"));
  EXPECT_THAT(raw_error(header + "2024-01-02,1,2\n20240103,3,4\n"),
              HasSubstr("but line 4 has YYYY-MM-DD"));
  EXPECT_THAT(raw_error(header + "2024-01-02,1\n"), HasSubstr("2 fields where 3 are expected"));
  EXPECT_EQ(raw_error(header), "p.csv: has a header but no rows; one row per period is expected");
}

TEST(Yfinance, RefusesWhatIsAmbiguousWithTheFix) {
  EXPECT_EQ(raw_error("Price,Adj Close,Close\nTicker,A,A\nDate,,\n2024-01-02,1,2\n"),
            "p.csv:2: the header has both Close and Adj Close, at line 2; keep one of them: in "
            "pandas, data[\"Adj Close\"].to_csv(...)");
  EXPECT_EQ(raw_error("Price,Open,High\nTicker,A,A\n2024-01-02,1,2\n"),
            "p.csv:2: the header has no closing prices, at line 2; keep one column per ticker");
  EXPECT_EQ(raw_error("Price,Close,Close\nTicker,A,A\n2024-01-02,1,2\n"),
            "p.csv:2:3: the ticker \"A\" is repeated, at line 2, column 2 and column 3; keep one "
            "column per ticker");
  EXPECT_EQ(raw_error("Price,Close,Close\nTicker,A\n2024-01-02,1,2\n"),
            "p.csv:2: line 1 has 3 fields and line 2 has 2; give both lines of the header one "
            "field per column");
  EXPECT_EQ(
      raw_error("Date,Open,High,Low,Close,Adj Close,Volume\n2024-01-02,1,2,3,4,5,6\n"),
      "p.csv:1:1: the columns Open, High, ... are those of one stock, at line 1; keep the date "
      "and the close, and head the close with its ticker");
  EXPECT_THAT(strict("Date,Close\n2024-01-02,1\n").tickers, ElementsAre("Close"));
}

TEST(PanelHeader, PointsAnOrLibraryFileToItsCommand) {
  EXPECT_EQ(raw_error(" 31\n .001 .02\n"),
            "p.csv:1:1: the header names no tickers, at line 1; write a first line such as "
            "date,TICKER,TICKER (an OR-Library file goes with sharpen solve --moments)");
}

// ---- gzip

std::string gzipped(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

class Gzip : public ::testing::Test {
 protected:
  std::string error(const std::string& bytes) {
    const std::string file = folder_.file("p.csv.gz", bytes);
    const std::string message = error_of([&] { return read_panel(file, PanelKind::prices); });
    return message.starts_with(file) ? message.substr(file.size()) : message;
  }
  sharpen::testing::Folder folder_;
  const std::string text_ = "date,A,B\n2024-01-02,1,2\n2024-01-03,3,4\n";
};

TEST_F(Gzip, IsUnpackedBySuffix) {
  EXPECT_EQ(read_panel(folder_.file("p.csv.gz", gzipped(text_)), PanelKind::prices), strict(text_));
  EXPECT_THAT(
      error_of(
          [&] { return read_panel(folder_.file("p.csv", gzipped(text_)), PanelKind::prices); }),
      HasSubstr("is compressed; unpack it with gunzip, or give it a name that ends in .gz"));
}

TEST_F(Gzip, MayHaveSeveralMembers) {
  const std::string both = gzipped(text_.substr(0, 20)) + gzipped("") + gzipped(text_.substr(20));
  EXPECT_EQ(read_panel(folder_.file("p.csv.gz", both), PanelKind::prices), strict(text_));
}

TEST_F(Gzip, ThatIsDamagedIsRefused) {
  const std::string whole = gzipped(text_);
  EXPECT_EQ(error(text_), ": is not gzip although its name ends in .gz; rename it");
  EXPECT_EQ(error(""), ": is empty; copy or download it again");
  for (const std::size_t bytes :
       {std::size_t{2}, std::size_t{10}, whole.size() / 2, whole.size() - 1})
    EXPECT_EQ(error(whole.substr(0, bytes)),
              ": is cut off: the packed data end early; copy or download it again")
        << bytes;
  std::string altered = whole;
  altered[altered.size() - 6] ^= 1;  // the checksum
  EXPECT_THAT(error(altered), StartsWith(": is damaged after 39 unpacked bytes (incorrect data"));
  EXPECT_THAT(error(whole + "tail"), StartsWith(": is damaged after "));
}

TEST_F(Gzip, RefusesABomb) {
  const std::string bomb = gzipped("date,A\n" + std::string(std::size_t{80} << 20, ' '));
  EXPECT_LT(bomb.size(), 200'000u);
  EXPECT_EQ(error(bomb),
            ": unpacks to more than 200 times its size, which no table of prices does; unpack it "
            "yourself if you trust it");
}

// ---- bounds

TEST(Bounds, AMillionColumnsAreRead) {
  std::string header = "date", row = "2024-01-02";
  for (int j = 0; j < 1'000'000; ++j) {
    header += ",t" + std::to_string(j);
    row += ",1";
  }
  const Panel panel = raw(header + "\n" + row + "\n");
  EXPECT_EQ(panel.n(), 1'000'000);
  EXPECT_EQ(panel.rows(), 1);
}

TEST(Bounds, ALongLineIsRefusedWhereItStands) {
  const std::string commas(std::size_t{32} << 20, ',');
  EXPECT_THAT(raw_error("date,A\n2024-01-02" + commas + "\n"),
              StartsWith("p.csv:2:3: line 2 has 33554433 fields where 2 are expected"));
  EXPECT_THAT(raw_error("date" + commas),
              StartsWith("p.csv:1:1000002: the header has more than 1000000 tickers"));
  EXPECT_THAT(raw_error(std::string(std::size_t{32} << 20, 'x')),
              StartsWith("p.csv:1:1: a field of 33554432 bytes"));
}

// ---- writing

RC_GTEST_PROP(WritePanel, ReadsBackToTheSameBits, ()) {
  Panel panel;
  const int n = *rc::gen::inRange(1, 6);
  const int rows = *rc::gen::inRange(1, 20);
  const std::vector<std::string> odd = {"ticker", "close", "a,b",  " x ",
                                        "q\"q",   "Open",  "日経", ";"};
  for (int j = 0; j < n; ++j) panel.tickers.push_back(*rc::gen::elementOf(odd) + std::to_string(j));
  for (int t = 0; t < rows; ++t) panel.dates.push_back("2024-01-" + std::to_string(10 + t));
  const auto cell =
      rc::gen::map(rc::gen::inRange<std::uint64_t>(0, 0x7ff0000000000000), [](std::uint64_t bits) {
        return bits % 5 == 0 ? std::nan("") : std::bit_cast<double>(bits);
      });
  panel.values = *rc::gen::container<std::vector<double>>(static_cast<std::size_t>(n * rows), cell);
  RC_ASSERT(same(raw(panel_csv(panel)), panel));
}

TEST(WritePanel, IsNotTakenForAnotherLayout) {
  for (const std::vector<std::string>& tickers : {std::vector<std::string>{"ticker", "close"},
                                                  {"Open", "Close"},
                                                  {"Close"},
                                                  {"ticker", "date"},
                                                  {"time", "Symbol"},
                                                  {"date", "asset", "Close"}}) {
    const Panel panel{{"2024-01-02"}, tickers, std::vector<double>(tickers.size(), 1.5)};
    EXPECT_EQ(raw(panel_csv(panel)), panel) << tickers[0];
  }
}

TEST(WritePanel, ReplacesAFileWholeAndLeavesNothingBehind) {
  const sharpen::testing::Folder folder;
  const std::string file = folder.file("p.csv", "old");
  const Panel panel{{"2024-01-02"}, {"A"}, {1.5}};
  write_panel(panel, file);
  EXPECT_EQ(read_panel(file, PanelKind::prices), panel);
  std::filesystem::create_directory(folder.path("d"));
  EXPECT_EQ(error_of([&] {
              write_panel(panel, folder.path("d"));
              return 0;
            }),
            folder.path("d") +
                ": cannot be written: Is a directory; check the folder and its "
                "permissions");
  EXPECT_EQ(error_of([&] {
              write_panel(panel, folder.path("none/p.csv"));
              return 0;
            }),
            folder.path("none/p.csv") +
                ": cannot be written: No such file or directory; check the "
                "folder and its permissions");
  const std::string packed = folder.path("p.csv.gz");
  EXPECT_EQ(error_of([&] {
              write_panel(panel, packed);
              return 0;
            }),
            packed + ": the panel is written as plain CSV; give a name that does not end in .gz");
  EXPECT_THROW(write_panel(panel, "/dev/full"), std::runtime_error);
  const auto names = std::filesystem::directory_iterator(folder.path(""));
  EXPECT_EQ(std::distance(begin(names), end(names)), 2);  // p.csv and d
}

TEST(WritePanel, SlowKilledWhileItWritesLeavesNothingBehind) {
  const sharpen::testing::Folder folder;
  const int nameless = open(folder.path("").c_str(), O_TMPFILE | O_WRONLY, 0600);
  if (nameless < 0) GTEST_SKIP() << "this file system has no files without a name";
  close(nameless);
  // Many bytes that cost little: names of ten thousand letters.
  Panel panel{{"2024-01-02"}, {}, std::vector<double>(600, 1.5)};
  for (int j = 0; j < 600; ++j)
    panel.tickers.push_back(std::to_string(j) + std::string(10'000, 'A'));
  const std::string file = folder.path("p.csv");
  const std::string whole = panel_csv(panel);
  const auto files = [&] {
    const auto names = std::filesystem::directory_iterator(folder.path(""));
    return std::distance(begin(names), end(names));
  };
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    write_panel(panel, file);
    _exit(0);
  }
  // As soon as anything is to be seen: it is whole, or a half-written file stays.
  pid_t ended = 0;
  while (ended == 0 && files() == 0) ended = waitpid(child, nullptr, WNOHANG);
  if (ended == 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(files(), 1);
  EXPECT_TRUE(std::filesystem::exists(file) && sharpen::testing::text_of(file) == whole);
}

TEST(WritePanel, KeepsWhatWasThereWhenTheDiskIsFull) {
  const sharpen::testing::Folder folder;
  const std::string file = folder.file("p.csv", "old");
  Panel panel{{}, {"A"}, {}};
  for (int t = 0; t < 5000; ++t) {
    panel.dates.push_back("2024-01-02");
    panel.values.push_back(0.1);
  }
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_panel(panel, file), std::runtime_error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(sharpen::testing::text_of(file), "old");
  const auto names = std::filesystem::directory_iterator(folder.path(""));
  EXPECT_EQ(std::distance(begin(names), end(names)), 1);
}

}  // namespace
}  // namespace sharpen::market
