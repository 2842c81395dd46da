#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "render/page/coincidence.h"
#include "render/page/panels.h"
#include <rankfall/version.h>

namespace rankfall {
namespace {

const char* kind_name(PageColumn::Kind kind) {
  switch (kind) {
    case PageColumn::Kind::kText:
      return "text";
    case PageColumn::Kind::kProse:
      return "prose";
    case PageColumn::Kind::kNumber:
      return "number";
    case PageColumn::Kind::kLog10:
      return "log10";
    case PageColumn::Kind::kVerdict:
      return "verdict";
  }
  return "text";
}

const char* tone_name(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kWarning:
      return "warning";
    case Tone::kNeutral:
      return "neutral";
  }
  return "neutral";
}

Json to_json(const PageCell& cell) {
  if (const auto* number = std::get_if<double>(&cell)) {
    // Whole numbers without ".0": a third of a large page.
    if (std::abs(*number) < 1e15 && std::floor(*number) == *number) return static_cast<std::int64_t>(*number);
    return *number;
  }
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* badge = std::get_if<Badge>(&cell)) return {{"tone", tone_name(badge->tone)}, {"text", badge->text}};
  return nullptr;
}

Json to_json(const Dataset& data) {
  Json columns = Json::array(), rows = Json::array();
  for (const PageColumn& column : data.columns) {
    columns.push_back({{"name", column.name}, {"title", column.title}, {"kind", kind_name(column.kind)}});
  }
  for (const auto& cells : data.rows) {
    Json row = Json::array();
    for (const PageCell& cell : cells) row.push_back(to_json(cell));
    rows.push_back(std::move(row));
  }
  return {{"title", data.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Json to_json(const DrawnSeries& series) {
  return {{"name", series.name},   {"title", series.title}, {"colour", series.colour}, {"dash", series.dash},
          {"shape", series.shape}, {"mark", series.mark},   {"width", series.width}};
}

// What the nodes are about, once each, and the figure's own small print.
Json notes_of(const Figure& figure, const std::vector<Panel>& panels) {
  Json notes = Json::array();
  std::set<std::string> said;
  for (const Node& node : figure.nodes) {
    const std::string about = std::visit(
        [](const auto& one) -> std::string {
          using Type = std::decay_t<decltype(one)>;
          if constexpr (std::is_same_v<Type, Sentences>) {
            return "";
          } else if constexpr (std::is_same_v<Type, Curves>) {
            return one.mean.empty() ? one.about : fmt::format("{}; {}", one.about, one.mean);
          } else {
            return one.about;
          }
        },
        node);
    if (!about.empty() && said.insert(about).second) notes.push_back(about);
  }
  for (const std::string& note : figure.notes) notes.push_back(note);
  for (const std::string& note : coincidences(figure)) notes.push_back(note);
  for (const Panel& panel : panels) {
    if (!panel.note.empty() && said.insert(panel.note).second) notes.push_back(panel.note);
  }
  return notes;
}

Json to_json(const Figure& figure, Json& datasets) {
  Json panels = Json::array(), tables = Json::array(), series = Json::array(), findings = Json::array();
  const std::vector<Panel> drawn = panels_of(figure);
  if (!drawn.empty()) {
    for (const DrawnSeries& one : drawn_series(figure)) series.push_back(to_json(one));
  }
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const Panel& panel = drawn[i];
    const std::string id = panel_id(figure, i, drawn.size());
    Json views = Json::array();
    for (const auto& [label, spec] : panel.views) views.push_back({{"label", label}, {"spec", spec}});
    panels.push_back({{"id", id},
                      {"title", panel.title},
                      {"description", panel.description},
                      {"views", std::move(views)},
                      {"data", id},
                      {"wide", panel.wide},
                      {"square", panel.square}});
    datasets[id] = to_json(panel.data);
    if (panel.tabled) tables.push_back(id);
  }
  // Sentences are about what stands above them: with several of these they name it.
  const auto n_sentences =
      std::ranges::count_if(figure.nodes, [](const Node& node) { return std::holds_alternative<Sentences>(node); });
  std::string above;
  int n_tables = 0;
  for (const Node& node : figure.nodes) {
    if (const auto* curves = std::get_if<Curves>(&node)) above = curves->title;
    if (const auto* table = std::get_if<Table>(&node)) {
      const std::string id = fmt::format("{}-table-{}", figure.id, ++n_tables);
      Dataset data = dataset_of(*table);
      if (data.title.empty()) data.title = figure.title;
      datasets[id] = to_json(data);
      tables.push_back(id);
    }
    if (const auto* sentences = std::get_if<Sentences>(&node)) {
      for (const Sentence& one : sentences->list) {
        const bool named = n_sentences > 1 && !above.empty();
        const std::string subject = !named                ? one.subject
                                    : one.subject.empty() ? above
                                                          : fmt::format("{} {}", above, one.subject);
        findings.push_back({{"subject", subject}, {"tone", tone_name(one.tone)}, {"text", one.text}});
      }
    }
  }
  return {{"id", figure.id},
          {"title", figure.title},
          {"caption", figure.caption},
          {"findings", std::move(findings)},
          {"notes", notes_of(figure, drawn)},
          {"collapsed", figure.detail},
          {"series", std::move(series)},
          {"panels", std::move(panels)},
          {"tables", std::move(tables)}};
}

std::string to_text(const ManifestValue& value) {
  struct Texts {
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return fmt::format("{}", number); }
    std::string operator()(bool yes) const { return yes ? "yes" : "no"; }
    std::string operator()(const std::vector<std::string>& list) const {
      return fmt::format("{}", fmt::join(list, ", "));
    }
  };
  return std::visit(Texts{}, value);
}

}  // namespace

