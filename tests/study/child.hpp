// Work in a process of its own, which can be refused things, or be killed.
#pragma once

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sharpen::study {

class Child {
 public:
  // `work(say)`: what it says can be heard. Whatever it throws, it says, and ends with 1.
  template <class Work>
  explicit Child(const Work& work) {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ < 0) throw std::runtime_error("no process");
    if (process_ == 0) {
      ::close(ends[0]);
      const auto say = [&](std::string_view text) {
        if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(3);
      };
      int result = 0;
      try {
        work(say);
      } catch (const std::exception& error) {
        say(error.what());
        result = 1;
      }
      ::_exit(result);
    }
    ::close(ends[1]);
    heard_from_ = ends[0];
  }
  ~Child() {
    kill();
    end();
    ::close(heard_from_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void kill() {
    if (process_ > 0) ::kill(process_, SIGKILL);
  }
  // Waits for one byte; 0 once the child has ended.
  char hear() {
    char byte = 0;
    return ::read(heard_from_, &byte, 1) == 1 ? byte : '\0';
  }
  std::string hear_all() {
    std::string heard;
    while (const char byte = hear()) heard.push_back(byte);
    return heard;
  }
  int end() {  // exit status; -1 if it was killed
    if (process_ <= 0) return -1;
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_ = 0;
  int heard_from_ = -1;
};

// From now on the process is killed in the call of the kernel with which SQLite would change a file
// for the time after `calls`, a write half done.
inline void die_in_a_call_of_sqlite(int calls) {
  static int left;
  left = calls;
  const auto set = [](const char* name, auto* call) {
    sqlite3_vfs* const files = sqlite3_vfs_find(nullptr);
    files->xSetSystemCall(files, name, reinterpret_cast<sqlite3_syscall_ptr>(call));
  };
  ssize_t (*write)(int, const void*, std::size_t, off_t) = [](int file, const void* bytes,
                                                              std::size_t count, off_t offset) {
    const bool dies = left-- == 0;
    const ssize_t written = ::pwrite(file, bytes, dies ? count / 2 : count, offset);
    if (dies) ::raise(SIGKILL);
    return written;
  };
  int (*remove)(const char*) = [](const char* file) {
    if (left-- == 0) ::raise(SIGKILL);
    return ::unlink(file);
  };
  int (*cut)(int, off_t) = [](int file, off_t size) {
    if (left-- == 0) ::raise(SIGKILL);
    return ::ftruncate(file, size);
  };
  set("pwrite", write);
  set("pwrite64", write);
  set("unlink", remove);
  set("ftruncate", cut);
}

}  // namespace sharpen::study
