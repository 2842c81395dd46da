#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "io/safetensors.h"
#include "io/safetensors_header.h"
#include "io_test_util.h"

namespace rankfall {
namespace {

using test::bytes_of;
using test::input_error;
using test::raw;
using test::safetensors;
using test::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Through a real file, so that a read past its end would be noticed by the sanitizer or the page.
std::string open_error(std::string_view content) {
  const TempDir dir;
  const auto path = dir.file("f.safetensors", content);
  const std::string text = input_error([&] { SafetensorsFile::open(path); });
  EXPECT_THAT(text, HasSubstr("f.safetensors: "));
  if (!content.empty()) {
    EXPECT_EQ(input_error([&] { SafetensorsFile::parse(bytes_of(content), path.string()); }), text);
  }
  return text;
}

std::string header_error(std::string_view header, std::string_view data = "") {
  return open_error(safetensors(header, data));
}

// A file with the one tensor {"t": {...}}.
std::string tensor_error(std::string_view fields, std::string_view data = "") {
  return header_error(fmt::format(R"({{"t":{{{}}}}})", fields), data);
}

std::string two(std::string_view offsets_a, std::string_view offsets_b, std::string_view data) {
  return header_error(fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":{}}},)"
                                  R"("b":{{"dtype":"U8","shape":[4],"data_offsets":{}}}}})",
                                  offsets_a, offsets_b),
                      data);
}

TEST(SafetensorsHostile, OtherKindsOfFile) {
  using namespace std::string_literals;
  EXPECT_THAT(open_error("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"),
              AllOf(HasSubstr("Git LFS pointer"), HasSubstr("git lfs pull")));
  EXPECT_THAT(open_error("<!DOCTYPE html>\n<html><body>404</body></html>"), HasSubstr("HTML page"));
  EXPECT_THAT(open_error("\n <HTML><body>404</body></html>"), HasSubstr("HTML page"));
  EXPECT_THAT(open_error("<?xml version=\"1.0\"?><Error/>"), HasSubstr("XML document"));
  EXPECT_THAT(open_error("PK\x03\x04\x00\x00\x08\x08\x00\x00\x00\x00"s),
              AllOf(HasSubstr("zip"), HasSubstr("execute code")));
  EXPECT_THAT(open_error("\x80\x02}q\x00X\x05\x00\x00\x00"s), AllOf(HasSubstr("pickle"), HasSubstr("execute code")));
  EXPECT_THAT(open_error("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb"s), HasSubstr("gzip"));
  EXPECT_THAT(open_error("\x93NUMPY\x01\x00v\x00{'descr'"s), HasSubstr("NumPy"));
  EXPECT_THAT(open_error("GGUF\x03\x00\x00\x00\x00\x00\x00"s), HasSubstr("GGUF"));
  EXPECT_THAT(open_error("\x89HDF\r\n\x1a\n\x00\x00\x00"s), HasSubstr("HDF5"));
  EXPECT_THAT(open_error("{\"weight_map\": {}}"), HasSubstr("JSON"));
  EXPECT_THAT(open_error(std::string(5000, '\0')), HasSubstr("zeros"));
  EXPECT_THAT(open_error("random bytes, nothing known"), HasSubstr("not a safetensors file"));
}

TEST(SafetensorsHostile, Length) {
  EXPECT_THAT(open_error(""), HasSubstr("is empty"));
  EXPECT_THAT(open_error("abc"), HasSubstr("3 bytes, a safetensors file has at least 8"));
  EXPECT_THAT(open_error(raw(std::uint64_t{100'000'001}) + "{}"), HasSubstr("header of 100000001 bytes"));
  EXPECT_THAT(open_error(raw(~std::uint64_t{0}) + "{}"), HasSubstr("header of 18446744073709551615 bytes"));
  EXPECT_THAT(open_error(raw(std::uint64_t{10}) + "{}"),
              HasSubstr("the header has 2 bytes, expected 10; the download may be incomplete"));
  EXPECT_THAT(open_error(raw(std::uint64_t{10})), HasSubstr("not a safetensors file"));
  EXPECT_THAT(open_error(raw(std::uint64_t{0}) + "{}"), HasSubstr("not a safetensors file"));
}

TEST(SafetensorsHostile, HeaderText) {
  EXPECT_THAT(header_error("[]"), HasSubstr("not a safetensors file"));
  EXPECT_THAT(header_error(" {}"), HasSubstr("not a safetensors file"));
  EXPECT_THAT(header_error("\xef\xbb\xbf{}"), HasSubstr("not a safetensors file"));
  EXPECT_THAT(header_error("{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_error("{}{}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(header_error("{\"\xc3(\":1}"), HasSubstr("not UTF-8"));
  EXPECT_THAT(header_error(std::string_view("{}\0", 3)), HasSubstr("NUL"));
  EXPECT_THAT(header_error("{\"t\": 1}"), HasSubstr("tensor 't' is the number 1, expected an object"));
  EXPECT_THAT(header_error("{\"t\": []}"), HasSubstr("tensor 't' is an array, expected an object"));
  EXPECT_THAT(header_error("{\"t\": null}"), HasSubstr("tensor 't' is null, expected an object"));
  EXPECT_THAT(header_error("{\"t\\u001b[2J\": true}"),
              AllOf(HasSubstr("'t\\x1b[2J' is a boolean"), Not(HasSubstr("\x1b"))));
}

TEST(SafetensorsHostile, Nesting) {
  std::string deep = "{\"t\":{\"x\":" + std::string(50'000'000, '[');
  EXPECT_THAT(header_error(deep), HasSubstr("nested more than 8 levels"));
  deep = "{\"t\":";
  for (int i = 0; i < 1'000'000; ++i) deep += "{\"x\":";
  EXPECT_THAT(header_error(deep), HasSubstr("nested more than 8 levels"));
}

TEST(SafetensorsHostile, Metadata) {
  EXPECT_THAT(header_error(R"({"__metadata__":{"a":1}})"), HasSubstr("metadata 'a' is the number 1, expected a text"));
  EXPECT_THAT(header_error(R"({"__metadata__":{"a":{}}})"), HasSubstr("metadata 'a' is an object, expected a text"));
  EXPECT_THAT(header_error(R"({"__metadata__":"pt"})"),
              HasSubstr("'__metadata__' is the text 'pt', expected an object"));
  EXPECT_THAT(header_error(R"({"__metadata__":{"a":"1","a":"2"}})"), HasSubstr("metadata key 'a' appears twice"));
  EXPECT_THAT(header_error(R"({"__metadata__":{},"__metadata__":{}})"), HasSubstr("'__metadata__' appears twice"));
}

TEST(SafetensorsHostile, Duplicates) {
  EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                           R"("\u0061":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                           "12"),
              HasSubstr("tensor 'a' appears twice"));
  EXPECT_THAT(tensor_error(R"("dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1])", "1"),
              HasSubstr("'dtype' appears twice"));
  EXPECT_THAT(tensor_error(R"("dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1])", "1"),
              HasSubstr("'shape' appears twice"));
  EXPECT_THAT(tensor_error(R"("dtype":"U8","shape":[1],"data_offsets":[0,1],"data_offsets":[0,1])", "1"),
              HasSubstr("'data_offsets' appears twice"));
}