Json to_page_json(const PageContent& page) {
  Json summary = Json::array(), sections = Json::array(), manifests = Json::array(), datasets = Json::object();
  for (const Answer& answer : page.summary) {
    summary.push_back(
        {{"question", words_of(answer.question)}, {"answer", answer.answer}, {"tone", tone_name(answer.tone)}});
  }
  for (const Section& section : page.sections) {
    Json figures = Json::array();
    for (const Figure& figure : section.figures) figures.push_back(to_json(figure, datasets));
    sections.push_back({{"id", section.id},
                        {"title", section.title},
                        {"chapter", section.chapter},
                        {"intro", section.intro},
                        {"figures", std::move(figures)}});
  }
  for (const auto& [name, manifest] : page.manifests) {
    Json entries = Json::array();
    for (const auto& [key, value] : manifest.entries) entries.push_back({key, to_text(value)});
    manifests.push_back({{"name", name}, {"entries", std::move(entries)}});
  }
  Json facts = Json::array();
  for (const Fact& fact : page.facts) {
    facts.push_back({{"label", fact.label}, {"text", fact.text}, {"link", fact.link}});
  }
  Json out = {{"title", page.title},
              {"subtitle", page.subtitle},
              {"version", RANKFALL_VERSION},
              {"facts", std::move(facts)},
              {"summary", std::move(summary)},
              {"sections", std::move(sections)},
              {"manifests", std::move(manifests)}};
  if (page.headline) {
    Json numbers = Json::array();
    for (const HeadlineNumber& one : page.headline->numbers) {
      numbers.push_back({{"value", one.value}, {"sentence", one.sentence}});
    }
    out["headline"] = {{"figure", to_json(page.headline->figure, datasets)}, {"numbers", std::move(numbers)}};
  }
  out["datasets"] = std::move(datasets);
  return out;
}

std::string panel_id(const Figure& figure, std::size_t panel, std::size_t n_panels) {
  return n_panels == 1 ? figure.id : fmt::format("{}-{}", figure.id, panel + 1);
}

Json standalone_spec(const Panel& panel, const Figure& figure) {
  Json spec = panel.views.front().second;
  Json values = Json::array();
  for (const auto& cells : panel.data.rows) {
    Json row = Json::object();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (!std::holds_alternative<std::monostate>(cells[c])) row[panel.data.columns[c].name] = to_json(cells[c]);
    }
    values.push_back(std::move(row));
  }
  spec["data"] = {{"name", "rows"}, {"values", std::move(values)}};
  spec["title"] = panel.title.empty() ? figure.title : fmt::format("{}: {}", figure.title, panel.title);
  spec["description"] = panel.description;
  spec["width"] = 480;
  return spec;
}

}  // namespace rankfall
