/* Loaded before the C library (LD_PRELOAD): makes a disk fail, kills the process at a chosen call, or cuts the power.
 *
 * A test maps the same control block and may change it at any time. Calls on files whose path contains `path` and whose
 * kind is in `kinds` are counted from 1. A power cut loses what was written and not synced since; a sync that was made
 * to fail saves nothing, neither then nor when the next one works, as on Linux: only writing it again does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { WRITE = 1, SYNC = 2, TRUNCATE = 4, NAME = 8, READ = 16 };
enum power { STAYS = 0, ALL_IS_LOST = 1, HALF_IS_LOST = 2 };

struct control {
    int64_t calls;
    /* The process dies instead of this call; 0: never. */
    int64_t kill_at;
    /* So many calls fail from this one on; a negative number: all. */
    int64_t fail_from;
    int64_t fail_count;
    int64_t error;
    int64_t kinds;
    /* What a kill does to what was not synced. */
    int64_t power;
    /* Of the write that the process dies in, half is done. */
    int64_t torn;
    /* Syncs do nothing and report success. */
    int64_t lie;
    char path[192];
};

/* A write that a power cut would undo. */
struct unsynced {
    struct unsynced *earlier;
    dev_t device;
    ino_t inode;
    int descriptor;
    off_t offset;
    size_t count;
    /* A sync failed: the next one does not save it. */
    int doomed;
    unsigned char before[];
};

static struct control *control;
static struct unsynced *latest;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static ssize_t (*real_pwrite)(int, const void *, size_t, off_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static int (*real_fsync)(int);
static int (*real_fdatasync)(int);
static int (*real_ftruncate)(int, off_t);
static int (*real_unlink)(const char *);
static int (*real_rename)(const char *, const char *);

__attribute__((constructor)) static void begin(void) {
    real_pwrite = dlsym(RTLD_NEXT, "pwrite64");
    real_pread = dlsym(RTLD_NEXT, "pread64");
    real_fsync = dlsym(RTLD_NEXT, "fsync");
    real_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
    real_ftruncate = dlsym(RTLD_NEXT, "ftruncate64");
    real_unlink = dlsym(RTLD_NEXT, "unlink");
    real_rename = dlsym(RTLD_NEXT, "rename");
    const char *name = getenv("FAULTS_CONTROL");
    int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    void *block = file < 0 ? MAP_FAILED
                           : mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (block == MAP_FAILED) {
        fputs("faults: FAULTS_CONTROL does not name a control block\n", stderr);
        _exit(99);
    }
    close(file);
    control = block;
}

static int is_meant(const char *path) {
    /* The shared-memory index is made anew after each crash, so nothing depends on its writes. */
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, "-shm") == 0) return 0;
    return control->path[0] && strstr(path, control->path) != NULL;
}

static int is_meant_file(int descriptor) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_meant(path);
}

/* Undoes what was never synced, the latest first; of half of it the bytes have reached the disk by chance. */
static void cut_power(void) {
    int64_t turn = control->calls;
    for (struct unsynced *one = latest; one; one = one->earlier) {
        struct stat now;
        if (fstat(one->descriptor, &now) != 0 || now.st_ino != one->inode || now.st_dev != one->device) continue;
        if (one->offset >= now.st_size) continue;
        if (control->power == HALF_IS_LOST && !one->doomed && (turn++ & 1)) continue;
        /* What was not there before reads as zeros: sizes reach the disk earlier than what fills them. */
        real_pwrite(one->descriptor, one->before, one->count, one->offset);
    }
}

static void die(void) {
    if (control->power != STAYS) cut_power();
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* Counts a call. True if it has to fail; does not return if the process has to die. */
static int fails(enum kind kind, int is_ours) {
    if (!is_ours || !(control->kinds & kind)) return 0;
    int64_t call = __atomic_add_fetch(&control->calls, 1, __ATOMIC_SEQ_CST);
    if (call == control->kill_at) die();
    int64_t nth = call - control->fail_from;
    if (!control->error || nth < 0 || (control->fail_count >= 0 && nth >= control->fail_count)) return 0;
    errno = (int)control->error;
    return 1;
}

/* Remembers what is about to be overwritten, and forgets doomed writes that it repeats. */
static void remember(int descriptor, size_t count, off_t offset) {
    struct stat now;
    struct unsynced *one = calloc(1, sizeof *one + count);
    if (!one || fstat(descriptor, &now) != 0) return free(one);
    one->device = now.st_dev;
    one->inode = now.st_ino;
    one->descriptor = descriptor;
    one->offset = offset;
    one->count = count;
    if (real_pread(descriptor, one->before, count, offset) < 0) return free(one);
    for (struct unsynced *old = latest; old; old = old->earlier)
        if (old->doomed && old->inode == now.st_ino && offset <= old->offset
            && old->offset + (off_t)old->count <= offset + (off_t)count)
            old->doomed = 0;
    one->earlier = latest;
    latest = one;
}

/* A sync has worked, or has been made to fail. */
static void note_sync(int descriptor, int failed) {
    struct stat now;
    if (fstat(descriptor, &now) != 0) return;
    for (struct unsynced **link = &latest; *link;) {
        struct unsynced *one = *link;
        if (one->inode == now.st_ino && failed) one->doomed = 1;
        if (one->inode == now.st_ino && !failed && !one->doomed) {
            *link = one->earlier;
            free(one);
        } else {
            link = &one->earlier;
        }
    }
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) {
    if (!is_meant_file(descriptor)) return real_pwrite(descriptor, bytes, count, offset);
    pthread_mutex_lock(&mutex);
    if (control->torn && (control->kinds & WRITE) && control->calls + 1 == control->kill_at)
        real_pwrite(descriptor, bytes, count / 2, offset);
    ssize_t done = -1;
    if (!fails(WRITE, 1)) {
        if (control->power != STAYS) remember(descriptor, count, offset);
        done = real_pwrite(descriptor, bytes, count, offset);
    }
    pthread_mutex_unlock(&mutex);
    return done;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    return pwrite64(descriptor, bytes, count, offset);
}

ssize_t pread64(int descriptor, void *bytes, size_t count, off_t offset) {
    if ((control->kinds & READ) && fails(READ, is_meant_file(descriptor))) return -1;
    return real_pread(descriptor, bytes, count, offset);
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    return pread64(descriptor, bytes, count, offset);
}

static int synced(int descriptor, int (*real)(int)) {
    if (!is_meant_file(descriptor)) return real(descriptor);
    if (control->lie) return 0;
    pthread_mutex_lock(&mutex);
    int result = fails(SYNC, 1) ? -1 : real(descriptor);
    int error = errno;
    note_sync(descriptor, result != 0);
    pthread_mutex_unlock(&mutex);
    errno = error;
    return result;
}

int fsync(int descriptor) { return synced(descriptor, real_fsync); }

int fdatasync(int descriptor) { return synced(descriptor, real_fdatasync); }

int ftruncate64(int descriptor, off_t size) {
    return fails(TRUNCATE, is_meant_file(descriptor)) ? -1 : real_ftruncate(descriptor, size);
}

int ftruncate(int descriptor, off_t size) { return ftruncate64(descriptor, size); }

int unlink(const char *path) { return fails(NAME, is_meant(path)) ? -1 : real_unlink(path); }

int rename(const char *path, const char *to) { return fails(NAME, is_meant(path)) ? -1 : real_rename(path, to); }
