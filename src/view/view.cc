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

std::string_view reason_words(Reason reason) {
  switch (reason) {
    case Reason::kNone:
      break;
    case Reason::kDifferentKeys:
      return "the mask lets tokens see different keys";
    case Reason::kPositions:
      return "the logits depend on positions";
    case Reason::kLogitRange:
      return "logits within a row differ by more than the theorem allows";
    case Reason::kSkip:
      return "there is a skip connection";
    case Reason::kNorm:
      return "there is a norm";
    case Reason::kMlp:
      return "there is an MLP";
    case Reason::kNoMlp:
      return "there is no MLP";
    case Reason::kSeveralHeads:
      return "there is more than one head";
    case Reason::kGatedMlp:
      return "a gated MLP is not Lipschitz";
    case Reason::kSkipMayCancel:
      return "attention may cancel the skip";
    case Reason::kHeadNorm:
      return "queries and keys are normed";
    case Reason::kSoftCap:
      return "the logits are capped";
    case Reason::kParallelMlp:
      return "an MLP stands beside attention";
    case Reason::kSharedWeights:
      return "sub-layers with a skip share their weights";
    case Reason::kNoSkip:
      return "there is no skip connection";
    case Reason::kNoWeights:
      return "an activation acts on the hidden state itself, without weights";
    case Reason::kFixedWeights:
      return "weights are drawn with a mean that is not zero";
    case Reason::kLowRank:
      return "its attention is a product of thin matrices";
  }
  return "";
}

std::string_view words_of(Question question) {
  switch (question) {
    case Question::kCollapses:
      return "What collapses, and where?";
    case Question::kPredicted:
      return "What does theory predict?";
    case Question::kPrevents:
      return "What prevents it?";
    case Question::kSpeed:
      return "How fast is it?";
    case Question::kPaths:
      return "Which paths carry the output?";
    case Question::kLengths:
      return "How long are the paths?";
    case Question::kTasks:
      return "Do short paths do the task?";
    case Question::kRecurrence:
      return "Does the recurrence collapse?";
    case Question::kTraining:
      return "What did training reach?";
    case Question::kTheory:
      return "Does the theory apply?";
    case Question::kLowRank:
      return "Is attention of low rank?";
    case Question::kSketches:
      return "Does Johnson-Lindenstrauss give it cheaply?";
    case Question::kCosts:
      return "What does it cost?";
    case Question::kAgrees:
      return "Does it agree with the paper?";
    case Question::kReference:
      return "Does it agree with the reference?";
    case Question::kTokens:
      return "How is the text tokenised?";
    case Question::kMachine:
      return "Are results reproducible here?";
  }
  return "";
}

}  // namespace rankfall
