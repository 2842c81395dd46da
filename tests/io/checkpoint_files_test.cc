#include "io/checkpoint_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "io/sha256.h"
#include "io_test_util.h"

namespace rankfall {
namespace {

using test::input_error;
using test::raw;
using test::safetensors;
using test::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// One tensor of one float.
std::string scalar(const std::string& name, float value) {
  return safetensors("{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", raw(value));
}

float value_of(const CheckpointFiles& files, const std::string& name) {
  const CheckpointFiles::Entry* entry = files.find(name);
  if (!entry) return -1;
  float value = 0;
  std::memcpy(&value, entry->tensor->bytes.data(), sizeof value);
  return value;
}

std::string error_of(const TempDir& dir) {
  return input_error([&] { CheckpointFiles::open(dir.path()); });
}

TEST(Sha256, IsTheStandardsExample) {
  EXPECT_EQ(sha256(test::bytes_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(CheckpointFiles, OneFile) {
  const TempDir dir;
  const std::string content = scalar("a", 2.5F);
  dir.file("model.safetensors", content);
  dir.file("model.safetensors.index.json", "broken, but not looked at");
  const auto files = CheckpointFiles::open(dir.path());
  EXPECT_EQ(value_of(*files, "a"), 2.5F);
  EXPECT_EQ(files->find("b"), nullptr);
  EXPECT_EQ(files->n_bytes(), content.size());
  EXPECT_EQ(files->digest(), sha256(test::bytes_of(content)));
}

TEST(CheckpointFiles, PartsThroughTheirIndex) {
  const TempDir dir;
  const std::string one = scalar("a", 1);
  const std::string two = scalar("b", 2);
  dir.file("model-00001-of-00002.safetensors", one);
  dir.file("model-00002-of-00002.safetensors", two);
  dir.file("model.safetensors.index.json",
           R"({"metadata": {"total_size": 8}, "weight_map": {"b": "model-00002-of-00002.safetensors",
               "a": "model-00001-of-00002.safetensors"}})");
  const auto files = CheckpointFiles::open(dir.path());
  EXPECT_EQ(value_of(*files, "a"), 1);
  EXPECT_EQ(value_of(*files, "b"), 2);
  EXPECT_EQ(files->n_bytes(), one.size() + two.size());
  const std::string digests = sha256(test::bytes_of(one)) + "\n" + sha256(test::bytes_of(two)) + "\n";
  EXPECT_EQ(files->digest(), sha256(test::bytes_of(digests)));
}

TEST(CheckpointFiles, AnIndexIsNotBelieved) {
  const struct {
    const char* index;
    const char* says;
  } cases[] = {
      {R"({"weight_map": {"a": "../model.safetensors"}})", "expected a .safetensors file beside the index"},
      {R"({"weight_map": {"a": "/etc/model.safetensors"}})", "expected a .safetensors file beside the index"},
      {R"({"weight_map": {"a": "passwd"}})", "expected a .safetensors file beside the index"},
      {R"({"weight_map": {"a": 3}})", "expected a .safetensors file beside the index"},
      {R"({"weight_map": {"a": "absent.safetensors"}})", "the download may be incomplete"},
      {R"({"weight_map": {"b": "part.safetensors"}})", "tensor 'b' is said to be in 'part.safetensors', but is not"},
      {R"({"weight_map": {"a": "pointer.safetensors"}})", "Git LFS pointer"},
      {R"({"weight_map": []})", "no object 'weight_map'"},
      {R"([])", "no object 'weight_map'"},
      {R"({"weight_map": {"a": "part.safetensors", "a": "part.safetensors"}})", "a"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS pointer"},
      {"<!DOCTYPE html><html>", "HTML page"},
      {"{", "line 1"},
  };
  for (const auto& c : cases) {
    const TempDir dir;
    dir.file("part.safetensors", scalar("a", 1));
    dir.file("pointer.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n");
    dir.file("model.safetensors.index.json", c.index);
    EXPECT_THAT(error_of(dir), AllOf(StartsWith(dir.path().string()), HasSubstr(c.says))) << c.index;
  }
}

TEST(CheckpointFiles, DirectoriesOfAnotherKindAreNamed) {
  const struct {
    std::vector<const char*> names;
    const char* says;
  } cases[] = {
      {{}, "found nothing"},
      {{"config.json", "README.md"}, "has neither model.safetensors nor model.safetensors.index.json; found README.md"},
      {{"pytorch_model.bin", "tf_model.h5"}, "can execute any code"},
      {{"pytorch_model.bin"}, "save_file({k: v.contiguous().clone() for k, v in torch.load("},
      {{"pytorch_model.bin.index.json", "pytorch_model-00001-of-00002.bin"}, "AutoModel.from_pretrained("},
      {{"weights.pt"}, "weights.pt, a Python pickle"},
      {{"training_args.bin"}, "found training_args.bin"},
      {{"tf_model.h5"}, "has its weights in tf_model.h5"},
      {{"model.gguf"}, "has its weights in model.gguf"},
      {{"adapter_model.safetensors", "adapter_config.json"}, "holds an adapter"},
      {{"model_index.json", "unet.safetensors"}, "a pipeline of several models"},
      {{"model-00001-of-00002.safetensors"}, "no model.safetensors.index.json"},
      {{"weights.safetensors"}, "has weights.safetensors, but no model.safetensors"},
  };
  for (const auto& c : cases) {
    const TempDir dir;
    for (const char* name : c.names) dir.file(name, "x");
    EXPECT_THAT(error_of(dir), HasSubstr(c.says));
  }
  const TempDir cache;
  std::filesystem::create_directories(cache.path() / "snapshots" / "abc123");
  std::filesystem::create_directories(cache.path() / "refs");
  EXPECT_THAT(error_of(cache), HasSubstr("snapshots/abc123"));
}

// The lines that are suggested stay two lines, whatever the directory is called.
TEST(CheckpointFiles, NamesDoNotAddLinesToTheSuggestedOnes) {
  const TempDir dir;
  const std::filesystem::path odd = dir.path() / "a\n  import os\r\u2028\"\\\xFF";
  std::filesystem::create_directory(odd);
  std::ofstream(odd / "pytorch_model.bin") << "x";
  const std::string text = input_error([&] { CheckpointFiles::open(odd); });
  const std::string lines = text.substr(text.find("Two lines of Python"));
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
  EXPECT_THAT(text, HasSubstr(R"(a\u000a  import os\u000d\u2028\"\\\udcff/pytorch_model.bin", "cpu")"));
}

TEST(CheckpointFiles, OtherThingsInPlaceOfTheWeights) {
  const TempDir dir;
  dir.file("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n");
  EXPECT_THAT(error_of(dir), HasSubstr("git lfs pull"));
  dir.file("model.safetensors", "<html><body>Sign in</body></html>");
  EXPECT_THAT(error_of(dir), HasSubstr("HTML page"));
  std::filesystem::remove(dir.path() / "model.safetensors");
  std::filesystem::create_symlink("nowhere", dir.path() / "model.safetensors");
  EXPECT_THAT(error_of(dir), HasSubstr("no such file"));
  std::filesystem::remove(dir.path() / "model.safetensors");
  std::filesystem::create_directory(dir.path() / "model.safetensors");
  EXPECT_THAT(error_of(dir), HasSubstr("directory"));
}

}  // namespace
}  // namespace rankfall
