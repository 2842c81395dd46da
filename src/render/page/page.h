#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "view/view.h"
#include <rankfall/report.h>
#include <rankfall/result.h>

// What the report page shows: views in sections. web/src/page.ts has the structures that the script reads as JSON.

namespace rankfall {

using Json = nlohmann::ordered_json;

struct Section {
  std::string id, title, intro;
  std::string chapter;  // the step of the story; empty: none
  std::vector<Figure> figures;
};

// A number in large type, written as in prose (0.41, 10^-77), and the sentence that it begins.
struct HeadlineNumber {
  std::string value, sentence;
};
// The first screen.
struct Headline {
  Figure figure;  // with one node, labelled Curves
  std::vector<HeadlineNumber> numbers;
};

// What stands under the title: "Paper", its name and address.
struct Fact {
  std::string label, text, link;  // link: empty, or an address of our own, never one from a file
};

struct PageContent {
  std::string title, subtitle;
  std::vector<Fact> facts;
  std::optional<Headline> headline;
  std::vector<Answer> summary;
  std::vector<Section> sections;
  std::vector<std::pair<std::string, Manifest>> manifests;
};

// For the script element; text that is not UTF-8 is replaced.
Json to_page_json(const PageContent& page);

// One HTML file, and each chart by itself. Throws Error kUsage if the library was built without the page's script.
Page page_of(const PageContent& content);

}  // namespace rankfall
