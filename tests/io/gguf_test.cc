#include "io/gguf.h"

#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "io/sha256.h"
#include "io_test_util.h"

namespace rankfall {
namespace {

using test::bytes_of;
using test::input_error;
using test::raw;
using ::testing::HasSubstr;

const std::string kFolder = std::string(RANKFALL_TEST_DATA) + "/gguf/";

std::vector<float> values_of(const GgufTensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.n_rows() * tensor.n_cols()));
  dequantise(*tensor.type, tensor.bytes, values);
  return values;
}

// Files of llama.cpp's converter, and one of an independent program with a tensor of each type.
TEST(Gguf, ValuesEqualTheReferenceBitForBit) {
  int n_tensors = 0;
  for (const char* name : {"llama-f32", "llama-q8_0", "llama-q4_k_m", "gpt2-q4_0", "bert-f16", "types"}) {
    const auto file = GgufFile::open(kFolder + name + "/model.gguf");
    const auto expected = nlohmann::json::parse(std::ifstream(kFolder + name + "/dequantised.json"));
    EXPECT_EQ(file->tensors().size(), expected.size());
    for (const auto& [tensor_name, of] : expected.items()) {
      const GgufTensor* tensor = file->find(tensor_name);
      ASSERT_TRUE(tensor) << name << " " << tensor_name;
      EXPECT_EQ(tensor->type->name, of["type"].get<std::string>());
      EXPECT_EQ(tensor->shape, of["shape"].get<std::vector<Index>>());
      const std::vector<float> values = values_of(*tensor);
      for (std::size_t i = 0; i < of["first"].size(); ++i) EXPECT_EQ(values[i], of["first"][i].get<float>());
      EXPECT_EQ(sha256(std::as_bytes(std::span(values))), of["sha256"].get<std::string>())
          << name << " " << tensor_name << " " << tensor->type->name;
      ++n_tensors;
    }
  }
  EXPECT_GE(n_tensors, 120);
}

TEST(Gguf, ReadsItsMetadata) {
  const auto file = GgufFile::open(kFolder + "llama-f32/model.gguf");
  ASSERT_TRUE(file->value("general.architecture"));
  EXPECT_EQ(std::get<std::string_view>(*file->value("general.architecture")), "llama");
  EXPECT_EQ(std::get<std::int64_t>(*file->value("llama.block_count")), 2);
  EXPECT_EQ(std::get<double>(*file->value("llama.rope.freq_base")), 10000);
  EXPECT_EQ(std::get<double>(*file->value("llama.attention.layer_norm_rms_epsilon")), double{1e-5F});
  const auto& tokens = std::get<GgufList>(*file->value("tokenizer.ggml.tokens"));
  ASSERT_EQ(tokens.texts().size(), 24U);
  EXPECT_EQ(tokens.texts()[1], "<s>");
  EXPECT_TRUE(tokens.integers().empty());
  EXPECT_EQ(std::get<GgufList>(*file->value("tokenizer.ggml.scores")).numbers()[3], -3);
  EXPECT_EQ(std::get<GgufList>(*file->value("tokenizer.ggml.token_type")).integers()[0], 2);
  EXPECT_FALSE(file->value("no.such.key"));
  EXPECT_FALSE(file->find("no.such.tensor"));
}

std::string text(const std::string& s) { return raw(std::uint64_t{s.size()}) + s; }
std::string head(std::uint64_t n_tensors, std::uint64_t n_values) {
  return "GGUF" + raw(std::uint32_t{3}) + raw(n_tensors) + raw(n_values);
}
std::string info(const std::string& name, const std::vector<std::uint64_t>& sizes, std::uint32_t type,
                 std::uint64_t offset) {
  std::string out = text(name) + raw(static_cast<std::uint32_t>(sizes.size()));
  for (const std::uint64_t size : sizes) out += raw(size);
  return out + raw(type) + raw(offset);
}
std::string with_data(std::string bytes, std::size_t n) {
  bytes.resize((bytes.size() + 31) / 32 * 32);
  return bytes + std::string(n, '\1');
}

std::string error_of(const std::string& bytes) {
  return input_error([&] { GgufFile::parse(bytes_of(bytes), "a.gguf"); });
}

