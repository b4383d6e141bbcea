#define _GNU_SOURCE
#include "counters.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct call_count before_the_file[counter_count] = {
#define RECORD(name) {#name, 0},
    EACH_COUNTER(RECORD)
#undef RECORD
};

struct call_count *call_counts = before_the_file;

__attribute__((constructor)) static void open_file(void) {
    const char *path = getenv("FANFARE_COUNTS_FILE");
    if (!path) return;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return;
    void *memory = MAP_FAILED;
    if (ftruncate(fd, sizeof(before_the_file)) == 0) {
        memory = mmap(NULL, sizeof(before_the_file), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    close(fd);
    if (memory == MAP_FAILED) return;
    memcpy(memory, before_the_file, sizeof(before_the_file));
    call_counts = memory;
}
