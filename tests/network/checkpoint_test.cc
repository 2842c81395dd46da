#include "network/checkpoint.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "engine/file_source.h"
#include "io/dtype.h"
#include "io/io_test_util.h"
#include <rankfall/forward.h>
#include <rankfall/process.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::input_error;
using test::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const fs::path kFamilies = fs::path(RANKFALL_TEST_DATA) / "families";

// A checkpoint in memory that a test can spoil: tensors by name, and the configuration.
struct Editable {
  struct Tensor {
    std::string dtype;
    std::vector<Index> shape;
    std::string data;
  };
  std::map<std::string, Tensor> tensors;
  json config;
  std::string padding;  // spaces at the header's end: moves all data

  explicit Editable(const char* family) {
    const auto file = SafetensorsFile::open(kFamilies / family / "model.safetensors");
    for (const TensorInfo& tensor : file->tensors()) {
      tensors[tensor.name] = {
          tensor.dtype_name, tensor.shape, {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()}};
    }
    config = json::parse(std::ifstream(kFamilies / family / "config.json"));
  }

  void rename_all(const std::function<std::string(const std::string&)>& renamed) {
    std::map<std::string, Tensor> other;
    for (auto& [name, tensor] : tensors) other[renamed(name)] = std::move(tensor);
    tensors = std::move(other);
  }

  // Every float32 as another type, by `bits` of its exact value.
  template <class F>
  void convert(const std::string& dtype, const F& bits) {
    for (auto& [name, tensor] : tensors) {
      std::string data;
      for (std::size_t i = 0; i < tensor.data.size(); i += 4) {
        float value = 0;
        std::memcpy(&value, tensor.data.data() + i, 4);
        data += bits(value);
      }
      tensor.dtype = dtype;
      tensor.data = data;
    }
  }

  const TempDir& save() const {
    json header;
    std::string data;
    for (const auto& [name, tensor] : tensors) {
      header[name] = {{"dtype", tensor.dtype},
                      {"shape", tensor.shape},
                      {"data_offsets", {data.size(), data.size() + tensor.data.size()}}};
      data += tensor.data;
    }
    dir.file("model.safetensors", test::safetensors(header.dump() + padding, data));
    dir.file("config.json", config.dump());
    return dir;
  }

  TempDir dir;
};

Sample sample_for(const Network& network) { return random_samples(network, 7, 1, 5)[0]; }

template <class T = double>
Matrix<T> last_state(const Model& model) {
  const std::vector<Sample> samples = {sample_for(model.network)};
  return forward<T>(model.network, *model.weights, samples, {})[0];
}

Matrix<double> saved_state(const Editable& checkpoint) { return last_state(open_checkpoint(checkpoint.save().path())); }

std::string saved_error(const Editable& checkpoint) {
  return input_error([&] { open_checkpoint(checkpoint.save().path()); });
}

TEST(Checkpoint, EveryFamilyOpensAndRunsFromItsFile) {
  for (const char* family : {"albert", "bert", "distilbert", "electra", "gpt2", "roberta", "t5", "vit", "xlnet"}) {
    const Model model = open_model((kFamilies / family).string(), 0);
    EXPECT_EQ(model.network.family, family);
    EXPECT_FALSE(model.drawn);
    EXPECT_THAT(model.notes, IsEmpty()) << family;
    EXPECT_EQ(model.weights->digest().size(), 64U);
    const FileSource plain(model.network.tensors, kFamilies / family / "model.safetensors");
    const std::vector<Sample> samples = {sample_for(model.network)};
    EXPECT_EQ(last_state(model), forward<double>(model.network, plain, samples, {})[0]) << family;
  }
}

// Widened to double, or used where it lies.
TEST(Checkpoint, AFileThatShrinksIsAnError) {
  if (test::kSanitizerHasSigbus) GTEST_SKIP() << "the sanitizer has the signal";
  guard_mapped_files();
  for (const bool in_place : {false, true}) {
    const TempDir dir;
    const auto path = dir.path() / "model.safetensors";
    std::filesystem::copy(kFamilies / "bert", dir.path());
    const Model model = open_checkpoint(dir.path());
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 3);
    EXPECT_THAT(input_error([&] { in_place ? void(last_state<float>(model)) : void(last_state<double>(model)); }),
                HasSubstr("changed while it was being read"));
  }
}

