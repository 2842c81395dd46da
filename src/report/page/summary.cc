#include "report/page/summary.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "io/utf8.h"
#include "report/findings.h"
#include "report/layer_block.h"
#include "report/number_text.h"
#include "report/table_text.h"
#include "result/manifest.h"
#include "result/summary.h"

namespace rankfall {
namespace {

constexpr std::string_view kCollapses = "What collapses, and where?";
constexpr std::string_view kPrevents = "What prevents it?";
constexpr std::string_view kSpeed = "How fast is it?";
constexpr std::string_view kTheory = "Does the theory apply?";
constexpr std::string_view kPaths = "Which paths carry the output?";
constexpr std::string_view kTasks = "Do short paths do the task?";
constexpr std::string_view kLowRank = "Is attention of low rank?";
constexpr std::string_view kSketches = "Does Johnson-Lindenstrauss give it cheaply?";
constexpr std::string_view kAgrees = "Does it agree with the paper?";
constexpr std::size_t kMostModels = 3;

void add(std::vector<Answer>& summary, std::string_view question, const std::string& sentence, Tone tone) {
  if (sentence.empty()) return;
  const auto found = std::ranges::find(summary, question, &Answer::question);
  if (found == summary.end()) {
    summary.push_back({std::string(question), sentence, tone});
    return;
  }
  if (found->answer.find(sentence) != std::string::npos) return;
  found->answer += " " + sentence;
  if (tone == Tone::kBad) found->tone = tone;
}

bool has(const std::vector<Answer>& summary, std::string_view question) {
  return std::ranges::find(summary, question, &Answer::question) != summary.end();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  }
  return out;
}

// A finding, and the models of which it is true.
struct Finds {
  std::string text;
  std::vector<std::string> models;
};

void note(std::vector<Finds>& finds, const std::string& text, const std::string& model) {
  const auto found = std::ranges::find(finds, text, &Finds::text);
  if (found == finds.end()) {
    finds.push_back({text, {model}});
  } else {
    found->models.push_back(model);
  }
}

// Names come from files and may be long.
std::string shortened(const std::string& name) { return printable(name, 60); }

std::string names(const std::vector<std::string>& models) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < models.size() && i < kMostModels; ++i) out.push_back(shortened(models[i]));
  if (models.size() > kMostModels) out.push_back(fmt::format("{} more", models.size() - kMostModels));
  return joined(out);
}

// "from layer 2 on (bert-base@init and albert-base@init) and from layer 4 on (xlnet-base@init)"
std::string words(const std::vector<Finds>& finds) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < finds.size() && i < kMostModels; ++i) {
    texts.push_back(fmt::format("{} ({})", finds[i].text, names(finds[i].models)));
  }
  return joined(texts) + (finds.size() > kMostModels ? fmt::format(", and {} more", finds.size() - kMostModels) : "");
}

std::string variant_words(const std::string& variant) {
  if (variant == "full") return "the full transformer";
  if (variant == "san") return "attention alone (san)";
  if (variant == "san+skip") return "attention with skips (san+skip)";
  if (variant == "san+mlp") return "attention with MLPs but no skips (san+mlp)";
  return variant.empty() ? "it" : variant;
}

// "from layer 2 on" where it ends at the rounding floor, otherwise what is left in the last layer: "0.41".
std::string in_short(const LayerBlock& block, std::size_t variant) {
  std::optional<Index> floor;  // from here on all are at it
  std::optional<double> end;
  for (std::size_t i = 0; i < block.layers.size(); ++i) {
    const LayerCell& cell = block.cells[variant][i];
    if (!cell.mean) continue;
    end = cell.mean;
    if (!cell.at_floor) floor.reset();
    if (cell.at_floor && !floor) floor = block.layers[i];
  }
  if (floor) return fmt::format("from layer {} on", *floor);
  return end ? significant(*end, 2) : "no value";
}