TEST(Gguf, HostileFilesAreRefusedWithThePlace) {
  const std::string good = with_data(head(1, 0) + info("w", {32, 2}, 8, 0), 68);
  EXPECT_EQ(GgufFile::parse(bytes_of(good), "a.gguf")->tensors().size(), 1U);
  for (std::size_t n = 0; n < good.size(); ++n) {
    EXPECT_THAT(error_of(good.substr(0, n)), HasSubstr("a.gguf: ")) << n;
  }
  const struct {
    std::string bytes;
    const char* message;
  } kCases[] = {
      {"PK\3\4 something else", "a.gguf: "},
      {"GGUF" + raw(std::uint32_t{0x03000000}) + std::string(40, '\0'), "big-endian"},
      {"GGUF" + raw(std::uint32_t{1}) + std::string(40, '\0'), "version 1, expected 2 or 3"},
      {head(~std::uint64_t{0}, 0), "which 0 bytes cannot hold"},
      {head(0, std::uint64_t{1} << 60) + std::string(100, '\0'), "cannot hold"},
      {head(0, 100'000) + std::string(2'000'000, '\0'), "100000 keys, expected at most"},
      {head(0, 1) + raw(std::uint64_t{70'000}) + std::string(80'000, 'k'), "a key of 70000 bytes, expected at most"},
      {head(0, 1) + text("key") + raw(std::uint32_t{99}) + std::string(20, '\0'), "type 99"},
      {head(0, 1) + text("key") + raw(std::uint32_t{9}) + raw(std::uint32_t{9}) + raw(std::uint64_t{1}) +
           std::string(20, '\0'),
       "list of type 9"},
      {head(0, 1) + text("key") + raw(std::uint32_t{9}) + raw(std::uint32_t{12}) + raw(~std::uint64_t{0}) +
           std::string(20, '\0'),
       "a list of 18446744073709551615 elements"},
      {head(0, 1) + text("key") + raw(std::uint32_t{9}) + raw(std::uint32_t{8}) + raw(~std::uint64_t{0}) +
           std::string(20, '\0'),
       "the download may be incomplete"},
      {head(0, 2) + text("key") + raw(std::uint32_t{7}) + "\1" + text("key") + raw(std::uint32_t{7}) + "\1" +
           std::string(20, '\0'),
       "'key' appears twice"},
      {head(0, 1) + text("general.alignment") + raw(std::uint32_t{4}) + raw(std::uint32_t{3}) + std::string(20, '\0'),
       "no power of two"},
      {head(1, 0) + info("w", {2, 2, 2, 2, 2}, 0, 0), "5 dimensions"},
      {head(1, 0) + info("w", {std::uint64_t{1} << 40, std::uint64_t{1} << 40}, 0, 0), "too large"},
      {head(1, 0) + info("w", {0, 2}, 0, 0), "zero or too large"},
      {head(1, 0) + info("w", {4}, 77, 0), "type 77"},
      {with_data(head(1, 0) + info("w", {33, 32}, 8, 0), 4000), "rows of 33 weights"},
      {with_data(head(1, 0) + info("w", {32, 2}, 8, 8), 400), "expected a multiple of 32"},
      {with_data(head(1, 0) + info("w", {32, 3}, 8, 0), 68), "ends behind the file's end"},
      {with_data(head(1, 0) + info("w", {32, 2}, 8, std::uint64_t{1} << 62), 68), "ends behind the file's end"},
      {with_data(head(2, 0) + info("w", {32, 2}, 8, 0) + info("v", {32, 2}, 8, 32), 200), "overlaps"},
      {with_data(head(2, 0) + info("w", {8}, 0, 0) + info("w", {8}, 0, 32), 200), "'w' appears twice"},
  };
  for (const auto& c : kCases) EXPECT_THAT(error_of(c.bytes), HasSubstr(c.message)) << c.message;
}

// A type that is not read makes no error before somebody asks for its values.
TEST(Gguf, KnowsTypesThatItDoesNotRead) {
  const std::string bytes = with_data(head(1, 0) + info("w", {256, 2}, 17, 0), 148);
  const auto file = GgufFile::parse(bytes_of(bytes), "a.gguf");
  EXPECT_EQ(file->tensors()[0].type->name, "IQ2_XS");
  EXPECT_FALSE(is_readable(*file->tensors()[0].type));
  EXPECT_TRUE(file->tensors()[0].bytes.empty());
}

}  // namespace
}  // namespace rankfall