// While the pass runs: its observer overwrites a weight in place, which no signal tells.
TEST(Checkpoint, AFileThatIsOverwrittenIsAnError) {
  struct Overwriter : Observer<double> {
    fs::path path;
    Needs needs() const override { return {.hidden = true}; }
    void hidden(Index state, const MatrixRef<double>& /*x*/) override {
      if (state != 1) return;
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-4, std::ios::end) << "oops";
    }
  };
  const TempDir dir;
  std::filesystem::copy(kFamilies / "bert", dir.path());
  Overwriter overwriter;
  overwriter.path = dir.path() / "model.safetensors";
  fs::permissions(overwriter.path, fs::perms::owner_write, fs::perm_options::add);
  fs::last_write_time(overwriter.path, fs::last_write_time(overwriter.path) - std::chrono::hours(1));
  const Model model = open_checkpoint(dir.path());
  Observer<double>* const observers[] = {&overwriter};
  const std::vector<Sample> samples = {sample_for(model.network)};
  EXPECT_THAT(input_error([&] { forward<double>(model.network, *model.weights, samples, observers); }),
              HasSubstr("model.safetensors: changed while it was being read"));
}

TEST(Checkpoint, NamesMayHaveAPrefix) {
  const struct {
    const char* family;
    const char* prefix;
  } cases[] = {{"albert", "albert."},   {"bert", "bert."},         {"distilbert", "distilbert."},
               {"electra", "electra."}, {"gpt2", "transformer."},  {"roberta", "roberta."},
               {"vit", "vit."},         {"xlnet", "transformer."}, {"bert", "module.bert."},
               {"bert", "module."}};
  for (const auto& c : cases) {
    Editable checkpoint(c.family);
    const Matrix<double> expected = saved_state(checkpoint);
    checkpoint.rename_all([&](const std::string& name) { return c.prefix + name; });
    EXPECT_EQ(saved_state(checkpoint), expected) << c.prefix;
  }
}

TEST(Checkpoint, HeadsAndBuffersAreIgnored) {
  Editable checkpoint("bert");
  const Matrix<double> expected = saved_state(checkpoint);
  checkpoint.rename_all([](const std::string& name) { return "bert." + name; });
  checkpoint.tensors["cls.predictions.decoder.weight"] = {"F32", {2}, "12345678"};
  checkpoint.tensors["bert.pooler.dense.weight"] = {"F32", {1}, "1234"};
  checkpoint.tensors["bert.embeddings.position_ids"] = {"I64", {1, 1}, "12345678"};
  checkpoint.tensors["quantised"] = {"F8_E4M3", {2}, "12"};
  EXPECT_EQ(saved_state(checkpoint), expected);
}

TEST(Checkpoint, OldNamesOfNorms) {
  Editable checkpoint("bert");
  const Matrix<double> expected = saved_state(checkpoint);
  checkpoint.rename_all([](std::string name) {
    const auto swap = [&](const std::string& from, const std::string& to) {
      if (name.ends_with(from)) name = name.substr(0, name.size() - from.size()) + to;
    };
    swap("LayerNorm.weight", "LayerNorm.gamma");
    swap("LayerNorm.bias", "LayerNorm.beta");
    return name;
  });
  EXPECT_EQ(saved_state(checkpoint), expected);
}

TEST(Checkpoint, TiedWordTables) {
  Editable t5("t5");
  const Matrix<double> expected = saved_state(t5);
  t5.tensors.erase("shared.weight");  // encoder.embed_tokens.weight is there
  EXPECT_EQ(saved_state(t5), expected);
  t5.config["tie_word_embeddings"] = false;  // which speaks of the output
  EXPECT_EQ(saved_state(t5), expected);

  Editable gpt2("gpt2");
  const Matrix<double> of_gpt2 = saved_state(gpt2);
  gpt2.rename_all([](const std::string& name) { return "transformer." + name; });
  gpt2.tensors["lm_head.weight"] = gpt2.tensors["transformer.wte.weight"];
  gpt2.tensors.erase("transformer.wte.weight");
  EXPECT_EQ(saved_state(gpt2), of_gpt2);
  gpt2.rename_all([](const std::string& name) { return "module." + name; });
  EXPECT_EQ(saved_state(gpt2), of_gpt2);
  gpt2.rename_all([](const std::string& name) { return name.substr(7); });
  gpt2.config["tie_word_embeddings"] = false;
  EXPECT_THAT(saved_error(gpt2), HasSubstr("'transformer.wte.weight' is missing"));
}

