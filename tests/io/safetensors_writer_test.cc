#include "io/safetensors_writer.h"

#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "base/dcheck.h"
#include "io/dtype.h"
#include "io/safetensors.h"
#include "io_test_util.h"

namespace rankfall {
namespace {

using test::input_error;
using test::read_all;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::span<const T> view(const std::vector<T>& values) {
  return values;
}

std::vector<double> values_of(const TensorInfo& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  widen<double>(tensor.dtype, tensor.bytes, values);
  return values;
}

TEST(SafetensorsWriter, WhatIsWrittenIsReadBack) {
  const TempDir dir;
  const auto path = dir.path() / "out.safetensors";
  SafetensorsWriter writer(path,
                           {{"f32", DType::kF32, {3}},
                            {"f64", DType::kF64, {2, 2}},
                            {"i32 \"\\\n", DType::kI32, {1}},
                            {"i64", DType::kI64, {}},
                            {"empty", DType::kF64, {0, 7}}},
                           {{"made by", "test"}});
  writer.write(0, 1, view<double>({0.1, 1e300}));
  writer.write(0, 0, view<float>({-1.5F}));
  writer.write(1, 2, view<float>({3, 4}));
  writer.write(1, 0, view<double>({0.1, 2}));
  writer.write(2, 0, view<std::int64_t>({-7}));
  writer.write(3, 0, view<std::int32_t>({std::numeric_limits<std::int32_t>::min()}));
  writer.write(4, 0, view<double>({}));
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.commit();
  EXPECT_EQ(dir.n_files(), 1U);

  const auto file = SafetensorsFile::open(path);
  EXPECT_EQ(file->metadata().at("made by"), "test");
  EXPECT_THAT(values_of(file->at("f32")),
              ElementsAre(-1.5, static_cast<double>(0.1F), std::numeric_limits<double>::infinity()));
  EXPECT_THAT(values_of(file->at("f64")), ElementsAre(0.1, 2, 3, 4));
  EXPECT_THAT(file->at("f64").shape, ElementsAre(2, 2));
  EXPECT_THAT(read_integers(DType::kI32, file->at("i32 \"\\\n").bytes), ElementsAre(-7));
  EXPECT_THAT(read_integers(DType::kI64, file->at("i64").bytes), ElementsAre(std::numeric_limits<std::int32_t>::min()));
  EXPECT_THAT(file->at("empty").shape, ElementsAre(0, 7));
  for (const TensorInfo& tensor : file->tensors()) {
    const auto address = reinterpret_cast<std::uintptr_t>(tensor.bytes.data());  // the map begins at a page
    if (tensor.size() > 0) {
      EXPECT_EQ(address % dtype_size(tensor.dtype), 0U) << tensor.name;
    }
  }
}

TEST(SafetensorsWriter, NoTensorsAtAll) {
  const TempDir dir;
  const auto path = dir.path() / "out.safetensors";
  SafetensorsWriter(path, {}).commit();
  EXPECT_EQ(read_all(path), test::safetensors("{}      "));
}

TEST(SafetensorsWriter, PiecesOfAnySizeFromManyThreads) {
  const TempDir dir;
  const auto path = dir.path() / "out.safetensors";
  constexpr Index kSize = 100'003;
  SafetensorsWriter writer(path, {{"a", DType::kF32, {kSize}}, {"b", DType::kF64, {kSize}}});
  std::vector<double> values(kSize);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i) + 0.5;
  std::vector<std::thread> threads;
  for (Index t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto begin = static_cast<std::size_t>(t * kSize / 4), end = static_cast<std::size_t>((t + 1) * kSize / 4);
      const auto piece = std::span<const double>(values).subspan(begin, end - begin);
      writer.write(0, static_cast<Index>(begin), piece);
      writer.write(1, static_cast<Index>(begin), piece);
    });
  }
  for (auto& thread : threads) thread.join();
  writer.commit();
  const auto file = SafetensorsFile::open(path);
  EXPECT_EQ(values_of(file->at("a")), values);
  EXPECT_EQ(values_of(file->at("b")), values);
}

TEST(SafetensorsWriter, NothingRemainsWithoutCommit) {
  const TempDir dir;
  const auto path = dir.file("out.safetensors", "before");
  {
    SafetensorsWriter writer(path, {{"a", DType::kF32, {2}}});
    writer.write(0, 0, view<float>({1}));
    EXPECT_LE(dir.n_files(), 2U);
    EXPECT_THROW(writer.commit(), Bug);  // one element is missing
  }
  EXPECT_EQ(dir.n_files(), 1U);
  EXPECT_EQ(read_all(path), "before");
}

TEST(SafetensorsWriterHostile, ImpossiblePlans) {
  const TempDir dir;
  const auto usage_error = [&](std::vector<TensorPlan> plans) -> std::string {
    try {
      SafetensorsWriter writer(dir.path() / "f", std::move(plans));
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kUsage);
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(usage_error({{"a", DType::kF32, {1}}, {"a", DType::kF64, {1}}}), HasSubstr("'a': the name is taken"));
  EXPECT_THAT(usage_error({{"__metadata__", DType::kF32, {1}}}), HasSubstr("the name is taken"));
  EXPECT_THAT(usage_error({{"\xff", DType::kF32, {1}}}), HasSubstr("not UTF-8"));
  EXPECT_THAT(usage_error({{"a", DType::kF32, {-1}}}), HasSubstr("size -1"));
  EXPECT_THAT(usage_error({{"a", DType::kF32, {Index{1} << 40, Index{1} << 40}}}), HasSubstr("too many elements"));
  EXPECT_THAT(usage_error({{"a", DType::kF64, {Index{1} << 59}}, {"b", DType::kF64, {Index{1} << 58}}}),
              HasSubstr("too large"));
  EXPECT_EQ(dir.n_files(), 0U);
}

TEST(SafetensorsWriterHostile, WrongWritesAreRefused) {
  const TempDir dir;
  SafetensorsWriter writer(dir.path() / "f", {{"a", DType::kF32, {2}}, {"i", DType::kI32, {1}}});
  EXPECT_THROW(writer.write(2, 0, view<float>({1})), Bug);
  EXPECT_THROW(writer.write(0, 2, view<float>({1})), Bug);
  EXPECT_THROW(writer.write(0, 3, view<float>({})), Bug);
  EXPECT_THROW(writer.write(0, -1, view<float>({1})), Bug);
  EXPECT_THROW(writer.write(1, 0, view<float>({1})), Bug);
  EXPECT_THROW(writer.write(1, 0, view<std::int64_t>({std::int64_t{1} << 31})), Error);
}

TEST(SafetensorsWriterHostile, FullDisk) {
  EXPECT_THAT(input_error([] {
                SafetensorsWriter("/dev/full", {{"a", DType::kF32, {2}}});
              }),
              HasSubstr("the disk is full"));
  const TempDir dir;
  EXPECT_THAT(input_error([&] { SafetensorsWriter(dir.path() / "none" / "f", {}); }),
              HasSubstr("no such file or folder"));
  // 2^61 bytes: no file system has them; known at once, not after the work.
  EXPECT_NE(input_error([&] { SafetensorsWriter(dir.path() / "f", {{"a", DType::kF64, {Index{1} << 58}}}); }), "");
  EXPECT_EQ(dir.n_files(), 0U);
}

}  // namespace
}  // namespace rankfall
