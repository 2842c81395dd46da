#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <rankfall/index.h>
#include <rankfall/result.h>

// A view is what a result shows, as plain data. A study makes it from its rows, so saved files show the same; the
// terminal and the page draw it (src/render). Texts may hold anything a file held: whoever draws makes them harmless.

namespace rankfall {

// Good, bad or neither: drawn as a colour or a sign.
enum class Tone { kNeutral, kGood, kWarning, kBad };
Tone tone_of(Status status);

// Why a theorem does not apply, as half a sentence: "there is a skip connection".
std::string_view reason_words(Reason reason);

// One curve, or one part of stacked bars, in all panels of a figure.
struct Series {
  enum class Look {
    kNumbered,   // a colour of its own, by number
    kOrdered,    // a colour between those of the first and the last: curves that have an order
    kReference,  // grey and dashed, something to compare with: drawn, and no column in a terminal
    kTotal,      // of stacked bars their whole height: a column in a terminal, and nothing to draw
  };
  std::string name, title;  // the name is what points say
  std::size_t number = 0;
  Look look = Look::kNumbered;
  std::string explanation = {};  // a legend says it after the title: "attention alone"
};

struct Point {
  double x = 0;
  std::string series, source;
  std::optional<double> value;
  std::optional<double> low, high;  // of a band about it
  std::optional<Index> n;
  Status status = Status::kNone;
  std::string note;
};

// The meaning of the band about a point.
enum class Band { kNone, kDeviation, kRange, kQuartiles, kInterval };

enum class Scale {
  kLinear,  // and nothing else
  kBoth,    // linear first, logarithmic at choice
  kLog,     // logarithmic first
  kLog10,   // values are logarithms to base 10, shown as powers of ten
};

// Values over layers, lengths, steps or sizes: curves, or bars on top of each other. In a terminal a table of x by
// series, with bars.
struct Curves {
  std::string title;  // whose: "bert-base@init san"
  std::string about;  // what: words and formula
  std::string mean;   // what a point is the mean of: "arithmetic mean over 32 samples"
  std::string x = "layer", y;
  std::string series_title = "variant";
  std::string source_title;
  std::vector<std::string> sources;  // two or more: told apart by dashes; the first is what a terminal shows
  std::vector<Point> points;
  Scale scale = Scale::kBoth;
  Band band = Band::kNone;
  bool stacked = false;     // bars
  bool share = false;       // on 0..1: bars of one length are comparable
  bool only_drawn = false;  // for a chart or --plot: a table beside it says the same
  bool small = false;       // in a terminal one small line for each series, instead of a table
  bool log_x = false;
  bool wide = false;        // a chart as wide as the page
  bool with_one = false;    // of logarithms: the axis shows 10^0
  bool deep = false;        // of logarithms: the logarithm of the exponent first, whatever the values
  bool error_bars = false;  // the band as bars
  bool precisions = false;  // where float32 and float64 end is worth a line across
  bool deviations = false;  // a terminal shows the deviation beside each value
  bool labelled = false;    // the names of the series stand at the ends of their curves instead of in a legend
  std::optional<std::pair<double, double>> domain;  // of the linear view
  // A text for each x beside the values, and what it is.
  std::string label_title;
  std::vector<std::pair<double, std::string>> labels;
};

// A number in a table with what is known about it.
struct Number {
  Number() = default;
  Number(double v) : value(v) {}                 // NOLINT(google-explicit-constructor)
  Number(std::optional<double> v) : value(v) {}  // NOLINT(google-explicit-constructor)
  Number(std::optional<Index> v) : value(v ? std::optional(static_cast<double>(*v)) : std::nullopt) {}  // NOLINT
  std::optional<double> value;
  std::optional<double> error;      // standard error or deviation
  std::optional<double> low, high;  // range
  bool at_least = false;
  std::string note;
};
struct Badge {
  Tone tone = Tone::kNeutral;
  std::string text;
};
using Cell = std::variant<std::monostate, Number, std::string, Badge>;

struct TableColumn {
  enum class Kind { kText, kNumber, kCount, kLog10, kShare, kProse };
  std::string title;
  Kind kind = Kind::kText;
  std::string group = {};  // said once above neighbours that have it
  int digits = 3;          // significant ones, in a terminal
};

// Lines of cells. The first n_labels columns say what a line is. Prose is wrapped: with one column of it, at the end,
// beside its line; with several, below the labels.
struct Table {
  enum class Layout {
    kGrid,
    kRunning,  // lines run on like words of a text, the second column below the first
  };
  std::string title, about;
  std::vector<TableColumn> columns;
  std::vector<std::vector<Cell>> rows;
  std::size_t n_labels = 1;
  Layout layout = Layout::kGrid;
  std::size_t most = 0;    // lines that a terminal shows; 0: all
  bool only_page = false;  // of what a terminal says otherwise
};

// Values by two numbers, each value of which is a place.
struct Heat {
  struct Value {
    double x = 0, y = 0;
    std::optional<double> value;
  };
  std::string title, about;
  std::string x = "block", y = "head", value = "value";  // in words
  std::vector<Value> values;
  bool share = false;       // of a whole: equal colours mean equal sizes in all maps of shares
  bool logarithms = false;  // of values that have no sign, so that 0 is not the middle
  bool only_drawn = false;  // a table beside it says the same
};

// Lines in a plane: tracks of points, or paths through blocks and heads.
struct Tracks {
  struct Track {
    std::string series, name, origin;
    std::optional<Index> rank;
    double weight = 0;  // the line's width
    std::vector<std::pair<double, double>> points;
  };
  std::string title, about;
  std::string x = "x", y = "y";
  std::vector<Track> tracks;
  bool lanes = false;  // x are blocks, y heads, below which the skips run; otherwise both are lengths
  Index n_blocks = 0, n_heads = 0;
};

// A finding: a sentence about a subject.
struct Sentence {
  std::string subject;
  Tone tone = Tone::kNeutral;
  std::string text;
};
struct Sentences {
  std::vector<Sentence> list;
};

using Node = std::variant<Curves, Table, Heat, Tracks, Sentences>;

struct Figure {
  std::string id;  // of letters, digits and '-'
  std::string title, caption;
  std::vector<std::string> notes;
  bool detail = false;  // secondary: closed on the page, not in a terminal
  std::vector<Series> series;
  std::vector<Node> nodes;
};

// The questions of a reader with ten seconds, in the order of a page.
enum class Question {
  kCollapses,
  kPredicted,
  kSpeed,
  kPrevents,
  kPaths,
  kLengths,
  kTheory,
  kLowRank,
  kSketches,
  kCosts,
  kTasks,
  kRecurrence,
  kTraining,
  kAgrees,
  kReference,
  kTokens,
  kMachine,
};
std::string_view words_of(Question question);

struct Answer {
  Question question = Question::kCollapses;
  std::string answer;
  Tone tone = Tone::kNeutral;
};

struct View {
  std::string about;            // what was measured: "Measured on 32 samples of 128 random token ids (uniform)."
  std::vector<Answer> answers;  // what was found, in one to three sentences: they come first
  bool answers_last = false;    // where other views answer the same, these come after them
  std::vector<Figure> figures;
  std::vector<std::string> notes;  // small print
};

// Wishes of the caller that a study follows when it makes its view.
struct ViewOptions {
  std::vector<std::string> metrics;  // to show first, in this order; empty: the study's choice
  bool compares = false;             // rows are of several files: models side by side come first
  bool short_names = false;          // models have the names under which they are shown
};

}  // namespace rankfall