TEST(Checkpoint, OtherTypesAndAlignments) {
  Editable wide("bert");
  const Matrix<double> expected = saved_state(wide);
  wide.convert("F64", [](float x) { return test::raw(double{x}); });
  EXPECT_EQ(saved_state(wide), expected);
  for (int shift = 1; shift < 8; ++shift) {
    wide.padding += ' ';
    EXPECT_EQ(saved_state(wide), expected) << shift;
    EXPECT_EQ(last_state<float>(open_checkpoint(wide.save().path())),
              last_state<float>(open_model((kFamilies / "bert").string(), 0)));
  }

  // Truncated to bfloat16, which float32 holds exactly.
  const auto truncated = [](float x) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, 4);
    return static_cast<std::uint16_t>(bits >> 16);
  };
  Editable narrow("gpt2");
  Editable same("gpt2");
  narrow.convert("BF16", [&](float x) { return test::raw(truncated(x)); });
  same.convert("F32", [&](float x) { return test::raw(static_cast<std::uint32_t>(truncated(x)) << 16); });
  EXPECT_EQ(saved_state(narrow), saved_state(same));
  narrow.padding = " ";
  EXPECT_EQ(saved_state(narrow), saved_state(same));
}

TEST(Checkpoint, WhatIsMissingOrWrongIsNamed) {
  Editable missing("bert");
  missing.tensors.erase("encoder.layer.1.output.dense.weight");
  EXPECT_THAT(
      saved_error(missing),
      AllOf(HasSubstr("model.safetensors: tensor 'encoder.layer.1.output.dense.weight' is missing, expected with "
                      "shape [32, 48]"),
            Not(HasSubstr("misspell"))));

  Editable misspelt("bert");
  misspelt.rename_all([](const std::string& name) {
    return "bert." + (name == "encoder.layer.1.output.dense.weight" ? "encoder.layer.1.output.dens.weight" : name);
  });
  EXPECT_THAT(saved_error(misspelt), HasSubstr("misspell it as 'bert.encoder.layer.1.output.dens.weight'?"));

  Editable misshapen("bert");
  misshapen.tensors["encoder.layer.0.output.dense.weight"].shape = {48, 32};
  EXPECT_THAT(saved_error(misshapen),
              HasSubstr("'encoder.layer.0.output.dense.weight' is [48, 32], expected [32, 48]"));

  Editable deeper("bert");
  deeper.config["num_hidden_layers"] = 5;
  EXPECT_THAT(saved_error(deeper), AllOf(HasSubstr("'encoder.layer.3."), HasSubstr("31 more are missing")));

  Editable integers("bert");
  integers.tensors["encoder.layer.0.output.dense.weight"].dtype = "I32";
  EXPECT_THAT(saved_error(integers), HasSubstr("has type I32, expected F64, F32, F16 or BF16"));

  Editable other("bert");
  other.config["model_type"] = "electra";
  other.config["embedding_size"] = 32;
  other.rename_all([](const std::string& name) { return "something." + name; });
  EXPECT_THAT(saved_error(other), AllOf(HasSubstr("none of the 53 tensors of the family electra is there"),
                                        HasSubstr("config.json may belong to another model")));
}

TEST(Checkpoint, LayersLeftOutAreMentioned) {
  Editable checkpoint("bert");
  checkpoint.config["num_hidden_layers"] = 2;
  EXPECT_THAT(open_checkpoint(checkpoint.save().path()).notes,
              ElementsAre(AllOf(HasSubstr("16 tensors are not used"), HasSubstr("'encoder.layer.2."))));
}

TEST(Checkpoint, PartsTheDescriptionDoesNotHaveAreAnError) {
  Editable checkpoint("bert");
  checkpoint.tensors["encoder.layer.0.attention.self.q_norm.weight"] = {"F32", {1}, "1234"};
  checkpoint.tensors["encoder.layer.0.crossattention.self.query.weight"] = {"F32", {1}, "1234"};
  checkpoint.tensors["pooler.dense.weight"] = {"F32", {1}, "1234"};
  EXPECT_THAT(saved_error(checkpoint),
              AllOf(HasSubstr("1 tensor inside the layers is not used: "
                              "'encoder.layer.0.attention.self.q_norm.weight'; the family bert has"),
                    HasSubstr("OpenOptions::ignore_unused")));
  EXPECT_THAT(open_checkpoint(checkpoint.save().path(), true).notes,
              ElementsAre(HasSubstr("'encoder.layer.0.attention.self.q_norm.weight'")));
}

