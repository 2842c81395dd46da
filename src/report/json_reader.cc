#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "io/json_events.h"
#include "io/utf8.h"
#include "result/legacy.h"
#include "result/manifest.h"
#include "result/row.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

// A result is rows of plain values, so anything deeper, wider or longer than these is something else. Limits hold while
// reading: nothing is kept of what is refused.
constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxKeys = 1000;
constexpr std::size_t kMaxRows = 4'000'000;

constexpr std::int64_t kNoSchema = 1;  // results of 0.1 do not say

// A value that has no values inside.
using Scalar = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string>;

std::string shown(const Scalar& value) {
  const auto json = std::visit(
      [](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) {
          return nlohmann::json();
        } else {
          return nlohmann::json(v);
        }
      },
      value);
  return printable(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 60);
}

std::string_view type_of(const Scalar& value) {
  constexpr std::string_view kNames[] = {"null", "boolean", "number", "number", "number", "string"};
  return kNames[value.index()];
}

// What stands at the top, with its keys in any order, and where we are in it.
class ResultEvents : public JsonEvents {
 public:
  ResultEvents(std::string_view text, std::string_view where) : JsonEvents(text, printable(where), kMaxDepth) {}

  bool null() final { return value(Scalar()); }
  bool boolean(bool v) final { return value(v); }
  bool number_integer(number_integer_t v) final { return value(std::int64_t{v}); }
  bool number_unsigned(number_unsigned_t v) final {
    return v <= INT64_MAX ? value(static_cast<std::int64_t>(v)) : value(std::uint64_t{v});
  }
  bool number_float(number_float_t v, const string_t&) final { return value(v); }
  bool string(string_t& v) final { return value(std::move(v)); }
  bool key(string_t& name) final {
    if (depth() == 1) {
      once(top_keys_, name);
      top_ = name;
      return !done();
    }
    inner_key(name);
    return true;
  }

 protected:
  // Nothing that follows is needed.
  virtual bool done() const { return false; }
  // Values may be moved from. Events inside the value of top(); depth() is that inside it, so 2 for the members of the
  // manifest. Nothing by default.
  virtual void inner_key(std::string& /*name*/) {}
  virtual void inner_open(bool /*object*/) {}
  virtual void inner_close() {}
  virtual void inner_value(Scalar& /*value*/) {}
  // The value of top() itself: a scalar, or what begins.
  virtual void top_value(Scalar& /*value*/) {}
  virtual void top_open(bool /*object*/) {}

  const std::string& top() const { return top_; }

  void once(std::set<std::string>& keys, const std::string& name) const {
    if (!keys.insert(name).second) fail("key {} twice in one object", in_quotes(name));
    if (keys.size() > kMaxKeys) fail("an object with more than {} keys; not a result of rankfall", kMaxKeys);
  }

  [[noreturn]] void expected(std::string_view key, std::string_view found, std::string_view wanted) const {
    fail("'{}' is {}, expected {}", key, found, wanted);
  }
  void need(const std::string& name) const {
    if (!top_keys_.contains(name)) fail("no '{}'; is it a result that rankfall wrote as JSON?", name);
  }

 private:
  void open(bool object) final {
    if (depth() == 1) {
      if (!object) fail("array, expected the object that rankfall writes");
    } else if (depth() == 2) {
      top_open(object);
    } else {
      inner_open(object);
    }
  }
  void close() final {
    if (depth() > 1) inner_close();
  }
  bool value(Scalar v) {
    if (depth() == 0) fail("{}, expected the object that rankfall writes", type_of(v));
    if (depth() == 1) {
      top_value(v);
    } else {
      inner_value(v);
    }
    return true;
  }

  std::set<std::string> top_keys_;
  std::string top_;
};

// Everything but the rows.
class HeadReader final : public ResultEvents {
 public:
  using ResultEvents::ResultEvents;

  Result read() {
    parse();
    for (const char* name : {"rankfall", "command", "manifest"}) need(name);
    Result result;
    add(result.manifest, "rankfall", std::move(version_));
    for (auto& [key, value] : entries_) add(result.manifest, key, std::move(value));
    result.command = std::move(command_);
    return result;
  }
  std::int64_t schema() const { return schema_; }

 private:
  bool done() const override { return found_ == 4; }

  void top_value(Scalar& value) override {
    if (top() == "rankfall" || top() == "command") {
      auto* text = std::get_if<std::string>(&value);
      if (!text) expected(top(), type_of(value), "string");
      (top() == "command" ? command_ : version_) = std::move(*text);
      ++found_;
    } else if (top() == "schema") {
      const auto* number = std::get_if<std::int64_t>(&value);
      if (!number || *number < 1 || *number > kResultSchema) unknown_schema(shown(value));
      schema_ = *number;
      ++found_;
    } else if (top() == "manifest") {
      expected(top(), type_of(value), "object");
    }
  }
  void top_open(bool object) override {
    const std::string_view found = object ? "object" : "array";
    if (top() == "rankfall" || top() == "command") expected(top(), found, "string");
    if (top() == "schema") unknown_schema(found);
    if (top() == "manifest" && !object) expected(top(), found, "object");
  }

