#include "network/families/families.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/mapped.h"
#include "base/suggestion.h"
#include "io/json_limits.h"
#include "io/utf8.h"
#include "network/families/builder.h"
#include <rankfall/model.h>

namespace rankfall {
namespace {

struct Family {
  std::string_view model_type;
  Network (*make)(const Config&);
  std::string_view needs;  // entries of config.json without a default
  FamilyNames names;
};

constexpr std::string_view kWords = "embeddings.word_embeddings.weight";

constexpr std::string_view kBertSizes =
    "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size max_position_embeddings";

constexpr std::string_view kLlamaSizes =
    "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size";
constexpr FamilyNames kLlamaNames = {"model.", "embed_tokens.weight", {}, "lm_head.weight", false};

constexpr Family kFamilies[] = {
    {"albert", make_albert, kBertSizes, {"albert.", kWords, {}, "predictions.decoder.weight"}},
    {"bert", make_bert, kBertSizes, {"bert.", kWords, {}, "cls.predictions.decoder.weight"}},
    {"bloom",
     make_bloom,
     "hidden_size n_layer n_head vocab_size",
     {"transformer.", "word_embeddings.weight", {}, "lm_head.weight"}},
    {"camembert", make_bert, kBertSizes, {"roberta.", kWords, {}, "lm_head.decoder.weight"}},
    {"distilbert",
     make_distilbert,
     "dim n_layers n_heads hidden_dim vocab_size",
     {"distilbert.", kWords, {}, "vocab_projector.weight"}},
    {"electra", make_bert, kBertSizes, {"electra.", kWords, {}, "generator_lm_head.weight"}},
    {"gemma2", make_gemma2, kLlamaSizes, {"model.", "embed_tokens.weight", {}, "lm_head.weight"}},
    {"gemma3",
     make_gemma3,
     "text_config",
     {"model.", "embed_tokens.weight", {}, "lm_head.weight", true, {"language_model.model.", "model.language_model."}}},
    {"gemma3_text",
     make_gemma3,
     "",
     {"model.", "embed_tokens.weight", {}, "lm_head.weight", true, {"language_model.model.", "model.language_model."}}},
    {"gpt2", make_gpt2, "n_embd n_layer n_head vocab_size", {"transformer.", "wte.weight", {}, "lm_head.weight"}},
    {"gpt_neox", make_gpt_neox, kLlamaSizes, {"gpt_neox.", "embed_in.weight", {}, "embed_out.weight", false}},
    {"llama", make_llama, kLlamaSizes, kLlamaNames},
    {"mistral", make_mistral, kLlamaSizes, kLlamaNames},
    {"modernbert", make_modernbert, kLlamaSizes, {"model.", "embeddings.tok_embeddings.weight", {}, "decoder.weight"}},
    {"olmo2", make_olmo2, kLlamaSizes, kLlamaNames},
    {"olmo3", make_olmo3, kLlamaSizes, kLlamaNames},
    {"opt",
     make_opt,
     "hidden_size num_hidden_layers num_attention_heads ffn_dim vocab_size",
     {"model.", "decoder.embed_tokens.weight", {}, "lm_head.weight"}},
    {"phi3", make_phi3, kLlamaSizes, kLlamaNames},
    {"qwen2", make_qwen2, kLlamaSizes, kLlamaNames},
    {"qwen3", make_qwen3, kLlamaSizes, kLlamaNames},
    {"roberta", make_bert, kBertSizes, {"roberta.", kWords, {}, "lm_head.decoder.weight"}},
    {"san", make_san, "hidden_size num_hidden_layers num_attention_heads", {}},
    {"t5",
     make_t5,
     "d_model num_layers num_heads d_ff vocab_size",
     {"transformer.",
      "shared.weight",
      {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"},
      "lm_head.weight"}},
    {"vit", make_vit, "hidden_size num_hidden_layers num_attention_heads intermediate_size", {"vit.", {}, {}, {}}},
    {"xlm-roberta", make_bert, kBertSizes, {"roberta.", kWords, {}, "lm_head.decoder.weight"}},
    {"xlnet",
     make_xlnet,
     "d_model n_layer n_head d_inner vocab_size",
     {"transformer.", "word_embedding.weight", {}, "lm_loss.weight"}},
};

// Families that people have and rankfall does not read: the nearest one that it reads, and what it has not.
struct Stranger {
  std::string_view model_type, nearest, differs;
};
constexpr Stranger kStrangers[] = {
    {"bart", "t5", "it is an encoder-decoder, of which rankfall reads T5's encoder only"},
    {"clip", "vit", "it has a norm before the first block, and a text model beside the vision model"},
    {"clip_vision_model", "vit", "it has a norm before the first block"},
    {"cohere", "llama", "attention and MLP stand side by side behind one LayerNorm, and logits are scaled"},
    {"deberta", "bert", "its logits have terms of relative positions with queries and with keys"},
    {"deberta-v2", "bert", "its logits have terms of relative positions with queries and with keys"},
    {"deepseek_v2", "llama", "keys and values go through a narrow layer, and the MLP consists of experts"},
    {"deepseek_v3", "llama", "keys and values go through a narrow layer, and the MLP consists of experts"},
    {"dinov2", "vit", "each branch has a scale for every channel"},
    {"falcon", "gpt_neox", "one norm serves both branches, and all heads share one key"},
    {"gemma", "gemma2", "it has no norms behind its branches and no soft cap"},
    {"gpt_bigcode", "gpt2", "all heads share one key"},
    {"gpt_neo", "gpt2", "every other layer sees a window of keys, and logits are not scaled"},
    {"gpt_oss", "qwen2", "its heads have sinks, and the MLP consists of experts"},
    {"gptj", "gpt_neox", "one norm serves both branches, and rotary positions turn neighbouring channels"},
    {"mamba", "llama", "it has no attention: a state space mixes the tokens"},
    {"mamba2", "llama", "it has no attention: a state space mixes the tokens"},
    {"marian", "t5", "it is an encoder-decoder, of which rankfall reads T5's encoder only"},
    {"mbart", "t5", "it is an encoder-decoder, of which rankfall reads T5's encoder only"},
    {"mixtral", "mistral", "the MLP consists of experts"},
    {"mobilebert", "bert", "its blocks have bottlenecks, and several MLPs each"},
    {"mpt", "bloom", "its weights are named otherwise"},
    {"mt5", "t5", "it is an encoder-decoder, of which rankfall reads T5's encoder only"},
    {"olmo", "olmo2", "its norms have no gain and stand before the branches"},
    {"olmoe", "olmo2", "the MLP consists of experts"},
    {"pegasus", "t5", "it is an encoder-decoder, of which rankfall reads T5's encoder only"},
    {"phi", "gpt_neox", "one norm serves both branches"},
    {"phimoe", "phi3", "the MLP consists of experts"},
    {"qwen2_moe", "qwen2", "the MLP consists of experts"},
    {"qwen3_moe", "qwen3", "the MLP consists of experts"},
    {"rwkv", "llama", "it has no attention: a recurrence mixes the tokens"},
    {"siglip", "vit", "it has no class token, and a text model beside the vision model"},
    {"siglip_vision_model", "vit", "it has no class token"},
    {"stablelm", "gpt_neox", "its norms and projections are arranged otherwise"},
    {"starcoder2", "mistral", "it has LayerNorm and an MLP without gate"},
    {"whisper", "t5", "it is an encoder-decoder for sound"},
};

// Weights in formats that are not numbers: rankfall widens F64, F32, F16 and BF16.
void check_not_quantised(const Config& config) {
  const auto quantised = config.object("quantization_config");
  if (!quantised) return;
  const std::string method = quantised->text("quant_method", "an unnamed method");
  config.fail(
      "'quantization_config': the weights are quantised by {}, expected F64, F32, F16 or BF16; the model's authors "
      "mostly publish such files, too",
      in_quotes(method));
}

std::string known_families() {
  return fmt::format("{}", fmt::join(mapped<std::string_view>(kFamilies, &Family::model_type), ", "));
}

}  // namespace

Network make_network(const Config& config) {
  if (!config.has("model_type")) config.fail("'model_type' is missing; add it, one of {}", known_families());
  const std::string model_type = config.text("model_type");
  check_not_quantised(config);
  for (const Family& family : kFamilies) {
    if (model_type == family.model_type) return family.make(config);
  }
  constexpr std::string_view kWayOut =
      "States that another program computed can be given to a network that is known (InputOptions::hidden)";
  const auto* stranger = std::ranges::find(kStrangers, model_type, &Stranger::model_type);
  if (stranger != std::end(kStrangers)) {
    config.fail(
        "'model_type' is {}, which rankfall does not read. The nearest family that it reads is {}; {} differs: "
        "{}. {}",
        in_quotes(model_type), stranger->nearest, model_type, stranger->differs, kWayOut);
  }
  const auto names = mapped<std::string>(kFamilies, &Family::model_type);
  config.fail("'model_type' is {}, expected one of {}{}. {}", in_quotes(model_type), known_families(),
              did_you_mean(model_type, names), kWayOut);
}

std::vector<FamilyInfo> family_infos() {
  std::vector<FamilyInfo> infos;
  for (const Family& family : kFamilies) {
    FamilyInfo& info = infos.emplace_back();
    info.model_type = family.model_type;
    std::istringstream needs{std::string(family.needs)};
    info.config.assign(std::istream_iterator<std::string>(needs), {});
  }
  return infos;
}

const FamilyNames& family_names(std::string_view family) {
  const auto* found =
      std::ranges::find_if(kFamilies, [&](const Family& candidate) { return candidate.model_type == family; });
  RANKFALL_DCHECK(found != std::end(kFamilies));
  return found->names;
}

Network network_from_config(std::string_view json, std::string_view where) {
  return make_network(Config(parse_json(json, where), std::string(where), ErrorKind::kInput));
}

}  // namespace rankfall
