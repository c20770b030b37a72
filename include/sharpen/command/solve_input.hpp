// What `sharpen solve` reads: a signal mu and a risk model over named assets, from a panel of
// prices or returns, from given moments, or from the built-in example.
#pragma once

#include <cstdint>

#include "sharpen/base/log.hpp"
#include "sharpen/base/settings.hpp"
#include "sharpen/base/threads.hpp"
#include "sharpen/solve/solve.hpp"

namespace sharpen::command {

using solve::SolveInput;
using solve::Window;

// Names that --demo holds unless -k says otherwise: 10% of twelve would be one.
constexpr std::int64_t kDemoNames = 4;

// Throws InputError for what contradicts itself whatever the files hold; nothing given is fine.
void check_solve_settings(const settings::Values& values);

SolveInput read_solve_input(const settings::Values& values, const Threads& threads, const Log& log);

}  // namespace sharpen::command
