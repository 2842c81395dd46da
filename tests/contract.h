#pragma once

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "report/page_content.h"
#include "studies/views.h"
#include <rankfall/metric_info.h>
#include <rankfall/report.h>
#include <rankfall/result.h>

// What holds for every result that a study makes, so that tables, pages and files can be made of it.

namespace rankfall {

// Every row's metric is in the registry, for this study, and is described as the row has it.
inline void expect_registered(const Result& result) {
  EXPECT_FALSE(result.rows.empty());
  for (const Row& row : result.rows) {
    const auto info = find_metric(row.metric);
    const MetricUse* use = info ? info->use_in(result.command) : nullptr;
    ASSERT_NE(use, nullptr) << row.metric << " of " << result.command << " is not in src/result/metric_table.cc";
    if (!row.mean) continue;
    EXPECT_EQ(use->has_layer, row.layer.has_value()) << row.metric << " of " << result.command;
    EXPECT_TRUE(use->has_head || !row.head) << row.metric << " of " << result.command;
  }
}

// What those who draw may rely on.
// People read words: the name of a metric, alone or behind whose it is, is not a title.
inline void expect_words(const std::string& title, const std::string& name) {
  const auto colon = title.rfind(": ");
  const std::string what = colon == std::string::npos ? title : title.substr(colon + 2);
  EXPECT_FALSE(what.find_first_of("._") != std::string::npos && find_metric(what)) << name << ": " << title;
}

inline void expect_sound(const View& view, const std::string& name) {
  std::set<std::string> ids;
  for (const Figure& figure : view.figures) {
    for (const Series& series : figure.series) expect_words(series.title, name);
    EXPECT_TRUE(ids.insert(figure.id).second) << name << ": two figures " << figure.id;
    EXPECT_EQ(figure.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << figure.id;
    EXPECT_FALSE(figure.title.empty()) << name << ": " << figure.id;
    for (const Node& node : figure.nodes) {
      if (const auto* table = std::get_if<Table>(&node)) {
        for (const auto& row : table->rows) EXPECT_EQ(row.size(), table->columns.size()) << name << ": " << figure.id;
        EXPECT_LE(table->n_labels, table->columns.size());
      }
      if (const auto* heat = std::get_if<Heat>(&node)) {
        expect_words(heat->title, name);
        expect_words(heat->value, name);
      }
      if (const auto* curves = std::get_if<Curves>(&node)) {
        expect_words(curves->title, name);
        expect_words(curves->y, name);
        for (const Point& point : curves->points) {
          EXPECT_NE(std::ranges::find(figure.series, point.series, &Series::name), figure.series.end())
              << name << ": " << figure.id << " has no series '" << point.series << "'";
          if (!curves->sources.empty()) {
            EXPECT_NE(std::ranges::find(curves->sources, point.source), curves->sources.end()) << name;
          }
        }
      }
    }
  }
}

// Narrow and without Unicode: nothing but ASCII, and no line too long.
inline void expect_fits_any_terminal(const Result& result, const std::string& name) {
  const std::string text = to_table(result, {.colour = false, .width = 60, .unicode = false, .plot = true});
  std::string longest;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end - at > longest.size()) longest = text.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_LE(longest.size(), 60U) << name << ": " << longest;
  EXPECT_TRUE(std::ranges::all_of(text, [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); })) << name;
  EXPECT_EQ(text.find("\\u{"), std::string::npos) << name << ": a sign has no spelling in ASCII";
  const auto is_digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  for (std::size_t at = 1; at + 1 < text.size(); ++at) {
    const bool scientific = text[at] == 'e' && is_digit(at - 1) && (text[at + 1] == '-' || text[at + 1] == '+') &&
                            is_digit(at + 2) && is_digit(at + 3);
    EXPECT_FALSE(scientific) << name << ": " << text.substr(at - 1, 20) << ": numbers have the style 10^-6";
  }
}

// One section, in which every figure has something to see.
inline void expect_makes_a_page(const Result& result, const std::string& name) {
  const PageContent page = page_content({{name, result}}, {});
  ASSERT_EQ(page.sections.size(), 1U) << name;
  const Json json = to_page_json(page);
  EXPECT_FALSE(json["sections"][0]["figures"].empty()) << name;
  for (const auto& figure : json["sections"][0]["figures"]) {
    const bool any = !figure["panels"].empty() || !figure["tables"].empty() || !figure["findings"].empty();
    EXPECT_TRUE(any) << name << ": " << figure["id"];
  }
}

// All of it, for what a study has just computed; the saved result shows the same.
inline void expect_contract(const Result& result) {
  expect_registered(result);
  expect_sound(view_of(result, {}), result.command);
  expect_fits_any_terminal(result, result.command);
  expect_makes_a_page(result, result.command);
  EXPECT_EQ(to_table(from_json(to_json(result), "memory")), to_table(result)) << result.command;
}

}  // namespace rankfall
