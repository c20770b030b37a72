// The makers of the optimizers that come with the library; registry.cpp has their rows.
#pragma once

#include <memory>

#include "sharpen/select/select.hpp"
#include "sharpen/solve/optimizer.hpp"

namespace sharpen::solve {

// At most k names by `which` (select.hpp).
std::unique_ptr<Optimizer> make_selecting(select::Optimizer which,
                                          const OptimizerSettings& settings);
// baseline/mssrm.hpp, baseline/sdr.hpp.
std::unique_ptr<Optimizer> make_mssrm(const OptimizerSettings& settings);
std::unique_ptr<Optimizer> make_mssrm_long(const OptimizerSettings& settings);
std::unique_ptr<Optimizer> make_sdr(const OptimizerSettings& settings);
// select/proof.hpp.
std::unique_ptr<Optimizer> make_pairs(const OptimizerSettings& settings);
std::unique_ptr<Optimizer> make_exact(const OptimizerSettings& settings);
// 1/n of wealth in each of the n assets, fully invested.
std::unique_ptr<Optimizer> make_equal(const OptimizerSettings& settings);

}  // namespace sharpen::solve
