#include <cstddef>
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include <rankfall/decompose.h>
#include <rankfall/error.h>
#include <rankfall/forward.h>
#include <rankfall/measure.h>
#include <rankfall/model.h>
#include <rankfall/process.h>
#include <rankfall/report.h>
#include <rankfall/version.h>

// Uses the installed library through its public headers only. run.sh compiles it with flags other than the library's
// own (compiler, -march), which is what breaks a library whose Eigen alignment is not fixed.

namespace {

using rankfall::Index;
using rankfall::Matrix;

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "consumer: %s: does not hold\n", what);
  ++failures;
}

void settings_cross_the_boundary() {
  rankfall::set_threads(2);
  expect(rankfall::threads() == 2, "threads() == 2");
}

void errors_cross_the_boundary() {
  bool caught = false;
  try {
    rankfall::open_model("no-such-model@init", 0);
  } catch (const rankfall::Error& error) {
    caught = error.kind() == rankfall::ErrorKind::kUsage;
  }
  expect(caught, "an unknown model throws Error(kUsage)");
}

// Keeps copies of the hidden states, which the library made and owns.
template <class T>
class KeepStates : public rankfall::Observer<T> {
 public:
  rankfall::Needs needs() const override {
    rankfall::Needs needs;
    needs.hidden = true;
    return needs;
  }
  void hidden(Index /*state*/, const rankfall::MatrixRef<T>& x) override { states.emplace_back(x); }

  std::vector<Matrix<T>> states;
};

// Matrices go in (the samples), are seen through views (the observer), and come out to be resized and freed here. Odd
// sizes, so that few of them are aligned by chance.
template <class T>
void matrices_cross_the_boundary(const rankfall::Model& model) {
  const Index d = model.network.sizes.d_model;
  std::vector<rankfall::Sample> samples(3);
  std::vector<KeepStates<T>> keepers(samples.size());
  std::vector<rankfall::Observer<T>*> observers;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    samples[i].content = rankfall::HiddenState{Matrix<double>::Random(5 + 6 * static_cast<Index>(i), d)};
    observers.push_back(&keepers[i]);
  }

  std::vector<Matrix<T>> last = rankfall::forward<T>(model.network, *model.weights, samples, observers);

  expect(last.size() == samples.size(), "one result a sample");
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Matrix<T> given = std::get<rankfall::HiddenState>(samples[i].content).values.template cast<T>();
    const std::vector<Matrix<T>>& states = keepers[i].states;
    expect(static_cast<Index>(states.size()) == model.network.sizes.n_blocks + 1, "states 0..L were seen");
    expect(states.front() == given, "state 0 is what went in");
    expect(states.back() == last[i], "state L is what comes out");
    expect(last[i].allFinite() && last[i].norm() > 0, "the result is a finite matrix");
    const Index rows = last[i].rows();
    last[i].conservativeResize(2 * rows, d);  // allocated there, freed here
    expect(last[i].topRows(rows) == states.back(), "a result can be resized");
  }
}

void paths_cross_the_boundary(const rankfall::Model& model) {
  std::vector<rankfall::Sample> samples(1);
  samples[0].content = rankfall::HiddenState{Matrix<double>::Random(7, model.network.sizes.d_model)};
  const auto parts = rankfall::decompose(model.network, *model.weights, samples, rankfall::Origins::kMerged, {});
  expect((parts[0].sums.total() - parts[0].x).norm() < 1e-12 * parts[0].x.norm(), "the sum over paths is the state");
  const std::vector<std::vector<rankfall::Path>> paths = {{{{}, {{0, 1}, {2, 0}}}}};
  const auto terms = rankfall::follow(model.network, *model.weights, samples, paths);
  expect(terms[0][0].term.joined().rows() == 7, "a single path is a matrix");
  expect(rankfall::to_string(paths[0][0]) == "L0H1 > L2H0", "a path has a name");
}

void results_cross_the_boundary() {
  rankfall::MeasureOptions options;
  options.input.n_samples = 2;
  options.input.n_tokens = 7;
  const std::vector<std::string> models = {"bert-tiny@init"};
  const rankfall::Result result = rankfall::measure(models, options);
  expect(!result.rows.empty(), "measure returns rows");
  const rankfall::Result again = rankfall::from_json(rankfall::to_json(result), "memory");
  expect(again.rows.size() == result.rows.size(), "JSON holds every row");
}

}  // namespace

int main() {
  std::printf("rankfall %s, Eigen aligns to %d bytes\n", RANKFALL_VERSION, EIGEN_MAX_ALIGN_BYTES);
  settings_cross_the_boundary();
  errors_cross_the_boundary();
  const rankfall::Model model = rankfall::open_model("san:layers=3,heads=3,dim=21", 1);
  matrices_cross_the_boundary<float>(model);
  matrices_cross_the_boundary<double>(model);
  paths_cross_the_boundary(model);
  results_cross_the_boundary();
  return failures == 0 ? 0 : 1;
}
