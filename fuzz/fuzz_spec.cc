// What people type: a network's specification, a condition, and a kind of attention. They throw Error (kUsage), or the
// network has tensors that fit it, the condition is written as it was read, and the attention fits a tiny network whose
// every token still sees itself, or is refused.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz_check.h"
#include "network/seen_keys.h"
#include <rankfall/error.h>
#include <rankfall/model.h>
#include <rankfall/threshold.h>
#include <rankfall/variants.h>

using namespace rankfall;

namespace {

void check_attention(std::string_view text) {
  static const Network tiny = open_model("san:layers=2,heads=2,dim=4,vocab=5", 0).network;
  static const Network causal = open_model("san:layers=1,heads=1,dim=4,vocab=5,mask=causal", 0).network;
  const AttentionChoice choice = attention_named(text);
  FUZZ_CHECK(choice.name == text);
  FUZZ_CHECK(attention_named(choice.name).weights == choice.weights &&
             attention_named(choice.name).mask == choice.mask);
  for (const Network* network : {&tiny, &causal}) {
    const Network with = with_attention(*network, choice);
    FUZZ_CHECK(with.layers.size() == network->layers.size());
    for (const SubLayer& layer : with.layers) {
      const rankfall::Attention* attention = layer.attention();
      if (!attention) continue;
      FUZZ_CHECK(attention->mask.causal == (network == &causal));
      const SeenKeys keys(attention->mask, 201);
      for (const Index i : {0, 63, 64, 200}) FUZZ_CHECK(keys.allows(i, i));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const Model model = open_model("san:" + std::string(text), 0);
    FUZZ_CHECK(model.network.sizes.n_blocks > 0 && model.network.sizes.d_model > 0);
    for (const SubLayer& layer : model.network.layers) FUZZ_CHECK(layer.block < model.network.sizes.n_blocks);
    for (const TensorSpec& tensor : model.network.tensors)
      FUZZ_CHECK(tensor.matrix_rows() > 0 && tensor.matrix_cols() > 0);
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kUsage);
  }
  try {
    const Threshold threshold = parse_threshold(text);
    FUZZ_CHECK(parse_threshold(to_string(threshold)) == threshold);
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kUsage);
  }
  try {
    check_attention(text);
  } catch (const Error& e) {
    FUZZ_CHECK(e.kind() == ErrorKind::kUsage);
  }
  return 0;
}