// 1.2 GB that take no place on the disk, and would take seconds to hash.
TEST(Checkpoint, WhatIsHugeAndNotUsedIsNotHashed) {
  const Editable checkpoint("bert");
  json header;
  std::string data;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.data.size()}}};
    data += tensor.data;
  }
  constexpr std::size_t kHuge = 1'200'000'000;
  header["of_somebody"] = {
      {"dtype", "F32"}, {"shape", {kHuge / 4}}, {"data_offsets", {data.size(), data.size() + kHuge}}};
  const TempDir dir;
  const auto file = dir.file("model.safetensors", test::safetensors(header.dump(), data));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) + kHuge);
  dir.file("config.json", checkpoint.config.dump());
  const Model model = open_checkpoint(dir.path());
  EXPECT_EQ(model.weights->digest(), "");
  EXPECT_THAT(model.notes, ElementsAre(HasSubstr("no SHA-256")));
  EXPECT_EQ(last_state(model), saved_state(checkpoint));
}

TEST(Checkpoint, RobertaCountsPositionsWithoutPadding) {
  const Model model = open_model((kFamilies / "roberta").string(), 0);
  Sample plain;
  plain.content = TokenIds{0, 5, 6, 7, 2};
  Sample padded;
  padded.content = TokenIds{1, 1, 0, 5, 6, 7, 2};
  padded.valid = {0, 0, 1, 1, 1, 1, 1};
  const auto states = forward<double>(model.network, *model.weights, std::vector<Sample>{plain, padded}, {});
  EXPECT_LT((states[0] - states[1].bottomRows(5)).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(Checkpoint, ConfigurationsAreNotBelieved) {
  const struct {
    const char* config;
    const char* says;
  } cases[] = {
      {R"({"model_type": "mambo"})", "'model_type' is 'mambo', expected one of albert, bert"},
      {R"({"model_type": "mamba"})", "The nearest family that it reads is llama; mamba differs: it has no attention"},
      {R"({"model_type": "bart"})", "bart differs: it is an encoder-decoder"},
      {R"({"model_type": "llama", "quantization_config": {"quant_method": "awq"}})", "quantised by 'awq'"},
      {R"({})", "'model_type' is missing; add it, one of albert, bert"},
      {R"({"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
           "intermediate_size": 8, "vocab_size": 9, "rope_scaling": {"type": "linear"}})",
       "'factor' is missing"},
      {R"({"model_type": "roberta", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
           "intermediate_size": 8, "vocab_size": 9, "max_position_embeddings": 1})",
       "of which 2 are not for tokens"},
      {R"([])", "expected a JSON object"},
      {R"({"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 1000000000})", "from 1 to 10000"},
      {R"({"model_type": "bert", "hidden_size": 1e300})", "expected a whole number"},
      {R"({"model_type": "bert", "hidden_size": 32, "hidden_size": 16})", "hidden_size"},
      {R"({"model_type": "bert")", "line 1"},
      {"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"},
      {"<!doctype html><p>Not found", "HTML page"},
  };
  for (const auto& c : cases) {
    const Editable checkpoint("bert");
    checkpoint.save();
    checkpoint.dir.file("config.json", c.config);
    EXPECT_THAT(input_error([&] { open_checkpoint(checkpoint.dir.path()); }),
                AllOf(HasSubstr("config.json: "), HasSubstr(c.says)))
        << c.config;
  }
  const Editable checkpoint("bert");
  fs::remove(checkpoint.save().path() / "config.json");
  EXPECT_THAT(input_error([&] { open_checkpoint(checkpoint.dir.path()); }),
              HasSubstr("has weights but no config.json"));
  checkpoint.dir.file("config.json", std::string(100'000, '['));
  EXPECT_THAT(input_error([&] { open_checkpoint(checkpoint.dir.path()); }), HasSubstr("config.json: "));
}

TEST(Checkpoint, WithoutEmbeddingsStatesComeFromOutside) {
  Editable checkpoint("bert");
  checkpoint.config["vocab_size"] = 0;
  checkpoint.config["type_vocab_size"] = 0;
  std::erase_if(checkpoint.tensors, [](const auto& item) { return item.first.starts_with("embeddings."); });
  const Model model = open_checkpoint(checkpoint.save().path());
  Sample sample;
  sample.content = HiddenState{Matrix<double>::Random(4, 32)};
  EXPECT_EQ(forward<double>(model.network, *model.weights, std::vector<Sample>{sample}, {})[0].rows(), 4);
}

TEST(Checkpoint, PathsThatAreNoDirectories) {
  const TempDir dir;
  const std::string file = dir.file("model.safetensors", "x").string();
  EXPECT_THAT(input_error([&] { open_model(file, 0); }), HasSubstr("did you mean " + dir.path().string() + "?"));
  EXPECT_THAT(input_error([&] { open_model("./absent", 0); }), HasSubstr("no such directory"));
}

}  // namespace
}  // namespace rankfall
