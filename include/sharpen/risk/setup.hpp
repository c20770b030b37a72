// Setting up many samples while somebody waits: the functions of risk.hpp, to the same bits, with
// word of how far they are, and a way to give up between samples.
#pragma once

#include <functional>
#include <stdexcept>

#include "sharpen/risk/risk.hpp"

namespace sharpen::risk {

// Called by one thread at a time.
struct SetupControl {
  std::function<void(Index samples_done, Index samples)> progress = {};
  std::function<bool()> stop = {};  // asked before every sample; true: give up, throw Stopped
};

class Stopped : public std::runtime_error {
 public:
  Stopped() : std::runtime_error("interrupted") {}
};

std::unique_ptr<Risk> from_windows(ConstMat returns, Index lookback, std::span<const Index> ends,
                                   const RiskSettings& settings, const Threads& threads,
                                   const SetupControl& control);
std::unique_ptr<Risk> from_covariances(std::span<const ConstMat> Sigmas,
                                       const RiskSettings& settings, const Threads& threads,
                                       const SetupControl& control);

}  // namespace sharpen::risk
