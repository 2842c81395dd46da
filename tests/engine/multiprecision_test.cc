#include <gtest/gtest.h>

#include "engine/many_digits.h"
#include "engine/networks.h"
#include "engine/recorder.h"
#include <rankfall/forward.h>
#include <rankfall/variants.h>

// The engine over 50 decimal digits: the oracle of everything that is measured in double.

namespace rankfall {
namespace {

class Multiprecision : public testing::TestWithParam<std::string> {};

// Double differs from the truth by its rounding; 50 digits know the truth.
TEST_P(Multiprecision, DoubleIsWithinItsRounding) {
  const Digits fifty(50);
  const Model model = open_model(GetParam(), 3);
  const auto samples = random_samples(model.network, 5, 2, 6);
  std::vector<Recorder<ManyDigits>> exact(2);
  std::vector<Recorder<double>> rounded(2);
  std::vector<Observer<ManyDigits>*> exact_observers = {&exact[0], &exact[1]};
  std::vector<Observer<double>*> rounded_observers = {&rounded[0], &rounded[1]};
  forward<ManyDigits>(model.network, *model.weights, samples, exact_observers, {});
  forward<double>(model.network, *model.weights, samples, rounded_observers);
  for (std::size_t s = 0; s < 2; ++s) {
    ASSERT_EQ(exact[s].states.size(), rounded[s].states.size());
    for (std::size_t l = 0; l < exact[s].states.size(); ++l) {
      const Matrix<ManyDigits> difference = exact[s].states[l] - rounded[s].states[l].cast<ManyDigits>();
      EXPECT_LE(static_cast<double>(difference.cwiseAbs().maxCoeff()),
                1e-14 * rounded[s].states[l].cwiseAbs().maxCoeff())
          << "state " << l;
    }
    for (const auto& [where, p] : exact[s].attentions) {
      const Matrix<ManyDigits> difference = p - rounded[s].attentions.at(where).cast<ManyDigits>();
      EXPECT_LE(static_cast<double>(difference.cwiseAbs().maxCoeff()), 1e-14);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Small, Multiprecision, testing::ValuesIn(small_networks()),
                         [](const auto& test) { return std::to_string(test.index); });

}  // namespace
}  // namespace rankfall
