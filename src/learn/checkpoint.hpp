// The state of a member between two epochs, kept in a file so that a training that was killed can
// go on to the bits it would have had.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "learn/member.hpp"

namespace sharpen::learn {

// The settings as model files hold them: equal bytes for equal settings.
std::string settings_bytes(const TrainSettings& settings);

// One number for all that decides a training: settings and data. A checkpoint of another training
// is not gone on with.
std::uint64_t training_identity(const market::Panel& returns, const TrainSettings& settings,
                                double periods_per_year, std::span<const char> members = {});

std::filesystem::path checkpoint_file(const std::filesystem::path& folder, Index member);

// A finished member is kept without what only further epochs would need. `cpu`: the kind that it
// was trained on.
std::string checkpoint_bytes(std::uint64_t identity, const MemberState& state, bool finished,
                             std::string_view cpu);

// None if there is no such file. Throws InputError for a file that is damaged, or of another
// training.
std::optional<MemberState> read_checkpoint(const std::filesystem::path& file,
                                           std::uint64_t identity, const Shape& shape);

}  // namespace sharpen::learn
