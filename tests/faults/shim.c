// Faults on demand: preloaded, this makes one chosen file operation below one folder go wrong.
//
// `fault_arm(folder, reading, at, what)` chooses: operations that read or that write, which one of
// them (from 1; 0 is every one), and what befalls it. `fault_seen()` tells how many there were.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { KILL = -1, TEAR = -2, SHORT = -3 };  // others are values of errno

static char folder[4096];
static int armed, reading, chosen, fault, seen, again;

void fault_arm(const char *below, int reads, int at, int what) {
    snprintf(folder, sizeof folder, "%s", below);
    reading = reads, chosen = at, fault = what, seen = 0, again = 0, armed = 1;
}
int fault_seen(void) { return seen; }

static int below(const char *path) {
    return path && strncmp(path, folder, strlen(folder)) == 0;
}
static int file_below(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

enum { MOVES = 1, WAITS = 2 };  // moves bytes; may be interrupted

// 1: fail with errno; 2: do half of it; 3: do half of it, then die; 0: go on.
static int strikes(int reads, int touched, int kind) {
    if (!armed || reads != reading || !touched) return 0;
    if (fault == EINTR && !(kind & WAITS)) return 0;
    ++seen;
    const int halves = kind & MOVES;
    if (chosen && seen != chosen) return 0;
    if (fault == KILL || (fault == TEAR && !halves)) kill(getpid(), SIGKILL);
    if (fault == TEAR) return 3;
    if (fault == SHORT) return halves ? 2 : 0;
    if (fault == EINTR && (again = !again) == 0) return 0;  // every other call, or none would end
    errno = fault;
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
static size_t half(size_t bytes) { return bytes > 1 ? bytes / 2 : bytes; }

#define MOVING(result, name, reads, constant, tail, ...)                       \
    result name(int fd, constant void *data, size_t bytes tail) {             \
        const int strike = strikes(reads, armed && file_below(fd), MOVES | WAITS);        \
        if (strike == 1) return -1;                                           \
        const result done = NEXT(name)(fd, data, strike ? half(bytes) : bytes __VA_ARGS__); \
        if (strike == 3) kill(getpid(), SIGKILL);                             \
        return done;                                                          \
    }
#define AT , off_t at
MOVING(ssize_t, read, 1, , )
MOVING(ssize_t, write, 0, const, )
MOVING(ssize_t, pread, 1, , AT, , at)
MOVING(ssize_t, pread64, 1, , AT, , at)
MOVING(ssize_t, pwrite, 0, const, AT, , at)
MOVING(ssize_t, pwrite64, 0, const, AT, , at)

#define OPENS(name)                                                                   \
    int name(const char *path, int flags, ...) {                                      \
        va_list more;                                                                 \
        va_start(more, flags);                                                        \
        const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
        va_end(more);                                                                 \
        const int writes = (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;              \
        if (strikes(!writes, armed && below(path), WAITS)) return -1;                     \
        return NEXT(name)(path, flags, mode);                                         \
    }
OPENS(open)
OPENS(open64)

#define ON_FILE(name)                                                \
    int name(int fd) {                                               \
        return strikes(0, armed && file_below(fd), WAITS) ? -1 : NEXT(name)(fd); \
    }
ON_FILE(fsync)
ON_FILE(fdatasync)

#define ON_PATH(name)                                                   \
    int name(const char *path) {                                        \
        return strikes(0, armed && below(path), 0) ? -1 : NEXT(name)(path); \
    }
ON_PATH(unlink)
ON_PATH(rmdir)

int mkdir(const char *path, mode_t mode) {
    return strikes(0, armed && below(path), 0) ? -1 : NEXT(mkdir)(path, mode);
}
int rename(const char *from, const char *to) {
    return strikes(0, armed && below(to), 0) ? -1 : NEXT(rename)(from, to);
}
int unlinkat(int fd, const char *path, int flags) {
    return strikes(0, armed && file_below(fd), 0) ? -1 : NEXT(unlinkat)(fd, path, flags);
}
int ftruncate(int fd, off_t size) {
    return strikes(0, armed && file_below(fd), 0) ? -1 : NEXT(ftruncate)(fd, size);
}
int ftruncate64(int fd, off64_t size) {
    return strikes(0, armed && file_below(fd), 0) ? -1 : NEXT(ftruncate64)(fd, size);
}
int chmod(const char *path, mode_t mode) {
    return strikes(0, armed && below(path), 0) ? -1 : NEXT(chmod)(path, mode);
}
void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    if (strikes(1, armed && fd >= 0 && file_below(fd), 0)) return MAP_FAILED;
    return NEXT(mmap)(at, size, protection, flags, fd, offset);
}
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset) {
    if (strikes(1, armed && fd >= 0 && file_below(fd), 0)) return MAP_FAILED;
    return NEXT(mmap64)(at, size, protection, flags, fd, offset);
}
// A failed close has closed the file all the same.
int close(int fd) {
    const int flags = armed ? fcntl(fd, F_GETFL) : 0;
    const int strike = strikes(0, armed && (flags & O_ACCMODE) != O_RDONLY && file_below(fd), 0);
    const int reason = errno, done = NEXT(close)(fd);
    if (strike == 1) errno = reason;
    return strike == 1 ? -1 : done;
}
