#include "view/rows.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "io/utf8.h"
#include "result/manifest.h"
#include "result/prose_format.h"
#include "view/model_names.h"
#include "view/number_text.h"
#include <rankfall/metric_info.h>

namespace rankfall {
namespace {

template <class Key>
std::vector<RowGroup> grouped(const Result& result, Key key_of) {
  std::vector<RowGroup> groups;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const Row& row : result.rows) {
    const auto key = key_of(row);
    const auto [place, is_new] = places.try_emplace(key, groups.size());
    if (is_new) groups.push_back({std::string(key.first), std::string(key.second), {}});
    groups[place->second].rows.push_back(&row);
  }
  return groups;
}

}  // namespace

std::vector<RowGroup> by_variant(const Result& result) {
  return grouped(result,
                 [](const Row& row) { return std::pair<std::string_view, std::string_view>(row.model, row.variant); });
}

std::vector<RowGroup> by_model(const Result& result) {
  return grouped(result, [](const Row& row) { return std::pair<std::string_view, std::string_view>(row.model, ""); });
}

Rows with_metric(const Rows& rows, std::string_view metric) {
  Rows out;
  std::ranges::copy_if(rows, std::back_inserter(out), [&](const Row* row) { return row->metric == metric; });
  return out;
}

bool is_layer_row(const Row& row) {
  return row.layer && !row.metric.empty() && row.exact.empty() && !row.sample && !row.length && !row.origin &&
         !row.path && !row.step && row.claim.empty() && !row.tokens && !row.k;
}

void Names::add(const std::string& name) {
  if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
}

std::optional<double> finite(std::optional<double> value) {
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string whole_text(const Row& row, std::size_t most) {
  const bool has_digits = !row.exact.empty() && row.exact.find_first_not_of("0123456789") == std::string::npos;
  if (has_digits) return digits_text(row.exact, most);
  const auto value = finite(row.mean);
  return value ? significant(*value) : "";
}

Point point_of(const Row& row, double x, std::string series) {
  Point point;
  point.x = x;
  point.series = std::move(series);
  point.value = finite(row.mean);
  point.n = row.n;
  point.status = row.status;
  point.note = fmt::to_string(row.verdict);
  if (point.value && finite(row.std)) {
    point.low = *point.value - *row.std;
    point.high = *point.value + *row.std;
  }
  return point;
}

std::vector<Series> numbered_series(const std::vector<std::string>& names) {
  std::vector<Series> out;
  out.reserve(names.size());
  for (const std::string& name : names) out.push_back({name, name, out.size()});
  return out;
}

std::vector<Series> variant_series(const std::vector<std::string>& variants) {
  static const std::map<std::string_view, std::pair<std::size_t, std::string_view>> known_variants = {
      {"full", {0, "the transformer"}},
      {"san", {1, "attention alone"}},
      {"san+skip", {2, "with skips"}},
      {"san+mlp", {3, "with MLPs"}},
      {"no-norm", {4, "without norms"}}};
  std::vector<Series> out;
  std::size_t next = known_variants.size();
  for (const std::string& variant : variants) {
    const auto known = known_variants.find(variant);
    if (known == known_variants.end()) {
      out.push_back({variant, variant.empty() ? "value" : variant, next++});
    } else {
      out.push_back({variant, variant, known->second.first});
      out.back().explanation = known->second.second;
    }
  }
  // Alone among strangers: begin with the first colour.
  if (next == known_variants.size() + variants.size()) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i].number = i;
  }
  return out;
}

std::vector<Series> ordered_series(const std::vector<std::string>& names) {
  std::vector<Series> out = numbered_series(names);
  for (Series& series : out) series.look = Series::Look::kOrdered;
  return out;
}

Series reference_series(std::string name, std::string title) {
  return {std::move(name), std::move(title), 0, Series::Look::kReference};
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  }
  return out;
}

std::string shortened(const std::string& name) { return printable(name, 60); }

