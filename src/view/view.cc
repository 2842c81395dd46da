#include "view/view.h"

namespace rankfall {

Tone tone_of(Status status) {
  switch (status) {
    case Status::kHolds:
    case Status::kMeasured:
    case Status::kAgrees:
    case Status::kPassed:
    case Status::kNoCollapse:
      return Tone::kGood;
    case Status::kViolated:
    case Status::kDiffers:
    case Status::kFailed:
    case Status::kDoublyExponential:
      return Tone::kBad;
    case Status::kWarning:
    case Status::kExponential:
    case Status::kIrregular:
      return Tone::kWarning;
    default:
      return Tone::kNeutral;
  }
}

std::string_view words_of(Question question) {
  switch (question) {
    case Question::kCollapses:
      return "What collapses, and where?";
    case Question::kPrevents:
      return "What prevents it?";
    case Question::kSpeed:
      return "How fast is it?";
    case Question::kPaths:
      return "Which paths carry the output?";
    case Question::kTasks:
      return "Do short paths do the task?";
    case Question::kTheory:
      return "Does the theory apply?";
    case Question::kLowRank:
      return "Is attention of low rank?";
    case Question::kSketches:
      return "Does Johnson-Lindenstrauss give it cheaply?";
    case Question::kAgrees:
      return "Does it agree with the paper?";
  }
  return "";
}

}  // namespace rankfall
