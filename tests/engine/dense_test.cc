#include <cmath>

#include <gtest/gtest.h>

#include "engine/networks.h"
#include "engine/plain_forward.h"
#include "engine/recorder.h"
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/variants.h>

namespace rankfall {
namespace {

template <class T>
std::vector<Matrix<T>> engine_states(const Network& network, const WeightSource& weights, const Sample& sample) {
  Recorder<T> recorder;
  std::vector<Observer<T>*> observers = {&recorder};
  forward<T>(network, weights, std::span(&sample, 1), observers);
  return recorder.states;
}

// Largest difference, as a share of the largest entry of the plain states.
template <class T>
double difference(const std::vector<Matrix<T>>& ours, const std::vector<plain::Table<double>>& theirs) {
  EXPECT_EQ(ours.size(), theirs.size());
  double largest = 0;
  double worst = 0;
  for (std::size_t l = 0; l < theirs.size(); ++l) {
    for (Index i = 0; i < ours[l].rows(); ++i) {
      for (Index j = 0; j < ours[l].cols(); ++j) {
        const double expected = theirs[l][static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        largest = std::max(largest, std::abs(expected));
        worst = std::max(worst, std::abs(static_cast<double>(ours[l](i, j)) - expected));
      }
    }
  }
  return worst / largest;
}

Sample padded(Sample sample) {
  sample.valid.assign(static_cast<std::size_t>(sample.n_tokens()), 1);
  sample.valid.front() = 0;
  sample.valid.back() = 0;
  return sample;
}

class Networks : public testing::TestWithParam<std::string> {};

// The engine against the definitions, one number at a time; rounding grows with depth, hence a hundred epsilons.
TEST_P(Networks, EqualsThePlainForwardPass) {
  const Model model = open_model(GetParam(), 3);
  for (const char* variant : {"full", "san", "san+mlp", "no-norm"}) {
    const Network network = apply(variant_named(variant), model.network);
    for (const Index n : {1, 2, 7}) {
      Sample sample = random_samples(network, 5, 1, n)[0];
      if (n == 7) sample = padded(sample);
      plain::Forward<double> reference(network, *model.weights);
      const auto expected = reference.states(sample);
      EXPECT_LE(difference(engine_states<double>(network, *model.weights, sample), expected), 1e-13)
          << variant << " n=" << n;
      EXPECT_LE(difference(engine_states<float>(network, *model.weights, sample), expected), 1e-4)
          << variant << " n=" << n;
    }
  }
}

TEST_P(Networks, AttentionRowsAreDistributions) {
  const Model model = open_model(GetParam(), 1);
  const Sample sample = random_samples(model.network, 5, 1, 9)[0];
  Recorder<double> recorder;
  std::vector<Observer<double>*> observers = {&recorder};
  forward<double>(model.network, *model.weights, std::span(&sample, 1), observers);
  EXPECT_EQ(static_cast<Index>(recorder.attentions.size()), model.network.sizes.n_blocks * model.network.sizes.n_heads);
  for (const auto& [where, p] : recorder.attentions) {
    EXPECT_GE(p.minCoeff(), 0);
    for (Index i = 0; i < p.rows(); ++i) EXPECT_NEAR(p.row(i).sum(), 1, 1e-14);
    const auto& layer = model.network.layers[0];
    for (Index i = 0; i < p.rows(); ++i) {
      for (Index j = 0; j < p.cols(); ++j) {
        if (!plain::allows(layer.attention()->mask, i, j, p.cols())) {
          EXPECT_EQ(p(i, j), 0);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Small, Networks, testing::ValuesIn(small_networks()),
                         [](const auto& test) { return std::to_string(test.index); });

// Whoever looks on does not change the numbers: whole P, rows of P, or nobody; with more tokens than a block of rows.
TEST(Dense, ObserversDoNotChangeTheResult) {
  const Model model = open_model("san:layers=2,heads=2,dim=16,std=0.3,relative=xlnet", 2);
  const Sample sample = random_samples(model.network, 1, 1, 300)[0];
  Recorder<float> whole;
  Recorder<float> rows({.hidden = true, .attention = Needs::Attention::kRows});
  std::vector<Observer<float>*> first = {&whole};
  std::vector<Observer<float>*> second = {&rows};
  const auto a = forward<float>(model.network, *model.weights, std::span(&sample, 1), first);
  const auto b = forward<float>(model.network, *model.weights, std::span(&sample, 1), second);
  const auto c = forward<float>(model.network, *model.weights, std::span(&sample, 1), {});
  EXPECT_EQ(a[0], b[0]);
  EXPECT_EQ(a[0], c[0]);
  EXPECT_EQ(whole.attentions.at({1, 1}), rows.attentions.at({1, 1}));
}

// Padding at either end changes nothing for the real tokens when positions are relative or absent.
TEST(Dense, PaddingIsInvisible) {
  for (const char* spec :
       {"san:layers=3,heads=2,dim=8,std=0.5,mlp=12", "san:layers=3,heads=2,dim=8,std=0.5,relative=xlnet"}) {
    const Model model = open_model(spec, 4);
    const Sample sample = random_samples(model.network, 9, 1, 6)[0];
    Sample longer = sample;
    auto& ids = std::get<TokenIds>(longer.content);
    ids.insert(ids.begin(), {1, 2});
    ids.push_back(3);
    longer.valid = {0, 0, 1, 1, 1, 1, 1, 1, 0};
    const auto a = engine_states<double>(model.network, *model.weights, sample);
    const auto b = engine_states<double>(model.network, *model.weights, longer);
    for (std::size_t l = 0; l < a.size(); ++l) {
      EXPECT_LE((a[l] - b[l].middleRows(2, 6)).cwiseAbs().maxCoeff(), 1e-13 * a[l].cwiseAbs().maxCoeff()) << spec;
    }
  }
}

TEST(Dense, SegmentsEnterXlnetsLogits) {
  const Model model = open_model("san:layers=2,heads=2,dim=8,std=0.7,relative=xlnet", 4);
  Sample sample = random_samples(model.network, 9, 1, 6)[0];
  const auto before = engine_states<double>(model.network, *model.weights, sample);
  sample.segments = {0, 0, 1, 1, 2, 2};
  const auto after = engine_states<double>(model.network, *model.weights, sample);
  plain::Forward<double> reference(model.network, *model.weights);
  EXPECT_LE(difference(after, reference.states(sample)), 1e-13);
  EXPECT_GT((before.back() - after.back()).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(Dense, ScalesAndBranchesAreWhatTheStepUsed) {
  const Model model = open_model("san:layers=2,heads=2,dim=8,std=0.7,norm=pre,mlp=12,eps=1e-5", 4);
  const Sample sample = random_samples(model.network, 9, 1, 6)[0];
  Recorder<double> recorder;
  std::vector<Observer<double>*> observers = {&recorder};
  forward<double>(model.network, *model.weights, std::span(&sample, 1), observers);
  Matrix<double> x = recorder.states[0];
  for (Index l = 0; l < 2; ++l) {
    const Matrix<double> centred = x.colwise() - x.rowwise().mean();
    for (Index i = 0; i < x.rows(); ++i) {
      EXPECT_NEAR(recorder.scales.at({2 * l, NormPlace::kPre})(i), std::sqrt(centred.row(i).squaredNorm() / 8 + 1e-5),
                  1e-14);
    }
    x += recorder.branches.at(2 * l) + recorder.branches.at(2 * l + 1);
    EXPECT_LE((x - recorder.states[static_cast<std::size_t>(l + 1)]).cwiseAbs().maxCoeff(), 1e-13);
  }
}

// Small models of the families that `san:` has no words for.
TEST(Dense, EqualsThePlainForwardPassForEveryPositionScheme) {
  const char* const configs[] = {
      R"({"model_type": "gpt2", "n_embd": 12, "n_layer": 2, "n_head": 3, "vocab_size": 40, "n_positions": 20})",
      R"({"model_type": "t5", "d_model": 12, "num_layers": 2, "num_heads": 3, "d_kv": 5, "d_ff": 14, "vocab_size": 40,
          "relative_attention_num_buckets": 8, "relative_attention_max_distance": 6, "feed_forward_proj": "gated-gelu"})",
      R"({"model_type": "llama", "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 6,
          "num_key_value_heads": 2, "head_dim": 4, "intermediate_size": 14, "vocab_size": 40})",
      R"({"model_type": "vit", "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3,
          "intermediate_size": 14, "image_size": 6, "patch_size": 2})"};
  for (const char* config : configs) {
    Network network = network_from_config(config, "config");
    for (TensorSpec& tensor : network.tensors) {
      if (tensor.init.kind != Init::Kind::kConstant) tensor.init = {Init::Kind::kNormal, 0.4};
    }
    const auto weights = draw_weights(network.tensors, 5);
    const Sample sample = random_samples(network, 5, 1, 13)[0];
    plain::Forward<double> reference(network, *weights);
    const auto expected = reference.states(sample);
    EXPECT_LE(difference(engine_states<double>(network, *weights, sample), expected), 1e-13) << network.family;
    EXPECT_LE(difference(engine_states<float>(network, *weights, sample), expected), 1e-4) << network.family;
  }
}

// As in the original: real tokens are counted wherever padding stands, and padding has a row of its own.
TEST(Dense, OptsPositionsCountRealTokensOnly) {
  const Network network = network_from_config(
      R"({"model_type": "opt", "hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "ffn_dim": 14,
          "vocab_size": 40, "max_position_embeddings": 20, "init_std": 0.4})",
      "config");
  const auto weights = draw_weights(network.tensors, 5);
  const Sample plain_sample = random_samples(network, 5, 1, 6)[0];
  const auto alone = engine_states<double>(network, *weights, plain_sample);
  Sample sample = plain_sample;
  auto& ids = std::get<TokenIds>(sample.content);
  ids.insert(ids.begin(), {1, 1});
  ids.insert(ids.begin() + 5, 1);
  ids.push_back(1);
  sample.valid = {0, 0, 1, 1, 1, 0, 1, 1, 1, 0};
  const auto states = engine_states<double>(network, *weights, sample);
  plain::Forward<double> reference(network, *weights);
  EXPECT_LE(difference(states, reference.states(sample)), 1e-13);
  for (std::size_t l = 0; l < alone.size(); ++l) {
    EXPECT_LE((alone[l].topRows(3) - states[l].middleRows(2, 3)).cwiseAbs().maxCoeff(), 1e-13) << l;
    EXPECT_LE((alone[l].bottomRows(3) - states[l].middleRows(6, 3)).cwiseAbs().maxCoeff(), 1e-13) << l;
  }
}

// The constants of the three forms differ in the eighth and eleventh digit.
TEST(Dense, FormsOfGeluDifferInTheirConstant) {
  const auto states = [](const char* act) {
    const Model model = open_model(std::string("san:layers=2,heads=2,dim=8,std=0.7,mlp=12,act=") + act, 4);
    const Sample sample = random_samples(model.network, 9, 1, 6)[0];
    plain::Forward<double> reference(model.network, *model.weights);
    const auto out = engine_states<double>(model.network, *model.weights, sample);
    EXPECT_LE(difference(out, reference.states(sample)), 1e-14) << act;
    return out.back();
  };
  const Matrix<double> fast = states("gelu_fast");
  const double apart = (fast - states("gelu_new")).cwiseAbs().maxCoeff();
  EXPECT_GT(apart, 1e-13);
  EXPECT_LT(apart, 1e-10);
  EXPECT_GT((fast - states("gelu_bloom")).cwiseAbs().maxCoeff(), 1e-10);
}

TEST(Dense, GivenHiddenStatesSkipTheInputMap) {
  const Model model = open_model("san:layers=2,heads=2,dim=8,std=0.7", 4);
  const Sample sample = random_samples(model.network, 9, 1, 6)[0];
  const auto states = engine_states<double>(model.network, *model.weights, sample);
  Sample hidden;
  hidden.content = HiddenState{states[0]};
  EXPECT_EQ(engine_states<double>(model.network, *model.weights, hidden).back(), states.back());
}

TEST(Dense, TheHeadIsALinearMapOfTheLastState) {
  const Model model = open_model("san:layers=2,heads=2,dim=8,features=3,labels=4,std=0.5", 4);
  const auto samples = random_samples(model.network, 9, 2, 6);
  const auto last = forward<double>(model.network, *model.weights, samples, {});
  const auto outputs = apply_head<double>(model.network, *model.weights, last);
  ASSERT_EQ(outputs.size(), 2u);
  const TensorData data = model.weights->rows(model.network.head->w.tensor, 0, 4);
  Matrix<double> w(4, 8);
  widen<double>(data.dtype, data.bytes, std::span<double>(w.data(), 32));
  EXPECT_LE((outputs[1] - last[1] * w.transpose()).cwiseAbs().maxCoeff(), 1e-14) << "its bias is drawn as zero";
  const Model without_head = open_model("san:layers=1,heads=1,dim=8", 4);
  EXPECT_THROW(apply_head<double>(without_head.network, *without_head.weights, last), Error);
}

// Weights that are all `value`, whatever the tensor.
class ConstantWeights final : public WeightSource {
 public:
  ConstantWeights(std::vector<TensorSpec> tensors, float value) : tensors_(std::move(tensors)), value_(value) {}
  TensorData rows(int tensor, Index, Index count) const override {
    const auto size = static_cast<std::size_t>(count * tensors_[static_cast<std::size_t>(tensor)].matrix_cols());
    auto buffer = std::make_shared<std::vector<float>>(size, value_);
    return {DType::kF32, std::as_bytes(std::span<const float>(*buffer)), buffer};
  }

 private:
  std::vector<TensorSpec> tensors_;
  float value_;
};

TEST(Dense, OverflowIsReportedWithItsPlace) {
  const Network network = open_model("san:layers=4,heads=1,dim=4,norm=none,input_norm=0", 0).network;
  const ConstantWeights weights(network.tensors, 1e15F);
  const auto samples = random_samples(network, 0, 2, 3);
  try {
    forward<float>(network, weights, samples, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNumerical);
    EXPECT_NE(std::string(error.what()).find("block 0, attention output"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("token 0, channel 0"), std::string::npos) << error.what();
  }
}

TEST(Dense, NanInTheInputIsReported) {
  const Network network = open_model("san:layers=1,heads=1,dim=4", 0).network;
  const ConstantWeights weights(network.tensors, std::numeric_limits<float>::quiet_NaN());
  const auto samples = random_samples(network, 0, 1, 3);
  try {
    forward<double>(network, weights, samples, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("hidden state 0: NaN"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace rankfall
