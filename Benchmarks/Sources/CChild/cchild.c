#define _GNU_SOURCE
#include "cchild.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void note_interrupt(int number) { interrupted = number; }

void cchild_watch_interrupts(void) {
    struct sigaction action = {.sa_handler = note_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int cchild_interrupted(void) { return interrupted; }

// Between fork and exec only what is safe in a signal handler.
static void become(const char *path, char *const arguments[], char *const environment[], int out, int err, int report) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // A terminal's ^C is for the harness, which ends its children in order.
    setpgid(0, 0);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    int in = open("/dev/null", O_RDONLY);
    if (in >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(err, 2) >= 0) execve(path, arguments, environment);
    int reason = errno;
    ssize_t written = write(report, &reason, sizeof(reason));
    _exit(written < 0 ? 126 : 127);
}

pid_t cchild_spawn(const char *path, char *const arguments[], char *const environment[], int out, int err) {
    // Closed by a successful exec; otherwise it carries errno.
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return -1;
    pid_t child = fork();
    if (child == 0) become(path, arguments, environment, out, err, report[1]);
    close(report[1]);
    int reason = child < 0 ? errno : 0;
    while (child > 0 && read(report[0], &reason, sizeof(reason)) < 0 && errno == EINTR) {}
    close(report[0]);
    if (reason == 0) return child;
    if (child > 0) waitpid(child, NULL, 0);
    errno = reason;
    return -1;
}

static long timeval_ns(struct timeval value) { return value.tv_sec * 1000000000L + value.tv_usec * 1000L; }

int cchild_reap(pid_t child, int wait, int *status, long *user_ns, long *system_ns, long *peak_kb) {
    int raw = 0;
    struct rusage usage;
    pid_t reaped;
    do reaped = wait4(child, &raw, wait ? 0 : WNOHANG, &usage);
    while (reaped < 0 && errno == EINTR && wait);
    if (reaped == 0 || (reaped < 0 && errno == EINTR)) return 0;
    if (reaped < 0) return -1;
    *status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    *user_ns = timeval_ns(usage.ru_utime);
    *system_ns = timeval_ns(usage.ru_stime);
    *peak_kb = usage.ru_maxrss;
    return 1;
}

long cchild_cpu_ns(pid_t process) {
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return -1;
    return used.tv_sec * 1000000000L + used.tv_nsec;
}
