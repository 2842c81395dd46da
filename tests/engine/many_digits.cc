#include "engine/many_digits.h"

namespace rankfall {

template std::vector<Matrix<ManyDigits>> forward<ManyDigits>(const Network&, const WeightSource&,
                                                             std::span<const Sample>,
                                                             std::span<Observer<ManyDigits>* const>,
                                                             const ForwardOptions&);

}  // namespace rankfall