TEST(SafetensorsHostile, MissingFields) {
  EXPECT_THAT(tensor_error(""), HasSubstr("tensor 't': no 'dtype'"));
  EXPECT_THAT(tensor_error(R"("dtype":"U8","data_offsets":[0,1])", "1"), HasSubstr("no 'shape'"));
  EXPECT_THAT(tensor_error(R"("dtype":"U8","shape":[1])", "1"), HasSubstr("no 'data_offsets'"));
}

TEST(SafetensorsHostile, Dtype) {
  EXPECT_THAT(tensor_error(R"("dtype":"Q4_K","shape":[1],"data_offsets":[0,1])", "1"),
              HasSubstr("dtype 'Q4_K' is unknown, expected one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL"));
  EXPECT_THAT(tensor_error(R"("dtype":"f32","shape":[1],"data_offsets":[0,4])", "1234"), HasSubstr("'f32' is unknown"));
  EXPECT_THAT(tensor_error(R"("dtype":1,"shape":[1],"data_offsets":[0,1])", "1"), HasSubstr("dtype is the number 1"));
  EXPECT_THAT(tensor_error(R"("dtype":["U8"],"shape":[1],"data_offsets":[0,1])", "1"), HasSubstr("dtype is an array"));
  EXPECT_THAT(tensor_error(R"("dtype":"F4","shape":[3],"data_offsets":[0,1])", "1"),
              HasSubstr("does not fill whole bytes"));
}

