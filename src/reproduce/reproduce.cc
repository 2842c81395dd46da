#include "reproduce/reproduce.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/errors.h"
#include "base/mapped.h"
#include "io/atomic_file.h"
#include "io/directory_lock.h"
#include "reproduce/parts.h"
#include "result/manifest.h"
#include "studies/published/published.h"
#include <rankfall/audit.h>
#include <rankfall/bounds.h>
#include <rankfall/paths.h>
#include <rankfall/report.h>

namespace rankfall {
namespace {

namespace fs = std::filesystem;

void make_directory(const fs::path& directory) {
  std::error_code error;
  if (fs::is_symlink(directory, error)) throw input_error("{}: is a link, expected a directory", directory.string());
  fs::create_directories(directory, error);
  if (error) throw input_error("{}: {}", directory.string(), error.message());
}

class Reproducer {
 public:
  explicit Reproducer(const ReproduceOptions& options)
      : options_(options), results_(options.directory / "results"), parts_(reproduce_parts(options)) {}

  Reproduction run() {
    make_directory(results_);
    const DirectoryLock lock(results_);
    if (lock.held_by_another()) {
      throw usage_error("{}: another reproduction is running in this directory", options_.directory.string());
    }
    for (const Part& part : parts_) {
      for (const char* end : {".csv", ".json", ".manifest.json"}) remove_leftovers(results_ / (part.name + end));
    }
    compute_missing();
    const auto results = collect();
    return {results.front().result, write_page(results), broken_claims(results)};
  }

 private:
  bool is_chosen(const Part& part) const {
    return options_.only.empty() || std::ranges::find(options_.only, part.figure) != options_.only.end();
  }

  // The part's result from an earlier run, if it was made with the same settings.
  std::optional<Result> finished(const Part& part) const {
    const auto file = results_ / (part.name + ".json");
    std::error_code error;
    if (!fs::exists(file, error)) return std::nullopt;
    try {
      Result result = read_result(file).result;
      if (text_of(result.manifest, "part_settings") == part.settings) return result;
    } catch (const Error&) {
      // Somebody else's file, or a broken one: computed anew.
    }
    return std::nullopt;
  }

