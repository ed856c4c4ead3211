/* The n-th call that changes a file below FAULT_UNDER fails with FAULT_ERRNO, or is where the process is killed if that is 0. Loaded before a program with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int counted;

static int fails(const char *path) {
  const char *under = getenv("FAULT_UNDER"), *at = getenv("FAULT_AT");
  if (!under || !at || !path || strncmp(path, under, strlen(under)) != 0) return 0;
  if (__sync_add_and_fetch(&counted, 1) != atoi(at)) return 0;
  errno = atoi(getenv("FAULT_ERRNO"));
  if (errno == 0) raise(SIGKILL);
  return 1;
}

static int failsOn(int fd) {
  char link[64], path[4096];
  int kept = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = kept;
  if (length < 0) return 0;
  path[length] = 0;
  return fails(path);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count) { return failsOn(fd) ? -1 : NEXT(write)(fd, bytes, count); }
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) { return failsOn(fd) ? -1 : NEXT(pwrite64)(fd, bytes, count, at); }
int fsync(int fd) { return failsOn(fd) ? -1 : NEXT(fsync)(fd); }
int fdatasync(int fd) { return failsOn(fd) ? -1 : NEXT(fdatasync)(fd); }
int ftruncate64(int fd, off64_t length) { return failsOn(fd) ? -1 : NEXT(ftruncate64)(fd, length); }
int rename(const char *from, const char *to) { return fails(to) ? -1 : NEXT(rename)(from, to); }
int link(const char *from, const char *to) { return fails(to) ? -1 : NEXT(link)(from, to); }
int fchmod(int fd, mode_t mode) { return failsOn(fd) ? -1 : NEXT(fchmod)(fd, mode); }
int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return (flags & O_CREAT) && fails(path) ? -1 : NEXT(open64)(path, flags, mode);
}
