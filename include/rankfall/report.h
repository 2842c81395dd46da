#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rankfall/export.h>
#include <rankfall/result.h>

// Results as text. Writers see only the Result; what they cannot show in their format (bytes that are not UTF-8)
// becomes U+FFFD. Thread-safe: no shared state.

namespace rankfall {

enum class Format { kTable, kCsv, kJson };

// Results hold values of several levels: of single samples, means over samples, and means over seeds of these.
enum class RowLevel {
  kHighest,  // the highest that each metric has
  kSeeds,    // means over seeds
  kSamples,  // means over samples, one for each seed
  kAll,
};
// The result with rows of one level, so that no value stands twice. Rows that have no other level are always kept.
// Throws Error kUsage for kSeeds where there are no means over seeds.
RANKFALL_API Result at_level(const Result& result, RowLevel level);

struct TableOptions {
  // Metrics to show, in this order. Empty: relative_residual.composite or log10_relative_residual.composite if the
  // result has it, otherwise all.
  std::vector<std::string> metrics = {};
  bool colour = false;    // ANSI escapes
  int width = 100;        // columns of the terminal; values below 40 count as 40
  bool unicode = true;    // false: ASCII only
  bool plot = false;      // curves as a plot in characters under their table
  std::string more = {};  // where every row is, said at the end: "with --format csv"; empty: not said
};

// For people: per model and metric a block of layers by variants with bars, a sentence per variant under relative
// residuals, and a plain table of what has no layer. Names are made harmless for a terminal.
RANKFALL_API std::string to_table(const Result& result, const TableOptions& options = {});

// What was found, in one to three sentences made from the numbers: those that a table begins with. With names as they
// came.
RANKFALL_API std::vector<std::string> answers(const Result& result, const TableOptions& options = {});

// A list for people: names with explanations beside them, wrapped to the width; a line without an explanation is a
// heading. Without Unicode the signs of formulas are spelled out. For text of our own, not for names from outside.
struct ExplainedName {
  std::string name, explanation;
};
RANKFALL_API std::string to_list(const std::vector<ExplainedName>& lines, const TableOptions& options = {});

// Text with pieces from outside, fit for a terminal: whatever could control or confuse it (escape sequences, control
// characters other than the end of a line, text-direction overrides, bytes that are not UTF-8) is spelled out as \xNN
// or \u{N}.
RANKFALL_API std::string for_terminal(std::string_view text);

// RFC 4180 with \n, a header line, and every column in which some row has a value; absent values are empty. The
// manifest is not part of it. A model's name or a token's text that a spreadsheet would run (it begins with =, +,
// -, @, a tab or a carriage return) has an apostrophe before it.
RANKFALL_API std::string to_csv(const Result& result);

// {"rankfall": version, "schema": kResultSchema, "command": ..., "manifest": {...}, "rows": [...]}, one row a line,
// every column, absent values null. The version is the manifest's entry "rankfall", or this library's. Numbers read
// back to the same bits.
RANKFALL_API std::string to_json(const Result& result);

// The inverse of to_json; `where` names the source in error texts. The version becomes the manifest's first entry.
// Throws Error kInput for anything that is not such a text.
RANKFALL_API Result from_json(std::string_view text, std::string_view where);

// Where save() puts the manifest of a CSV file, which has no place for it: results.manifest.json beside results.csv.
RANKFALL_API std::filesystem::path manifest_file(const std::filesystem::path& csv);

// Writes the whole file or none of it; of a CSV file, the manifest beside it, too, unless `manifest` is false: where
// the same result stands beside it as JSON.
RANKFALL_API void save(const Result& result, const std::filesystem::path& file, Format format,
                       const TableOptions& options = {}, bool manifest = true);

// Several results as one page.
struct NamedResult {
  std::string name;  // of the file, say: tells results of the same model apart
  Result result;
};
// A result that was saved as JSON, named after its file. Throws Error kInput, naming the file, on anything else.
RANKFALL_API NamedResult read_result(const std::filesystem::path& file);

struct PageOptions {
  std::string title;         // empty: a general one
  std::string subtitle;      // empty: the models and how many results
  std::string date = {};     // when the results were made into a page; empty: not shown
  std::string command = {};  // that made the page; empty: not shown
};
struct Page {
  std::string html;  // complete: needs no other file and no network
  // Each chart by itself, with its data: file name ("s1-curves-1.vl.json") and Vega-Lite.
  std::vector<std::pair<std::string, std::string>> charts;
};

// The report page. Results of one command share a section and are compared; everything in them is data, not markup.
// Throws Error kUsage when there is nothing to show, too much, or the library was built without the page's script.
RANKFALL_API Page make_page(const std::vector<NamedResult>& results, const PageOptions& options = {});

// Writes the charts into the folder, unless its name is empty, then the page: each file whole or not at all.
RANKFALL_API void save(const Page& page, const std::filesystem::path& file, const std::filesystem::path& charts);

// The same row by row, for results that are too large for memory: CSV, JSON, or as a table one line for the rows of
// each path. Rows of `head` are not written. A file appears when finish() is called, complete or not at all.
class RANKFALL_API ResultStream {
 public:
  ResultStream(const Result& head, Format format, std::function<void(std::string_view text)> sink);
  ResultStream(const Result& head, Format format, const std::filesystem::path& file);
  ~ResultStream();
  ResultStream(const ResultStream&) = delete;
  ResultStream& operator=(const ResultStream&) = delete;

  void add(const Row& row);
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rankfall
