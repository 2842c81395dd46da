#include <ostream>

#include <rankfall/result.h>

namespace rankfall {

std::ostream& operator<<(std::ostream& out, const Prose& prose) { return out << prose.text_; }

}  // namespace rankfall
