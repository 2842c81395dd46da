// matrix.h: the matrices of the API are Eigen's, a row for each token.
#include <cstdio>

#include <rankfall/matrix.h>

namespace {

// Takes a whole matrix or a part of one, without a copy.
double residual(const rankfall::MatrixRef<double>& x) { return (x.rowwise() - x.colwise().mean()).norm(); }

}  // namespace

int main() {
  rankfall::Matrix<double> x(3, 2);
  x << 1, 2, 1, 2, 4, 2;
  std::printf("all tokens: %.4f, the first two, which are equal: %.4f\n", residual(x), residual(x.topRows(2)));
}
