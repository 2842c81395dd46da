#include "report/page/summary.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "report/findings.h"
#include "report/layer_block.h"
#include "report/number_text.h"
#include "report/table_text.h"
#include "result/summary.h"

namespace rankfall {
namespace {

constexpr std::string_view kCollapses = "What collapses, and where?";
constexpr std::string_view kPrevents = "What prevents it?";
constexpr std::string_view kSpeed = "How fast is it?";
constexpr std::string_view kTheory = "Does the theory apply?";
constexpr std::string_view kPaths = "Which paths carry the output?";
constexpr std::string_view kTasks = "Do short paths do the task?";
constexpr std::string_view kAgrees = "Does it agree with the paper?";
constexpr std::size_t kMostModels = 3;

void add(std::vector<Answer>& summary, std::string_view question, const std::string& sentence, Answer::Tone tone) {
  if (sentence.empty()) return;
  const auto found = std::ranges::find(summary, question, &Answer::question);
  if (found == summary.end()) {
    summary.push_back({std::string(question), sentence, tone});
    return;
  }
  if (found->answer.find(sentence) != std::string::npos) return;
  found->answer += " " + sentence;
  if (tone == Answer::Tone::kBad) found->tone = tone;
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

std::vector<std::string> first(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(std::min(texts.size(), kMostModels))};
}

std::string more(const std::vector<std::string>& texts) {
  return texts.size() > kMostModels ? fmt::format(", and so in {} more", texts.size() - kMostModels) : "";
}

std::string variant_words(const std::string& variant) {
  if (variant == "full") return "The full transformer";
  if (variant == "san") return "Attention alone (san)";
  if (variant == "san+skip") return "Attention with skips (san+skip)";
  if (variant == "san+mlp") return "Attention with MLPs but no skips (san+mlp)";
  return variant.empty() ? "It" : "Variant " + variant;
}

void from_measure(const Result& result, std::vector<Answer>& summary) {
  if (has(summary, kCollapses)) return;  // the first measurement speaks; others are in their sections
  Rows rows;
  for (const Row* row : summary_rows(result)) {
    if (row->metric == "relative_residual.composite" && !row->head) rows.push_back(row);
  }
  struct Fates {
    std::vector<std::string> dying, living;
  };
  std::map<std::string, Fates> fates;
  std::vector<std::string> variants;
  const auto blocks = layer_blocks(rows);
  for (const LayerBlock& block : blocks) {
    for (std::size_t v = 0; v < block.variants.size(); ++v) {
      const std::string& variant = block.variants[v];
      if (!fates.contains(variant)) variants.push_back(variant);
      const Finding found = finding(block, v, "", true);
      Fates& of_variant = fates[variant];
      const std::string text = fmt::format("{} ({})", found.sentence.substr(0, found.sentence.find(" (")), block.model);
      if (found.fate == Finding::Fate::kKeeps) of_variant.living.push_back(text);
      if (found.fate == Finding::Fate::kDies || found.fate == Finding::Fate::kFalls) of_variant.dying.push_back(text);
    }
  }
  bool falls = false;
  for (const std::string& variant : variants) {
    const auto& [dying, living] = fates[variant];
    const std::string name = variant_words(variant);
    const auto say = [&](std::string_view question, const std::vector<std::string>& texts, Answer::Tone tone) {
      if (texts.empty()) return;
      add(summary, question, fmt::format("{} {}{}.", name, joined(first(texts)), more(texts)), tone);
    };
    falls = falls || !dying.empty();
    say(kCollapses, dying, Answer::Tone::kBad);
    say(kPrevents, living, Answer::Tone::kGood);
  }
  if (!falls && !variants.empty()) {
    add(summary, kCollapses, "Nothing that was measured falls below a tenth.", Answer::Tone::kGood);
  }
  if (falls && !has(summary, kPrevents)) add(summary, kPrevents, "Nothing that was measured.", Answer::Tone::kBad);
}

void from_collapse(const Result& result, std::vector<Answer>& summary) {
  std::map<std::string, Index> last;
  for (const Row& row : result.rows) {
    if (row.metric == "log10_relative_residual.composite" && row.kind == "exact" && !row.sample && row.layer) {
      last[row.model] = std::max(last[row.model], *row.layer);
    }
  }
  for (const Row& row : result.rows) {
    const bool deepest = row.metric == "log10_relative_residual.composite" && row.kind == "exact" && !row.sample &&
                         row.layer == last[row.model] && row.mean;
    if (!deepest || row.variant != "san") continue;
    std::string verdict;
    for (const Row& other : result.rows) {
      if (other.metric == "decay" && other.kind == "residual" && other.model == row.model &&
          other.variant == row.variant) {
        verdict = other.verdict;
      }
    }
    add(summary, kSpeed,
        fmt::format("{} {}: 10^{} of the state is left after {} layers{}.", row.model, row.variant,
                    logarithm(*row.mean), *row.layer, verdict.empty() ? "" : "; " + verdict),
        Answer::Tone::kBad);
  }
}

void from_bounds(const Result& result, std::vector<Answer>& summary) {
  Index n_violated = 0;
  std::map<std::string, std::string> published;
  for (const Row& row : result.rows) {
    if (row.metric.starts_with("log10_tightness.") && row.kind == "proved" &&
        row.verdict.starts_with("applies and is violated")) {
      ++n_violated;
    }
    if (row.metric == "theorem" && row.claim == "T2.3" && (row.variant == "san" || row.variant == "full")) {
      published[row.variant] = fmt::format("The published bound on {} {}: {}.", row.model, row.variant, row.verdict);
    }
  }
  for (const auto& [variant, sentence] : published) add(summary, kTheory, sentence, Answer::Tone::kNeutral);
  add(summary, kTheory,
      n_violated == 0 ? "No proved bound is violated." : fmt::format("{} proved bounds are violated.", n_violated),
      n_violated == 0 ? Answer::Tone::kNeutral : Answer::Tone::kBad);
}

void from_audit(const Result& result, std::vector<Answer>& summary) {
  Index n = 0, holds = 0, unexpected = 0;
  for (const Row& row : result.rows) {
    if (row.metric != "audit.verdict") continue;
    ++n;
    holds += row.verdict.starts_with("holds") ? 1 : 0;
    unexpected += row.kind == "unexpected" ? 1 : 0;
  }
  if (n == 0) return;
  add(summary, kTheory,
      fmt::format("Of {} claims tried, {} hold as stated{}.", n, holds,
                  unexpected == 0 ? "" : fmt::format("; {} came out otherwise than recorded", unexpected)),
      unexpected == 0 ? Answer::Tone::kNeutral : Answer::Tone::kBad);
}

void from_paths(const Result& result, std::vector<Answer>& summary) {
  for (const RowGroup& group : by_variant(result)) {
    Index last = -1;
    for (const Row* row : with_metric(group.rows, "paths.share.residual"))
      last = std::max(last, row->layer.value_or(-1));
    std::optional<double> zero, one;
    for (const Row* row : with_metric(group.rows, "paths.share.residual")) {
      if (row->layer != last || row->origin != "all" || !row->kind.empty()) continue;
      if (row->length == Index{0}) zero = row->mean;
      if (row->length == Index{1}) one = row->mean;
    }
    if (!zero || !one) continue;
    add(summary, kPaths,
        fmt::format("{}: paths without any head hold {} of the output's residual, those through one head {}.",
                    group.model, significant(*zero, 2), significant(*one, 2)),
        Answer::Tone::kNeutral);
  }
}

void from_effectiveness(const Result& result, std::vector<Answer>& summary) {
  struct Best {
    std::optional<double> whole, accuracy;
    Index length = 0;
  };
  std::map<std::string, Best> tasks;
  for (const Row& row : result.rows) {
    if (row.metric != "accuracy" || !row.mean) continue;
    Best& best = tasks[row.model];
    if (row.kind == "model") best.whole = row.mean;
    if (row.kind == "exact" && row.length && *row.mean > best.accuracy.value_or(-1)) {
      best.accuracy = row.mean;
      best.length = *row.length;
    }
  }
  for (const auto& [model, best] : tasks) {
    if (!best.whole || !best.accuracy) continue;
    add(summary, kTasks,
        fmt::format("{}: paths of length {} alone reach {}, the whole network {}.", model, best.length,
                    significant(*best.accuracy, 2), significant(*best.whole, 2)),
        Answer::Tone::kNeutral);
  }
}

void from_agreement(const Result& result, std::vector<Answer>& summary) {
  Index n = 0, agree = 0;
  std::vector<std::string> not_met;
  for (const Row& row : result.rows) {
    if (row.metric != "agreement.verdict") continue;
    if (row.kind == "no number") continue;
    ++n;
    if (row.verdict.starts_with("agrees")) {
      ++agree;
    } else {
      not_met.push_back(row.claim);
    }
  }
  if (n == 0) return;
  add(summary, kAgrees,
      agree == n ? fmt::format("Yes: all {} comparisons meet their criterion.", n)
                 : fmt::format("{} of {} comparisons meet their criterion; not {}.", agree, n, joined(not_met)),
      agree == n ? Answer::Tone::kGood : Answer::Tone::kBad);
}

}  // namespace

void add_answers(const Result& result, std::vector<Answer>& summary) {
  static const std::map<std::string_view, void (*)(const Result&, std::vector<Answer>&)> kAnswers = {
      {"measure", from_measure},    {"collapse", from_collapse}, {"bounds", from_bounds},
      {"audit", from_audit},        {"paths", from_paths},       {"effectiveness", from_effectiveness},
      {"agreement", from_agreement}};
  if (const auto answers = kAnswers.find(result.command); answers != kAnswers.end()) answers->second(result, summary);
}

}  // namespace rankfall
