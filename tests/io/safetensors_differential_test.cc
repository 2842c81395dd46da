#include <array>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "io_test_util.h"
#include "plain_safetensors.h"

namespace rankfall {
namespace {

std::optional<plain::Tensors> ours(std::string_view file) {
  try {
    const auto read = SafetensorsFile::parse(test::bytes_of(file), "file");
    plain::Tensors tensors;
    const auto* data = reinterpret_cast<const std::byte*>(file.data() + file.size());
    std::size_t n_data = 0;
    for (const TensorInfo& tensor : read->tensors()) n_data += tensor.bytes.size();
    for (const TensorInfo& tensor : read->tensors()) {
      const auto begin = tensor.bytes.empty() ? 0 : static_cast<std::uint64_t>(tensor.bytes.data() - (data - n_data));
      tensors[tensor.name] = {
          tensor.dtype_name, {tensor.shape.begin(), tensor.shape.end()}, begin, begin + tensor.bytes.size()};
    }
    return tensors;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Where an empty tensor lies means nothing.
std::optional<plain::Tensors> theirs(std::string_view file) {
  auto tensors = plain::read_safetensors(file);
  if (!tensors) return tensors;
  for (auto& [name, tensor] : *tensors) {
    if (tensor.begin == tensor.end) tensor.begin = tensor.end = 0;
  }
  return tensors;
}

std::string with_length(std::string_view header, std::string_view data) {
  return test::raw(static_cast<std::uint64_t>(header.size())) + std::string(header) + std::string(data);
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

  void change(std::string& text) {
    static const std::array<std::string, 34> words = {"{",
                                                      "}",
                                                      "[",
                                                      "]",
                                                      ",",
                                                      ":",
                                                      "\"",
                                                      "0",
                                                      "1",
                                                      "8",
                                                      "-1",
                                                      "1.0",
                                                      "1e2",
                                                      "18446744073709551615",
                                                      "18446744073709551616",
                                                      "9223372036854775807",
                                                      "4611686018427387904",
                                                      "null",
                                                      "true",
                                                      "\"dtype\"",
                                                      "\"shape\"",
                                                      "\"data_offsets\"",
                                                      "\"__metadata__\"",
                                                      "\"F32\"",
                                                      "\"F4\"",
                                                      "\"U16\"",
                                                      "\\u0041",
                                                      "\\ud83d\\ude00",
                                                      "\\ud800",
                                                      "\xc3\xa4",
                                                      "\xed\xa0\x80",
                                                      "1e999",
                                                      " ",
                                                      "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"};
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        text.insert(at, words[below(words.size())]);
        break;
      case 1:
        text.erase(at, 1 + below(4));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(60)));
        break;
      case 4:
        if (at < text.size() && text[at] >= '0' && text[at] <= '9') text[at] = static_cast<char>('0' + below(10));
        break;
      default:
        text.replace(at, std::min(below(8), text.size() - at), words[below(words.size())]);
    }
  }

 private:
  std::mt19937 random_;
};

// The reader against the plain one, on a hundred thousand files that are sound, or nearly.
TEST(SafetensorsDifferential, TheTwoReadersAgree) {
  const std::array<std::string, 5> headers = {
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I8","shape":[2,2],"data_offsets":[8,12]}})",
      R"({"__metadata__":{"k":"v","l":"w"},"x":{"dtype":"BF16","shape":[],"data_offsets":[0,2],"more":[1,{"y":null}]}}  )",
      R"({"e":{"dtype":"F64","shape":[0,3],"data_offsets":[4,4]},"f":{"data_offsets":[0,4],"shape":[8],"dtype":"F4"}})",
      R"({})",
      R"({"z":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},"ä\n":{"dtype":"U16","shape":[1],"data_offsets":[3,5]}})"};
  const std::array<std::size_t, 5> sizes = {12, 2, 4, 0, 5};
  Mutator mutator(1);
  int sound = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::size_t which = mutator.below(headers.size());
    std::string header = headers[which];
    std::size_t size = sizes[which];
    for (std::size_t changes = mutator.below(4); changes > 0; --changes) mutator.change(header);
    if (mutator.below(8) == 0) size = mutator.below(20);
    std::string file = with_length(header, std::string(size, 'd'));
    if (mutator.below(16) == 0) mutator.change(file);
    const auto expected = theirs(file);
    ASSERT_EQ(ours(file), expected) << "file " << i << ": " << header;
    sound += expected ? 1 : 0;
  }
  EXPECT_GT(sound, 20'000);
  EXPECT_LT(sound, 80'000);
}

}  // namespace
}  // namespace rankfall
