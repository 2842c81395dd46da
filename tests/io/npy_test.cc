#include "io/npy.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "io/dtype.h"
#include "io_test_util.h"

namespace rankfall {
namespace {

using namespace std::string_literals;
using test::bytes_of;
using test::input_error;
using test::raw;
using test::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string npy(std::string_view header, std::string_view data, int version = 1) {
  std::string text = "\x93NUMPY" + std::string(1, static_cast<char>(version)) + '\0';
  text +=
      version == 1 ? raw(static_cast<std::uint16_t>(header.size())) : raw(static_cast<std::uint32_t>(header.size()));
  return text + std::string(header) + std::string(data);
}

std::string dict(std::string_view descr, std::string_view order, std::string_view shape) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, order, shape);
}

std::vector<double> values_of(const NpyArray& array) {
  std::vector<double> values(array.bytes.size() / dtype_size(array.dtype));
  widen<double>(array.dtype, array.bytes, values);
  return values;
}

NpyArray parse(const std::string& text) { return parse_npy(bytes_of(text), "a.npy"); }

std::string npy_error(const std::string& text) {
  return input_error([&] { parse(text); });
}

std::string count(std::size_t n) {
  std::string bytes;
  for (std::size_t i = 0; i < n; ++i) bytes += static_cast<char>(i);
  return bytes;
}

// The bytes that numpy.save writes for numpy.arange(6, dtype='<f4').reshape(2, 3): the header ends at a multiple of 64.
TEST(NpyGolden, ArangeAsNumpyWritesIt) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  header.resize(128 - 10 - 1, ' ');
  header += '\n';
  std::string text = "\x93NUMPY\x01\x00\x76\x00"s + header;
  ASSERT_EQ(text.size(), 128U);
  for (const float x : {0.F, 1.F, 2.F, 3.F, 4.F, 5.F}) text += raw(x);
  const TempDir dir;
  const auto path = dir.file("a.npy", text);
  const NpyArray array = read_npy(path);
  std::filesystem::remove(path);
  EXPECT_EQ(array.dtype, DType::kF32);
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_THAT(values_of(array), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Npy, EveryDtype) {
  const struct {
    const char* descr;
    std::string one;
    DType dtype;
  } cases[] = {{"<f8", raw(1.0), DType::kF64},
               {"=f8", raw(1.0), DType::kF64},
               {"<f4", raw(1.0F), DType::kF32},
               {"<f2", raw(std::uint16_t{0x3c00}), DType::kF16},
               {"<i8", raw(std::int64_t{1}), DType::kI64},
               {"<i4", raw(std::int32_t{1}), DType::kI32},
               {"<i2", raw(std::int16_t{1}), DType::kI16},
               {"|i1", "\1", DType::kI8},
               {"<i1", "\1", DType::kI8},
               {">u1", "\1", DType::kU8},
               {"|u1", "\1", DType::kU8},
               {"|b1", "\1", DType::kBool}};
  for (const auto& c : cases) {
    const std::string text = npy(dict(c.descr, "False", "(1,)"), c.one);
    const NpyArray array = parse(text);
    EXPECT_EQ(array.dtype, c.dtype) << c.descr;
    EXPECT_THAT(values_of(array), ElementsAre(1)) << c.descr;
  }
}

TEST(Npy, VersionsShapesAndSpellings) {
  for (const int version : {1, 2, 3}) {
    const std::string text = npy(dict("|u1", "False", "(2, 3)"), count(6), version);
    EXPECT_THAT(values_of(parse(text)), ElementsAre(0, 1, 2, 3, 4, 5));
  }
  const std::string scalar = npy(dict("|u1", "False", "()"), "\7");
  EXPECT_THAT(parse(scalar).shape, IsEmpty());
  EXPECT_THAT(values_of(parse(scalar)), ElementsAre(7));
  const std::string empty = npy(dict("<f8", "False", "(0, 5)"), "");
  EXPECT_THAT(parse(empty).shape, ElementsAre(0, 5));
  const std::string python2 = npy("{\"shape\":(2L,3L),\"fortran_order\":False,\"descr\":\"|u1\"}  \n", count(6));
  EXPECT_THAT(parse(python2).shape, ElementsAre(2, 3));
}

TEST(Npy, FortranOrderIsRearranged) {
  const std::string flat = npy(dict("|u1", "True", "(4,)"), count(4));
  EXPECT_THAT(values_of(parse(flat)), ElementsAre(0, 1, 2, 3));
  const std::string matrix = npy(dict("|u1", "True", "(2, 3)"), count(6));
  EXPECT_THAT(values_of(parse(matrix)), ElementsAre(0, 2, 4, 1, 3, 5));
  // Element [i, j, k] of a Fortran array of shape (2, 3, 4) lies at i + 2 j + 6 k.
  const std::string cube = npy(dict("|u1", "True", "(2, 3, 4)"), count(24));
  const auto values = values_of(parse(cube));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 4; ++k)
        EXPECT_EQ(values[(i * 3 + j) * 4 + k], static_cast<double>(i + 2 * j + 6 * k));
    }
  }
  const std::string none = npy(dict("<f8", "True", "(3, 0)"), "");
  EXPECT_THAT(values_of(parse(none)), IsEmpty());
  std::string wide;
  for (const double x : {1.0, 2.0, 3.0, 4.0}) wide += raw(x);
  const std::string doubles = npy(dict("<f8", "True", "(2, 2)"), wide);
  EXPECT_THAT(values_of(parse(doubles)), ElementsAre(1, 3, 2, 4));
}

