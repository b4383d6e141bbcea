#ifndef FANFARE_CCHILD_H
#define FANFARE_CCHILD_H

// No system header here: its types would count as this module's. A process id is an int.

/// Starts a program that dies with the thread that started it, whatever ends that thread.
/// Its output goes to the descriptors given; standard input is /dev/null. Arrays end with NULL.
/// Returns the process id, or -1 with errno set (also when the program cannot be run).
int cchild_spawn(const char *path, char *const arguments[], char *const environment[], int out, int err);

/// Reaps a child. Returns 1 when it has ended, 0 when it still runs (only with `wait` 0), -1 for an error.
/// `status` is the exit code, or 128 and the signal's number.
int cchild_reap(int child, int wait, int *status, long *user_ns, long *system_ns, long *peak_kb);

/// CPU time that a running process has used, all its threads, in nanoseconds; -1 when it is gone.
long cchild_cpu_ns(int process);

/// From now on SIGINT, SIGTERM and SIGHUP only set what `cchild_interrupted` returns.
void cchild_watch_interrupts(void);
int cchild_interrupted(void);

#endif
