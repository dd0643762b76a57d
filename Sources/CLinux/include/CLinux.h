// What Swift's Glibc module leaves out. Functions that glibc shows only with _GNU_SOURCE, or that are macros, stand in
// CLinux.c.
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/// accept4 with SOCK_NONBLOCK and SOCK_CLOEXEC.
int carillon_accept(int listener, struct sockaddr_storage *peer);

/// CPUs that this process may run on; -1 if the system does not say.
int carillon_allowed_cpus(void);

/// Names the calling thread; at most 15 bytes are kept.
void carillon_name_thread(const char *name);

/// The soft and hard limit of open descriptors.
int carillon_get_open_file_limit(struct rlimit *limit);
int carillon_set_open_file_limit(const struct rlimit *limit);

/// No core dump of this process, wherever the kernel would send it, and no attaching by others than root.
void carillon_forbid_dumps(void);

/// The real-time signals that a program may use.
int carillon_first_realtime_signal(void);
int carillon_last_realtime_signal(void);

/// 1 if a time service keeps the clock right, 0 if none does, -1 if the system does not say.
int carillon_clock_is_synchronised(void);
