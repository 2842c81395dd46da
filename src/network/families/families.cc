#include "network/families/families.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <fmt/format.h>

#include "base/dcheck.h"
#include "base/mapped.h"
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

constexpr Family kFamilies[] = {
    {"albert", make_albert, kBertSizes, {"albert.", kWords, {}, "predictions.decoder.weight"}},
    {"bert", make_bert, kBertSizes, {"bert.", kWords, {}, "cls.predictions.decoder.weight"}},
    {"camembert", make_bert, kBertSizes, {"roberta.", kWords, {}, "lm_head.decoder.weight"}},
    {"distilbert",
     make_distilbert,
     "dim n_layers n_heads hidden_dim vocab_size",
     {"distilbert.", kWords, {}, "vocab_projector.weight"}},
    {"electra", make_bert, kBertSizes, {"electra.", kWords, {}, "generator_lm_head.weight"}},
    {"gpt2", make_gpt2, "n_embd n_layer n_head vocab_size", {"transformer.", "wte.weight", {}, "lm_head.weight"}},
    {"llama",
     make_llama,
     "hidden_size num_hidden_layers num_attention_heads intermediate_size vocab_size",
     {"model.", "embed_tokens.weight", {}, "lm_head.weight"}},
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

std::string known_families() {
  return fmt::format("{}", fmt::join(mapped<std::string_view>(kFamilies, &Family::model_type), ", "));
}

}  // namespace

Network make_network(const Config& config) {
  if (!config.has("model_type")) config.fail("'model_type' is missing; add it, one of {}", known_families());
  const std::string model_type = config.text("model_type");
  for (const Family& family : kFamilies) {
    if (model_type == family.model_type) return family.make(config);
  }
  config.fail("'model_type' is {}, expected one of {}", in_quotes(model_type), known_families());
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
