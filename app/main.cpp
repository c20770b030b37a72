// The program: reads the command line, runs one command, turns errors into exit codes.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "address_space.hpp"
#include "command_line.hpp"
#include "commands.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "sharpen/base/build_info.hpp"
#include "sharpen/base/error.hpp"
#include "sharpen/command/json_page.hpp"

namespace sharpen::app {
namespace {

std::string version_text(bool json) {
  const BuildInfo info = build_info();
  if (json) return command::version_json();
  return fmt::format("sharpen {}\ncompiler {} ({})\nBLAS {}\n", info.version, info.compiler,
                     info.build_type, info.blas);
}

// More threads than there is room for would wait for their buffers for ever.
void run_in_its_room(settings::Values values) {
  const std::optional<std::int64_t> most = fit_into_address_space();
  if (most && values.integer("threads") > *most) values.set_flag("threads", std::to_string(*most));
  run_command(values);
}

void run(const std::vector<std::string>& arguments) {
  const Request request = read_command_line(arguments);
  switch (request.kind) {
    case Request::Kind::print: return print(request.text);
    case Request::Kind::version: return print(version_text(request.json));
    case Request::Kind::command: return run_in_its_room(*request.values);
  }
}

int exit_code_of(const std::vector<std::string>& arguments) {
  try {
    run(arguments);
    return kSuccess;
  } catch (const ReaderGone&) {
    return kSuccess;
  } catch (const InputError& error) {
    print_error(error.what());
    return kUsage;
  } catch (const std::bad_alloc&) {
    print_error("not enough memory for this problem; use fewer assets or a shorter window");
    return kFailure;
  } catch (const std::exception& error) {
    print_error(error.what());
    return kFailure;
  }
}

// Where not even a message can be made, or a library does not expect that memory ends.
void end_without_memory() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kSaid = "sharpen: error: not enough memory\n";
    if (::write(STDERR_FILENO, kSaid.data(), kSaid.size()) >= 0) ::_exit(kFailure);
  } catch (...) {
  }
  std::abort();
}

}  // namespace
}  // namespace sharpen::app

int main(int argc, char** argv) {
  sharpen::app::expect_signals();
  // A closed pipe is for print() to see, not a death in the middle of writing a file.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on files is an error of the write, like a full disk
  std::set_terminate(sharpen::app::end_without_memory);
  return sharpen::app::exit_code_of({argv + (argc > 0 ? 1 : 0), argv + argc});
}
