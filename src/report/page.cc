#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "report/page_content.h"
#include "result/manifest.h"
#include "studies/views.h"
#include "view/model_names.h"
#include <rankfall/report.h>

namespace rankfall {
namespace {

constexpr std::size_t kMostRows = 2'000'000;

// Parts of a reproduction come first, in their own order; then studies in theirs, then strangers.
std::pair<std::int64_t, std::ptrdiff_t> order_of(const Result& result) {
  const ManifestValue* value = find(result.manifest, "part_order");
  const auto* number = value ? std::get_if<std::int64_t>(value) : nullptr;
  const StudyView* study = study_view(result.command);
  const auto all = study_views();
  return {number ? *number : INT64_MAX, study ? study - all.data() : static_cast<std::ptrdiff_t>(all.size())};
}

// Results that share a section: a part of a reproduction stands alone, others are put together by command.
struct Group {
  std::string key;
  std::vector<const NamedResult*> members;
};

std::vector<Group> groups_of(const std::vector<NamedResult>& results) {
  auto ordered = mapped<const NamedResult*>(results, [](const NamedResult& one) { return &one; });
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

Section section_of(const Result& result, const View& view, std::size_t number) {
  const StudyView* study = study_view(result.command);
  Section section;
  const std::string title = text_of(result.manifest, "part_title"), intro = text_of(result.manifest, "part_intro");
  const std::string part = text_of(result.manifest, "part");
  const bool plain =
      !part.empty() && part.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  section.id = plain && part.size() <= 40 ? part : fmt::format("s{}", number);
  section.title = !title.empty() ? title : study ? std::string(study->title) : result.command;
  section.intro = !intro.empty() ? intro : study ? std::string(study->intro) : "";
  section.figures = view.figures;
  for (Figure& figure : section.figures) figure.id = fmt::format("{}-{}", section.id, figure.id);
  return section;
}

// One answer to each question. Of what collapses the first measurement speaks; others are in their sections.
std::vector<Answer> summary_of(std::vector<const View*> views) {
  std::ranges::stable_sort(views, {}, &View::answers_last);
  std::vector<Answer> summary;
  std::map<Question, const View*> first;
  for (const View* view : views) {
    for (const Answer& answer : view->answers) {
      if (answer.answer.empty()) continue;
      const auto found = std::ranges::find(summary, answer.question, &Answer::question);
      const View* speaker = first.try_emplace(answer.question, view).first->second;
      if (found == summary.end()) {
        summary.push_back(answer);
        continue;
      }
      const bool one_speaks = answer.question == Question::kCollapses || answer.question == Question::kPrevents;
      if ((one_speaks && speaker != view) || found->answer.find(answer.answer) != std::string::npos) continue;
      found->answer += " " + answer.answer;
      if (answer.tone == Tone::kBad) found->tone = answer.tone;
    }
  }
  std::ranges::stable_sort(summary, {}, &Answer::question);
  return summary;
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

PageContent page_content(const std::vector<NamedResult>& given, const PageOptions& options) {
  std::vector<NamedResult> results = with_unique_names(given);
  std::vector<Result*> all;
  for (NamedResult& one : results) all.push_back(&one.result);
  shorten_model_names(all);  // of all at once, so that a model has one name on the whole page
  PageContent page;
  page.title = options.title.empty() ? "Rank collapse, measured" : options.title;
  page.subtitle = options.subtitle.empty() ? subtitle_of(results) : options.subtitle;
  const std::vector<Group> groups = groups_of(results);
  std::vector<View> views;
  std::vector<const View*> pointers;
  views.reserve(groups.size());
  for (const Group& group : groups) {
    const Result result = merged(group);
    views.push_back(view_of(result, {.metrics = {}, .compares = group.members.size() > 1, .short_names = true}));
    pointers.push_back(&views.back());
    Section& section = page.sections.emplace_back(section_of(result, views.back(), page.sections.size() + 1));
    // Several files may have several inputs; their manifests are on the page.
    const std::string& about = views.back().about;
    if (group.members.size() == 1 && !about.empty()) section.intro += (section.intro.empty() ? "" : " ") + about;
  }
  page.summary = summary_of(pointers);
  for (const NamedResult& one : results) page.manifests.emplace_back(one.name, one.result.manifest);
  return page;
}

Page make_page(const std::vector<NamedResult>& given, const PageOptions& options) {
  std::size_t n_rows = 0;
  for (const NamedResult& one : given) n_rows += one.result.rows.size();
  if (given.empty()) throw usage_error("a report needs at least one result");
  if (n_rows > kMostRows) {
    throw usage_error(
        "{} rows are more than a page can show (at most {}); measure fewer samples "
        "or metrics, or leave single samples out",
        n_rows, kMostRows);
  }
  return page_of(page_content(given, options));
}

}  // namespace rankfall
