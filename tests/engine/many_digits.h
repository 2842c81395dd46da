#pragma once

#include <span>
#include <vector>

#include <boost/multiprecision/mpfr.hpp>
// After mpfr.hpp.
#include <boost/multiprecision/eigen.hpp>

#include "engine/dense/activation_impl.h"
#include "engine/forward_impl.h"
#include "linalg/gemm_impl.h"
#include <rankfall/forward.h>

// The engine over as many decimal digits as a test wants: the oracle of everything that is computed in double. One type
// whose digits are chosen at run time, compiled once (many_digits.cc): a type for each number of digits takes a minute
// each.

namespace rankfall {

using ManyDigits =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>, boost::multiprecision::et_off>;

// Numbers that are made while it lives have at least so many digits, in every thread.
class Digits {
 public:
  explicit Digits(unsigned digits) : before_(ManyDigits::default_precision()) { ManyDigits::default_precision(digits); }
  ~Digits() { ManyDigits::default_precision(before_); }
  Digits(const Digits&) = delete;
  Digits& operator=(const Digits&) = delete;

 private:
  unsigned before_;
};

extern template std::vector<Matrix<ManyDigits>> forward<ManyDigits>(const Network&, const WeightSource&,
                                                                    std::span<const Sample>,
                                                                    std::span<Observer<ManyDigits>* const>,
                                                                    const ForwardOptions&);

}  // namespace rankfall
