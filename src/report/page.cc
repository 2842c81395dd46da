#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "report/page_content.h"
#include "report/page_headline.h"
#include "report/page_sweep.h"
#include "result/manifest.h"
#include "studies/views.h"
#include "view/model_names.h"
#include <rankfall/report.h>
#include <rankfall/version.h>

namespace rankfall {
namespace {

constexpr std::size_t kMostRows = 2'000'000;

constexpr std::string_view kPaper =
    "Yihe Dong, Jean-Baptiste Cordonnier, Andreas Loukas: Attention is not all you need: pure attention loses rank "
    "doubly exponentially with depth. ICML 2021, arXiv 2103.03404";
constexpr std::string_view kPaperAddress = "https://arxiv.org/abs/2103.03404";

// The order in which a page tells its story, and the step of it that each study belongs to.
struct Chapter {
  std::string_view command, title;
};
constexpr std::array<Chapter, 15> kStory = {{{"measure", "What collapses"},
                                             {"collapse", "How fast"},
                                             {"paths", "Why: paths"},
                                             {"counts", "Why: paths"},
                                             {"bounds", "Theory"},
                                             {"audit", "Theory"},
                                             {"lowrank", "Low rank"},
                                             {"layer_costs", "Low rank"},
                                             {"effectiveness", "Tasks"},
                                             {"circle", "Tasks"},
                                             {"train", "Tasks"},
                                             {"agreement", "Agreement"},
                                             {"parity", "Agreement"},
                                             {"tokens", "Data"},
                                             {"doctor", "Data"}}};

// Parts of a reproduction come first, in their own order; then studies in that of the story, then strangers.
std::pair<std::int64_t, std::ptrdiff_t> order_of(const Result& result) {
  const ManifestValue* value = find(result.manifest, "part_order");
  const auto* number = value ? std::get_if<std::int64_t>(value) : nullptr;
  const auto* chapter = std::ranges::find(kStory, result.command, &Chapter::command);
  return {number ? *number : INT64_MAX, chapter - kStory.begin()};
}

std::string chapter_of(const Result& result) {
  if (std::string chapter = text_of(result.manifest, "part_chapter"); !chapter.empty()) return chapter;
  const auto* chapter = std::ranges::find(kStory, result.command, &Chapter::command);
  return chapter == kStory.end() ? "" : std::string(chapter->title);
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
  section.chapter = chapter_of(result);
  section.intro = !intro.empty() ? intro : study ? std::string(study->intro) : "";
  section.figures = view.figures;
  for (Figure& figure : section.figures) figure.id = fmt::format("{}-{}", section.id, figure.id);
  return section;
}

// The view of a section.
struct Told {
  View view;
  std::string title;
};

// One answer to each question. Of what collapses the first measurement speaks; the sections of others are named.
std::vector<Answer> summary_of(const std::vector<Told>& told) {
  std::vector<const Told*> views;
  for (const Told& one : told) views.push_back(&one);
  std::ranges::stable_sort(views, {}, [](const Told* one) { return one->view.answers_last; });
  std::vector<Answer> summary;
  std::map<Question, const View*> first;
  std::map<Question, std::vector<std::string>> others;
  for (const Told* one : views) {
    const View* view = &one->view;
    for (const Answer& answer : view->answers) {
      if (answer.answer.empty()) continue;
      const auto found = std::ranges::find(summary, answer.question, &Answer::question);
      const View* speaker = first.try_emplace(answer.question, view).first->second;
      if (found == summary.end()) {
        summary.push_back(answer);
        continue;
      }
      const bool one_speaks = answer.question == Question::kCollapses || answer.question == Question::kPrevents;
      if (found->answer.find(answer.answer) != std::string::npos) continue;
      if (one_speaks && speaker != view) {
        auto& titles = others[answer.question];
        if (std::ranges::find(titles, one->title) == titles.end()) titles.push_back(one->title);
        continue;
      }
      found->answer += " " + answer.answer;
      if (answer.tone == Tone::kBad) found->tone = answer.tone;
    }
  }
  for (Answer& answer : summary) {
    if (const auto found = others.find(answer.question); found != others.end()) {
      answer.answer += fmt::format(" See also: {}.", fmt::join(found->second, "; "));
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
  page.facts.push_back({"Paper", std::string(kPaper), std::string(kPaperAddress)});
  if (!options.date.empty()) page.facts.push_back({"Date", options.date, ""});
  if (!options.command.empty()) page.facts.push_back({"Command", options.command, ""});
  page.facts.push_back({"Version", fmt::format("rankfall {}", RANKFALL_VERSION), ""});
  page.headline = headline_of(results);
  std::vector<Told> told;
  for (const Group& group : groups_of(results)) {
    const Result result = in_sweep_order(merged(group));
    View view = view_of(result, {.metrics = {}, .compares = group.members.size() > 1, .short_names = true});
    show_sweep(result, view);
    Section& section = page.sections.emplace_back(section_of(result, view, page.sections.size() + 1));
    // Several files may have several inputs; their manifests are on the page.
    if (group.members.size() == 1 && !view.about.empty()) {
      section.intro += (section.intro.empty() ? "" : " ") + view.about;
    }
    told.push_back({std::move(view), section.title});
  }
  page.summary = summary_of(told);
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
