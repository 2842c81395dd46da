#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "studies/measure/answers.h"
#include "view/number_text.h"

namespace rankfall {
namespace {

constexpr std::size_t kMostNames = 3;    // models in a sentence
constexpr std::size_t kMostPhrases = 5;  // variants in an answer
constexpr std::size_t kMostSentences = 3;

struct PartWords {
  std::string_view part, words;
  bool plural = false;
};
constexpr PartWords kParts[] = {{"attn_skip", "the skip connection around attention"},
                                {"mlp", "the MLPs", true},
                                {"mlp_skip", "the skip connection around the MLP"},
                                {"norm", "the norms", true}};

const PartWords* part_named(std::string_view name) {
  const auto* found = std::ranges::find(kParts, name, &PartWords::part);
  return found == std::end(kParts) ? nullptr : found;
}

// The parts that a variant lacks, of a name such as "-attn_skip,-mlp"; nothing of any other name.
std::vector<const PartWords*> removed_parts(std::string_view variant) {
  std::vector<const PartWords*> parts;
  while (!variant.empty()) {
    const auto comma = variant.find(',');
    const std::string_view one = variant.substr(0, comma);
    const PartWords* part = one.starts_with('-') ? part_named(one.substr(1)) : nullptr;
    if (!part) return {};
    parts.push_back(part);
    variant.remove_prefix(comma == std::string_view::npos ? variant.size() : comma + 1);
  }
  return parts;
}

std::string part_list(const std::vector<const PartWords*>& parts) {
  std::vector<std::string> words;
  for (const PartWords* part : parts) words.emplace_back(part->words);
  return joined(words);
}

// What several models have in common.
struct Outcome {
  std::string text;
  std::vector<std::string> models;
};

void add_outcome(std::vector<Outcome>& outcomes, const std::string& text, const std::string& model) {
  const auto found = std::ranges::find(outcomes, text, &Outcome::text);
  if (found == outcomes.end()) {
    outcomes.push_back({text, {model}});
  } else {
    found->models.push_back(model);
  }
}

std::string model_list(const std::vector<std::string>& models) {
  std::vector<std::string> names;
  for (const std::string& model : models) {
    if (names.size() < kMostNames) names.push_back(shortened(model));
  }
  if (models.size() > kMostNames) names.push_back(fmt::format("{} more", models.size() - kMostNames));
  return joined(names);
}

// "tokens become identical to float32 precision within 2 layers (a and b); within 4 layers (c)"
std::string outcome_words(const std::vector<Outcome>& outcomes, bool several_models) {
  std::string out;
  for (std::size_t i = 0; i < outcomes.size() && i < kMostNames; ++i) {
    out += (i == 0 ? "" : "; ") + outcomes[i].text;
    if (several_models) out += fmt::format(" ({})", model_list(outcomes[i].models));
  }
  if (outcomes.size() > kMostNames) out += fmt::format("; and {} more outcomes", outcomes.size() - kMostNames);
  return out;
}

// A variant, and what became of it in each model.
struct VariantOutcomes {
  std::string variant;
  std::vector<Outcome> collapsing, lasting;
};

std::vector<VariantOutcomes> outcomes_of(const std::vector<const LayerCurves*>& models, const std::string& precision) {
  std::vector<VariantOutcomes> all;
  for (const LayerCurves* of : models) {
    for (const std::string& variant : of->variants.list()) {
      auto place = std::ranges::find(all, variant, &VariantOutcomes::variant);
      if (place == all.end()) place = all.insert(place, {variant, {}, {}});
      const Fate fate = fate_of(*of, variant);
      if (fate.n_points < 2) continue;
      add_outcome(fate.collapses() ? place->collapsing : place->lasting, fate.words(precision), of->model);
    }
  }
  return all;
}

// One sentence for all variants of which the same is true.
std::string variant_sentences(const std::vector<VariantOutcomes>& all, bool collapsing, bool several_models,
                              bool as_published) {
  std::vector<std::pair<std::string, std::vector<std::string>>> sentences;  // what, and the variants
  std::size_t n = 0;
  for (const VariantOutcomes& of : all) {
    const std::vector<Outcome>& outcomes = collapsing ? of.collapsing : of.lasting;
    if (outcomes.empty() || ++n > kMostPhrases) continue;
    const std::string words = outcome_words(outcomes, several_models);
    auto place = std::ranges::find(sentences, words, &std::pair<std::string, std::vector<std::string>>::first);
    if (place == sentences.end()) place = sentences.insert(place, {words, {}});
    place->second.push_back(variant_phrase(of.variant) + (as_published ? ", as published" : ""));
  }
  std::string out;
  for (const auto& [words, variants] : sentences) {
    out += fmt::format("{}{}, {}.", out.empty() ? "" : " ", title_case(joined(variants)), words);
  }
  if (n > kMostPhrases) out += fmt::format(" The table has {} more.", counted(n - kMostPhrases, "variant"));
  return out;
}

// Of the paper's four networks, if all models agree: "Skip connections prevent collapse; MLPs alone do not."
std::string paper_words(const std::vector<VariantOutcomes>& all) {
  const auto collapses = [&](std::string_view variant) -> std::optional<bool> {
    const auto found = std::ranges::find(all, variant, &VariantOutcomes::variant);
    if (found == all.end() || found->collapsing.empty() == found->lasting.empty()) return {};
    return !found->collapsing.empty();
  };
  if (collapses("san") != true) return "";
  const auto skip = collapses("san+skip"), mlp = collapses("san+mlp");
  if (skip == false && mlp == true) return "Skip connections prevent collapse; MLPs alone do not. ";
  if (skip == true && mlp == false) return "MLPs prevent collapse; skip connections alone do not. ";
  if (skip == false && mlp == false) return "Skip connections prevent collapse, and so do MLPs. ";
  if (skip == false) return "Skip connections prevent collapse. ";
  if (skip == true && mlp == true) return "Neither skip connections nor MLPs alone prevent collapse. ";
  return "";
}

}  // namespace

std::string variant_phrase(const std::string& variant) {
  const std::string base = variant.substr(0, variant.find(' '));
  if (variant.empty()) return "as it is";
  if (base == "full") return variant == base ? "in the full model" : fmt::format("in the full model ({})", variant);
  if (base == "san") return fmt::format("without skip connections and MLPs ({})", variant);
  if (base == "san+mlp") return fmt::format("without skip connections ({})", variant);
  if (base == "san+skip") return fmt::format("without MLPs ({})", variant);
  if (base == "no-norm") return fmt::format("without norms ({})", variant);
  const auto removed = removed_parts(base);
  return removed.empty() ? fmt::format("in {}", shortened(variant)) : fmt::format("without {}", part_list(removed));
}

std::vector<Answer> collapse_answers(const std::vector<const LayerCurves*>& models, const std::string& precision,
                                     bool as_published) {
  const std::vector<VariantOutcomes> all = outcomes_of(models, precision);
  const std::string collapsing = variant_sentences(all, true, models.size() > 1, as_published);
  const std::string lasting = variant_sentences(all, false, models.size() > 1, as_published);
  std::vector<Answer> answers;
  if (!collapsing.empty()) answers.push_back({Question::kCollapses, collapsing, Tone::kBad});
  if (collapsing.empty() && !lasting.empty()) {
    answers.push_back(
        {Question::kCollapses, "Nothing collapses: no variant loses nine tenths of its residual.", Tone::kGood});
  }
  const std::string paper = as_published ? "" : paper_words(all);
  if (!lasting.empty()) {
    answers.push_back({Question::kPrevents, paper + lasting, Tone::kGood});
  } else if (!paper.empty()) {
    answers.push_back({Question::kPrevents, paper.substr(0, paper.size() - 1), Tone::kNeutral});
  } else if (all.size() > 1 && !collapsing.empty()) {
    answers.push_back({Question::kPrevents, "Nothing that was measured prevents it.", Tone::kNeutral});
  }
  if (models.size() == 1 && !answers.empty()) {
    answers[0].answer = fmt::format("{}: {}", shortened(models[0]->model), answers[0].answer);
  }
  return answers;
}

bool has_ablation(const LayerCurves& of) {
  const auto& variants = of.variants.list();
  return std::ranges::find(variants, "full") != variants.end() &&
         std::ranges::any_of(variants, [](const std::string& name) { return removed_parts(name).size() == 1; });
}

Figure ablation_figure(const std::vector<const LayerCurves*>& models, const std::string& precision) {
  using Kind = TableColumn::Kind;
  Figure figure;
  figure.id = "parts";
  figure.title = "What each part does";
  figure.caption =
      "Relative residual of the last layer without each part alone and without all of them, and its factor against "
      "the full model.";
  for (const LayerCurves* of : models) {
    if (!has_ablation(*of)) continue;
    const Fate full = fate_of(*of, "full");
    Table table;
    table.title = of->model + ": effect of each part";
    table.about = fmt::format("relative residual at layer {}, and its factor against the full model", full.last_layer);
    table.columns = {
        {"without"}, {"residual", Kind::kNumber}, {"factor", Kind::kNumber, "", 2}, {"outcome", Kind::kProse}};
    for (const std::string& variant : of->variants.list()) {
      const auto removed = removed_parts(variant);
      if (variant != "full" && removed.empty()) continue;
      const Fate fate = fate_of(*of, variant);
      if (fate.n_points == 0) continue;
      const std::string name = variant == "full" ? "nothing (full)" : fmt::format("{}", variant);
      Number residual(fate.last), factor(full.last > 0 ? std::optional(fate.last / full.last) : std::nullopt);
      if (fate.floor_since) residual.note = "floor";
      table.rows.push_back({name, std::move(residual), variant == "full" ? Cell() : Cell(std::move(factor)),
                            Badge{fate.collapses() ? Tone::kBad : Tone::kGood, fate.words(precision)}});
    }
    figure.nodes.emplace_back(std::move(table));
  }
  return figure;
}

namespace {

// The effect of removing parts.
struct Removal {
  std::vector<const PartWords*> parts;
  Fate fate;
};

std::string ablation_sentence(const LayerCurves& of, const std::string& precision) {
  const Fate full = fate_of(of, "full");
  std::vector<Removal> single, all;
  for (const std::string& variant : of.variants.list()) {
    Removal removal{removed_parts(variant), fate_of(of, variant)};
    if (removal.parts.empty() || removal.fate.n_points == 0) continue;
    (removal.parts.size() == 1 ? single : all).push_back(std::move(removal));
  }
  if (single.empty() || full.n_points == 0) return "";
  const auto& least = *std::ranges::min_element(single, {}, [](const Removal& removal) { return removal.fate.last; });
  if (full.collapses()) {
    return fmt::format("The full model collapses: {}. The largest further loss is without {}: {}.",
                       full.words(precision), part_list(least.parts), least.fate.words(precision));
  }
  std::vector<const Removal*> needed;
  for (const Removal& removal : single) {
    if (removal.fate.collapses()) needed.push_back(&removal);
  }
  if (needed.size() == 1) {
    const PartWords& part = *needed[0]->parts[0];
    return fmt::format("{} prevent{} collapse: without {}, {}; in the full model, {}.",
                       title_case(std::string(part.words)), part.plural ? "" : "s", part.plural ? "them" : "it",
                       needed[0]->fate.words(precision), full.words(precision));
  }
  if (needed.size() > 1) {
    std::vector<std::string> words, effects;
    for (const Removal* removal : needed) {
      words.push_back(part_list(removal->parts));
      effects.push_back(fmt::format("without {}, {}", part_list(removal->parts), removal->fate.words(precision)));
    }
    return fmt::format("{} prevent collapse, and each of them is needed: {}.", title_case(joined(words)),
                       fmt::join(effects, "; "));
  }
  const std::string alone =
      fmt::format("No single part prevents collapse: the largest effect is that of {}, without which {}.",
                  part_list(least.parts), least.fate.words(precision));
  if (all.empty()) return alone;
  const Removal& together = all.back();
  return fmt::format("{} Without {} together, {}.", alone, part_list(together.parts), together.fate.words(precision));
}

}  // namespace

std::vector<Answer> ablation_answers(const std::vector<const LayerCurves*>& models, const std::string& precision) {
  std::vector<Answer> answers;
  for (const LayerCurves* of : models) {
    if (!has_ablation(*of) || answers.size() == kMostSentences) continue;
    const std::string words = ablation_sentence(*of, precision);
    if (words.empty()) continue;
    answers.push_back({Question::kPrevents, fmt::format("{}: {}", shortened(of->model), words),
                       fate_of(*of, "full").collapses() ? Tone::kBad : Tone::kGood});
  }
  return answers;
}

}  // namespace rankfall
