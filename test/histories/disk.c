/*
 * A disk that forgets what was not synced: a layer between a process and the C library, over files in memory (tmpfs).
 * SQLite's own file system code and Node's stand on it as they are, because both call the library for every write.
 *
 * Preloaded (LD_PRELOAD) it sees each call that changes a file below its root; loaded once more as an extension of
 * SQLite, which gives the same instance of it, it is told by SQL functions (disk_*) when the power goes, when the
 * process is killed, and which call is to fail.
 *
 * Of each file it keeps what a power failure may bring back: the sectors that were written since they were last synced,
 * as they were before, and the size. Of each directory, in order: what was created, renamed and removed in it since it
 * was last synced.
 *
 * One thread only: there are no locks here.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "sqlite3ext.h"
SQLITE_EXTENSION_INIT1

#define SECTOR 512
#define FDS 4096
#define FILES 2048
#define NAMES 1024
#define PATH_BYTES 256

/* ---- chance ---- */

static uint64_t chance_state = 1;

/* splitmix64 */
static uint64_t chance(void) {
  uint64_t z = (chance_state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

/* ---- the library ---- */

#define REAL(type, name, ...) static type (*real_##name)(__VA_ARGS__)
REAL(int, open64, const char *, int, ...);
REAL(int, openat64, int, const char *, int, ...);
REAL(int, close, int);
REAL(ssize_t, read, int, void *, size_t);
REAL(ssize_t, pread64, int, void *, size_t, off64_t);
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
REAL(int, ftruncate64, int, off64_t);
REAL(int, fsync, int);
REAL(int, fdatasync, int);
REAL(int, unlink, const char *);
REAL(int, rename, const char *, const char *);
REAL(int, link, const char *, const char *);
REAL(int, mkdir, const char *, mode_t);
REAL(int, rmdir, const char *);
REAL(int, fcntl64, int, int, ...);
REAL(ssize_t, copy_file_range, int, off64_t *, int, off64_t *, size_t, unsigned);
REAL(int, statfs64, const char *, struct statfs64 *);

__attribute__((constructor)) static void bind_library(void) {
#define BIND(name) real_##name = dlsym(RTLD_NEXT, #name)
  BIND(open64), BIND(openat64), BIND(close), BIND(read), BIND(pread64), BIND(pwrite64), BIND(ftruncate64), BIND(fsync);
  BIND(fdatasync), BIND(unlink), BIND(rename), BIND(link), BIND(mkdir), BIND(rmdir), BIND(fcntl64), BIND(copy_file_range);
  BIND(statfs64);
}

/* ---- what is known ---- */

/* A file, by its inode. `fd` is a descriptor of our own, which survives its names. */
typedef struct {
  ino_t ino;
  int fd;
  off64_t durable_size;
  int is_dirty;
  uint8_t **before; /* of each sector that was written since the last sync: its bytes then */
  uint8_t *is_stuck; /* a sync failed: the sector is no longer dirty to the kernel, so none after it writes it */
  size_t sectors, first, end; /* those between `first` and `end` may be dirty */
} File;

typedef struct {
  File *file; /* a file below the root */
  char *directory; /* or a directory there */
  int is_random; /* or /dev/urandom */
  unsigned life; /* of the process that opened it */
  int owed; /* the error of a sync through another descriptor; its own next one is told */
} Descriptor;

/* A change of a directory that is not durable yet. */
typedef struct {
  enum { CREATED, REMOVED, RENAMED, MADE } kind;
  char directory[PATH_BYTES];
  char path[PATH_BYTES];
  char to[PATH_BYTES];
  int kept; /* where the file that lost its name is kept; 0: none */
  int is_decided, is_lost; /* when the power goes */
} Change;

static char root[PATH_BYTES], attic[PATH_BYTES];
static size_t root_bytes;
static Descriptor descriptors[FDS];
static File files[FILES];
static int file_count;
static Change changes[NAMES];
static int change_count, kept_count;
static unsigned life = 1;
static long long crash_in; /* calls with an effect until the process is killed; 0: any */
static int crash_at_sync; /* of these only syncs count */
static int is_dead; /* the process was killed, and what it still does has no effect */
static uint64_t digest; /* of every call that had an effect, and of the bytes that it wrote */
static long long room = -1; /* bytes that files may still grow by; -1: any */

static void mix(const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) digest = (digest ^ bytes[i]) * 0x100000001b3ull;
}

static void note(const char *what, const char *path, long long a, long long b) {
  char line[PATH_BYTES * 2];
  int n = snprintf(line, sizeof line, "%s %s %lld %lld", what, path == NULL ? "" : path + root_bytes, a, b);
  mix((const uint8_t *)line, n);
}

static int is_below(const char *path) {
  return root_bytes > 0 && strncmp(path, root, root_bytes) == 0 && strncmp(path, attic, strlen(attic)) != 0;
}

static void directory_of(const char *path, char *directory) {
  const char *slash = strrchr(path, '/');
  snprintf(directory, PATH_BYTES, "%.*s", (int)(slash - path), path);
}

/* ---- faults ---- */

enum { WRITE, SYNC, OPEN, NAME, LOCK, OPS };
static const char *const OP_NAMES[OPS] = {"write", "sync", "open", "name", "lock"};
/* nth: calls until it fails; 0: never. left: how many fail then. */
static struct {
  int nth, left, error, is_short;
} faults[OPS];

/* @returns the error that this call is to fail with; 0: none. */
static int fault(int op) {
  int counts = crash_at_sync ? op == SYNC : op == WRITE || op == SYNC || op == NAME;
  if (counts && crash_in > 0 && --crash_in == 0) is_dead = 1;
  if (is_dead || faults[op].nth == 0 || --faults[op].nth > 0) return 0;
  if (--faults[op].left > 0) faults[op].nth = 1;
  return faults[op].error;
}

/* ---- files ---- */

static File *file_of(int fd) {
  struct stat64 stat;
  if (fstat64(fd, &stat) != 0 || !S_ISREG(stat.st_mode)) return NULL;
  for (int i = file_count - 1; i >= 0; i--)
    if (files[i].ino == stat.st_ino) return &files[i];
  if (file_count == FILES) abort();
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
  int own = real_open64(self, O_RDWR | O_CLOEXEC);
  if (own < 0) return NULL;
  File *file = &files[file_count++];
  *file = (File){.ino = stat.st_ino, .fd = own, .durable_size = stat.st_size};
  return file;
}

static off64_t size_of(const File *file) {
  struct stat64 stat;
  return fstat64(file->fd, &stat) == 0 ? stat.st_size : 0;
}

/* Keeps what the sectors from `from` to `to` (bytes) hold, before they are written. */
static void keep(File *file, off64_t from, off64_t to) {
  size_t first = from / SECTOR, end = (to + SECTOR - 1) / SECTOR;
  if (end > file->sectors) {
    size_t sectors = end * 2 + 64;
    file->before = realloc(file->before, sectors * sizeof *file->before);
    memset(file->before + file->sectors, 0, (sectors - file->sectors) * sizeof *file->before);
    file->is_stuck = realloc(file->is_stuck, sectors);
    memset(file->is_stuck + file->sectors, 0, sectors - file->sectors);
    file->sectors = sectors;
  }
  if (file->first == file->end) file->first = first, file->end = end;
  if (first < file->first) file->first = first;
  if (end > file->end) file->end = end;
  for (size_t i = first; i < end; i++) {
    file->is_stuck[i] = 0;
    if (file->before[i] != NULL) continue;
    file->before[i] = calloc(1, SECTOR);
    if (real_pread64(file->fd, file->before[i], SECTOR, i * SECTOR) < 0) abort();
  }
  file->is_dirty = 1;
}

/* What was written is durable; also what a failed sync has left behind, if `all`. */
static void forget(File *file, int all) {
  size_t first = 0, end = 0;
  for (size_t i = file->first; i < file->end && file->is_dirty; i++) {
    if (file->before[i] == NULL) continue;
    if (file->is_stuck[i] && !all) {
      if (first == end) first = i;
      end = i + 1;
      continue;
    }
    free(file->before[i]);
    file->before[i] = NULL;
  }
  file->first = first;
  file->end = end;
  file->is_dirty = first < end;
  file->durable_size = size_of(file);
}

/*
 * As the kernel does (mm/filemap.c, lib/errseq.c): after a sync that failed it no longer knows that these sectors are not on the disk.
 * It tells everybody once who had the file open then, at his next sync; and nobody who opens it later.
 */
static void stick(const File *file, int fd, int error) {
  for (size_t i = file->first; i < file->end && file->is_dirty; i++) file->is_stuck[i] = file->before[i] != NULL;
  for (int i = 0; i < FDS; i++)
    if (descriptors[i].file == file) descriptors[i].owed = i == fd ? 0 : error;
}

static ssize_t write_file(File *file, const void *bytes, size_t count, off64_t at) {
  int error = fault(WRITE);
  if (is_dead) return count;
  size_t written = count;
  if (error != 0) {
    if (!faults[WRITE].is_short || count < 2) return errno = error, -1;
    written = count / 2;
  }
  off64_t growth = at + (off64_t)written - size_of(file);
  if (room >= 0 && growth > room) return errno = ENOSPC, -1;
  if (room >= 0 && growth > 0) room -= growth;
  keep(file, at, at + written);
  ssize_t result = real_pwrite64(file->fd, bytes, written, at);
  /* Where the disk is differs from run to run: the note of a backup names it. */
  if (memmem(bytes, written, root, root_bytes - 1) == NULL) mix(bytes, written);
  note("write", NULL, at, written);
  return result;
}

static int truncate_file(File *file, off64_t size) {
  int error = fault(WRITE);
  if (is_dead) return 0;
  if (error != 0) return errno = error, -1;
  off64_t before = size_of(file);
  if (size > before && room >= 0 && size - before > room) return errno = ENOSPC, -1;
  if (room >= 0) room += before - size;
  if (size < before) keep(file, size, before);
  file->is_dirty = 1;
  note("truncate", NULL, size, 0);
  return real_ftruncate64(file->fd, size);
}

/* ---- names ---- */

static Change *change(int kind, const char *path) {
  if (change_count == NAMES) abort();
  Change *one = &changes[change_count++];
  memset(one, 0, sizeof *one);
  one->kind = kind;
  directory_of(path, one->directory);
  snprintf(one->path, PATH_BYTES, "%s", path);
  return one;
}

static void attic_name(int kept, char *path) { snprintf(path, PATH_BYTES, "%.200s/%d", attic, kept); }

/* @returns under which number the file is kept that is about to lose this name; 0: there is none. */
static int keep_name(const char *path) {
  struct stat64 stat;
  if (lstat64(path, &stat) != 0 || !S_ISREG(stat.st_mode)) return 0;
  if (room >= 0) room += stat.st_size;
  char kept[PATH_BYTES];
  attic_name(++kept_count, kept);
  if (real_link(path, kept) != 0) abort();
  return kept_count;
}

static void sync_directory(const char *directory) {
  int left = 0;
  for (int i = 0; i < change_count; i++)
    if (strcmp(changes[i].directory, directory) != 0) changes[left++] = changes[i];
  change_count = left;
}

static void undo(const Change *one) {
  char kept[PATH_BYTES];
  attic_name(one->kept, kept);
  if (one->kind == CREATED) real_unlink(one->path);
  if (one->kind == MADE) real_rmdir(one->path);
  if (one->kind == REMOVED && one->kept > 0) real_link(kept, one->path);
  if (one->kind == RENAMED) {
    real_rename(one->to, one->path);
    if (one->kept > 0) real_link(kept, one->to);
  }
}

/* ---- calls ---- */

/* Nothing of it outlives the processes that share it; and what is mapped must be there, also for one that was killed. */
static int is_shared_memory(const char *path) {
  size_t bytes = strlen(path);
  return bytes > 4 && strcmp(path + bytes - 4, "-shm") == 0;
}

static void opened(int fd, const char *path) {
  if (fd < 0 || fd >= FDS) return;
  Descriptor *one = &descriptors[fd];
  free(one->directory);
  *one = (Descriptor){.life = life};
  if (strcmp(path, "/dev/urandom") == 0 && root_bytes > 0) one->is_random = 1;
  if (!is_below(path)) return;
  struct stat64 stat;
  if (fstat64(fd, &stat) == 0 && S_ISDIR(stat.st_mode)) one->directory = strdup(path);
  else if (!is_shared_memory(path)) one->file = file_of(fd);
}

static int open_path(const char *path, int flags, mode_t mode) {
  int error = 0, is_new = 0;
  if (is_below(path)) {
    struct stat64 stat;
    if ((error = fault(OPEN)) != 0) return errno = error, -1;
    is_new = (flags & O_CREAT) != 0 && lstat64(path, &stat) != 0;
    if (is_new && is_dead) return errno = EIO, -1;
  }
  int fd = real_open64(path, flags & ~O_TRUNC, mode);
  int saved = errno;
  opened(fd, path);
  if (fd >= 0 && is_new) {
    change(CREATED, path);
    note("create", path, 0, 0);
  }
  if (fd >= 0 && (flags & O_TRUNC) != 0) {
    File *file = fd < FDS ? descriptors[fd].file : NULL;
    if (file == NULL) real_ftruncate64(fd, 0);
    else if (!is_dead && size_of(file) > 0) truncate_file(file, 0);
  }
  errno = saved;
  return fd;
}

int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_path(path, flags, mode);
}

