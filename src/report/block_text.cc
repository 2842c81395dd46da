#include "report/block_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "report/findings.h"
#include "report/metric_text.h"
#include "report/number_text.h"
#include "report/paint.h"
#include "report/screen_text.h"
#include "result/averaging.h"

namespace rankfall {
namespace {

constexpr int kGap = 2;     // between columns
constexpr int kMinBar = 6;  // as wide as the mark of the rounding floor
constexpr int kMaxBar = 20;
constexpr int kMark = 4;      // in place of bars, which logarithms do not have
constexpr int kMaxName = 28;  // longer names of variants are cut

int length(std::string_view text) { return static_cast<int>(text.size()); }

// A residual that is rounding has a size and no digits; a rank or a cosine made of such a state is a plain number.
std::string floor_text(double value) {
  return std::abs(value) < 0.01 ? fmt::format("~{:.0e}", value) : "~" + significant(value, 2);
}

// The texts of one variant's column, all of one width each.
struct ColumnText {
  std::string name;
  std::vector<std::string> values;  // points under each other
  std::vector<std::string> ranges;  // "low..high", or empty
  int value_width = 0, range_width = 0;
};

class BlockWriter {
 public:
  BlockWriter(const LayerBlock& block, std::string_view precision, const TableOptions& options)
      : block_(block),
        precision_(precision),
        options_(options),
        paint_(options.colour),
        metric_(metric_text(screen_name(block.metric, options.unicode), options.unicode)) {
    if (metric_.is_log10) min_bar_ = max_bar_ = kMark;
    for (std::size_t v = 0; v < block.variants.size(); ++v) columns_.push_back(column(v));
    for (const auto& cells : block.cells) {
      for (const LayerCell& cell : cells) largest_ = std::max(largest_, std::abs(cell.mean.value_or(0)));
    }
    if (metric_.is_share) largest_ = 1;
  }

  std::string write() {
    title();
    layers();
    findings();
    return std::move(out_);
  }

 private:
  ColumnText column(std::size_t variant) const {
    ColumnText text{.name = screen_name(block_.variants[variant], options_.unicode), .values = {}, .ranges = {}};
    for (const LayerCell& cell : block_.cells[variant]) {
      text.values.push_back(!cell.mean         ? "-"
                            : cell.at_floor    ? floor_text(*cell.mean)
                            : metric_.is_log10 ? logarithm(*cell.mean)
                                               : significant(*cell.mean));
      const bool several = cell.n_rows > 1 && cell.low && cell.high && !cell.at_floor;
      text.ranges.push_back(several ? fmt::format("{}..{}", significant(*cell.low), significant(*cell.high)) : "");
      text.range_width = std::max(text.range_width, length(text.ranges.back()));
    }
    align_points(text.values);
    for (const std::string& value : text.values) text.value_width = std::max(text.value_width, length(value));
    return text;
  }

  void title() {
    const std::string dot = options_.unicode ? " · " : "; ";
    std::string about = metric_.words;
    if (!metric_.formula.empty()) about += ": " + metric_.formula;
    if (!block_.title.empty()) about = options_.unicode ? block_.title : to_ascii(block_.title);
    if (block_.by_head) about += dot + "mean over heads, lowest..highest";
    if (block_.by_seed) about += dot + "mean over seeds, lowest..highest";
    const std::string of = !block_.n ? "" : block_.title.empty() ? counted() : fmt::format("n = {}", *block_.n);

    const std::string model = screen_name(block_.model, options_.unicode);
    const std::string whole = of.empty() ? about : about + dot + of;
    // On one line if it fits; else the formula has one of its own below the model.
    if (model.empty() || display_width(model) + 2 + display_width(whole) <= options_.width) {
      line(paint_(Colour::kBold, model) + (model.empty() ? "" : "  ") + paint_(Colour::kDim, whole));
      return;
    }
    const bool beside = display_width(model) + 2 + display_width(of) <= options_.width;
    line(paint_(Colour::kBold, fit_if_longer(model)) + (beside && !of.empty() ? "  " + paint_(Colour::kDim, of) : ""));
    for (const auto& part : wrap(beside ? about : whole, options_.width - 2, options_.unicode)) {
      line("  " + paint_(Colour::kDim, part));
    }
  }

