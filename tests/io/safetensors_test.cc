#include "io/safetensors.h"

#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "io/dtype.h"
#include "io_test_util.h"

namespace rankfall {
namespace {

using test::bytes_of;
using test::raw;
using test::safetensors;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::filesystem::path kData = RANKFALL_TEST_DATA;

double sum(const TensorInfo& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  widen<double>(tensor.dtype, tensor.bytes, values);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// The numbers are from Python's struct, json and math.fsum on the same file.
TEST(SafetensorsGolden, BertModel) {
  const auto file = SafetensorsFile::open(kData / "families/bert/model.safetensors");
  EXPECT_EQ(file->tensors().size(), 53U);
  const TensorInfo& words = file->at("embeddings.word_embeddings.weight");
  EXPECT_EQ(words.dtype, DType::kF32);
  EXPECT_EQ(words.dtype_name, "F32");
  EXPECT_THAT(words.shape, ElementsAre(61, 32));
  EXPECT_EQ(words.size(), 61 * 32);
  EXPECT_EQ(widen_element<double>(words.dtype, words.bytes.data(), 0), -0.37516188621520996);
  EXPECT_EQ(widen_element<double>(words.dtype, words.bytes.data(), 61 * 32 - 1), -0.8881328105926514);
  EXPECT_NEAR(sum(words), 61.34466659039026, 1e-11);  // 1952 additions of numbers of order 1
  const TensorInfo& dense = file->at("encoder.layer.1.output.dense.weight");
  EXPECT_THAT(dense.shape, ElementsAre(32, 48));
  EXPECT_NEAR(sum(dense), -8.020299942727434, 1e-11);
  file->release(dense);
  EXPECT_NEAR(sum(dense), -8.020299942727434, 1e-11);
}

TEST(SafetensorsGolden, BertInput) {
  const auto file = SafetensorsFile::open(kData / "families/bert/input.safetensors");
  ASSERT_EQ(file->tensors().size(), 1U);
  const TensorInfo& ids = file->at("input_ids");
  EXPECT_THAT(ids.shape, ElementsAre(2, 11));
  EXPECT_THAT(read_integers(ids.dtype, ids.bytes),
              ElementsAre(11, 10, 20, 44, 51, 24, 2, 49, 26, 36, 42, 30, 18, 57, 13, 34, 32, 26, 16, 29, 58, 55));
}

TEST(SafetensorsGolden, EveryReferenceFileOpens) {
  int n = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kData)) {
    if (entry.path().extension() != ".safetensors") continue;
    const auto file = SafetensorsFile::open(entry.path());
    std::size_t total = 0;
    for (const TensorInfo& tensor : file->tensors()) {
      EXPECT_EQ(file->find(tensor.name), &tensor);
      EXPECT_TRUE(std::isfinite(sum(tensor))) << tensor.name;
      total += tensor.bytes.size();
    }
    EXPECT_LT(total, file->file()->bytes().size());
    ++n;
  }
  EXPECT_GE(n, 29);
}

TEST(Safetensors, TensorsComeInTheOrderOfTheirData) {
  const std::string text = safetensors(
      R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"a":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]},)"
      R"("__metadata__":{"format":"pt","":"empty"},"c":{"dtype":"I16","shape":[],"data_offsets":[8,10]}}   )",
      "\1\2\3\4" + raw(2.5F) + raw(std::int16_t{-3}));
  const auto file = SafetensorsFile::parse(bytes_of(text), "memory");
  ASSERT_EQ(file->tensors().size(), 3U);
  EXPECT_EQ(file->tensors()[0].name, "a");
  EXPECT_EQ(file->tensors()[1].name, "b");
  EXPECT_EQ(file->tensors()[2].name, "c");
  EXPECT_EQ(file->where(), "memory");
  EXPECT_EQ(file->file(), nullptr);
  EXPECT_THAT(read_integers(DType::kU8, file->at("a").bytes), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(sum(file->at("b")), 2.5);
  EXPECT_EQ(file->at("c").size(), 1);
  EXPECT_THAT(read_integers(DType::kI16, file->at("c").bytes), ElementsAre(-3));
  EXPECT_EQ(file->find("d"), nullptr);
  EXPECT_EQ(file->find(""), nullptr);
  EXPECT_EQ(file->find("__metadata__"), nullptr);
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_EQ(file->metadata().at(""), "empty");
  file->release(file->at("a"));
}

TEST(Safetensors, EmptyFilesAndTensorsAreLegal) {
  EXPECT_THAT(SafetensorsFile::parse(bytes_of(safetensors("{}")), "t")->tensors(), IsEmpty());
  const std::string text = safetensors(
      R"({"z":{"dtype":"F32","shape":[0,5],"data_offsets":[4,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("y":{"dtype":"F32","shape":[3,0],"data_offsets":[0,0]},"":{"dtype":"F64","shape":[0],"data_offsets":[4,4]}})",
      "1234");
  const auto file = SafetensorsFile::parse(bytes_of(text), "t");
  EXPECT_EQ(file->at("z").size(), 0);
  EXPECT_EQ(file->at("y").bytes.size(), 0U);
  EXPECT_EQ(file->at("").bytes.size(), 0U);
  EXPECT_EQ(file->at("a").bytes.size(), 4U);
}

// The length of a header may have the first bytes of a pickle (0x80 0x02) or of gzip (0x1f 0x8b).
TEST(Safetensors, ALengthThatLooksLikeAnotherFormatIsRead) {
  for (const std::size_t length : {0x0280U, 0x8b1fU}) {
    std::string header = "{}";
    header.resize(length, ' ');
    EXPECT_NO_THROW(SafetensorsFile::parse(bytes_of(safetensors(header)), "t"));
  }
}

TEST(Safetensors, KeysOfLaterVersionsAreIgnored) {
  const std::string text = safetensors(
      R"({"a":{"x":1,"dtype":"U8","y":[{"shape":[9],"dtype":null},-1.5],"shape":[1],"z":{"data_offsets":[7]},)"
      R"("data_offsets":[0,1],"w":"text"}})",
      "1");
  EXPECT_THAT(SafetensorsFile::parse(bytes_of(text), "t")->at("a").shape, ElementsAre(1));
}

TEST(Safetensors, OtherDtypesOfTheFormatAreListedAndRefusedWhenRead) {
  const std::string text = safetensors(
      R"({"a":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"F4","shape":[2,3],"data_offsets":[3,6]},)"
      R"("c":{"dtype":"U16","shape":[1],"data_offsets":[6,8]},"d":{"dtype":"BOOL","shape":[1],"data_offsets":[8,9]}})",
      "123456789");
  const auto file = SafetensorsFile::parse(bytes_of(text), "t");
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_NE(file->find(name), nullptr);
    EXPECT_FALSE(file->find(name)->supported);
    EXPECT_THAT(test::input_error([&] { file->at(name); }),
                ::testing::HasSubstr("cannot be read, expected one of F64 F32"));
  }
  EXPECT_EQ(file->find("b")->dtype_name, "F4");
  EXPECT_TRUE(file->at("d").supported);
}

TEST(Safetensors, TheFileStaysMappedWhileItIsUsed) {
  const test::TempDir dir;
  auto file = SafetensorsFile::open(
      dir.file("f.safetensors", safetensors(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "7")));
  const std::shared_ptr<const MappedFile> mapped = file->file();
  const std::span<const std::byte> bytes = file->at("a").bytes;
  file.reset();
  EXPECT_EQ(bytes[0], std::byte{'7'});
}

}  // namespace
}  // namespace rankfall
