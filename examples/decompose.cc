// decompose.h: a network as a sum over paths, as matrices: what each length adds, one path, and that nothing is
// left.
#include <cstdio>
#include <vector>

#include <rankfall/decompose.h>
#include <rankfall/model.h>
#include <rankfall/sample.h>

int main() {
  using rankfall::Index;
  using rankfall::Matrix;
  const rankfall::Model model = rankfall::open_model("bert-mini@init", 0);

  // A matrix of ours goes in as the state that enters the first block.
  std::vector<rankfall::Sample> samples(1);
  samples[0].content = rankfall::HiddenState{Matrix<double>::Random(24, model.network.sizes.d_model)};

  const auto parts = rankfall::decompose(model.network, *model.weights, samples, rankfall::Origins::kMerged, {});
  const Matrix<double>& output = parts[0].x;
  for (Index length = 0; length < parts[0].sums.n_lengths(); ++length) {
    const Matrix<double> part = parts[0].sums.of_length(length);  // and matrices come out
    std::printf("paths through %ld heads: %5.1f %% of the output, %5.1f %% of what tells tokens apart\n",
                static_cast<long>(length), 100 * part.cwiseProduct(output).sum() / output.squaredNorm(),
                100 * (part.rowwise() - part.colwise().mean()).cwiseProduct(output).sum() /
                    (output.rowwise() - output.colwise().mean()).squaredNorm());
  }
  const double left = (parts[0].sums.total() - output).norm() / output.norm();
  std::printf("all paths together miss the output by %.0e of it\n", left);

  const rankfall::Path path = {{}, {{0, 1}, {2, 3}}};
  const std::vector<std::vector<rankfall::Path>> paths = {{path}};  // one list for each sample
  const auto terms = rankfall::follow(model.network, *model.weights, samples, paths);
  std::printf("the path %s: %.2e of it\n", rankfall::to_string(path).c_str(),
              terms[0][0].term.joined().norm() / output.norm());
  return left < 1e-12 ? 0 : 1;
}
