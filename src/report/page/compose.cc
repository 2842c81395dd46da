#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/page/curves.h"
#include "report/page/figures.h"
#include "report/page/page.h"
#include "report/page/summary.h"
#include "result/manifest.h"

namespace rankfall {
namespace {

struct Command {
  std::string_view name, title, intro;
  Figures (*figures)(const Result&, const FigureContext&);
};

// In the order of the page: what is measured, why, what it means, and the numbers behind.
constexpr Command kCommands[] = {
    {"agreement", "Agreement with the paper", "The published numbers beside ours.", agreement_figures},
    {"measure", "Residuals by layer", "What is left of the differences between tokens.", measure_figures},
    {"collapse", "The exact collapse", "The same residuals, tracked exactly at any depth.", collapse_figures},
    {"bounds", "Theory against measurement", "Every bound beside what it bounds.", bound_figures},
    {"paths", "Paths", "The network as a sum over paths, one head or the skip in each block.", path_figures},
    {"counts", "Path lengths", "How many paths of each length there are.", count_figures},
    {"effectiveness", "What paths of each length can do", "Accuracy on the tasks.", effectiveness_figures},
    {"circle", "Recurrence", "One block applied again and again.", circle_figures},
    {"train", "Training", "Curves of the training.", training_figures},
    {"lowrank", "Low rank", "How far attention is of low rank, and what cheaper attention does.", lowrank_figures},
    {"layer_costs", "Costs of a layer", "Time and memory of each kind of attention.", cost_figures},
    {"audit", "The audit", "Every claim of the theory, tried.", audit_figures},
};

const Command* command_of(const Result& result) {
  const auto* command = std::ranges::find(kCommands, result.command, &Command::name);
  return command == std::end(kCommands) ? nullptr : command;
}

// Parts of a reproduction come first, in their own order; then commands in that of the table, then strangers.
std::pair<std::int64_t, std::ptrdiff_t> order_of(const Result& result) {
  const ManifestValue* value = find(result.manifest, "part_order");
  const auto* number = value ? std::get_if<std::int64_t>(value) : nullptr;
  const Command* command = command_of(result);
  return {number ? *number : INT64_MAX, (command ? command : std::end(kCommands)) - std::begin(kCommands)};
}

// Results that share a section: a part of a reproduction stands alone, others are put together by command.
struct Group {
  std::string key;
  std::vector<const NamedResult*> members;
};

std::vector<Group> groups_of(const std::vector<NamedResult>& results) {
  std::vector<const NamedResult*> ordered;
  ordered.reserve(results.size());
  for (const NamedResult& one : results) ordered.push_back(&one);
  std::ranges::stable_sort(ordered, {}, [](const NamedResult* one) { return order_of(one->result); });
  std::vector<Group> groups;
  for (const NamedResult* one : ordered) {
    const std::string part = text_of(one->result.manifest, "part");
    const std::string key = part.empty() ? "command " + one->result.command : "part " + part;
    const auto found = std::ranges::find(groups, key, &Group::key);
    if (found == groups.end()) {
      groups.push_back({key, {one}});
    } else {
      found->members.push_back(one);
    }
  }
  return groups;
}

// All rows of a group. A model that several files have is told apart by the file's name.
Result merged(const Group& group) {
  Result result = group.members.front()->result;
  if (group.members.size() == 1) return result;
  std::map<std::string, std::set<const NamedResult*>> files;
  for (const NamedResult* one : group.members) {
    for (const Row& row : one->result.rows) files[row.model].insert(one);
  }
  result.rows.clear();
  for (const NamedResult* one : group.members) {
    for (Row row : one->result.rows) {
      if (files[row.model].size() > 1)
        row.model = row.model.empty() ? one->name : fmt::format("{} ({})", row.model, one->name);
      result.rows.push_back(std::move(row));
    }
  }
  return result;
}

Section section_of(const Group& group, const Result& result, std::size_t number) {
  const Command* command = command_of(result);
  Section section;
  const std::string title = text_of(result.manifest, "part_title"), intro = text_of(result.manifest, "part_intro");
  const std::string part = text_of(result.manifest, "part");
  const bool plain =
      !part.empty() && part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  section.id = plain && part.size() <= 40 ? part : fmt::format("s{}", number);
  section.title = !title.empty() ? title : command ? std::string(command->title) : result.command;
  section.intro = !intro.empty() ? intro : command ? std::string(command->intro) : "";
  const FigureContext context{section.id, group.members.size() > 1};
  section.figures = command ? command->figures(result, context) : plain_figures(result, context);
  for (Figure& figure : section.figures) drop_empty_series(figure);
  return section;
}

// A name that several results have gets a number.
std::vector<NamedResult> with_unique_names(std::vector<NamedResult> results) {
  std::map<std::string, int> uses;
  for (NamedResult& one : results) {
    if (const int n = ++uses[one.name]; n > 1) one.name += fmt::format(" {}", n);
  }
  return results;
}

std::string subtitle_of(const std::vector<NamedResult>& results) {
  std::vector<std::string> models;
  std::size_t n_rows = 0;
  for (const NamedResult& one : results) {
    n_rows += one.result.rows.size();
    for (const Row& row : one.result.rows) {
      if (!row.model.empty() && std::ranges::find(models, row.model) == models.end()) models.push_back(row.model);
    }
  }
  std::string names;
  for (std::size_t i = 0; i < models.size() && i < 4; ++i) names += (i == 0 ? "" : ", ") + models[i];
  if (models.size() > 4) names += fmt::format(" and {} more", models.size() - 4);
  return fmt::format("{}{}{} {} · {} rows", names, names.empty() ? "" : " · ", results.size(),
                     results.size() == 1 ? "result" : "results", n_rows);
}

}  // namespace

PageContent compose_page(const std::vector<NamedResult>& given, const PageOptions& options) {
  const std::vector<NamedResult> results = with_unique_names(given);
  PageContent page;
  page.title = options.title.empty() ? "Rank collapse, measured" : options.title;
  page.subtitle = options.subtitle.empty() ? subtitle_of(results) : options.subtitle;
  std::vector<Result> sources;
  for (const Group& group : groups_of(results)) {
    sources.push_back(merged(group));
    page.sections.push_back(section_of(group, sources.back(), page.sections.size() + 1));
  }
  // What was run as labelled speaks before what was run as published.
  std::ranges::stable_sort(sources, {}, [](const Result& result) { return is_as_published(result); });
  for (const Result& result : sources) add_answers(result, page.summary);
  for (const NamedResult& one : results) page.manifests.emplace_back(one.name, one.result.manifest);
  return page;
}

}  // namespace rankfall
