#include "io/array_file.h"

#include <gmock/gmock.h>

#include "io/dtype.h"
#include "io_test_util.h"

namespace rankfall {
namespace {

using test::input_error;
using test::raw;
using test::safetensors;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Samples are read when they are asked for, and so are their mistakes found.
void read_each(const SampleArrays& samples) {
  for (std::size_t i = 0; i < samples.size(); ++i) static_cast<void>(samples[i]);
}

TEST(ArrayFile, Safetensors) {
  const TempDir dir;
  const std::string data = raw(std::int32_t{1}) + raw(std::int32_t{2}) + raw(std::int32_t{3}) + raw(std::int32_t{4});
  const auto two = dir.file("two", safetensors(R"({"x":{"dtype":"I32","shape":[2,1],"data_offsets":[0,8]},
                             "y":{"dtype":"I32","shape":[2],"data_offsets":[8,16]}})",
                                               data));
  const ArrayFile file(two);
  const auto samples = file.samples("x", 1);
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_THAT(read_integers(samples[1].dtype, samples[1].bytes), ElementsAre(2));
  EXPECT_THAT(file.samples("y", 1), SizeIs(1));
  EXPECT_THAT(file.samples_if_present("z", 1), IsEmpty());
  EXPECT_THAT(input_error([&] { file.samples("z", 1); }), HasSubstr("found 'x', 'y', expected a tensor 'z'"));
  EXPECT_THAT(input_error([&] { file.samples("x", 3); }), HasSubstr("has shape [2, 1]"));

  const auto one = dir.file("one", safetensors(R"({"other":{"dtype":"I32","shape":[4],"data_offsets":[0,16]}})", data));
  EXPECT_THAT(ArrayFile(one).samples("x", 1), SizeIs(1));  // alone in its file
  const auto empty =
      dir.file("empty", safetensors(R"({"x":{"dtype":"I32","shape":[1000000000000,0],"data_offsets":[0,0]}})"));
  EXPECT_THAT(input_error([&] { ArrayFile(empty).samples("x", 1); }), HasSubstr("it is empty"));
  const auto exotic =
      dir.file("exotic", safetensors(R"({"x":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}})", "abcd"));
  EXPECT_THAT(input_error([&] { ArrayFile(exotic).samples("x", 1); }), HasSubstr("F8_E4M3"));
}

TEST(ArrayFile, Json) {
  const TempDir dir;
  const auto lists = ArrayFile(dir.file("a.json", " [[1, 2, 3], [4, 5]]")).samples("input_ids", 1);
  ASSERT_THAT(lists, SizeIs(2));
  EXPECT_THAT(read_integers(lists[0].dtype, lists[0].bytes), ElementsAre(1, 2, 3));
  EXPECT_THAT(read_integers(lists[1].dtype, lists[1].bytes), ElementsAre(4, 5));
  EXPECT_THAT(ArrayFile(dir.file("a.json", "[7, 8]")).samples("input_ids", 1), SizeIs(1));
  const auto reals = ArrayFile(dir.file("a.json", "[[1, 2], [3, 4.5]]")).samples("hidden_states", 2);
  ASSERT_THAT(reals, SizeIs(1));
  EXPECT_EQ(reals[0].dtype, DType::kF64);
  EXPECT_THAT(reals[0].shape, ElementsAre(2, 2));
  const ArrayFile object(dir.file("b.json", R"({"input_ids": [[1], [2]], "attention_mask": [[1], [0]]})"));
  EXPECT_THAT(object.samples("input_ids", 1), SizeIs(2));
  EXPECT_THAT(object.samples_if_present("attention_mask", 1), SizeIs(2));
  EXPECT_THAT(object.samples_if_present("token_type_ids", 1), IsEmpty());

  const struct {
    const char* text;
    const char* says;
  } cases[] = {
      {"[[1], \"x\"]", "sample 1: found a string, expected a list"},
      {"[[1], [\"x\"]]", "sample 1: found a string, expected a number"},
      {"[[1], [null]]", "sample 1: found a null, expected a number"},
      {"[[[1, 2], [3]]]", "found a array, expected a number"},
      {"[1, 2", "line 1"},
      {"{\"ids\": [1]}", "found no 'input_ids'"},
      {"3", "found a number, expected a list"},
  };
  for (const auto& c : cases) {
    const auto path = dir.file("c.json", c.text);
    EXPECT_THAT(input_error([&] { read_each(ArrayFile(path).samples("input_ids", 1)); }), HasSubstr(c.says)) << c.text;
  }
  const auto ragged = dir.file("d.json", "[[[1, 2], [3]]]");
  EXPECT_THAT(input_error([&] { read_each(ArrayFile(ragged).samples("hidden_states", 2)); }),
              HasSubstr("lists of 2 and of 1 entries"));
}

// Of long lists of samples the first are kept; all are counted.
TEST(ArrayFile, TheFirstSamplesOfJson) {
  const TempDir dir;
  const auto first = [&](const char* text, std::size_t rank, std::size_t n) {
    return ArrayFile(dir.file("f.json", text), rank, n);
  };
  const auto ids = first("[[1, 2], [3], [\"x\"], 4, {\"a\": [[1]]}]", 1, 2).samples("input_ids", 1);
  ASSERT_THAT(ids, SizeIs(5));
  EXPECT_THAT(read_integers(ids[0].dtype, ids[0].bytes), ElementsAre(1, 2));
  EXPECT_THAT(read_integers(ids[1].dtype, ids[1].bytes), ElementsAre(3));
  // A list of numbers is one sample, of rank 2 a list of rows: nothing may be missing.
  EXPECT_THAT(first("[1, 2, 3]", 1, 1).samples("input_ids", 1)[0].shape, ElementsAre(3));
  EXPECT_THAT(first("[[1, 2], [3, 4]]", 2, 1).samples("features", 2)[0].shape, ElementsAre(2, 2));
  EXPECT_THAT(first("[[[1, 2], [3, 4]], [[5, 6]]]", 2, 1).samples("features", 2), SizeIs(2));
  const ArrayFile object = first(
      R"({"other": {"input_ids": [[1], [2]]}, "input_ids": [[1], [2], [3]], "attention_mask": [[1], [0]]})", 1, 1);
  EXPECT_THAT(object.samples("input_ids", 1), SizeIs(3));
  EXPECT_THAT(object.samples_if_present("attention_mask", 1), SizeIs(2));
  EXPECT_THAT(input_error([&] { first("[[1], [2], [3]", 1, 1); }), HasSubstr("line 1"));
}

TEST(ArrayFile, SomethingElse) {
  const TempDir dir;
  EXPECT_THAT(input_error([&] { ArrayFile(dir.path() / "absent"); }), HasSubstr("no such file"));
  EXPECT_THAT(input_error([&] { ArrayFile(dir.file("a.txt", "The quick brown fox jumps")); }), HasSubstr("a.txt"));
}

}  // namespace
}  // namespace rankfall
