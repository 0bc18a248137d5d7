/* Removes a directory with all that is in it, by system calls and nothing else: what a compiled tool does when it is told to clean up. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int refused;

static void attempt(int dir, const char *name, int flags) {
    if (unlinkat(dir, name, flags) != 0 && errno != ENOTEMPTY && refused++ == 0)
        fprintf(stderr, "wipe: %s: %s\n", name, strerror(errno));
}

static void empty(int dir) {
    DIR *entries = fdopendir(dir);
    struct dirent *entry;
    if (!entries) return;
    while ((entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        int below = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        if (below >= 0) empty(below);
        attempt(dir, entry->d_name, below >= 0 ? AT_REMOVEDIR : 0);
    }
    closedir(entries);
}

int main(int count, char **words) {
    if (count != 2) return 64;
    int dir = open(words[1], O_RDONLY | O_DIRECTORY);
    if (dir < 0) { perror(words[1]); return 1; }
    empty(dir);
    if (refused) fprintf(stderr, "wipe: %d objects could not be removed\n", refused);
    return refused != 0;
}