  void compute_missing() {
    double total = 0;
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!is_chosen(parts_[i])) continue;
      if (!options_.again && finished(parts_[i])) {
        report("{}: kept from an earlier run", parts_[i].name);
        continue;
      }
      if (parts_[i].trains && !options_.train) {
        report("{}: left out; {}", parts_[i].name, options_.no_training);
        continue;
      }
      missing.push_back(i);
      total += parts_[i].seconds;
    }
    for (const Part& part : parts_) {
      std::error_code error;
      if (!is_chosen(part) && fs::exists(results_ / (part.name + ".json"), error) && !finished(part)) {
        report("{}: was made with other settings and is left out of the page", part.name);
      }
    }
    double before = 0;
    for (const std::size_t i : missing) {
      const Part& part = parts_[i];
      const auto begin = std::chrono::steady_clock::now();
      Result result = part.compute([&](double done, double of, std::string_view what) {
        const double share = of > 0 ? std::clamp(done / of, 0.0, 1.0) : 0;
        if (!options_.progress) return;
        options_.progress(before + share * part.seconds, total, fmt::format("{}: {}", part.name, what));
      });
      describe(part, result);
      keep(part.name, result);
      before += part.seconds;
      report("{}: {:.0f} s", part.name,
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  }

  // What the page says of a part.
  static void describe(const Part& part, Result& result) {
    add(result.manifest, "part", part.name);
    add(result.manifest, "part_order", static_cast<std::int64_t>(part.place));
    add(result.manifest, "part_chapter", part.chapter);
    add(result.manifest, "part_title", part.title);
    add(result.manifest, "part_intro", part.intro);
    add(result.manifest, "part_settings", part.settings);
  }

  // The directory may come from a stranger: links in it are not followed, so that what is written stays inside.
  void keep(const std::string& name, const Result& result) const {
    save(result, without_link(results_ / (name + ".csv")), Format::kCsv, {}, false);
    save(result, without_link(results_ / (name + ".json")), Format::kJson);  // last: it says that the part is finished
  }

  // What there is, after its agreement with the published numbers.
  std::vector<NamedResult> collect() const {
    std::vector<NamedResult> results;
    for (const Part& part : parts_) {
      auto result = finished(part);
      if (!result) continue;
      describe(part, *result);  // an earlier version may have said it otherwise
      results.push_back({part.name, std::move(*result)});
    }
    if (results.empty()) throw usage_error("nothing was computed: the report would be empty");
    Result compared = agreement(mapped<const Result*>(results, [](const auto& one) { return &one.result; }));
    add(compared.manifest, "part", "agreement");
    add(compared.manifest, "part_order", static_cast<std::int64_t>(parts_.size() + 1));
    add(compared.manifest, "part_chapter", "Agreement");
    add(compared.manifest, "part_intro",
        options_.full
            ? "Every published number that can be compared, with the criterion and the largest distance found. "
              "The published curves of Figure 2 are one unseeded draw of the weights; ours are ten, and their "
              "standard deviation is the unit of the criterion."
            : "Every published number that can be compared, with the criterion and the largest distance found. "
              "With one seed, one draw of the weights is compared with another: two draws differ, so the "
              "criterion is loose and agreement is weak evidence. The full scale compares with ten seeds.");
    keep("agreement", compared);
    results.insert(results.begin(), {"agreement", std::move(compared)});
    return results;
  }

  fs::path write_page(const std::vector<NamedResult>& results) const {
    const fs::path file = options_.directory / "report.html";
    PageOptions page_options;
    page_options.title = "Attention is not all you need, reproduced";
    const char* figures = results.size() == parts_.size() + 1 ? "Every figure" : "Some figures";
    page_options.subtitle =
        options_.full ? fmt::format("{} of the paper at its scale, ten seeds from {} on.", figures, options_.seed)
                      : fmt::format(
                            "{} of the paper, quick settings instead of its scale: one seed ({}), short "
                            "trainings, fewer samples (noted per figure).",
                            figures, options_.seed);
    page_options.date = options_.date;
    page_options.command = options_.command;
    const Page page = make_page(results, page_options);
    save(page, without_link(file), options_.charts);
    if (!options_.charts.empty()) remove_other_charts(page);
    return fs::absolute(file).lexically_normal();
  }

  // Charts of an earlier page that this one does not have. Their names begin with the section: s2-exact-1.vl.json.
  void remove_other_charts(const Page& page) const {
    std::set<std::string> names;
    for (const auto& [name, text] : page.charts) names.insert(name);
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(options_.charts, error)) {
      const std::string name = entry.path().filename().string();
      const bool ours = name.size() > 1 && name[0] == 's' && name[1] >= '0' && name[1] <= '9';
      if (ours && name.ends_with(".vl.json") && !names.contains(name)) fs::remove(entry.path(), error);
    }
  }

  static std::string broken_claims(const std::vector<NamedResult>& results) {
    for (const NamedResult& one : results) {
      if (one.result.command == "bounds" && !violated_bounds(one.result).empty()) {
        return "a proved bound is violated: results/bounds.json";
      }
      if (one.result.command != "audit") continue;
      if (const auto claims = unexpected_verdicts(one.result); !claims.empty()) {
        return fmt::format("verdicts other than the recorded ones: {}", fmt::join(claims, ", "));
      }
    }
    return "";
  }

  template <class... Args>
  void report(fmt::format_string<Args...> text, Args&&... args) const {
    if (options_.report) options_.report(fmt::format(text, std::forward<Args>(args)...));
  }

  const ReproduceOptions& options_;
  fs::path results_;
  std::vector<Part> parts_;
};

}  // namespace

std::vector<std::string> reproduced_figures() {
  return {"fig1", "fig2", "fig3", "fig4", "fig5", "boxplot", "paths", "bounds", "audit"};
}

Reproduction reproduce(const ReproduceOptions& options) {
  const std::vector<std::string> figures = reproduced_figures();
  for (const std::string& figure : options.only) {
    if (std::ranges::find(figures, figure) != figures.end()) continue;
    throw usage_error("figure '{}': expected some of {}", figure, fmt::join(figures, ", "));
  }
  // Before the long computation: what is given is a model.
  for (const std::string& model : {options.bert, options.albert, options.xlnet}) {
    if (!model.empty()) architecture_of(model);
  }
  return Reproducer(options).run();
}

}  // namespace rankfall
