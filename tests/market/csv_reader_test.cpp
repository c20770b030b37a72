// The rules of the wide CSV reader: what it accepts, and the exact message for what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>
#include <thread>

#include "input_files.hpp"
#include "sharpen/market/panel.hpp"

namespace sharpen::market {
namespace {

using std::string_view_literals::operator""sv;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Panel prices(std::string_view text) { return parse_panel(text, "p.csv", PanelKind::prices); }

std::string error_in(std::string_view text, PanelKind kind = PanelKind::prices) {
  return error_of([&] { return parse_panel(text, "p.csv", kind); });
}

constexpr std::size_t kMostFieldBytes = std::size_t{1} << 20;

// One cell in an otherwise good panel: line 3, column 3.
std::string cell_error(std::string_view cell, PanelKind kind = PanelKind::prices) {
  return error_in("date,A,BB\n2024-01-02,1,2\n2024-01-03,1," + std::string(cell) + "\n", kind);
}

std::string date_error(std::string_view date) {
  return error_in("date,A\n2024-01-02,1\n" + std::string(date) + ",2\n");
}

// ---- accepted

TEST(CsvReader, ReadsDatesTickersAndValues) {
  const Panel panel = prices("date,AAA,B B,日経\n2024-01-02,1,2.5,3e2\n2024-01-03,.5,4.,+6\n");
  EXPECT_THAT(panel.dates, ElementsAre("2024-01-02", "2024-01-03"));
  EXPECT_THAT(panel.tickers, ElementsAre("AAA", "B B", "日経"));
  EXPECT_THAT(panel.values, ElementsAre(1.0, 2.5, 300.0, 0.5, 4.0, 6.0));
  EXPECT_EQ(panel.rows(), 2);
  EXPECT_EQ(panel.n(), 3);
  EXPECT_EQ(panel.matrix()(1, 2), 6.0);
}

TEST(CsvReader, TakesAnyNameForTheDateColumn) {
  for (const char* name : {"Date", "date", "", "Unnamed: 0", "\"\"", "Month"})
    EXPECT_EQ(prices(std::string(name) + ",A\n2024-01-02,1\n").n(), 1) << name;
}

TEST(CsvReader, TakesByteOrderMarkCrlfQuotesBlanksAndMissingOrExtraLineEnds) {
  const Panel plain = prices("date,A,B\n2024-01-02,1,2\n2024-01-03,3,4\n");
  for (const auto text : {
           "\xef\xbb\xbf"
           "date,A,B\n2024-01-02,1,2\n2024-01-03,3,4\n"sv,
           "date,A,B\r\n2024-01-02,1,2\r\n2024-01-03,3,4\r\n"sv,
           "date,A,B\n2024-01-02,1,2\n2024-01-03,3,4"sv,
           "date,A,B\n2024-01-02,1,2\n2024-01-03,3,4\n\n\r\n  \n"sv,
           "\"date\",\"A\",\"B\"\n\"2024-01-02\",\"1\",\"2\"\n2024-01-03,\"3\",4\n"sv,
           "date, A ,B\n2024-01-02 , 1,2 \n 2024-01-03,\t3 , \"4\" \n"sv,
       })
    EXPECT_EQ(prices(text), plain) << text;
}

TEST(CsvReader, UnescapesQuotedNames) {
  EXPECT_THAT(prices("date,\"a,b\",\"say \"\"hi\"\"\"\n2024-01-02,1,2\n").tickers,
              ElementsAre("a,b", "say \"hi\""));
}

TEST(CsvReader, KeepsDatesInIsoForm) {
  const auto dates = [](const std::string& a, const std::string& b) {
    return prices("d,A\n" + a + ",1\n" + b + ",2\n").dates;
  };
  EXPECT_THAT(dates("20240131", "20240229"), ElementsAre("2024-01-31", "2024-02-29"));
  EXPECT_THAT(dates("197107", "197108"), ElementsAre("1971-07", "1971-08"));
  EXPECT_THAT(dates("1971-07", "1971-08"), ElementsAre("1971-07", "1971-08"));
  EXPECT_THAT(dates("2024-01-02 00:00:00", "2024-01-03T00:00:00.000Z"),
              ElementsAre("2024-01-02", "2024-01-03"));
  EXPECT_THAT(dates("2024-01-02 00:00:00-05:00", "2024-07-03 00:00:00-0400"),
              ElementsAre("2024-01-02", "2024-07-03"));
  EXPECT_THAT(dates("2024-01-02", "2024-01-03 00:00"), ElementsAre("2024-01-02", "2024-01-03"));
}

TEST(CsvReader, RoundsToTheNearestDouble) {
  const Panel panel = prices(
      "date,A,B,C\n2024-01-02,0.1000000000000000055511151231257827,9007199254740993,"
      "2.2250738585072011e-308\n");
  EXPECT_EQ(panel.values[0], 0.1);
  EXPECT_EQ(panel.values[1], 9007199254740992.0);
  EXPECT_EQ(panel.values[2], 2.2250738585072011e-308);
}

// ---- the file as a whole

TEST(CsvReader, RefusesWhatIsNoTextOrHasNoRows) {
  EXPECT_EQ(error_in(""), "p.csv: is empty; a header line and rows are expected");
  EXPECT_EQ(error_in("\xef\xbb\xbf\n \r\n"),
            "p.csv: is empty; a header line and rows are expected");
  EXPECT_EQ(error_in("date,A,B\n\n"),
            "p.csv: has a header but no rows; one row per period is expected");
  EXPECT_EQ(error_in("\xff\xfe"
                     "d\0a\0"sv),
            "p.csv: is UTF-16 text; save it as UTF-8");
  EXPECT_EQ(error_in("\x1f\x8b\x08"),
            "p.csv: is compressed; unpack it with gunzip, or give it a name that ends in .gz");
  EXPECT_EQ(error_in("PK\x03\x04zip"), "p.csv: is a zip archive or a workbook; export it as CSV");
}

TEST(CsvReader, TakesSemicolonsButNoDecimalCommas) {
  const Panel plain = prices("date,A,B\n2024-01-02,1.5,2.5\n");
  EXPECT_EQ(prices("date;A;B\n2024-01-02;1.5;2.5\n"), plain);
  EXPECT_EQ(prices("\"date\";\"A\";B\r\n2024-01-02;\"1.5\"; 2.5\r\n"), plain);
  EXPECT_THAT(prices("date;A,B;\"C;D\"\n2024-01-02;1;2\n").tickers, ElementsAre("A,B", "C;D"));
  EXPECT_EQ(error_in("date;A;B\n2024-01-02;1,5;2,5\n"),
            "p.csv:2:2: \"1,5\" has a comma inside the number, at line 2, column 2 (ticker A, "
            "2024-01-02); write a decimal point, and no thousands separators: 1234.5");
  EXPECT_THAT(error_in("date;A\n2024-01-02;\"1\",\n"),
              HasSubstr("; put a semicolon or a line end there"));
}

TEST(CsvReader, NamesTabs) {
  EXPECT_EQ(error_in("date\tA\tB\n"),
            "p.csv:1:1: the fields are separated by tabs, at line 1; save the file with commas "
            "between fields and points in numbers");
}

TEST(CsvReader, WantsAHeaderWithTickers) {
  EXPECT_EQ(error_in("date\n2024-01-02\n"),
            "p.csv:1:1: the header names no tickers, at line 1; write a first line such as "
            "date,TICKER,TICKER");
  EXPECT_EQ(error_in("2024-01-02,1,2\n2024-01-03,1,2\n"),
            "p.csv:1:1: line 1 starts with the date \"2024-01-02\" but must be a header; add a "
            "first line such as date,TICKER,TICKER");
}

TEST(CsvReader, NamesBothColumnsOfARepeatedTicker) {
  EXPECT_EQ(error_in("date,A,B,A\n"),
            "p.csv:1:4: the ticker \"A\" is repeated, at line 1, column 2 and column 4; keep one "
            "column per ticker");
}

TEST(CsvReader, RefusesTickersThatCannotBeShown) {
  EXPECT_EQ(error_in("date,A,,B\n"),
            "p.csv:1:3: the ticker is empty, at line 1, column 3; name it or delete it");
  EXPECT_THAT(error_in("date,A,\n"), StartsWith("p.csv:1:3: the ticker is empty"));
  EXPECT_THAT(error_in("date,A,  \n"), StartsWith("p.csv:1:3: the ticker is empty"));
  EXPECT_EQ(error_in("date,A,\x1b[2J\n"),
            "p.csv:1:3: the ticker \"\\x1b[2J\" holds control characters or is not UTF-8, at line "
            "1, column 3; save the file as plain UTF-8 text");
  EXPECT_THAT(error_in("date,Caf\xe9\n"), StartsWith("p.csv:1:2: the ticker \"Caf\\xe9\" holds"));
}

TEST(CsvReader, RefusesBlankLinesBeforeTheEnd) {
  EXPECT_EQ(error_in("\ndate,A\n2024-01-02,1\n"), "p.csv:1: line 1 is blank; delete it");
  EXPECT_EQ(error_in("date,A\n2024-01-02,1\n  \n2024-01-03,1\n"),
            "p.csv:3: line 3 is blank; delete it");
  EXPECT_EQ(error_in("date,A\r\n2024-01-02,1\r\n\r\n2024-01-03,1\r\n"),
            "p.csv:3: line 3 is blank; delete it");
}

TEST(CsvReader, RefusesCarriageReturnsAlone) {
  const std::string tail = "; save the file with LF or CRLF line ends";
  EXPECT_EQ(error_in("date,A\r2024-01-02,1\r"),
            "p.csv:1:2: a carriage return without a line feed, at line 1, column 2" + tail);
  EXPECT_EQ(error_in("date,A,B\n2024-01-02,1\r,2\n"),
            "p.csv:2:2: a carriage return without a line feed, at line 2, column 2" + tail);
  EXPECT_EQ(error_in("date,A\n2024-01-02,1\r"),
            "p.csv:2:2: a carriage return without a line feed, at line 2, column 2" + tail);
}

TEST(CsvReader, RefusesNulBytesWhereverTheyAre) {
  const std::string tail = "; the file is not text, export it again as CSV";
  EXPECT_EQ(error_in("\0\0\0"sv),
            "p.csv:1:1: a NUL byte in \"\\x00\\x00\\x00\", at line 1, "
            "column 1" +
                tail);
  EXPECT_THAT(error_in("date,A\0\n"sv), StartsWith("p.csv:1:2: a NUL byte in \"A\\x00\""));
  EXPECT_THAT(error_in("date,A\n2024-01-02\0,1\n"sv), StartsWith("p.csv:2:1: a NUL byte in "));
  EXPECT_THAT(error_in("date,A\n2024-01-02,1\0\n"sv), StartsWith("p.csv:2:2: a NUL byte in "));
  EXPECT_THAT(error_in("date,A\n2024-01-02,\"1\0\"\n"sv), StartsWith("p.csv:2:2: a NUL byte in "));
  EXPECT_THAT(error_in("date,A\n2024-01-02,1\n\0"sv), StartsWith("p.csv:3:1: a NUL byte in "));
}

TEST(CsvReader, RefusesBrokenQuotes) {
  EXPECT_EQ(error_in("date,A\n2024-01-02,\"1\n"),
            "p.csv:2:2: the quoted field \"\"1\" is not closed on its line, at line 2, column 2; "
            "close the quotation mark");
  EXPECT_THAT(error_in("date,\"A\nB\"\n2024-01-02,1\n"),
              StartsWith("p.csv:1:2: the quoted field \"\"A\" is not closed on its line"));
  EXPECT_EQ(error_in("date,A\n2024-01-02,\"1\"2\n"),
            "p.csv:2:2: text after the closing quotation mark of \"\"1\"\", at line 2, column 2; "
            "put a comma or a line end there");
  EXPECT_EQ(error_in("date,A\n2024-01-02,1\"2\"\n"),
            "p.csv:2:2: a quotation mark inside the unquoted field \"1\"\", at line 2, column 2; "
            "quote the whole field and double the marks inside it");
}

TEST(CsvReader, BoundsFieldsAndColumns) {
  const std::string long_field(kMostFieldBytes + 1, '1');
  EXPECT_EQ(error_in("date,A\n2024-01-02,0." + long_field + "\n"),
            "p.csv:2:2: a field of 1048579 bytes, at line 2, column 2; at most 1048576 are "
            "allowed, is this a CSV file?");
  EXPECT_THAT(error_in("date," + long_field + "\n"), StartsWith("p.csv:1:2: a field of 1048577"));
  EXPECT_THAT(error_in("date,\"" + long_field + "\"\n"), StartsWith("p.csv:1:2: a field of "));
  EXPECT_THAT(error_in(std::string(kMostFieldBytes + 1, ' ') + "date,A\n"),
              StartsWith("p.csv:1:1: a field of "));
  std::string header = "date";
  for (int j = 0; j <= 1'000'000; ++j) header += ",t" + std::to_string(j);
  EXPECT_EQ(error_in(header + "\n"),
            "p.csv:1:1000002: the header has more than 1000000 tickers; is this a CSV file with "
            "one column per ticker?");
}

// ---- rows

TEST(CsvReader, CountsTheFieldsOfARaggedRow) {
  EXPECT_EQ(error_in("date,A,B,C\n2024-01-02,1,2,3\n2024-01-03,1,2\n"),
            "p.csv:3:3: line 3 has 3 fields where 4 are expected, as in the header; "
            "give every row one field per column");
  EXPECT_EQ(error_in("date,A,B,C\n2024-01-02,1,2,3,4,5\n"),
            "p.csv:2:5: line 2 has 6 fields where 4 are expected, as in the header; "
            "give every row one field per column");
  EXPECT_THAT(error_in("date,A,B,C\n2024-01-02,x,\"2,5\"\n"),
              StartsWith("p.csv:2:3: line 2 has 3 fields where 4 are expected"));
  EXPECT_THAT(error_in("date,A,B,C\nnonsense\n"),
              StartsWith("p.csv:2:1: line 2 has 1 field where 4 are expected"));
}

TEST(CsvReader, SuspectsDecimalCommasInARowTwiceAsLong) {
  EXPECT_THAT(error_in("date,A,B\n2024-01-02,1,5,2,5\n"),
              ::testing::EndsWith("; if the numbers have decimal commas, write decimal points"));
}

TEST(CsvReader, NamesTheDateThatIsNone) {
  EXPECT_EQ(date_error("03/01/2024"),
            "p.csv:3:1: \"03/01/2024\" is not a date, at line 3, column 1; write dates as "
            "YYYY-MM-DD");
  EXPECT_EQ(date_error(""),
            "p.csv:3:1: the date is missing, at line 3, column 1; every row has its date");
  EXPECT_EQ(date_error("2024-02-30"),
            "p.csv:3:1: \"2024-02-30\" is not in the calendar, at line 3, column 1; write dates "
            "as YYYY-MM-DD");
  for (const char* date : {"2023-02-29", "2024-13-01", "2024-00-10", "2024-04-31", "0000-01-01"})
    EXPECT_THAT(date_error(date), HasSubstr("is not in the calendar")) << date;
  for (const char* date : {"2024-1-3", "24-01-03", "2024-01-0x", "45293", "Jan 3 2024", "-1"})
    EXPECT_THAT(date_error(date), HasSubstr("is not a date")) << date;
  EXPECT_EQ(date_error("2024-01-03 16:30:00"),
            "p.csv:3:1: \"2024-01-03 16:30:00\" has a time of day, and one row is one period, at "
            "line 3, column 1; write dates as YYYY-MM-DD");
  EXPECT_THAT(date_error("2024-01-03 00:00:00.001"), HasSubstr("has a time of day"));
  for (const char* date : {"2024-01-03x", "2024-01-03 ab", "2024-01-03 00:00:00.", "2024-01-03T",
                           "2024-01-03 00:00:00+1", "2024-01-03 00.5"})
    EXPECT_THAT(date_error(date), HasSubstr("is a date with something after it")) << date;
}

TEST(CsvReader, WantsOneDateFormatPerFile) {
  EXPECT_EQ(date_error("20240103"),
            "p.csv:3:1: the date \"20240103\" is written as YYYYMMDD but line 2 has YYYY-MM-DD, "
            "at line 3, column 1; use one format in the whole file");
  EXPECT_THAT(date_error("2024-02"), HasSubstr("is written as YYYY-MM but line 2 has YYYY-MM-DD"));
}

TEST(CsvReader, NamesBothLinesOfARepeatedDate) {
  EXPECT_EQ(date_error("2024-01-02"),
            "p.csv:3:1: the date 2024-01-02 is repeated, at line 2 and line 3; keep one row per "
            "date");
  EXPECT_THAT(error_in("d,A\n2024-01-02,1\n2024-01-03,1\n2024-01-04,1\n2024-01-03,1\n"),
              HasSubstr("2024-01-03 is repeated, at line 3 and line 5"));
}

TEST(CsvReader, NamesBothLinesOfUnsortedDates) {
  EXPECT_EQ(date_error("2024-01-01"),
            "p.csv:3:1: the dates are not sorted: 2024-01-01 at line 3 comes after 2024-01-02 at "
            "line 2; sort the rows by date, oldest first");
}

// ---- cells

TEST(CsvReader, NamesTheCellThatIsNotANumber) {
  EXPECT_EQ(cell_error("abc"),
            "p.csv:3:3: \"abc\" is not a number, at line 3, column 3 (ticker BB, 2024-01-03); "
            "write a plain decimal number such as 101.25");
  for (const char* text : {"$5", "e5", ".e5", "--1", "+-1", "(5)", "one"})
    EXPECT_THAT(cell_error(text), HasSubstr("\" is not a number, at line 3, column 3")) << text;
}

TEST(CsvReader, NamesTheMissingCell) {
  const std::string expected =
      "p.csv:3:3: the value is missing, at line 3, column 3 (ticker BB, 2024-01-03); fill it, or "
      "drop the ticker or the rows";
  EXPECT_EQ(cell_error(""), expected);
  EXPECT_EQ(cell_error("  "), expected);
  EXPECT_EQ(cell_error("\"\""), expected);
  EXPECT_THAT(error_in("date,A,B\n2024-01-02,,2\n"),
              StartsWith("p.csv:2:2: the value is missing, at line 2, column 2 (ticker A, "));
}

TEST(CsvReader, RefusesWordsForMissingAndInfinite) {
  for (const char* text : {"NaN", "nan", "-nan", "NA", "N/A", "#N/A", "null", "None", "-", "."})
    EXPECT_THAT(cell_error(text), HasSubstr("\" stands for a missing value, at line 3, column 3"))
        << text;
  for (const char* text : {"inf", "-inf", "+Infinity", "INF"})
    EXPECT_THAT(cell_error(text), HasSubstr("\" is not a finite number, at line 3, column 3"))
        << text;
  EXPECT_THAT(cell_error("nan(12)"), HasSubstr("is not a number"));
  EXPECT_THAT(cell_error("infinite"), HasSubstr("is not a number"));
}

TEST(CsvReader, RefusesTrailingTextHexAndOverflow) {
  EXPECT_EQ(cell_error("1.5abc"),
            "p.csv:3:3: \"1.5abc\" has \"abc\" after the number, at line 3, column 3 (ticker BB, "
            "2024-01-03); write a plain decimal number such as 101.25");
  EXPECT_THAT(cell_error("1 2"), HasSubstr("has \" 2\" after the number"));
  EXPECT_THAT(cell_error("1.2.3"), HasSubstr("has \".3\" after the number"));
  EXPECT_THAT(cell_error("1e"), HasSubstr("has \"e\" after the number"));
  EXPECT_THAT(cell_error("1;2"), HasSubstr("has \";2\" after the number"));
  EXPECT_THAT(cell_error("0x1F"), HasSubstr("\"0x1F\" is hexadecimal"));
  EXPECT_THAT(cell_error("1.5%"), HasSubstr("\"1.5%\" is a percentage"));
  EXPECT_THAT(cell_error("1e400"), HasSubstr("\"1e400\" is too large for a double"));
}

TEST(CsvReader, ExplainsCommasInsideNumbers) {
  EXPECT_EQ(cell_error("\"1,5\""),
            "p.csv:3:3: \"1,5\" has a comma inside the number, at line 3, column 3 (ticker BB, "
            "2024-01-03); write a decimal point, and no thousands separators: 1234.5");
}

TEST(CsvReader, ShortensAndEscapesWhatItQuotes) {
  EXPECT_THAT(cell_error(std::string(1000, 'x')),
              HasSubstr("\"" + std::string(39, 'x') + "…\" is"));
  EXPECT_THAT(cell_error("\x1b[31m"), HasSubstr("\"\\x1b[31m\" is not a number"));
  EXPECT_THAT(cell_error("\xff"), HasSubstr("\"\\xff\" is not a number"));
  EXPECT_THAT(error_of([] { return parse_panel("", "a\nb.csv", PanelKind::prices); }),
              StartsWith("a\\x0ab.csv: is empty"));
}

TEST(CsvReader, RefusesPricesThatAreNotPositive) {
  EXPECT_EQ(cell_error("0"),
            "p.csv:3:3: \"0\" is not a price: prices are positive, at line 3, column 3 (ticker "
            "BB, 2024-01-03); correct it, or give returns as --returns");
  EXPECT_THAT(cell_error("-0.5"), HasSubstr("\"-0.5\" is not a price"));
  EXPECT_THAT(cell_error("1e-999"), HasSubstr("\"1e-999\" is not a price"));
  EXPECT_EQ(cell_error("5e-324"), "");
}

TEST(CsvReader, RefusesReturnsBelowATotalLoss) {
  EXPECT_EQ(cell_error("-1.01", PanelKind::returns),
            "p.csv:3:3: \"-1.01\" is not a simple return: no asset loses more than all of its "
            "value (-1), at line 3, column 3 (ticker BB, 2024-01-03); write 0.01 for 1 %, or did "
            "you mean --prices or --returns with --gross?");
  EXPECT_EQ(cell_error("-1", PanelKind::returns), "");
  EXPECT_EQ(cell_error("-0.01", PanelKind::gross_returns),
            "p.csv:3:3: \"-0.01\" is not a gross return 1 + r: no asset loses more than all of "
            "its value (0), at line 3, column 3 (ticker BB, 2024-01-03); leave out --gross if "
            "these are simple returns r");
  EXPECT_EQ(cell_error("0", PanelKind::gross_returns), "");
}

TEST(CsvReader, RecognisesPanelsOfAnotherKind) {
  const std::string gross = "date,A,B\n2024-01-02,1.01,0.98\n2024-01-03,0.95,1.1\n";
  EXPECT_EQ(error_in(gross, PanelKind::returns),
            "p.csv: the values look like gross returns 1 + r (all between 0.95 and 1.1, mean "
            "1.01); add --gross");
  EXPECT_EQ(error_in(gross, PanelKind::gross_returns), "");
  const std::string levels = "date,A,B\n2024-01-02,101,0.15\n2024-01-03,95,1.1\n";
  EXPECT_EQ(error_in(levels, PanelKind::returns),
            "p.csv: the values look like prices (all between 0.15 and 101, mean 49.31); give the "
            "file as --prices");
  EXPECT_EQ(error_in(levels, PanelKind::gross_returns),
            "p.csv: the values look like prices (all between 0.15 and 101, mean 49.31); give the "
            "file as --prices, without --gross");
  EXPECT_EQ(error_in("date,A,B\n2024-01-02,0.01,0.5\n2024-01-03,0,3\n", PanelKind::returns), "");
}

// ---- files

TEST(CsvFile, ReadsWhatTheTextHolds) {
  const std::string text = "date,A\n2024-01-02,1\n";
  const ScratchFile file(text);
  EXPECT_EQ(read_panel(file.path(), PanelKind::prices), prices(text));
}

TEST(CsvFile, NamesItselfInErrors) {
  const ScratchFile file("date,A\n2024-01-02,x\n");
  EXPECT_THAT(error_of([&] { return read_panel(file.path(), PanelKind::prices); }),
              StartsWith(file.path().string() + ":2:2: \"x\" is not a number"));
}

TEST(CsvFile, ReadsPipesLongerThanOneBlock) {
  std::string text = "date,A\n";
  for (int day = 0; day < 200'000; ++day) {
    const int year = 1000 + day / 336;
    const int month = 1 + day / 28 % 12;
    char row[32];
    std::snprintf(row, sizeof row, "%04d-%02d-%02d,%d.5\n", year, month, 1 + day % 28, day + 1);
    text += row;
  }
  ASSERT_GT(text.size(), std::size_t{3} << 20);
  const ScratchFile place("");
  std::filesystem::remove(place.path());
  ASSERT_EQ(::mkfifo(place.path().c_str(), 0600), 0);
  const std::jthread writer([&] { std::ofstream(place.path(), std::ios::binary) << text; });
  EXPECT_EQ(read_panel(place.path(), PanelKind::prices), prices(text));
}

TEST(CsvFile, RefusesWhatCannotBeRead) {
  const auto error = [](const std::filesystem::path& path) {
    return error_of([&] { return read_panel(path, PanelKind::prices); });
  };
  EXPECT_EQ(error("no/such.csv"),
            "no/such.csv: cannot be read: No such file or directory; check the path and its "
            "permissions");
  EXPECT_EQ(error(""), "the file name is empty; name the file to read");
  EXPECT_EQ(error("/"), "/: is a directory; name a file in it");
  EXPECT_EQ(error("/dev/null"), "/dev/null: is empty; a header line and rows are expected");
  EXPECT_THAT(error("/dev/zero"), StartsWith("/dev/zero:1:1: a"));
}

TEST(CsvFile, RefusesMoreThanMemoryHolds) {
  const ScratchFile file("");
  std::error_code unsupported;
  std::filesystem::resize_file(file.path(), std::uintmax_t{1} << 43, unsupported);  // 8 TiB, sparse
  if (unsupported) GTEST_SKIP() << "no sparse files of 8 TiB here: " << unsupported.message();
  EXPECT_EQ(error_of([&] { return read_panel(file.path(), PanelKind::prices); }),
            file.path().string() +
                ": 8796093022208 bytes or more do not fit into memory; split the file by dates or "
                "tickers");
}

}  // namespace
}  // namespace sharpen::market
