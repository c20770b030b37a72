// A library to be preloaded (LD_PRELOAD) into the program: it ends or fails the n-th of certain
// calls, so that a test can cut the program off at every step there is.
//
//   SHARPEN_FAULT=CALLS:N:WHAT   CALLS: names with commas between them, "all" for every one below
//                                but malloc; N: which of them all, from 0, and with "+" all after
//                                it, too; WHAT: "kill" (SIGKILL, before the call), "half" (a write
//                                half done, then SIGKILL) or a number of errno
//   SHARPEN_NO_EXCHANGE=1        renameat2 is what it is on old kernels and some file systems:
//   EINVAL SHARPEN_CALLS=FILE           gets a line for every call: its name, and a path if it has
//   one
//
// Calls that only look (an open without O_CREAT or O_TMPFILE, a write to standard output) go by.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace {

enum class Verdict { pass, fail, half };

struct Plan {
  const char* calls = getenv("SHARPEN_FAULT");
  const char* log = getenv("SHARPEN_CALLS");
  long at = -1;
  bool after = false;
  int error = 0;  // 0: kill
  bool half = false;
  Plan() {
    const char* colon = calls == nullptr ? nullptr : strchr(calls, ':');
    if (colon == nullptr) return;
    char* end = nullptr;
    at = strtol(colon + 1, &end, 10);
    if (*end == '+') {
      after = true;
      ++end;
    }
    if (*end != ':') return;
    half = strcmp(end + 1, "half") == 0;
    error = atoi(end + 1);
  }
  bool names(const char* call) const {
    if (at < 0) return false;
    if (strncmp(calls, "all:", 4) == 0) return strcmp(call, "malloc") != 0;
    const size_t length = strlen(call);
    for (const char* at_name = calls; *at_name != ':';) {
      const size_t size = strcspn(at_name, ",:");
      if (size == length && strncmp(at_name, call, size) == 0) return true;
      at_name += size + (at_name[size] == ',' ? 1 : 0);
    }
    return false;
  }
};

const Plan& plan() {
  static const Plan made;
  return made;
}

[[noreturn]] void die() {
  for (;;) kill(getpid(), SIGKILL);
}

Verdict verdict(const char* call, const char* path = "") {
  if (plan().log != nullptr && strcmp(call, "malloc") != 0) {
    char line[512];
    const int length = snprintf(line, sizeof line, "%s %s\n", call, path);
    const long file =
        syscall(SYS_openat, AT_FDCWD, plan().log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    syscall(SYS_write, file, line, length);
    syscall(SYS_close, file);
  }
  if (!plan().names(call)) return Verdict::pass;
  static long seen = 0;
  const long now = __atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
  if (now < plan().at || (now > plan().at && !plan().after)) return Verdict::pass;
  if (plan().half) return Verdict::half;
  if (plan().error == 0) die();
  errno = plan().error;
  return Verdict::fail;
}

template <class Call>
Call* next(Call*, const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}
// The function that would have been called without us.
#define NEXT(name) static auto* const real = next(&::name, #name)

bool changes(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

}  // namespace

extern "C" {

#define PATH_CALL(type, name, failed, path, parameters, arguments) \
  type name parameters noexcept {                                  \
    NEXT(name);                                                    \
    if (verdict(#name, path) == Verdict::fail) return failed;      \
    return real arguments;                                         \
  }

PATH_CALL(int, rename, -1, b, (const char* a, const char* b), (a, b))
PATH_CALL(int, link, -1, b, (const char* a, const char* b), (a, b))
PATH_CALL(int, linkat, -1, b, (int f, const char* a, int g, const char* b, int flags),
          (f, a, g, b, flags))
PATH_CALL(int, unlink, -1, a, (const char* a), (a))
PATH_CALL(int, unlinkat, -1, a, (int f, const char* a, int flags), (f, a, flags))
PATH_CALL(int, remove, -1, a, (const char* a), (a))
PATH_CALL(int, rmdir, -1, a, (const char* a), (a))
PATH_CALL(int, mkdir, -1, a, (const char* a, mode_t mode), (a, mode))
PATH_CALL(int, ftruncate, -1, "", (int f, off_t size), (f, size))
PATH_CALL(int, ftruncate64, -1, "", (int f, off64_t size), (f, size))
PATH_CALL(char*, mkdtemp, nullptr, a, (char* a), (a))
#undef PATH_CALL

int renameat2(int f, const char* a, int g, const char* b, unsigned flags) noexcept {
  NEXT(renameat2);
  if (getenv("SHARPEN_NO_EXCHANGE") != nullptr) {
    errno = EINVAL;
    return -1;
  }
  return verdict("renameat2", b) == Verdict::fail ? -1 : real(f, a, g, b, flags);
}

int fsync(int f) {
  NEXT(fsync);
  return verdict("fsync") == Verdict::fail ? -1 : real(f);
}

int fdatasync(int f) {
  NEXT(fdatasync);
  return verdict("fdatasync") == Verdict::fail ? -1 : real(f);
}

#define OPEN_CALL(name, before, first)                                       \
  int name(before const char* path, int flags, ...) {                        \
    NEXT(name);                                                              \
    va_list rest;                                                            \
    va_start(rest, flags);                                                   \
    const mode_t mode = changes(flags) ? va_arg(rest, mode_t) : 0;           \
    va_end(rest);                                                            \
    if (changes(flags) && verdict("open", path) == Verdict::fail) return -1; \
    return real(first path, flags, mode);                                    \
  }
#define COMMA ,
OPEN_CALL(open, , )
OPEN_CALL(open64, , )
OPEN_CALL(openat, int f COMMA, f COMMA)
OPEN_CALL(openat64, int f COMMA, f COMMA)
#undef OPEN_CALL

#define WRITE_CALL(name, after, last)                                                  \
  ssize_t name(int f, const void* bytes, size_t count after) {                         \
    NEXT(name);                                                                        \
    const Verdict now = f > STDERR_FILENO ? verdict("write") : Verdict::pass;          \
    if (now == Verdict::fail) return -1;                                               \
    const ssize_t put = real(f, bytes, now == Verdict::half ? count / 2 : count last); \
    if (now == Verdict::half) die();                                                   \
    return put;                                                                        \
  }
WRITE_CALL(write, , )
WRITE_CALL(pwrite, COMMA off_t at, COMMA at)
WRITE_CALL(pwrite64, COMMA off64_t at, COMMA at)
#undef WRITE_CALL
#undef COMMA

size_t fwrite(const void* bytes, size_t size, size_t count, FILE* file) {
  NEXT(fwrite);
  const Verdict now = fileno(file) > STDERR_FILENO ? verdict("write") : Verdict::pass;
  if (now == Verdict::fail) return 0;
  const size_t put = real(bytes, size, now == Verdict::half ? count / 2 : count, file);
  if (now == Verdict::half) {
    fflush(file);
    die();
  }
  return put;
}

// What comes before main() cannot answer. main() begins with its signals.
bool started = false;
sighandler_t signal(int number, sighandler_t handler) noexcept {
  NEXT(signal);
  started = true;
  return real(number, handler);
}

void* __libc_malloc(size_t size);
void* malloc(size_t size) {
  if (started && plan().names("malloc") && verdict("malloc") == Verdict::fail) return nullptr;
  return __libc_malloc(size);
}

}  // extern "C"