TEST(SafetensorsHostile, Shape) {
  const auto shape_error = [](std::string_view shape) {
    return tensor_error(fmt::format(R"("dtype":"U8","shape":{},"data_offsets":[0,1])", shape), "1");
  };
  EXPECT_THAT(shape_error("[-1]"), HasSubstr("shape contains the negative number -1"));
  EXPECT_THAT(shape_error("[-1,-1]"), HasSubstr("shape contains the negative number -1"));
  EXPECT_THAT(shape_error("[1.0]"), HasSubstr("shape contains 1.0, which is not an integer"));
  EXPECT_THAT(shape_error("[18446744073709551616]"), HasSubstr("which is not an integer below 2^64"));
  EXPECT_THAT(shape_error("[18446744073709551615]"), HasSubstr("too many elements"));
  EXPECT_THAT(shape_error("[9223372036854775807,2]"), HasSubstr("too many elements"));
  EXPECT_THAT(shape_error("[4294967296,4294967296]"), HasSubstr("too many elements"));  // 2^64 wraps to 0
  EXPECT_THAT(shape_error("[4294967297,4294967297,4294967297]"), HasSubstr("too many elements"));
  EXPECT_THAT(shape_error("[0,4294967296,4294967296]"), HasSubstr("too many elements"));
  EXPECT_THAT(shape_error("[\"1\"]"), HasSubstr("shape contains the text '1'"));
  EXPECT_THAT(shape_error("[[1]]"), HasSubstr("shape contains an array"));
  EXPECT_THAT(shape_error("[null]"), HasSubstr("shape contains null"));
  EXPECT_THAT(shape_error("1"), HasSubstr("shape is the number 1"));
  EXPECT_THAT(shape_error("{}"), HasSubstr("shape is an object"));
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_THAT(shape_error(ones + "]"), HasSubstr("more than 64 dimensions"));
  // 2^62 bytes are addressable, 2^62 elements of 8 bytes are not.
  EXPECT_THAT(tensor_error(R"("dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,0])"),
              HasSubstr("too many elements"));
}

TEST(SafetensorsHostile, Offsets) {
  const auto offset_error = [](std::string_view offsets) {
    return tensor_error(fmt::format(R"("dtype":"U8","shape":[4],"data_offsets":{})", offsets), "1234");
  };
  EXPECT_THAT(offset_error("[4,0]"), HasSubstr("data_offsets [4, 0] are reversed"));
  EXPECT_THAT(offset_error("[0,3]"), HasSubstr("span 3 bytes, expected 4 ([4] U8)"));
  EXPECT_THAT(offset_error("[0,5]"), HasSubstr("span 5 bytes, expected 4 ([4] U8)"));
  EXPECT_THAT(offset_error("[-4,0]"), HasSubstr("data_offsets contain the negative number -4"));
  EXPECT_THAT(offset_error("[0,4.0]"), HasSubstr("data_offsets contain 4.0"));
  EXPECT_THAT(offset_error("[]"), HasSubstr("0 data_offsets, expected two"));
  EXPECT_THAT(offset_error("[0]"), HasSubstr("1 data_offsets, expected two"));
  EXPECT_THAT(offset_error("[0,4,4]"), HasSubstr("more than two data_offsets"));
  EXPECT_THAT(offset_error("4"), HasSubstr("data_offsets is the number 4"));
  EXPECT_THAT(offset_error("[18446744073709551611,18446744073709551615]"), HasSubstr("out of range"));
  EXPECT_THAT(offset_error("[9223372036854775803,9223372036854775807]"), HasSubstr("belong to no tensor"));
}

