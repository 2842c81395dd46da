#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "io/atomic_file.h"
#include "render/terminal/screen_text.h"
#include "report/row_text.h"
#include <rankfall/report.h>

namespace rankfall {

constexpr std::size_t kBufferBytes = 1 << 18;

struct ResultStream::Impl {
  Format format = Format::kTable;
  std::function<void(std::string_view)> sink;
  std::optional<AtomicFile> file;
  std::string buffer;
  std::vector<Row> line;  // rows of one path, for the table
  bool any_row = false;
  CsvColumns columns = path_columns();
  std::filesystem::path manifest_place;  // beside a CSV file; empty: none
  std::string manifest;

  // The columns that rows of paths have: rows that are yet to come cannot be inspected.
  static CsvColumns path_columns() {
    CsvColumns out;
    for (const Column& column : rankfall::columns()) {
      constexpr std::string_view kNames[] = {"model",  "variant", "metric", "mean",   "length",
                                             "origin", "path",    "status", "verdict"};
      if (std::ranges::find(kNames, column.name) != std::end(kNames)) out.push_back(&column);
    }
    return out;
  }

  void write(std::string_view text) {
    buffer += text;
    if (buffer.size() >= kBufferBytes) flush();
  }
  void flush() {
    if (file) {
      file->write(buffer);
    } else {
      sink(buffer);
    }
    buffer.clear();
  }

  // A path a line: its numbers, then its name.
  void table_row(const Row& row) {
    if (!line.empty() && (line.front().path != row.path || line.front().origin != row.origin)) end_line();
    line.push_back(row);
  }
  void end_line() {
    if (line.empty()) return;
    if (!any_row) {
      std::string head;
      for (const Row& row : line) head += fmt::format("{:>{}}  ", short_name(row.metric), width(row));
      write(head + "origin      path\n");
    }
    std::string text;
    for (const Row& row : line) {
      text += fmt::format("{:>{}}  ", row.mean ? fmt::format("{:.6g}", *row.mean) : "-", width(row));
    }
    write(text + fmt::format("{:<10}  {}\n", to_string(line.front().origin.value_or(Origin{})),
                             to_string(line.front().path.value_or(Heads{}))));
    any_row = true;
    line.clear();
  }
  static std::size_t width(const Row& row) { return std::max<std::size_t>(12, short_name(row.metric).size()); }
  static std::string short_name(const std::string& metric) {
    const auto dot = metric.find('.');
    return dot == std::string::npos ? metric : metric.substr(dot + 1);
  }

  void begin(const Result& head) {
    if (format == Format::kCsv) write(csv_header(columns));
    if (format == Format::kJson) write(json_begin(head));
  }
};

ResultStream::ResultStream(const Result& head, Format format, std::function<void(std::string_view)> sink)
    : impl_(std::make_unique<Impl>()) {
  impl_->format = format;
  impl_->sink = std::move(sink);
  impl_->begin(head);
}

ResultStream::ResultStream(const Result& head, Format format, const std::filesystem::path& file)
    : impl_(std::make_unique<Impl>()) {
  impl_->format = format;
  impl_->file.emplace(file);
  if (format == Format::kCsv) {
    impl_->manifest_place = manifest_file(file);
    impl_->manifest = manifest_json(head);
  }
  impl_->begin(head);
}

ResultStream::~ResultStream() = default;

void ResultStream::add(const Row& row) {
  switch (impl_->format) {
    case Format::kTable:
      impl_->table_row(row);
      return;
    case Format::kCsv:
      impl_->write(csv_line(row, impl_->columns));
      return;
    case Format::kJson:
      impl_->write(json_row(row, !impl_->any_row));
      impl_->any_row = true;
      return;
  }
}

void ResultStream::finish() {
  if (impl_->format == Format::kTable) impl_->end_line();
  if (impl_->format == Format::kJson) impl_->write(json_end(impl_->any_row));
  impl_->flush();
  if (impl_->file) impl_->file->commit();
  if (!impl_->manifest_place.empty()) write_file_atomically(impl_->manifest_place, impl_->manifest);
}

}  // namespace rankfall
