#include "model/families/families.h"

#include <fmt/format.h>

#include "io/json_limits.h"
#include "model/families/builder.h"
#include <rankfall/model.h>

namespace rankfall {
namespace {

struct Family {
  const char* model_type;
  Network (*make)(const Config&);
};

constexpr Family kFamilies[] = {
    {"albert", make_albert}, {"bert", make_bert},   {"distilbert", make_distilbert}, {"electra", make_bert},
    {"gpt2", make_gpt2},     {"llama", make_llama}, {"roberta", make_bert},          {"san", make_san},
    {"t5", make_t5},         {"vit", make_vit},     {"xlnet", make_xlnet},
};

}  // namespace

Network make_network(const Config& config) {
  const std::string model_type = config.text("model_type");
  std::string known;
  for (const Family& family : kFamilies) {
    if (model_type == family.model_type) return family.make(config);
    known += fmt::format("{}{}", known.empty() ? "" : ", ", family.model_type);
  }
  config.fail(fmt::format("'model_type' is '{}', expected one of {}", model_type, known));
}

Network network_from_config(std::string_view json, std::string_view where) {
  return make_network(Config(parse_json(json, where), std::string(where), ErrorKind::kInput));
}

}  // namespace rankfall