TEST(SafetensorsHostile, OverlapsAndHoles) {
  EXPECT_THAT(two("[0,4]", "[2,6]", "123456"),
              AllOf(HasSubstr("tensor 'b': begins at 2 and overlaps"), HasSubstr("'a'")));
  EXPECT_THAT(two("[0,4]", "[0,4]", "1234"), HasSubstr("overlaps"));
  EXPECT_THAT(two("[5,9]", "[0,4]", "123456789"),
              AllOf(HasSubstr("tensor 'a': begins at 5, expected 4"), HasSubstr("'b'")));
  EXPECT_THAT(two("[1,5]", "[5,9]", "123456789"),
              HasSubstr("tensor 'a': begins at 1, expected 0, the end of the header"));
  EXPECT_THAT(two("[0,4]", "[4,8]", "123456789"), HasSubstr("the last 1 belong to no tensor"));
  EXPECT_THAT(header_error("{}", "1"), HasSubstr("the last 1 belong to no tensor"));
  EXPECT_THAT(header_error(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})"),
              HasSubstr("belong to no tensor"));
}

TEST(SafetensorsHostile, EveryTruncationIsNoticed) {
  const std::string whole = safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                                        R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})",
                                        "12345678abc");
  EXPECT_NO_THROW(SafetensorsFile::parse(bytes_of(whole), "t"));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_NE(open_error(whole.substr(0, n)), "") << n;
  }
  EXPECT_THAT(
      open_error(whole.substr(0, whole.size() - 5)),
      HasSubstr(fmt::format("{} bytes, expected {}; the download may be incomplete", whole.size() - 5, whole.size())));
}

// Any single changed byte of the header gives an error or a file whose parts still agree.
TEST(SafetensorsHostile, ChangedBytes) {
  const std::string whole =
      safetensors(R"({"a":{"dtype":"F16","shape":[2,1],"data_offsets":[0,4]},"__metadata__":{"k":"v"}})", "1234");
  for (std::size_t i = 0; i < whole.size() - 4; ++i) {
    for (int b = 0; b < 256; ++b) {
      std::string changed = whole;
      changed[i] = static_cast<char>(b);
      try {
        const auto file = SafetensorsFile::parse(bytes_of(changed), "t");
        for (const auto& tensor : file->tensors()) ASSERT_LE(tensor.bytes.size(), 4U);
      } catch (const Error& e) {
        ASSERT_EQ(e.kind(), ErrorKind::kInput);
      }
    }
  }
}

TEST(SafetensorsHostile, TooManyTensors) {
  std::string header = "{";
  for (std::size_t i = 0; i <= kMaxSafetensorsEntries; ++i) {
    header += fmt::format(R"("{}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}},)", i);
  }
  header.back() = '}';
  EXPECT_THAT(input_error([&] { SafetensorsFile::parse(bytes_of(safetensors(header)), "t"); }),
              HasSubstr("more than 1000000 tensors"));
}

TEST(SafetensorsHostile, MissingTensor) {
  const std::string text = safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "1");
  const auto file = SafetensorsFile::parse(bytes_of(text), "t");
  EXPECT_THAT(input_error([&] { file->at("b"); }), HasSubstr("t: no tensor 'b' among its 1, such as 'a'"));
}

}  // namespace
}  // namespace rankfall
