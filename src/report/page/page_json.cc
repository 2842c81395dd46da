#include <cmath>

#include <fmt/format.h>

#include "report/page/page.h"
#include <rankfall/version.h>

namespace rankfall {
namespace {

const char* kind_name(PageColumn::Kind kind) {
  switch (kind) {
    case PageColumn::Kind::kText:
      return "text";
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

Json to_json(const Series& series) {
  return {{"name", series.name},
          {"title", series.title},
          {"colour", series.colour},
          {"dash", series.dash},
          {"shape", series.shape}};
}

Json to_json(const Figure& figure, Json& datasets) {
  Json panels = Json::array(), tables = Json::array(), series = Json::array();
  for (const Series& one : figure.series) series.push_back(to_json(one));
  for (std::size_t i = 0; i < figure.panels.size(); ++i) {
    const Panel& panel = figure.panels[i];
    const std::string id = panel_id(figure, i);
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
  for (std::size_t i = 0; i < figure.tables.size(); ++i) {
    const std::string id = fmt::format("{}-table-{}", figure.id, i + 1);
    datasets[id] = to_json(figure.tables[i]);
    tables.push_back(id);
  }
  return {{"id", figure.id},
          {"title", figure.title},
          {"caption", figure.caption},
          {"notes", figure.notes},
          {"collapsed", figure.collapsed},
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

Tone tone_of(Status status) {
  switch (status) {
    case Status::kHolds:
    case Status::kMeasured:
    case Status::kAgrees:
    case Status::kPassed:
      return Tone::kGood;
    case Status::kViolated:
    case Status::kDiffers:
    case Status::kFailed:
      return Tone::kBad;
    default:
      return Tone::kNeutral;
  }
}

std::string panel_id(const Figure& figure, std::size_t panel) {
  return figure.panels.size() == 1 ? figure.id : fmt::format("{}-{}", figure.id, panel + 1);
}

Json to_page_json(const PageContent& page) {
  Json summary = Json::array(), sections = Json::array(), manifests = Json::array(), datasets = Json::object();
  for (const Answer& answer : page.summary) {
    summary.push_back({{"question", answer.question}, {"answer", answer.answer}, {"tone", tone_name(answer.tone)}});
  }
  for (const Section& section : page.sections) {
    Json figures = Json::array();
    for (const Figure& figure : section.figures) figures.push_back(to_json(figure, datasets));
    sections.push_back(
        {{"id", section.id}, {"title", section.title}, {"intro", section.intro}, {"figures", std::move(figures)}});
  }
  for (const auto& [name, manifest] : page.manifests) {
    Json entries = Json::array();
    for (const auto& [key, value] : manifest.entries) entries.push_back({key, to_text(value)});
    manifests.push_back({{"name", name}, {"entries", std::move(entries)}});
  }
  return {{"title", page.title},
          {"subtitle", page.subtitle},
          {"version", RANKFALL_VERSION},
          {"summary", std::move(summary)},
          {"sections", std::move(sections)},
          {"manifests", std::move(manifests)},
          {"datasets", std::move(datasets)}};
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
