#include "studies/doctor/doctor.h"

#include <cfenv>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "base/machine.h"
#include "base/random.h"
#include "io/sha256.h"
#include "linalg/blas_info.h"
#include "result/manifest.h"
#include <rankfall/forward.h>
#include <rankfall/model.h>
#include <rankfall/process.h>
#include <rankfall/version.h>

namespace rankfall {
namespace {

// Of 4,096 normal numbers of seed 0 and the name "doctor": the same on every machine, or something is wrong.
constexpr std::string_view kDrawnDigest = "351e93de412c73f27f4ae0371b059d28644afde2ea557d52dbd89ff729fdcb63";

class Doctor {
 public:
  Result examine() {
    build();
    machine();
    check("reproducible", arithmetic(),
          "bit for bit on this machine, whatever the number of threads; on others to rounding, and bit for bit where "
          "OpenBLAS has the same version and kernel and rankfall the same build. Every result's manifest names them",
          "not assured: see what failed above");
    return std::move(result_);
  }

 private:
  Row& say(const char* what, std::string words, Status status = Status::kNone) {
    return result_.rows.emplace_back(
        Row{.metric = fmt::format("doctor.{}", what), .status = status, .verdict = std::move(words)});
  }

  bool check(const char* what, bool passed, std::string words, std::string otherwise) {
    say(what, passed ? std::move(words) : std::move(otherwise), passed ? Status::kPassed : Status::kFailed);
    return passed;
  }

  void build() {
    say("version", RANKFALL_VERSION);
#ifdef __clang__
    const std::string compiler = "clang " __clang_version__;
#else
    const std::string compiler = "g++ " __VERSION__;
#endif
#ifdef RANKFALL_DCHECKS
    const char* assertions = "assertions on";
#else
    const char* assertions = "assertions off";
#endif
    say("build", fmt::format("{}, {}, {}", compiler, assertions, vectors()));
    say("libraries", fmt::format("Eigen {}.{}.{}, fmt {}.{}.{}", EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
                                 EIGEN_MINOR_VERSION, FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100));
    say("blas", blas_description());
    const std::string choice = blas_choice();
    say("blas_choice", fmt::format("{}, chosen by {}", blas_kernel(), choice),
        choice == "OPENBLAS_CORETYPE" ? Status::kWarning : Status::kNone);
    if (const std::string better = loaded_blas_kernel().better; !better.empty()) {
      say("blas_kernel",
          fmt::format("OpenBLAS takes its {} kernel, though this CPU runs {} several times faster: set "
                      "OPENBLAS_CORETYPE={} in the environment",
                      blas_kernel(), better, better),
          Status::kWarning);
    }
  }

  // The widest that this file was compiled for; OpenBLAS chooses for itself.
  static const char* vectors() {
#if defined(__AVX512F__)
    return "AVX-512";
#elif defined(__AVX2__)
    return "AVX2";
#elif defined(__AVX__)
    return "AVX";
#elif defined(__ARM_NEON)
    return "NEON";
#else
    return "SSE2 or none";
#endif
  }

  void machine() {
    say("cpu", text_of(result_.manifest, "cpu"));
    say("cores", fmt::format("{} of {} may be used", cores_allowed(), cores_of_machine())).mean = cores_allowed();
    say("threads", fmt::format("{}", threads())).mean = threads();
    const MemoryLimits memory = memory_limits();
    const auto gigabytes = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e9; };
    std::string words =
        fmt::format("{:.1f} GB, {:.1f} GB available", gigabytes(memory.physical), gigabytes(memory.available));
    if (memory.address_space)
      words += fmt::format(", {:.1f} GB of addresses (ulimit -v)", gigabytes(*memory.address_space));
    if (memory.group) words += fmt::format(", {:.1f} GB for this control group", gigabytes(*memory.group));
    say("memory", std::move(words)).mean = static_cast<double>(memory.allowed());
  }

  bool arithmetic() {
    bool sound = true;
    std::vector<float> drawn(4096);
    fill_normal(random_key(0, "doctor"), 0, drawn, 1);
    sound &= check("random_numbers", sha256(std::as_bytes(std::span(drawn))) == kDrawnDigest,
                   "the same bits as on every machine", "not the bits that other machines draw: this build is faulty");
    sound &= check("rounding", std::fegetround() == FE_TONEAREST, "to nearest",
                   "the process does not round to nearest: something set another mode");
    volatile double tiny = std::numeric_limits<double>::min();
    tiny = tiny / 4;
    sound &= check("subnormal_numbers", tiny != 0, "kept",
                   "flushed to zero: a library of this process was built with -ffast-math");
    sound &= check("threads_agree", threads_agree(), fmt::format("1 and {} threads give the same bits", several()),
                   "results depend on the number of threads: please report this");
    return sound;
  }

  static int several() { return std::max(threads(), 3); }

  static bool threads_agree() {
    const Model model = open_model("san:layers=2,heads=3,dim=210,mlp=400,vocab=100", 0);
    const auto samples = random_samples(model.network, 0, 2, 150);
    const int before = threads();
    set_threads(1);
    const auto one = forward<float>(model.network, *model.weights, samples, {});
    set_threads(several());
    const auto many = forward<float>(model.network, *model.weights, samples, {});
    set_threads(before);
    return one == many;
  }

  Result result_{"doctor", base_manifest(), {}};
};

}  // namespace

BlasKernel loaded_blas_kernel() { return {blas_kernel(), better_kernel(blas_kernel(), vector_units())}; }

Result doctor() { return Doctor().examine(); }

}  // namespace rankfall