int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_path(path, flags, mode);
}

int close(int fd) {
  if (fd >= 0 && fd < FDS) {
    free(descriptors[fd].directory);
    descriptors[fd] = (Descriptor){0};
  }
  return real_close(fd);
}

static File *tracked(int fd) { return fd >= 0 && fd < FDS ? descriptors[fd].file : NULL; }
static int has_ended(int fd) { return descriptors[fd].life != life || is_dead; }

ssize_t read(int fd, void *bytes, size_t count) {
  if (fd >= 0 && fd < FDS && descriptors[fd].is_random) {
    for (size_t i = 0; i < count; i++) ((uint8_t *)bytes)[i] = (uint8_t)chance();
    return count;
  }
  return real_read(fd, bytes, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  File *file = tracked(fd);
  if (file == NULL) return real_pwrite64(fd, bytes, count, at);
  return has_ended(fd) ? (ssize_t)count : write_file(file, bytes, count, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }

ssize_t write(int fd, const void *bytes, size_t count) {
  static ssize_t (*next)(int, const void *, size_t);
  File *file = tracked(fd);
  if (next == NULL) next = dlsym(RTLD_NEXT, "write");
  if (file == NULL) return next(fd, bytes, count);
  if (has_ended(fd)) return count;
  int appends = real_fcntl64(fd, F_GETFL) & O_APPEND;
  off64_t at = appends ? size_of(file) : lseek64(fd, 0, SEEK_CUR);
  ssize_t written = write_file(file, bytes, count, at);
  if (written > 0) lseek64(fd, at + written, SEEK_SET);
  return written;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
  static ssize_t (*next)(int, const struct iovec *, int);
  if (next == NULL) next = dlsym(RTLD_NEXT, "writev");
  if (tracked(fd) == NULL) return next(fd, parts, count);
  ssize_t sum = 0;
  for (int i = 0; i < count; i++) {
    ssize_t written = write(fd, parts[i].iov_base, parts[i].iov_len);
    if (written < 0) return sum > 0 ? sum : -1;
    sum += written;
    if ((size_t)written < parts[i].iov_len) break;
  }
  return sum;
}

int ftruncate64(int fd, off64_t size) {
  File *file = tracked(fd);
  if (file == NULL) return real_ftruncate64(fd, size);
  return has_ended(fd) ? 0 : truncate_file(file, size);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

static int sync_descriptor(int fd, int (*really)(int)) {
  if (fd < 0 || fd >= FDS || (descriptors[fd].file == NULL && descriptors[fd].directory == NULL)) return really(fd);
  if (has_ended(fd)) return 0;
  int error = fault(SYNC);
  if (is_dead) return 0;
  if (error != 0) {
    if (descriptors[fd].file != NULL) stick(descriptors[fd].file, fd, error);
    return errno = error, -1;
  }
  note("sync", descriptors[fd].directory, 0, 0);
  if (descriptors[fd].file != NULL) forget(descriptors[fd].file, 0);
  else sync_directory(descriptors[fd].directory);
  /* What is dirty since then was written all the same. */
  error = descriptors[fd].owed;
  descriptors[fd].owed = 0;
  return error == 0 ? 0 : (errno = error, -1);
}
int fsync(int fd) { return sync_descriptor(fd, real_fsync); }
int fdatasync(int fd) { return sync_descriptor(fd, real_fdatasync); }

static int remove_name(const char *path) {
  if (!is_below(path)) return real_unlink(path);
  int error = fault(NAME);
  if (is_dead) return 0;
  if (error != 0) return errno = error, -1;
  struct stat64 stat;
  if (lstat64(path, &stat) != 0) return errno = ENOENT, -1;
  int kept = keep_name(path);
  change(REMOVED, path)->kept = kept;
  note("remove", path, 0, 0);
  return real_unlink(path);
}
int unlink(const char *path) { return remove_name(path); }
int rmdir(const char *path) { return is_dead && is_below(path) ? 0 : real_rmdir(path); }

int remove(const char *path) {
  struct stat64 stat;
  if (lstat64(path, &stat) == 0 && S_ISDIR(stat.st_mode)) return rmdir(path);
  return remove_name(path);
}

int unlinkat(int directory, const char *name, int flags) {
  static int (*next)(int, const char *, int);
  if (next == NULL) next = dlsym(RTLD_NEXT, "unlinkat");
  char path[PATH_BYTES * 2], self[64];
  if (name[0] == '/') snprintf(path, sizeof path, "%s", name);
  else {
    snprintf(self, sizeof self, "/proc/self/fd/%d", directory);
    ssize_t bytes = readlink(self, path, PATH_BYTES);
    if (bytes < 0) return next(directory, name, flags);
    snprintf(path + bytes, sizeof path - bytes, "/%s", name);
  }
  if (!is_below(path)) return next(directory, name, flags);
  return flags & AT_REMOVEDIR ? rmdir(path) : remove_name(path);
}

int rename(const char *from, const char *to) {
  if (!is_below(to)) return real_rename(from, to);
  int error = fault(NAME);
  if (is_dead) return 0;
  if (error != 0) return errno = error, -1;
  struct stat64 stat;
  if (lstat64(from, &stat) != 0) return errno = ENOENT, -1;
  int kept = keep_name(to);
  Change *one = change(RENAMED, to);
  snprintf(one->path, PATH_BYTES, "%s", from);
  snprintf(one->to, PATH_BYTES, "%s", to);
  one->kept = kept;
  note("rename", to, 0, 0);
  return real_rename(from, to);
}

int link(const char *from, const char *to) {
  if (!is_below(to)) return real_link(from, to);
  if (is_dead) return 0;
  if (real_link(from, to) != 0) return -1;
  change(CREATED, to);
  note("link", to, 0, 0);
  return 0;
}

int mkdir(const char *path, mode_t mode) {
  if (is_dead && is_below(path)) return errno = EIO, -1;
  if (real_mkdir(path, mode) != 0) return -1;
  if (is_below(path)) change(MADE, path);
  return 0;
}

/* A copy inside of the kernel is one by reads and writes, so that it is seen. */
ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t count, unsigned flags) {
  File *file = tracked(to);
  if (file == NULL) return real_copy_file_range(from, from_at, to, to_at, count, flags);
  return errno = ENOSYS, -1;
}

ssize_t sendfile64(int to, int from, off64_t *at, size_t count) {
  static ssize_t (*next)(int, int, off64_t *, size_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "sendfile64");
  if (tracked(to) == NULL) return next(to, from, at, count);
  static uint8_t bytes[65536];
  size_t most = count < sizeof bytes ? count : sizeof bytes;
  ssize_t got = at == NULL ? read(from, bytes, most) : pread64(from, bytes, most, *at);
  if (got <= 0) return got;
  ssize_t written = write(to, bytes, got);
  if (written > 0 && at != NULL) *at += written;
  return written;
}
ssize_t sendfile(int to, int from, off_t *at, size_t count) { return sendfile64(to, from, at, count); }

int fcntl64(int fd, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  if (command == F_SETLK && tracked(fd) != NULL && ((struct flock *)argument)->l_type != F_UNLCK) {
    int error = fault(LOCK);
    if (error != 0) return errno = error, -1;
  }
  return real_fcntl64(fd, command, argument);
}

int statfs64(const char *path, struct statfs64 *answer) {
  int result = real_statfs64(path, answer);
  if (result == 0 && room >= 0 && root_bytes > 0 && strncmp(path, root, root_bytes - 1) == 0) {
    answer->f_bavail = room / answer->f_bsize;
    answer->f_bfree = answer->f_bavail;
  }
  return result;
}
int statfs(const char *path, struct statfs *answer) { return statfs64(path, (struct statfs64 *)answer); }

/* SQLite waits for a lock: nobody else runs meanwhile, so there is nothing to wait for. */
int usleep(useconds_t us) { return 0; }

/* ---- what is told ---- */

static void empty(const char *directory) {
  DIR *all = opendir(directory);
  if (all == NULL) return;
  for (struct dirent *one; (one = readdir(all)) != NULL;) {
    if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0) continue;
    char path[PATH_BYTES * 2];
    snprintf(path, sizeof path, "%s/%s", directory, one->d_name);
    if (real_unlink(path) == 0) continue;
    empty(path);
    real_rmdir(path);
  }
  closedir(all);
}

static void forget_all(void) {
  for (int i = 0; i < file_count; i++) {
    forget(&files[i], 1);
    free(files[i].before);
    free(files[i].is_stuck);
    real_close(files[i].fd);
  }
  file_count = change_count = kept_count = 0;
  for (int i = 0; i < FDS; i++) descriptors[i].file = NULL;
  empty(attic);
}

/* disk_root(path): what lies below this directory is on the disk, as it is now. Without a path: nothing is any more. */
static void disk_root(sqlite3_context *context, int count, sqlite3_value **values) {
  forget_all();
  const char *path = (const char *)sqlite3_value_text(values[0]);
  root_bytes = 0;
  if (path == NULL) return;
  snprintf(root, sizeof root, "%s/", path);
  snprintf(attic, sizeof attic, "%s/.attic", path);
  real_mkdir(attic, 0700);
  root_bytes = strlen(root);
}

/* disk_begin(seed): empties the disk, and begins a history: everything that was chance comes from this seed. */
static void disk_begin(sqlite3_context *context, int count, sqlite3_value **values) {
  forget_all();
  empty(root);
  real_mkdir(attic, 0700);
  chance_state = sqlite3_value_int64(values[0]);
  sqlite3_randomness(0, NULL);
  memset(faults, 0, sizeof faults);
  room = -1;
  digest = 0xcbf29ce484222325ull;
  life++;
  is_dead = 0;
  crash_in = 0;
}

/* disk_settle(): all that there is is durable. */
static void disk_settle(sqlite3_context *context, int count, sqlite3_value **values) {
  for (int i = 0; i < file_count; i++) forget(&files[i], 1);
  change_count = 0;
}

/* disk_kill(): from now on nothing that the process does has an effect. */
static void disk_kill(sqlite3_context *context, int count, sqlite3_value **values) {
  is_dead = 1;
  crash_in = 0;
  memset(faults, 0, sizeof faults);
}

/* disk_crash(n, at_sync): as disk_kill, at the nth call from now on that would have an effect; of syncs only, if wanted. */
static void disk_crash(sqlite3_context *context, int count, sqlite3_value **values) {
  crash_in = sqlite3_value_int64(values[0]);
  crash_at_sync = sqlite3_value_int(values[1]);
}

/* disk_dead(): whether the process was killed. */
static void disk_dead(sqlite3_context *context, int count, sqlite3_value **values) { sqlite3_result_int(context, is_dead); }

/* disk_boot(): another process begins. */
static void disk_boot(sqlite3_context *context, int count, sqlite3_value **values) {
  is_dead = 0;
  life++;
}

static int some(int percent) { return (int)(chance() % 100) < percent; }

/* Of each directory the first changes are kept, and none after one that is lost. @returns how many were lost. */
static int lose_names(void) {
  int lost = 0;
  for (int i = 0; i < change_count; i++) {
    if (changes[i].is_decided) continue;
    int total = 0;
    for (int j = i; j < change_count; j++) total += strcmp(changes[j].directory, changes[i].directory) == 0;
    int keeps = some(40) ? total : some(40) ? 0 : (int)(chance() % (total + 1));
    for (int j = i; j < change_count; j++) {
      if (strcmp(changes[j].directory, changes[i].directory) != 0) continue;
      changes[j].is_decided = 1;
      changes[j].is_lost = keeps-- <= 0;
    }
  }
  for (int i = change_count - 1; i >= 0; i--) {
    if (!changes[i].is_lost) continue;
    lost++;
    undo(&changes[i]);
  }
  return lost;
}

/* disk_cut(): the power goes, after disk_kill. @returns how many sectors were lost. */
static void disk_cut(sqlite3_context *context, int count, sqlite3_value **values) {
  long long lost = 0;
  for (int i = 0; i < file_count; i++) {
    File *file = &files[i];
    if (!file->is_dirty) continue;
    int kept = some(25) ? 0 : some(25) ? 100 : some(50) ? 50 : (int)(chance() % 100);
    off64_t now = size_of(file);
    off64_t size = some(kept) ? now : file->durable_size;
    if (real_ftruncate64(file->fd, size) != 0) abort();
    for (size_t s = file->first; s < file->end; s++) {
      off64_t at = (off64_t)s * SECTOR;
      if (file->before[s] == NULL || at >= size) continue;
      if (at < now && some(kept)) continue;
      lost++;
      size_t bytes = size - at < SECTOR ? size - at : SECTOR;
      if (real_pwrite64(file->fd, file->before[s], bytes, at) < 0) abort();
    }
    forget(file, 1);
  }
  lost += lose_names();
  change_count = 0;
  note("cut", NULL, lost, 0);
  sqlite3_result_int64(context, lost);
}

/* disk_fault(op, nth, times, errno, is_short): the nth call of this kind fails, and so many of them. */
static void disk_fault(sqlite3_context *context, int count, sqlite3_value **values) {
  const char *name = (const char *)sqlite3_value_text(values[0]);
  for (int op = 0; op < OPS; op++) {
    if (strcmp(OP_NAMES[op], name) != 0) continue;
    faults[op].nth = sqlite3_value_int(values[1]);
    faults[op].left = sqlite3_value_int(values[2]);
    faults[op].error = sqlite3_value_int(values[3]);
    faults[op].is_short = sqlite3_value_int(values[4]);
    return;
  }
  sqlite3_result_error(context, "there is no such call", -1);
}

/* disk_heal(): no call fails any more. */
static void disk_heal(sqlite3_context *context, int count, sqlite3_value **values) {
  memset(faults, 0, sizeof faults);
  room = -1;
}

/* disk_room(bytes): by how much files may grow from now on, until it is healed. */
static void disk_room(sqlite3_context *context, int count, sqlite3_value **values) { room = sqlite3_value_int64(values[0]); }

/* disk_digest(): of every call that had an effect since the history began, as 16 hex digits. */
static void disk_digest(sqlite3_context *context, int count, sqlite3_value **values) {
  char text[17];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)digest);
  sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *api) {
  SQLITE_EXTENSION_INIT2(api);
#define TELL(name, count) sqlite3_create_function(db, #name, count, SQLITE_UTF8, NULL, name, NULL, NULL)
  TELL(disk_root, 1), TELL(disk_begin, 1), TELL(disk_settle, 0), TELL(disk_kill, 0), TELL(disk_boot, 0), TELL(disk_cut, 0);
  TELL(disk_fault, 5), TELL(disk_heal, 0), TELL(disk_room, 1), TELL(disk_digest, 0);
  TELL(disk_crash, 2), TELL(disk_dead, 0);
  return SQLITE_OK;
}