void from_measure(const Result& result, std::vector<Answer>& summary) {
  if (has(summary, kCollapses)) return;  // the first measurement speaks; others are in their sections
  Rows rows;
  for (const Row* row : summary_rows(result)) {
    if (row->metric == "relative_residual.composite" && !row->head) rows.push_back(row);
  }
  struct Fates {
    std::vector<Finds> dying, living;
  };
  std::map<std::string, Fates> fates;
  std::vector<std::string> variants;
  const auto blocks = layer_blocks(rows);
  for (const LayerBlock& block : blocks) {
    for (std::size_t v = 0; v < block.variants.size(); ++v) {
      const std::string& variant = block.variants[v];
      if (!fates.contains(variant)) variants.push_back(variant);
      Fates& of_variant = fates[variant];
      const Finding found = finding(block, v, "", true);
      if (found.fate == Finding::Fate::kKeeps) note(of_variant.living, in_short(block, v), block.model);
      if (found.fate == Finding::Fate::kDies || found.fate == Finding::Fate::kFalls) {
        note(of_variant.dying, in_short(block, v), block.model);
      }
    }
  }
  constexpr std::size_t kMostVariants = 5;
  std::string more;
  if (variants.size() > kMostVariants) {
    more = fmt::format(" (the first {} of {} variants)", kMostVariants, variants.size());
    variants.resize(kMostVariants);
  }
  std::vector<std::string> dying, living;
  for (const std::string& variant : variants) {
    const Fates& of_variant = fates[variant];
    const std::string name = variant_words(variant) + (is_as_published(result) ? ", as published," : "");
    if (!of_variant.dying.empty()) dying.push_back(fmt::format("{} {}", name, words(of_variant.dying)));
    if (!of_variant.living.empty()) living.push_back(fmt::format("{} {}", name, words(of_variant.living)));
  }
  if (!dying.empty()) {
    add(summary, kCollapses,
        fmt::format("The relative residual is lost in rounding from a layer on, or falls to the value given: {}{}.",
                    fmt::join(dying, "; "), more),
        Tone::kBad);
  } else if (!living.empty()) {
    add(summary, kCollapses, "Nothing that was measured falls below a tenth.", Tone::kGood);
  }
  if (!living.empty()) {
    add(summary, kPrevents,
        fmt::format("Relative residual left in the last layer: {}{}.", fmt::join(living, "; "), more), Tone::kGood);
  } else if (dying.size() > 1) {
    add(summary, kPrevents, "None of the variants that were measured.", Tone::kNeutral);
  }
}

std::string law_words(Status status) {
  switch (status) {
    case Status::kDoublyExponential:
      return "doubly exponential";
    case Status::kExponential:
      return "exponential";
    case Status::kIrregular:
      return "irregular decay";
    case Status::kNoCollapse:
      return "no collapse";
    case Status::kTooFewLayers:
      return "too few layers to tell";
    default:
      return "";
  }
}

Tone law_tone(Status status) {
  switch (status) {
    case Status::kDoublyExponential:
    case Status::kExponential:
      return Tone::kBad;
    case Status::kNoCollapse:
      return Tone::kGood;
    default:
      return Tone::kNeutral;
  }
}

void from_collapse(const Result& result, std::vector<Answer>& summary) {
  // The last layer of pure attention, or of the first variant.
  struct Deepest {
    std::string variant;
    Index layer = -1;
    double log10 = 0;
  };
  std::map<std::string, Deepest> models;
  std::vector<std::string> order;
  for (const Row& row : result.rows) {
    if (row.metric != "log10_relative_residual.composite" || row.kind != "exact" || row.sample || !row.layer ||
        !row.mean) {
      continue;
    }
    if (!models.contains(row.model)) order.push_back(row.model);
    Deepest& deepest = models[row.model];
    const bool better = row.variant == "san" && deepest.variant != "san";
    if (!deepest.variant.empty() && row.variant != deepest.variant && !better) continue;
    if (!better && *row.layer < deepest.layer) continue;
    deepest = {row.variant, *row.layer, *row.mean};
  }
  for (const std::string& model : order) {
    const Deepest& deepest = models[model];
    Status law = Status::kNone;
    for (const Row& row : result.rows) {
      if (row.metric == "decay" && row.kind == "relative_residual" && row.model == model &&
          row.variant == deepest.variant) {
        law = row.status;
      }
    }
    const std::string words = law_words(law);
    add(summary, kSpeed,
        fmt::format("{} {}: {}10^{} after {} layers.", shortened(model), deepest.variant,
                    words.empty() ? "" : words + ", ", logarithm(deepest.log10), deepest.layer),
        law_tone(law));
  }
}