TEST(NpyHostile, NotNpy) {
  EXPECT_THAT(npy_error("hello, world"), HasSubstr("another kind of file"));
  EXPECT_THAT(npy_error("\x93NUMP"), HasSubstr("another kind of file"));
  EXPECT_THAT(npy_error("PK\x03\x04...."), HasSubstr("zip archive"));  // .npz
  EXPECT_THAT(npy_error("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("git lfs pull"));
  EXPECT_THAT(npy_error("\x93NUMPY\x04\x00....."s), HasSubstr("version 4.0"));
  EXPECT_THAT(npy_error("\x93NUMPY\x00\x00....."s), HasSubstr("version 0.0"));
  EXPECT_THAT(npy_error("\x93NUMPY\x01\x01....."s), HasSubstr("version 1.1"));
}

TEST(NpyHostile, EveryTruncationIsNoticed) {
  for (const int version : {1, 2}) {
    const std::string whole = npy(dict("<f4", "False", "(3,)"), count(12), version);
    EXPECT_NO_THROW(parse(whole));
    for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_NE(npy_error(whole.substr(0, n)), "") << n;
    EXPECT_THAT(npy_error(whole.substr(0, whole.size() - 1)),
                HasSubstr("11 bytes of data, expected 12 (shape (3) F32); the file may be incomplete"));
    EXPECT_THAT(npy_error(whole + "x"), HasSubstr("13 bytes of data, expected 12"));
  }
  EXPECT_THAT(npy_error("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"s), HasSubstr("a header of 4294967295 bytes"));
}

TEST(NpyHostile, Header) {
  const auto header_error = [](std::string_view header) { return npy_error(npy(header, "")); };
  EXPECT_THAT(header_error(""), HasSubstr("expected '{'"));
  EXPECT_THAT(header_error("{}"), HasSubstr("no 'descr'"));
  EXPECT_THAT(header_error("{'descr': '<f8'}"), HasSubstr("no 'fortran_order'"));
  EXPECT_THAT(header_error("{'descr': '<f8', 'fortran_order': True}"), HasSubstr("no 'shape'"));
  EXPECT_THAT(header_error("{'descr': '<f8', 'descr': '<f8'}"), HasSubstr("'descr' appears twice"));
  EXPECT_THAT(header_error("{'evil': __import__('os')}"), HasSubstr("key 'evil'"));
  EXPECT_THAT(header_error("{'descr': __import__('os').system('id')}"), HasSubstr("expected a text in quotes"));
  EXPECT_THAT(header_error("{'descr': '<f8"), HasSubstr("without closing quote"));
  EXPECT_THAT(header_error("{'descr': '\\x3cf8'"), HasSubstr("backslash"));
  EXPECT_THAT(header_error("{'descr' '<f8'}"), HasSubstr("expected ':'"));
  EXPECT_THAT(header_error("{'fortran_order': 0}"), HasSubstr("expected True or False"));
  EXPECT_THAT(header_error("{'descr': [('x', '<f8')]}"), HasSubstr("structured dtype"));
  EXPECT_THAT(header_error(dict("<f8", "False", "(0,)") + " x"), HasSubstr("text after"));
}

TEST(NpyHostile, Dtype) {
  const auto dtype_error = [](std::string_view descr) {
    return npy_error(npy(dict(descr, "False", "(1,)"), "12345678"));
  };
  EXPECT_THAT(dtype_error(">f8"), HasSubstr("big-endian; save it again with a.astype('<f8')"));
  EXPECT_THAT(dtype_error("|O"), HasSubstr("execute code"));
  for (const char* descr :
       {"", "<", "f8", "|f8", "<u8", "<u2", "<c8", "<U2", "|S8", "<f16", "<M8[ns]", "<f8 ", "\x1b[2J"}) {
    EXPECT_THAT(dtype_error(descr), HasSubstr("cannot be read, expected little-endian f8")) << descr;
    EXPECT_THAT(dtype_error(descr), ::testing::Not(HasSubstr("\x1b")));
  }
}

TEST(NpyHostile, Shape) {
  const auto shape_error = [](std::string_view shape) { return npy_error(npy(dict("<f8", "False", shape), "")); };
  EXPECT_THAT(shape_error("(-1,)"), HasSubstr("expected a size of 0 or more, found '-1"));
  EXPECT_THAT(shape_error("(1.5,)"), HasSubstr("expected ')'"));
  EXPECT_THAT(shape_error("(3)"), HasSubstr("expected a tuple"));
  EXPECT_THAT(shape_error("3"), HasSubstr("expected '('"));
  EXPECT_THAT(shape_error("(,)"), HasSubstr("expected a size"));
  EXPECT_THAT(shape_error("(1, 2"), HasSubstr("expected a size"));
  EXPECT_THAT(shape_error("((1,),)"), HasSubstr("expected a size"));
  EXPECT_THAT(shape_error("(18446744073709551616,)"), HasSubstr("expected a size"));
  EXPECT_THAT(shape_error("(18446744073709551615,)"), HasSubstr("too many elements"));
  EXPECT_THAT(shape_error("(2305843009213693952,)"), HasSubstr("too many elements"));  // 2^61 * 8 wraps to 0
  EXPECT_THAT(shape_error("(4294967296, 4294967296)"), HasSubstr("too many elements"));
  EXPECT_THAT(shape_error("(0, 4294967296, 4294967296)"), HasSubstr("too many elements"));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  EXPECT_THAT(shape_error(many + ")"), HasSubstr("more than 64 dimensions"));
}

}  // namespace
}  // namespace rankfall