  void inner_key(std::string& name) override {
    if (top() != "manifest" || depth() > 2) return;
    once(keys_, name);
    key_ = std::move(name);
  }
  void inner_open(bool object) override {
    if (top() != "manifest") return;
    if (object || depth() > 3) refuse(object ? "object" : "array");
    texts_.clear();
  }
  void inner_close() override {
    if (top() != "manifest") return;
    if (depth() == 2) {
      entries_.emplace_back(key_, std::move(texts_));
      texts_.clear();
    } else {
      ++found_;  // the manifest itself
    }
  }
  void inner_value(Scalar& value) override {
    if (top() != "manifest") return;
    if (depth() == 3) {  // in a list
      auto* text = std::get_if<std::string>(&value);
      if (!text) refuse("array");
      texts_.push_back(std::move(*text));
      return;
    }
    const auto add_entry = [this]<class T>(T& v) {
      if constexpr (std::is_same_v<T, std::uint64_t>) {  // beyond what a manifest holds
        entries_.emplace_back(key_, std::to_string(v));
      } else if constexpr (!std::is_same_v<T, std::monostate>) {
        entries_.emplace_back(key_, std::move(v));
      }
    };
    std::visit(add_entry, value);
  }

  [[noreturn]] void refuse(std::string_view found) const {
    fail("manifest: {} is {}, expected a value or a list of texts", in_quotes(key_), found);
  }
  [[noreturn]] void unknown_schema(std::string_view found) const {
    fail("'schema' is {}, expected a number from 1 to {}; written by a later version of rankfall?", found,
         kResultSchema);
  }

  std::string version_, command_, key_;
  std::int64_t schema_ = kNoSchema;
  int found_ = 0;  // of rankfall, command, schema and manifest
  std::set<std::string> keys_;
  std::vector<std::pair<std::string, ManifestValue>> entries_;
  std::vector<std::string> texts_;
};

// The rows of a result whose head is known.
class RowReader final : public ResultEvents {
 public:
  RowReader(std::string_view text, std::string_view where, std::int64_t schema, std::string_view command)
      : ResultEvents(text, where), is_old_(schema == kNoSchema), command_(command) {}

  std::vector<Row> read() {
    parse();
    need("rows");
    return std::move(rows_);
  }

 private:
  void top_value(Scalar& value) override {
    if (top() == "rows") expected(top(), type_of(value), "array");
  }
  void top_open(bool object) override {
    if (top() == "rows" && object) expected(top(), "object", "array");
  }

  void inner_open(bool object) override {
    if (top() != "rows") return;
    if (depth() > 3) wrong(object ? "object" : "array");
    if (!object) not_a_row("array");
    if (rows_.size() == kMaxRows) fail("more than {} rows", kMaxRows);
    rows_.emplace_back();
    seen_ = 0;
    verdict_.clear();
  }
  void inner_close() override {
    if (top() != "rows" || depth() != 2) return;
    if (seen_ == 0) fail("row {}: is empty; no command writes such", index());
    if (is_old_) upgrade_row(command_, verdict_, rows_.back());
  }
  void inner_key(std::string& name) override {
    if (top() != "rows") return;
    column_ = find_column(is_old_ ? renamed(name) : name);
    if (!column_) fail("row {}: unknown column {}; written by a later version of rankfall?", index(), in_quotes(name));
    const std::uint64_t bit = std::uint64_t{1} << (column_ - columns().data());
    if ((seen_ & bit) != 0) fail("row {}: key {} twice in one object", index(), in_quotes(name));
    seen_ |= bit;
  }
  void inner_value(Scalar& value) override {
    if (top() != "rows") return;
    if (depth() == 2) not_a_row(type_of(value));
    if (is_old_ && column_->name == "verdict") {
      if (const auto* text = std::get_if<std::string>(&value)) verdict_ = *text;
    }
    CellValue cell;
    if (auto* text = std::get_if<std::string>(&value)) cell = *text;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) cell = *whole;
    if (const auto* large = std::get_if<std::uint64_t>(&value)) cell = *large;
    if (const auto* real = std::get_if<double>(&value)) cell = *real;
    if (std::holds_alternative<bool>(value) || !column_->set(rows_.back(), cell)) wrong(shown(value));
  }

  // Of schema 1: a token's piece was its path, a bound's basis its origin.
  std::string_view renamed(std::string_view name) const {
    if (command_ == "tokens" && name == "path") return "text";
    return command_ == "bounds" && name == "origin" ? "basis" : name;
  }

  std::size_t index() const { return rows_.size() - 1; }
  [[noreturn]] void not_a_row(std::string_view found) const {
    fail("row {}: {}, expected an object", rows_.size(), found);
  }
  [[noreturn]] void wrong(std::string_view found) const {
    fail("row {}: '{}' is {}, expected {}", index(), column_->name, found, column_->expected);
  }

  bool is_old_;
  std::string_view command_;
  std::vector<Row> rows_;
  const Column* column_ = nullptr;  // of the value that comes
  std::uint64_t seen_ = 0;          // bits of the columns that the row has
  std::string verdict_;
};

}  // namespace

Result from_json(std::string_view text, std::string_view where) {
  HeadReader head(text, where);
  Result result = head.read();
  result.rows = RowReader(text, where, head.schema(), result.command).read();
  return result;
}

}  // namespace rankfall