// "applies and holds in 3 of 24; does not apply in 21 of 24", from the rows theorem.cases.
std::string theorem_cases(const Result& result, const Row& theorem) {
  static constexpr std::pair<Status, std::string_view> kWords[] = {
      {Status::kViolated, "violated"},
      {Status::kHolds, "applies and holds"},
      {Status::kVacuous, "vacuous"},
      {Status::kExactlyZero, "nothing to bound"},
      {Status::kNotApplicable, "does not apply"},
  };
  std::vector<std::string> parts;
  for (const auto& [status, words] : kWords) {
    double count = 0;
    for (const Row& row : result.rows) {
      const bool same = row.metric == "theorem.cases" && row.claim == theorem.claim && row.model == theorem.model &&
                        row.variant == theorem.variant;
      if (same && row.status == status) count += row.mean.value_or(0);
    }
    if (count > 0) parts.push_back(fmt::format("{} in {} of {}", words, count, theorem.n.value_or(0)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void from_bounds(const Result& result, std::vector<Answer>& summary) {
  Index n_violated = 0;
  std::vector<std::string> published;
  for (const Row& row : result.rows) {
    if (row.metric.starts_with("log10_tightness.") && row.kind == "proved" && row.status == Status::kViolated) {
      ++n_violated;
    }
    if (row.metric == "theorem" && row.claim == "T2.3" && (row.variant == "san" || row.variant == "full")) {
      const std::string cases = theorem_cases(result, row);
      if (cases.empty()) continue;
      published.push_back(
          fmt::format("Theorem 2.3 on {} {}, by block and sample: {}.", shortened(row.model), row.variant, cases));
    }
  }
  for (std::size_t i = 0; i < published.size() && i < kMostModels; ++i) {
    add(summary, kTheory, published[i], Tone::kNeutral);
  }
  add(summary, kTheory,
      n_violated == 0 ? "No proved bound is violated." : fmt::format("{} proved bounds are violated.", n_violated),
      n_violated == 0 ? Tone::kNeutral : Tone::kBad);
}

void from_audit(const Result& result, std::vector<Answer>& summary) {
  Index n = 0, holds = 0, fails = 0, unexpected = 0;
  for (const Row& row : result.rows) {
    if (row.metric != "audit.verdict") continue;
    ++n;
    holds += row.status == Status::kHolds || row.status == Status::kMeasured ? 1 : 0;
    fails += row.status == Status::kViolated ? 1 : 0;
    unexpected += row.kind == "unexpected" ? 1 : 0;
  }
  if (n == 0) return;
  add(summary, kTheory,
      fmt::format("Of {} claims tried, {} hold, {} fail as stated and of {} no counterexample was found{}.", n, holds,
                  fails, n - holds - fails,
                  unexpected == 0 ? "" : fmt::format("; {} came out otherwise than recorded", unexpected)),
      unexpected == 0 ? Tone::kNeutral : Tone::kBad);
}

void from_paths(const Result& result, std::vector<Answer>& summary) {
  for (const RowGroup& group : by_variant(result)) {
    Index last = -1;
    for (const Row* row : with_metric(group.rows, "paths.share.residual"))
      last = std::max(last, row->layer.value_or(-1));
    std::optional<double> zero, one;
    for (const Row* row : with_metric(group.rows, "paths.share.residual")) {
      if (row->layer != last || row->origin != Origin{Origin::Kind::kAll, {}} || !row->kind.empty()) continue;
      if (row->length == Index{0}) zero = row->mean;
      if (row->length == Index{1}) one = row->mean;
    }
    if (!zero || !one) continue;
    add(summary, kPaths,
        fmt::format("{}: paths without any head hold {} of the output's residual, those through one head {}.",
                    group.model, significant(*zero, 2), significant(*one, 2)),
        Tone::kNeutral);
  }
}

void from_effectiveness(const Result& result, std::vector<Answer>& summary) {
  struct Best {
    std::optional<double> whole, accuracy;
    double guessing = 0;
    Index length = 0;
  };
  std::map<std::string, Best> tasks;
  for (const Row& row : result.rows) {
    if (row.metric != "accuracy" || !row.mean) continue;
    Best& best = tasks[row.model];
    if (row.kind == "model") best.whole = row.mean;
    if (row.kind.starts_with("baseline")) best.guessing = std::max(best.guessing, *row.mean);
    if (row.kind == "exact" && row.length && *row.mean > best.accuracy.value_or(-1)) {
      best.accuracy = row.mean;
      best.length = *row.length;
    }
  }
  for (const auto& [model, best] : tasks) {
    if (!best.whole || !best.accuracy) continue;
    constexpr double kBetter = 0.02;
    const std::string what =
        *best.accuracy > best.guessing + kBetter
            ? fmt::format("paths of length {} alone reach {}", best.length, significant(*best.accuracy, 2))
            : fmt::format("no length alone does better than guessing ({})", significant(best.guessing, 2));
    add(summary, kTasks,
        fmt::format("{}: {}, the whole network {}.", shortened(model), what, significant(*best.whole, 2)),
        Tone::kNeutral);
  }
}

// Mean over heads and blocks of a metric of attention.
std::optional<double> mean_of(const Rows& rows, std::string_view metric, std::string_view kind,
                              std::optional<Index> k = {}) {
  double sum = 0;
  Index n = 0;
  for (const Row* row : with_metric(rows, metric)) {
    if (row->kind != kind || row->k != k || !row->mean) continue;
    sum += *row->mean;
    ++n;
  }
  return n == 0 ? std::nullopt : std::optional(sum / static_cast<double>(n));
}

std::string low_rank_words(const RowGroup& group) {
  std::vector<std::string> parts;
  if (const auto rank = mean_of(group.rows, "attention.rank.numerical", "eps=0.1")) {
    parts.push_back(fmt::format("{} singular values lie above a tenth of the largest", significant(*rank, 2)));
  }
  for (const Index k : {1, 16}) {
    if (const auto energy = mean_of(group.rows, "attention.energy", "", k)) {
      const std::string share = significant(*energy, 2);
      parts.push_back(k == 1 ? fmt::format("the first holds {} of ‖P‖²", share)
                             : fmt::format("the first {} hold {} of it", k, share));
    }
  }
  for (const Row* row : with_metric(group.rows, "scaling.exponent")) {
    if (row->kind == "model" && row->mean) {
      parts.push_back(
          fmt::format("σ₂ goes with n^{} (the theorem for independent entries: n^-0.5)", significant(*row->mean, 2)));
    }
  }
  return joined(parts);
}

std::string error_words(const std::string& claim) {
  if (claim == "relative") return "an error of eps |P w| needs";
  return claim == "norms" ? "an error of eps ‖P‖_F |w| needs" : shortened(claim) + " needs";
}

void from_lowrank(const Result& result, std::vector<Answer>& summary) {
  std::size_t n_groups = 0, n_sketches = 0;
  for (const RowGroup& group : by_variant(result)) {
    const std::string name = shortened(fmt::format("{} {}", group.model, group.variant));
    const std::string words = low_rank_words(group);
    if (!words.empty() && n_groups++ < kMostModels) {
      add(summary, kLowRank, fmt::format("{}, mean over heads: {}.", name, words), Tone::kNeutral);
    }
    // Of directions of X W_V, which is what attention multiplies: what the largest number of tokens needs.
    std::map<std::string, const Row*> needed;
    for (const Row* row : with_metric(group.rows, "jl.k_needed")) {
      if (row->kind != "values" || !row->tokens) continue;
      const Row*& most = needed[row->claim];
      if (!most || *most->tokens < *row->tokens) most = row;
    }
    std::vector<std::string> needs;
    for (const auto& [claim, row] : needed) {
      if (needs.size() == kMostModels) break;
      const bool saves = row->mean && row->status != Status::kNoSaving;
      const std::string k = row->mean ? fmt::format("k = {:.6g} of", *row->mean) : "a k far above";
      needs.push_back(
          fmt::format("{} {} n = {}{}", error_words(claim), k, *row->tokens, saves ? "" : " (nothing is saved)"));
    }
    if (!needs.empty() && n_sketches++ < kMostModels) {
      add(summary, kSketches, fmt::format("{}, for directions of X W_V: {}.", name, joined(needs)), Tone::kNeutral);
    }
  }
}

void from_agreement(const Result& result, std::vector<Answer>& summary) {
  // A bare count would hide how loose a criterion is and how close the worst point.
  std::string sentences;
  Index n = 0, n_agree = 0;
  bool loose = false;
  for (const Row& row : result.rows) {
    if (row.metric != "agreement.verdict" || row.status == Status::kMissing) continue;
    ++n;
    n_agree += row.status == Status::kAgrees ? 1 : 0;
    const auto worst = std::ranges::find_if(
        result.rows, [&](const Row& other) { return other.metric == "agreement.worst" && other.claim == row.claim; });
    const bool known = worst != result.rows.end();
    loose = loose || (known && worst->kind == "one_draw");
    sentences +=
        fmt::format(" {}: {}{}.", shortened(row.claim), row.status == Status::kAgrees ? "agrees" : "does not agree",
                    known ? fmt::format(", {}", worst->verdict) : "");
  }
  if (n == 0) return;
  const Tone tone = n_agree < n ? Tone::kBad : loose ? Tone::kNeutral : Tone::kGood;
  add(summary, kAgrees, fmt::format("{} of {} comparisons meet their criterion.{}", n_agree, n, sentences), tone);
}

}  // namespace

bool is_as_published(const Result& result) {
  const ManifestValue* value = find(result.manifest, "as_published");
  const auto* flag = value ? std::get_if<bool>(value) : nullptr;
  return result.command == "measure" && flag && *flag;
}

void add_answers(const Result& result, std::vector<Answer>& summary) {
  static const std::map<std::string_view, void (*)(const Result&, std::vector<Answer>&)> answers_by_command = {
      {"measure", from_measure}, {"collapse", from_collapse},  {"bounds", from_bounds},
      {"audit", from_audit},     {"paths", from_paths},        {"effectiveness", from_effectiveness},
      {"lowrank", from_lowrank}, {"agreement", from_agreement}};
  if (const auto answers = answers_by_command.find(result.command); answers != answers_by_command.end())
    answers->second(result, summary);
  static constexpr std::string_view kOrder[] = {kCollapses, kPrevents, kSpeed,    kPaths, kTasks,
                                                kTheory,    kLowRank,  kSketches, kAgrees};
  std::ranges::stable_sort(summary, {},
                           [](const Answer& answer) { return std::ranges::find(kOrder, answer.question); });
}

}  // namespace rankfall
