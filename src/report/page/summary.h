#pragma once

#include <vector>

#include "report/page/page.h"

namespace rankfall {

// What a result says to somebody with ten seconds, as questions and answers. A question that is there already gets one
// more sentence.
void add_answers(const Result& result, std::vector<Answer>& summary);

// A measurement of the variants as the published code ran them, which is not as it labelled them.
bool is_as_published(const Result& result);

}  // namespace rankfall
