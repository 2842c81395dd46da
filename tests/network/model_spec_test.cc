#include "network/model_spec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "engine/memory.h"
#include <rankfall/error.h>
#include <rankfall/model.h>
#include <rankfall/sample.h>

namespace rankfall {
namespace {

// The text of the error that f throws, which must be of this kind.
template <class F>
std::string error_text(ErrorKind kind, F f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(ModelSpec, EveryPresetOpens) {
  for (const std::string& name : preset_names()) {
    const Model model = open_model(name + "@init", 0);
    EXPECT_GT(model.network.sizes.n_blocks, 0) << name;
    Index n_branches = 0;
    for (const SubLayer& layer : model.network.layers) n_branches += std::ssize(layer.branches);
    EXPECT_EQ(n_branches, 2 * model.network.sizes.n_blocks) << name;
  }
}

TEST(ModelSpec, BertBaseHasItsParameters) {
  const Network network = open_model("bert-base@init", 0).network;
  Index layers = 0;
  for (const TensorSpec& tensor : network.tensors) {
    if (tensor.name.starts_with("encoder.")) layers += tensor.matrix_rows() * tensor.matrix_cols();
  }
  EXPECT_EQ(layers, 85'054'464);  // 12 (4 (768^2 + 768) + 2 * 768 * 3072 + 3072 + 768 + 4 * 768)
  EXPECT_EQ(network.sizes.max_positions, 512);
}

TEST(ModelSpec, RobertaCountsPositionsFromTwo) {
  const Network network = open_model("roberta-base@init", 0).network;
  EXPECT_EQ(network.sizes.max_positions, 512);
  EXPECT_EQ(std::get<TokenInput>(network.input.source).position_offset, 2);
}

TEST(ModelSpec, AlbertsBlocksAreOneSetOfTensors) {
  const Network network = open_model("albert-base@init", 0).network;
  EXPECT_EQ(std::get<Attention>(network.layers[0].branches[0].f).q.w,
            std::get<Attention>(network.layers[22].branches[0].f).q.w);
}

TEST(ModelSpec, SanStringsBecomeConfigs) {
  const auto config = san_config("san:layers=2,heads=4,dim=8,norm=none,shared=1,std=0.1");
  EXPECT_EQ(config["model_type"], "san");
  EXPECT_EQ(config["num_hidden_layers"], 2);
  EXPECT_EQ(config["norm"], "none");
  EXPECT_EQ(config["shared_layers"], true);
  EXPECT_EQ(config["initializer_range"], 0.1);
}

// Every value of a drawn tensor.
std::vector<float> drawn(const Model& model, std::string_view name) {
  const auto& tensors = model.network.tensors;
  const auto found = std::ranges::find(tensors, name, &TensorSpec::name);
  EXPECT_NE(found, tensors.end()) << name;
  const TensorData data = model.weights->rows(static_cast<int>(found - tensors.begin()), 0, found->matrix_rows());
  std::vector<float> values(data.bytes.size() / sizeof(float));
  std::memcpy(values.data(), data.bytes.data(), data.bytes.size());
  return values;
}

double deviation(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(ModelSpec, QueriesAndKeysMayHaveTheirOwnDeviation) {
  const std::string shape = "san:layers=2,heads=2,dim=64,vocab=20,mlp=32,labels=3,relative=xlnet,std=0.1";
  const Model plain = open_model(shape, 5);
  const Model same = open_model(shape + ",qk_std=0.1", 5);
  const Model wide = open_model(shape + ",qk_std=0.7", 5);
  const Model zero = open_model(shape + ",qk_std=0", 5);
  int n_changed = 0;
  for (const TensorSpec& tensor : plain.network.tensors) {
    const bool is_qk = tensor.name.ends_with("attention.q.weight") || tensor.name.ends_with("attention.k.weight");
    EXPECT_EQ(drawn(plain, tensor.name), drawn(same, tensor.name)) << tensor.name;
    EXPECT_EQ(drawn(plain, tensor.name) != drawn(wide, tensor.name), is_qk) << tensor.name;
    if (!is_qk) continue;
    ++n_changed;
    // 4096 values: the deviation of a sample is off by 1.1 %, five times that is 5.5 %.
    EXPECT_NEAR(deviation(drawn(plain, tensor.name)), 0.1, 0.0055) << tensor.name;
    EXPECT_NEAR(deviation(drawn(wide, tensor.name)), 0.7, 0.0385) << tensor.name;
    EXPECT_EQ(deviation(drawn(zero, tensor.name)), 0) << tensor.name;
  }
  EXPECT_EQ(n_changed, 4);
  EXPECT_NEAR(deviation(drawn(wide, "layers.1.attention.v.weight")), 0.1, 0.0055);
  EXPECT_NEAR(deviation(drawn(wide, "layers.1.attention.r.weight")), 0.1, 0.0055);
}

TEST(ModelSpec, QkStdIsAnEntryOfConfigJson) {
  const auto scale_of = [](const std::string& rest, std::string_view name) {
    const Network network = network_from_config(
        R"({"model_type": "san", "num_hidden_layers": 1, "num_attention_heads": 1, "hidden_size": 4)" + rest + "}",
        "c");
    return std::ranges::find(network.tensors, name, &TensorSpec::name)->init.scale;
  };
  constexpr const char* kKey = "layers.0.attention.k.weight";
  EXPECT_EQ(scale_of("", kKey), 0.02);
  EXPECT_EQ(scale_of(R"(, "initializer_range": 0.3)", kKey), 0.3);
  EXPECT_EQ(scale_of(R"(, "qk_std": null, "initializer_range": 0.3)", kKey), 0.3);
  EXPECT_EQ(scale_of(R"(, "qk_std": 0.5, "initializer_range": 0.3)", kKey), 0.5);
  EXPECT_EQ(scale_of(R"(, "qk_std": 0.5, "init": "published")", kKey), 0.5);
  EXPECT_EQ(scale_of(R"(, "qk_std": 0.5)", "layers.0.attention.o.weight"), 0.02);
  EXPECT_NE(error_text(ErrorKind::kInput, [&] { scale_of(R"(, "qk_std": -1)", kKey); }).find("'qk_std'"),
            std::string::npos);
}

TEST(ModelSpec, AGridIsNotOneModel) {
  EXPECT_EQ(error_text(ErrorKind::kUsage, [] { open_model("san:layers={2,4},heads={1..4*2},dim=8", 0); }),
            "san:layers={2,4},heads={1..4*2},dim=8: a grid of 6 specifications, expected one, such as "
            "san:layers=2,heads=1,dim=8");
}

TEST(ModelSpec, ImpossibleSpecificationsAreRefused) {
  const struct {
    const char* spec;
    const char* says;
  } cases[] = {
      {"bert-base",
       "no such directory, and google-bert/bert-base-cased is not in the hub cache. Trained weights: first run "
       "`hf download google-bert/bert-base-cased`. Random weights: bert-base@init"},
      {"brt-base@init", "did you mean 'bert-base@init'?"},
      {"san:layer=2,heads=1,dim=8", "did you mean 'layers'?"},
      {"gpt9@init", "no such preset"},
      {"nonsense", "expected one with config.json"},
      {"", "expected one with config.json"},
      {"@init", "no such preset"},
      {"san:", "'layers' is missing"},
      {"san:layers=1,heads=1", "'dim' is missing"},
      {"san:layers=2,heads=7,dim=768", "7 heads do not divide the width 768"},
      {"san:layers=0,heads=1,dim=8", "expected a whole number from 1 to 10000"},
      {"san:layers=-3,heads=1,dim=8", "expected a whole number from 1"},
      {"san:layers=1000000000,heads=1,dim=8", "expected a whole number from 1 to 10000"},
      {"san:layers=1e3,heads=1,dim=8", "expected a whole number"},
      {"san:layers=99999999999999999999,heads=1,dim=8", "expected a whole number"},
      {"san:layers=1,heads=1,dim=8,std=nan", "expected a number"},
      {"san:layers=1,heads=1,dim=8,std=inf", "expected a number"},
      {"san:layers=1,heads=1,dim=8,dim=8", "given twice"},
      {"san:layers=1,heads=1,dim=8,colour=red", "expected KEY=VALUE with a key of"},
      {"san:layers=1,heads=1,dim=8,norm", "expected KEY=VALUE"},
      {"san:layers=1,heads=1,dim=8,norm=middle", "expected post, pre or none"},
      {"san:layers=1,heads=1,dim=8,mask=window", "'window' is missing"},
      {"san:layers=1,heads=1,dim=8,window=3", "go with mask=window"},
      {"san:layers=1,heads=1,dim=8,act=step", "unsupported activation"},
      {"san:layers=1,heads=1,dim=8,bias=maybe", "expected 0 or 1"},
      {"san:layers=1,heads=1,dim=7,relative=xlnet", "even width"},
      {"san:layers=,heads=1,dim=7", "expected a number"},
      {"san:layers=1,heads=1,dim=8,qk_std=-1", "'qk_std'"},
      {"san:layers=1,heads=1,dim=8,qk_std=nan", "expected a number"},
      {"san:layers={1,heads=1,dim=8", "has no '}' behind it"},
  };
  for (const auto& c : cases) {
    const std::string text = error_text(ErrorKind::kUsage, [&] { open_model(c.spec, 0); });
    EXPECT_NE(text.find(c.says), std::string::npos) << c.spec << " -> " << text;
  }
}

TEST(ModelSpec, ImpossibleSamplesAreRefused) {
  const Network bert = open_model("bert-tiny@init", 0).network;
  EXPECT_NE(error_text(ErrorKind::kUsage, [&] { random_samples(bert, 0, 1, 0); }).find("at least 1"),
            std::string::npos);
  EXPECT_NE(error_text(ErrorKind::kUsage, [&] { random_samples(bert, 0, 1, 513); }).find("positions for 512"),
            std::string::npos);
  Sample sample;
  sample.content = TokenIds{0, 30522};
  EXPECT_NE(error_text(ErrorKind::kUsage, [&] { check_sample(bert, sample); }).find("token id 30522 at position 1"),
            std::string::npos);
  sample.content = TokenIds{0, 1};
  sample.valid = {1};
  error_text(ErrorKind::kUsage, [&] { check_sample(bert, sample); });
  sample.valid = {0, 0};
  EXPECT_NE(error_text(ErrorKind::kUsage, [&] { check_sample(bert, sample); }).find("all padding"), std::string::npos);
  sample.valid.clear();
  sample.segments = {0, 2};
  error_text(ErrorKind::kUsage, [&] { check_sample(bert, sample); });
  sample = {};
  sample.content = Features{Matrix<double>::Zero(2, 3)};
  error_text(ErrorKind::kUsage, [&] { check_sample(bert, sample); });
  sample.content = HiddenState{Matrix<double>::Zero(2, 3)};
  error_text(ErrorKind::kUsage, [&] { check_sample(bert, sample); });
}

TEST(RandomSamples, ZipfRepeatsTokensAsTextDoes) {
  const Network network = open_model("bert-tiny@init", 0).network;
  // Share of equal pairs: sum p^2, p = 1 / (r H_30522), H = 10.9035.
  const double expected = 1.6449 / (10.9035 * 10.9035);
  const auto repeats = [&](TokenLaw law) {
    double equal = 0;
    double pairs = 0;
    for (const Sample& sample : random_samples(network, 3, 100, 128, law)) {
      const auto& ids = std::get<TokenIds>(sample.content);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) equal += ids[i] == ids[j] ? 1 : 0;
      }
      pairs += 128 * 127 / 2.0;
    }
    return equal / pairs;
  };
  EXPECT_NEAR(repeats(TokenLaw::kZipf), expected, 0.1 * expected);  // 100 samples: a few per cent
  EXPECT_LT(repeats(TokenLaw::kUniform), 1e-4);
  EXPECT_EQ(std::get<TokenIds>(random_samples(network, 3, 2, 9, TokenLaw::kZipf)[1].content),
            std::get<TokenIds>(random_samples(network, 3, 5, 9, TokenLaw::kZipf)[1].content));
}

TEST(ModelSpec, WhatCannotFitInMemoryIsRefused) {
  const Network network = open_model("san:layers=1,heads=1,dim=1024", 0).network;
  EXPECT_NO_THROW(check_memory(network, {.n_samples = 1, .n_tokens = 1000}));
  error_text(ErrorKind::kUsage, [&] { check_memory(network, {.n_samples = 1'000'000, .n_tokens = 1'000'000}); });
  error_text(ErrorKind::kUsage,
             [&] { check_memory(network, {.n_samples = 1, .n_tokens = 1'000'000, .whole_attention = true}); });
}

TEST(Config, UnknownFamiliesListTheKnownOnes) {
  const std::string text =
      error_text(ErrorKind::kInput, [] { network_from_config(R"({"model_type": "mambo"})", "config.json"); });
  EXPECT_NE(text.find("config.json: 'model_type' is 'mambo', expected one of albert, bert"), std::string::npos) << text;
  error_text(ErrorKind::kInput, [] { network_from_config("[]", "config.json"); });
  error_text(ErrorKind::kInput, [] { network_from_config("{}", "config.json"); });
  error_text(ErrorKind::kInput, [] { network_from_config(R"({"model_type": 3})", "config.json"); });
  error_text(ErrorKind::kInput, [] { network_from_config(R"({"model_type": "bert", "hidden_size": 1e9})", "x"); });
}

TEST(ModelSpec, ADirectoryAtInitHasItsNetworkAndDrawnWeights) {
  const std::string directory = std::string(RANKFALL_TEST_DATA) + "/families/gpt2";
  const Model trained = open_model(directory, 1);
  const Model drawn = open_model(directory + "@init", 1);
  EXPECT_TRUE(drawn.drawn);
  EXPECT_FALSE(trained.drawn);
  EXPECT_EQ(drawn.directory, trained.directory);
  EXPECT_EQ(drawn.network.tensors.size(), trained.network.tensors.size());
  EXPECT_EQ(drawn.network.layers.size(), trained.network.layers.size());
  EXPECT_EQ(open_model(directory + "@init", 1, {.n_blocks = 7}).network.sizes.n_blocks, 7);
  EXPECT_EQ(open_model(directory, 1, {.n_blocks = 7}).network.sizes.n_blocks, 7);
  for (const char* spec : {"bert-tiny@init", "xlnet-base@init", "distilbert@init", "t5-small@init", "tinyllama@init",
                           "albert-base@init", "vit-base@init", "san:layers=2,heads=1,dim=4"}) {
    EXPECT_EQ(open_model(spec, 1, {.n_blocks = 31}).network.sizes.n_blocks, 31) << spec;
  }
  EXPECT_THROW(open_model("bert-tiny@init", 1, {.n_blocks = 0}), Error);
}

// What family_infos says a config.json must have is enough, and none of it can be left out.
TEST(Families, NeedTheEntriesTheyName) {
  EXPECT_EQ(family_infos().size(), 26U);
  for (const FamilyInfo& family : family_infos()) {
    const auto config_without = [&](const std::string& missing) {
      std::string text = R"({"model_type": ")" + family.model_type + '"';
      for (const std::string& entry : family.config) {
        const bool is_heads = entry.find("head") != std::string::npos;
        const std::string value = entry == "text_config" ? "{}" : is_heads ? "32" : "64";
        if (entry != missing) text += ", \"" + entry + "\": " + value;
      }
      return text + "}";
    };
    EXPECT_NO_THROW(network_from_config(config_without(""), "config.json")) << family.model_type;
    for (const std::string& entry : family.config) {
      EXPECT_THROW(network_from_config(config_without(entry), "config.json"), Error)
          << family.model_type << " " << entry;
    }
  }
}

}  // namespace
}  // namespace rankfall