  // "arithmetic mean over 32 samples": the same quantity has another mean elsewhere, and seeds are no samples.
  std::string counted() const {
    return fmt::format("{} over {} {}{}", words_of(averaging_of(block_.metric)), *block_.n,
                       block_.over_seeds ? "seed" : "sample", *block_.n == 1 ? "" : "s");
  }

  std::string fit_if_longer(const std::string& text) const {
    return display_width(text) > options_.width ? fit(text, options_.width, Align::kLeft, options_.unicode) : text;
  }

  int values_width() const {
    int width = 0;
    for (const ColumnText& c : columns_) width = std::max(width, c.value_width);
    return width;
  }
  int ranges_width() const {
    int width = 0;
    for (const ColumnText& c : columns_) width = std::max(width, c.range_width);
    return width;
  }

  void layers() {
    const std::string unit = !block_.unit.empty() ? block_.unit : block_.by_head ? "block" : "layer";
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < block_.layers.size(); ++i) {
      labels.push_back(block_.labels.empty() ? fmt::format("{}", block_.layers[i])
                                             : screen_name(block_.labels[i], options_.unicode));
    }
    int index_width = display_width(unit);
    for (const std::string& label : labels) index_width = std::max(index_width, display_width(label));
    std::string unit_text = fit(unit, index_width, Align::kRight, options_.unicode);
    for (std::string& label : labels) label = fit(label, index_width, Align::kRight, options_.unicode);
    if (!block_.texts.empty()) {
      int text_width = display_width(block_.text_name);
      for (const std::string& text : block_.texts) text_width = std::max(text_width, display_width(text));
      unit_text += std::string(kGap, ' ') + fit(block_.text_name, text_width, Align::kRight, options_.unicode);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        labels[i] += std::string(kGap, ' ') + fit(block_.texts[i], text_width, Align::kRight, options_.unicode);
      }
      index_width += kGap + text_width;
    }

    const int ranges = ranges_width();
    const int beside_bar = values_width() + 1 + (ranges > 0 ? ranges + 1 : 0);
    int least = beside_bar + min_bar_;
    for (const ColumnText& c : columns_) least = std::max(least, std::min(display_width(c.name), kMaxName));

    // As few pieces as possible, of equal numbers of variants; then the bars take the room that is left.
    const int room = options_.width - index_width;
    const int n = static_cast<int>(columns_.size());
    const int fitting = std::max(1, room / (least + kGap));
    const int pieces = (n + fitting - 1) / fitting;
    const int per_piece = (n + pieces - 1) / pieces;
    const int bar_width = std::clamp(room / per_piece - kGap - beside_bar, min_bar_, max_bar_);
    const int width = std::max(least, beside_bar + bar_width);

    for (int first = 0; first < n; first += per_piece) {
      const int last = std::min(n, first + per_piece);
      std::string header = paint_(Colour::kDim, unit_text);
      for (int v = first; v < last; ++v) {
        const std::string& name = columns_[static_cast<std::size_t>(v)].name;
        const std::string shown = fit(name, width, Align::kLeft, options_.unicode);
        header += std::string(kGap, ' ') + paint_(Colour::kBold, v + 1 == last ? trimmed(shown) : shown);
      }
      out_ += '\n';
      line(header);
      for (std::size_t i = 0; i < block_.layers.size(); ++i) {
        std::string text = paint_(Colour::kDim, labels[i]);
        for (int v = first; v < last; ++v) {
          text += std::string(kGap, ' ') + cell(static_cast<std::size_t>(v), i, {ranges, bar_width, width});
        }
        line(text);
      }
    }
  }

