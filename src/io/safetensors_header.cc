#include "io/safetensors_header.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "io/json_events.h"
#include "io/utf8.h"

namespace rankfall {
namespace {

constexpr int kMaxDepth = 8;  // the format needs 3; keys we do not know may hold more

class HeaderReader final : public JsonEvents {
 public:
  HeaderReader(std::string_view text, std::string_view where) : JsonEvents(text, where, kMaxDepth) {}

  SafetensorsHeader take() && { return std::move(header_); }

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("a boolean"); }
  bool number_integer(number_integer_t value) override { return scalar(fmt::format("the negative number {}", value)); }
  bool number_float(number_float_t, const string_t& text) override {
    return scalar(fmt::format("{}, which is not an integer below 2^64", printable(text, 40)));
  }
  bool number_unsigned(number_unsigned_t value) override;
  bool string(string_t& value) override;
  bool key(string_t& name) override;

 private:
  enum class At { kDocument, kTop, kMetadata, kTensor, kShape, kOffsets, kIgnored };
  enum class Field { kDtype, kShape, kOffsets, kOther };

  void open(bool object) override;
  void close() override;

  bool scalar(const std::string& found) {
    if (!ignored()) unexpected(found);
    return true;
  }
  bool ignored() const { return at_ == At::kIgnored || (at_ == At::kTensor && field_ == Field::kOther); }
  [[noreturn]] void unexpected(const std::string& found) const;
  std::string tensor() const { return "tensor " + in_quotes(entry_.name); }
  void first_time(bool& seen, std::string_view field) {
    if (seen) fail("{}: '{}' appears twice", tensor(), field);
    seen = true;
  }
  void finish_tensor();

  SafetensorsHeader header_;
  At at_ = At::kDocument;
  Field field_ = Field::kOther;
  SafetensorsHeader::Entry entry_;  // the one being read
  std::vector<std::uint64_t> offsets_;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
  bool has_metadata_ = false, next_is_metadata_ = false;
  std::string metadata_key_;
  int ignored_below_ = 0;  // depth of the object that holds the ignored value
};

bool HeaderReader::key(string_t& name) {
  switch (at_) {
    case At::kTop:
      next_is_metadata_ = name == "__metadata__";
      if (next_is_metadata_ && std::exchange(has_metadata_, true)) fail("'__metadata__' appears twice");
      entry_ = {};
      entry_.name = std::move(name);
      break;
    case At::kTensor:
      if (name == "dtype") {
        first_time(has_dtype_, name);
        field_ = Field::kDtype;
      } else if (name == "shape") {
        first_time(has_shape_, name);
        field_ = Field::kShape;
      } else if (name == "data_offsets") {
        first_time(has_offsets_, name);
        field_ = Field::kOffsets;
      } else {
        field_ = Field::kOther;
      }
      break;
    case At::kMetadata:
      if (header_.metadata.size() >= kMaxSafetensorsEntries) {
        fail("more than {} metadata entries", kMaxSafetensorsEntries);
      }
      metadata_key_ = std::move(name);
      break;
    default:
      break;
  }
  return true;
}

bool HeaderReader::string(string_t& value) {
  if (at_ == At::kTensor && field_ == Field::kDtype) {
    entry_.dtype = std::move(value);
  } else if (at_ == At::kMetadata) {
    const bool is_new = header_.metadata.try_emplace(metadata_key_, std::move(value)).second;
    if (!is_new) fail("metadata key {} appears twice", in_quotes(metadata_key_));
  } else if (!ignored()) {
    unexpected("the text " + in_quotes(value));
  }
  return true;
}

bool HeaderReader::number_unsigned(number_unsigned_t value) {
  if (at_ == At::kShape) {
    if (entry_.shape.size() >= kMaxTensorDimensions) {
      fail("{}: more than {} dimensions", tensor(), kMaxTensorDimensions);
    }
    entry_.shape.push_back(value);
  } else if (at_ == At::kOffsets) {
    if (offsets_.size() >= 2) fail("{}: more than two data_offsets, expected [begin, end]", tensor());
    offsets_.push_back(value);
  } else if (!ignored()) {
    unexpected(fmt::format("the number {}", value));
  }
  return true;
}

void HeaderReader::open(bool object) {
  if (at_ == At::kIgnored) return;
  if (ignored()) {
    ignored_below_ = depth() - 1;
    at_ = At::kIgnored;
  } else if (at_ == At::kDocument && object) {
    at_ = At::kTop;
  } else if (at_ == At::kTop && object) {
    at_ = next_is_metadata_ ? At::kMetadata : At::kTensor;
    has_dtype_ = has_shape_ = has_offsets_ = false;
    offsets_.clear();
  } else if (at_ == At::kTensor && field_ == Field::kShape && !object) {
    at_ = At::kShape;
  } else if (at_ == At::kTensor && field_ == Field::kOffsets && !object) {
    at_ = At::kOffsets;
  } else {
    unexpected(object ? "an object" : "an array");
  }
}

void HeaderReader::close() {
  switch (at_) {
    case At::kIgnored:
      if (depth() == ignored_below_) at_ = At::kTensor;
      break;
    case At::kShape:
    case At::kOffsets:
      at_ = At::kTensor;
      break;
    case At::kTensor:
      finish_tensor();
      at_ = At::kTop;
      break;
    case At::kMetadata:
      at_ = At::kTop;
      break;
    default:
      at_ = At::kDocument;
      break;
  }
}

void HeaderReader::finish_tensor() {
  if (!has_dtype_ || !has_shape_ || !has_offsets_) {
    fail("{}: no '{}'", tensor(), !has_dtype_ ? "dtype" : !has_shape_ ? "shape" : "data_offsets");
  }
  if (offsets_.size() != 2) fail("{}: {} data_offsets, expected two: [begin, end]", tensor(), offsets_.size());
  if (header_.entries.size() >= kMaxSafetensorsEntries) fail("more than {} tensors", kMaxSafetensorsEntries);
  entry_.begin = offsets_[0];
  entry_.end = offsets_[1];
  header_.entries.push_back(std::move(entry_));
}

void HeaderReader::unexpected(const std::string& found) const {
  switch (at_) {
    case At::kDocument:
      fail("the header is " + found + ", expected an object");
    case At::kTop:
      fail("{} is {}, expected an object", next_is_metadata_ ? "'__metadata__'" : tensor(), found);
    case At::kMetadata:
      fail("metadata {} is {}, expected a text", in_quotes(metadata_key_), found);
    case At::kShape:
      fail("{}: the shape contains {}, expected sizes of 0 or more", tensor(), found);
    case At::kOffsets:
      fail("{}: data_offsets contain {}, expected [begin, end]", tensor(), found);
    default:
      break;
  }
  switch (field_) {
    case Field::kDtype:
      fail("{}: dtype is {}, expected a text such as \"F32\"", tensor(), found);
    case Field::kShape:
      fail("{}: shape is {}, expected an array of sizes", tensor(), found);
    default:
      fail("{}: data_offsets is {}, expected [begin, end]", tensor(), found);
  }
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text, std::string_view where) {
  HeaderReader reader(text, fmt::format("{}: header", where));
  reader.parse();
  SafetensorsHeader header = std::move(reader).take();

  auto names = mapped<std::string_view>(header.entries, &SafetensorsHeader::Entry::name);
  std::sort(names.begin(), names.end());
  if (const auto twin = std::adjacent_find(names.begin(), names.end()); twin != names.end()) {
    throw input_error("{}: header: tensor {} appears twice", where, in_quotes(*twin));
  }
  return header;
}

}  // namespace rankfall
