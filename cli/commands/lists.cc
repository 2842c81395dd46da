#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/suggestion.h"
#include "cli/commands.h"
#include "cli/streams.h"
#include "cli/terminal.h"
#include <rankfall/error.h>
#include <rankfall/measure.h>
#include <rankfall/metric_info.h>
#include <rankfall/model.h>
#include <rankfall/network.h>
#include <rankfall/report.h>
#include <rankfall/tokenizer.h>
#include <rankfall/variants.h>

// `rankfall metrics` and `rankfall models`: the names that other commands take.

namespace rankfall::cli {
namespace {

using Lines = std::vector<ExplainedName>;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool contains(std::string_view text, std::string_view word) {
  return lower(text).find(lower(word)) != std::string::npos;
}

void print_list(const Lines& lines) {
  TableOptions options;
  options.colour = wants_colour(STDOUT_FILENO);
  options.width = std::min(options.width, terminal_width(STDOUT_FILENO, options.width));
  options.unicode = wants_unicode();
  write_stdout(to_list(lines, options));
}

// Signs of the formulas; `tex` is for Markdown. A formula that has one of the words `found_by` needs the explanation.
struct Letter {
  const char *sign, *tex, *meaning;
  std::array<const char*, 4> found_by;
};
constexpr Letter kLetters[] = {
    {"X",
     "X",
     "a hidden state, one row per token; xᵢ is a row; X' is the state after the next block",
     {"X", "x", "xᵢ"}},
    {"1·mean", "1\\cdot\\text{mean}", "the mean of all rows, repeated for every token", {"1·mean"}},
    {"res X", "\\mathrm{res} X", "the residual X − 1·mean", {"res"}},
    {"P", "P", "the attention matrix of a head", {"P"}},
    {"σ₁ ≥ σ₂ ≥ ...", "\\sigma_1 \\ge \\sigma_2 \\ge \\dots", "singular values", {"σ"}},
    {"Yₖ, Y", "Y_k, Y", "the sum of all paths of length k, and of all paths", {"Yₖ", "Y"}},
    {"n, d, L, H", "n, d, L, H", "numbers of tokens, channels, layers and heads", {"n", "d", "L", "H"}},
    {"R, E, s, q",
     "R, E, s, q",
     "in bounds: the residual of what enters attention; what logits do not have in common, and their factor; softmax "
     "of the common part",
     {"R", "E", "s", "q"}},
    {"W, D, M, eᵢ",
     "W, D, M, e_i",
     "in bounds: W_V W_O of a head; P − 1 q^T; Σₕ Dₕ R Wₕ; exp(range of row i of E) − 1",
     {"W", "D", "M", "eᵢ"}},
};

// Whether a sign stands in a formula by itself: n does in "log n", but not in "mean".
bool stands_in(std::string_view formula, std::string_view sign) {
  const auto is_letter = [&](std::size_t at) {
    return at < formula.size() && std::isalpha(static_cast<unsigned char>(formula[at])) != 0;
  };
  for (auto at = formula.find(sign); at != std::string_view::npos; at = formula.find(sign, at + 1)) {
    if ((at == 0 || !is_letter(at - 1)) && !is_letter(at + sign.size())) return true;
  }
  return false;
}

// Whether the formula of a metric has one of these signs. Those of bounds mean something else elsewhere.
bool occurs(const Letter& letter, const MetricInfo& info) {
  if (std::string_view(letter.meaning).starts_with("in bounds") && !info.use_in("bounds")) return false;
  return std::ranges::any_of(letter.found_by, [&](const char* word) { return word && stands_in(info.formula, word); });
}

bool matches(const MetricInfo& info, const std::string& word) {
  return contains(info.name, word) || contains(info.words, word) || contains(info.group, word) ||
         std::ranges::any_of(info.members, [&](const std::string& member) { return contains(member, word); });
}

// "relative residual: ‖X − 1·mean‖ / ‖X‖"
std::string about(const MetricInfo& info) {
  return info.formula.empty() ? info.words : info.words + ": " + info.formula;
}

// The command that writes these rows, as people call it.
std::string command_of(const MetricUse& use) {
  if (use.study == "layer_costs") return "bench --layers";
  return use.study == "agreement" ? "reproduce" : use.study;
}

std::string studies_of(const MetricInfo& info) {
  std::vector<std::string> studies;
  for (const MetricUse& use : info.uses) {
    studies.push_back(command_of(use) + (use.has_head ? " per head" : use.has_layer ? " per layer" : ""));
  }
  return fmt::format("{}", fmt::join(studies, ", "));
}

// The names that stand for several in the names of these metrics.
std::vector<MetricPlaceholder> placeholders_of(const std::vector<MetricInfo>& metrics) {
  std::vector<MetricPlaceholder> used = metric_placeholders();
  std::erase_if(used, [&](const MetricPlaceholder& one) {
    return std::ranges::none_of(metrics, [&](const MetricInfo& info) {
      return !info.members.empty() && info.name.find(one.name) != std::string::npos;
    });
  });
  return used;
}

// Explains the letters of these metrics' formulas.
void add_letters(const std::vector<MetricInfo>& metrics, Lines& lines) {
  bool any = false;
  for (const Letter& letter : kLetters) {
    if (std::ranges::none_of(metrics, [&](const MetricInfo& info) { return occurs(letter, info); })) continue;
    if (!std::exchange(any, true)) lines.push_back({"Letters", ""});
    lines.push_back({letter.sign, letter.meaning});
  }
}

Lines metric_lines(const std::vector<MetricInfo>& metrics) {
  Lines lines;
  std::string group;
  for (const MetricInfo& info : metrics) {
    if (info.group != group) lines.push_back({group = info.group, ""});
    lines.push_back({info.name, about(info)});
  }
  const auto placeholders = placeholders_of(metrics);
  if (!placeholders.empty()) lines.push_back({"Names in capitals stand for one of several", ""});
  for (const MetricPlaceholder& one : placeholders) {
    std::vector<std::string> names;
    for (const auto& member : one.members) names.push_back(member.name);
    lines.push_back({one.name, fmt::format("{}", fmt::join(names, ", "))});
  }
  add_letters(metrics, lines);
  return lines;
}

const char* values_of(MetricAxis axis) {
  switch (axis) {
    case MetricAxis::kShare:
      return "between 0 and 1, as a rule";
    case MetricAxis::kLog10:
      return "a logarithm to base 10";
    case MetricAxis::kCount:
      return "a whole number";
    case MetricAxis::kPositive:
      return "0 or more";
    case MetricAxis::kSigned:
      return "any number";
    case MetricAxis::kText:
      return "words";
  }
  return "";
}

// Everything about one metric or family.
Lines metric_details(const MetricInfo& info) {
  Lines lines = {{info.name, ""}, {"meaning", info.words}};
  if (!info.formula.empty()) lines.push_back({"formula", info.formula});
  lines.push_back({"values", values_of(info.axis)});
  if (!info.unit.empty()) lines.push_back({"unit", info.unit});
  if (info.axis != MetricAxis::kText) {
    lines.push_back({"mean", fmt::format("{}, where rows are over samples or seeds", words_of(info.averaging))});
  }
  lines.push_back({"written by", studies_of(info)});
  const auto names = metric_names();
  const auto measured = std::ranges::find(names, info.name, &MetricName::name);
  if (measured != names.end()) {
    lines.push_back({"measured", measured->by_default ? "by default" : fmt::format("with --metrics {}", info.name)});
  }
  lines.push_back({"group", info.group});
  if (!info.members.empty()) lines.push_back({"members", ""});
  for (const std::string& member : info.members) lines.push_back({member, about(metric_info(member))});
  add_letters({info}, lines);
  return lines;
}

std::string dollars(const std::string& tex, const std::string& otherwise) {
  return tex.empty() ? otherwise : fmt::format("${}$", tex);
}

// docs/metrics.md
std::string metric_markdown() {
  std::string out =
      "# Metrics\n\n"
      "Every metric that a result may contain, by group. This file is what `rankfall metrics --markdown` prints, and "
      "a\n"
      "test compares the two: to change it, change `src/result/metric_table.cc`. [math.md](math.md) has the "
      "definitions,\n"
      "the theorems and where they are coded.\n\n"
      "Names in capitals stand for one of several, which are [listed below](#names-in-capitals).\n\n"
      "| letter | meaning |\n|---|---|\n";
  for (const Letter& letter : kLetters) out += fmt::format("| ${}$ | {} |\n", letter.tex, letter.meaning);
  std::string group;
  for (const MetricInfo& info : all_metric_infos()) {
    if (info.group != group) {
      group = info.group;
      out += fmt::format("\n## {}{}\n\n| metric | meaning | formula | written by |\n|---|---|---|---|\n",
                         static_cast<char>(std::toupper(static_cast<unsigned char>(group[0]))), group.substr(1));
    }
    out += fmt::format("| `{}` | {} | {} | {} |\n", info.name, info.words, dollars(info.tex, info.formula),
                       studies_of(info));
  }
  out += "\n## Names in capitals\n";
  for (const MetricPlaceholder& one : metric_placeholders()) {
    const bool has_formulas = !one.members.front().formula.empty();
    const bool are_bounds = !one.members.front().measured.empty();
    out += fmt::format("\n| {} | meaning |{}{}\n|---|---|{}{}\n", one.name, has_formulas ? " formula |" : "",
                       are_bounds ? " of what |" : "", has_formulas ? "---|" : "", are_bounds ? "---|" : "");
    for (const auto& member : one.members) {
      out += fmt::format("| `{}` | {} |", member.name, member.words);
      if (has_formulas) out += fmt::format(" {} |", dollars(member.tex, member.formula));
      if (are_bounds) out += fmt::format(" {} |", dollars(member.measured_tex, member.measured));
      out += '\n';
    }
  }
  return out;
}

void show_metrics(const std::string& word) {
  if (const auto one = find_metric(word)) return print_list(metric_details(*one));
  std::vector<MetricInfo> found = all_metric_infos();
  std::erase_if(found, [&](const MetricInfo& info) { return !matches(info, word); });
  if (found.size() == 1) return print_list(metric_details(found.front()));
  if (!found.empty()) return print_list(metric_lines(found));
  std::vector<std::string> names;
  for (const MetricInfo& info : all_metric_infos()) {
    names.insert(names.end(), {info.name, info.group});
    names.insert(names.end(), info.members.begin(), info.members.end());
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("no metric has '{}' in its name, meaning or group{}; `rankfall metrics` lists all", word,
                          did_you_mean(word, names)));
}

struct Section {
  std::string title;
  Lines lines;
};

bool is_causal(const Network& network) {
  for (const SubLayer& layer : network.layers) {
    for (const Branch& branch : layer.branches) {
      if (const auto* attention = std::get_if<Attention>(&branch.f)) return attention->mask.causal;
    }
  }
  return false;
}

// Presets by what they are made for.
std::vector<Section> preset_sections() {
  std::vector<Section> sections = {{"Released decoders with random weights, drawn from --seed:", {}},
                                   {"Released encoders of text with random weights:", {}},
                                   {"Released encoders of images with random weights:", {}}};
  for (const std::string& name : preset_names()) {
    const Network network = open_model(name + "@init", 0).network;
    const bool has_images = std::holds_alternative<PatchInput>(network.input.source);
    const std::size_t group = has_images ? 2 : is_causal(network) ? 0 : 1;
    sections[group].lines.push_back(
        {name + "@init", fmt::format("{} layers of {} heads, width {}", network.sizes.n_blocks, network.sizes.n_heads,
                                     network.sizes.d_model)});
  }
  return sections;
}

std::vector<Section> model_sections() {
  const Section others{
      "Also accepted as MODEL:",
      {{"DIR",
        "trained weights: a directory with config.json and model.safetensors (or its parts and their index), as "
        "`hf download openai-community/gpt2 --local-dir gpt2` makes it"},
       {"FILE.gguf", "trained weights, quantised or not: a model file of llama.cpp"},
       {"ORG/NAME[@REVISION]",
        "trained weights in the local cache of the Hugging Face hub, as `hf download ORG/NAME` leaves them there; "
        "rankfall never downloads anything"},
       {"DIR@init, ORG/NAME@init", "the architecture of its config.json with random weights"},
       {"san:layers=12,heads=12,...", "an architecture described by a few numbers: san:layers=12,heads=12,dim=768"}}};
  Section families{"Families: model_type in config.json, and the other entries that it must have:", {}};
  for (const FamilyInfo& family : family_infos()) {
    const bool has_text = family.model_type != "vit" && family.model_type != "san";
    const std::string entries = family.config.empty() ? "none" : fmt::format("{}", fmt::join(family.config, ", "));
    const std::string needs = fmt::format(
        "{}{}", entries, has_text ? fmt::format("; for --text {}", tokenizer_files(family.model_type)) : "");
    // Families that need the same share a line.
    const auto same = std::ranges::find(families.lines, needs, &ExplainedName::explanation);
    if (same == families.lines.end()) {
      families.lines.push_back({family.model_type, needs});
    } else {
      same->name += ", " + family.model_type;
    }
  }
  Section kinds{"Kinds of attention for --attention, with their defaults:", {}};
  for (const std::string& kind : attention_names()) {
    const std::string name = kind.substr(0, kind.find(':'));
    kinds.lines.push_back({name, name == "full" ? "the model's own" : kind});
  }
  std::vector<Section> sections = preset_sections();
  sections.insert(sections.end(), {others, std::move(families), std::move(kinds)});
  return sections;
}

// The names of "gemma2, mistral", one by one.
void add_names(std::string_view line, std::vector<std::string>& names) {
  constexpr std::string_view kBetween = ", ";
  for (auto end = line.find(kBetween); end != std::string_view::npos; end = line.find(kBetween)) {
    names.emplace_back(line.substr(0, end));
    line.remove_prefix(end + kBetween.size());
  }
  names.emplace_back(line);
}

void show_models(const std::string& word) {
  Lines found;
  std::vector<std::string> names;
  for (const Section& section : model_sections()) {
    const bool whole = contains(section.title, word);
    bool has_title = false;
    for (const ExplainedName& line : section.lines) {
      add_names(line.name, names);
      if (!whole && !contains(line.name, word) && !contains(line.explanation, word)) continue;
      if (!has_title) found.push_back({section.title, ""});
      has_title = true;
      found.push_back(line);
    }
  }
  if (!found.empty()) return print_list(found);
  throw Error(ErrorKind::kUsage,
              fmt::format("no model, family or kind of attention has '{}' in it{}; `rankfall models` lists all", word,
                          did_you_mean(word, names)));
}

}  // namespace

void bind_metrics(CLI::App& sub) {
  sub.footer("Examples:\n  rankfall metrics\n  rankfall metrics rank\n  rankfall metrics relative_residual.composite");
  auto metric = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>();
  sub.add_option("METRIC", *metric, "only those with this word in name, meaning or group; of one, everything")
      ->type_name("");
  sub.add_flag("--markdown", *markdown, "print all metrics as Markdown (docs/metrics.md)");
  sub.callback([metric, markdown] {
    if (*markdown) return write_stdout(metric_markdown());
    show_metrics(*metric);
  });
}

void bind_models(CLI::App& sub) {
  sub.footer("Examples:\n  rankfall models\n  rankfall models gpt2");
  auto word = std::make_shared<std::string>();
  sub.add_option("WORD", *word, "only presets, families and kinds of attention with this word")->type_name("");
  sub.callback([word] { show_models(*word); });
}

}  // namespace rankfall::cli