  struct Widths {
    int range, bar, column;
  };

  std::string cell(std::size_t variant, std::size_t layer, const Widths& widths) const {
    const LayerCell& cell = block_.cells[variant][layer];
    const ColumnText& text = columns_[variant];
    const std::string value = fit(text.values[layer], text.value_width);
    std::string out;
    if (cell.at_floor) {
      const std::string_view mark = options_.unicode ? "·floor" : ".floor";
      out = paint_(Colour::kDim, value + ' ' + fit(mark, widths.bar + (widths.range > 0 ? widths.range + 1 : 0)));
    } else if (metric_.is_log10) {
      out = value + ' ' + paint_(Colour::kDim, fit(cell.mark, widths.bar));
      if (widths.range > 0) out += ' ' + paint_(Colour::kDim, fit(text.ranges[layer], widths.range));
    } else {
      const double fraction = cell.mean && largest_ > 0 ? *cell.mean / largest_ : 0;
      out = value + ' ' + paint_(Colour::kBar, bar(fraction, widths.bar, options_.unicode));
      if (widths.range > 0) out += ' ' + paint_(Colour::kDim, fit(text.ranges[layer], widths.range));
    }
    const int used = text.value_width + 1 + widths.bar + (widths.range > 0 ? widths.range + 1 : 0);
    return out + std::string(static_cast<std::size_t>(std::max(0, widths.column - used)), ' ');
  }

  // What there is to say of variant v.
  Finding found(std::size_t v) const {
    if (block_.sentences.empty()) return finding(block_, v, precision_, options_.unicode);
    return {fate(block_.sentences[v].status), block_.sentences[v].text};
  }

  static Finding::Fate fate(Status status) {
    switch (status) {
      case Status::kDoublyExponential:
        return Finding::Fate::kDies;
      case Status::kExponential:
      case Status::kIrregular:
        return Finding::Fate::kFalls;
      case Status::kNoCollapse:
        return Finding::Fate::kKeeps;
      default:
        return Finding::Fate::kUnknown;
    }
  }

  void findings() {
    if (block_.sentences.empty() && (!metric_.is_relative_residual || block_.by_head)) return;
    out_ += '\n';
    int name_width = 0;
    for (const ColumnText& c : columns_) name_width = std::max(name_width, std::min(display_width(c.name), kMaxName));
    if (name_width > 0) name_width += kGap;
    for (std::size_t v = 0; v < columns_.size(); ++v) {
      const Finding finding = found(v);
      std::string name = fit(columns_[v].name, std::max(0, name_width - kGap), Align::kLeft, options_.unicode);
      if (name_width > 0) name += std::string(kGap, ' ');
      bool is_first = true;
      for (const auto& part : wrap(finding.sentence, options_.width - name_width, options_.unicode)) {
        const std::string begin = is_first ? paint_(colour(finding.fate), name) : std::string(name.size(), ' ');
        line(begin + part);
        is_first = false;
      }
    }
  }

  static Colour colour(Finding::Fate fate) {
    switch (fate) {
      case Finding::Fate::kKeeps:
        return Colour::kGood;
      case Finding::Fate::kFalls:
        return Colour::kWarn;
      case Finding::Fate::kDies:
        return Colour::kBad;
      case Finding::Fate::kUnknown:
        break;
    }
    return Colour::kBold;
  }

  static std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }

  void line(std::string text) { out_ += trimmed(std::move(text)) + '\n'; }

  const LayerBlock& block_;
  std::string_view precision_;
  const TableOptions& options_;
  Painter paint_;
  MetricText metric_;
  std::vector<ColumnText> columns_;
  double largest_ = 0;
  int min_bar_ = kMinBar, max_bar_ = kMaxBar;
  std::string out_;
};

}  // namespace

std::string block_text(const LayerBlock& block, std::string_view precision, const TableOptions& options) {
  return BlockWriter(block, precision, options).write();
}

}  // namespace rankfall