std::string counted(std::size_t n, std::string_view word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

std::string title_case(std::string words) {
  if (!words.empty()) words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  return words;
}

std::string mean_words(std::string_view metric, Index n, bool over_seeds) {
  return fmt::format("{} over {} {}{}", words_of(metric_info(metric).averaging), n, over_seeds ? "seed" : "sample",
                     n == 1 ? "" : "s");
}

std::string precision_words(const Manifest& manifest) {
  const std::string precision = text_of(manifest, "precision");
  return precision == "f32" ? "float32 " : precision == "f64" ? "float64 " : "";
}

namespace {

// An entry's value for each of n models: one for all, or a list in their order.
std::vector<std::string> values_of(const Manifest& manifest, std::string_view key, std::size_t n) {
  const ManifestValue* value = find(manifest, key);
  if (!value) return {};
  if (const auto* number = std::get_if<std::int64_t>(value)) return {n, fmt::format("{}", *number)};
  if (const auto* list = std::get_if<std::vector<std::string>>(value)) {
    return list->size() == n ? *list : std::vector<std::string>();
  }
  const auto* text = std::get_if<std::string>(value);
  return text ? std::vector<std::string>(n, *text) : std::vector<std::string>();
}

// "ids.json" of "data/ids.json", and of each of several.
std::string file_names(std::string_view files) {
  std::vector<std::string> names;
  while (true) {
    const auto end = files.find(", ");
    const std::string_view file = files.substr(0, end);
    names.emplace_back(file.substr(file.rfind('/') + 1));
    if (end == std::string_view::npos) break;
    files.remove_prefix(end + 2);
  }
  constexpr std::size_t kMost = 3;
  return names.size() > kMost ? fmt::format("{} files", names.size()) : joined(names);
}

// "8 samples of 17 to 35 tokens from ids.json", "32 samples of 128 random token ids (uniform)".
std::string sample_words(const std::string& samples, const std::string& tokens, std::string_view input, bool random) {
  constexpr std::string_view kRandom = "random, ";
  const std::string begin = fmt::format("{} sample{} of {}", samples, samples == "1" ? "" : "s", tokens);
  if (!random && !input.starts_with(kRandom)) {
    return fmt::format("{} token{} from {}", begin, tokens == "1" ? "" : "s", file_names(input));
  }
  const std::string_view law = input.starts_with(kRandom) ? input.substr(kRandom.size()) : input;
  const bool ids = law == "uniform" || law == "zipf";
  return fmt::format("{} random {} ({})", begin, ids ? "token ids" : "inputs", law);
}

bool flag_of(const Manifest& manifest, std::string_view key) {
  const ManifestValue* value = find(manifest, key);
  const auto* flag = value ? std::get_if<bool>(value) : nullptr;
  return flag && *flag;
}

}  // namespace

std::string input_words(const Manifest& manifest, std::string_view verb, bool reads_weights) {
  const ManifestValue* listed = find(manifest, "models");
  const auto* list = listed ? std::get_if<std::vector<std::string>>(listed) : nullptr;
  const std::vector<std::string> models = list ? *list : std::vector<std::string>{""};
  const std::size_t n = models.size();
  const auto samples = values_of(manifest, "samples", n), tokens = values_of(manifest, "tokens", n),
             inputs = values_of(manifest, "input", n), weights = values_of(manifest, "weights", n);
  if (n == 0 || samples.empty() || tokens.empty() || inputs.empty()) return "";
  const bool random = flag_of(manifest, "random_input");
  const auto short_names = short_model_names(models);
  std::vector<std::pair<std::string, std::vector<std::string>>> inputs_of;  // words, and the models that have them
  std::vector<std::string> trained;
  for (std::size_t m = 0; m < n; ++m) {
    const auto found = short_names.find(models[m]);
    const std::string name = shortened(found == short_names.end() ? models[m] : found->second);
    const std::string words = sample_words(samples[m], tokens[m], inputs[m], random);
    auto place = std::ranges::find(inputs_of, words, &std::pair<std::string, std::vector<std::string>>::first);
    if (place == inputs_of.end()) place = inputs_of.insert(place, {words, {}});
    place->second.push_back(name);
    if (random && !weights.empty() && weights[m] == "read from files") trained.push_back(name);
  }
  std::vector<std::string> parts;
  for (const auto& [words, names] : inputs_of) {
    parts.push_back(inputs_of.size() == 1 ? words : fmt::format("{} ({})", words, joined(names)));
  }
  std::string text = fmt::format("{} {}", verb, joined(parts));
  if (const auto seeds = values_of(manifest, "seeds", 1); !seeds.empty() && seeds[0] != "1") {
    text += fmt::format(", for each of {} seeds", seeds[0]);
  }
  text += ".";
  if (!trained.empty() && reads_weights) {
    text +=
        fmt::format(" Warning: {} {} trained, but the inputs are random. For the model as it is used, give it text.",
                    joined(trained), trained.size() == 1 ? "is" : "are");
  }
  return text;
}

}  // namespace rankfall
